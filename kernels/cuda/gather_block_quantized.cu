/* gather_block_quantized.cu - slices of a table of packed numbers, as floats. Each thread makes output elements a grid
 * stride apart, so neighbours read neighbouring numbers. Read first: gather_block_quantized.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/element.h"
#include "kernels/cuda/gather_block_quantized.h"
#include "kernels/cuda/grid.h"

/* ---- kernel ---- */

static __device__ __forceinline__ float number_at(const gpu_gather_block &g, const uint8_t *numbers, uint64_t i) {
    const uint64_t bit = i * (uint64_t)g.bits;
    const int number = numbers[bit / 8] >> (bit % 8) & ((1 << g.bits) - 1), sign = 1 << (g.bits - 1);
    return (float)(g.is_signed ? (number ^ sign) - sign : number);
}

/* Dequantizes the number at a place of the table. */
template <class T> static __device__ __forceinline__ float dequantized(const gpu_gather_block &g, uint64_t place) {
    uint64_t after = place, along = divide(&after, g.after, g.max);
    const uint64_t before = divide(&along, g.along, g.max), block = along >> g.block_shift;
    const uint64_t scale = (before * (uint64_t)g.blocks + block) * g.after.value + after;
    const uint64_t at = (before * (uint64_t)g.zero_blocks + block) * g.after.value + after;
    const float zero = g.zeros ? number_at(g, g.zeros, at) : g.zero;
    return (number_at(g, g.data, place) - zero) * (float)((const T *)g.scales)[scale];
}

/* An index out of range gives zeros, as the operator's plain loop does. */
template <class T, class I> static __global__ void gather_block(const gpu_gather_block g) {
    for (size_t i = grid_first(); i < g.count; i += grid_stride()) {
        uint64_t inner = i, slice = divide(&inner, g.inner, g.max);
        const uint64_t outer = divide(&slice, g.index_count, g.max);
        int64_t index = (int64_t)((const I *)g.indices)[slice];
        if (index < 0) index += g.size;
        const bool is_inside = index >= 0 && index < g.size;
        const uint64_t place = (outer * (uint64_t)g.size + (uint64_t)index) * g.inner.value + inner;
        ((T *)g.y)[i] = (T)(is_inside ? dequantized<T>(g, place) : 0.0f);
    }
}

/* ---- launchers ---- */

/* Calls use(T(), I()) for the types of a scale and of an index. */
template <class Use> static cudaError_t for_scales(gpu_type type, int index_bytes, Use use) {
    const auto with = [=](auto zero) { return index_bytes == 8 ? use(zero, int64_t()) : use(zero, int32_t()); };
    switch (type) {
    case GPU_HALF: return with(half());
    case GPU_BFLOAT16: return with(bfloat16());
    default: return with(float());
    }
}

cudaError_t gpu_run_gather_block(gpu_stream stream, gpu_type type, int index_bytes, const gpu_gather_block *g) {
    if (!g->count) return cudaSuccess;
    return for_scales(type, index_bytes, [=](auto zero, auto index) {
        return launch(gather_block<decltype(zero), decltype(index)>, grid_blocks(g->count), GRID_THREADS, 0, stream,
                      *g);
    });
}

cudaError_t gpu_load_gather_block(gpu_type type, int index_bytes) {
    return for_scales(type, index_bytes,
                      [](auto zero, auto index) { return load_kernel(gather_block<decltype(zero), decltype(index)>); });
}
