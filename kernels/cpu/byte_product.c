/* byte_product.c - products of whole tensors of 8-bit integers on all threads.
 *
 * Each thread gets whole batches if there are enough, else its share of the rows or columns of every product.
 * Read next: byte_gemm.h. */
#include "kernels/cpu/byte_product.h"

tort_verdict tort_byte_claim(const tort_target *target, const tort_node_view *node, int32_t a, int32_t b) {
    const int32_t inputs[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        const tort_type type = node->inputs[inputs[i]].type;
        if (!tort_is_byte(type))
            return tort_no(TORT_NO_TYPE, "", "is for int8 and uint8, an operand is %s", tort_type_name(type));
    }
    if (!tort_bytes_choose(target->instructions))
        return tort_no(TORT_NO_CAPABILITY, "", "there are no vector loops for this processor");
    return tort_yes();
}

tort_verdict tort_byte_claim_numbers(const tort_node_view *node, int32_t i, const char *name, bool many) {
    if (i < 0 || !tort_has_input(node, i)) return tort_yes();
    const tort_info *info = &node->inputs[i];
    if (info->rank == 0 || (many && info->rank == 1)) return tort_yes();
    for (int32_t d = 0; d < info->rank; d++)
        if (info->dims[d] != 1)
            return tort_no(TORT_NO_SHAPE, "", "is for %s of one element%s", name, many ? ", or a list" : "");
    return info->rank < 0 ? tort_no(TORT_NO_DYNAMIC, "", "the shape of %s is not known", name) : tort_yes();
}

/* ---- a constant B ------------------------------------------------------------------------------------------------ */

tort_status tort_byte_product_pack_size(const tort_target *target, int32_t b, int64_t n, int64_t k, size_t *bytes,
                                        uint32_t *consumed, tort_error *error) {
    const int64_t size = tort_packed_byte_columns_size(tort_bytes_choose(target->instructions), n, k);
    if (size < 0) return tort_out_of_memory(error, SIZE_MAX);
    *bytes = (size_t)size;
    *consumed = 1u << b;
    return TORT_OK;
}

tort_status tort_byte_product_prepare(tort_prepare *prepare, int32_t b, int64_t k_stride, int64_t column_stride,
                                      int64_t n, int64_t k) {
    const tort_cpu_device *device = prepare->device;
    const tort_info *info = &prepare->node->inputs[b];
    if (!info->data) return tort_fail(prepare->error, TORT_E_INTERNAL, "the constant B has no data");
    const tort_byte_matrix matrix = {.data = info->data,
                                     .line_stride = column_stride,
                                     .k_stride = k_stride,
                                     .sign = tort_byte_sign_of(device->bytes, info->type, true)};
    tort_pack_byte_columns(prepare->watch, device->simd, device->bytes, prepare->packed, &matrix, n, k);
    return TORT_OK;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

bool tort_byte_product_reserve(const tort_target *target, int64_t m, int64_t k, bool b_packed, size_t *scratch) {
    const int64_t buffer = tort_byte_gemm_buffer(tort_bytes_choose(target->instructions), m, k, false, b_packed);
    size_t bytes;
    return buffer >= 0 && tort_mul_size((uint64_t)buffer, (uint64_t)target->threads, &bytes) &&
           tort_cpu_reserve(scratch, bytes);
}

void tort_byte_product_open(const tort_call *call, int32_t a, int32_t b, tort_byte_gemm *gemm) {
    const tort_cpu_device *device = call->device;
    gemm->call = call;
    gemm->simd = device->simd;
    gemm->bytes = device->bytes;
    gemm->unsigned_rows = true;
    gemm->products = gemm->k;
    gemm->a.data = call->inputs[a].data;
    gemm->a.sign = tort_byte_sign_of(device->bytes, call->inputs[a].type, false);
    gemm->b.data = call->inputs[b].data;
    gemm->b.sign = tort_byte_sign_of(device->bytes, call->inputs[b].type, true);
    gemm->packed_columns = tort_packed_byte_columns(device->bytes, call->packed, gemm->n, gemm->k);
}

static int32_t zero_at(const tort_tensor *zero, int64_t i, const tort_byte_sign *sign) {
    return (int32_t)tort_cpu_number(zero, i) + sign->shift;
}

int32_t tort_byte_zero(const tort_tensor *zero, const tort_byte_sign *sign) {
    return zero ? zero_at(zero, 0, sign) : sign->shift;
}

tort_byte_zeros tort_byte_zeros_of(const tort_tensor *zero, const tort_byte_sign *sign, int64_t n, int32_t *each) {
    if (!zero || tort_count(zero) == 1) return (tort_byte_zeros){.one = tort_byte_zero(zero, sign)};
    bool same = true;
    for (int64_t j = 0; j < n; j++) {
        each[j] = zero_at(zero, j, sign);
        same = same && each[j] == each[0];
    }
    if (same && n > 0) return (tort_byte_zeros){.one = each[0]};
    return (tort_byte_zeros){.each = each};
}

void tort_byte_product_result(const tort_call *call, const tort_tensor *y_zero, tort_byte_gemm *gemm) {
    const tort_tensor *y = &call->outputs[0];
    static const tort_byte_sign as_it_is = {0};
    gemm->y = y->data;
    gemm->y_type = y->type;
    gemm->result = tort_is_byte(y->type)   ? TORT_BYTES_TO_BYTES
                   : y->type == TORT_FLOAT ? TORT_BYTES_TO_FLOAT
                                           : TORT_BYTES_TO_INT32;
    gemm->y_zero_point = tort_byte_zero(y_zero, &as_it_is);
}

typedef struct product_job {
    const tort_byte_gemm *gemm;
    const tort_matmul_params *batches; /* NULL: one product */
    uint8_t *buffers;
    int64_t buffer_bytes, count; /* count: products */
    int32_t parts;
} product_job;

static void multiply_share(const tort_byte_gemm *g, int64_t part, int64_t parts, uint8_t *buffer) {
    const int64_t rows = g->bytes->tile_rows, columns = g->bytes->tile_columns;
    int64_t m_first = 0, m_last = g->m, n_first = 0, n_last = g->n;
    if ((g->m + rows - 1) / rows >= (g->n + columns - 1) / columns)
        tort_cpu_share(g->m, rows, part, parts, &m_first, &m_last);
    else
        tort_cpu_share(g->n, columns, part, parts, &n_first, &n_last);
    if (m_first < m_last && n_first < n_last) tort_byte_gemm_block(g, m_first, m_last, n_first, n_last, buffer);
}

static void product_part(void *arg, int64_t begin, int64_t end) {
    const product_job *job = arg;
    const int64_t size = job->gemm->result == TORT_BYTES_TO_BYTES ? 1 : 4;
    const int64_t work = tort_work(job->gemm->m, job->gemm->n, job->gemm->k);
    for (int64_t part = begin; part < end; part++) {
        uint8_t *buffer = job->buffers + part * job->buffer_bytes;
        const bool whole = job->count >= job->parts;
        int64_t first = 0, last = job->count;
        if (whole) tort_cpu_share(job->count, 1, part, job->parts, &first, &last);
        for (int64_t i = first; i < last && tort_piece_goes_on(job->gemm->call, i - first, work); i++) {
            tort_byte_gemm gemm = *job->gemm;
            if (job->batches) {
                int64_t a, b;
                tort_matmul_offsets(job->batches, i, &a, &b);
                gemm.a.data += a;
                if (!gemm.packed_columns.panels) gemm.b.data += b;
                gemm.y = (uint8_t *)gemm.y + i * gemm.m * gemm.n * size;
            }
            multiply_share(&gemm, whole ? 0 : part, whole ? 1 : job->parts, buffer);
        }
    }
}

void tort_byte_product_run(const tort_call *call, const tort_byte_gemm *gemm, const tort_matmul_params *batches,
                           uint8_t *buffers) {
    const tort_cpu_device *device = call->device;
    const int64_t small = 128 * 1024; /* multiply-adds that are done before another thread would have started */
    const bool packed = gemm->packed_columns.panels != NULL;
    product_job job = {.gemm = gemm,
                       .batches = batches,
                       .buffers = buffers,
                       .parts = device->threads,
                       .buffer_bytes = tort_byte_gemm_buffer(device->bytes, gemm->m, gemm->k, false, packed),
                       .count = batches ? batches->batches : 1};
    if (gemm->m * gemm->n < small && gemm->m * gemm->n * gemm->k * job.count < small) job.parts = 1;
    tort_cpu_parts(call, job.parts, product_part, &job);
}
