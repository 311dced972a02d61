/* integers.c - whole numbers: the sums of products of quantized elements, and the bytes that they become.
 *
 * Plain loops that compilers make vector code of; here they meet the instruction set of the machine. */
#include "kernels/cpu/simd/vector.h"

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

/* ---- QLinearAdd and QLinearMul ----------------------------------------------------------------------------------- */

/* Steps and `multiplies` are constants of the caller's. A byte of int8 is one of uint8 with its highest bit turned,
 * less 128. */
INLINE void linear_pair(const tort_linear_pair *pair, int64_t a_step, int64_t b_step, bool multiplies, int64_t count) {
    const bool is_signed = pair->is_signed;
    const int32_t turned = is_signed ? 128 : 0;
    const uint8_t *restrict a = pair->a, *restrict b = pair->b;
    uint8_t *restrict c = pair->c;
    const float least = (is_signed ? -128 : 0) - pair->zero, most = (is_signed ? 127 : 255) - pair->zero;
    const float a_number = pair->a_number, b_number = pair->b_number, fixed = pair->fixed, zero = pair->zero;
    const float round = 0x1.8p23f;
    _Pragma("omp simd") for (int64_t i = 0; i < count; i++) {
        const float x = (float)((a[i * a_step] ^ turned) - turned), y = (float)((b[i * b_step] ^ turned) - turned);
        const float value =
            multiplies ? (x - a_number) * (y - b_number) * fixed : x * a_number + (y * b_number + fixed);
        const float above = value > least ? value : least, within = above < most ? above : most;
        c[i] = (uint8_t)(int32_t)((within + round) - round + zero);
    }
}

INLINE void linear_steps(const tort_linear_pair *pair, bool multiplies, int64_t count) {
    if (pair->a_step && pair->b_step)
        linear_pair(pair, 1, 1, multiplies, count);
    else if (pair->a_step)
        linear_pair(pair, 1, 0, multiplies, count);
    else
        linear_pair(pair, 0, pair->b_step, multiplies, count);
}

void SIMD(tort_simd_linear_pair)(const tort_linear_pair *pair, int64_t count) {
    if (pair->multiplies)
        linear_steps(pair, true, count);
    else
        linear_steps(pair, false, count);
}

/* ---- QuantizeLinear and DequantizeLinear ------------------------------------------------------------------------- */

/* by: a divisor, or a factor. NaN becomes the least byte. */
INLINE void make_bytes(float by, bool divides, float zero, bool is_signed, const float *restrict x, uint8_t *restrict y,
                       int64_t count) {
    const float least = (is_signed ? -128 : 0) - zero, most = (is_signed ? 127 : 255) - zero, round = 0x1.8p23f;
    _Pragma("omp simd") for (int64_t i = 0; i < count; i++) {
        const float value = divides ? x[i] / by : x[i] * by;
        const float above = value > least ? value : least, within = above < most ? above : most;
        y[i] = (uint8_t)(int32_t)((within + round) - round + zero);
    }
}

void SIMD(tort_simd_quantize)(const tort_linear_bytes *linear, const float *x, uint8_t *y, int64_t count) {
    make_bytes(linear->scale, true, linear->zero_point, linear->is_signed, x, y, count);
}

void SIMD(tort_simd_scale_to_bytes)(const tort_scaled_bytes *scaled, const float *x, uint8_t *y, int64_t count) {
    make_bytes(scaled->factor, false, scaled->zero_point, scaled->is_signed, x, y, count);
}

#define BLOCK 16 /* channels, see ../blocked.h */

typedef uint8_t bytes __attribute__((vector_size(WIDTH)));
typedef bytes loose_bytes __attribute__((aligned(1), may_alias));

/* Adding 1.5 * 2^23 rounds what is below 2^22 to an integer. */
void SIMD(tort_simd_blocked_to_bytes)(const tort_scaled_bytes *scaled, const float *factors, const float *x, uint8_t *y,
                                      int64_t pixels) {
    const union {
        float number;
        int32_t bits;
    } round = {0x1.8p23f};
    const int32_t zero = (int32_t)scaled->zero_point, shift = zero - round.bits;
    const vector low = broadcast((float)((scaled->is_signed ? -128 : 0) - zero));
    const vector high = broadcast((float)((scaled->is_signed ? 127 : 255) - zero));
    for (int64_t i = 0; i < pixels * BLOCK; i += BLOCK)
        for (int v = 0; v < BLOCK; v += WIDTH) {
            const vector within = clamp(load(x + i + v) * load(factors + v), low, high);
            *(loose_bytes *)(y + i + v) = __builtin_convertvector((mask)(within + round.number) + shift, bytes);
        }
}

void SIMD(tort_simd_dequantize)(const tort_linear_bytes *linear, const uint8_t *restrict x, float *restrict y,
                                int64_t count) {
    const float scale = linear->scale, zero = linear->zero_point;
    if (linear->is_signed)
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] = ((float)(int8_t)x[i] - zero) * scale;
    else
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] = ((float)x[i] - zero) * scale;
}

void SIMD(tort_simd_deal)(const float *restrict x, int64_t count, int64_t hands, float *restrict lists) {
    if (hands == 2) {
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++) {
            lists[i] = x[2 * i];
            lists[count + i] = x[2 * i + 1];
        }
        return;
    }
    for (int64_t h = 0; h < hands; h++)
        for (int64_t i = 0; i < count; i++) lists[h * count + i] = x[hands * i + h];
}

#define RANGES 4 /* that do not wait for one another */

void SIMD(tort_simd_range)(const float *x, int64_t count, float *low, float *high) {
    float least[RANGES * WIDTH] = {0}, most[RANGES * WIDTH] = {0};
    int64_t i = 0;
    for (; i + RANGES * WIDTH <= count; i += RANGES * WIDTH)
        for (int l = 0; l < RANGES * WIDTH; l++) {
            least[l] = x[i + l] < least[l] ? x[i + l] : least[l];
            most[l] = x[i + l] > most[l] ? x[i + l] : most[l];
        }
    *low = *high = 0;
    for (; i < count; i++) {
        least[0] = x[i] < least[0] ? x[i] : least[0];
        most[0] = x[i] > most[0] ? x[i] : most[0];
    }
    for (int l = 0; l < RANGES * WIDTH; l++) {
        *low = least[l] < *low ? least[l] : *low;
        *high = most[l] > *high ? most[l] : *high;
    }
}
