/* einsum.c - Einsum of two float operands as matrix products. Read first: ops/einsum_product.h; next: packed_gemm.h. */
#include "ops/einsum_product.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/packed_gemm.h"
#include "runtime/core/base/memory.h"

#define BLOCK_ROWS 168    /* rows of a block, where columns are not contiguous in the output; whole tiles ... */
#define BLOCK_COLUMNS 128 /* ... of every instruction set */
#define MIN_WORK 256      /* multiplications of one product, below which packing does not pay */

/* ---- claim and size ---------------------------------------------------------------------------------------------- */

static tort_verdict claim_einsum(const tort_target *target, const tort_node_view *node) {
    const tort_einsum_params *p = node->params;
    tort_einsum_product plan;
    const tort_verdict verdict = tort_einsum_claim_product(p);
    if (verdict.code != TORT_YES) return verdict;
    if (!tort_einsum_sums(p)) return tort_no(TORT_NO_ATTR, "", "is for sums of products, nothing is summed up");
    if (!tort_shape_known(&node->inputs[0]) || !tort_shape_known(&node->inputs[1]))
        return tort_cpu_claim_float(target, node);
    tort_einsum_product_of(p, &plan);
    if (p->output.count > 0 && (double)plan.row.size * (double)plan.column.size * (double)plan.depth.size < MIN_WORK)
        return tort_no(TORT_NO_SHAPE, "", "is for larger products than these");
    return tort_cpu_claim_float(target, node);
}

static size_t part_bytes(const tort_simd *simd) {
    return tort_packed_gemm_buffer(simd, false, false) + BLOCK_ROWS * BLOCK_COLUMNS * sizeof(float);
}

static tort_status size_einsum(const tort_target *target, const tort_node_view *node, size_t *scratch,
                               tort_error *error) {
    (void)node;
    if (tort_mul_size(part_bytes(tort_simd_choose(target->instructions)), (uint64_t)target->threads, scratch))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

typedef struct einsum_job {
    const tort_call *call;
    const tort_simd *simd;
    tort_einsum_product plan;
    const float *a, *b;
    float *c;
    int64_t products; /* product of all loops */
    char *scratch;
    int32_t parts;
} einsum_job;

/* One block of one product: rows and columns of the output. */
typedef struct einsum_block {
    const float *a, *b;
    float *c;
    int64_t rows, columns;
    float *buffer;
} einsum_block;

/* Returns the offsets of index number i over all axes. */
static tort_einsum_axis offset_of(const tort_einsum_axes *list, int64_t i) {
    tort_einsum_axis at = {0};
    for (int32_t d = list->count - 1; d >= 0; d--) {
        const tort_einsum_axis *axis = &list->axes[d];
        const int64_t index = i % axis->size;
        i /= axis->size;
        at.a += index * axis->a;
        at.b += index * axis->b;
        at.c += index * axis->c;
    }
    return at;
}

/* Multiplies a single row, if its right operand can be read without packing: it is read only once. */
static bool multiply_row(const einsum_job *job, const einsum_block *block, float *c) {
    const tort_einsum_product *plan = &job->plan;
    if (block->rows > 1 || plan->depth.a != 1 || plan->sums.count > 0) return false;
    if (plan->depth.b == 1)
        tort_row_dots(job->call, job->simd, c, block->columns, block->a, plan->depth.size, block->b, plan->column.b, 1);
    else if (plan->column.b == 1)
        tort_row_product(job->call, job->simd, c, block->columns, block->a, plan->depth.size, block->b, plan->depth.b,
                         NULL);
    return plan->depth.b == 1 || plan->column.b == 1;
}

/* Makes C (rows, columns) with contiguous columns. */
static void multiply(const einsum_job *job, const einsum_block *block, float *c, int64_t c_stride) {
    const tort_einsum_product *plan = &job->plan;
    if (multiply_row(job, block, c)) return;
    tort_packed_gemm gemm = {.call = job->call,
                             .simd = job->simd,
                             .m = block->rows,
                             .n = block->columns,
                             .k = plan->depth.size,
                             .a_row_stride = plan->row.a,
                             .a_k_stride = plan->depth.a,
                             .scale = 1,
                             .pack_b = tort_pack_b_matrix,
                             .b_k_stride = plan->depth.b,
                             .b_column_stride = plan->column.b,
                             .c = c,
                             .c_stride = c_stride};
    const int64_t sums = tort_einsum_count(&plan->sums), work = tort_work(gemm.m, gemm.n, gemm.k);
    for (int64_t i = 0; i < sums && tort_piece_goes_on(job->call, i, work); i++) {
        const tort_einsum_axis at = offset_of(&plan->sums, i);
        gemm.a = block->a + at.a;
        gemm.b = block->b + at.b;
        gemm.accumulate = i > 0;
        tort_packed_gemm_block(&gemm, 0, gemm.m, 0, gemm.n, block->buffer);
    }
}

/* Makes blocks in a buffer and scatters them to the output. */
static void multiply_scattered(const einsum_job *job, const einsum_block *all) {
    const tort_einsum_product *plan = &job->plan;
    float *made = all->buffer + tort_packed_gemm_buffer(job->simd, false, false) / sizeof(float);
    for (int64_t i = 0; i < all->rows; i += BLOCK_ROWS)
        for (int64_t j = 0; j < all->columns; j += BLOCK_COLUMNS) {
            if (!tort_call_goes_on(job->call, 0)) return;
            einsum_block block = {.a = all->a + i * plan->row.a, .b = all->b + j * plan->column.b};
            block.buffer = all->buffer;
            block.rows = all->rows - i < BLOCK_ROWS ? all->rows - i : BLOCK_ROWS;
            block.columns = all->columns - j < BLOCK_COLUMNS ? all->columns - j : BLOCK_COLUMNS;
            multiply(job, &block, made, BLOCK_COLUMNS);
            for (int64_t r = 0; r < block.rows; r++) {
                float *to = all->c + (i + r) * plan->row.c + j * plan->column.c;
                for (int64_t k = 0; k < block.columns; k++) to[k * plan->column.c] = made[r * BLOCK_COLUMNS + k];
            }
        }
}

/* Makes rows first..last of product number i. */
static void make_product(const einsum_job *job, int64_t i, int64_t first, int64_t last, float *buffer) {
    const tort_einsum_product *plan = &job->plan;
    const tort_einsum_axis at = offset_of(&plan->loops, i);
    const einsum_block block = {.a = job->a + at.a + first * plan->row.a,
                                .b = job->b + at.b,
                                .c = job->c + at.c + first * plan->row.c,
                                .rows = last - first,
                                .columns = plan->column.size,
                                .buffer = buffer};
    if (first == last) return;
    if (plan->column.c == 1 || plan->column.size == 1)
        multiply(job, &block, block.c, plan->row.c);
    else
        multiply_scattered(job, &block);
}

/* Makes whole products if there are enough for all parts, else some rows of each. */
static void make_part(void *arg, int64_t begin, int64_t end) {
    const einsum_job *job = arg;
    const int64_t rows = job->plan.row.size;
    const int64_t work =
        tort_work(rows, job->plan.column.size, job->plan.depth.size * tort_einsum_count(&job->plan.sums));
    const bool whole = job->products >= job->parts;
    for (int64_t part = begin; part < end; part++) {
        float *buffer = (float *)(job->scratch + (size_t)part * part_bytes(job->simd));
        int64_t first = 0, last = job->products, row_first = 0, row_last = rows;
        if (whole)
            tort_cpu_share(job->products, 1, part, job->parts, &first, &last);
        else
            tort_cpu_share(rows, BLOCK_ROWS, part, job->parts, &row_first, &row_last);
        for (int64_t i = first; i < last && tort_piece_goes_on(job->call, i - first, work); i++)
            make_product(job, i, row_first, row_last, buffer);
    }
}

static tort_status run_einsum(const tort_call *call) {
    const tort_einsum_params *p = call->params;
    const tort_cpu_device *device = call->device;
    einsum_job job = {.call = call, .simd = device->simd, .c = call->outputs[0].data, .scratch = call->scratch};
    if (p->output.count == 0) return TORT_OK;
    tort_einsum_product_of(p, &job.plan);
    job.a = call->inputs[job.plan.swapped ? 1 : 0].data;
    job.b = call->inputs[job.plan.swapped ? 0 : 1].data;
    job.products = tort_einsum_count(&job.plan.loops);
    const double work = (double)job.products * (double)job.plan.row.size * (double)job.plan.column.size *
                        (double)job.plan.depth.size * (double)tort_einsum_count(&job.plan.sums);
    const double small = 32 * 1024; /* multiply-adds that are done before another thread would have started */
    job.parts = work < small ? 1 : device->threads;
    tort_cpu_parts(call, job.parts, make_part, &job);
    return TORT_OK;
}

const tort_kernel tort_cpu_einsum[] = {
    {"", "Einsum", "einsum_products", .claim = claim_einsum, .size = size_einsum, .run = run_einsum},
    {.op = NULL},
};
