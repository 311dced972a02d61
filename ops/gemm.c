/* gemm.c - Gemm, every version; before version 7 C broadcasts only with attribute `broadcast`. And FusedGemm: that of
 * tinyort adds Z to the result and applies an activation, that of com.microsoft only applies an activation.
 *
 * Floats sum in double and round once. Integers wrap as the type does; with alpha or beta other than 1 the wrapped
 * product is scaled in double and truncated. Read next: gemm.h, matmul.c, kernels/cpu/gemm.c for the fast form. */
#include "ops/gemm.h"
#include "ops/matmul.h"
#include "ops/numeric.h"
#include "ops/shapes.h"
#include "ops/widen.h"

#include <inttypes.h>

/* ---- infer and resolve ------------------------------------------------------------------------------------------- */

/* Checks that C broadcasts to (m, n); before version 7 it must be (m, n) unless attribute `broadcast` is set. */
static tort_status check_c(const tort_infer *infer, tort_dim m, tort_dim n) {
    const tort_info *c = &infer->node->inputs[2];
    const bool exact = tort_attr(infer->node, "broadcast") && tort_attr_int(infer->node, "broadcast") == 0;
    const tort_dim want[2] = {m, n};
    if (c->rank < 0) return TORT_OK;
    if (c->rank > 2 || (exact && c->rank != 2))
        return tort_fail(infer->error, TORT_E_MODEL, "C has rank %d, expected %s", (int)c->rank,
                         exact ? "2 (attribute broadcast is 0)" : "at most 2");
    for (int32_t i = 0; i < c->rank; i++) {
        const tort_dim have = c->dims[i], expected = want[2 - c->rank + i];
        if (!tort_dim_known(have) || !tort_dim_known(expected) || have == expected || (have == 1 && !exact)) continue;
        return tort_fail(infer->error, TORT_E_MODEL,
                         "C has size %" PRId64 " along axis %d, the product has %" PRId64 " there", have, (int)i,
                         expected);
    }
    return TORT_OK;
}

static tort_status infer_gemm(tort_infer *infer) {
    const tort_info *a = &infer->node->inputs[0], *b = &infer->node->inputs[1];
    const int32_t trans_a = tort_attr_int(infer->node, "transA") != 0,
                  trans_b = tort_attr_int(infer->node, "transB") != 0;
    if ((a->rank >= 0 && a->rank != 2) || (b->rank >= 0 && b->rank != 2))
        return tort_fail(infer->error, TORT_E_MODEL, "A has rank %d and B rank %d, expected 2", (int)a->rank,
                         (int)b->rank);
    tort_dim dims[2];
    dims[0] = a->rank == 2 ? a->dims[trans_a] : tort_dim_fresh(infer->dims, true);
    dims[1] = b->rank == 2 ? b->dims[1 - trans_b] : tort_dim_fresh(infer->dims, true);
    if (a->rank == 2 && b->rank == 2) {
        const tort_dim ka = a->dims[1 - trans_a], kb = b->dims[trans_b];
        if (tort_dim_known(ka) && tort_dim_known(kb) && ka != kb)
            return tort_fail(infer->error, TORT_E_MODEL,
                             "A%s has %" PRId64 " columns, B%s has %" PRId64 " rows, expected the same",
                             trans_a ? " transposed" : "", ka, trans_b ? " transposed" : "", kb);
    }
    tort_status status = tort_has_input(infer->node, 2) ? check_c(infer, dims[0], dims[1]) : TORT_OK;
    if (!status) tort_infer_shape(infer, 0, a->type, 2, dims);
    return status;
}

static tort_status resolve_gemm(tort_resolve *resolve) {
    tort_gemm_params *p = resolve->params;
    const tort_node_view *node = resolve->node;
    p->trans_a = tort_attr_int(node, "transA") != 0;
    p->trans_b = tort_attr_int(node, "transB") != 0;
    p->alpha = tort_attr_float(node, "alpha");
    p->beta = tort_attr_float(node, "beta");
    p->has_c = tort_has_input(node, 2) && p->beta != 0;
    p->m = tort_known_dim(&node->inputs[0], p->trans_a);
    p->k = tort_known_dim(&node->inputs[0], !p->trans_a);
    if (p->k < 0) p->k = tort_known_dim(&node->inputs[1], p->trans_b);
    p->n = tort_known_dim(&node->inputs[1], !p->trans_b);
    if (!tort_type_is_integer(node->inputs[0].type) && !tort_widen_scratch(node, 2, &resolve->scratch_bytes))
        return tort_out_of_memory(resolve->error, SIZE_MAX);
    if (!p->has_c) return TORT_OK;
    const tort_info *c = &node->inputs[2];
    const int64_t columns = c->rank < 1 ? 1 : tort_known_dim(c, c->rank - 1);
    p->c_column_stride = columns != 1;
    p->c_row_stride = c->rank == 2 && tort_known_dim(c, 0) != 1 ? columns : 0;
    return TORT_OK;
}

static tort_status infer_fused_gemm(tort_infer *infer) {
    tort_status status = infer_gemm(infer);
    return status ? status : tort_infer_added(infer, TORT_EPILOGUE_Z, "Z");
}

static tort_status resolve_fused_gemm(tort_resolve *resolve) {
    tort_gemm_params *params = resolve->params;
    tort_status status = resolve_gemm(resolve);
    return status ? status : tort_epilogue_resolve(resolve, &params->epilogue);
}

static tort_status resolve_activated_gemm(tort_resolve *resolve) {
    tort_gemm_params *params = resolve->params;
    tort_status status = resolve_gemm(resolve);
    return status ? status : tort_epilogue_resolve_operator(resolve, &params->epilogue);
}

/* ---- the plain loop ---------------------------------------------------------------------------------------------- */

typedef struct gemm_job {
    const tort_call *call;
    const tort_gemm_params *params;
    const tort_tensor *c, *y; /* c: NULL if absent */
    tort_type type;           /* of data */
    const void *data[2];      /* A, B */
} gemm_job;

/* Stores alpha times `columns` sums of row `row`, plus beta times C. */
static void finish_floats(const gemm_job *job, int64_t row, int64_t first, int64_t columns, double *acc) {
    const tort_gemm_params *p = job->params;
    double c[TORT_BLOCK];
    for (int64_t j = 0; j < columns; j++) acc[j] *= (double)p->alpha;
    if (p->has_c) {
        const int64_t start = row * p->c_row_stride + first * p->c_column_stride;
        tort_load_doubles(job->c->type, job->c->data, start, p->c_column_stride ? columns : 1, c);
        for (int64_t j = 0; j < columns; j++) acc[j] += (double)p->beta * c[j * p->c_column_stride];
    }
    tort_store_doubles(job->y->type, job->y->data, row * p->n + first, columns, acc);
}

static void finish_integers(const gemm_job *job, int64_t row, int64_t first, int64_t columns, const uint64_t *acc) {
    const tort_gemm_params *p = job->params;
    int64_t sums[TORT_BLOCK], c[TORT_BLOCK];
    if (p->has_c) {
        const int64_t start = row * p->c_row_stride + first * p->c_column_stride;
        tort_load_integers(job->c->type, job->c->data, start, p->c_column_stride ? columns : 1, c);
    }
    for (int64_t j = 0; j < columns; j++)
        sums[j] = (int64_t)(acc[j] + (p->has_c ? (uint64_t)c[j * p->c_column_stride] : 0));
    tort_store_integers(job->y->type, job->y->data, row * p->n + first, columns, sums);
}

static void gemm_rows(void *arg, int64_t begin, int64_t end) {
    const gemm_job *job = arg;
    const tort_gemm_params *p = job->params;
    const bool exact = p->alpha == 1 && (!p->has_c || p->beta == 1);
    double floats[TORT_BLOCK];
    uint64_t integers[TORT_BLOCK];
    for (int64_t r = begin; r < end; r++)
        for (int64_t first = 0; first < p->n; first += TORT_BLOCK) {
            const int64_t columns = tort_block_count(p->n, first);
            if (!tort_call_goes_on(job->call, 0)) return;
            const tort_product_row row = {.watch = job->call->watch,
                                          .a = job->data[0],
                                          .b = job->data[1],
                                          .k = p->k,
                                          .a_first = p->trans_a ? r : r * p->k,
                                          .a_step = p->trans_a ? p->m : 1,
                                          .b_first = p->trans_b ? first * p->k : first,
                                          .b_row_step = p->trans_b ? 1 : p->n,
                                          .b_column_step = p->trans_b ? p->k : 1};
            if (!tort_type_is_integer(job->type)) {
                tort_product_floats(job->type, &row, columns, floats);
                finish_floats(job, r, first, columns, floats);
                continue;
            }
            tort_product_integers(job->type, &row, columns, integers);
            if (exact) {
                finish_integers(job, r, first, columns, integers);
                continue;
            }
            int64_t wrapped[TORT_BLOCK]; /* wrapped as a product of the type */
            tort_store_integers(job->type, wrapped, 0, columns, (const int64_t *)integers);
            tort_load_doubles(job->type, wrapped, 0, columns, floats);
            finish_floats(job, r, first, columns, floats);
        }
}

static tort_status run_gemm(const tort_call *call) {
    const tort_gemm_params *p = call->params;
    gemm_job job = {.call = call,
                    .params = p,
                    .y = &call->outputs[0],
                    .type = call->inputs[0].type,
                    .data = {call->inputs[0].data, call->inputs[1].data}};
    if (tort_count(job.y) == 0) return TORT_OK;
    if (p->has_c) job.c = &call->inputs[2];
    if (!tort_type_is_integer(job.type)) tort_widen_inputs(call, 2, &job.type, job.data);
    tort_parallel(call, p->m, p->k * p->n / 2 + 1, gemm_rows, &job);
    return TORT_OK;
}

static tort_status run_fused_gemm(const tort_call *call) {
    const tort_gemm_params *params = call->params;
    tort_status status = run_gemm(call);
    if (!status) tort_epilogue_run(call, &params->epilogue, NULL);
    return status;
}

#define ATTRIBUTES "alpha:float=1.0 beta:float=1.0 transA:int=0 transB:int=0"
#define GEMM(since_, until_, inputs_, types_, attributes_)                                                             \
    {                                                                                                                  \
        "", "Gemm", since_, until_, inputs_, "Y:T", types_, attributes_, .params_size = sizeof(tort_gemm_params),      \
                                                                         infer_gemm, resolve_gemm, run_gemm            \
    }

const tort_op tort_ops_gemm[] = {
    GEMM(1, 5, "A:T B:T C:T", "T=floats", ATTRIBUTES " broadcast:int=0"),
    GEMM(6, 6, "A:T B:T C:T", "T=floats", ATTRIBUTES " broadcast:int=0"),
    GEMM(7, 8, "A:T B:T C:T", "T=floats", ATTRIBUTES),
    GEMM(9, 10, "A:T B:T C:T", "T=high", ATTRIBUTES),
    GEMM(11, 12, "A:T B:T C?:T", "T=high", ATTRIBUTES),
    GEMM(13, TORT_NEWEST_OPSET, "A:T B:T C?:T", "T=high13", ATTRIBUTES),
    {"tinyort", "FusedGemm", 1, 1, "A:T B:T C?:T Z?:T", "Y:T", "T=floats13", ATTRIBUTES " " TORT_EPILOGUE_ATTRIBUTES,
     .params_size = sizeof(tort_gemm_params), infer_fused_gemm, resolve_fused_gemm, run_fused_gemm},
    {"com.microsoft", "FusedGemm", 1, 1, "A:T B:T C?:T", "Y:T", "T=float16|float|double|uint32|uint64|int32|int64",
     ATTRIBUTES " activation:string activation_alpha:float activation_beta:float activation_gamma:float",
     .params_size = sizeof(tort_gemm_params), infer_gemm, resolve_activated_gemm, run_fused_gemm},
    {0},
};
