/* quantized.c - what the kernels of quantized operators share (quantized.h). */
#include "kernels/cpu/quantized.h"

#include "ops/numeric.h"

static int64_t count_of(const tort_info *info) {
    int64_t count = 1;
    for (int32_t d = 0; d < info->rank; d++) count *= info->dims[d];
    return count;
}

tort_status tort_cpu_widen(const tort_prepare *prepare, int32_t input, int32_t zero_input, int64_t inner,
                           float **floats, size_t *bytes) {
    const tort_info *info = &prepare->node->inputs[input];
    const tort_info *zero = tort_has_input(prepare->node, zero_input) ? &prepare->node->inputs[zero_input] : NULL;
    const int64_t count = count_of(info), zeros = zero ? count_of(zero) : 0;
    *bytes = SIZE_MAX;
    *floats = NULL;
    if (!info->data || (zero && !zero->data))
        return tort_fail(prepare->error, TORT_E_INTERNAL, "constant input %d or its zero point has no data",
                         (int)input);
    if (tort_mul_size((size_t)count + 1, sizeof **floats, bytes)) *floats = tort_alloc(prepare->env, *bytes);
    if (!*floats) return tort_out_of_memory(prepare->error, *bytes);
    tort_load_floats(info->type, info->data, 0, count, *floats);
    for (int64_t at = 0, z = 0; zero && at < count; at += inner, z = z + 1 < zeros ? z + 1 : 0) {
        float subtracted;
        tort_load_floats(zero->type, zero->data, z, 1, &subtracted);
        for (int64_t i = 0; i < inner; i++) (*floats)[at + i] -= subtracted;
    }
    return TORT_OK;
}

tort_requantized tort_cpu_requantized(const tort_call *call, float zero_point) {
    const bool is_signed = call->outputs[0].type == TORT_INT8;
    return (tort_requantized){.zero_point = zero_point,
                              .bounds = {.low = is_signed ? -128 : 0, .high = is_signed ? 127 : 255}};
}
