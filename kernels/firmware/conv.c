/* conv.c - Conv, FusedConv and ConvTranspose over one or two axes; one axis runs as the second of two. */
#include "ops/conv.h"
#include "kernels/firmware/code/conv.h"
#include "kernels/firmware/code/conv_transpose.h"
#include "kernels/firmware/window.h"

static tort_verdict claim_conv(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    const tort_verdict verdict = tort_firmware_claim_float(target, node);
    return verdict.code == TORT_YES ? tort_firmware_claim_window(&p->window) : verdict;
}

static tinyort_conv_shape shape_of(const tort_conv_params *p) {
    return (tinyort_conv_shape){.window = tort_firmware_window_of(&p->window),
                                .batch = (int32_t)p->batch,
                                .channels = (int32_t)p->channels,
                                .filters = (int32_t)p->filters,
                                .groups = (int32_t)p->group};
}

static tort_status run_conv(const tort_call *call) {
    const tort_conv_params *p = call->params;
    const tinyort_conv_shape shape = shape_of(p);
    float low, high;
    tort_firmware_bounds(&p->epilogue, &low, &high);
    const tort_status status =
        TORT_FIRMWARE_CALL_WITH(call, tinyort_conv, &shape,
                                (call->inputs[0].data, call->inputs[1].data, tort_firmware_input(call, 2),
                                 tort_firmware_input(call, 3), call->outputs[0].data),
                                low, high);
    return status ? status : tort_firmware_activate(call, &p->epilogue);
}

static tort_status run_transpose(const tort_call *call) {
    const tinyort_conv_shape s = shape_of(call->params);
    const tinyort_conv_transpose_shape shape = {s.window, s.batch, s.channels, s.filters, s.groups};
    return TORT_FIRMWARE_CALL(call, tinyort_conv_transpose, &shape, call->inputs[0].data, call->inputs[1].data,
                              tort_firmware_input(call, 2), call->outputs[0].data);
}

#define ROW(domain_, op_, in_place_)                                                                                   \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "conv", .claim = claim_conv, .run = run_conv,                            \
        .emit = tort_firmware_emit, .in_place = in_place_                                                              \
    }

const tort_kernel tort_firmware_conv[] = {
    ROW("", "Conv", 0),
    ROW("tinyort", "FusedConv", 1u << TORT_EPILOGUE_Z),
    {"", "ConvTranspose", "conv_transpose", .claim = claim_conv, .run = run_transpose, .emit = tort_firmware_emit},
    {.op = NULL},
};
