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

#define MEMBERS TORT_FIRMWARE_WINDOW("window.") "batch channels filters groups"

static tinyort_conv_shape shape_of(const tort_conv_params *p, float *bounds) {
    tort_firmware_bounds(&p->epilogue, &bounds[0], &bounds[1]);
    return (tinyort_conv_shape){.window = tort_firmware_window_of(&p->window),
                                .batch = (int32_t)p->batch,
                                .channels = (int32_t)p->channels,
                                .filters = (int32_t)p->filters,
                                .groups = (int32_t)p->group};
}

static tort_status run_conv(const tort_call *call) {
    float bounds[2];
    const tinyort_conv_shape shape = shape_of(call->params, bounds);
    if (!tort_count(&call->outputs[0])) return TORT_OK;
    tinyort_conv(&shape, call->inputs[0].data, call->inputs[1].data, tort_firmware_input(call, 2),
                 tort_firmware_input(call, 3), call->outputs[0].data, bounds[0], bounds[1]);
    const tort_conv_params *p = call->params;
    tort_firmware_activate(&p->epilogue, call->outputs[0].data, tort_count(&call->outputs[0]));
    return TORT_OK;
}

static tort_status emit_conv(tort_emit *emit) {
    float bounds[2];
    const tort_conv_params *p = emit->node->params;
    const tinyort_conv_shape shape = shape_of(p, bounds);
    tort_firmware_add_code(emit, tort_code_clamp);
    tort_firmware_add_code(emit, tort_code_sliding);
    tort_firmware_add_code(emit, tort_code_conv);
    const tort_status status =
        tort_firmware_emit(emit, &(tort_firmware_call){"tinyort_conv", MEMBERS, &shape.window.height, 4, bounds, 2});
    return status ? status : tort_firmware_emit_activation(emit, &p->epilogue);
}

/* ---- ConvTranspose ----------------------------------------------------------------------------------------------- */

static tinyort_conv_transpose_shape transpose_of(const tort_conv_params *p) {
    float bounds[2];
    const tinyort_conv_shape s = shape_of(p, bounds);
    return (tinyort_conv_transpose_shape){s.window, s.batch, s.channels, s.filters, s.groups};
}

static tort_status run_transpose(const tort_call *call) {
    const tinyort_conv_transpose_shape shape = transpose_of(call->params);
    if (!tort_count(&call->outputs[0])) return TORT_OK;
    tinyort_conv_transpose(&shape, call->inputs[0].data, call->inputs[1].data, tort_firmware_input(call, 2),
                           call->outputs[0].data);
    return TORT_OK;
}

static tort_status emit_transpose(tort_emit *emit) {
    const tinyort_conv_transpose_shape shape = transpose_of(emit->node->params);
    tort_firmware_add_code(emit, tort_code_sliding);
    tort_firmware_add_code(emit, tort_code_conv_transpose);
    return tort_firmware_emit(
        emit, &(tort_firmware_call){"tinyort_conv_transpose", MEMBERS, &shape.window.height, 3, NULL, 0});
}

#define ROW(domain_, op_, in_place_)                                                                                   \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "conv", .claim = claim_conv, .run = run_conv, .emit = emit_conv,         \
        .in_place = in_place_                                                                                          \
    }

const tort_kernel tort_firmware_conv[] = {
    ROW("", "Conv", 0),
    ROW("tinyort", "FusedConv", 1u << TORT_EPILOGUE_Z),
    {"", "ConvTranspose", "conv_transpose", .claim = claim_conv, .run = run_transpose, .emit = emit_transpose},
    {.op = NULL},
};
