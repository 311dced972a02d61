/* volume.c - Conv, MaxPool, AveragePool and the global ones over three axes, as one function. */
#include "kernels/firmware/code/volume.h"
#include "kernels/firmware/window.h"
#include "ops/conv.h"
#include "ops/pool.h"

enum { CONV, MAX, AVERAGE, AXES = 3 }; /* kinds of volume.h */

static tort_verdict claim_axes(const tort_target *target, const tort_node_view *node, const tort_sliding *window,
                               bool global) {
    if (window->axes != AXES)
        return tort_no(TORT_NO_SHAPE, "", "is for 1 to %d spatial axes, the input has %d", AXES, (int)window->axes);
    for (int32_t i = 0; i < AXES && !global; i++)
        if (tort_sliding_extent(window, i) > TORT_FIRMWARE_LIMIT || window->strides[i] > TORT_FIRMWARE_LIMIT ||
            window->begin[i] > TORT_FIRMWARE_LIMIT || window->end[i] > TORT_FIRMWARE_LIMIT)
            return tort_no(TORT_NO_ATTR, "", "kernel, strides, dilations and pads are at most %d", TORT_FIRMWARE_LIMIT);
    return tort_firmware_claim_float(target, node);
}

static tort_verdict claim_conv(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    return claim_axes(target, node, &p->window, false);
}

static tort_verdict claim_pool(const tort_target *target, const tort_node_view *node) {
    const tort_pool_params *p = node->params;
    if (tort_has_output(node, 1)) return tort_no(TORT_NO_ATTR, "", "does not make Indices");
    return claim_axes(target, node, &p->window, p->global);
}

static tinyort_volume_shape window_of(const tort_sliding *window, bool global) {
    tinyort_volume_shape shape = {.kind = CONV};
    for (int32_t i = 0; i < AXES; i++) {
        shape.in[i] = (int32_t)window->input[i];
        shape.out[i] = (int32_t)window->output[i];
        shape.kernel[i] = (int32_t)(global ? window->input[i] : window->kernel[i]);
        shape.stride[i] = global ? 1 : (int32_t)window->strides[i];
        shape.dilation[i] = global ? 1 : (int32_t)window->dilations[i];
        shape.begin[i] = global ? 0 : (int32_t)window->begin[i];
        shape.end[i] = global ? 0 : (int32_t)window->end[i];
    }
    return shape;
}

/* The shape of a node, and its bounds. */
static tinyort_volume_shape shape_of(int32_t kind, const void *params, float *bounds) {
    if (kind == CONV) {
        const tort_conv_params *p = params;
        tinyort_volume_shape shape = window_of(&p->window, false);
        shape.batch = (int32_t)p->batch;
        shape.channels = (int32_t)p->channels;
        shape.filters = (int32_t)p->filters;
        shape.groups = (int32_t)p->group;
        tort_firmware_bounds(&p->epilogue, &bounds[0], &bounds[1]);
        return shape;
    }
    const tort_pool_params *p = params;
    tinyort_volume_shape shape = window_of(&p->window, p->global);
    shape.kind = kind;
    shape.count_padding = p->count_include_pad;
    shape.batch = (int32_t)p->batch;
    shape.channels = shape.filters = shape.groups = (int32_t)p->channels;
    bounds[0] = -INFINITY;
    bounds[1] = INFINITY;
    return shape;
}

static tort_status run_volume(const tort_call *call) {
    float bounds[2];
    const int32_t kind = call->kernel->variant;
    const tinyort_volume_shape shape = shape_of(kind, call->params, bounds);
    const tort_conv_params *p = call->params;
    float *y = call->outputs[0].data;
    tinyort_volume(&shape, call->inputs[0].data, tort_firmware_input(call, 1), tort_firmware_input(call, 2),
                   tort_firmware_input(call, 3), y, bounds[0], bounds[1]);
    if (kind == CONV) tort_firmware_activate(&p->epilogue, y, tort_count(&call->outputs[0]));
    return TORT_OK;
}

static tort_status emit_volume(tort_emit *emit) {
    float bounds[2];
    const int32_t kind = emit->node->kernel->variant;
    const tort_conv_params *p = emit->node->params;
    const tinyort_volume_shape shape = shape_of(kind, p, bounds);
    tort_firmware_add_code(emit, tort_code_clamp);
    tort_firmware_add_code(emit, tort_code_volume);
    const tort_status status = tort_firmware_emit(
        emit, &(tort_firmware_call){"tinyort_volume",
                                    "kind count_padding batch channels filters groups in[3] out[3] kernel[3] stride[3] "
                                    "dilation[3] begin[3] end[3]",
                                    &shape.kind, 4, bounds, 2});
    return status || kind != CONV ? status : tort_firmware_emit_activation(emit, &p->epilogue);
}

#define ROW(domain_, op_, claim_, kind)                                                                                \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "volume", .claim = claim_, .run = run_volume, .emit = emit_volume,       \
        .variant = kind                                                                                                \
    }

const tort_kernel tort_firmware_volume[] = {
    ROW("", "Conv", claim_conv, CONV),
    ROW("tinyort", "FusedConv", claim_conv, CONV),
    ROW("", "MaxPool", claim_pool, MAX),
    ROW("", "GlobalMaxPool", claim_pool, MAX),
    ROW("", "AveragePool", claim_pool, AVERAGE),
    ROW("", "GlobalAveragePool", claim_pool, AVERAGE),
    {.op = NULL},
};
