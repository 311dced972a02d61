/* variadic.c - Sum, Mean, Max and Min of any number of tensors, broadcast.
 *
 * A block of the output is computed at a time: every input is gathered, broadcast, and joined to the block, which is
 * rounded to the type once. In Max and Min NaN wins. */
#include "ops/elementwise.h"
#include "ops/shapes.h"

typedef enum join { JOIN_SUM, JOIN_MEAN, JOIN_MAX, JOIN_MIN } join; /* values of tort_op.variant */

/* ---- infer ------------------------------------------------------------------------------------------------------- */

/* Max and Min of at most two inputs also compute the integers of shape arithmetic. */
static tort_status infer_extreme(tort_infer *infer) {
    tort_status status = tort_infer_binary(infer);
    if (status != TORT_OK || infer->node->input_count > 2) return status;
    if (infer->node->input_count == 1) return tort_infer_forward_elements(infer, 0, 0);
    return tort_infer_elements(infer, infer->node->op->variant == JOIN_MAX ? tort_scalar_max : tort_scalar_min);
}

/* ---- joining a row to the block ---------------------------------------------------------------------------------- */

/* into[i] = into[i] joined with from[i * step]. x != x is NaN. */
#define DEFINE(ctype, name)                                                                                            \
    static void join_##name(join how, int64_t count, ctype *into, const ctype *from, int64_t step) {                   \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            const ctype x = from[i * step], y = into[i];                                                               \
            into[i] = how <= JOIN_MEAN  ? x + y                                                                        \
                      : how == JOIN_MAX ? (x > y || x != x ? x : y)                                                    \
                      : x < y || x != x ? x                                                                            \
                                        : y;                                                                           \
        }                                                                                                              \
    }
DEFINE(float, floats)
DEFINE(double, doubles)
DEFINE(int64_t, integers)
DEFINE(uint64_t, naturals)
#undef DEFINE

typedef union block {
    float f[TORT_BLOCK];
    double d[TORT_BLOCK];
    int64_t i[TORT_BLOCK];
    uint64_t u[TORT_BLOCK];
} block;

typedef struct joining {
    const tort_call *call;
    join how;
    const tort_tensor *input; /* the current one */
    int64_t begin;            /* first element of the block */
    block *block;
} joining;

/* Fills the block with a row of the first input, or joins a row of another one to it. */
static void join_row(void *arg, const tort_loop *loop, int64_t first, int64_t count, const int64_t *offsets) {
    const joining *j = arg;
    tort_type type = j->input->type;
    int64_t at = first - j->begin, step = loop->steps[0], n = step ? count : 1;
    bool fill = j->input == j->call->inputs;
    block row;
    if (type == TORT_DOUBLE) {
        tort_load_doubles(type, j->input->data, offsets[0], n, row.d);
        for (int64_t i = 0; fill && i < count; i++) j->block->d[at + i] = row.d[i * step];
        if (!fill) join_doubles(j->how, count, j->block->d + at, row.d, step);
    } else if (tort_type_is_float(type)) {
        tort_load_floats(type, j->input->data, offsets[0], n, row.f);
        for (int64_t i = 0; fill && i < count; i++) j->block->f[at + i] = row.f[i * step];
        if (!fill) join_floats(j->how, count, j->block->f + at, row.f, step);
    } else {
        tort_load_integers(type, j->input->data, offsets[0], n, row.i);
        for (int64_t i = 0; fill && i < count; i++) j->block->i[at + i] = row.i[i * step];
        if (!fill && tort_type_is_signed(type)) join_integers(j->how, count, j->block->i + at, row.i, step);
        if (!fill && !tort_type_is_signed(type)) join_naturals(j->how, count, j->block->u + at, row.u, step);
    }
}

static void store_block(const joining *j, int64_t count) {
    const tort_tensor *out = &j->call->outputs[0];
    block *b = j->block;
    if (out->type == TORT_DOUBLE) {
        for (int64_t i = 0; j->how == JOIN_MEAN && i < count; i++) b->d[i] /= j->call->input_count;
        tort_store_doubles(out->type, out->data, j->begin, count, b->d);
    } else if (tort_type_is_float(out->type)) {
        for (int64_t i = 0; j->how == JOIN_MEAN && i < count; i++) b->f[i] /= (float)j->call->input_count;
        tort_store_floats(out->type, out->data, j->begin, count, b->f);
    } else {
        tort_store_integers(out->type, out->data, j->begin, count, b->i);
    }
}

static void join_blocks(void *arg, int64_t begin, int64_t end) {
    joining j = *(const joining *)arg;
    const tort_tensor *out = &j.call->outputs[0];
    int64_t total = tort_count(out);
    block space = {.d = {0}};
    j.block = &space;
    for (int64_t b = begin; b < end; b++) {
        j.begin = b * TORT_BLOCK;
        int64_t count = total - j.begin < TORT_BLOCK ? total - j.begin : TORT_BLOCK;
        for (int32_t k = 0; k < j.call->input_count; k++) {
            j.input = &j.call->inputs[k];
            tort_loop loop = tort_loop_broadcast(out, j.input, 1);
            tort_loop_run(&loop, j.begin, j.begin + count, join_row, &j);
        }
        store_block(&j, count);
    }
}

/* ---- reference --------------------------------------------------------------------------------------------------- */

static tort_status run(const tort_call *call) {
    joining j = {.call = call, .how = (join)call->op->variant};
    int64_t blocks = (tort_count(&call->outputs[0]) + TORT_BLOCK - 1) / TORT_BLOCK;
    tort_parallel(call, blocks, call->input_count * (int64_t)TORT_BLOCK, join_blocks, &j);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define BY(infer, how) .flags = TORT_OP_IN_PLACE, JOIN_##how, 0, infer, NULL, run

const tort_op tort_ops_variadic[] = {
    {"", "Max", 1, 5, "data_0*:T", "max:T", "T=floats", "consumed_inputs:ints", BY(infer_extreme, MAX)},
    {"", "Max", 6, 7, "data_0*:T", "max:T", "T=floats", "", BY(infer_extreme, MAX)},
    {"", "Max", 8, 11, "data_0*:T", "max:T", "T=floats", "", BY(infer_extreme, MAX)},
    {"", "Max", 12, 12, "data_0*:T", "max:T", "T=numeric", "", BY(infer_extreme, MAX)},
    {"", "Max", 13, TORT_NEWEST_OPSET, "data_0*:T", "max:T", "T=numeric13", "", BY(infer_extreme, MAX)},
    {"", "Mean", 1, 5, "data_0*:T", "mean:T", "T=floats", "consumed_inputs:ints", BY(tort_infer_binary, MEAN)},
    {"", "Mean", 6, 7, "data_0*:T", "mean:T", "T=floats", "", BY(tort_infer_binary, MEAN)},
    {"", "Mean", 8, 12, "data_0*:T", "mean:T", "T=floats", "", BY(tort_infer_binary, MEAN)},
    {"", "Mean", 13, TORT_NEWEST_OPSET, "data_0*:T", "mean:T", "T=floats13", "", BY(tort_infer_binary, MEAN)},
    {"", "Min", 1, 5, "data_0*:T", "min:T", "T=floats", "consumed_inputs:ints", BY(infer_extreme, MIN)},
    {"", "Min", 6, 7, "data_0*:T", "min:T", "T=floats", "", BY(infer_extreme, MIN)},
    {"", "Min", 8, 11, "data_0*:T", "min:T", "T=floats", "", BY(infer_extreme, MIN)},
    {"", "Min", 12, 12, "data_0*:T", "min:T", "T=numeric", "", BY(infer_extreme, MIN)},
    {"", "Min", 13, TORT_NEWEST_OPSET, "data_0*:T", "min:T", "T=numeric13", "", BY(infer_extreme, MIN)},
    {"", "Sum", 1, 5, "data_0*:T", "sum:T", "T=floats", "consumed_inputs:ints", BY(tort_infer_binary, SUM)},
    {"", "Sum", 6, 7, "data_0*:T", "sum:T", "T=floats", "", BY(tort_infer_binary, SUM)},
    {"", "Sum", 8, 12, "data_0*:T", "sum:T", "T=floats", "", BY(tort_infer_binary, SUM)},
    {"", "Sum", 13, TORT_NEWEST_OPSET, "data_0*:T", "sum:T", "T=floats13", "", BY(tort_infer_binary, SUM)},
    {0},
};
