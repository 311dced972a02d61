/* reduce.c - reductions over axes, ArgMax and ArgMin, TopK, Einsum of two operands; all of floats. */
#include "ops/reduce.h"
#include "kernels/firmware/code/arg_reduce.h"
#include "kernels/firmware/code/einsum.h"
#include "kernels/firmware/code/reduce.h"
#include "kernels/firmware/code/topk.h"
#include "kernels/firmware/firmware.h"
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

static tort_verdict claim_reduce(const tort_target *target, const tort_node_view *node) {
    (void)target;
    if (node->inputs[0].type == TORT_FLOAT) return tort_yes();
    return tort_no(TORT_NO_TYPE, "export the model in float32", "input 0 is %s, firmware reduces float",
                   tort_type_name(node->inputs[0].type));
}

static tinyort_reduce_shape reduce_of(const tort_reduce_params *p) {
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

static float divisor_of(int32_t variant, const tort_reduce_params *p) {
    return variant == MEAN ? (float)p->reduced_count : 1.0f;
}

static tort_status run_reduce(const tort_call *call) {
    typedef float joins(float, float);
    const int32_t variant = call->kernel->variant;
    const tinyort_reduce_shape shape = reduce_of(call->params);
    float *y = call->outputs[0].data;
    const tort_firmware_map finish = {.name = reductions[variant].finish};
    joins *f = (joins *)tort_firmware_function_of(reductions[variant].name);
    joins *join = (joins *)tort_firmware_function_of(reductions[variant].join);
    tinyort_reduce(&shape, call->inputs[0].data, y, f, join, reductions[variant].initial,
                   divisor_of(variant, call->params));
    if (finish.name) tort_firmware_run_map(&finish, shape.count, y, y);
    return TORT_OK;
}

static tort_status emit_reduce(tort_emit *emit) {
    const int32_t variant = emit->node->kernel->variant;
    const tinyort_reduce_shape shape = reduce_of(emit->node->params);
    const float numbers[] = {reductions[variant].initial, divisor_of(variant, emit->node->params)};
    const tort_firmware_map finish = {.name = reductions[variant].finish};
    const char *const operands[] = {emit->inputs[0], emit->outputs[0], reductions[variant].name,
                                    reductions[variant].join, NULL};
    tort_firmware_add_code(emit, tort_code_offset);
    tort_firmware_need(emit, reductions[variant].name);
    tort_firmware_need(emit, reductions[variant].join);
    tort_firmware_add_code(emit, tort_code_reduce);
    const tort_status status = tort_firmware_emit_with(
        emit,
        &(tort_firmware_call){.function = "tinyort_reduce",
                              .members = "count kept reduced kept_dims[8] kept_steps[8] dims[8] steps[8]",
                              .shape = &shape.count,
                              .numbers = numbers,
                              .number_count = 2},
        operands);
    if (status || !finish.name) return status;
    return tort_firmware_emit_map(emit, &finish, shape.count, emit->outputs[0], emit->outputs[0]);
}

/* ---- ArgMax, ArgMin ---------------------------------------------------------------------------------------------- */

static tinyort_arg_reduce_shape arg_of(const tort_arg_reduce_params *p, int32_t least) {
    return (tinyort_arg_reduce_shape){(int32_t)p->outer, (int32_t)p->length, (int32_t)p->inner, least, p->select_last};
}

static tort_status run_arg(const tort_call *call) {
    const tinyort_arg_reduce_shape shape = arg_of(call->params, call->kernel->variant);
    tinyort_arg_reduce(&shape, call->inputs[0].data, call->outputs[0].data);
    return TORT_OK;
}

static tort_status emit_arg(tort_emit *emit) {
    const tinyort_arg_reduce_shape shape = arg_of(emit->node->params, emit->node->kernel->variant);
    tort_firmware_add_code(emit, tort_code_arg_reduce);
    return tort_firmware_emit(emit, &(tort_firmware_call){"tinyort_arg_reduce", "outer length inner least select_last",
                                                          &shape.outer, 1, NULL, 0});
}

/* ---- TopK -------------------------------------------------------------------------------------------------------- */

static tinyort_topk_shape topk_of(const tort_topk_params *p) {
    return (tinyort_topk_shape){(int32_t)p->outer, (int32_t)p->length, (int32_t)p->inner, (int32_t)p->k, !p->largest};
}

static tort_status run_topk(const tort_call *call) {
    const tinyort_topk_shape shape = topk_of(call->params);
    const tort_tensor *values = tort_call_output(call, 0), *indices = tort_call_output(call, 1);
    tinyort_topk(&shape, call->inputs[0].data, values ? values->data : NULL, indices ? indices->data : NULL);
    return TORT_OK;
}

static tort_status emit_topk(tort_emit *emit) {
    const tinyort_topk_shape shape = topk_of(emit->node->params);
    const char *indices = emit->node->output_count > 1 ? emit->outputs[1] : "NULL";
    const char *operands[] = {emit->inputs[0], emit->outputs[0], indices, NULL};
    tort_firmware_add_code(emit, tort_code_topk);
    return tort_firmware_emit_with(
        emit, &(tort_firmware_call){"tinyort_topk", "outer length inner k least", &shape.outer, 0, NULL, 0}, operands);
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
    tinyort_einsum(&shape, call->inputs[0].data, call->inputs[1].data, call->outputs[0].data);
    return TORT_OK;
}

static tort_status emit_einsum(tort_emit *emit) {
    const tinyort_einsum_shape shape = einsum_of(emit->node->params);
    tort_firmware_add_code(emit, tort_code_offset);
    tort_firmware_add_code(emit, tort_code_einsum);
    return tort_firmware_emit(emit,
                              &(tort_firmware_call){"tinyort_einsum", "count sum kept reduced dims[16] as[16] bs[16]",
                                                    &shape.count, 2, NULL, 0});
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define REDUCE(op_, variant_)                                                                                          \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "reduce", .claim = claim_reduce, .run = run_reduce, .emit = emit_reduce,      \
        .variant = variant_                                                                                            \
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
    {"", "ArgMax", "arg_reduce", .claim = claim_reduce, .run = run_arg, .emit = emit_arg, .variant = 0},
    {"", "ArgMin", "arg_reduce", .claim = claim_reduce, .run = run_arg, .emit = emit_arg, .variant = 1},
    {"", "TopK", "topk", .claim = claim_reduce, .run = run_topk, .emit = emit_topk},
    {"", "Einsum", "einsum", .claim = claim_einsum, .run = run_einsum, .emit = emit_einsum},
    {.op = NULL},
};
