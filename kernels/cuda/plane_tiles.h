/* plane_tiles.h - tiles of image planes: a block makes a part of the output from a part of the input that it has copied
 * to shared memory, so that neighbouring outputs, which read the same elements, read global memory once. Plain C, and
 * functions for .cu files, after gpu.h. */
#ifndef TORT_KERNELS_CUDA_PLANE_TILES_H
#define TORT_KERNELS_CUDA_PLANE_TILES_H

#include "kernels/cuda/claims.h"

/* `count` neighbours of `out` outputs see at most (count - 1) * step + reach of `in` inputs. */
typedef struct gpu_tiled_axis {
    int64_t in, out;
    double step, reach;
} gpu_tiled_axis;

typedef struct gpu_plane_tiles {
    int32_t rows, columns;       /* of the output */
    int32_t lines;               /* rows that a block makes at a time, with a thread for each column */
    int32_t in_rows, in_columns; /* at most */
} gpu_plane_tiles;

/* Chooses tiles for planes that are not empty. False: even one row needs too much of the input. */
bool tort_cuda_plane_tiles(const gpu_tiled_axis *h, const gpu_tiled_axis *w, int element_bytes, gpu_plane_tiles *tiles);

#ifdef __cplusplus
#include "kernels/cuda/grid.h"

/* A part of an axis. */
struct span {
    int first, count;
};
static __device__ __forceinline__ span part_of(int size, int part, unsigned i) {
    const int first = (int)i * part;
    return {first, size - first < part ? size - first : part};
}

/* Copies a part of a plane, whose rows are `width` elements, to a tile without gaps. Whole rows are one run, which
 * lanes share evenly. */
template <class T>
static __device__ __forceinline__ void copy_part(T *tile, const T *plane, int width, span h, span w) {
    const T *from = plane + (int64_t)h.first * width + w.first;
    const int lane = (int)threadIdx.x, line = (int)threadIdx.y, lanes = (int)blockDim.x, lines = (int)blockDim.y;
    const int thread = line * lanes + lane, in_warps = lines * lanes / 32 * 32;
    if (w.count == width)
        for (int i = thread; i < h.count * width && thread < in_warps; i += in_warps) tile[i] = from[i];
    else
        for (int row = line; row < h.count; row += lines)
            for (int column = lane; column < w.count; column += lanes)
                tile[row * w.count + column] = from[(int64_t)row * width + column];
}

/* The tiles of a plane: tile i is in row i / across. Launch plane_grid blocks of plane_block threads. */
struct plane_parts {
    unsigned across, total;
};
static inline plane_parts plane_parts_of(const gpu_plane_tiles *tiles, int out_h, int out_w) {
    const unsigned across = (unsigned)((out_w - 1) / tiles->columns + 1);
    return {across, across * (unsigned)((out_h - 1) / tiles->rows + 1)};
}
static inline dim3 plane_grid(plane_parts parts, int64_t planes) {
    return dim3(grid_extent(parts.total), grid_extent((size_t)planes));
}
static inline dim3 plane_block(const gpu_plane_tiles *tiles) {
    return dim3((unsigned)tiles->columns, (unsigned)tiles->lines);
}
static inline size_t tile_elements(const gpu_plane_tiles *tiles) {
    return (size_t)tiles->in_rows * (size_t)tiles->in_columns;
}
#endif

#endif
