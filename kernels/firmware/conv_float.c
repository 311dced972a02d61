/* conv_float.c - Conv and FusedConv over one or two axes whose weights are constant: in tiles of pixels and filters,
 * or, where a filter has one channel, a plane at a time. */
#include "kernels/firmware/bytes.h"
#include "kernels/firmware/floats.h"
#include "kernels/firmware/window.h"
#include "ops/conv.h"

#include <string.h>

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
        fits = tort_mul_size((size_t)plane.rows, (size_t)plane.pitch * sizeof(float), scratch);
    else if (!tiles.direct)
        fits = tort_mul_size((size_t)depth_of(p), 4 * sizeof(float), scratch);
    return fits ? TORT_OK : tort_fail(error, TORT_E_MODEL, "a window does not fit the memory");
}

/* ---- run and emit ------------------------------------------------------------------------------------------------ */

static tort_status run(const tort_call *call) {
    const tort_firmware_floats *form = ((const tort_firmware_bytes *)call->device)->floats;
    const tort_conv_params *p = call->params;
    const tinyort_conv_tiles_shape tiles = tiles_of(p);
    const tinyort_depthwise_float_shape planes = depthwise_of(p);
    const float *x = call->inputs[0].data, *w = call->kernel->variant == TILES ? call->packed : call->inputs[1].data;
    const float *bias = tort_firmware_input(call, 2), *z = tort_firmware_input(call, TORT_EPILOGUE_Z);
    float low, high;
    tort_firmware_bounds(&p->epilogue, &low, &high);
    if (!tort_count(&call->outputs[0])) return TORT_OK;
    if (call->kernel->variant == TILES)
        form->conv(&tiles, x, w, bias, z, call->scratch, call->outputs[0].data, low, high);
    else
        form->depthwise(&planes, x, w, bias, call->scratch, call->outputs[0].data, low, high);
    tort_firmware_activate(&p->epilogue, call->outputs[0].data, tort_count(&call->outputs[0]));
    return TORT_OK;
}

static tort_status emit_depthwise(tort_emit *emit, tort_firmware_call call, const char *bias) {
    const tinyort_depthwise_float_shape shape = depthwise_of(emit->node->params);
    const tort_firmware_floats *form = tort_firmware_bytes_of(emit->target)->floats;
    const char *operands[] = {emit->inputs[0], emit->inputs[1], bias, emit->scratch, emit->outputs[0], NULL};
    memcpy(emit->code, form->depthwise_code, sizeof form->depthwise_code);
    call.function = "tinyort_depthwise_float";
    call.members = TORT_FIRMWARE_WINDOW("window.") "batch channels filters rows pitch dense";
    call.shape = &shape.window.height;
    return tort_firmware_emit_with(emit, &call, operands);
}

static tort_status emit_tiles(tort_emit *emit, tort_firmware_call call, const char *bias) {
    const tort_node_view *node = emit->node;
    const tinyort_conv_tiles_shape shape = tiles_of(node->params);
    const tort_firmware_floats *form = tort_firmware_bytes_of(emit->target)->floats;
    const char *z = tort_has_input(node, TORT_EPILOGUE_Z) ? emit->inputs[TORT_EPILOGUE_Z] : "NULL";
    const char *operands[] = {emit->inputs[0], NULL, bias, z, emit->scratch, emit->outputs[0], NULL};
    memcpy(emit->code, form->conv_code, sizeof form->conv_code);
    call.function = "tinyort_conv_tiles";
    call.members = TORT_FIRMWARE_WINDOW("window.") "batch groups channels filters direct";
    call.shape = &shape.window.height;
    return tort_firmware_emit_packed(emit, &call, operands, shape.groups, shape.filters, depth_of(node->params));
}

static tort_status emit(tort_emit *emit) {
    const tort_conv_params *p = emit->node->params;
    const char *bias = tort_has_input(emit->node, 2) ? emit->inputs[2] : "NULL";
    float bounds[2];
    tort_firmware_call call = {.numbers = bounds, .number_count = 2};
    tort_firmware_bounds(&p->epilogue, &bounds[0], &bounds[1]);
    const tort_status status =
        emit->node->kernel->variant == TILES ? emit_tiles(emit, call, bias) : emit_depthwise(emit, call, bias);
    return status ? status : tort_firmware_emit_activation(emit, &p->epilogue);
}

/* A depthwise convolution may write over its input: a plane of x is copied before the one of y is written. */
#define DEPTHWISE_ROW(domain_, op_)                                                                                    \
    {                                                                                                                  \
        domain_, op_, "depthwise", .claim = claim, .size = size, .run = run, .emit = emit, .variant = DEPTHWISE,       \
                                   .in_place = 1u << 0                                                                 \
    }
#define TILES_ROW(domain_, op_, in_place_)                                                                             \
    {                                                                                                                  \
        domain_, op_, "conv_tiles", .claim = claim, .size = size, .prepare = prepare, .pack = {.size = pack_size},     \
                                    .run = run, .emit = emit, .variant = TILES, .in_place = in_place_                  \
    }

const tort_kernel tort_firmware_conv_float[] = {
    DEPTHWISE_ROW("", "Conv"),
    DEPTHWISE_ROW("tinyort", "FusedConv"),
    TILES_ROW("", "Conv", 0),
    TILES_ROW("tinyort", "FusedConv", 1u << TORT_EPILOGUE_Z),
    {.op = NULL},
};
