/* volume.c - Conv, MaxPool, AveragePool and the global ones over three axes, as one function; LpPool over one to three.
 */
#include "kernels/firmware/code/volume.h"
#include "kernels/firmware/window.h"
#include "ops/conv.h"
#include "ops/pool.h"

enum { CONV, MAX, AVERAGE, NORM, AXES = 3 }; /* kinds of volume.h */

static tort_verdict claim_axes(const tort_target *target, const tort_node_view *node, const tort_sliding *window,
                               bool global) {
    const int32_t min = node->kernel->variant == NORM ? 1 : AXES; /* pool.c has the others */
    const tort_verdict verdict = tort_firmware_claim_float(target, node);
    if (verdict.code != TORT_YES) return verdict;
    if (window->axes < min || window->axes > AXES)
        return tort_no(TORT_NO_SHAPE, "", "is for 1 to %d spatial axes, the input has %d", AXES, (int)window->axes);
    return global ? tort_yes() : tort_firmware_claim_extents(window);
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
        const int32_t from = i - (AXES - window->axes); /* the first axes may be missing: one element */
        const bool slides = from >= 0 && !global;
        shape.in[i] = from < 0 ? 1 : (int32_t)window->input[from];
        shape.out[i] = from < 0 ? 1 : (int32_t)window->output[from];
        shape.kernel[i] = slides ? (int32_t)window->kernel[from] : shape.in[i];
        shape.stride[i] = slides ? (int32_t)window->strides[from] : 1;
        shape.dilation[i] = slides ? (int32_t)window->dilations[from] : 1;
        shape.begin[i] = slides ? (int32_t)window->begin[from] : 0;
        shape.end[i] = slides ? (int32_t)window->end[from] : 0;
    }
    return shape;
}

/* The shape of a node, its bounds and its power. */
static tinyort_volume_shape shape_of(int32_t kind, const void *params, float *numbers) {
    if (kind == CONV) {
        const tort_conv_params *p = params;
        tinyort_volume_shape shape = window_of(&p->window, false);
        shape.batch = (int32_t)p->batch;
        shape.channels = (int32_t)p->channels;
        shape.filters = (int32_t)p->filters;
        shape.groups = (int32_t)p->group;
        tort_firmware_bounds(&p->epilogue, &numbers[0], &numbers[1]);
        return shape;
    }
    const tort_pool_params *p = params;
    tinyort_volume_shape shape = window_of(&p->window, p->global);
    shape.kind = kind;
    shape.count_padding = p->count_include_pad;
    shape.batch = (int32_t)p->batch;
    shape.channels = shape.filters = shape.groups = (int32_t)p->channels;
    numbers[0] = -INFINITY;
    numbers[1] = INFINITY;
    numbers[2] = (float)p->p;
    return shape;
}

static tort_status run_volume(const tort_call *call) {
    float numbers[3] = {0};
    const int32_t kind = call->kernel->variant;
    const tinyort_volume_shape shape = shape_of(kind, call->params, numbers);
    float (*power)(float, float) = NULL;
    if (kind == NORM) power = (float (*)(float, float))tort_firmware_function_of("tinyort_pow");
    const tort_conv_params *p = call->params;
    const tort_status status =
        TORT_FIRMWARE_CALL_WITH(call, tinyort_volume, &shape,
                                (call->inputs[0].data, tort_firmware_input(call, 1), tort_firmware_input(call, 2),
                                 tort_firmware_input(call, 3), call->outputs[0].data, power),
                                numbers[0], numbers[1], numbers[2]);
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
    ROW("", "LpPool", claim_pool, NORM),
    ROW("", "GlobalLpPool", claim_pool, NORM),
    {.op = NULL},
};
