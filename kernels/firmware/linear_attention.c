/* linear_attention.c - LinearAttention and CausalConvWithState of floats; their state is an output. */
#include "ops/linear_attention.h"
#include "kernels/firmware/code/causal_conv.h"
#include "kernels/firmware/code/linear_attention.h"
#include "kernels/firmware/firmware.h"

static tort_verdict claim_linear(const tort_target *target, const tort_node_view *node) {
    if (!tort_has_output(node, 1)) return tort_no(TORT_NO_ATTR, "name it", "computes in output 1, which is absent");
    return tort_firmware_claim_float(target, node);
}

static tort_status run_linear(const tort_call *call) {
    const tort_linear_params *p = call->params;
    const tinyort_linear_attention_shape shape = {.items = (int32_t)(p->batch * p->key_heads),
                                                  .length = (int32_t)p->length,
                                                  .heads = (int32_t)p->key_heads,
                                                  .group = (int32_t)(p->query_heads / p->key_heads),
                                                  .rows = (int32_t)p->key_size,
                                                  .columns = (int32_t)p->value_size,
                                                  .decay_columns = (int32_t)p->decay_columns,
                                                  .beta_columns = (int32_t)p->beta_columns};
    return TORT_FIRMWARE_CALL_WITH(call, tinyort_linear_attention, &shape,
                                   (call->inputs[0].data, call->inputs[1].data, call->inputs[2].data,
                                    tort_firmware_input(call, 3), tort_firmware_input(call, 4),
                                    tort_firmware_input(call, 5), call->outputs[0].data, call->outputs[1].data),
                                   (float)p->scale);
}

static tort_status run_causal(const tort_call *call) {
    const tort_causal_params *p = call->params;
    const tort_firmware_map silu = {"tinyort_swish", true, {1.0f, 0.0f}};
    const tinyort_causal_conv_shape shape = {(int32_t)p->batch, (int32_t)p->channels, (int32_t)p->length,
                                             (int32_t)p->kernel};
    float *y = call->outputs[0].data;
    const tort_status status = TORT_FIRMWARE_CALL(call, tinyort_causal_conv, &shape, call->inputs[0].data,
                                                  call->inputs[1].data, tort_firmware_input(call, 2),
                                                  tort_firmware_input(call, 3), y, tort_firmware_output(call, 1));
    if (status || !p->silu) return status;
    return tort_firmware_run_map(call, &silu, tort_count(&call->outputs[0]), y, y);
}

const tort_kernel tort_firmware_linear_attention[] = {
    {"", "LinearAttention", "linear_attention", .claim = claim_linear, .run = run_linear, .emit = tort_firmware_emit},
    {"", "CausalConvWithState", "causal_conv", .claim = tort_firmware_claim_float, .run = run_causal,
     .emit = tort_firmware_emit},
    {.op = NULL},
};
