/* cuda_tiling.c - tiles of the CUDA provider's matrix products: sums are divided where that saves more than the join
 * costs, parts cover k exactly once, and their counters suffice. Facts are those of tiling.h. */
#include <criterion/criterion.h>

#include "kernels/cuda/tiling.h"

enum { H100_MULTIPROCESSORS = 132 };

static const gpu_board h100 = {.capability = 90, .multiprocessors = H100_MULTIPROCESSORS};

typedef struct product {
    int64_t m, n, k, batches;
} product;

/* Of BERT-base, batch 1, 128 tokens: projections, both products of attention's heads, the two of the layer's network.
 */
static const product bert[] = {{128, 768, 768, 1},  {128, 128, 64, 12},  {128, 64, 128, 12},
                               {128, 3072, 768, 1}, {128, 768, 3072, 1}, {1, 768, 768, 1}};

/* Of ResNet-50, batch 1, 224x224, in the order of the network: filters, pixels, channels times kernel. */
static const product resnet50[] = {{64, 12544, 147, 1}, {64, 3136, 64, 1},   {64, 3136, 576, 1},  {256, 3136, 64, 1},
                                   {64, 3136, 256, 1},  {128, 3136, 256, 1}, {128, 784, 1152, 1}, {512, 784, 128, 1},
                                   {512, 784, 256, 1},  {128, 784, 512, 1},  {256, 784, 512, 1},  {256, 196, 2304, 1},
                                   {1024, 196, 256, 1}, {1024, 196, 512, 1}, {256, 196, 1024, 1}, {512, 196, 1024, 1},
                                   {512, 49, 4608, 1},  {2048, 49, 512, 1},  {2048, 49, 1024, 1}, {512, 49, 2048, 1},
                                   {1000, 1, 2048, 1}};

static int64_t pieces(int64_t length, int64_t piece) {
    return (length + piece - 1) / piece;
}

/* Elements of k that each unit takes in a step. */
static const int64_t steps[GPU_UNIT_COUNT] = {
    [GPU_FMA] = 16, [GPU_MMA_HALF] = 64, [GPU_MMA_TF32] = 32, [GPU_MMA_BYTES] = 128};

static void check_parts(const product *p, gpu_unit unit, const gpu_tiling *t) {
    cr_assert_eq(t->tiles, pieces(p->m, t->rows) * pieces(p->n, t->columns));
    cr_assert_eq(t->across, pieces(p->n, t->columns));
    cr_assert(t->parts >= 1);
    cr_assert(t->part * t->parts >= p->k, "elements of k are in no part");
    cr_assert(t->parts == 1 || t->part * (t->parts - 1) < p->k, "a part is empty");
    cr_assert(t->parts == 1 || t->part % steps[unit] == 0, "a part begins in the middle of a step");
    const size_t sums = t->parts > 1 ? (size_t)(t->tiles * p->batches * t->parts * t->rows * t->columns) : 0;
    cr_assert_eq(t->scratch, sums * sizeof(float));
    cr_assert(t->parts == 1 || t->tiles * p->batches <= GPU_ARRIVALS);
}

static gpu_tiling tiling_of(const product *p, gpu_board board, gpu_unit unit) {
    const gpu_tiling t = tort_cuda_tiling_of(board, unit, p->m, p->n, p->k, p->batches);
    check_parts(p, unit, &t);
    return t;
}

/* Blocks cost a join each, so a GPU is not filled at any price. */
static void check_uses_many(const product *p, gpu_unit unit) {
    const gpu_tiling t = tiling_of(p, h100, unit);
    const int64_t blocks = t.tiles * p->batches * t.parts, step = steps[unit];
    cr_assert(blocks >= H100_MULTIPROCESSORS / 4 || pieces(p->k, step) <= 12 * t.parts,
              "%lld by %lld by %lld makes %lld blocks in parts of %lld", (long long)p->m, (long long)p->n,
              (long long)p->k, (long long)blocks, (long long)t.part);
}

Test(cuda_tiling, no_product_of_small_batches_is_long_on_few_multiprocessors) {
    for (size_t i = 0; i < sizeof bert / sizeof *bert; i++)
        for (gpu_unit unit = 0; unit < GPU_UNIT_COUNT; unit++) check_uses_many(&bert[i], unit);
    for (size_t i = 0; i < sizeof resnet50 / sizeof *resnet50; i++)
        for (gpu_unit unit = 0; unit < GPU_UNIT_COUNT; unit++) check_uses_many(&resnet50[i], unit);
}

/* A part saves steps and adds a share to the join, so the best number is about the square root of the steps. */
Test(cuda_tiling, parts_are_few_where_steps_are_few) {
    static const product conv4 = {256, 196, 1024, 1}, conv5 = {512, 49, 4608, 1}, keys = {1, 512, 2048, 2};
    const gpu_tiling a = tiling_of(&conv4, h100, GPU_MMA_HALF), b = tiling_of(&conv5, h100, GPU_MMA_HALF);
    const gpu_tiling c = tiling_of(&keys, h100, GPU_MMA_HALF);
    cr_assert(a.parts >= 2 && a.parts <= 6, "%d parts of 16 steps", (int)a.parts);
    cr_assert(b.parts >= 6 && b.parts <= 12, "%d parts of 72 steps", (int)b.parts);
    cr_assert(c.parts >= 3 && c.parts <= 9, "%d parts of 32 steps", (int)c.parts);
}

Test(cuda_tiling, a_small_gpu_is_filled_without_parts) {
    static const product conv4 = {256, 196, 1024, 1};
    cr_assert_eq(tiling_of(&conv4, (gpu_board){.capability = 80, .multiprocessors = 8}, GPU_MMA_HALF).parts, 1);
    cr_assert(tiling_of(&conv4, (gpu_board){.capability = 80, .multiprocessors = 1}, GPU_MMA_HALF).tile <
                  GPU_TILE_64x64,
              "small tiles fetch more, and nothing idles");
}

Test(cuda_tiling, large_products_take_the_largest_tile_and_no_parts) {
    const gpu_tiling t = tort_cuda_tiling_of(h100, GPU_MMA_HALF, 4096, 4096, 4096, 1);
    const gpu_board rtx4090 = {.capability = 89, .multiprocessors = 128};
    cr_assert_eq(t.tile, GPU_TILE_128x256);
    cr_assert_eq(tort_cuda_tiling_of(rtx4090, GPU_MMA_HALF, 4096, 4096, 4096, 1).tile, GPU_TILE_128x128);
    cr_assert_eq(tort_cuda_tiling_of(h100, GPU_FMA, 4096, 4096, 4096, 1).tile, GPU_TILE_128x128);
    cr_assert_eq(tort_cuda_tiling_of(h100, GPU_MMA_TF32, 4096, 4096, 4096, 1).tile, GPU_TILE_128x256);
    cr_assert_eq(t.parts, 1);
    cr_assert_eq(t.scratch, 0);
}

Test(cuda_tiling, parts_are_right_for_all_sizes) {
    static const int32_t counts[] = {0, 1, 4, 8, 16, 58, 108, 132, 188, GPU_MAX_MULTIPROCESSORS};
    static const int32_t capabilities[8] = {0, 75, 80, 86, 87, 90, 103, 121};
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        int64_t size[4];
        for (int j = 0; j < 4; j++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            size[j] = (int64_t)(random % (j == 3 ? 20 : random >> 60 ? 300 : 9000));
        }
        const product p = {size[0], size[1], size[2], size[3]};
        const gpu_unit unit = (gpu_unit)((random >> 40) % GPU_UNIT_COUNT);
        const gpu_board board = {.capability = capabilities[random >> 50 & 7],
                                 .multiprocessors = counts[i % (int)(sizeof counts / sizeof *counts)]};
        const gpu_tiling t = tort_cuda_tiling_of(board, unit, p.m, p.n, p.k, p.batches);
        if (p.m && p.n && p.batches) check_parts(&p, unit, &t);
    }
}

/* Blocks by NVIDIA's table of compute capabilities: the shared memory of a multiprocessor, of which the system takes 1
 * KiB a block, over tiles of 144, 64, 48, 48 and 60 KiB (halves), and of 64, 32, 17 and 21 (floats, which have no tile
 * of 128x256). Registers allow 1, 2, 3, 4 and 3. */
Test(cuda_tiling, blocks_fit_the_shared_memory_of_each_architecture) {
    static const struct {
        int32_t capability, half[GPU_TILE_COUNT], single[GPU_TILE_COUNT];
    } rows[] = {
        {75, {0, 1, 1, 1, 1}, {0, 1, 1, 3, 2}},  {80, {1, 2, 3, 3, 2}, {0, 2, 3, 4, 3}},
        {86, {0, 1, 2, 2, 1}, {0, 1, 3, 4, 3}},  {87, {1, 2, 3, 3, 2}, {0, 2, 3, 4, 3}},
        {88, {1, 2, 3, 3, 2}, {0, 2, 3, 4, 3}},  {89, {0, 1, 2, 2, 1}, {0, 1, 3, 4, 3}},
        {90, {1, 2, 3, 4, 3}, {0, 2, 3, 4, 3}},  {100, {1, 2, 3, 4, 3}, {0, 2, 3, 4, 3}},
        {103, {1, 2, 3, 4, 3}, {0, 2, 3, 4, 3}}, {110, {1, 2, 3, 4, 3}, {0, 2, 3, 4, 3}},
        {120, {0, 1, 2, 2, 1}, {0, 1, 3, 4, 3}}, {121, {0, 1, 2, 2, 1}, {0, 1, 3, 4, 3}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (gpu_tile tile = 0; tile < GPU_TILE_COUNT; tile++) {
            cr_expect_eq(tort_cuda_resident(rows[i].capability, tile, GPU_MMA_HALF), rows[i].half[tile],
                         "sm_%d, tile %d of halves: %d", (int)rows[i].capability, (int)tile,
                         (int)tort_cuda_resident(rows[i].capability, tile, GPU_MMA_HALF));
            cr_expect_eq(tort_cuda_resident(rows[i].capability, tile, GPU_FMA), rows[i].single[tile],
                         "sm_%d, tile %d of floats: %d", (int)rows[i].capability, (int)tile,
                         (int)tort_cuda_resident(rows[i].capability, tile, GPU_FMA));
        }
}

/* Slow tensor cores and little shared memory: the choice on an RTX 4090 is another one than on an H100 where that
 * matters, and the same number of multiprocessors alone does not decide. */
Test(cuda_tiling, the_architecture_counts) {
    int differ = 0;
    for (size_t i = 0; i < sizeof resnet50 / sizeof *resnet50; i++) {
        const gpu_tiling a = tiling_of(&resnet50[i], (gpu_board){.capability = 90, .multiprocessors = 128},
                                       GPU_MMA_HALF),
                         b = tiling_of(&resnet50[i], (gpu_board){.capability = 89, .multiprocessors = 128},
                                       GPU_MMA_HALF);
        differ += a.tile != b.tile || a.parts != b.parts;
    }
    cr_expect(differ > 0);
}
