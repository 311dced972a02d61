/* tiling.c - see tiling.h.
 *
 * A large tile reads its operands from memory less often: 128x128 reads each element of A once for 128 columns. But
 * multiprocessors without a block idle, so the largest tile is taken that gives each of them a block. If not even
 * the smallest does, the sums are divided along k (split-K) until there are enough blocks or a part is a single
 * step.
 * Example: m = 32, n = 1024, k = 4096 in halves on 132 multiprocessors: 8 tiles of 32x128, so ceil(132 / 8) = 17
 * parts are wanted; a part of 3 steps (192 of k) makes it 22 parts, and 176 blocks. */
#include "kernels/cuda/tiling.h"

typedef struct tile_size {
    int32_t rows, columns;
} tile_size;

/* Indexed by gpu_tile, the largest first; the last is for products of few rows. */
static const tile_size sizes[GPU_TILE_COUNT] = {{128, 128}, {128, 64}, {64, 64}, {32, 128}};

int32_t tort_cuda_multiprocessors(int32_t compute_capability) {
    static const struct {
        int32_t compute_capability, count;
    } boards[] = {{75, 72}, {80, 108}, {86, 84}, {87, 16}, {89, 142}, {90, 132}, {100, 148}, {110, 20}, {120, 188}};
    int32_t count = boards[0].count;
    for (size_t i = 0; i < sizeof boards / sizeof *boards; i++)
        if (compute_capability >= boards[i].compute_capability) count = boards[i].count;
    return count;
}

/* True if at least half of such a tile would lie outside the output. */
static bool too_large(tile_size size, int64_t m, int64_t n) {
    return size.rows / 2 >= m || size.columns / 2 >= n;
}

static gpu_tile choose_tile(int64_t m, int64_t n, int64_t wanted) {
    if (m <= sizes[GPU_TILE_32x128].rows) return GPU_TILE_32x128;
    for (gpu_tile tile = GPU_TILE_128x128; tile < GPU_TILE_64x64; tile++) {
        const int64_t tiles = gpu_pieces(m, sizes[tile].rows) * gpu_pieces(n, sizes[tile].columns);
        if (!too_large(sizes[tile], m, n) && tiles >= wanted) return tile;
    }
    return GPU_TILE_64x64;
}

gpu_tiling tort_cuda_tiling_of(int32_t compute_capability, bool half, int64_t m, int64_t n, int64_t k,
                               int64_t batches) {
    const int64_t products = batches > 0 ? batches : 1,
                  wanted = gpu_pieces(tort_cuda_multiprocessors(compute_capability), products);
    const gpu_tile tile = choose_tile(m, n, wanted);
    const tile_size size = sizes[tile];
    gpu_tiling tiling = {.tile = tile, .rows = size.rows, .columns = size.columns, .parts = 1, .part = k};
    tiling.across = gpu_pieces(n, size.columns);
    tiling.tiles = tiling.across * gpu_pieces(m, size.rows);
    const int64_t step = half ? GPU_STEP_HALF : GPU_STEP_FLOAT, steps = gpu_pieces(k, step);
    if (tiling.tiles < 1 || tiling.tiles >= wanted || steps < 2) return tiling;
    const int64_t parts = gpu_pieces(wanted, tiling.tiles);
    tiling.part =
        (parts < steps ? steps / parts : 1) * step;     /* rounded down: slightly too many parts rather than too few */
    tiling.parts = (int32_t)gpu_pieces(k, tiling.part); /* no part is empty */
    if (tiling.parts > 1)
        tiling.scratch = (size_t)(tiling.tiles * products * tiling.parts * size.rows * size.columns) * sizeof(float);
    return tiling;
}
