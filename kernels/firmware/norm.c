/* norm.c - normalizations: over rows (LayerNormalization and its like), over a batch outside training, along an axis,
 * and over channels; all of floats. */
#include "ops/norm.h"
#include "kernels/firmware/code/batch_norm.h"
#include "kernels/firmware/code/lp_norm.h"
#include "kernels/firmware/code/lrn.h"
#include "kernels/firmware/code/normalize.h"
#include "kernels/firmware/code/pair.h"
#include "kernels/firmware/firmware.h"
#include "ops/broadcast.h"

/* ---- rows of statistics, then scale and bias as pairs ------------------------------------------------------------ */

enum { MULTIPLY = 2, ADD = 0 }; /* operations of pair.h */

static tinyort_pair_shape pair_of(const tort_norm_params *p, int32_t operation) {
    tinyort_pair_shape shape = {.operation = operation};
    int64_t own[TORT_MAX_RANK + 1];
    tort_loop loop;
    tort_strides(p->rank, p->dims, own);
    tort_loop_begin(&loop, p->rank, p->dims);
    tort_loop_operand(&loop, own);
    tort_loop_operand(&loop, operation == MULTIPLY ? p->scale_strides : p->bias_strides);
    tort_loop_ready(&loop);
    tort_firmware_loop(&loop, &shape.rank);
    return shape;
}

static tort_status run_rows(const tort_call *call) {
    const tort_norm_params *p = call->params;
    const tinyort_normalize_shape shape = {(int32_t)p->rows, (int32_t)p->size, p->centered};
    const tinyort_pair_shape scale = pair_of(p, MULTIPLY), bias = pair_of(p, ADD);
    const int32_t last = call->kernel->variant;
    const float *added = tort_firmware_input(call, 2);
    float *y = call->outputs[0].data;
    float *inverses = last ? tort_firmware_output(call, last) : NULL;
    float *means = last > 1 ? tort_firmware_output(call, last - 1) : NULL;
    tort_status status = TORT_FIRMWARE_CALL_WITH(call, tinyort_normalize, &shape,
                                                 (call->inputs[0].data, y, means, inverses), (float)p->epsilon);
    if (!status) status = TORT_FIRMWARE_CALL(call, tinyort_pair, &scale, y, call->inputs[1].data, y);
    if (!status && added) status = TORT_FIRMWARE_CALL(call, tinyort_pair, &bias, y, added, y);
    return status;
}

/* ---- BatchNormalization ------------------------------------------------------------------------------------------ */

static tort_verdict claim_batch(const tort_target *target, const tort_node_view *node) {
    const tort_batch_norm_params *p = node->params;
    if (p->training) return tort_no(TORT_NO_ATTR, "export the model for inference", "is for inference");
    for (int32_t i = 1; i < node->output_count; i++)
        if (tort_has_output(node, i)) return tort_no(TORT_NO_ATTR, "", "makes output 0 only");
    return tort_firmware_claim_float(target, node);
}

static tort_status run_batch(const tort_call *call) {
    const tort_batch_norm_params *p = call->params;
    const tinyort_batch_norm_shape shape = {(int32_t)p->batch, (int32_t)p->channels, (int32_t)p->inner};
    const tort_tensor *in = call->inputs;
    return TORT_FIRMWARE_CALL_WITH(call, tinyort_batch_norm, &shape,
                                   (in[0].data, in[1].data, in[2].data, in[3].data, in[4].data, call->outputs[0].data),
                                   (float)p->epsilon);
}

/* ---- LpNormalization, LRN ---------------------------------------------------------------------------------------- */

static tort_status run_lp(const tort_call *call) {
    const tort_lp_norm_params *p = call->params;
    const tinyort_lp_norm_shape shape = {(int32_t)p->outer, (int32_t)p->length, (int32_t)p->inner, p->p == 2};
    return TORT_FIRMWARE_CALL(call, tinyort_lp_norm, &shape, call->inputs[0].data, call->outputs[0].data);
}

static tort_status run_lrn(const tort_call *call) {
    const tort_lrn_params *p = call->params;
    const int64_t before = p->before < p->channels ? p->before : p->channels;
    const int64_t after = p->after < p->channels ? p->after : p->channels;
    const tinyort_lrn_shape shape = {(int32_t)p->batch, (int32_t)p->channels, (int32_t)p->inner, (int32_t)before,
                                     (int32_t)after};
    float (*power)(float, float) = (float (*)(float, float))tort_firmware_function_of("tinyort_pow");
    return TORT_FIRMWARE_CALL_WITH(call, tinyort_lrn, &shape, (call->inputs[0].data, call->outputs[0].data, power),
                                   (float)(p->alpha / (double)p->size), (float)p->beta, (float)p->bias);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* inverses_: the output that has the inverse roots, after the means, if they are an output; 0: neither is. */
#define ROWS(op_, inverses_)                                                                                           \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = "normalize", .claim = tort_firmware_claim_float, .run = run_rows,             \
        .emit = tort_firmware_emit, .in_place = 1, .variant = inverses_                                                \
    }

const tort_kernel tort_firmware_norm[] = {
    ROWS("LayerNormalization", 2),
    ROWS("RMSNormalization", 0),
    ROWS("SimplifiedLayerNormalization", 1),
    ROWS("InstanceNormalization", 0),
    ROWS("GroupNormalization", 0),
    {"", "BatchNormalization", "batch_norm", .claim = claim_batch, .run = run_batch, .emit = tort_firmware_emit,
     .in_place = 1},
    {"", "LpNormalization", "lp_norm", .claim = tort_firmware_claim_float, .run = run_lp, .emit = tort_firmware_emit},
    {"", "LRN", "lrn", .claim = tort_firmware_claim_float, .run = run_lrn, .emit = tort_firmware_emit},
    {.op = NULL},
};
