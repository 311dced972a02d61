/* tiling.c - see tiling.h.
 *
 * A large tile reads its operands from memory less often: 128x128 reads each element of A once for 128 columns. But a
 * GPU whose multiprocessors have no block of their own stands idle, so the largest tile that gives each of them one is
 * taken. Where not even small ones do, the sums are divided along k (split-K), until they do or a part becomes so short
 * that starting it takes longer than its work. */
#include "kernels/cuda/tiling.h"

typedef struct tile_size {
    int32_t rows, columns;
} tile_size;

/* By gpu_tile, the largest first. The last is for products of few rows. */
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

static int64_t pieces(int64_t length, int64_t piece) {
    return length / piece + (length % piece != 0);
}

/* Would half of such a tile lie outside? */
static bool too_large(tile_size size, int64_t m, int64_t n) {
    return size.rows / 2 >= m || size.columns / 2 >= n;
}

static gpu_tile choose_tile(int64_t m, int64_t n, int64_t wanted) {
    if (m <= sizes[GPU_TILE_32x128].rows) return GPU_TILE_32x128;
    for (gpu_tile tile = GPU_TILE_128x128; tile < GPU_TILE_64x64; tile++) {
        const int64_t tiles = pieces(m, sizes[tile].rows) * pieces(n, sizes[tile].columns);
        if (!too_large(sizes[tile], m, n) && tiles >= wanted) return tile;
    }
    return GPU_TILE_64x64;
}

gpu_tiling tort_cuda_tiling_of(int32_t compute_capability, bool half, int64_t m, int64_t n, int64_t k,
                               int64_t batches) {
    const int64_t products = batches > 0 ? batches : 1,
                  wanted = pieces(tort_cuda_multiprocessors(compute_capability), products);
    const gpu_tile tile = choose_tile(m, n, wanted);
    const tile_size size = sizes[tile];
    gpu_tiling tiling = {.tile = tile, .rows = size.rows, .columns = size.columns, .parts = 1, .part = k};
    tiling.across = pieces(n, size.columns);
    tiling.tiles = tiling.across * pieces(m, size.rows);
    const int64_t step = half ? GPU_STEP_HALF : GPU_STEP_FLOAT, steps = pieces(k, step);
    if (tiling.tiles < 1 || tiling.tiles >= wanted || steps < 2) return tiling;
    const int64_t parts = pieces(wanted, tiling.tiles);
    tiling.part = (parts < steps ? steps / parts : 1) * step; /* rounded down: rather a few more parts than idle ones */
    tiling.parts = (int32_t)pieces(k, tiling.part);           /* none of them empty */
    if (tiling.parts > 1)
        tiling.scratch = (size_t)(tiling.tiles * products * tiling.parts * size.rows * size.columns) * sizeof(float);
    return tiling;
}
