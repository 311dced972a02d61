/* unpool.cu - MaxUnpool, and Col2Im, whose pixels each gather from all blocks that cover them. Read first: unpool.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/index.h"
#include "kernels/cuda/unpool.h"

/* ---- MaxUnpool: several elements may go to one place, where the last stays ---- */

static __global__ void unpool_note(const gpu_unpool p) {
    for (size_t i = grid_first(); i < p.count; i += grid_stride()) {
        int64_t rest = p.indices[i], at = 0, stride = 1;
        if (rest < 0 || rest >= p.total) {
            report_fault((gpu_status *)p.status, p.node, GPU_FAULT_RANGE, rest, i, p.total - 1);
            continue;
        }
        for (int axis = p.rank - 1; axis >= 0; axis--) {
            uint64_t index = (uint64_t)rest;
            rest = (int64_t)divide(&index, p.from[axis], (uint64_t)p.total);
            at += (int64_t)index * stride;
            stride *= p.to[axis];
        }
        atomicMax(&p.last[at], (unsigned long long)i + 1);
    }
}

template <class T> static __global__ void unpool_write(const gpu_unpool p) {
    for (size_t i = grid_first(); i < p.outputs; i += grid_stride())
        ((T *)p.y)[i] = p.last[i] ? ((const T *)p.x)[p.last[i] - 1] : (T)0;
}

/* ---- Col2Im ---- */

/* Positions of a block with which it can cover a pixel, along an axis. */
struct covering {
    int64_t offset, from, to;
};

static __device__ __forceinline__ covering covering_of(const gpu_col2im &c, int k, int64_t position) {
    const tort_col2im_params &p = c.params;
    const int64_t offset = position + p.pads[k], behind = offset - (p.places[k] - 1) * p.strides[k];
    uint64_t first = behind > 0 ? (uint64_t)(behind + p.dilations[k] - 1) : 0, last = (uint64_t)offset;
    return {offset, (int64_t)divide(&first, c.step[k], c.max),
            min((int64_t)divide(&last, c.step[k], c.max) + 1, p.block[k])};
}

template <class T> static __global__ void col2im(const gpu_col2im c) {
    typedef typename computed<T>::type C;
    const tort_col2im_params &p = c.params;
    for (size_t i = grid_first(); i < c.count; i += grid_stride()) {
        covering along[TORT_COL2IM_RANK];
        int64_t at[TORT_COL2IM_RANK];
        uint64_t rest = i;
        const T *x = (const T *)c.x + (int64_t)divide(&rest, c.pixels, c.max) * p.block_size * p.place_count;
        bool more = p.place_count > 0;
        C sum = 0;
        for (int k = p.spatial - 1; k >= 0; k--) {
            uint64_t index = rest;
            rest = divide(&index, c.image[k], c.max);
            along[k] = covering_of(c, k, (int64_t)index);
            at[k] = along[k].from;
            more = more && along[k].from < along[k].to;
        }
        while (more) {
            int64_t cell = 0, place = 0;
            bool placed = true;
            for (int k = 0; k < p.spatial; k++) {
                uint64_t between = (uint64_t)(along[k].offset - at[k] * p.dilations[k]);
                const int64_t number = (int64_t)divide(&between, c.stride[k], c.max);
                placed = placed && !between;
                cell = cell * p.block[k] + at[k];
                place = place * p.places[k] + number;
            }
            if (placed) sum += (C)x[cell * p.place_count + place];
            int k = p.spatial - 1;
            while (k >= 0 && ++at[k] == along[k].to) at[k] = along[k].from, k--;
            more = k >= 0;
        }
        ((T *)c.y)[i] = (T)sum;
    }
}

/* ---- launchers ---- */

cudaError_t gpu_run_unpool(gpu_stream stream, int element_bytes, const gpu_unpool *p) {
    cudaError_t code = cudaMemsetAsync(p->last, 0, p->outputs * sizeof *p->last, stream.handle);
    if (code == cudaSuccess && p->count) code = launch(unpool_note, grid_blocks(p->count), GRID_THREADS, 0, stream, *p);
    if (code != cudaSuccess) return code;
    return for_bytes(element_bytes, [=](auto zero) {
        return launch(unpool_write<decltype(zero)>, grid_blocks(p->outputs), GRID_THREADS, 0, stream, *p);
    });
}

cudaError_t gpu_load_unpool(int element_bytes) {
    const cudaError_t code = load_kernel(unpool_note);
    if (code != cudaSuccess) return code;
    return for_bytes(element_bytes, [](auto zero) { return load_kernel(unpool_write<decltype(zero)>); });
}

cudaError_t gpu_run_col2im(gpu_stream stream, gpu_number type, const gpu_col2im *p) {
    return for_number(type, [=](auto zero) {
        return launch(col2im<decltype(zero)>, grid_blocks(p->count), GRID_THREADS, 0, stream, *p);
    });
}

cudaError_t gpu_load_col2im(gpu_number type) {
    return for_number(type, [](auto zero) { return load_kernel(col2im<decltype(zero)>); });
}
