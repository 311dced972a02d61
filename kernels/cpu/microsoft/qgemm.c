/* qgemm.c - QGemm: a product of bytes, scaled and quantized tile by tile. A constant B is packed ahead.
 *
 * Read next: ops/microsoft/qgemm.h, byte_product.h. */
#include "ops/microsoft/qgemm.h"

#include "kernels/cpu/byte_product.h"

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_qgemm *p = node->params;
    if (tort_has_input(node, TORT_QGEMM_C) && (node->inputs[TORT_QGEMM_C].rank < 0 || p->c_row_stride != 0))
        return tort_no(TORT_NO_SHAPE, "", "is for a C of one number a column, or one");
    return tort_byte_claim(target, node, TORT_QGEMM_A, TORT_QGEMM_B);
}

static bool packs_b(const tort_node_view *node) {
    return node->inputs[TORT_QGEMM_B].constant;
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tort_qgemm *p = node->params;
    if (!packs_b(node)) return TORT_OK;
    return tort_byte_product_pack_size(target, TORT_QGEMM_B, p->n, p->k, bytes, consumed, error);
}

static tort_status prepare(tort_prepare *prepare) {
    const tort_qgemm *p = prepare->node->params;
    if (!prepare->packed) return TORT_OK;
    return tort_byte_product_prepare(prepare, TORT_QGEMM_B, p->b_k_stride, p->b_column_stride, p->n, p->k);
}

/* Reserves the product's buffers, and zero points, factors and biases of columns. */
static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_qgemm *p = node->params;
    *scratch = 0;
    if (tort_byte_product_reserve(target, p->m, p->k, packs_b(node), scratch) &&
        tort_cpu_reserve_floats(scratch, p->n) && tort_cpu_reserve_floats(scratch, p->n) &&
        tort_cpu_reserve_floats(scratch, p->n))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

static tort_status run(const tort_call *call) {
    const tort_qgemm *p = call->params;
    const tort_cpu_device *device = call->device;
    const tort_tensor *c = tort_call_input(call, TORT_QGEMM_C);
    char *scratch = call->scratch;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    const int64_t buffer = tort_byte_gemm_buffer(device->bytes, p->m, p->k, false, call->packed != NULL);
    uint8_t *buffers = tort_cpu_take(&scratch, (size_t)(buffer * device->threads));
    int32_t *zeros = tort_cpu_take(&scratch, (size_t)p->n * sizeof *zeros);
    float *factors = tort_cpu_take(&scratch, (size_t)p->n * sizeof *factors);
    int32_t *bias = tort_cpu_take(&scratch, (size_t)p->n * sizeof *bias);
    tort_byte_gemm gemm = {.m = p->m, .n = p->n, .k = p->k, .column_factors = factors, .y_stride = p->n};
    tort_byte_product_open(call, TORT_QGEMM_A, TORT_QGEMM_B, &gemm);
    gemm.a.line_stride = p->a_row_stride;
    gemm.a.k_stride = p->a_k_stride;
    gemm.b.line_stride = p->b_column_stride;
    gemm.b.k_stride = p->b_k_stride;
    gemm.row_zeros.one = tort_byte_zero(&call->inputs[TORT_QGEMM_A_ZERO], &gemm.a.sign);
    gemm.column_zeros = tort_byte_zeros_of(&call->inputs[TORT_QGEMM_B_ZERO], &gemm.b.sign, p->n, zeros);
    tort_qgemm_factors(call, 0, p->n, factors);
    for (int64_t j = 0; c && j < p->n; j++) bias[j] = ((const int32_t *)c->data)[j * p->c_column_stride];
    gemm.column_bias = c ? bias : NULL;
    tort_byte_product_result(call, tort_call_input(call, TORT_QGEMM_Y_ZERO), &gemm);
    tort_byte_product_run(call, &gemm, NULL, buffers);
    return TORT_OK;
}

const tort_kernel tort_cpu_qgemm[] = {
    {"com.microsoft", "QGemm", "qgemm_packed", .claim = claim, .size = size, .pack.size = pack_size,
     .pack.writes_all = true, .prepare = prepare, .run = run},
    {.op = NULL},
};
