/* bytes.c - packed weights of products of bytes: zero points of x become part of the biases, scales factors of sums.
 *
 * Sum over k of (x - zero) * w = sum of x * w - zero * (sum of w); so loops multiply bytes as they are. */
#include "kernels/firmware/bytes.h"

#include <math.h>

const tort_firmware_bytes *tort_firmware_bytes_of(const tort_target *target) {
    if (target->instructions & TORT_FIRMWARE_MVE) return &tort_firmware_bytes_mve;
    if (target->instructions & TORT_FIRMWARE_DSP) return &tort_firmware_bytes_dsp;
    if (target->instructions & TORT_FIRMWARE_WHOLE) return &tort_firmware_bytes_whole;
    if (target->instructions & TORT_FIRMWARE_NEON) return &tort_firmware_bytes_neon;
    return target->instructions & TORT_FIRMWARE_FMA ? &tort_firmware_bytes_scalar : &tort_firmware_bytes_plain;
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

tort_verdict tort_firmware_claim_constant(const tort_node_view *node, int32_t input, const char *name) {
    if (!tort_has_input(node, input) || node->inputs[input].constant) return tort_yes();
    return tort_no(TORT_NO_DYNAMIC, "make it an initializer", "%s is computed during the run", name);
}

tort_verdict tort_firmware_claim_constants(const tort_node_view *node, int32_t first, int32_t last) {
    tort_verdict verdict = tort_yes();
    for (int32_t i = first; verdict.code == TORT_YES && i <= last; i++)
        verdict = tort_firmware_claim_constant(node, i, i % 2 ? "a scale" : "a zero point");
    return verdict;
}

tort_verdict tort_firmware_claim_sum(int64_t count) {
    const int32_t max = INT32_MAX / 255;
    if (count <= max) return tort_yes();
    return tort_no(TORT_NO_SHAPE, "", "sums %lld bytes, 32 bits hold the sum of %d", (long long)count, (int)max);
}

tort_verdict tort_firmware_claim_weights(const tort_node_view *node, int32_t weights, int32_t zero) {
    const tort_info *w = &node->inputs[weights];
    if (!w->constant) return tort_no(TORT_NO_DYNAMIC, "make it an initializer", "the weights are computed in the run");
    if (w->type != TORT_INT8 && w->type != TORT_UINT8)
        return tort_no(TORT_NO_TYPE, "", "weights are %s, expected int8 or uint8", tort_type_name(w->type));
    const tort_verdict verdict = tort_firmware_claim_constant(node, zero, "the zero point of the weights");
    if (verdict.code != TORT_YES || !tort_has_input(node, zero)) return verdict;
    if (node->inputs[zero].uniform && node->inputs[zero].byte == tort_firmware_flip(w->type)) return tort_yes();
    return tort_no(TORT_NO_ATTR, "quantize with symmetric weights",
                   "weights have a zero point other than %d, which means 0", tort_firmware_flip(w->type));
}

int64_t tort_firmware_count(const tort_node_view *node, int32_t input) {
    tort_tensor tensor;
    return tort_has_input(node, input) && tort_info_tensor(&node->inputs[input], &tensor) ? tort_count(&tensor) : 0;
}

bool tort_firmware_alone(const tort_node_view *node) {
    (void)node;
    return true;
}

double tort_firmware_number(const tort_node_view *node, int32_t input, int64_t index, double absent) {
    if (!tort_has_input(node, input)) return absent;
    const tort_info *info = &node->inputs[input];
    tort_tensor tensor;
    if (!info->data || !tort_info_tensor(info, &tensor)) return absent;
    tensor.data = (void *)(uintptr_t)info->data;
    return tort_element_at(&tensor, tort_count(&tensor) == 1 ? 0 : index);
}

/* ---- packed bytes ------------------------------------------------------------------------------------------------ */

static int64_t round_up(int64_t number, int64_t to) {
    return to > 1 ? (number + to - 1) / to * to : number;
}

tort_firmware_filters tort_firmware_filters_of(const tort_firmware_bytes *form, int64_t groups, int64_t filters,
                                               int64_t length) {
    return (tort_firmware_filters){.groups = groups,
                                   .filters = filters,
                                   .length = length,
                                   .depth = round_up(length, form->depth),
                                   .padded = round_up(filters, form->tile)};
}

bool tort_firmware_packed_bytes(const tort_firmware_filters *f, size_t *bytes) {
    size_t all, numbers;
    return f->length <= TORT_FIRMWARE_LONGEST && tort_mul_size((uint64_t)f->groups, (uint64_t)f->padded, &all) &&
           tort_mul_size(all, sizeof(int32_t) + sizeof(float), &numbers) &&
           tort_mul_size(all, (uint64_t)f->depth, bytes) && tort_add_size(*bytes, numbers, bytes) &&
           tort_add_size(*bytes, sizeof(tort_firmware_packed), bytes);
}

const int32_t *tort_firmware_bias(const void *packed) {
    return (const int32_t *)((const tort_firmware_packed *)packed + 1);
}

const float *tort_firmware_factors(const tort_firmware_filters *f, const void *packed) {
    return (const float *)(tort_firmware_bias(packed) + f->groups * f->padded);
}

const int8_t *tort_firmware_weights(const tort_firmware_filters *f, const void *packed) {
    return (const int8_t *)(tort_firmware_factors(f, packed) + f->groups * f->padded);
}

void tort_firmware_define(const tort_call *call, bool wide, bool uint8, bool far) {
    tort_emit *emit = tort_firmware_emit_of(call);
    if (emit && wide)
        tort_firmware_define_line(emit, "#define TINYORT_WIDE /* some sums of products may reach 2^24 */");
    if (emit && uint8) tort_firmware_define_line(emit, "#define TINYORT_UINT8 /* some tensors are uint8 */");
    if (emit && far)
        tort_firmware_define_line(emit, "#define TINYORT_FAR /* some sums are far out of the range of their type */");
}

void tort_firmware_tell_product(const tort_call *call, const tort_firmware_filters *f,
                                const tinyort_bytes_shape *rows) {
    const size_t all = (size_t)(f->groups * f->padded), biases = sizeof(tort_firmware_packed);
    const size_t factors = biases + all * sizeof(int32_t);
    tort_firmware_array(call, 0, TORT_INT32, biases, all);
    tort_firmware_array(call, 1, TORT_FLOAT, factors, all);
    tort_firmware_array(call, 2, TORT_INT8, factors + all * sizeof(float), all * (size_t)f->depth);
    tort_firmware_define(call, rows->wide, rows->flip || rows->x_flip, false);
}

/* Refuses filter m if its sums may leave 32 bits on the way. */
static tort_status check_sums(int64_t m, double bound, float factor, tort_error *error) {
    if (isfinite(factor) && bound < 0x1p31) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "filter %lld: its sums reach %.0f, firmware has 32 bits; factor %g",
                     (long long)m, bound, (double)factor);
}

tort_status tort_firmware_pack_filter(const tort_firmware_filters *f, int64_t group, int64_t m, const int8_t *w,
                                      double bias, float factor, int32_t zero, void *packed, tort_error *error) {
    const int64_t at = group * f->padded + m;
    int64_t sum = 0, magnitude = 0;
    for (int64_t k = 0; k < f->length; k++) {
        sum += w[k];
        magnitude += w[k] < 0 ? -w[k] : w[k];
    }
    const double folded = bias - (double)(zero * sum), bound = fabs(folded) + 128.0 * (double)magnitude;
    const tort_status status = check_sums(m, bound, factor, error);
    if (status) return status;
    ((int32_t *)(uintptr_t)tort_firmware_bias(packed))[at] = (int32_t)folded;
    ((float *)(uintptr_t)tort_firmware_factors(f, packed))[at] = factor;
    if (bound >= 0x1p24 || bound * (double)fabsf(factor) >= 0x1p21) ((tort_firmware_packed *)packed)->wide = 1;
    return TORT_OK;
}

void tort_firmware_store_filter(const tort_firmware_bytes *form, const tort_firmware_filters *f, int64_t m,
                                const int8_t *w, int8_t *to) {
    const int64_t turn = form->turn ? form->turn : f->depth;
    const int64_t padding = form->widens ? 0 : f->depth - f->length; /* behind the first bytes: see rows_mve.h */
    to += m / form->tile * form->tile * f->depth + m % form->tile * turn;
    for (int64_t k = 0; k < f->length; k++) {
        const int64_t place = k < turn - padding ? k : k + padding;
        to[place / turn * form->tile * turn + place % turn] = w[k];
    }
}

tort_status tort_firmware_unflip(const tort_firmware_filters *f, int64_t m, const int8_t *w, int32_t flip, void *packed,
                                 tort_error *error) {
    int32_t *bias = (int32_t *)(uintptr_t)tort_firmware_bias(packed) + m;
    int64_t sum = *bias, magnitude = 0;
    for (int64_t k = 0; k < f->length; k++) {
        sum -= (int64_t)flip * w[k];
        magnitude += w[k] < 0 ? -w[k] : w[k];
    }
    const double bound = fabs((double)sum) + (flip ? 255.0 : 128.0) * (double)magnitude;
    const tort_status status = check_sums(m, bound, tort_firmware_factors(f, packed)[m], error);
    if (!status) *bias = (int32_t)sum;
    return status;
}

tinyort_bytes_shape tort_firmware_rows(const tort_firmware_bytes *form, const tort_firmware_filters *f, tort_type x,
                                       tort_type y, const void *packed) {
    const tort_firmware_packed *head = packed;
    const int32_t flip = tort_firmware_flip(y), x_flip = tort_firmware_flip(x);
    return (tinyort_bytes_shape){
        .filters = (int32_t)f->filters,
        .length = (int32_t)f->length,
        .depth = (int32_t)f->depth,
        .zero = head->y_zero - flip,
        .flip = flip,
        .x_flip = form->widens ? tort_firmware_word((uint8_t)x_flip) : x_flip,
        .wide = head->wide,
    };
}
