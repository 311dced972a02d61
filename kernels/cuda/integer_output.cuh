/* integer_output.cuh - what becomes of the 32-bit sums of a product of bytes. Read first: integer.h. For .cu files,
 * after product.cuh. */
#ifndef TORT_KERNELS_CUDA_INTEGER_OUTPUT_CUH
#define TORT_KERNELS_CUDA_INTEGER_OUTPUT_CUH

#include "kernels/cuda/element.h"
#include "kernels/cuda/integer.h"
#include "kernels/cuda/product.cuh"
#include "kernels/cuda/qlinear.cuh"

static __device__ __forceinline__ int32_t byte_at(const void *bytes, int64_t at, bool is_signed) {
    return is_signed ? ((const int8_t *)bytes)[at] : ((const uint8_t *)bytes)[at];
}
static __device__ __forceinline__ float scale_at(const gpu_sums &p, const gpu_numbers &scales, int64_t at) {
    return p.half_scales ? (float)((const half *)scales.at)[at * scales.step]
                         : ((const float *)scales.at)[at * scales.step];
}

enum { EXACT = 1 << 24 }; /* integers up to it are floats */

/* Returns the sum times the factor, rounded once: a larger sum is no float, but the product is exact in double. */
static __device__ __forceinline__ float scaled(int64_t sum, float factor) {
    if (sum >= -EXACT && sum <= EXACT) return __fmul_rn((float)(int32_t)sum, factor);
    return (float)((double)sum * (double)factor);
}

/* COUNT neighbouring columns of a product's output, of which `there` exist, with what each adds to its sums. */
template <int COUNT> struct integer_columns {
    gpu_sums p;
    void *data;           /* element 0 of these columns */
    const uint8_t *added; /* the same of p.added */
    int64_t stride;       /* elements from one row to the next */
    int there;
    bool whole; /* rows may be written in packs */
    int32_t sum[COUNT], zero[COUNT], bias[COUNT];
    float scale[COUNT], factor[COUNT], shift[COUNT]; /* scale of B; times that of A, by that of Y; a bias of floats */
    int32_t y_zero;
    float y_scale, per_step; /* per_step: 1 / y_scale */
    linear_sum addition;

    /* `first`: the element of Y that element 0 is. */
    __device__ __forceinline__ integer_columns(const gpu_sums &sums, void *y, int64_t first, int64_t stride_,
                                               const int32_t *column_sums, int64_t column, int there_, bool whole_)
        : p(sums), stride(stride_), there(there_), whole(whole_) {
        data = (char *)y + first * (p.as == GPU_SUMS_BYTES ? 1 : p.as == GPU_SUMS_HALF ? 2 : 4);
        added = p.added.bytes ? (const uint8_t *)p.added.bytes + first : nullptr;
        y_zero = p.y_zero ? byte_at(p.y_zero, 0, p.y_signed) : 0;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int64_t at = column + (i < there ? i : 0);
            sum[i] = column_sums ? column_sums[at] : 0;
            zero[i] = p.row_sums ? (p.b_signed ? 0 : -128) : 0;
            if (p.row_sums && p.b_zero.at) zero[i] += byte_at(p.b_zero.at, at * p.b_zero.step, p.b_signed);
            bias[i] = p.bias.at && p.bias_in_sums ? ((const int32_t *)p.bias.at)[at * p.bias.step] : 0;
            if (p.as == GPU_SUMS_INT32) continue;
            scale[i] = scale_at(p, p.b_scale, at);
            shift[i] = p.bias.at && !p.bias_in_sums ? scale_at(p, p.bias, at) : 0.0f;
        }
        if (p.as == GPU_SUMS_INT32) return;
        const float a = scale_at(p, p.a_scale, 0);
        y_scale = p.as == GPU_SUMS_BYTES ? scale_at(p, {p.y_scale, 0}, 0) : 1.0f;
        per_step = 1.0f / y_scale;
        if (added) {
            const linear sum_is = {y_scale, (float)y_zero}, other = linear_at(p.added.from), to = linear_at(p.added.to);
            addition = p.added.second ? linear_sum(other, sum_is, to) : linear_sum(sum_is, other, to);
        }
#pragma unroll
        for (int i = 0; i < COUNT; i++) factor[i] = factor_of(a, i);
    }
    __device__ __forceinline__ linear linear_at(const gpu_linear &from) const {
        return {*from.scale, from.zero ? (float)byte_at(from.zero, 0, p.y_signed) : 0.0f};
    }
    /* The factor of sums of a row with scale a. The division by two steps of Newton's method (Markstein 1990) is
     * rounded as the instruction's, unless it is below 2^-100, and has no call, which the compiler makes for such. */
    __device__ __forceinline__ float factor_of(float a, int i) const {
        const float product = a * scale[i];
        float quotient = product * per_step;
#pragma unroll
        for (int step = 0; step < 2; step++) quotient = fmaf(fmaf(-quotient, y_scale, product), per_step, quotient);
        return quotient;
    }
    template <class T> __device__ __forceinline__ void store_all(int64_t row, const T (&y)[COUNT]) const {
        T *to = (T *)data + row * stride;
        if (whole) return store_pack<COUNT>(to, *(const pack<T, COUNT> *)&y);
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            if (i < there) to[i] = y[i];
    }
    /* Rounds numbers of steps of Y's scale half to even and clamps them; NaN becomes the lowest. */
    __device__ __forceinline__ void store_bytes(int64_t row, const float (&steps)[COUNT]) const {
        const float low = (float)((p.y_signed ? -128 : 0) - y_zero), high = (float)((p.y_signed ? 127 : 255) - y_zero);
        pack<uint8_t, COUNT> y;
#pragma unroll
        for (int i = 0; i < COUNT; i++) y.at[i] = (uint8_t)(rounded_within(steps[i], low, high) + (uint32_t)y_zero);
        if (added) add_bytes(row, y);
        store_all(row, y.at);
    }
    __device__ __forceinline__ float number_of(uint8_t byte) const {
        return p.y_signed ? (float)(int8_t)byte : (float)byte;
    }
    __device__ __forceinline__ void add_bytes(int64_t row, pack<uint8_t, COUNT> &y) const {
        const float low = p.y_signed ? -128.0f : 0.0f;
        const uint8_t *from = added + row * stride;
        pack<uint8_t, COUNT> other = {};
        if (whole) other = load_pack<COUNT>(from);
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            if (!whole && i < there) other.at[i] = from[i];
            const float sum_is = number_of(y.at[i]), to_add = number_of(other.at[i]);
            const float x = p.added.second ? addition.of(to_add, sum_is) : addition.of(sum_is, to_add);
            y.at[i] = (uint8_t)rounded_within(x, low, low + 255.0f);
        }
    }
    __device__ __forceinline__ void store_floats(int64_t row, const float (&floats)[COUNT]) const {
        pack<float, COUNT> y;
        pack<half, COUNT> small;
#pragma unroll
        for (int i = 0; i < COUNT; i++) y.at[i] = floats[i] + shift[i], small.at[i] = (half)y.at[i];
        if (p.as == GPU_SUMS_FLOAT)
            store_all(row, y.at);
        else
            store_all(row, small.at);
    }
    /* Stores a row from its sums of products of bytes. */
    __device__ __forceinline__ void store(int64_t row, const int32_t *from) const {
        const int32_t a = p.a_zero.at ? byte_at(p.a_zero.at, row * p.a_zero.step, p.a_signed) : 0;
        const uint32_t of_row = p.row_sums ? (uint32_t)p.row_sums[row] - (uint32_t)p.k * (uint32_t)a : 0;
        pack<int32_t, COUNT> sums;
        bool exact = true;
#pragma unroll
        for (int i = 0; i < COUNT; i++) { /* modulo 2^32 */
            const uint32_t shifted = (uint32_t)from[i] - (uint32_t)a * (uint32_t)sum[i] - (uint32_t)zero[i] * of_row;
            const int64_t whole_sum = (int64_t)(int32_t)shifted + bias[i];
            sums.at[i] = (int32_t)shifted;
            exact = exact && whole_sum >= -EXACT && whole_sum <= EXACT;
        }
        if (p.as == GPU_SUMS_INT32) return store_all(row, sums.at);
        float floats[COUNT];
        const float scale_a = p.a_scale.step ? scale_at(p, p.a_scale, row) : 0.0f;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const float f = p.a_scale.step ? factor_of(scale_a, i) : factor[i];
            floats[i] = exact ? __fmul_rn((float)(sums.at[i] + bias[i]), f) : scaled((int64_t)sums.at[i] + bias[i], f);
        }
        if (p.as == GPU_SUMS_BYTES)
            store_bytes(row, floats);
        else
            store_floats(row, floats);
    }
};

/* One product's output, for store_tile. */
struct integer_output {
    gpu_sums p;
    void *data;
    int64_t begin; /* its element 0 in Y */
    const int32_t *column_sums;
    int64_t first; /* column in the lists of sums, scales, zero points and the bias */
    int64_t rows, columns;
    int64_t stride; /* elements from one row to the next */
    bool packs;     /* rows of Y begin at 8 elements, aligned */

    template <int COUNT> __device__ __forceinline__ integer_columns<COUNT> at(int64_t column) const {
        const int there = (int)min((int64_t)COUNT, columns - column);
        return integer_columns<COUNT>(p, data, begin + column, stride, column_sums, first + column, there,
                                      packs && there == COUNT);
    }
};

#endif
