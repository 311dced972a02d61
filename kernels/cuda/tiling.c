/* tiling.c - see tiling.h.
 *
 * A large tile reads its operands from memory less often: 128x128 reads each element of A once for 128 columns. But
 * multiprocessors without a block idle, so small outputs take small tiles, and sums may be divided along k (split-K):
 * more blocks with fewer steps each, and then a join, in which the last block of a tile to finish reads the sums of
 * all. More parts cost more than they save from some number on. So the tile and the number of parts are those that an
 * estimate of the clocks finds cheapest.
 * Example: m = 196, n = 256, k = 1024 in halves on 132 multiprocessors: 16 tiles of 64x64, 16 steps. In one part some
 * 6,400 clocks, in 16 parts 7,252, in 4 parts 5,380: so 4 parts, 64 blocks. */
#include "kernels/cuda/tiling.h"

/* Clocks of a step and of a join, about those of sm_80 and sm_90; estimates until a sweep on a GPU corrects them. */
enum {
    STEP_CLOCKS = 400,    /* at least: a barrier, shared memory, latency of the pipeline */
    JOIN_CLOCKS = 2500,   /* writing, counting and reading, however little */
    BYTES_A_CLOCK = 64,   /* from the L2 cache to a multiprocessor */
    SHARED_A_CLOCK = 128, /* bytes of shared memory */
    MAX_PARTS = 32,
};

/* Blocks that a multiprocessor holds by their registers and threads, KiB of shared memory of each (0: there is no such
 * tile), and the sums of a warp on tensor cores. */
typedef struct tile_size {
    int32_t rows, columns, resident, kib_mma, kib_float, warp_rows, warp_columns;
} tile_size;

/* Indexed by gpu_tile; the last is for products of few rows. */
static const tile_size sizes[GPU_TILE_COUNT] = {
    {128, 256, 1, GPU_KIB_MMA_128x256, 0, 64, 64},
    {128, 128, 2, GPU_KIB_MMA_128x128, GPU_KIB_FLOAT_128x128, 64, 64},
    {128, 64, 3, GPU_KIB_MMA_128x64, GPU_KIB_FLOAT_128x64, 64, 32},
    {64, 64, 4, GPU_KIB_MMA_64x64, GPU_KIB_FLOAT_64x64, 32, 32},
    {32, 128, 3, GPU_KIB_MMA_32x128, GPU_KIB_FLOAT_32x128, 32, 32},
};

/* A multiprocessor of an architecture, and how many of them its largest common board has. */
typedef struct board_row {
    int32_t capability, multiprocessors;
    int32_t shared_kib;            /* of which the system takes one a block */
    int32_t macs_half, macs_float; /* multiplications with addition a clock; half as many of TF32, twice of bytes */
} board_row;

/* Elements of k in a step, and their bytes. A part consists of whole steps, whichever the tile. */
typedef struct unit_row {
    int32_t step, bytes;
} unit_row;

static const unit_row units[GPU_UNIT_COUNT] = {
    [GPU_FMA] = {16, 4}, [GPU_MMA_HALF] = {64, 2}, [GPU_MMA_TF32] = {32, 4}, [GPU_MMA_BYTES] = {128, 1}};

/* Shared memory and float rates: CUDA C++ Programming Guide, "Compute Capabilities" (SHARED_KIB in block.h has the
 * same). Rates of halves with float sums are what `mma.sync` reaches: by NVIDIA's data sheets and whitepapers 1024 on
 * A100 (312 TFLOP/s) and AGX Orin (43); cards for games have 256 (RTX 3090 71, RTX 4090 165, RTX 5090 210 TFLOP/s),
 * which stands for those for workstations and servers too, of which some have twice as many (RTX A6000, L40S; T4 among
 * sm_75). Hopper and the Blackwell of data centers are faster by `wgmma` and `tcgen05`, which no kernel here uses. */
static const board_row boards[] = {
    {75, 72, 64, 256, 64},      /* Quadro RTX 8000 */
    {80, 108, 164, 1024, 64},   /* A100 */
    {86, 84, 100, 256, 128},    /* RTX A6000 */
    {87, 16, 164, 1024, 128},   /* Jetson AGX Orin */
    {89, 142, 100, 256, 128},   /* L40S */
    {90, 132, 228, 1024, 128},  /* H100, H200 */
    {100, 148, 228, 1024, 128}, /* B200 */
    {110, 20, 228, 1024, 128},  /* Jetson AGX Thor */
    {120, 188, 100, 256, 128},  /* RTX PRO 6000 Blackwell */
    {121, 48, 100, 256, 128},   /* GB10: DGX Spark */
};

static const board_row *row_of(int32_t capability) {
    const board_row *row = boards;
    for (size_t i = 1; i < sizeof boards / sizeof *boards; i++)
        if (capability >= boards[i].capability) row = &boards[i];
    return row;
}

int32_t tort_cuda_multiprocessors(int32_t compute_capability) {
    return row_of(compute_capability)->multiprocessors;
}

static int32_t resident(const board_row *row, const tile_size *size, gpu_unit unit) {
    const int32_t kib = unit == GPU_FMA ? size->kib_float : size->kib_mma, room = row->shared_kib / (kib + 1);
    if (!kib || kib > row->shared_kib) return 0;
    return room < 1 ? 1 : room < size->resident ? room : size->resident;
}

int32_t tort_cuda_resident(int32_t compute_capability, gpu_tile tile, gpu_unit unit) {
    return resident(row_of(compute_capability), &sizes[tile], unit);
}

/* True if at least half of such a tile would lie outside the output. */
static bool too_large(tile_size size, int64_t m, int64_t n) {
    return size.rows / 2 >= m || size.columns / 2 >= n;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* A product as the estimate sees it. */
typedef struct estimated {
    const board_row *row;
    gpu_unit unit;
    int64_t steps;           /* of all k */
    int64_t blocks;          /* in one part */
    int64_t multiprocessors; /* at least 1 */
} estimated;

/* Clocks in which shared memory takes what a step copies and gives what its warps multiply: each reads its rows and
 * columns. FMA reads less than it takes. */
static int64_t sharing(const estimated *e, tile_size size) {
    const int64_t warps = (int64_t)size.rows * size.columns / (size.warp_rows * size.warp_columns);
    const int64_t lines = size.rows + size.columns + warps * (size.warp_rows + size.warp_columns);
    return e->unit == GPU_FMA ? 0 : lines * units[e->unit].step * units[e->unit].bytes / SHARED_A_CLOCK;
}

static int64_t clocks_of(const estimated *e, tile_size size, int64_t parts) {
    const int64_t step = units[e->unit].step, bytes = units[e->unit].bytes;
    const int64_t elements = (int64_t)size.rows * size.columns;
    const int64_t macs = e->unit == GPU_FMA ? e->row->macs_float : e->row->macs_half * 2 / bytes;
    const int64_t multiplying = elements * step / macs;
    const int64_t reading = (size.rows + size.columns) * step * bytes / BYTES_A_CLOCK;
    const int64_t blocks = gpu_pieces(e->blocks * parts, e->multiprocessors);
    const int64_t a_step = larger(gpu_pieces(blocks, resident(e->row, &size, e->unit)) * STEP_CLOCKS,
                                  blocks * larger(larger(multiplying, sharing(e, size)), reading));
    const int64_t sums = elements * (int64_t)sizeof(float) / BYTES_A_CLOCK;
    return gpu_pieces(e->steps, parts) * a_step + (parts > 1 ? JOIN_CLOCKS + (parts + 1) * sums : 0);
}

/* Tries numbers of parts that are about a quarter more each, as the minimum is flat. Parts are for products that leave
 * multiprocessors idle, so GPU_ARRIVALS suffices. */
static int64_t best_parts(const estimated *e, tile_size size, int64_t *clocks) {
    int64_t best = 1;
    *clocks = clocks_of(e, size, 1);
    if (e->blocks >= e->multiprocessors) return best;
    for (int64_t parts = 2; parts <= MAX_PARTS && parts <= e->steps; parts += 1 + parts / 4) {
        const int64_t found = clocks_of(e, size, parts);
        if (found < *clocks) best = parts, *clocks = found;
    }
    return best;
}

static gpu_tile choose_tile(int64_t m, int64_t n, int64_t products, estimated *e, int64_t *parts) {
    gpu_tile best = GPU_TILE_COUNT;
    int64_t min_clocks = INT64_MAX;
    const bool few = m <= sizes[GPU_TILE_32x128].rows;
    for (gpu_tile tile = few ? GPU_TILE_32x128 : GPU_TILE_128x256; tile < GPU_TILE_COUNT; tile++) {
        const tile_size size = sizes[tile];
        int64_t clocks;
        if (!resident(e->row, &size, e->unit)) continue;
        /* Turing multiplies bytes in four operations: 64 sums a thread leave it too few registers. */
        if (e->unit == GPU_MMA_BYTES && e->row->capability < 80 && tile < GPU_TILE_128x64) continue;
        if (!few && (tile == GPU_TILE_32x128 || (tile < GPU_TILE_64x64 && too_large(size, m, n)))) continue;
        e->blocks = larger(gpu_pieces(m, size.rows) * gpu_pieces(n, size.columns) * products, 1);
        const int64_t found = best_parts(e, size, &clocks);
        if (clocks < min_clocks) best = tile, min_clocks = clocks, *parts = found;
    }
    return best;
}

/* Divides k into about so many parts of whole steps. */
static void divide(gpu_tiling *tiling, int64_t k, int64_t step, int64_t parts, int64_t products) {
    if (tiling->tiles < 1 || parts < 2) return;
    tiling->part = gpu_pieces(gpu_pieces(k, step), parts) * step;
    tiling->parts = (int32_t)gpu_pieces(k, tiling->part); /* no part is empty */
    if (tiling->parts < 2) return;
    tiling->scratch =
        (size_t)(tiling->tiles * products * tiling->parts * tiling->rows * tiling->columns) * sizeof(float);
}

gpu_tiling tort_cuda_tiling_of(gpu_board board, gpu_unit unit, int64_t m, int64_t n, int64_t k, int64_t batches) {
    const int64_t products = larger(batches, 1), step = units[unit].step;
    estimated e = {.row = row_of(board.capability),
                   .unit = unit,
                   .steps = gpu_pieces(k, step),
                   .multiprocessors = larger(board.multiprocessors, 1)};
    int64_t parts = 1;
    const gpu_tile tile = choose_tile(m, n, products, &e, &parts);
    const tile_size size = sizes[tile];
    gpu_tiling tiling = {.tile = tile, .rows = size.rows, .columns = size.columns, .parts = 1, .part = k};
    tiling.across = gpu_pieces(n, size.columns);
    tiling.tiles = tiling.across * gpu_pieces(m, size.rows);
    divide(&tiling, k, step, parts, products);
    return tiling;
}

/* Only B counts: each block reads its columns of it. */
gpu_tiling tort_cuda_few_rows_tiling_of(gpu_board board, bool half, int32_t columns, int64_t m, int64_t n, int64_t k,
                                        int64_t batches) {
    enum { STEP = 128 }; /* elements of k: some for each warp */
    const int32_t rows = m <= 1 ? 1 : m <= 4 ? 4 : GPU_FEW_ROWS;
    gpu_tiling tiling = {.tile = GPU_TILE_FEW_ROWS, .rows = rows, .columns = columns, .parts = 1, .part = k};
    tiling.across = tiling.tiles = m > 0 ? gpu_pieces(n, columns) : 0;
    const int64_t products = larger(batches, 1), blocks = larger(tiling.tiles * products, 1);
    const int64_t processors = larger(board.multiprocessors, 1), bytes = columns * (half ? 2 : 4),
                  sums = rows * columns * 4;
    int64_t best = 1, min_clocks = INT64_MAX;
    for (int64_t parts = 1; parts <= MAX_PARTS && parts <= gpu_pieces(k, STEP); parts += 1 + parts / 4) {
        const int64_t reading = gpu_pieces(blocks * parts, processors) * gpu_pieces(k, parts) * bytes / BYTES_A_CLOCK;
        const int64_t joining = parts > 1 ? JOIN_CLOCKS + parts * sums / BYTES_A_CLOCK : 0;
        if (reading + joining < min_clocks) best = parts, min_clocks = reading + joining;
        if (blocks >= processors) break; /* so GPU_ARRIVALS suffices */
    }
    divide(&tiling, k, STEP, best, products);
    return tiling;
}
