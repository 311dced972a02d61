/* matmul.c - MatMul, every version: numpy's matmul of two tensors of rank 1 and more. And FusedMatMul of tinyort, which
 * adds a bias to every row and Z to the result, and applies an activation. com.microsoft's FusedMatMul, once
 * TransposeMatMul, is something else: alpha times MatMul of transposed operands. JoinedMatMul is several products of
 * one A.
 *
 * Floats sum in double and round once; integers wrap as the type does. Read next: matmul.h, gemm.c,
 * kernels/cpu/matmul.c for the fast form. */
#include "ops/matmul.h"
#include "ops/numeric.h"
#include "ops/shapes.h"
#include "ops/widen.h"

#include <inttypes.h>
#include <string.h>

/* ---- infer and resolve ------------------------------------------------------------------------------------------- */

/* FusedMatMul of com.microsoft permutes the axes of its operands: transA and transB exchange the last two, transBatchA
 * and transBatchB then bring the first axis of the tensor behind its batch. Returns the axis of the tensor that the
 * product sees as axis i. A vector stays as it is. */
static int32_t axis_of(const tort_node_view *node, int32_t input, int32_t i) {
    const int32_t rank = node->inputs[input].rank;
    if (rank < 2) return i;
    if (tort_attr_int(node, input ? "transB" : "transA") && i >= rank - 2) i = 2 * rank - 3 - i;
    if (!tort_attr_int(node, input ? "transBatchB" : "transBatchA") || i == rank - 1) return i;
    return i == rank - 2 ? 0 : i + 1;
}

/* Type and shape of an operand with its axes permuted. */
static tort_info seen(const tort_node_view *node, int32_t input) {
    tort_info info = node->inputs[input];
    for (int32_t i = 0; i < info.rank; i++) info.dims[i] = node->inputs[input].dims[axis_of(node, input, i)];
    info.elements = NULL;
    info.data = NULL;
    return info;
}

/* Batch dimensions of an operand: its shape without the last two. */
static tort_info batch_of(const tort_info *info) {
    tort_info batch = *info;
    batch.rank = info->rank > 2 ? info->rank - 2 : 0;
    return batch;
}

tort_status tort_infer_matmul(tort_infer *infer) {
    const tort_info a = seen(infer->node, 0), b = seen(infer->node, 1);
    infer->outputs[0].type = a.type;
    if (a.rank == 0 || b.rank == 0)
        return tort_fail(infer->error, TORT_E_MODEL, "%s is a scalar, expected rank 1 or more", a.rank ? "B" : "A");
    if (a.rank < 0 || b.rank < 0) return TORT_OK;
    const tort_dim ka = a.dims[a.rank - 1], kb = b.dims[b.rank == 1 ? 0 : b.rank - 2];
    if (tort_dim_known(ka) && tort_dim_known(kb) && ka != kb)
        return tort_fail(infer->error, TORT_E_MODEL,
                         "A has %" PRId64 " columns, B has %" PRId64 " rows, expected the same", ka, kb);
    const tort_info a_batch = batch_of(&a), b_batch = batch_of(&b);
    tort_info out = a_batch;
    tort_status status = tort_infer_broadcast(infer, &a_batch, &b_batch, &out);
    if (status) return status;
    if (a.rank > 1) out.dims[out.rank++] = a.dims[a.rank - 2];
    if (b.rank > 1) out.dims[out.rank++] = b.dims[b.rank - 1];
    tort_infer_shape(infer, 0, a.type, out.rank, out.dims);
    return TORT_OK;
}

/* Checks that the bias has an element for each column of the product. */
static tort_status check_bias(const tort_infer *infer) {
    if (!tort_has_input(infer->node, 2)) return TORT_OK;
    const tort_info *b = &infer->node->inputs[1], *bias = &infer->node->inputs[2];
    if (bias->rank >= 0 && bias->rank != 1)
        return tort_fail(infer->error, TORT_E_MODEL, "bias has rank %d, expected 1", (int)bias->rank);
    if (bias->rank < 0 || b->rank < 0) return TORT_OK;
    const tort_dim columns = b->rank == 1 ? 1 : b->dims[b->rank - 1];
    if (tort_dim_known(columns) && tort_dim_known(bias->dims[0]) && columns != bias->dims[0])
        return tort_fail(infer->error, TORT_E_MODEL,
                         "bias has %" PRId64 " elements, expected %" PRId64 ", one for each column of B", bias->dims[0],
                         columns);
    return TORT_OK;
}

static tort_status infer_matmul_gelu(tort_infer *infer) {
    tort_status status = tort_infer_matmul(infer);
    return status ? status : check_bias(infer);
}

static tort_status infer_fused_matmul(tort_infer *infer) {
    tort_status status = tort_infer_matmul(infer);
    if (!status) status = check_bias(infer);
    return status ? status : tort_infer_added(infer, TORT_EPILOGUE_Z, "Z");
}

/* Strides of an operand: between rows and columns of its matrices, and along the batch dimensions. False: its shape is
 * not known. */
static bool operand_strides(const tort_node_view *node, int32_t input, const tort_matmul_params *p, int64_t *row,
                            int64_t *column, int64_t *batch) {
    const tort_info *info = &node->inputs[input];
    int64_t strides[TORT_MAX_RANK];
    if (!tort_shape_known(info)) return false;
    tort_strides(info->rank, info->dims, strides);
    const int32_t rank = info->rank, batch_rank = rank > 2 ? rank - 2 : 0;
    *row = rank > 1 ? strides[axis_of(node, input, rank - 2)] : 1;
    *column = rank > 1 ? strides[axis_of(node, input, rank - 1)] : 1;
    for (int32_t i = 0; i < p->batch_rank; i++) {
        const int32_t own = i - (p->batch_rank - batch_rank), axis = own >= 0 ? axis_of(node, input, own) : -1;
        batch[i] = axis < 0 || (info->dims[axis] == 1 && p->batch_dims[i] != 1) ? 0 : strides[axis];
    }
    return true;
}

static void resolve_sizes(const tort_info *a, const tort_info *b, tort_matmul_params *p) {
    p->m = a->rank == 1 ? 1 : tort_known_dim(a, a->rank - 2);
    p->n = b->rank == 1 ? 1 : tort_known_dim(b, b->rank - 1);
    p->k = tort_known_dim(a, a->rank - 1);
    if (p->k < 0) p->k = b->rank == 1 ? tort_known_dim(b, 0) : tort_known_dim(b, b->rank - 2);
}

tort_status tort_resolve_matmul(tort_resolve *resolve) {
    tort_matmul_params *p = resolve->params;
    const tort_node_view *node = resolve->node;
    const tort_info a = seen(node, 0), b = seen(node, 1), *y = &node->outputs[0];
    resolve_sizes(&a, &b, p);
    p->alpha = tort_attr(node, "alpha") ? tort_attr_float(node, "alpha") : 1;
    p->batches = -1;
    if (!tort_type_is_integer(a.type) && !tort_widen_scratch(node, 2, &resolve->scratch_bytes))
        return tort_out_of_memory(resolve->error, SIZE_MAX);
    const bool ranked = a.rank >= 0 && b.rank >= 0 && y->rank >= 0;
    if (ranked) p->batch_rank = y->rank - (a.rank > 1) - (b.rank > 1);
    for (int32_t i = 0; i < p->batch_rank; i++) p->batch_dims[i] = tort_known_dim(y, i);
    const bool a_known = operand_strides(node, 0, p, &p->a_row, &p->a_column, p->a_strides),
               b_known = operand_strides(node, 1, p, &p->b_row, &p->b_column, p->b_strides);
    if (!ranked || !a_known || !b_known || !tort_shape_known(y)) return TORT_OK;
    p->batches = 1;
    for (int32_t i = 0; i < p->batch_rank; i++) p->batches *= p->batch_dims[i];
    return TORT_OK;
}

static tort_status resolve_fused_matmul(tort_resolve *resolve) {
    tort_matmul_params *params = resolve->params;
    tort_status status = tort_resolve_matmul(resolve);
    return status ? status : tort_epilogue_resolve(resolve, &params->epilogue);
}

/* GemmFastGelu: a product of X and W with a bias, then Gelu by tanh. */
static tort_status resolve_matmul_gelu(tort_resolve *resolve) {
    tort_matmul_params *params = resolve->params;
    params->epilogue.activation = TORT_ACTIVATION_GELU_TANH;
    return tort_resolve_matmul(resolve);
}

static tort_status resolve_activated_matmul(tort_resolve *resolve) {
    tort_matmul_params *params = resolve->params;
    tort_status status = tort_resolve_matmul(resolve);
    return status ? status : tort_epilogue_resolve_operator(resolve, &params->epilogue);
}

void tort_matmul_offsets(const tort_matmul_params *params, int64_t batch, int64_t *a, int64_t *b) {
    *a = *b = 0;
    for (int32_t i = params->batch_rank - 1; i >= 0; i--) {
        const int64_t at = batch % params->batch_dims[i];
        batch /= params->batch_dims[i];
        *a += at * params->a_strides[i];
        *b += at * params->b_strides[i];
    }
}

/* ---- rows of products -------------------------------------------------------------------------------------------- */

#define PRODUCT_ROW(T, name)                                                                                           \
    static void product_##name(const tort_product_row *r, int64_t columns, double *acc) {                              \
        const T *a = (const T *)r->a + r->a_first, *b = (const T *)r->b + r->b_first;                                  \
        if (r->b_column_step == 1) {                                                                                   \
            for (int64_t j = 0; j < columns; j++) acc[j] = 0;                                                          \
            for (int64_t k = 0; k < r->k && tort_row_goes_on(r->watch, k * 16); k++) {                                 \
                const double factor = (double)a[k * r->a_step];                                                        \
                for (int64_t j = 0; j < columns; j++) acc[j] += factor * (double)b[k * r->b_row_step + j];             \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t j = 0; j < columns && tort_row_goes_on(r->watch, j * 1024); j++) {                                \
            const T *column = b + j * r->b_column_step;                                                                \
            double sums[4] = {0, 0, 0, 0}; /* four sums, so that additions do not wait for each other */               \
            int64_t k = 0;                                                                                             \
            for (; k + 4 <= r->k && tort_row_goes_on(r->watch, k); k += 4)                                             \
                for (int64_t i = 0; i < 4; i++)                                                                        \
                    sums[i] += (double)a[(k + i) * r->a_step] * (double)column[(k + i) * r->b_row_step];               \
            for (; k < r->k; k++) sums[0] += (double)a[k * r->a_step] * (double)column[k * r->b_row_step];             \
            acc[j] = (sums[0] + sums[1]) + (sums[2] + sums[3]);                                                        \
        }                                                                                                              \
    }
PRODUCT_ROW(float, float)
PRODUCT_ROW(double, double)

void tort_product_floats(tort_type type, const tort_product_row *row, int64_t columns, double *acc) {
    if (type == TORT_DOUBLE)
        product_double(row, columns, acc);
    else
        product_float(row, columns, acc);
}

/* Loads integers that are `step` apart. */
static void load_apart(tort_type type, const void *data, int64_t first, int64_t step, int64_t count, int64_t *values) {
    if (step == 1)
        tort_load_integers(type, data, first, count, values);
    else
        for (int64_t i = 0; i < count; i++) tort_load_integers(type, data, first + i * step, 1, &values[i]);
}

void tort_product_integers(tort_type type, const tort_product_row *r, int64_t columns, uint64_t *acc) {
    int64_t factors[TORT_BLOCK], values[TORT_BLOCK];
    for (int64_t j = 0; j < columns; j++) acc[j] = 0;
    for (int64_t k = 0; k < r->k && tort_row_goes_on(r->watch, k * 16); k += TORT_BLOCK) {
        const int64_t count = tort_block_count(r->k, k), row = r->b_first + k * r->b_row_step;
        load_apart(type, r->a, r->a_first + k * r->a_step, r->a_step, count, factors);
        for (int64_t i = 0; i < count && r->b_column_step == 1; i++) {
            tort_load_integers(type, r->b, row + i * r->b_row_step, columns, values);
            for (int64_t j = 0; j < columns; j++) acc[j] += (uint64_t)factors[i] * (uint64_t)values[j];
        }
        for (int64_t j = 0; j < columns && r->b_column_step != 1; j++) {
            load_apart(type, r->b, row + j * r->b_column_step, r->b_row_step, count, values);
            for (int64_t i = 0; i < count; i++) acc[j] += (uint64_t)factors[i] * (uint64_t)values[i];
        }
    }
}

/* ---- the plain loop ---------------------------------------------------------------------------------------------- */

typedef struct matmul_job {
    const tort_call *call;
    const tort_matmul_params *params;
    const tort_tensor *y;
    tort_type type; /* of data */
    const void *data[2];
} matmul_job;

static void matmul_rows(void *arg, int64_t begin, int64_t end) {
    const matmul_job *job = arg;
    const tort_matmul_params *p = job->params;
    union {
        double floats[TORT_BLOCK];
        uint64_t integers[TORT_BLOCK];
    } acc;
    for (int64_t r = begin; r < end; r++) {
        int64_t a, b;
        tort_matmul_offsets(p, r / p->m, &a, &b);
        for (int64_t first = 0; first < p->n; first += TORT_BLOCK) {
            const int64_t columns = tort_block_count(p->n, first);
            if (!tort_call_goes_on(job->call, 0)) return;
            const tort_product_row row = {.watch = job->call->watch,
                                          .a = job->data[0],
                                          .b = job->data[1],
                                          .k = p->k,
                                          .a_first = a + r % p->m * p->a_row,
                                          .a_step = p->a_column,
                                          .b_first = b + first * p->b_column,
                                          .b_row_step = p->b_row,
                                          .b_column_step = p->b_column};
            if (tort_type_is_integer(job->type)) {
                int64_t out[TORT_BLOCK];
                tort_product_integers(job->type, &row, columns, acc.integers);
                memcpy(out, acc.integers, sizeof out);
                tort_store_integers(job->y->type, job->y->data, r * p->n + first, columns, out);
            } else {
                tort_product_floats(job->type, &row, columns, acc.floats);
                for (int64_t j = 0; j < columns; j++) acc.floats[j] *= (double)p->alpha;
                tort_store_doubles(job->y->type, job->y->data, r * p->n + first, columns, acc.floats);
            }
        }
    }
}

static tort_status run_matmul(const tort_call *call) {
    const tort_matmul_params *p = call->params;
    matmul_job job = {.call = call,
                      .params = p,
                      .y = &call->outputs[0],
                      .type = call->inputs[0].type,
                      .data = {call->inputs[0].data, call->inputs[1].data}};
    if (tort_count(job.y) == 0) return TORT_OK;
    if (!tort_type_is_integer(job.type)) tort_widen_inputs(call, 2, &job.type, job.data);
    tort_parallel(call, p->batches * p->m, p->k * p->n / 2 + 1, matmul_rows, &job);
    return TORT_OK;
}

static tort_status run_fused_matmul(const tort_call *call) {
    const tort_matmul_params *params = call->params;
    tort_status status = run_matmul(call);
    if (!status) tort_epilogue_run(call, &params->epilogue, tort_call_input(call, 2));
    return status;
}

/* ---- JoinedMatMul ------------------------------------------------------------------------------------------------ */

/* Checks that two inputs have one shape, of this rank, as far as shapes are known. */
static tort_status check_alike(const tort_infer *infer, int32_t first, int32_t input, int32_t rank) {
    const tort_info *a = &infer->node->inputs[first], *b = &infer->node->inputs[input];
    bool alike = b->rank < 0 || b->rank == rank;
    for (int32_t i = 0; alike && i < b->rank && i < a->rank; i++)
        alike = !tort_dim_known(a->dims[i]) || !tort_dim_known(b->dims[i]) || a->dims[i] == b->dims[i];
    if (alike) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "input %d is not of the shape of input %d, of rank %d", (int)input,
                     (int)first, (int)rank);
}

static tort_status infer_joined(tort_infer *infer) {
    const int32_t count = infer->node->output_count, inputs = infer->node->input_count;
    if (count < 1 || (inputs != 1 + count && inputs != 1 + 2 * count))
        return tort_fail(infer->error, TORT_E_MODEL, "%d inputs for %d outputs; expected one, and one or two for each",
                         (int)inputs, (int)count);
    tort_status status = tort_infer_matmul(infer);
    for (int32_t i = 1; !status && i <= count; i++) status = check_alike(infer, 1, i, 2);
    for (int32_t i = 1 + count; !status && i < inputs; i++) status = check_alike(infer, 1 + count, i, 1);
    for (int32_t i = 1; !status && i < count; i++) infer->outputs[i] = infer->outputs[0];
    return status;
}

static tort_status resolve_joined(tort_resolve *resolve) {
    tort_joined_matmul_params *p = resolve->params;
    p->count = resolve->node->output_count;
    p->biased = resolve->node->input_count > 1 + p->count;
    for (int32_t i = 0; i < p->count; i++)
        if (!tort_has_output(resolve->node, i))
            return tort_fail(resolve->error, TORT_E_MODEL, "output %d is absent; expected one for each product",
                             (int)i);
    return tort_resolve_matmul(resolve);
}

static tort_status run_joined(const tort_call *call) {
    const tort_joined_matmul_params *p = call->params;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < p->count; i++) {
        const tort_tensor none = {.type = TORT_UNDEFINED};
        const tort_tensor inputs[] = {call->inputs[0], call->inputs[1 + i],
                                      p->biased ? call->inputs[1 + p->count + i] : none};
        tort_call one = *call;
        one.inputs = inputs;
        one.input_count = 3;
        one.outputs = &call->outputs[i];
        one.output_count = 1;
        status = run_fused_matmul(&one); /* params begin with those of a product */
    }
    return status;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define MATMUL(since_, until_, types_)                                                                                 \
    {                                                                                                                  \
        "", "MatMul", since_, until_, "A:T B:T", "Y:T", types_, "", .params_size = sizeof(tort_matmul_params),         \
                                                                    tort_infer_matmul, tort_resolve_matmul, run_matmul \
    }

#define TRANSPOSED(name_, more_)                                                                                       \
    {                                                                                                                  \
        "com.microsoft", name_, 1, 1, "A:T B:T", "Y:T", "T=floats13",                                                  \
            "alpha:float=1.0 transA:int=0 transB:int=0" more_, .params_size = sizeof(tort_matmul_params),              \
                                                               tort_infer_matmul, tort_resolve_matmul, run_matmul      \
    }

const tort_op tort_ops_matmul[] = {
    MATMUL(1, 8, "T=floats"),
    MATMUL(9, 12, "T=high"),
    MATMUL(13, TORT_NEWEST_OPSET, "T=high13"),
    {"tinyort", "FusedMatMul", 1, 1, "A:T B:T bias?:T Z?:T", "Y:T", "T=floats13", TORT_EPILOGUE_ATTRIBUTES,
     .params_size = sizeof(tort_matmul_params), infer_fused_matmul, resolve_fused_matmul, run_fused_matmul},
    {"tinyort", "JoinedMatMul", 1, 1, "X:T operands*:T", "Y*:T", "T=floats13", "",
     .params_size = sizeof(tort_joined_matmul_params), infer_joined, resolve_joined, run_joined},
    TRANSPOSED("FusedMatMul", " transBatchA:int=0 transBatchB:int=0"),
    TRANSPOSED("TransposeMatMul", ""),
    {"com.microsoft", "FusedMatMulActivation", 1, 1, "A:T B:T", "Y:T", "T=floats13",
     "activation:string! activation_alpha:float activation_axis:int activation_beta:float "
     "activation_gamma:float alpha:float=1.0 transA:int=0 transB:int=0 transBatchA:int=0 "
     "transBatchB:int=0",
     .params_size = sizeof(tort_matmul_params), tort_infer_matmul, resolve_activated_matmul, run_fused_matmul},
    {"com.microsoft", "GemmFastGelu", 1, 1, "X:T W:T bias?:T", "Y:T", "T=float|float16|bfloat16", "",
     .params_size = sizeof(tort_matmul_params), infer_matmul_gelu, resolve_matmul_gelu, run_fused_matmul},
    {0},
};
