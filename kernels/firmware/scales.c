/* scales.c - QuantizeLinear and DequantizeLinear of integers of 8 to 32 bits, by tensor, by axis or by block; scales
 * and zero points may be found during the run. */
#include "kernels/firmware/code/dequantize_scales.h"
#include "kernels/firmware/code/quantize_scales.h"
#include "kernels/firmware/firmware.h"
#include "ops/quantize.h"

enum { QUANTIZE, DEQUANTIZE }; /* values of tort_kernel.variant */

static tort_verdict claim_scales(const tort_target *target, const tort_node_view *node) {
    const tort_quantize *p = node->params;
    const bool quantizes = node->kernel->variant == QUANTIZE;
    const tort_type whole = quantizes ? node->outputs[0].type : node->inputs[0].type,
                    floats = quantizes ? node->inputs[0].type : node->outputs[0].type;
    const int32_t type = tort_firmware_number_type(whole);
    (void)target;
    if (type < 0 || type > 5 || (quantizes && type > 3) || floats != TORT_FLOAT || node->inputs[1].type != TORT_FLOAT ||
        (quantizes && p->precision != TORT_FLOAT))
        return tort_no(TORT_NO_TYPE, "quantize activations to 8 bits",
                       "%s and %s, firmware has integers of 8 bits and more, and float", tort_type_name(whole),
                       tort_type_name(floats));
    return tort_yes();
}

static tinyort_scales_shape shape_of(const tort_quantize *p, tort_type type) {
    const bool blocked = p->granularity == TORT_PER_BLOCK;
    const int32_t inner = (int32_t)p->inner, step = blocked ? inner : p->granularity == TORT_PER_AXIS;
    return (tinyort_scales_shape){.outer = (int32_t)p->outer,
                                  .length = (int32_t)p->length,
                                  .inner = inner,
                                  .block = blocked ? (int32_t)p->block : 1,
                                  .type = tort_firmware_number_type(type),
                                  .steps = {blocked ? (int32_t)p->blocks * inner : 0, step, blocked}};
}

static tort_status run_quantize(const tort_call *call) {
    const tort_tensor *y = &call->outputs[0];
    const int32_t bits = tort_type_bits(y->type);
    const bool is_signed = tort_type_is_signed(y->type);
    const tinyort_quantize_scales_shape shape = {.min = is_signed ? -(1 << (bits - 1)) : 0,
                                                 .max = (1 << (bits - is_signed)) - 1,
                                                 .at = shape_of(call->params, y->type)};
    return TORT_FIRMWARE_CALL(call, tinyort_quantize_scales, &shape, call->inputs[0].data, call->inputs[1].data,
                              tort_firmware_input(call, 2), y->data);
}

static tort_status run_dequantize(const tort_call *call) {
    const tinyort_dequantize_scales_shape shape = {shape_of(call->params, call->inputs[0].type)};
    return TORT_FIRMWARE_CALL(call, tinyort_dequantize_scales, &shape, call->inputs[0].data, call->inputs[1].data,
                              tort_firmware_input(call, 2), call->outputs[0].data);
}

#define ROW(op_, name_, kind, variant_)                                                                                \
    {                                                                                                                  \
        .domain = "", .op = op_, .name = name_, .claim = claim_scales, .run = run_##kind, .emit = tort_firmware_emit,  \
        .variant = variant_                                                                                            \
    }

const tort_kernel tort_firmware_scales[] = {
    ROW("QuantizeLinear", "quantize_scales", quantize, QUANTIZE),
    ROW("DequantizeLinear", "dequantize_scales", dequantize, DEQUANTIZE),
    {.op = NULL},
};
