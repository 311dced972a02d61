/* qgemm.c - QGemm: exact sums by the float product, as in qlinear_matmul.c, then scales.
 *
 * A constant B is packed ahead, less its zero points. Read next: ops/microsoft/qgemm.h, packed_gemm.h. */
#include "ops/microsoft/qgemm.h"

#include "kernels/cpu/product.h"
#include "kernels/cpu/quantized.h"
#include "ops/quantized.h"

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    (void)node;
    return tort_cpu_claim_processor(target);
}

static bool packs_b(const tort_node_view *node) {
    return node->inputs[TORT_QGEMM_B].constant && node->inputs[TORT_QGEMM_B_ZERO].constant;
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tort_qgemm *p = node->params;
    if (!packs_b(node)) return TORT_OK;
    tort_status status = tort_product_pack_size(target, p->n, p->k, bytes, consumed, error);
    *consumed = 1u << TORT_QGEMM_B;
    return status;
}

static tort_status prepare(tort_prepare *prepare) {
    const tort_cpu_device *device = prepare->device;
    const tort_qgemm *p = prepare->node->params;
    size_t bytes;
    float *floats;
    if (!prepare->packed) return TORT_OK;
    tort_status status =
        tort_cpu_widen(prepare, TORT_QGEMM_B, TORT_QGEMM_B_ZERO, p->trans_b ? p->k : 1, &floats, &bytes);
    if (status) return status;
    tort_pack_b(device->simd, prepare->packed, floats, p->b_k_stride, p->b_column_stride, p->n, p->k, 1);
    tort_free(prepare->env, floats, bytes);
    return TORT_OK;
}

/* The buffers of the product, the sums, the factors of columns, A and B as floats. */
static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_qgemm *p = node->params;
    size_t operands;
    int64_t count;
    tort_status status = tort_product_size(target, packs_b(node), scratch, error);
    if (status) return status;
    if (!__builtin_mul_overflow(p->m, p->n, &count) && tort_cpu_reserve_floats(scratch, count) &&
        tort_cpu_reserve_floats(scratch, p->n) &&
        tort_operands_scratch(&node->inputs[TORT_QGEMM_A], &node->inputs[TORT_QGEMM_B], &operands) &&
        tort_cpu_reserve(scratch, operands))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

typedef struct finish_job {
    const tort_call *call;
    const float *factors;
    int32_t *sums;
    const tort_tensor *c;         /* NULL: none */
    tort_requantized requantized; /* of a quantized Y */
} finish_job;

static void finish_rows(void *arg, int64_t begin, int64_t end) {
    const finish_job *job = arg;
    const tort_qgemm *p = job->call->params;
    const tort_cpu_device *device = job->call->device;
    const tort_tensor *y = &job->call->outputs[0];
    for (int64_t row = begin; row < end; row++) {
        int32_t *sums = job->sums + row * p->n;
        const int32_t *c = job->c ? (const int32_t *)job->c->data + row * p->c_row_stride : NULL;
        for (int64_t j = 0; c && j < p->n; j++)
            sums[j] = (int32_t)((uint32_t)sums[j] + (uint32_t)c[j * p->c_column_stride]);
        if (y->type != TORT_FLOAT) {
            device->simd->requantize(&job->requantized, sums, (uint8_t *)y->data + row * p->n, p->n);
            continue;
        }
        float *out = (float *)y->data + row * p->n;
        for (int64_t j = 0; j < p->n; j++) out[j] = (float)sums[j] * job->factors[j];
    }
}

static tort_status run(const tort_call *call) {
    const tort_qgemm *p = call->params;
    const tort_cpu_device *device = call->device;
    const tort_tensor *zero = tort_call_input(call, TORT_QGEMM_Y_ZERO);
    char *scratch = call->scratch;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    const size_t buffer = tort_packed_gemm_buffer(device->simd, false, call->packed != NULL);
    void *buffers = tort_cpu_take(&scratch, buffer * (size_t)device->threads);
    int32_t *sums = tort_cpu_take(&scratch, (size_t)(p->m * p->n) * sizeof *sums);
    float *factors = tort_cpu_take(&scratch, (size_t)p->n * sizeof *factors);
    float *a = (float *)(void *)scratch, *b = a + p->m * p->k;
    tort_qgemm_widen(call, a, call->packed ? NULL : b);
    tort_packed_gemm gemm = {.m = p->m,
                             .n = p->n,
                             .k = p->k,
                             .a = a,
                             .a_row_stride = p->a_row_stride,
                             .a_k_stride = p->a_k_stride,
                             .scale = 1,
                             .b = b,
                             .b_k_stride = p->b_k_stride,
                             .b_column_stride = p->b_column_stride,
                             .c_stride = p->n,
                             .sums = sums};
    tort_status status = tort_product_run(call, &gemm, NULL, buffers);
    if (status) return status;
    finish_job job = {.call = call, .factors = factors, .sums = sums, .c = tort_call_input(call, TORT_QGEMM_C)};
    float y_zero_point = 0;
    if (zero) tort_load_floats(zero->type, zero->data, 0, 1, &y_zero_point);
    tort_qgemm_factors(call, factors);
    job.requantized = tort_cpu_requantized(call, y_zero_point);
    job.requantized.factors = factors;
    tort_parallel(call, p->m, 4 * p->n, finish_rows, &job);
    return TORT_OK;
}

const tort_kernel tort_cpu_qgemm[] = {
    {.domain = "com.microsoft",
     .op = "QGemm",
     .name = "qgemm_packed",
     .claim = claim,
     .size = size,
     .pack_size = pack_size,
     .prepare = prepare,
     .run = run},
    {.op = NULL},
};
