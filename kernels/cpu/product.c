/* product.c - matrix products of whole tensors on all threads.
 *
 * Each thread gets whole batches if there are enough, else its share of the rows or columns of every product. A single
 * row against a B that is not packed ahead is not worth packing it. Read next: packed_gemm.h. */
#include "kernels/cpu/product.h"

typedef struct packed_matrix {
    size_t bytes;
    float *data;
} packed_matrix;

tort_status tort_product_prepare(tort_prepare *prepare, const float *b, int64_t k_stride, int64_t column_stride,
                                 int64_t n, int64_t k, float scale) {
    const tort_cpu_device *device = prepare->device;
    packed_matrix *made = tort_alloc_zero(prepare->env, 1, sizeof *made);
    if (!made) return tort_out_of_memory(prepare->error, sizeof *made);
    if (!tort_mul_size((size_t)tort_packed_b_size(device->simd, n, k), sizeof(float), &made->bytes) ||
        !(made->data = tort_alloc_aligned(prepare->env, made->bytes))) {
        const size_t bytes = made->bytes;
        tort_free(prepare->env, made, sizeof *made);
        return tort_out_of_memory(prepare->error, bytes);
    }
    tort_pack_b(device->simd, made->data, b, k_stride, column_stride, n, k, scale);
    prepare->prepared = made;
    prepare->bytes = made->bytes;
    prepare->consumed = 1u << 1;
    return TORT_OK;
}

void tort_product_release(void *device, const tort_env *env, void *prepared) {
    packed_matrix *made = prepared;
    (void)device;
    if (!made) return;
    tort_free_aligned(env, made->data, made->bytes);
    tort_free(env, made, sizeof *made);
}

tort_status tort_product_size(const tort_target *target, bool b_packed, size_t *scratch, tort_error *error) {
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

static void multiply_share(const tort_packed_gemm *g, int64_t part, int64_t parts, float *buffer) {
    const int64_t rows = g->simd->tile_rows, columns = g->simd->tile_columns;
    int64_t m_first = 0, m_last = g->m, n_first = 0, n_last = g->n;
    if ((g->m + rows - 1) / rows >= (g->n + columns - 1) / columns)
        tort_cpu_share(g->m, rows, part, parts, &m_first, &m_last);
    else
        tort_cpu_share(g->n, columns, part, parts, &n_first, &n_last);
    if (m_first == m_last || n_first == n_last) return;
    const bool contiguous = g->a_k_stride == 1 && g->b_column_stride == 1;
    if (g->packed_b || g->m > 1 || !contiguous || g->scale != 1 || g->accumulate)
        tort_packed_gemm_block(g, m_first, m_last, n_first, n_last, buffer);
    else
        g->simd->row_product(g->c + n_first, n_last - n_first, g->a, g->k, g->b + n_first, g->b_k_stride,
                             g->column_bias ? g->column_bias + n_first : NULL);
}

static void product_part(void *arg, int64_t begin, int64_t end) {
    const product_job *job = arg;
    for (int64_t part = begin; part < end; part++) {
        float *buffer = job->buffers + (size_t)part * job->buffer_bytes / sizeof(float);
        const bool whole = job->count >= job->parts;
        int64_t first = 0, last = job->count;
        if (whole) tort_cpu_share(job->count, 1, part, job->parts, &first, &last);
        for (int64_t i = first; i < last; i++) {
            tort_packed_gemm gemm = *job->gemm;
            if (job->batches) {
                int64_t a, b;
                tort_matmul_offsets(job->batches, i, &a, &b);
                gemm.a += a;
                gemm.b += b;
                gemm.c += i * gemm.m * gemm.n;
            }
            multiply_share(&gemm, whole ? 0 : part, whole ? 1 : job->parts, buffer);
        }
    }
}

tort_status tort_product_run(const tort_call *call, tort_packed_gemm *gemm, const tort_matmul_params *batches) {
    const tort_cpu_device *device = call->device;
    const packed_matrix *packed = call->prepared;
    gemm->simd = device->simd;
    gemm->packed_b = packed ? packed->data : NULL;
    gemm->pack_b = tort_pack_b_matrix;
    product_job job = {.gemm = gemm,
                       .batches = batches,
                       .buffers = call->scratch,
                       .parts = device->threads,
                       .buffer_bytes = tort_packed_gemm_buffer(device->simd, false, packed != NULL),
                       .count = batches ? batches->batches : 1};
    const int64_t small = 32 * 1024; /* products that are done before another thread would have begun */
    if (gemm->m * gemm->n < small && gemm->m * gemm->n * gemm->k * job.count < small) job.parts = 1;
    tort_cpu_parts(call, job.parts, product_part, &job);
    return TORT_OK;
}
