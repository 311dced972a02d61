/* product.c - matrix products of whole tensors on all threads.
 *
 * Each thread gets whole batches if there are enough, else its share of the rows or columns of every product. A
 * single row multiplies an unpacked B directly: packing would not pay. Read next: packed_gemm.h. */
#include "kernels/cpu/product.h"

tort_status tort_product_pack_size(const tort_target *target, int64_t n, int64_t k, size_t *bytes, uint32_t *consumed,
                                   tort_error *error) {
    return tort_cpu_pack_floats(tort_packed_b_size(tort_simd_choose(target->instructions), n, k), bytes, consumed,
                                error);
}

bool tort_product_packs_b(const tort_node_view *node) {
    return node->inputs[1].constant && node->inputs[1].rank == 2;
}

tort_status tort_product_size(const tort_target *target, const tort_node_view *node, size_t *scratch,
                              tort_error *error) {
    return tort_product_reserve(target, tort_product_packs_b(node), scratch, error);
}

tort_status tort_product_reserve(const tort_target *target, bool b_packed, size_t *scratch, tort_error *error) {
    const tort_simd *simd = tort_simd_choose(target->instructions);
    *scratch = 0;
    if (tort_cpu_reserve(scratch, tort_packed_gemm_buffer(simd, false, b_packed) * (size_t)target->threads))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

typedef struct product_job {
    const tort_packed_gemm *gemm;
    const tort_matmul_params *batches; /* NULL: one product */
    float *buffers;
    size_t buffer_bytes;
    int64_t count; /* products */
    int32_t parts;
} product_job;

/* True if the single row of C can be made from unpacked rows of B. C must not be its own residual, which is read
 * last. */
static bool is_row_product(const tort_packed_gemm *g) {
    const bool contiguous = g->a_k_stride == 1 && g->b_column_stride == 1;
    return g->m == 1 && !g->packed_b && contiguous && g->scale == 1 && !g->accumulate && g->residual != g->c;
}

static void multiply_row(const tort_packed_gemm *g, int64_t first, int64_t last) {
    tort_row_product(g->call, g->simd, g->c + first, last - first, g->a, g->k, g->b + first, g->b_k_stride,
                     g->column_bias ? g->column_bias + first : NULL);
    if (g->epilogue) g->simd->finish(g->epilogue, g->residual ? g->residual + first : NULL, g->c + first, last - first);
}

static void multiply_share(const tort_packed_gemm *g, int64_t part, int64_t parts, float *buffer) {
    const int64_t rows = g->simd->tile_rows, columns = g->simd->tile_columns;
    int64_t m_first = 0, m_last = g->m, n_first = 0, n_last = g->n;
    if ((g->m + rows - 1) / rows >= (g->n + columns - 1) / columns)
        tort_cpu_share(g->m, rows, part, parts, &m_first, &m_last);
    else
        tort_cpu_share(g->n, columns, part, parts, &n_first, &n_last);
    if (m_first == m_last || n_first == n_last) return;
    if (is_row_product(g))
        multiply_row(g, n_first, n_last);
    else
        tort_packed_gemm_block(g, m_first, m_last, n_first, n_last, buffer);
}

static void product_part(void *arg, int64_t begin, int64_t end) {
    const product_job *job = arg;
    for (int64_t part = begin; part < end; part++) {
        float *buffer = job->buffers + (size_t)part * job->buffer_bytes / sizeof(float);
        const bool whole = job->count >= job->parts;
        const int64_t work = tort_work(job->gemm->m, job->gemm->n, job->gemm->k);
        int64_t first = 0, last = job->count;
        if (whole) tort_cpu_share(job->count, 1, part, job->parts, &first, &last);
        for (int64_t i = first; i < last && tort_piece_goes_on(job->gemm->call, i - first, work); i++) {
            tort_packed_gemm gemm = *job->gemm;
            if (job->batches) {
                int64_t a, b;
                tort_matmul_offsets(job->batches, i, &a, &b);
                gemm.a += a;
                gemm.b += b;
                gemm.c += i * gemm.m * gemm.n;
                if (gemm.residual) gemm.residual += i * gemm.m * gemm.n;
            }
            multiply_share(&gemm, whole ? 0 : part, whole ? 1 : job->parts, buffer);
        }
    }
}

bool tort_product_is_one(const tort_matmul_params *p) {
    int64_t dense = p->m * p->a_row;
    for (int32_t i = p->batch_rank - 1; i >= 0; i--) {
        if (p->batch_dims[i] != 1 && (p->b_strides[i] != 0 || p->a_strides[i] != dense)) return false;
        dense *= p->batch_dims[i];
    }
    return true;
}

tort_status tort_product_run(const tort_call *call, tort_packed_gemm *gemm, const tort_matmul_params *batches,
                             void *buffers) {
    const tort_cpu_device *device = call->device;
    gemm->call = call;
    gemm->simd = device->simd;
    gemm->packed_b = call->packed;
    gemm->pack_b = tort_pack_b_matrix;
    product_job job = {.gemm = gemm,
                       .batches = batches,
                       .buffers = buffers,
                       .parts = device->threads,
                       .buffer_bytes = tort_packed_gemm_buffer(device->simd, false, gemm->packed_b != NULL),
                       .count = batches ? batches->batches : 1};
    const int64_t small = 32 * 1024; /* multiply-adds that are done before another thread would have started */
    if (gemm->m * gemm->n < small && gemm->m * gemm->n * gemm->k * job.count < small) job.parts = 1;
    tort_cpu_parts(call, job.parts, product_part, &job);
    return TORT_OK;
}
