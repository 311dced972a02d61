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
    const tort_verdict verdict = global ? tort_yes() : tort_firmware_claim_extents(window);
    return verdict.code == TORT_YES ? tort_firmware_claim_float(target, node) : verdict;
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
    const tort_status status =
        TORT_FIRMWARE_CALL_WITH(call, tinyort_volume, &shape,
                                (call->inputs[0].data, tort_firmware_input(call, 1), tort_firmware_input(call, 2),
                                 tort_firmware_input(call, 3), call->outputs[0].data),
                                bounds[0], bounds[1]);
    return status || kind != CONV ? status : tort_firmware_activate(call, &p->epilogue);
}

#define ROW(domain_, op_, claim_, kind)                                                                                \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "volume", .claim = claim_, .run = run_volume,                            \
        .emit = tort_firmware_emit, .variant = kind                                                                    \
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
