/* rotary.cu - RotaryEmbedding: rotates pairs of elements of a head by an angle that depends on the position. A
 * thread takes elements in a grid stride and computes each from its pair, in float. Read first: attention.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/attention.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/index.h"

/* ---- kernel ---- */

/* Index (batch, position) of row i of x. */
static __device__ __forceinline__ int64_t place_of(const gpu_rotary &r, int64_t row) {
    const tort_rotary_params &p = r.params;
    if (r.packed) return row / p.heads;
    return row / (p.heads * p.length) * p.length + row % p.length;
}

template <class T> static __global__ void rotary(const gpu_rotary r) {
    after_previous();
    const tort_rotary_params &p = r.params;
    const int64_t half_size = p.rotated / 2;
    const T *x = (const T *)r.x, *cosines = (const T *)r.cosines, *sines = (const T *)r.sines;
    for (size_t i = grid_first(); i < r.count; i += grid_stride()) {
        const int64_t row = (int64_t)i / p.size, at = (int64_t)i % p.size;
        if (at >= p.rotated) {
            ((T *)r.y)[i] = x[i];
            continue;
        }
        const int64_t place = place_of(r, row);
        int64_t angle = place;
        if (r.positions) {
            angle = p.first_only ? r.positions[0] + place % p.length : r.positions[place];
            if (angle < 0 || angle >= p.cache_length) {
                report_fault((gpu_status *)r.status, r.node, GPU_FAULT_RANGE, angle, (size_t)place, p.cache_length - 1);
                continue;
            }
        }
        const bool second = p.interleaved ? at % 2 : at >= half_size;
        const int64_t pair = p.interleaved ? at / 2 : at % half_size, distance = p.interleaved ? 1 : half_size;
        const float cosine = (float)cosines[angle * half_size + pair], sine = (float)sines[angle * half_size + pair];
        const float own = (float)x[i], other = (float)x[second ? (int64_t)i - distance : (int64_t)i + distance];
        ((T *)r.y)[i] = (T)(cosine * own + (second ? sine : -sine) * other);
    }
}

/* ---- launchers ---- */

template <class T> static cudaError_t run(gpu_stream stream, const gpu_rotary *r) {
    return launch_overlapping(rotary<T>, grid_blocks(r->count), GRID_THREADS, 0, stream, *r);
}

cudaError_t gpu_run_rotary(gpu_stream stream, gpu_type type, const gpu_rotary *r) {
    if (!r->count) return cudaSuccess;
    return type == GPU_HALF ? run<half>(stream, r) : run<float>(stream, r);
}

cudaError_t gpu_load_rotary(gpu_type type) {
    return type == GPU_HALF ? load_kernel(rotary<half>) : load_kernel(rotary<float>);
}
