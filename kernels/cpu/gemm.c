/* gemm.c - Gemm and FusedGemm in fp32: a constant B is packed ahead, times alpha; other operands are packed during
 * the run.
 *
 * If beta is 1 and C is one row, C is the bias of the product; otherwise Y starts as beta * C + Z, and the product
 * is added.
 * Cost: m * n * k multiply-adds, and, for another C, one more pass over Y. Read next: product.h; packed_gemm.c for
 * the algorithm. */
#include "ops/gemm.h"
#include "kernels/cpu/product.h"

#include <string.h>

static tort_status pack_size_gemm(const tort_target *target, const tort_node_view *node, size_t *bytes,
                                  uint32_t *consumed, tort_error *error) {
    const tort_gemm_params *p = node->params;
    const tort_info *b = &node->inputs[1];
    if (!tort_product_packs_b(node)) return TORT_OK;
    return tort_product_pack_size(target, b->dims[!p->trans_b], b->dims[p->trans_b], bytes, consumed, error);
}

static bool alike(const void *params, const void *others) {
    const tort_gemm_params *a = params, *b = others;
    return a->n == b->n && a->k == b->k && a->trans_b == b->trans_b && !memcmp(&a->alpha, &b->alpha, sizeof a->alpha);
}

static tort_status prepare_gemm(tort_prepare *prepare) {
    const tort_gemm_params *p = prepare->node->params;
    const tort_info *b = &prepare->node->inputs[1];
    if (!prepare->packed) return TORT_OK;
    const int64_t width = b->dims[1];
    return tort_product_prepare(prepare, p->trans_b ? 1 : width, p->trans_b ? width : 1, b->dims[!p->trans_b],
                                b->dims[p->trans_b], p->alpha);
}

/* Sets Y to beta * C + residual. residual: NULL, or of the shape of Y. */
static void start_with_c(const tort_call *call, const float *c, const float *residual, float *y) {
    const tort_gemm_params *p = call->params;
    const int64_t work = tort_work(p->n, 16, 1);
    for (int64_t i = 0; i < p->m && tort_piece_goes_on(call, i, work); i++)
        for (int64_t j = 0; j < p->n; j++) {
            const float scaled = p->beta * c[i * p->c_row_stride + j * p->c_column_stride];
            y[i * p->n + j] = scaled + (residual ? residual[i * p->n + j] : 0);
        }
}

static tort_status run_gemm(const tort_call *call) {
    const tort_gemm_params *p = call->params;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    tort_packed_gemm gemm = {.m = p->m,
                             .n = p->n,
                             .k = p->k,
                             .a = call->inputs[0].data,
                             .a_row_stride = p->trans_a ? 1 : p->k,
                             .a_k_stride = p->trans_a ? p->m : 1,
                             .scale = call->packed ? 1 : p->alpha,
                             .b = call->inputs[1].data,
                             .b_k_stride = p->trans_b ? 1 : p->n,
                             .b_column_stride = p->trans_b ? p->k : 1,
                             .c = call->outputs[0].data,
                             .c_stride = p->n,
                             .epilogue = tort_cpu_epilogue(&p->epilogue),
                             .residual = tort_cpu_residual(call, &p->epilogue)};
    if (p->has_c && p->beta == 1 && p->c_row_stride == 0 && p->c_column_stride == 1) {
        gemm.column_bias = call->inputs[2].data;
    } else if (p->has_c) {
        start_with_c(call, call->inputs[2].data, gemm.residual, gemm.c);
        gemm.accumulate = true;
        gemm.residual = NULL;
    }
    return tort_product_run(call, &gemm, NULL, call->scratch);
}

#define ROW(domain_, op_, in_place_)                                                                                   \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "gemm_packed", .claim = tort_cpu_claim_float, .size = tort_product_size, \
        .pack.size = pack_size_gemm, .pack.alike = alike, .pack.in_parts = 1u << 1, .pack.writes_all = true,           \
        .prepare = prepare_gemm, .run = run_gemm, .in_place = in_place_                                                \
    }

const tort_kernel tort_cpu_gemm[] = {
    ROW("", "Gemm", 0),
    ROW("tinyort", "FusedGemm", 1u << TORT_EPILOGUE_Z),
    ROW("com.microsoft", "FusedGemm", 0),
    {.op = NULL},
};
