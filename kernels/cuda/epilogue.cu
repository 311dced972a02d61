/* epilogue.cu - the rest of a fused operator after a library has made its product: bias, residual, activation, over
 * Y in place. Memory-bound: elements move in packs. Read first: epilogue.h, pack.h. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/element.h"
#include "kernels/cuda/epilogue.h"
#include "kernels/cuda/pack.h"

/* ---- kernel ---- */

template <int size, class T>
static __device__ __forceinline__ void add_pack(float (&sum)[size], float scale, const pack<T, size> &values) {
#pragma unroll
    for (int k = 0; k < size; k++) sum[k] += scale * (float)values.at[k];
}

template <int size, class T>
static __device__ __forceinline__ void epilogue_range(const gpu_epilogue &e, size_t first, size_t end) {
    T *y = (T *)e.y;
    for (size_t i = first + grid_first() * size; i < end; i += grid_stride() * size) {
        pack<T, size> value = load_pack<size>(y + i);
        float sum[size] = {};
        add_pack(sum, 1.0f, value);
        if (e.bias) {
            int64_t at[1];
            loop_offsets(e.loop, i, at);
            add_pack(sum, e.scale, load_operand<size>(e.loop, 0, (const T *)e.bias, at[0]));
        }
        if (e.residual) add_pack(sum, 1.0f, load_pack<size>((const T *)e.residual + i));
        activate(e.epilogue, sum);
#pragma unroll
        for (int k = 0; k < size; k++) value.at[k] = (T)sum[k];
        store_pack(y + i, value);
    }
}

template <class T> static __global__ void epilogue(const gpu_epilogue e, size_t packed) {
    after_previous();
    epilogue_range<pack_size<T>::VALUE, T>(e, 0, packed);
    epilogue_range<1, T>(e, packed, e.loop.count);
}

/* ---- launcher ---- */

template <class T> static cudaError_t run(gpu_stream stream, const gpu_epilogue *e) {
    constexpr int size = pack_size<T>::VALUE;
    size_t packed = rows_packed<size>(&e->loop, (const T *)e->y);
    if (!pack_aligned<size>((const T *)e->residual) ||
        (e->bias && !operand_packable<size>(&e->loop, 0, (const T *)e->bias)))
        packed = 0;
    return launch_overlapping(epilogue<T>, pack_blocks<size>(e->loop.count, packed), GRID_THREADS, 0, stream, *e,
                              packed);
}

cudaError_t gpu_run_epilogue(gpu_stream stream, gpu_type type, const gpu_epilogue *e) {
    if (type == GPU_BFLOAT16) return run<bfloat16>(stream, e);
    return type == GPU_HALF ? run<half>(stream, e) : run<float>(stream, e);
}

cudaError_t gpu_load_epilogue(gpu_type type) {
    if (type == GPU_BFLOAT16) return load_kernel(epilogue<bfloat16>);
    return type == GPU_HALF ? load_kernel(epilogue<half>) : load_kernel(epilogue<float>);
}
