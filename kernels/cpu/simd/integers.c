/* integers.c - quantization: requantized sums, QLinearAdd and QLinearMul, QuantizeLinear and DequantizeLinear.
 *
 * Mostly plain loops, which compilers vectorize for the instruction set that this file is compiled for. */
#include "kernels/cpu/simd/byte_lanes.h"
#include "kernels/cpu/sizes.h"
#include "ops/microsoft/qlinear.h"

/* Rounds half to even: adding 1.5 * 2^23 rounds numbers below 2^22 to an integer, which its lowest bits then hold. */
INLINE uint8_t to_byte(float number, float zero_point) {
    const float round = 0x1.8p23f;
#ifdef RVV /* whose conversions take longer, and stop qemu 7.2 */
    const union {
        float number;
        uint32_t bits;
    } moved = {number + round};
    return (uint8_t)(moved.bits + (uint32_t)(int32_t)zero_point);
#else
    return (uint8_t)(int32_t)((number + round) - round + zero_point);
#endif
}

/* Requantizes as QLinearConv-10 says. step: 1 for a factor per element, or 0. */
INLINE void requantize(const tort_requantized *r, const float *factors, int64_t step, const int32_t *restrict sums,
                       uint8_t *restrict y, int64_t count) {
    const float min = r->bounds.low - r->zero_point, max = r->bounds.high - r->zero_point;
    const float zero_point = r->zero_point;
    const double bias = r->bias;
    _Pragma("omp simd") for (int64_t i = 0; i < count; i++) {
        const float scaled = (float)(((double)sums[i] + bias) * (double)factors[i * step]);
        const float above = scaled > min ? scaled : min, within = above < max ? above : max;
        y[i] = to_byte(within, zero_point);
    }
}

void SIMD(tort_simd_requantize)(const tort_requantized *r, const int32_t *sums, uint8_t *y, int64_t count) {
    if (r->factors)
        requantize(r, r->factors, 1, sums, y, count);
    else
        requantize(r, &r->factor, 0, sums, y, count);
}

#define BLOCK 16 /* channels of a block, see ../blocked.h */

/* ---- QLinearAdd and QLinearMul ----------------------------------------------------------------------------------- */

INLINE vector load_bytes(const uint8_t *from, bool is_signed) {
    return __builtin_convertvector(widen_bytes(from, is_signed), vector);
}

/* Returns a vector of results, not rounded yet. */
INLINE vector combine(const tort_linear_pair *pair, vector a, vector b, bool multiplies) {
    return multiplies ? (a - pair->a_number) * (b - pair->b_number) * pair->fixed
                      : a * pair->a_number + (b * pair->b_number + pair->fixed);
}

/* An operand as whole vectors: itself, or a single byte repeated, which stays where it is. */
typedef struct byte_operand {
    const uint8_t *at;
    int64_t step;
    uint8_t all[4 * WIDTH];
} byte_operand;

INLINE void open_operand(byte_operand *operand, const uint8_t *bytes, int64_t step) {
    operand->at = step ? bytes : operand->all;
    operand->step = step;
    for (int i = 0; !step && i < 4 * WIDTH; i++) operand->all[i] = bytes[0];
}

/* `multiplies` and `is_signed` are constants after inlining. */
INLINE void linear_pair(const tort_linear_pair *given, bool multiplies, bool is_signed, int64_t count) {
    const tort_linear_pair pair = *given;
    const int32_t zero = (int32_t)pair.zero;
    byte_operand a, b;
    int64_t i = 0;
    open_operand(&a, pair.a, pair.a_step);
    open_operand(&b, pair.b, pair.b_step);
    for (; i + 4 * WIDTH <= count; i += 4 * WIDTH) {
        vector numbers[4];
        for (int v = 0; v < 4; v++)
            numbers[v] = combine(&pair, load_bytes(a.at + i * a.step + v * WIDTH, is_signed),
                                 load_bytes(b.at + i * b.step + v * WIDTH, is_signed), multiplies);
        store_numbers(numbers, zero, is_signed, pair.c + i);
    }
    for (int64_t left; (left = tort_min(WIDTH, count - i)) > 0; i += left) {
        uint8_t a_rest[WIDTH] = {0}, b_rest[WIDTH] = {0}, c_rest[WIDTH];
        memcpy(a_rest, a.at + i * a.step, (size_t)left);
        memcpy(b_rest, b.at + i * b.step, (size_t)left);
        store_number(combine(&pair, load_bytes(a_rest, is_signed), load_bytes(b_rest, is_signed), multiplies), zero,
                     is_signed, c_rest);
        memcpy(pair.c + i, c_rest, (size_t)left);
    }
}

void SIMD(tort_simd_linear_pair)(const tort_linear_pair *pair, int64_t count) {
    if (count <= 0) return;
    if (pair->multiplies && pair->is_signed)
        linear_pair(pair, true, true, count);
    else if (pair->multiplies)
        linear_pair(pair, true, false, count);
    else if (pair->is_signed)
        linear_pair(pair, false, true, count);
    else
        linear_pair(pair, false, false, count);
}

/* ---- QLinearSoftmax and QLinearGlobalAveragePool ----------------------------------------------------------------- */

#define POWERS 256 /* that are looked up at a time */

/* Single loads: the processor's own gathers take as long, or longer. */
static void look_up(const uint32_t *powers, uint8_t flip, const uint8_t *x, int64_t count, uint32_t *found) {
    for (int64_t i = 0; i < count; i++) {
        uint32_t power = powers[x[i] ^ flip];
        __asm__("" : "+r"(power)); /* no vectors */
        found[i] = power;
    }
}

void SIMD(tort_simd_softmax_bytes)(const tort_softmax_bytes *s, const uint8_t *x, uint8_t *y, int64_t count) {
    const float min = s->min, max = s->max, zero = s->zero;
    uint32_t found[POWERS];
    uint64_t sum = 0;
    uint8_t largest = 0;
    _Pragma("omp simd reduction(max : largest)") for (int64_t i = 0; i < count; i++) {
        const uint8_t value = x[i] ^ s->flip;
        largest = value > largest ? value : largest;
    }
    const uint32_t *powers = s->powers + (255 - largest);
    for (int64_t at = 0; at < count; at += POWERS) {
        const int64_t some = tort_min(POWERS, count - at);
        look_up(powers, s->flip, x + at, some, found);
        _Pragma("omp simd reduction(+ : sum)") for (int64_t i = 0; i < some; i++) sum += found[i];
    }
    const float factor = 1 / (s->scale * (float)sum);
    for (int64_t at = 0; at < count; at += POWERS) {
        const int64_t some = tort_min(POWERS, count - at);
        if (count > POWERS) look_up(powers, s->flip, x + at, some, found);
        _Pragma("omp simd") for (int64_t i = 0; i < some; i++) {
            const float steps = (float)found[i] * factor;
            const float below = steps < max ? steps : max, within = below > min ? below : min;
            y[at + i] = to_byte(within, zero);
        }
    }
}

uint32_t SIMD(tort_simd_byte_sum)(const uint8_t *x, int64_t count, uint8_t flip) {
#if !X86
    uint32_t sum = 0;
    for (int64_t i = 0; i < count; i++) sum += x[i] ^ flip;
    return sum;
#else
    const __m128i flips = _mm_set1_epi8((char)flip);
    __m128i sum = _mm_setzero_si128();
    int64_t i = 0;
    for (; i + 16 <= count; i += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(x + i));
        sum = _mm_add_epi64(sum, _mm_sad_epu8(_mm_xor_si128(bytes, flips), _mm_setzero_si128()));
    }
    uint32_t rest = 0;
    for (; i < count; i++) rest += x[i] ^ flip;
    return rest + (uint32_t)(_mm_cvtsi128_si32(sum) + _mm_extract_epi32(sum, 2));
#endif
}

/* ---- QuantizeLinear and DequantizeLinear ------------------------------------------------------------------------- */

/* Quantizes by a divisor or a factor. NaN becomes the smallest byte. */
INLINE void make_bytes(float by, bool divides, float zero, bool is_signed, const float *restrict x, uint8_t *restrict y,
                       int64_t count) {
    const float min = (is_signed ? -128 : 0) - zero, max = (is_signed ? 127 : 255) - zero;
    _Pragma("omp simd") for (int64_t i = 0; i < count; i++) {
        const float value = divides ? x[i] / by : x[i] * by;
        const float above = value > min ? value : min, within = above < max ? above : max;
        y[i] = to_byte(within, zero);
    }
}

void SIMD(tort_simd_quantize)(const tort_linear_bytes *linear, const float *x, uint8_t *y, int64_t count) {
    make_bytes(linear->scale, true, linear->zero_point, linear->is_signed, x, y, count);
}

void SIMD(tort_simd_scale_to_bytes)(const tort_scaled_bytes *scaled, const float *x, uint8_t *y, int64_t count) {
    make_bytes(scaled->factor, false, scaled->zero_point, scaled->is_signed, x, y, count);
}

void SIMD(tort_simd_blocked_to_bytes)(const tort_scaled_bytes *scaled, const float *factors, const float *x, uint8_t *y,
                                      int64_t pixels) {
    const int32_t zero = (int32_t)scaled->zero_point;
    const bool is_signed = scaled->is_signed;
    int64_t i = 0;
    for (; i + 4 * WIDTH <= pixels * BLOCK; i += 4 * WIDTH) {
        vector numbers[4];
        for (int v = 0; v < 4; v++) numbers[v] = load(x + i + v * WIDTH) * load(factors + v * WIDTH % BLOCK);
        store_numbers(numbers, zero, is_signed, y + i);
    }
    for (; i < pixels * BLOCK; i += WIDTH)
        store_number(load(x + i) * load(factors + i % BLOCK), zero, is_signed, y + i);
}

void SIMD(tort_simd_dequantize)(const tort_linear_bytes *linear, const uint8_t *restrict x, float *restrict y,
                                int64_t count) {
    const float scale = linear->scale, zero = linear->zero_point;
    if (linear->is_signed)
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] = ((float)(int8_t)x[i] - zero) * scale;
    else
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] = ((float)x[i] - zero) * scale;
}

#define DEAL(name, T)                                                                                                  \
    void SIMD(tort_simd_##name)(const T *restrict x, int64_t count, int64_t hands, T *restrict lists,                  \
                                int64_t stride) {                                                                      \
        T *restrict second = lists + stride, *restrict third = lists + 2 * stride;                                     \
        if (hands == 2) {                                                                                              \
            _Pragma("omp simd") for (int64_t i = 0; i < count; i++) {                                                  \
                lists[i] = x[2 * i];                                                                                   \
                second[i] = x[2 * i + 1];                                                                              \
            }                                                                                                          \
        } else if (hands == 3) {                                                                                       \
            _Pragma("omp simd") for (int64_t i = 0; i < count; i++) {                                                  \
                lists[i] = x[3 * i];                                                                                   \
                second[i] = x[3 * i + 1];                                                                              \
                third[i] = x[3 * i + 2];                                                                               \
            }                                                                                                          \
        } else                                                                                                         \
            for (int64_t h = 0; h < hands; h++)                                                                        \
                for (int64_t i = 0; i < count; i++) lists[h * stride + i] = x[hands * i + h];                          \
    }
DEAL(deal, float)
DEAL(deal_bytes, uint8_t)

#define RANGES 4 /* independent minima and maxima, so that comparisons overlap */

void SIMD(tort_simd_range)(const float *x, int64_t count, float *low, float *high) {
    float min[RANGES * WIDTH] = {0}, max[RANGES * WIDTH] = {0};
    int64_t i = 0;
    for (; i + RANGES * WIDTH <= count; i += RANGES * WIDTH)
        for (int l = 0; l < RANGES * WIDTH; l++) {
            min[l] = x[i + l] < min[l] ? x[i + l] : min[l];
            max[l] = x[i + l] > max[l] ? x[i + l] : max[l];
        }
    *low = *high = 0;
    for (; i < count; i++) {
        min[0] = x[i] < min[0] ? x[i] : min[0];
        max[0] = x[i] > max[0] ? x[i] : max[0];
    }
    for (int l = 0; l < RANGES * WIDTH; l++) {
        *low = min[l] < *low ? min[l] : *low;
        *high = max[l] > *high ? max[l] : *high;
    }
}
