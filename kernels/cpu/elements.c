/* elements.c - elementwise operators of several broadcast operands: arithmetic, extremes, Where; and Cast.
 *
 * A row of the output (ops/broadcast.h) is done in whole chunks, and its tail through buffers. An operand that has
 * one element for a whole row becomes one chunk full of it, which is read repeatedly. Read next: simd/elements.c. */
#include "kernels/cpu/cpu.h"
#include "ops/activation.h"

#include <string.h>

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

/* An operand of a row: its elements, or one chunk full of its only element. */
typedef struct operand {
    const char *at;
    int64_t step; /* bytes per chunk; 0: `at` is one chunk for all */
} operand;

static void repeat(void *chunk, const void *element, size_t size) {
    memcpy(chunk, element, size);
    for (size_t done = size; done < TORT_CHUNK; done *= 2) memcpy((char *)chunk + done, chunk, done);
}

/* Returns an operand; if it does not step, `chunk` is filled with its element. */
static operand operand_of(const void *data, int64_t offset, int64_t step, size_t size, void *chunk) {
    const char *at = (const char *)data + offset * (int64_t)size;
    if (step) return (operand){at, TORT_CHUNK};
    repeat(chunk, at, size);
    return (operand){chunk, 0};
}

static operand operand_from(const operand *all, int64_t bytes) {
    return (operand){all->step ? all->at + bytes : all->at, all->step};
}

/* Runs the loop on one chunk, with copies of the operands that step. */
static void run_copied(tort_chunk_loop loop, tort_chunks *chunks, int32_t count, char copied[3][TORT_CHUNK], char *y) {
    for (int32_t k = 0; k < count; k++)
        if (chunks->steps[k]) chunks->in[k] = copied[k];
    chunks->y = y;
    chunks->count = 1;
    loop(chunks);
}

/* Makes `bytes` of y. The last chunk overlaps the one before it; y may be an operand, so the operands of the last
 * chunk are copied before they are overwritten. */
static void run_chunks(tort_chunk_loop loop, const operand *operands, int32_t count, char *y, int64_t bytes) {
    char copied[3][TORT_CHUNK], made[TORT_CHUNK];
    tort_chunks chunks = {.y = y, .count = bytes / TORT_CHUNK};
    const bool is_short = bytes < TORT_CHUNK;
    for (int32_t k = 0; k < count; k++) {
        chunks.in[k] = operands[k].at;
        chunks.steps[k] = operands[k].step;
        if (!operands[k].step) continue;
        if (is_short) {
            memset(copied[k], 0, TORT_CHUNK);
            memcpy(copied[k], operands[k].at, (size_t)bytes);
        } else {
            memcpy(copied[k], operands[k].at + bytes - TORT_CHUNK, TORT_CHUNK);
        }
    }
    if (is_short) {
        run_copied(loop, &chunks, count, copied, made);
        memcpy(y, made, (size_t)bytes);
        return;
    }
    loop(&chunks);
    if (bytes % TORT_CHUNK) run_copied(loop, &chunks, count, copied, y + bytes - TORT_CHUNK);
}

/* ---- chains ------------------------------------------------------------------------------------------------------ */

/* A chain of loops: loops[k] joins operand k to the result of the operands before it. All have the type of y. */
typedef struct chain {
    int32_t count;
    size_t size; /* bytes per element */
    tort_chunk_loop loops[TORT_LOOP_OPERANDS];
    tort_tensor operands[TORT_LOOP_OPERANDS];
    char *y;
} chain;

static void run_operands(const chain *c, const operand *operands, char *y, int64_t bytes) {
    char so_far[TORT_BLOCK * sizeof(double)];
    const int64_t max = c->count > 2 ? (int64_t)sizeof so_far : bytes;
    for (int64_t at = 0; at < bytes; at += max) {
        const int64_t some = bytes - at < max ? bytes - at : max;
        operand pair[2] = {operand_from(&operands[0], at)};
        for (int32_t k = 1; k < c->count; k++) {
            char *to = k == c->count - 1 ? y + at : so_far;
            pair[1] = operand_from(&operands[k], at);
            run_chunks(c->loops[k], pair, 2, to, some);
            pair[0] = (operand){so_far, TORT_CHUNK};
        }
    }
}

static void chain_row(void *arg, const tort_loop *loop, int64_t first, int64_t count, const int64_t *offsets) {
    const chain *c = arg;
    char repeated[TORT_LOOP_OPERANDS][TORT_CHUNK];
    operand operands[TORT_LOOP_OPERANDS];
    for (int32_t k = 0; k < c->count; k++)
        operands[k] = operand_of(c->operands[k].data, offsets[k], loop->steps[k], c->size, repeated[k]);
    run_operands(c, operands, c->y + first * (int64_t)c->size, count * (int64_t)c->size);
}

/* Makes some short rows: their operands are first gathered side by side. */
static void chain_piece(void *arg, const tort_loop *loop, int64_t first, int64_t count) {
    const chain *c = arg;
    uint64_t gathered[TORT_LOOP_OPERANDS][TORT_BLOCK];
    operand operands[TORT_LOOP_OPERANDS];
    for (int32_t k = 0; k < c->count; k++) {
        tort_loop_gather(loop, k, first, count, c->size, c->operands[k].data, gathered[k]);
        operands[k] = (operand){(const char *)gathered[k], TORT_CHUNK};
    }
    run_operands(c, operands, c->y + first * (int64_t)c->size, count * (int64_t)c->size);
}

#define WORK 4 /* per element, in units of 1/16 ns */

static tort_status run_chain(const tort_call *call, chain *c) {
    const tort_tensor *y = &call->outputs[0];
    c->size = (size_t)tort_type_bits(y->type) / 8;
    c->y = y->data;
    const tort_loop loop = tort_loop_broadcast(y, c->operands, c->count);
    if (tort_loop_short(&loop))
        tort_loop_pieces(call, &loop, WORK * c->count, chain_piece, c);
    else
        tort_loop_parallel(call, &loop, WORK * (c->count - 1), chain_row, c);
    return TORT_OK;
}

static tort_chunk_loop pair_loop(const tort_call *call, tort_pair_kind kind) {
    const tort_cpu_device *device = call->device;
    return device->simd->pairs[call->inputs[0].type][kind];
}

static void join(chain *c, tort_chunk_loop loop, const tort_tensor *tensor) {
    c->loops[c->count] = loop;
    c->operands[c->count++] = *tensor;
}

/* Returns a tensor of rank 0: one number for all elements. */
static tort_tensor single(tort_type type, const void *element) {
    tort_tensor tensor = {.type = type};
    memcpy(&tensor.data, &element, sizeof element); /* drops const; the element is only read */
    return tensor;
}

/* ---- operators of chains ----------------------------------------------------------------------------------------- */

/* Runs rows whose variant is the tort_pair_kind of their loop. */
static tort_status run_pair(const tort_call *call) {
    const tort_binary *params = call->params;
    chain c = {0};
    join(&c, NULL, &call->inputs[0]);
    join(&c, pair_loop(call, (tort_pair_kind)call->kernel->variant), &call->inputs[1]);
    tort_tensor *b = &c.operands[1];
    for (int32_t i = 0; i < params->trailing && b->rank < call->outputs[0].rank; i++) b->dims[b->rank++] = 1;
    return run_chain(call, &c);
}

static chain chain_of_inputs(const tort_call *call) {
    chain c = {0};
    for (int32_t k = 0; k < call->input_count; k++)
        join(&c, pair_loop(call, (tort_pair_kind)call->kernel->variant), &call->inputs[k]);
    return c;
}

static tort_status run_all(const tort_call *call) {
    chain c = chain_of_inputs(call);
    return run_chain(call, &c);
}

static tort_status run_mean(const tort_call *call) {
    chain c = chain_of_inputs(call);
    const float count = (float)call->input_count;
    const double wide_count = call->input_count;
    const tort_type type = call->inputs[0].type;
    const tort_tensor divisor = single(type, type == TORT_FLOAT ? (const void *)&count : &wide_count);
    join(&c, pair_loop(call, TORT_PAIR_DIV), &divisor);
    return run_chain(call, &c);
}

static const uint64_t zero; /* of any type */

static tort_status run_relu(const tort_call *call) {
    const tort_tensor none = single(call->inputs[0].type, &zero);
    chain c = {0};
    join(&c, NULL, &call->inputs[0]);
    join(&c, pair_loop(call, TORT_PAIR_MAX), &none);
    return run_chain(call, &c);
}

static tort_status run_neg(const tort_call *call) {
    const tort_tensor none = single(call->inputs[0].type, &zero);
    chain c = {0};
    join(&c, NULL, &none);
    join(&c, pair_loop(call, TORT_PAIR_SUB), &call->inputs[0]);
    return run_chain(call, &c);
}

/* |x| = max(-x, x) */
static tort_status run_abs(const tort_call *call) {
    const tort_tensor none = single(call->inputs[0].type, &zero);
    chain c = {0};
    join(&c, NULL, &none);
    join(&c, pair_loop(call, TORT_PAIR_SUB), &call->inputs[0]);
    join(&c, pair_loop(call, TORT_PAIR_MAX), &call->inputs[0]);
    return run_chain(call, &c);
}

/* Clips to max(x, low), then min(.., high): if low > high the result is high, as ONNX demands. */
static tort_status run_clip(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *low = tort_call_input(call, 1), *high = tort_call_input(call, 2);
    const tort_tensor min = low ? single(x->type, low->data) : *x, max = high ? single(x->type, high->data) : *x;
    chain c = {0};
    join(&c, NULL, x);
    if (low || !high) join(&c, pair_loop(call, TORT_PAIR_MAX), &min);
    if (high) join(&c, pair_loop(call, TORT_PAIR_MIN), &max);
    return run_chain(call, &c);
}

/* ---- Cast -------------------------------------------------------------------------------------------------------- */

static const tort_cast_loop *find_cast(const tort_simd *simd, tort_type from, tort_type to) {
    for (const tort_cast_loop *cast = simd->casts; cast->run; cast++)
        if (cast->from == from && cast->to == to) return cast;
    return NULL;
}

/* Converts `count` elements; false if some could not be converted. */
static bool run_cast_chunks(const tort_cast_loop *cast, const char *x, char *y, int64_t count) {
    const int64_t rest = count % TORT_CAST_CHUNK, whole = count - rest;
    const int64_t x_size = tort_type_bits(cast->from) / 8, y_size = tort_type_bits(cast->to) / 8;
    double x_rest[TORT_CAST_CHUNK] = {0}, y_rest[TORT_CAST_CHUNK];
    const bool fits = cast->run(x, y, whole / TORT_CAST_CHUNK);
    if (!rest) return fits;
    memcpy(x_rest, x + whole * x_size, (size_t)(rest * x_size));
    const bool rest_fits = cast->run(x_rest, y_rest, 1);
    memcpy(y + whole * y_size, y_rest, (size_t)(rest * y_size));
    return fits && rest_fits;
}

typedef struct cast_job {
    const tort_cast_loop *cast;
    const char *x;
    char *y;
    int64_t count;
} cast_job;

/* Converts blocks of TORT_BLOCK elements. A block with an element that the instructions cannot convert (too large,
 * NaN) is converted again by the plain loop. */
static void cast_blocks(void *arg, int64_t begin, int64_t end) {
    const cast_job *job = arg;
    const tort_cast_loop *cast = job->cast;
    for (int64_t first = begin * TORT_BLOCK; first < end * TORT_BLOCK && first < job->count; first += TORT_BLOCK) {
        const int64_t count = job->count - first < TORT_BLOCK ? job->count - first : TORT_BLOCK;
        const char *x = job->x + first * (tort_type_bits(cast->from) / 8);
        char *y = job->y + first * (tort_type_bits(cast->to) / 8);
        if (run_cast_chunks(cast, x, y, count)) continue;
        if (cast->from == TORT_FLOAT)
            tort_store_floats(cast->to, y, 0, count, (const float *)(const void *)x);
        else
            tort_store_doubles(cast->to, y, 0, count, (const double *)(const void *)x);
    }
}

static tort_status run_cast(const tort_call *call) {
    const tort_cpu_device *device = call->device;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    cast_job job = {find_cast(device->simd, x->type, y->type), x->data, y->data, tort_count(x)};
    tort_parallel(call, (job.count + TORT_BLOCK - 1) / TORT_BLOCK, WORK * (TORT_BLOCK / 16), cast_blocks, &job);
    return TORT_OK;
}

static tort_verdict claim_cast(const tort_target *target, const tort_node_view *node) {
    const tort_verdict verdict = tort_cpu_claim_processor(target);
    if (verdict.code != TORT_YES) return verdict;
    const tort_type from = node->inputs[0].type, to = node->outputs[0].type;
    if (find_cast(tort_simd_choose(target->instructions), from, to)) return verdict;
    return tort_no(TORT_NO_TYPE, "", "has no loop from %s to %s", tort_type_name(from), tort_type_name(to));
}

/* ---- Where ------------------------------------------------------------------------------------------------------- */

typedef struct where_job {
    const tort_call *call;
    tort_chunk_loop choose;
    const tort_cast_loop *widen; /* conversion of the condition to the width of an element; NULL: none needed */
    size_t size;
} where_job;

static size_t where_size(const where_job *job, int32_t k) {
    return k == 0 ? 1 : job->size;
}

/* Chooses a block of elements; operands[0], the condition, has bools. */
static void choose_block(const where_job *job, const operand *operands, char *y, int64_t count) {
    uint64_t conditions[TORT_BLOCK];
    operand in[3] = {operands[0], operands[1], operands[2]};
    if (job->widen) {
        run_cast_chunks(job->widen, in[0].at, (char *)conditions, in[0].step ? count : TORT_CHUNK / (int64_t)job->size);
        in[0].at = (const char *)conditions;
    }
    run_chunks(job->choose, in, 3, y, count * (int64_t)job->size);
}

static void where_row(void *arg, const tort_loop *loop, int64_t first, int64_t count, const int64_t *offsets) {
    const where_job *job = arg;
    char repeated[3][TORT_CHUNK], *y = (char *)job->call->outputs[0].data + first * (int64_t)job->size;
    operand all[3];
    for (int32_t k = 0; k < 3; k++)
        all[k] = operand_of(job->call->inputs[k].data, offsets[k], loop->steps[k], where_size(job, k), repeated[k]);
    for (int64_t at = 0; at < count; at += TORT_BLOCK) {
        const int64_t some = count - at < TORT_BLOCK ? count - at : TORT_BLOCK, bytes = at * (int64_t)job->size;
        const operand block[3] = {operand_from(&all[0], at), operand_from(&all[1], bytes),
                                  operand_from(&all[2], bytes)};
        choose_block(job, block, y + bytes, some);
    }
}

static void where_piece(void *arg, const tort_loop *loop, int64_t first, int64_t count) {
    const where_job *job = arg;
    uint64_t gathered[3][TORT_BLOCK];
    operand operands[3];
    for (int32_t k = 0; k < 3; k++) {
        tort_loop_gather(loop, k, first, count, where_size(job, k), job->call->inputs[k].data, gathered[k]);
        operands[k] = (operand){(const char *)gathered[k], TORT_CHUNK};
    }
    choose_block(job, operands, (char *)job->call->outputs[0].data + first * (int64_t)job->size, count);
}

static tort_status run_where(const tort_call *call) {
    static const tort_type wide[] = {TORT_BOOL, TORT_INT16, TORT_INT32, TORT_INT64};
    const tort_cpu_device *device = call->device;
    const tort_loop loop = tort_loop_broadcast(&call->outputs[0], call->inputs, 3);
    where_job job = {.call = call, .size = (size_t)tort_type_bits(call->outputs[0].type) / 8};
    int32_t width = 0;
    while ((size_t)1 << width < job.size) width++;
    job.choose = device->simd->choose[width];
    if (width > 0) job.widen = find_cast(device->simd, TORT_BOOL, wide[width]);
    if (tort_loop_short(&loop))
        tort_loop_pieces(call, &loop, 3 * WORK, where_piece, &job);
    else
        tort_loop_parallel(call, &loop, 2 * WORK, where_row, &job);
    return TORT_OK;
}

static tort_verdict claim_where(const tort_target *target, const tort_node_view *node) {
    const tort_type type = node->inputs[1].type;
    const int bits = tort_type_bits(type);
    if (bits == 8 || bits == 16 || bits == 32 || bits == 64) return tort_cpu_claim_processor(target);
    return tort_no(TORT_NO_TYPE, "", "is for elements of 1, 2, 4 or 8 bytes, those of %s are not",
                   tort_type_name(type));
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_loops(const tort_target *target, const tort_node_view *node, tort_pair_kind first,
                                tort_pair_kind second, int32_t max) {
    const tort_verdict verdict = tort_cpu_claim_processor(target);
    const tort_type type = node->inputs[0].type;
    if (verdict.code != TORT_YES) return verdict;
    const tort_chunk_loop *loops = tort_simd_choose(target->instructions)->pairs[type];
    if (!loops[first] || !loops[second]) return tort_no(TORT_NO_TYPE, "", "has no loop for %s", tort_type_name(type));
    if (node->input_count < 2 || node->input_count > max)
        return tort_no(TORT_NO_SHAPE, "", "is for 2 to %d inputs, there are %d", (int)max, (int)node->input_count);
    return verdict;
}

static tort_verdict claim_max(const tort_target *target, const tort_node_view *node) {
    return claim_loops(target, node, TORT_PAIR_MAX, TORT_PAIR_MIN, TORT_LOOP_OPERANDS);
}

static tort_verdict claim_sum(const tort_target *target, const tort_node_view *node) {
    return claim_loops(target, node, TORT_PAIR_ADD, TORT_PAIR_ADD, TORT_LOOP_OPERANDS);
}

static tort_verdict claim_mean(const tort_target *target, const tort_node_view *node) {
    return claim_loops(target, node, TORT_PAIR_ADD, TORT_PAIR_DIV, TORT_LOOP_OPERANDS - 1);
}

/* Accepts functions of one integer that consist of one or two loops: the row's variant, and a maximum. */
static tort_verdict claim_integer(const tort_target *target, const tort_node_view *node) {
    const tort_verdict verdict = tort_cpu_claim_processor(target);
    const tort_type type = node->inputs[0].type;
    if (verdict.code != TORT_YES) return verdict;
    const tort_chunk_loop *loops = tort_simd_choose(target->instructions)->pairs[type];
    if (tort_type_is_integer(type) && loops[node->kernel->variant] && loops[TORT_PAIR_MAX]) return verdict;
    return tort_no(TORT_NO_TYPE, "", "has no loop for %s", tort_type_name(type));
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* These rows take floats in any layout, if the operands have one shape, or one is a single number. */
#define PAIR(op_, name_, variant_)                                                                                     \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = name_, .claim = tort_cpu_claim_float, .run = run_pair, .variant = variant_,   \
        .in_place = 3, .layout.id = TORT_ANY_LAYOUT, .layout.inputs = 3, .layout.outputs = 1                           \
    }
#define ROW(op_, name_, claim_, run_, variant_)                                                                        \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = name_, .claim = claim_, .run = run_, .variant = variant_,                     \
        .in_place = UINT32_MAX                                                                                         \
    }

const tort_kernel tort_cpu_elements[] = {
    PAIR("Add", "add_vectors", TORT_PAIR_ADD),
    PAIR("Sub", "sub_vectors", TORT_PAIR_SUB),
    PAIR("Mul", "mul_vectors", TORT_PAIR_MUL),
    PAIR("Div", "div_vectors", TORT_PAIR_DIV),
    PAIR("PRelu", "prelu_vectors", TORT_PAIR_PRELU),
    ROW("Max", "max_vectors", claim_max, run_all, TORT_PAIR_MAX),
    ROW("Min", "min_vectors", claim_max, run_all, TORT_PAIR_MIN),
    ROW("Sum", "sum_vectors", claim_sum, run_all, TORT_PAIR_ADD),
    ROW("Mean", "mean_vectors", claim_mean, run_mean, TORT_PAIR_ADD),
    ROW("Relu", "relu_integers", claim_integer, run_relu, TORT_PAIR_MAX),
    ROW("Clip", "clip_integers", claim_integer, run_clip, TORT_PAIR_MAX),
    ROW("Neg", "neg_integers", claim_integer, run_neg, TORT_PAIR_SUB),
    ROW("Abs", "abs_integers", claim_integer, run_abs, TORT_PAIR_SUB),
    ROW("Where", "where_vectors", claim_where, run_where, 0),
    {"", "Cast", "cast_vectors", .claim = claim_cast, .run = run_cast},
    {"", "CastLike", "cast_vectors", .claim = claim_cast, .run = run_cast},
    {.op = NULL},
};
