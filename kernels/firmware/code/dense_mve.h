/* dense_mve.h - the products of one row of `length` bytes with all filters, for a processor with M-profile vectors. A
 * row that is not of whole vectors, or is of uint8, is copied into `room`. Four filters, whose vectors take turns,
 * share each load of the row. See dense_dsp.h. */
#ifndef TORT_FIRMWARE_CODE_DENSE_MVE_H
#define TORT_FIRMWARE_CODE_DENSE_MVE_H

#include "kernels/firmware/code/requantize.h"
#include "kernels/firmware/code/vector.h"

#if !defined(__ARM_FEATURE_MVE)
static int32_t tinyort_sum_of_products(int32_t sum, const int8_t *a, const int8_t *b) {
    for (int32_t i = 0; i < 16; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}
#endif /* __ARM_FEATURE_MVE */

/* Four sums as bytes: requantize.h in vectors. */
static void tinyort_requantize_four(const tinyort_bytes_shape *s, int32_t y0, int32_t y1, int32_t y2, int32_t y3,
                                    const float *factors, int8_t *y) {
#if defined(__ARM_FEATURE_MVE) && !defined(TINYORT_WIDE)
    const int32x4_t sums = {y0, y1, y2, y3};
    const float32x4_t scaled = vmulq_f32(vcvtq_f32_s32(sums), vldrwq_f32(factors));
    int32x4_t value = vaddq_n_s32(vcvtnq_s32_f32(scaled), s->zero);
    value = vminq_s32(vmaxq_s32(value, vdupq_n_s32(-128)), vdupq_n_s32(127));
    if (tinyort_flips(s->flip) != 0) {
        value = veorq_s32(value, vdupq_n_s32(0x80));
    }
    vstrbq_s32(y, value);
#else
    y[0] = tinyort_requantize(s, y0, factors[0]);
    y[1] = tinyort_requantize(s, y1, factors[1]);
    y[2] = tinyort_requantize(s, y2, factors[2]);
    y[3] = tinyort_requantize(s, y3, factors[3]);
#endif /* __ARM_FEATURE_MVE */
}

static void tinyort_multiply_column(const tinyort_bytes_shape *s, const int8_t *x, const int8_t *w, const int32_t *bias,
                                    const float *factors, int8_t *y) {
    const tinyort_bytes_shape own = *s; /* stores to y cannot change it, so it stays in registers */
    const int32_t vectors = own.depth / 16;
    int32_t left = own.filters;
    for (; left > 0; left -= 4) {
        int32_t y0 = bias[0], y1 = bias[1], y2 = bias[2], y3 = bias[3];
        const int8_t *p = x;
        for (int32_t k = vectors; k > 0; k--) {
            const tinyort_vector value = tinyort_vector_load(p);
            y0 = tinyort_vector_multiply(y0, value, tinyort_vector_load(w));
            y1 = tinyort_vector_multiply(y1, value, tinyort_vector_load(w + 16));
            y2 = tinyort_vector_multiply(y2, value, tinyort_vector_load(w + 32));
            y3 = tinyort_vector_multiply(y3, value, tinyort_vector_load(w + 48));
            w += 64;
            p += 16;
        }
        if (left >= 4) {
            tinyort_requantize_four(&own, y0, y1, y2, y3, factors, y);
        } else {
            y[0] = tinyort_requantize(&own, y0, factors[0]);
            if (left > 1) {
                y[1] = tinyort_requantize(&own, y1, factors[1]);
            }
            if (left > 2) {
                y[2] = tinyort_requantize(&own, y2, factors[2]);
            }
        }
        bias += 4;
        factors += 4;
        y += 4;
    }
}

TINYORT_OWN_FRAME static void tinyort_dense_row(const tinyort_bytes_shape *s, const int8_t *x, const int8_t *w,
                                                const int32_t *bias, const float *factors, void *room, int8_t *y) {
    const int32_t copies = tinyort_flips(s->x_flip) || (s->depth != s->length);
    int8_t *copy = (int8_t *)room;
    for (int32_t k = 0; copies && (k < s->depth); k++) {
        copy[k] = (int8_t)((k < s->length) ? tinyort_flipped(x[k], s->x_flip) : 0);
    }
    tinyort_multiply_column(s, copies ? copy : x, w, bias, factors, y);
}

#endif
