/* integers.c - whole numbers: the sums of products of quantized elements, and the bytes that they become.
 *
 * Plain loops that compilers make vector code of; here they meet the instruction set of the machine. */
#include "kernels/cpu/simd/vector.h"

/* Weights of a saved plan may be no whole numbers, whatever its makers say; those give some sum. */
static inline uint32_t whole(float value) {
    const float bound = 2147483648.0f;
    return value > -bound && value < bound ? (uint32_t)(int32_t)value : 0;
}

void SIMD(tort_simd_add_whole)(int32_t *restrict sums, const float *restrict values, int64_t count) {
    _Pragma("omp simd") for (int64_t i = 0; i < count; i++) sums[i] = (int32_t)((uint32_t)sums[i] + whole(values[i]));
}

/* Source: QLinearConv-10; rounds half to even. Adding 1.5 * 2^23 rounds what is below 2^22 to an integer. step: 1, a
 * factor for each element, or 0. */
INLINE void requantize(const tort_requantized *r, const float *factors, int64_t step, const int32_t *restrict sums,
                       uint8_t *restrict y, int64_t count) {
    const float least = r->bounds.low - r->zero_point, most = r->bounds.high - r->zero_point, round = 0x1.8p23f;
    const float zero_point = r->zero_point;
    const double bias = r->bias;
    _Pragma("omp simd") for (int64_t i = 0; i < count; i++) {
        const float scaled = (float)(((double)sums[i] + bias) * (double)factors[i * step]);
        const float above = scaled > least ? scaled : least, within = above < most ? above : most;
        y[i] = (uint8_t)(int32_t)((within + round) - round + zero_point);
    }
}

void SIMD(tort_simd_requantize)(const tort_requantized *r, const int32_t *sums, uint8_t *y, int64_t count) {
    if (r->factors)
        requantize(r, r->factors, 1, sums, y, count);
    else
        requantize(r, &r->factor, 0, sums, y, count);
}
