/* elementwise.c - the drivers of elementwise operators. Types without a loop go through blocks of TORT_BLOCK
 * elements. */
#include "ops/elementwise.h"

#include "ops/shapes.h"

/* ---- one input --------------------------------------------------------------------------------------------------- */

typedef struct map_run {
    const tort_map *map;
    const void *params;
    tort_type type;
    const void *x;
    void *y;
    int64_t count;
} map_run;

static void map_block(const map_run *run, int64_t first, int64_t count) {
    union {
        float f[TORT_BLOCK];
        int64_t i[TORT_BLOCK];
        uint64_t u[TORT_BLOCK];
    } x, y;
    if (tort_type_is_float(run->type)) {
        tort_load_floats(run->type, run->x, first, count, x.f);
        run->map->floats(run->params, count, x.f, y.f);
        tort_store_floats(run->type, run->y, first, count, y.f);
        return;
    }
    tort_load_integers(run->type, run->x, first, count, x.i);
    if (tort_type_is_signed(run->type)) {
        run->map->integers(run->params, count, x.i, y.i);
    } else {
        run->map->naturals(run->params, count, x.u, y.u);
    }
    tort_store_integers(run->type, run->y, first, count, y.i);
}

static void map_blocks(void *arg, int64_t begin, int64_t end) {
    const map_run *run = arg;
    int64_t first = begin * TORT_BLOCK, last = end * TORT_BLOCK < run->count ? end * TORT_BLOCK : run->count;
    if (run->type == TORT_FLOAT) {
        run->map->floats(run->params, last - first, (const float *)run->x + first, (float *)run->y + first);
    } else if (run->type == TORT_DOUBLE) {
        run->map->doubles(run->params, last - first, (const double *)run->x + first, (double *)run->y + first);
    } else {
        for (int64_t at = first; at < last; at += TORT_BLOCK) {
            map_block(run, at, tort_block_count(last, at));
        }
    }
}

tort_status tort_run_map(const tort_call *call, const tort_map *map, const void *params) {
    const tort_tensor *x = &call->inputs[0];
    map_run run = {map, params, x->type, x->data, call->outputs[0].data, tort_count(x)};
    if (run.count > 0) {
        tort_parallel(call, (run.count + TORT_BLOCK - 1) / TORT_BLOCK, map->work * (TORT_BLOCK / 16), map_blocks, &run);
    }
    return TORT_OK;
}

/* ---- two inputs -------------------------------------------------------------------------------------------------- */

/* Before opset 7, `axis` names the dimension of A that aligns with the first of B; without it the last ones align.
 * *trailing: dimensions of A behind those of B. */
static tort_status align(const tort_node_view *node, int32_t *trailing, tort_error *error) {
    const tort_attribute *axis = tort_attr(node, "axis");
    int32_t rank = node->inputs[0].rank, b_rank = node->inputs[1].rank;
    *trailing = 0;
    if (axis == NULL || rank < 0 || b_rank < 0) return TORT_OK;
    int64_t aligned = axis->u.i < 0 ? axis->u.i + rank : axis->u.i;
    if (aligned < 0 || aligned > rank - b_rank) {
        return tort_fail(error, TORT_E_MODEL, "axis %lld does not align B of rank %d with A of rank %d",
                         (long long)axis->u.i, b_rank, rank);
    }
    *trailing = rank - b_rank - (int32_t)aligned;
    return TORT_OK;
}

tort_status tort_resolve_binary(tort_resolve *resolve) {
    tort_binary *params = resolve->params;
    return align(resolve->node, &params->trailing, resolve->error);
}

tort_status tort_check_fits(const tort_infer *infer, int32_t trailing) {
    const tort_info *a = &infer->node->inputs[0], *b = &infer->node->inputs[1];
    if (a->rank < 0 || b->rank < 0) return TORT_OK;
    if (b->rank + trailing > a->rank)
        return tort_fail(infer->error, TORT_E_MODEL, "input 1 has rank %d and does not broadcast to input 0 of rank %d",
                         b->rank + trailing, a->rank);
    for (int32_t d = 0; d < b->rank; d++) {
        tort_dim size = b->dims[d], wanted = a->dims[a->rank - b->rank - trailing + d];
        if (size == 1 || size == wanted || !tort_dim_known(size) || !tort_dim_known(wanted)) continue;
        return tort_fail(infer->error, TORT_E_MODEL,
                         "input 1 has %lld elements along dimension %d, expected 1 or the %lld of input 0",
                         (long long)size, d, (long long)wanted);
    }
    return TORT_OK;
}

tort_status tort_infer_binary_old(tort_infer *infer) {
    int32_t trailing;
    tort_infer_same(infer, 0, 0);
    tort_status status = align(infer->node, &trailing, infer->error);
    return status != TORT_OK ? status : tort_check_fits(infer, trailing);
}

tort_status tort_infer_compare_old(tort_infer *infer) {
    tort_status status = tort_infer_binary_old(infer);
    infer->outputs[0].type = TORT_BOOL;
    return status;
}

tort_tensor tort_aligned_b(const tort_call *call) {
    tort_tensor b = call->inputs[1];
    const tort_binary *params = call->params;
    for (int32_t i = 0; i < params->trailing; i++) b.dims[b.rank++] = 1;
    return b;
}

typedef struct pair_run {
    tort_pair_loop loop;
    const void *params;
    tort_type type, out_type;
    const void *a, *b;
    void *out;
} pair_run;

static void pair_row(void *arg, const tort_loop *loop, int64_t first, int64_t count, const int64_t *offsets) {
    const pair_run *run = arg;
    size_t size = (size_t)tort_type_bits(run->type) / 8, out_size = (size_t)tort_type_bits(run->out_type) / 8;
    run->loop(run->params, count, (const char *)run->a + (size_t)offsets[0] * size, loop->steps[0],
              (const char *)run->b + (size_t)offsets[1] * size, loop->steps[1],
              (char *)run->out + (size_t)first * out_size);
}

static void pair_row_small(void *arg, const tort_loop *loop, int64_t first, int64_t count, const int64_t *offsets) {
    const pair_run *run = arg;
    float a[TORT_BLOCK], b[TORT_BLOCK];
    union {
        float f[TORT_BLOCK];
        bool is[TORT_BLOCK];
    } out;
    int64_t a_step = loop->steps[0], b_step = loop->steps[1];
    for (int64_t at = 0; at < count; at += TORT_BLOCK) {
        int64_t n = tort_block_count(count, at);
        tort_load_floats(run->type, run->a, offsets[0] + at * a_step, a_step ? n : 1, a);
        tort_load_floats(run->type, run->b, offsets[1] + at * b_step, b_step ? n : 1, b);
        if (run->out_type == TORT_BOOL) {
            run->loop(run->params, n, a, a_step, b, b_step, (bool *)run->out + first + at);
        } else {
            run->loop(run->params, n, a, a_step, b, b_step, out.f);
            tort_store_floats(run->out_type, run->out, first + at, n, out.f);
        }
    }
}

/* Short rows: copies the operands of a piece side by side, then calls the loop once. */
static void pair_piece(void *arg, const tort_loop *loop, int64_t first, int64_t count) {
    const pair_run *run = arg;
    size_t size = (size_t)tort_type_bits(run->type) / 8, out_size = (size_t)tort_type_bits(run->out_type) / 8;
    uint64_t a[TORT_BLOCK * 2], b[TORT_BLOCK * 2]; /* up to 16 bytes per element */
    tort_loop_gather(loop, 0, first, count, size, run->a, a);
    tort_loop_gather(loop, 1, first, count, size, run->b, b);
    if (!tort_type_is_small_float(run->type)) {
        run->loop(run->params, count, a, 1, b, 1, (char *)run->out + (size_t)first * out_size);
        return;
    }
    tort_loop side_by_side = {.rank = 1, .operands = 2, .steps = {1, 1}};
    pair_run piece = *run;
    piece.a = a;
    piece.b = b;
    pair_row_small(&piece, &side_by_side, first, count, (int64_t[2]){0, 0});
}

tort_status tort_run_pair(const tort_call *call, const tort_pair *pair) {
    const tort_tensor *out = &call->outputs[0];
    tort_tensor inputs[2];
    inputs[pair->exchanged] = call->inputs[0];
    inputs[!pair->exchanged] = tort_aligned_b(call);
    tort_loop loop = tort_loop_broadcast(out, inputs, 2);
    bool small = tort_type_is_small_float(inputs[0].type);
    pair_run run = {.loop = pair->loops[small ? TORT_FLOAT : inputs[0].type],
                    .params = call->params,
                    .type = inputs[0].type,
                    .out_type = out->type,
                    .a = inputs[0].data,
                    .b = inputs[1].data,
                    .out = out->data};
    if (tort_loop_short(&loop)) {
        tort_loop_pieces(call, &loop, pair->work + 32, pair_piece, &run);
    } else {
        tort_loop_parallel(call, &loop, pair->work, small ? pair_row_small : pair_row, &run);
    }
    return TORT_OK;
}

/* ---- integers carried by shapes ---------------------------------------------------------------------------------- */

tort_status tort_infer_elements(tort_infer *infer, tort_scalar (*combine)(tort_dims *, tort_scalar, tort_scalar)) {
    tort_scalar a[TORT_MAX_ELEMENTS], b[TORT_MAX_ELEMENTS], out[TORT_MAX_ELEMENTS];
    int32_t a_count, b_count;
    if (!tort_infer_integers(infer, 0, a, &a_count) || !tort_infer_integers(infer, 1, b, &b_count)) return TORT_OK;
    if (a_count != b_count && a_count != 1 && b_count != 1) return TORT_OK;
    int32_t count = a_count == 1 ? b_count : a_count;
    for (int32_t i = 0; i < count; i++) {
        const tort_scalar x = a[a_count == 1 ? 0 : i], y = b[b_count == 1 ? 0 : i];
        out[i] = combine(infer->dims, x, y);
        if (out[i].symbolic && !x.symbolic && !y.symbolic) return TORT_OK; /* overflow or x / 0: left to the loop */
    }
    return tort_infer_set_integers(infer, 0, out, count);
}
