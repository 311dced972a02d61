/* conv_float.c - Conv and FusedConv over one or two axes whose weights are constant: in tiles of pixels and filters,
 * or, where a filter has one channel, a plane at a time. */
#include "kernels/firmware/bytes.h"
#include "kernels/firmware/floats.h"
#include "kernels/firmware/window.h"
#include "ops/conv.h"

enum { TILES, DEPTHWISE }; /* values of tort_kernel.variant */

/* ---- claim ------------------------------------------------------------------------------------------------------- */

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_conv_params *p = node->params;
    tort_verdict verdict = tort_firmware_claim_float(target, node);
    if (verdict.code == TORT_YES) verdict = tort_firmware_claim_window(&p->window);
    if (verdict.code == TORT_YES) verdict = tort_firmware_claim_constant(node, 1, "W");
    if (verdict.code != TORT_YES || node->kernel->variant == TILES) return verdict;
    if (p->channels != p->group || p->filters >= 4 * p->group) return tort_no(TORT_NO_ATTR, "", "not depthwise");
    return p->epilogue.residual ? tort_no(TORT_NO_ATTR, "", "adds nothing to its sums") : verdict;
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static tinyort_conv_tiles_shape tiles_of(const tort_conv_params *p) {
    const tinyort_sliding w = tort_firmware_window_of(&p->window);
    return (tinyort_conv_tiles_shape){
        .window = w,
        .batch = (int32_t)p->batch,
        .groups = (int32_t)p->group,
        .channels = (int32_t)(p->channels / p->group),
        .filters = (int32_t)(p->filters / p->group),
        .direct = tort_sliding_positions(&p->window) == 1 && w.stride_h == 1 && w.stride_w == 1 && w.top == 0 &&
                  w.left == 0 && w.out_h == w.height && w.out_w == w.width && w.out_h * w.out_w >= 4,
    };
}

static tinyort_depthwise_float_shape depthwise_of(const tort_conv_params *p) {
    const tinyort_sliding w = tort_firmware_window_of(&p->window);
    return (tinyort_depthwise_float_shape){
        .window = w,
        .batch = (int32_t)p->batch,
        .channels = (int32_t)p->group,
        .filters = (int32_t)(p->filters / p->group),
        .rows = (w.out_h - 1) * w.stride_h + (w.kernel_h - 1) * w.dilation_h + 1,
        .pitch = ((w.out_w + 3) / 4 * 4 - 1) * w.stride_w + (w.kernel_w - 1) * w.dilation_w + 1,
        .dense = w.kernel_w == 3 && w.stride_w == 1 && w.dilation_w == 1,
    };
}

/* ---- weights and scratch ----------------------------------------------------------------------------------------- */

static int64_t depth_of(const tort_conv_params *p) {
    return p->channels / p->group * tort_sliding_positions(&p->window);
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tort_conv_params *p = node->params;
    (void)target;
    *consumed = 1u << 1;
    if (tort_firmware_fours_bytes(p->group, p->filters / p->group, depth_of(p), bytes)) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "the weights do not fit the memory");
}

static tort_status prepare(tort_prepare *prepare) {
    const tort_conv_params *p = prepare->node->params;
    const int64_t filters = p->filters / p->group, depth = depth_of(p);
    const float *w = prepare->node->inputs[1].data;
    float *to = prepare->packed;
    for (int64_t g = 0; g < p->group; g++, w += filters * depth, to += (filters + 3) / 4 * 4 * depth)
        tort_firmware_pack_fours(w, filters, depth, depth, 1, to);
    return TORT_OK;
}

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_conv_params *p = node->params;
    const tinyort_conv_tiles_shape tiles = tiles_of(p);
    const tinyort_depthwise_float_shape plane = depthwise_of(p);
    bool fits = true;
    (void)target;
    *scratch = 0;
    if (node->kernel->variant == DEPTHWISE)
        fits = tort_mul_size((uint64_t)plane.rows, (uint64_t)plane.pitch * sizeof(float), scratch);
    else if (!tiles.direct)
        fits = tort_mul_size((uint64_t)depth_of(p), 4 * sizeof(float), scratch);
    return fits ? TORT_OK : tort_fail(error, TORT_E_MODEL, "a window does not fit the memory");
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

static tort_status run(const tort_call *call) {
    const tort_firmware_floats *form = ((const tort_firmware_bytes *)call->device)->floats;
    const tort_conv_params *p = call->params;
    const tinyort_conv_tiles_shape tiles = tiles_of(p);
    const tinyort_depthwise_float_shape planes = depthwise_of(p);
    const float *x = call->inputs[0].data, *w = call->kernel->variant == TILES ? call->packed : call->inputs[1].data;
    const float *bias = tort_firmware_input(call, 2), *z = tort_firmware_input(call, TORT_EPILOGUE_Z);
    float *y = call->outputs[0].data, low, high;
    tort_status status;
    tort_firmware_bounds(&p->epilogue, &low, &high);
    if (call->kernel->variant == TILES) {
        tort_firmware_fours_array(call, p->group, tiles.filters, depth_of(p));
        status = TORT_FIRMWARE_CALL_FORM_WITH(call, form->step, "tinyort_conv_tiles", form->conv, &tiles,
                                              (x, w, bias, z, call->scratch, y), low, high);
    } else {
        status = TORT_FIRMWARE_CALL_FORM_WITH(call, form->step, "tinyort_depthwise_float", form->depthwise, &planes,
                                              (x, w, bias, call->scratch, y), low, high);
    }
    return status ? status : tort_firmware_activate(call, &p->epilogue);
}

/* A depthwise convolution may write over its input: a plane of x is copied before the one of y is written. */
#define DEPTHWISE_ROW(domain_, op_)                                                                                    \
    {                                                                                                                  \
        domain_, op_, "depthwise", .claim = claim, .size = size, .run = run, .emit = tort_firmware_emit,               \
                                   .variant = DEPTHWISE, .in_place = 1u << 0                                           \
    }
#define TILES_ROW(domain_, op_, in_place_)                                                                             \
    {                                                                                                                  \
        domain_, op_, "conv_tiles", .claim = claim, .size = size, .prepare = prepare, .pack = {.size = pack_size},     \
                                    .run = run, .emit = tort_firmware_emit, .variant = TILES, .in_place = in_place_    \
    }

const tort_kernel tort_firmware_conv_float[] = {
    DEPTHWISE_ROW("", "Conv"),
    DEPTHWISE_ROW("tinyort", "FusedConv"),
    TILES_ROW("", "Conv", 0),
    TILES_ROW("tinyort", "FusedConv", 1u << TORT_EPILOGUE_Z),
    {.op = NULL},
};
