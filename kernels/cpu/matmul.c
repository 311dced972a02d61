/* matmul.c - MatMul in fp32: a constant B is packed ahead, anything else on the way.
 *
 * One B for all batches makes a single product of all rows of A; else batches are products of their own, shared out to
 * the threads whole where there are enough of them. Read next: packed_gemm.h, gemm.c. */
#include "ops/matmul.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/packed_gemm.h"
#include "kernels/cpu/product.h"

static tort_verdict claim_matmul(const tort_target *target, const tort_node_view *node) {
    return tort_cpu_claim_float(target, node);
}

/* A constant B of rank 2 is one matrix for all batches. */
static bool packs_b(const tort_node_view *node) {
    return node->inputs[1].constant && node->inputs[1].rank == 2;
}

static tort_status prepare_matmul(tort_prepare *prepare) {
    const tort_info *b = &prepare->node->inputs[1];
    if (!packs_b(prepare->node)) return TORT_OK;
    if (!b->data) return tort_fail(prepare->error, TORT_E_INTERNAL, "the constant B has no data");
    return tort_product_prepare(prepare, b->data, b->dims[1], 1, b->dims[1], b->dims[0], 1);
}

static tort_status size_matmul(const tort_target *target, const tort_node_view *node, size_t *scratch,
                               tort_error *error) {
    return tort_product_size(target, packs_b(node), scratch, error);
}

/* The rows of A of all batches lie together, and every batch has the same B. */
static bool one_product(const tort_matmul_params *p) {
    int64_t dense = p->m * p->k;
    for (int32_t i = p->batch_rank - 1; i >= 0; i--) {
        if (p->batch_dims[i] != 1 && (p->b_strides[i] != 0 || p->a_strides[i] != dense)) return false;
        dense *= p->batch_dims[i];
    }
    return true;
}

static tort_status run_matmul(const tort_call *call) {
    const tort_matmul_params *p = call->params;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    tort_packed_gemm gemm = {.m = p->m,
                             .n = p->n,
                             .k = p->k,
                             .a = call->inputs[0].data,
                             .a_row_stride = p->k,
                             .a_k_stride = 1,
                             .scale = 1,
                             .b = call->inputs[1].data,
                             .b_k_stride = p->n,
                             .b_column_stride = 1,
                             .c = call->outputs[0].data,
                             .c_stride = p->n};
    if (one_product(p)) {
        gemm.m *= p->batches;
        return tort_product_run(call, &gemm, NULL);
    }
    return tort_product_run(call, &gemm, p);
}

const tort_kernel tort_cpu_matmul[] = {
    {.domain = "",
     .op = "MatMul",
     .name = "matmul_packed",
     .claim = claim_matmul,
     .size = size_matmul,
     .prepare = prepare_matmul,
     .run = run_matmul,
     .release = tort_cpu_packed_release},
    {.op = NULL},
};
