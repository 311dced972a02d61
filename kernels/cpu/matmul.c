/* matmul.c - MatMul and the FusedMatMul of tinyort and com.microsoft in fp32: a constant B is packed ahead, other
 * operands during the run.
 *
 * One B for all batches gives a single product of all rows of A; otherwise each batch is a product, and threads get
 * whole batches if there are enough. Cost: batches * m * n * k multiply-adds.
 * Example: (8, 128, 768) by (768, 768) is one product of 1024 rows, so B is read once instead of 8 times.
 * Read next: packed_gemm.h, gemm.c. */
#include "ops/matmul.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/packed_gemm.h"
#include "kernels/cpu/product.h"

#include <string.h>

static tort_status pack_size_matmul(const tort_target *target, const tort_node_view *node, size_t *bytes,
                                    uint32_t *consumed, tort_error *error) {
    const tort_matmul_params *p = node->params;
    if (!tort_product_packs_b(node)) return TORT_OK;
    return tort_product_pack_size(target, p->n, p->k, bytes, consumed, error);
}

static bool alike(const void *params, const void *others) {
    const tort_matmul_params *a = params, *b = others;
    return a->n == b->n && a->k == b->k && a->b_row == b->b_row && a->b_column == b->b_column &&
           !memcmp(&a->alpha, &b->alpha, sizeof a->alpha);
}

static tort_status prepare_matmul(tort_prepare *prepare) {
    const tort_matmul_params *p = prepare->node->params;
    if (!prepare->packed) return TORT_OK;
    return tort_product_prepare(prepare, p->b_row, p->b_column, p->n, p->k, p->alpha);
}

static tort_status run_matmul(const tort_call *call) {
    const tort_matmul_params *p = call->params;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    tort_packed_gemm gemm = {.m = p->m,
                             .n = p->n,
                             .k = p->k,
                             .a = call->inputs[0].data,
                             .a_row_stride = p->a_row,
                             .a_k_stride = p->a_column,
                             .scale = call->packed ? 1 : p->alpha,
                             .b = call->inputs[1].data,
                             .b_k_stride = p->b_row,
                             .b_column_stride = p->b_column,
                             .c = call->outputs[0].data,
                             .c_stride = p->n,
                             .epilogue = tort_cpu_epilogue(&p->epilogue),
                             .residual = tort_cpu_residual(call, &p->epilogue)};
    const tort_tensor *bias = tort_call_input(call, 2);
    const bool one = tort_product_is_one(p);
    if (bias) gemm.column_bias = bias->data;
    if (one) gemm.m *= p->batches;
    return tort_product_run(call, &gemm, one ? NULL : p, call->scratch);
}

#define ROW(domain_, op_, in_place_)                                                                                   \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "matmul_packed", .claim = tort_cpu_claim_float,                          \
        .size = tort_product_size, .pack.size = pack_size_matmul, .pack.alike = alike, .pack.in_parts = 1u << 1,       \
        .pack.writes_all = true, .prepare = prepare_matmul, .run = run_matmul, .in_place = in_place_                   \
    }

const tort_kernel tort_cpu_matmul[] = {
    ROW("", "MatMul", 0),
    ROW("tinyort", "FusedMatMul", 1u << TORT_EPILOGUE_Z),
    ROW("com.microsoft", "FusedMatMul", 0),
    ROW("com.microsoft", "FusedMatMulActivation", 0),
    ROW("com.microsoft", "GemmFastGelu", 0),
    ROW("com.microsoft", "TransposeMatMul", 0),
    {.op = NULL},
};
