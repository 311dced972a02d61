/* quantize_any.cu - quantization and its inverse for types, and scales, that quantize.cu does not know: how numbers are
 * stored, and where their scales are, is told in arguments. The bits are those of ops/quantize.c. Read first:
 * quantize.cu. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/any_number.h"
#include "kernels/cuda/code.cuh"
#include "kernels/cuda/grid.h"

/* Index of the scale and zero point of element i. */
static __device__ __forceinline__ uint64_t scale_of(const gpu_linear_any &p, uint64_t i) {
    const uint64_t max = p.linear.count;
    uint64_t within = i, index = divide(&within, p.linear.inner, max);
    const uint64_t outer = divide(&index, p.linear.length, max);
    if (!p.blocks) return index;
    return (outer * p.blocks + divide(&index, p.block, max)) * p.linear.inner.value + within;
}

/* ---- quantizing ---- */

/* The code of a quotient: rounded half to even, moved by the zero point, within the type; in quantize.cu for a type
 * known while compiling. */
static __device__ __forceinline__ uint32_t rounded_code(const gpu_code &code, float quotient, int zero) {
    const uint32_t mask = (1u << code.bits) - 1;
    const float min = code.is_signed ? -(float)(1u << (code.bits - 1)) : 0.0f, low = min - (float)zero;
    return (rounded_within(quotient, low, low + (float)mask) + (uint32_t)zero) & mask;
}

static __device__ __forceinline__ uint32_t quantized_code(const gpu_linear_any &p, uint64_t i) {
    const gpu_quantize &l = p.linear;
    const uint64_t at = scale_of(p, i);
    float quotient = __fdiv_rn(number_at(p.real, l.x, i), number_at(p.scale, l.scale, at));
    if (p.precision == GPU_HALF) quotient = (float)(half)quotient;
    if (p.precision == GPU_BFLOAT16) quotient = (float)(bfloat16)quotient;
    if (p.quantized.kind == GPU_CODE_INTEGER)
        return rounded_code(p.quantized, quotient, l.zero ? integer_at(p.quantized, l.zero, at) : 0);
    const float zero = l.zero ? number_at(p.quantized, l.zero, at) : 0.0f;
    return encode(&p.quantized.format, (double)(quotient + zero), p.saturate);
}

static __global__ void quantize_any(const gpu_linear_any p) {
    const unsigned each = elements_in_bytes(p.quantized.bits);
    for (size_t i = grid_first() * each; i < p.linear.count; i += grid_stride() * each)
        store_codes(p.quantized.bits, p.linear.y, i, (unsigned)min(p.linear.count - i, (size_t)each),
                    [&](size_t k) { return quantized_code(p, k); });
}

/* ---- dequantizing ---- */

/* Differences of int32, and their products, do not fit a float. */
static __device__ __forceinline__ double wide_number(const gpu_linear_any &p, uint64_t i, uint64_t at) {
    const gpu_quantize &l = p.linear;
    const double zero = l.zero ? (double)((const int32_t *)l.zero)[at] : 0.0;
    return ((double)((const int32_t *)l.x)[i] - zero) * (double)number_at(p.scale, l.scale, at);
}

static __device__ __forceinline__ float number(const gpu_linear_any &p, uint64_t i, uint64_t at) {
    const gpu_quantize &l = p.linear;
    const float zero = l.zero ? number_at(p.quantized, l.zero, at) : 0.0f;
    return (number_at(p.quantized, l.x, i) - zero) * number_at(p.scale, l.scale, at);
}

template <class Y> static __global__ void dequantize_any(const gpu_linear_any p) {
    Y *y = (Y *)p.linear.y;
    for (size_t i = grid_first(); i < p.linear.count; i += grid_stride()) {
        const uint64_t at = scale_of(p, i);
        if (p.quantized.bits == 32)
            convert(any_real(wide_number(p, i, at)), y + i);
        else
            y[i] = (Y)number(p, i, at);
    }
}

/* ---- launchers ---- */

cudaError_t gpu_run_quantize_any(gpu_stream stream, const gpu_linear_any *p) {
    const size_t count = p->linear.count, each = elements_in_bytes(p->quantized.bits);
    if (!count) return cudaSuccess;
    return launch(quantize_any, grid_blocks((count + each - 1) / each), GRID_THREADS, 0, stream, *p);
}

cudaError_t gpu_load_quantize_any() {
    return load_kernel(quantize_any);
}

cudaError_t gpu_run_dequantize_any(gpu_stream stream, gpu_type y, const gpu_linear_any *p) {
    if (!p->linear.count) return cudaSuccess;
    return for_image(y, [=](auto zero) {
        return launch(dequantize_any<decltype(zero)>, grid_blocks(p->linear.count), GRID_THREADS, 0, stream, *p);
    });
}

cudaError_t gpu_load_dequantize_any(gpu_type y) {
    return for_image(y, [](auto zero) { return load_kernel(dequantize_any<decltype(zero)>); });
}
