/* heads_params.c - shared by the resolve functions of com.microsoft's attention operators: masks, biases of scores, the
 * memory of rows, and scratch. Read next: heads.c. */
#include "ops/microsoft/heads_run.h"
#include "runtime/core/base/memory.h"

/* ---- params ------------------------------------------------------------------------------------------------------ */

void tort_heads_clear(tort_heads_params *p) {
    int64_t *const absent[] = {&p->query.operand,
                               &p->key.operand,
                               &p->value.operand,
                               &p->past_key.operand,
                               &p->past_value.operand,
                               &p->present_key,
                               &p->present_value,
                               &p->bias,
                               &p->cosines,
                               &p->sines,
                               &p->positions,
                               &p->query_norm,
                               &p->key_norm,
                               &p->past_count,
                               &p->lengths,
                               &p->total,
                               &p->mask,
                               &p->score_bias,
                               &p->beams,
                               &p->beam_choices,
                               &p->sink,
                               &p->scores,
                               &p->left_window};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) *absent[i] = TORT_HEADS_NONE;
    for (int32_t i = 0; i < 3; i++) p->bias_offsets[i] = -1;
}

tort_dim tort_heads_divide(tort_dims *dims, tort_dim dim, int64_t heads) {
    return tort_dim_known(dim) ? dim / heads : tort_dim_floordiv(dims, dim, heads);
}

tort_status tort_heads_expect(const tort_resolve *resolve, int32_t input, const char *name, int32_t rank,
                              const int64_t *dims) {
    if (!tort_has_input(resolve->node, input)) return TORT_OK;
    const tort_info *info = &resolve->node->inputs[input];
    bool fits = info->rank == rank;
    for (int32_t d = 0; fits && d < rank; d++) fits = dims[d] < 0 || info->dims[d] == dims[d];
    if (fits) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL, "%s has not the shape that the other inputs and the heads ask for",
                     name);
}

/* ---- biases and masks of scores ---------------------------------------------------------------------------------- */

tort_status tort_heads_read_score_bias(const tort_resolve *resolve, tort_heads_params *p, int32_t input) {
    const tort_info *bias = &resolve->node->inputs[input];
    if (!tort_has_input(resolve->node, input)) return TORT_OK;
    const int64_t batch = bias->rank == 4 && bias->dims[0] == 1 ? 1 : p->batch;
    const int64_t heads = bias->rank == 4 && bias->dims[1] == 1 ? 1 : p->query_heads;
    /* The number of keys may be known only at run time. */
    const bool open = p->lengths >= 0 || p->past_count >= 0;
    const int64_t wanted[4] = {batch, heads, p->queries, open ? -1 : tort_heads_capacity(p)};
    tort_status status = tort_heads_expect(resolve, input, "attention_bias", 4, wanted);
    if (status) return status;
    const int64_t matrix = bias->dims[2] * bias->dims[3];
    p->score_bias = input;
    p->score_bias_strides[0] = batch == 1 ? 0 : bias->dims[1] * matrix;
    p->score_bias_strides[1] = heads == 1 ? 0 : matrix;
    p->score_bias_strides[2] = bias->dims[3];
    return TORT_OK;
}

/* Reads a mask with one number per batch entry, the end of its keys. More may follow: their starts, or numbers for
 * other kernels. */
static tort_status read_ends(const tort_resolve *resolve, tort_heads_params *p, const tort_info *mask) {
    const int64_t count = mask->dims[0];
    p->mask_kind = count == 2 * p->batch ? TORT_HEADS_INTERVAL : TORT_HEADS_ENDS;
    if (count == p->batch || count == 2 * p->batch || count == 3 * p->batch + 2) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL, "the mask has %lld numbers; expected %lld, %lld or %lld",
                     (long long)count, (long long)p->batch, (long long)(2 * p->batch), (long long)(3 * p->batch + 2));
}

tort_status tort_heads_read_mask(const tort_resolve *resolve, tort_heads_params *p, int32_t input, const char *name) {
    const tort_info *mask = &resolve->node->inputs[input];
    if (!tort_has_input(resolve->node, input)) return TORT_OK;
    p->mask = input;
    p->mask_kind = TORT_HEADS_ELEMENTS;
    const int64_t keys = p->past_count >= 0 && mask->rank > 1 ? mask->dims[mask->rank - 1] : tort_heads_capacity(p);
    const int64_t wanted2[2] = {p->batch, keys}, wanted3[3] = {p->batch, p->queries, keys};
    if (mask->rank == 1) return read_ends(resolve, p, mask);
    p->mask_strides[2] = 1;
    if (mask->rank == 4) {
        const int64_t max = mask->dims[3], wanted4[4] = {p->batch, 1, max, max};
        p->mask_strides[0] = max * max;
        p->mask_strides[1] = max;
        p->mask_offset = p->past_length * max;
        if (max < tort_heads_capacity(p) || p->past_length + p->queries > max || p->past_count >= 0)
            return tort_fail(resolve->error, TORT_E_MODEL, "%s is for %lld keys; there are %lld", name, (long long)max,
                             (long long)tort_heads_capacity(p));
        return tort_heads_expect(resolve, input, name, 4, wanted4);
    }
    p->mask_strides[0] = mask->rank == 3 ? p->queries * keys : keys;
    p->mask_strides[1] = mask->rank == 3 ? keys : 0;
    return tort_heads_expect(resolve, input, name, mask->rank == 3 ? 3 : 2, mask->rank == 3 ? wanted3 : wanted2);
}

/* ---- rows and scratch -------------------------------------------------------------------------------------------- */

static bool changes(const tort_heads_params *p, int32_t which) {
    const bool turned = which < 2 && (p->rotated > 0 || p->query_norm >= 0);
    return turned || (p->bias >= 0 && p->bias_offsets[which] >= 0);
}

/* Number of floats of rows in scratch, for all batch entries; 0 if the rows are elsewhere. */
static bool rows_floats(const tort_heads_params *p, tort_heads_home home, int64_t heads, int64_t length, int64_t size,
                        size_t *floats) {
    *floats = 0;
    if (home != TORT_HEADS_SCRATCH) return true;
    return tort_mul_size((size_t)p->batch, (size_t)heads, floats) && tort_mul_size(*floats, (size_t)length, floats) &&
           tort_mul_size(*floats, (size_t)size, floats);
}

int64_t tort_heads_capacity(const tort_heads_params *p) {
    return p->past_length + p->new_keys;
}

bool tort_heads_part_bytes(const tort_heads_params *p, const tort_heads_loops *loops, size_t *bytes) {
    size_t outputs, rows;
    const size_t sizes = (size_t)(p->key_size + p->value_size + p->rotated + p->key_size);
    return tort_add_size((size_t)tort_heads_capacity(p), 1, &rows) &&
           tort_add_size(rows, (size_t)loops->score_room, &rows) &&
           tort_mul_size((size_t)loops->row_room, (size_t)p->value_size, &outputs) &&
           tort_add_size(rows, outputs, bytes) && tort_add_size(*bytes, sizes, bytes) &&
           tort_mul_size(*bytes, sizeof(float), bytes) && tort_align_size(*bytes, TORT_HOST_ALIGN, bytes) &&
           tort_add_size(*bytes, loops->buffer_bytes, bytes);
}

size_t tort_heads_span_bytes(const tort_heads_params *p) {
    size_t bytes;
    return tort_mul_size((size_t)p->batch, sizeof(heads_span), &bytes) &&
                   tort_align_size(bytes, TORT_HOST_ALIGN, &bytes)
               ? bytes
               : SIZE_MAX;
}

bool tort_heads_scratch(const tort_heads_params *p, const tort_heads_loops *loops, size_t *bytes) {
    const int64_t capacity = tort_heads_capacity(p);
    size_t rows[3], part;
    if (!rows_floats(p, p->query_home, p->query_heads, p->queries, p->key_size, &rows[0]) ||
        !rows_floats(p, p->key_home, p->key_heads, capacity, p->key_size, &rows[1]) ||
        !rows_floats(p, p->value_home, p->key_heads, capacity, p->value_size, &rows[2]))
        return false;
    *bytes = tort_heads_span_bytes(p);
    for (int32_t i = 0; i < 3; i++) {
        size_t some;
        if (!tort_mul_size(rows[i], sizeof(float), &some) || !tort_align_size(some, TORT_HOST_ALIGN, &some) ||
            !tort_add_size(*bytes, some, bytes))
            return false;
    }
    return tort_heads_part_bytes(p, loops, &part) && tort_mul_size(part, (size_t)loops->parts, &part) &&
           tort_add_size(*bytes, part, bytes);
}

tort_status tort_heads_settle(tort_resolve *resolve) {
    tort_heads_params *p = resolve->params;
    const bool plain = resolve->node->inputs[0].type == TORT_FLOAT;
    const bool projected = p->query.operand == TORT_HEADS_PROJECTED;
    const bool past = p->past_key.operand >= 0;
    p->query_home = (plain || projected) && !changes(p, 0) ? TORT_HEADS_IN_PLACE : TORT_HEADS_SCRATCH;
    for (int32_t which = 1; which < 3; which++) {
        const int64_t present = which == 1 ? p->present_key : p->present_value;
        tort_heads_home home = TORT_HEADS_SCRATCH;
        if (present >= 0 && plain && p->beam_choices < 0) home = TORT_HEADS_PRESENT;
        if (present < 0 && (plain || projected) && !past && !changes(p, which)) home = TORT_HEADS_IN_PLACE;
        *(which == 1 ? &p->key_home : &p->value_home) = home;
    }
    size_t projection = 0, bytes;
    const tort_heads_loops loops = tort_heads_plain_loops(p);
    if (tort_heads_projection(p, &projection) && tort_heads_scratch(p, &loops, &bytes) &&
        tort_add_size(projection, bytes, &resolve->scratch_bytes))
        return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MEMORY, "%lld keys do not fit in memory",
                     (long long)tort_heads_capacity(p));
}

bool tort_heads_projection(const tort_heads_params *p, size_t *bytes) {
    *bytes = 0;
    if (p->query.operand != TORT_HEADS_PROJECTED) return true;
    return tort_mul_size((size_t)p->batch, (size_t)p->queries, bytes) &&
           tort_mul_size(*bytes, (size_t)p->projected_size, bytes) && tort_mul_size(*bytes, sizeof(float), bytes) &&
           tort_align_size(*bytes, TORT_HOST_ALIGN, bytes);
}
