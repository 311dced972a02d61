/* reduce.c - reductions over axes, and what they normalize; ArgMax and ArgMin, TopK, Einsum of two operands, Det; all
 * of floats. */
#include "ops/reduce.h"
#include "kernels/firmware/code/arg_reduce.h"
#include "kernels/firmware/code/determinant.h"
#include "kernels/firmware/code/einsum.h"
#include "kernels/firmware/code/mean_variance.h"
#include "kernels/firmware/code/reduce.h"
#include "kernels/firmware/code/topk.h"
#include "kernels/firmware/firmware.h"
#include "kernels/firmware/reduce.h"
#include "ops/einsum.h"
#include "ops/topk.h"

#include <math.h>

enum { AXES = 8 };

/* ---- reductions -------------------------------------------------------------------------------------------------- */

/* Values of tort_kernel.variant. */
enum { SUM, MEAN, MAX, MIN, PROD, L1, L2, LOG_SUM, LOG_SUM_EXP, SUM_SQUARE };

/* The functions that join an element and a block, what they begin with, and the function of the result, if there is
 * one. */
static const struct {
    const char *name, *join;
    float initial;
    const char *finish;
} reductions[] = {[SUM] = {"tinyort_add", "tinyort_add", 0.0f, NULL},
                  [MEAN] = {"tinyort_add", "tinyort_add", 0.0f, NULL},
                  [MAX] = {"tinyort_max", "tinyort_max", -INFINITY, NULL},
                  [MIN] = {"tinyort_min", "tinyort_min", INFINITY, NULL},
                  [PROD] = {"tinyort_multiply", "tinyort_multiply", 1.0f, NULL},
                  [L1] = {"tinyort_add_abs", "tinyort_add", 0.0f, NULL},
                  [L2] = {"tinyort_add_square", "tinyort_add", 0.0f, "tinyort_sqrt"},
                  [LOG_SUM] = {"tinyort_add", "tinyort_add", 0.0f, "tinyort_log"},
                  [LOG_SUM_EXP] = {"tinyort_add_exp", "tinyort_add_exp", -INFINITY, NULL},
                  [SUM_SQUARE] = {"tinyort_add_square", "tinyort_add", 0.0f, NULL}};

tinyort_reduce_shape tort_firmware_reduce_of(const tort_reduce_params *p) {
    tinyort_reduce_shape shape = {.count = (int32_t)p->kept_count};
    for (int32_t i = 0; i < p->rank; i++) {
        int32_t *dims = p->reduced[i] ? shape.dims : shape.kept_dims;
        int32_t *steps = p->reduced[i] ? shape.steps : shape.kept_steps;
        int32_t *rank = p->reduced[i] ? &shape.reduced : &shape.kept;
        dims[*rank] = (int32_t)p->dims[i];
        steps[(*rank)++] = (int32_t)p->strides[i];
    }
    if (!shape.reduced) shape.dims[shape.reduced++] = 1;
    return shape;
}

static tort_status run_reduce(const tort_call *call) {
    typedef float joins(float, float);
    const int32_t variant = call->kernel->variant;
    const tort_reduce_params *p = call->params;
    const tinyort_reduce_shape shape = tort_firmware_reduce_of(p);
    float *y = call->outputs[0].data;
    const tort_firmware_map finish = {.name = reductions[variant].finish};
    joins *f = (joins *)tort_firmware_function_of(reductions[variant].name);
    joins *join = (joins *)tort_firmware_function_of(reductions[variant].join);
    const tort_status status =
        TORT_FIRMWARE_CALL_WITH(call, tinyort_reduce, &shape, (call->inputs[0].data, y, f, join),
                                reductions[variant].initial, variant == MEAN ? (float)p->reduced_count : 1.0f);
    return status || !finish.name ? status : tort_firmware_run_map(call, &finish, shape.count, y, y);
}

static tort_status run_mean_variance(const tort_call *call) {
    const tinyort_mean_variance_shape shape = {tort_firmware_reduce_of(call->params)};
    return TORT_FIRMWARE_CALL_WITH(call, tinyort_mean_variance, &shape, (call->inputs[0].data, call->outputs[0].data),
                                   1e-9f);
}

/* ---- ArgMax, ArgMin ---------------------------------------------------------------------------------------------- */

static tort_status run_arg(const tort_call *call) {
    const tort_arg_reduce_params *p = call->params;
    const tinyort_arg_reduce_shape shape = {(int32_t)p->outer, (int32_t)p->length, (int32_t)p->inner,
                                            call->kernel->variant, p->select_last};
    return TORT_FIRMWARE_CALL(call, tinyort_arg_reduce, &shape, call->inputs[0].data, call->outputs[0].data);
}

/* ---- TopK -------------------------------------------------------------------------------------------------------- */

static tort_status run_topk(const tort_call *call) {
    const tort_topk_params *p = call->params;
    const tinyort_topk_shape shape = {(int32_t)p->outer, (int32_t)p->length, (int32_t)p->inner, (int32_t)p->k,
                                      !p->largest};
    return TORT_FIRMWARE_CALL(call, tinyort_topk, &shape, call->inputs[0].data, tort_firmware_output(call, 0),
                              tort_firmware_output(call, 1));
}

/* ---- Einsum ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_einsum(const tort_target *target, const tort_node_view *node) {
    const tort_einsum_params *p = node->params;
    int32_t outer = 0;
    for (int32_t l = 0; l < p->label_count; l++) outer += p->in_output[l];
    if (node->input_count != 2 || !p->label_count || outer > AXES || p->label_count - outer > AXES)
        return tort_no(TORT_NO_ATTR, "write it as MatMul",
                       "is for two operands, and %d labels in the output and outside", AXES);
    return tort_firmware_claim_float(target, node);
}

/* Labels of the output by the stride that they have there. */
static tinyort_einsum_shape einsum_of(const tort_einsum_params *p) {
    tinyort_einsum_shape shape = {.count = (int32_t)p->output.count, .sum = 1};
    int32_t order[TORT_EINSUM_LABELS], count = 0;
    for (int32_t l = 0; l < p->label_count; l++) {
        int32_t at = count++;
        for (; at > 0 && p->in_output[l] &&
               (!p->in_output[order[at - 1]] || p->output.strides[order[at - 1]] < p->output.strides[l]);
             at--)
            order[at] = order[at - 1];
        order[at] = l;
    }
    for (int32_t i = 0; i < count; i++) {
        const int32_t l = order[i];
        const int32_t size = (int32_t)p->sizes[l], a = (int32_t)p->operands[0].strides[l];
        const int32_t b = (int32_t)p->operands[1].strides[l];
        if (!p->in_output[l]) shape.sum *= size;
        const int32_t at = p->in_output[l] ? shape.kept++ : AXES + shape.reduced++;
        shape.dims[at] = size;
        shape.as[at] = a;
        shape.bs[at] = b;
    }
    return shape;
}

static tort_status run_einsum(const tort_call *call) {
    const tinyort_einsum_shape shape = einsum_of(call->params);
    return TORT_FIRMWARE_CALL(call, tinyort_einsum, &shape, call->inputs[0].data, call->inputs[1].data,
                              call->outputs[0].data);
}

/* ---- Det --------------------------------------------------------------------------------------------------------- */

/* One matrix of double. */
static tort_status size_det(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_info *x = &node->inputs[0];
    (void)target;
    (void)error;
    *scratch = (size_t)(x->dims[x->rank - 1] * x->dims[x->rank - 1]) * sizeof(double);
    return TORT_OK;
}

static tort_status run_det(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const tinyort_determinant_shape shape = {(int32_t)tort_count(y), (int32_t)x->dims[x->rank - 1]};
    return TORT_FIRMWARE_CALL(call, tinyort_determinant, &shape, x->data, y->data, call->scratch);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define REDUCE(op_, variant_)                                                                                          \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "reduce", .claim = tort_firmware_claim_first_float, .run = run_reduce,        \
        .emit = tort_firmware_emit, .variant = variant_                                                                \
    }

const tort_kernel tort_firmware_reduce[] = {
    REDUCE("ReduceSum", SUM),
    REDUCE("ReduceMean", MEAN),
    REDUCE("ReduceMax", MAX),
    REDUCE("ReduceMin", MIN),
    REDUCE("ReduceProd", PROD),
    REDUCE("ReduceL1", L1),
    REDUCE("ReduceL2", L2),
    REDUCE("ReduceLogSum", LOG_SUM),
    REDUCE("ReduceLogSumExp", LOG_SUM_EXP),
    REDUCE("ReduceSumSquare", SUM_SQUARE),
    {"", "ArgMax", "arg_reduce", .claim = tort_firmware_claim_first_float, .run = run_arg, .emit = tort_firmware_emit,
     .variant = 0},
    {"", "ArgMin", "arg_reduce", .claim = tort_firmware_claim_first_float, .run = run_arg, .emit = tort_firmware_emit,
     .variant = 1},
    {"", "TopK", "topk", .claim = tort_firmware_claim_first_float, .run = run_topk, .emit = tort_firmware_emit},
    {"", "MeanVarianceNormalization", "mean_variance", .claim = tort_firmware_claim_float, .run = run_mean_variance,
     .emit = tort_firmware_emit, .in_place = 1},
    {"", "Det", "determinant", .claim = tort_firmware_claim_float, .run = run_det, .size = size_det,
     .emit = tort_firmware_emit},
    {"", "Einsum", "einsum", .claim = claim_einsum, .run = run_einsum, .emit = tort_firmware_emit},
    {.op = NULL},
};
