/* qgemm.c - QGemm: alpha * (A * B + C) of 8-bit matrices, whose sums are integers; the result is float, or quantized if
 * the node has a scale for it. Read next: qgemm.h; quantized.h. */
#include "ops/microsoft/qgemm.h"

#include <inttypes.h>

#include "ops/extent.h"
#include "ops/matmul.h"
#include "ops/quantized.h"
#include "ops/shapes.h"

/* ---- infer and resolve ------------------------------------------------------------------------------------------- */

/* Checks that input i has one element, or one per column. */
static tort_status check_columns(const tort_infer *infer, int32_t i, const char *name, tort_dim n) {
    const tort_info *numbers = &infer->node->inputs[i];
    if (!tort_shape_known(numbers) || !tort_dim_known(n)) return TORT_OK;
    const int64_t count = tort_extent(numbers->dims, 0, numbers->rank);
    if (count == 1 || (count == n && numbers->rank == 1)) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "%s has %" PRId64 " elements, expected 1 or %" PRId64, name, count,
                     (int64_t)n);
}

static tort_status check_c(const tort_infer *infer, const tort_dim *dims) {
    const tort_info *c = &infer->node->inputs[TORT_QGEMM_C];
    if (!tort_has_input(infer->node, TORT_QGEMM_C) || c->rank < 0) return TORT_OK;
    if (c->rank > 2) return tort_fail(infer->error, TORT_E_MODEL, "C has rank %d, expected at most 2", (int)c->rank);
    for (int32_t d = 0; d < c->rank; d++) {
        const tort_dim have = c->dims[d], wanted = dims[2 - c->rank + d];
        if (!tort_dim_known(have) || !tort_dim_known(wanted) || have == 1 || have == wanted) continue;
        return tort_fail(infer->error, TORT_E_MODEL,
                         "C has %" PRId64 " elements along dimension %d, expected 1 or %" PRId64, (int64_t)have, (int)d,
                         (int64_t)wanted);
    }
    return TORT_OK;
}

static tort_status check_numbers(const tort_infer *infer, const tort_dim *dims) {
    static const int32_t singles[] = {TORT_QGEMM_A_SCALE, TORT_QGEMM_A_ZERO, TORT_QGEMM_Y_SCALE, TORT_QGEMM_Y_ZERO};
    tort_status status = check_c(infer, dims);
    for (int32_t i = 0; i < 4 && status == TORT_OK; i++)
        status = tort_check_single(infer->node, singles[i], "a scale or zero point", infer->error);
    if (status == TORT_OK) status = check_columns(infer, TORT_QGEMM_B_SCALE, "b_scale", dims[1]);
    return status == TORT_OK ? check_columns(infer, TORT_QGEMM_B_ZERO, "b_zero_point", dims[1]) : status;
}

static tort_status infer_qgemm(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    const tort_info *a = &node->inputs[TORT_QGEMM_A], *b = &node->inputs[TORT_QGEMM_B];
    const int32_t trans_a = tort_attr_int(node, "transA") != 0, trans_b = tort_attr_int(node, "transB") != 0;
    const bool quantized = tort_has_input(node, TORT_QGEMM_Y_ZERO);
    if (tort_has_input(node, TORT_QGEMM_Y_SCALE) != quantized)
        return tort_fail(infer->error, TORT_E_MODEL, "expected both y_scale and y_zero_point, or neither");
    infer->outputs[0].type = quantized ? node->inputs[TORT_QGEMM_Y_ZERO].type : TORT_FLOAT;
    if ((a->rank >= 0 && a->rank != 2) || (b->rank >= 0 && b->rank != 2))
        return tort_fail(infer->error, TORT_E_MODEL, "A has rank %d and B rank %d, expected 2", (int)a->rank,
                         (int)b->rank);
    tort_dim dims[2], k;
    dims[0] = a->rank == 2 ? a->dims[trans_a] : tort_dim_fresh(infer->dims, true);
    dims[1] = b->rank == 2 ? b->dims[!trans_b] : tort_dim_fresh(infer->dims, true);
    tort_status status = TORT_OK;
    if (a->rank == 2 && b->rank == 2)
        status = tort_dim_unify(infer->error, !trans_a, a->dims[!trans_a], b->dims[trans_b], &k);
    if (status == TORT_OK) status = check_numbers(infer, dims);
    if (status == TORT_OK) tort_infer_shape(infer, 0, infer->outputs[0].type, 2, dims);
    return status;
}

static tort_status resolve_qgemm(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    const tort_info *a = &node->inputs[TORT_QGEMM_A], *b = &node->inputs[TORT_QGEMM_B];
    const bool trans_a = tort_attr_int(node, "transA") != 0;
    tort_qgemm *p = resolve->params;
    p->trans_b = tort_attr_int(node, "transB") != 0;
    p->alpha = tort_attr_float(node, "alpha");
    p->m = tort_known_dim(a, trans_a);
    p->k = tort_known_dim(a, !trans_a);
    p->n = tort_known_dim(b, !p->trans_b);
    if (p->k < 0) p->k = tort_known_dim(b, p->trans_b);
    p->a_row_stride = trans_a ? 1 : p->k;
    p->a_k_stride = trans_a ? p->m : 1;
    p->b_k_stride = p->trans_b ? 1 : p->n;
    p->b_column_stride = p->trans_b ? p->k : 1;
    if (tort_has_input(node, TORT_QGEMM_C)) {
        const tort_info *c = &node->inputs[TORT_QGEMM_C];
        const int64_t columns = c->rank < 1 ? 1 : tort_known_dim(c, c->rank - 1);
        p->c_column_stride = columns != 1;
        p->c_row_stride = c->rank == 2 && tort_known_dim(c, 0) != 1 ? columns : 0;
    }
    if (tort_operands_scratch(a, b, &resolve->scratch_bytes)) return TORT_OK;
    return tort_out_of_memory(resolve->error, SIZE_MAX);
}

/* ---- shared with kernels ----------------------------------------------------------------------------------------- */

void tort_qgemm_widen(const tort_call *call, float *a, float *b) {
    const tort_qgemm *p = call->params;
    const tort_tensor *in = call->inputs;
    tort_tensor zero;
    tort_subtract_zero_point(call, &in[TORT_QGEMM_A], tort_optional_input(call, TORT_QGEMM_A_ZERO, 0, &zero), a);
    if (!b) return;
    const int32_t trailing = p->trans_b && in[TORT_QGEMM_B_ZERO].rank == 1; /* one zero point per row of B as stored */
    tort_subtract_zero_point(call, &in[TORT_QGEMM_B], tort_optional_input(call, TORT_QGEMM_B_ZERO, trailing, &zero), b);
}

void tort_qgemm_factors(const tort_call *call, int64_t first, int64_t count, float *factors) {
    const tort_qgemm *p = call->params;
    const tort_tensor *in = call->inputs, *y_scale = tort_call_input(call, TORT_QGEMM_Y_SCALE);
    const int64_t scales = tort_count(&in[TORT_QGEMM_B_SCALE]);
    const float *b_scale = in[TORT_QGEMM_B_SCALE].data, a_scale = *(const float *)in[TORT_QGEMM_A_SCALE].data;
    const float divisor = y_scale ? *(const float *)y_scale->data : 1;
    for (int64_t j = 0; j < count; j++) factors[j] = p->alpha * a_scale * b_scale[scales > 1 ? first + j : 0] / divisor;
}

/* ---- reference --------------------------------------------------------------------------------------------------- */

typedef struct qgemm_job {
    const tort_call *call;
    const tort_qgemm *params;
    const float *a, *b;
    float y_zero_point;
} qgemm_job;

/* Stores elements first .. first+count-1 of row `row`. */
static void finish(const qgemm_job *job, int64_t row, int64_t first, int64_t count, double *sums) {
    const tort_qgemm *p = job->params;
    const tort_tensor *c = tort_call_input(job->call, TORT_QGEMM_C), *y = &job->call->outputs[0];
    float factor[TORT_BLOCK], zero_point[TORT_BLOCK];
    tort_qgemm_factors(job->call, first, count, factor);
    for (int64_t j = 0; j < count; j++) {
        if (c) {
            const int64_t at = row * p->c_row_stride + (first + j) * p->c_column_stride;
            sums[j] += ((const int32_t *)c->data)[at];
        }
        zero_point[j] = job->y_zero_point;
    }
    if (tort_call_input(job->call, TORT_QGEMM_Y_SCALE)) {
        tort_requantize(y, row * p->n + first, count, sums, factor, zero_point);
        return;
    }
    for (int64_t j = 0; j < count; j++) sums[j] *= (double)factor[j];
    tort_store_doubles(y->type, y->data, row * p->n + first, count, sums);
}

static void multiply_rows(void *arg, int64_t begin, int64_t end) {
    const qgemm_job *job = arg;
    const tort_qgemm *p = job->params;
    double sums[TORT_BLOCK];
    for (int64_t row = begin; row < end; row++)
        for (int64_t first = 0; first < p->n; first += TORT_BLOCK) {
            const int64_t count = tort_block_count(p->n, first);
            const tort_product_row r = {.watch = job->call->watch,
                                        .a = job->a,
                                        .b = job->b,
                                        .k = p->k,
                                        .a_first = row * p->a_row_stride,
                                        .a_step = p->a_k_stride,
                                        .b_first = first * p->b_column_stride,
                                        .b_row_step = p->b_k_stride,
                                        .b_column_step = p->b_column_stride};
            tort_product_floats(TORT_FLOAT, &r, count, sums);
            finish(job, row, first, count, sums);
        }
}

static tort_status run_qgemm(const tort_call *call) {
    const tort_qgemm *p = call->params;
    const tort_tensor *zero = tort_call_input(call, TORT_QGEMM_Y_ZERO);
    float *a = call->scratch, *b = a + p->m * p->k;
    qgemm_job job = {.call = call, .params = p, .a = a, .b = b};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    tort_qgemm_widen(call, a, b);
    if (zero) tort_load_floats(zero->type, zero->data, 0, 1, &job.y_zero_point);
    tort_parallel(call, p->m, p->n * p->k, multiply_rows, &job);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_op tort_ops_qgemm[] = {
    {"com.microsoft", "QGemm", 1, 1,
     "A:TA a_scale:T a_zero_point:TA B:TB b_scale:T b_zero_point:TB C?:TC y_scale?:T y_zero_point?:TYZ", "Y:TY",
     "T=float TA=uint8|int8 TB=uint8|int8 TC=int32 TYZ=uint8|int8 TY=float|uint8|int8",
     "alpha:float=1.0 transA:int=0 transB:int=0", .params_size = sizeof(tort_qgemm), infer_qgemm, resolve_qgemm,
     run_qgemm},
    {0},
};
