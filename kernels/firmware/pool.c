/* pool.c - MaxPool without Indices, AveragePool and their global forms, over one or two axes; and windows. */
#include "ops/pool.h"
#include "kernels/firmware/code/average_pool.h"
#include "kernels/firmware/code/max_pool.h"
#include "kernels/firmware/window.h"

/* ---- windows ----------------------------------------------------------------------------------------------------- */

tort_verdict tort_firmware_claim_extents(const tort_sliding *sliding) {
    for (int32_t i = 0; i < sliding->axes; i++)
        if (sliding->kernel[i] > TORT_FIRMWARE_LIMIT || sliding->strides[i] > TORT_FIRMWARE_LIMIT ||
            sliding->dilations[i] > TORT_FIRMWARE_LIMIT || tort_sliding_extent(sliding, i) > TORT_FIRMWARE_LIMIT ||
            sliding->begin[i] > TORT_FIRMWARE_LIMIT || sliding->end[i] > TORT_FIRMWARE_LIMIT)
            return tort_no(TORT_NO_ATTR, "", "kernel, strides, dilations and pads are at most %d", TORT_FIRMWARE_LIMIT);
    return tort_yes();
}

/* Accepts one or two axes. */
static tort_verdict claim_axes(const tort_sliding *sliding) {
    if (sliding->axes == 1 || sliding->axes == 2) return tort_yes();
    return tort_no(TORT_NO_SHAPE, "", "is for 1 or 2 spatial axes, the input has %d", (int)sliding->axes);
}

tort_verdict tort_firmware_claim_window(const tort_sliding *sliding) {
    const tort_verdict verdict = claim_axes(sliding);
    return verdict.code == TORT_YES ? tort_firmware_claim_extents(sliding) : verdict;
}

tinyort_sliding tort_firmware_window_of(const tort_sliding *sliding) {
    const int32_t w = sliding->axes - 1, h = 0;
    tinyort_sliding window = {.width = (int32_t)sliding->input[w],
                              .out_w = (int32_t)sliding->output[w],
                              .kernel_w = (int32_t)sliding->kernel[w],
                              .stride_w = (int32_t)sliding->strides[w],
                              .dilation_w = (int32_t)sliding->dilations[w],
                              .left = (int32_t)sliding->begin[w],
                              .right = (int32_t)sliding->end[w],
                              .height = 1,
                              .out_h = 1,
                              .kernel_h = 1,
                              .stride_h = 1,
                              .dilation_h = 1};
    if (w == h) return window;
    window.height = (int32_t)sliding->input[h];
    window.out_h = (int32_t)sliding->output[h];
    window.kernel_h = (int32_t)sliding->kernel[h];
    window.stride_h = (int32_t)sliding->strides[h];
    window.dilation_h = (int32_t)sliding->dilations[h];
    window.top = (int32_t)sliding->begin[h];
    window.bottom = (int32_t)sliding->end[h];
    return window;
}

void tort_firmware_take_band(tinyort_sliding *window, const tinyort_band *band) {
    window->height = band->in_rows;
    window->top = band->above;
    window->out_h = band->out_rows;
}

tort_rows tort_firmware_window_rows(const tort_sliding *sliding, int64_t batch) {
    const tinyort_sliding w = tort_firmware_window_of(sliding);
    if (batch != 1 || w.height < 1 || w.out_h < 1) return (tort_rows){0};
    return (tort_rows){.inputs = 1,
                       .in_rows = w.height,
                       .out_rows = w.out_h,
                       .stride = w.stride_h,
                       .above = w.top,
                       .reach = (w.kernel_h - 1) * w.dilation_h + 1};
}

/* ---- pools ------------------------------------------------------------------------------------------------------- */

static tort_verdict claim_pool(const tort_target *target, const tort_node_view *node) {
    const tort_pool_params *p = node->params;
    if (tort_has_output(node, 1)) return tort_no(TORT_NO_ATTR, "", "does not make Indices");
    const tort_verdict verdict = p->global ? claim_axes(&p->window) : tort_firmware_claim_window(&p->window);
    return verdict.code == TORT_YES ? tort_firmware_claim_float(target, node) : verdict;
}

static tinyort_average_pool_shape shape_of(const tort_pool_params *p) {
    tort_sliding sliding = p->window;
    for (int32_t i = 0; p->global && i < sliding.axes; i++) {
        sliding.kernel[i] = sliding.input[i];
        sliding.strides[i] = sliding.dilations[i] = 1;
        sliding.begin[i] = sliding.end[i] = 0;
    }
    return (tinyort_average_pool_shape){.window = tort_firmware_window_of(&sliding),
                                        .planes = (int32_t)(p->batch * p->channels),
                                        .count_padding = p->count_include_pad};
}

static tort_status run_max_pool(const tort_call *call) {
    const tinyort_average_pool_shape s = shape_of(call->params);
    const tinyort_max_pool_shape shape = {s.window, s.planes};
    return TORT_FIRMWARE_CALL(call, tinyort_max_pool, &shape, call->inputs[0].data, call->outputs[0].data);
}

static tort_status run_average_pool(const tort_call *call) {
    const tinyort_average_pool_shape shape = shape_of(call->params);
    return TORT_FIRMWARE_CALL(call, tinyort_average_pool, &shape, call->inputs[0].data, call->outputs[0].data);
}

#define ROW(op_, kind)                                                                                                 \
    { .domain = "", .op = op_, .name = #kind, .claim = claim_pool, .run = run_##kind, .emit = tort_firmware_emit }

const tort_kernel tort_firmware_pool[] = {
    ROW("MaxPool", max_pool),
    ROW("GlobalMaxPool", max_pool),
    ROW("AveragePool", average_pool),
    ROW("GlobalAveragePool", average_pool),
    {.op = NULL},
};
