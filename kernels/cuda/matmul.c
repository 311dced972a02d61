/* matmul.c - rows and claims of MatMul, Gemm and their fused forms: cuBLAS if it is found, else the own tiled
 * kernel.
 *
 * cublasLt does bias, residual, Relu and Gelu by tanh of one product in the same launch (matmul_lt.h). Otherwise cuBLAS
 * adds to the contents of Y: so a Gemm first broadcasts its C over Y, and a fused operator's bias, residual and
 * activation are a launch behind the product (epilogue.h). With tune=on the own kernel serves where it is faster.
 * cuBLAS is column-major: a row-major product Y = A B is to it Y' = B' A', so operands are passed in reverse. */
#include "kernels/cuda/matmul.h"
#include "kernels/cuda/matmul_lt.h"
#include "kernels/cuda/matmul_plain.h"
#include "kernels/cuda/move.h"

#include <limits.h>
#include <string.h>

#include "ops/gemm.h"
#include "ops/matmul.h"

/* True if there is more to do than the product. */
static bool matmul_has_rest(const tort_node_view *node) {
    const tort_matmul_params *params = node->params;
    return tort_has_input(node, 2) || gpu_has_epilogue(&params->epilogue);
}

/* ---- params ------------------------------------------------------------------------------------------------------ */

/* True if the matrices of the whole batch are *stride elements apart. */
static bool even_stride(const gpu_matmul *p, const int64_t *strides, int64_t *stride) {
    int32_t inner = -1; /* the previous axis longer than 1 */
    *stride = 0;
    for (int32_t i = p->batch_rank - 1; i >= 0; i--) {
        if (p->batch_dims[i] == 1) continue;
        if (inner < 0)
            *stride = strides[i];
        else if (strides[i] != strides[inner] * p->batch_dims[inner])
            return false;
        inner = i;
    }
    return true;
}

/* Joins a batch of contiguous A with one B to a single product of all their rows, if cuBLAS can count them. */
static void join_batch(gpu_matmul *p) {
    int64_t a_stride, b_stride;
    if (!even_stride(p, p->a_batch, &a_stride) || !even_stride(p, p->b_batch, &b_stride)) return;
    if (p->a_row != p->k || p->a_column != 1) return;
    if (a_stride != p->m * p->k || b_stride != 0 || p->batches < 1 || p->m > INT_MAX / p->batches) return;
    p->m *= p->batches;
    p->batches = 1;
    p->batch_rank = 0;
}

static gpu_matmul of_matmul(const tort_matmul_params *params) {
    gpu_matmul p = {.m = params->m,
                    .n = params->n,
                    .k = params->k,
                    .batches = params->batches,
                    .a_row = params->a_row,
                    .a_column = params->a_column,
                    .b_row = params->b_row,
                    .b_column = params->b_column,
                    .batch_rank = params->batch_rank,
                    .c_column = 1, /* the bias */
                    .alpha = params->alpha,
                    .beta = 1.0f,
                    .epilogue = params->epilogue};
    memcpy(p.batch_dims, params->batch_dims, sizeof p.batch_dims);
    memcpy(p.a_batch, params->a_strides, sizeof p.a_batch);
    memcpy(p.b_batch, params->b_strides, sizeof p.b_batch);
    join_batch(&p);
    return p;
}

static gpu_matmul of_joined(const tort_joined_matmul_params *params) {
    gpu_matmul p = of_matmul(&params->product);
    const bool known = params->product.m >= 0 && params->product.batches >= 0;
    p.m = known ? params->product.m * params->product.batches : -1; /* W is the same for all rows of X */
    p.a_row = p.k;
    p.a_column = 1;
    p.batch_rank = 0;
    p.batches = params->count;
    return p;
}

static gpu_matmul of_gemm(const tort_gemm_params *params) {
    return (gpu_matmul){.m = params->m,
                        .n = params->n,
                        .k = params->k,
                        .batches = 1,
                        .a_row = params->trans_a ? 1 : params->k,
                        .a_column = params->trans_a ? params->m : 1,
                        .b_row = params->trans_b ? 1 : params->n,
                        .b_column = params->trans_b ? params->k : 1,
                        .c_row = params->c_row_stride,
                        .c_column = params->c_column_stride,
                        .alpha = params->alpha,
                        .beta = params->has_c ? params->beta : 0.0f,
                        .epilogue = params->epilogue};
}

static gpu_tiling tiling_of(const gpu_matmul *p, gpu_board board, gpu_type type) {
    const gpu_unit unit = gpu_unit_of(type);
    const int32_t columns = gpu_few_rows_columns(p, unit == GPU_MMA_HALF ? 2 : 4);
    if (columns)
        return tort_cuda_few_rows_tiling_of(board, unit == GPU_MMA_HALF, columns, p->m, p->n, p->k, p->batches);
    return tort_cuda_tiling_of(board, unit, p->m, p->n, p->k, p->batches);
}

#ifdef CUDA_DEVICE
/* ---- the own kernel ---------------------------------------------------------------------------------------------- */

static tort_status prepare_product(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_matmul(cuda_prepared_type(p)));
}

static tort_status run_product(const tort_call *call, const gpu_matmul *p, const void *c) {
    const cuda_stream *stream = call->stream;
    const gpu_type type = cuda_product_type(call);
    const gpu_tiling tiling = tiling_of(p, stream->device->board, type);
    const gpu_parts parts = {call->scratch, stream->arrivals};
    const gpu_matmul_operands operands = {.a = call->inputs[0].data,
                                          .b = call->inputs[1].data,
                                          .c = c,
                                          .residual = cuda_input(call, TORT_EPILOGUE_Z),
                                          .y = call->outputs[0].data};
    return cuda_launched(call, gpu_run_matmul(cuda_stream_of(call), type, p, &operands, &tiling, &parts));
}

static tort_status run_matmul(const tort_call *call) {
    gpu_matmul p = of_matmul(call->params);
    return run_product(call, &p, cuda_input(call, 2));
}

static tort_status run_joined(const tort_call *call) {
    const tort_joined_matmul_params *params = call->params;
    const cuda_stream *stream = call->stream;
    const gpu_type type = cuda_product_type(call);
    const gpu_matmul p = of_joined(params);
    const gpu_tiling tiling = tiling_of(&p, stream->device->board, type);
    const gpu_parts parts = {call->scratch, stream->arrivals};
    gpu_matmul_operands o = {.a = call->inputs[0].data,
                             .b = call->inputs[1].data,
                             .c = cuda_input(call, 1 + params->count),
                             .y = call->outputs[0].data,
                             .joined = params->count};
    for (int32_t i = 1; i < params->count; i++) {
        o.more_b[i - 1] = call->inputs[1 + i].data;
        o.more_c[i - 1] = cuda_input(call, 1 + params->count + i);
        o.more_y[i - 1] = call->outputs[i].data;
    }
    return cuda_launched(call, gpu_run_matmul(cuda_stream_of(call), type, &p, &o, &tiling, &parts));
}

static const void *c_of(const tort_call *call) {
    const tort_gemm_params *params = call->params;
    return params->has_c ? call->inputs[2].data : NULL;
}

static tort_status run_gemm(const tort_call *call) {
    gpu_matmul p = of_gemm(call->params);
    return run_product(call, &p, c_of(call));
}

/* ---- the own kernel of the other types --------------------------------------------------------------------------- */

static tort_status prepare_plain(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_matmul_plain(gpu_number_of(p->node->inputs[0].type)));
}

static tort_status run_plain(const tort_call *call, const gpu_matmul *p, const void *c) {
    const gpu_matmul_operands operands = {.a = call->inputs[0].data,
                                          .b = call->inputs[1].data,
                                          .c = c,
                                          .residual = cuda_input(call, TORT_EPILOGUE_Z),
                                          .y = call->outputs[0].data};
    return cuda_launched(call,
                         gpu_run_matmul_plain(cuda_stream_of(call), gpu_number_of(call->inputs[0].type), p, &operands));
}

static tort_status run_matmul_plain(const tort_call *call) {
    const gpu_matmul p = of_matmul(call->params);
    return run_plain(call, &p, cuda_input(call, 2));
}

static tort_status run_gemm_plain(const tort_call *call) {
    const gpu_matmul p = of_gemm(call->params);
    return run_plain(call, &p, c_of(call));
}

/* Fits a row of cuBLAS: p is what the library is asked for, whole what the own kernel makes of all at once, which it
 * does without tune=on, too, if `at_once`. */
static tort_status fit_product(tort_fit *fit, const gpu_matmul *p, bool biased, cuda_run *library,
                               const gpu_matmul *whole, cuda_run *own, const char *name, bool at_once) {
    const gpu_board board = tort_cuda_board_of(fit->target);
    const gpu_type type = gpu_product_type_of(board, fit->node->inputs[0].type);
    const bool empty = whole->m <= 0 || whole->n <= 0 || whole->k <= 0 || whole->batches <= 0;
    if (!fit->target->facts[CUDA_TUNE] || fit->stream || empty)
        return at_once ? TORT_OK : tort_cuda_fit_lt(fit, p, biased);
    const tort_status status = cuda_status(fit->error, gpu_load_matmul(type), "loading a kernel");
    if (status) return status;
    return tort_cuda_fit_tuned(fit, p, biased, library, own, name, tiling_of(whole, board, type).scratch, at_once);
}

/* ---- cuBLAS ------------------------------------------------------------------------------------------------------ */

/* Returns the elements from one stored row to the next; for a single row of `length` elements that is `length`. */
static int64_t stored_row(int64_t row, int64_t column, int64_t length) {
    if (column != 1) return column;
    return row > length ? row : length;
}

/* Calls cuBLAS for one product, or a batch of them at even distances. The contents of Y are added, times `keep`. */
static tort_status call_cublas(const tort_call *call, const gpu_matmul *p, float keep, const void *a, const void *b,
                               void *y, int64_t batches, int64_t a_stride, int64_t b_stride) {
    cuda_stream *stream = call->stream;
    const cublas_functions *cublas = &stream->device->libraries.cublas;
    const cudaDataType type = cublas_data(call->inputs[0].type);
    const cublasComputeType_t compute = cublas_compute(stream->device, call->inputs[0].type);
    bool b_transposed = p->b_column != 1, a_transposed = p->a_column != 1;
    const int64_t a_length = stored_row(p->a_row, p->a_column, p->k),
                  b_length = stored_row(p->b_row, p->b_column, p->n);
    stream->launches++;
    cublasStatus_t code = cublas->cublasGemmStridedBatchedEx(
        stream->blas, b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, (int)p->n,
        (int)p->m, (int)p->k, &p->alpha, b, type, (int)b_length, b_stride, a, type, (int)a_length, a_stride, &keep, y,
        type, (int)p->n, p->m * p->n, (int)batches, compute, CUBLAS_GEMM_DEFAULT);
    if (code == CUBLAS_STATUS_SUCCESS) return TORT_OK;
    return cuda_library_failed(call->error, stream, "cuBLAS", cublas->cublasGetStatusString(code));
}

/* Applies the rest of a fused operator to all rows of Y. c: NULL if absent. */
static tort_status run_rest(const tort_call *call, const gpu_matmul *p, const void *c) {
    const int64_t dims[] = {p->batches * p->m, p->n}, strides[] = {p->c_row, p->c_column};
    return tort_cuda_run_epilogue(call, &p->epilogue, c, p->beta, 2, dims, strides);
}

/* Loads the epilogue if needed, and the own kernel if k is 0 or not known yet. */
static tort_status prepare_matmul_cublas(tort_prepare *p) {
    const tort_matmul_params *params = p->node->params;
    tort_status status = matmul_has_rest(p->node) ? tort_cuda_prepare_epilogue(p) : TORT_OK;
    return status || params->k > 0 ? status : prepare_product(p);
}

static tort_status multiply_batch(const tort_call *call, const gpu_matmul *p) {
    const char *a = call->inputs[0].data, *b = call->inputs[1].data;
    char *y = call->outputs[0].data;
    int64_t a_stride, b_stride, bytes = cuda_element_bytes(call->inputs[0].type);
    if (even_stride(p, p->a_batch, &a_stride) && even_stride(p, p->b_batch, &b_stride))
        return call_cublas(call, p, 0, a, b, y, p->batches, a_stride, b_stride);
    tort_status status = TORT_OK;
    for (int64_t i = 0; !status && i < p->batches; i++) {
        int64_t a_first, b_first;
        tort_matmul_offsets(call->params, i, &a_first, &b_first);
        status =
            call_cublas(call, p, 0, a + a_first * bytes, b + b_first * bytes, y + i * p->m * p->n * bytes, 1, 0, 0);
    }
    return status;
}

static tort_status run_matmul_cublas(const tort_call *call) {
    const gpu_matmul p = of_matmul(call->params);
    const void *bias = cuda_input(call, 2);
    if (tort_cuda_chose_own(call)) return run_matmul(call);
    if (tort_cuda_has_lt(call)) return tort_cuda_run_lt(call, &p);
    if (!p.m || !p.n || !p.batches) return TORT_OK;
    if (!p.k) return run_product(call, &p, bias); /* an empty sum is zero: the own kernel writes it */
    tort_status status = multiply_batch(call, &p);
    if (status || !(bias || gpu_has_epilogue(&p.epilogue))) return status;
    return run_rest(call, &p, bias);
}

static tort_status fit_matmul_cublas(tort_fit *fit) {
    const gpu_matmul p = of_matmul(fit->node->params);
    const bool biased = tort_has_input(fit->node, 2);
    return fit_product(fit, &p, biased, run_matmul_cublas, &p, run_matmul, "matmul_tiled", false);
}

/* True if a product of these sizes alone has too few tiles for all multiprocessors. */
static bool leaves_some_idle(gpu_matmul p, gpu_board board, gpu_type type) {
    p.batches = 1;
    const gpu_tiling tiling = tiling_of(&p, board, type);
    return tiling.tiles < board.multiprocessors;
}

/* True if several products of one X should be one launch of the own kernel; if each is large enough for the whole
 * device, cuBLAS makes them one by one. */
static bool joined_at_once(const tort_joined_matmul_params *params, gpu_board board, tort_type type) {
    return leaves_some_idle(of_joined(params), board, gpu_product_type_of(board, type));
}

static tort_status prepare_joined_cublas(tort_prepare *p) {
    const tort_status status = tort_cuda_prepare_epilogue(p);
    return status ? status : prepare_product(p);
}

static tort_status run_joined_cublas(const tort_call *call) {
    const tort_joined_matmul_params *params = call->params;
    const cuda_stream *stream = call->stream;
    tort_status status = TORT_OK;
    if (tort_cuda_chose_own(call) ||
        (!call->fitted && joined_at_once(params, stream->device->board, call->inputs[0].type)))
        return run_joined(call);
    for (int32_t i = 0; !status && i < params->count; i++) {
        const tort_tensor none = {.type = TORT_UNDEFINED};
        const tort_tensor inputs[] = {call->inputs[0], call->inputs[1 + i],
                                      params->biased ? call->inputs[1 + params->count + i] : none};
        tort_call one = *call;
        one.inputs = inputs;
        one.input_count = 3;
        one.outputs = &call->outputs[i];
        one.output_count = 1;
        status = run_matmul_cublas(&one); /* joined params begin with those of a product */
    }
    return status;
}

static tort_status fit_joined_cublas(tort_fit *fit) {
    const tort_joined_matmul_params *params = fit->node->params;
    const gpu_matmul p = of_matmul(&params->product), whole = of_joined(params);
    const bool at_once = joined_at_once(params, tort_cuda_board_of(fit->target), fit->node->inputs[0].type);
    return fit_product(fit, &p, params->biased, run_joined_cublas, &whole, run_joined, "matmul_joined", at_once);
}

/* Y = C, broadcast along the axes where C has one element. */
static tort_status spread_over_output(const tort_call *call, const gpu_matmul *p, const void *c) {
    const gpu_box box = {
        .rank = 2, .dims = {p->m, p->n}, .dst_strides = {p->n, 1}, .src_strides = {p->c_row, p->c_column}};
    return cuda_launched(call, gpu_copy_box(cuda_stream_of(call), cuda_element_bytes(call->inputs[2].type),
                                            call->outputs[0].data, c, &box));
}

static tort_status prepare_gemm_cublas(tort_prepare *p) {
    const tort_gemm_params *params = p->node->params;
    const int element_bytes = cuda_element_bytes(p->node->inputs[0].type);
    tort_status status = TORT_OK;
    if (gpu_has_epilogue(&params->epilogue))
        status = tort_cuda_prepare_epilogue(p);
    else if (params->has_c)
        status = cuda_loaded(p, gpu_load_copy_box(element_bytes));
    return status || params->k > 0 ? status : prepare_product(p);
}

static tort_status run_gemm_cublas(const tort_call *call) {
    const gpu_matmul p = of_gemm(call->params);
    if (tort_cuda_chose_own(call)) return run_gemm(call);
    if (tort_cuda_has_lt(call)) return tort_cuda_run_lt(call, &p);
    const bool fused = gpu_has_epilogue(&p.epilogue);
    const void *c = c_of(call);
    if (!p.m || !p.n) return TORT_OK;
    if (!p.k) return run_product(call, &p, c); /* the product is empty, but not beta * C */
    tort_status status = c && !fused ? spread_over_output(call, &p, c) : TORT_OK;
    if (!status)
        status = call_cublas(call, &p, fused ? 0 : p.beta, call->inputs[0].data, call->inputs[1].data,
                             call->outputs[0].data, 1, 0, 0);
    return status || !fused ? status : run_rest(call, &p, c);
}

static tort_status fit_gemm_cublas(tort_fit *fit) {
    const tort_gemm_params *params = fit->node->params;
    const gpu_matmul p = of_gemm(params);
    return fit_product(fit, &p, params->has_c, run_gemm_cublas, &p, run_gemm, "gemm_tiled", false);
}
#endif

/* ---- claims ------------------------------------------------------------------------------------------------------ */

#define TOO_LARGE "a size is above 2^31 - 1, which cuBLAS does not count to"

/* True if cuBLAS can count these sizes; sizes not known yet are negative. */
static bool fits_cublas(int64_t m, int64_t n, int64_t k, int64_t batches) {
    return m <= INT_MAX && n <= INT_MAX && k <= INT_MAX && batches <= INT_MAX;
}

static tort_verdict claim_matmul_cublas(const tort_target *target, const tort_node_view *node) {
    const tort_matmul_params *params = node->params;
    if (!fits_cublas(params->m, params->n, params->k, params->batches)) return tort_no(TORT_NO_SHAPE, "", TOO_LARGE);
    const tort_verdict verdict = tort_cuda_claim_product(target, node);
    if (verdict.code != TORT_YES || !matmul_has_rest(node)) return verdict;
    return tort_cuda_claim_second_launch(params->k, "cuBLAS");
}

static tort_verdict claim_gemm_cublas(const tort_target *target, const tort_node_view *node) {
    const tort_gemm_params *params = node->params;
    if (!fits_cublas(params->m, params->n, params->k, 1)) return tort_no(TORT_NO_SHAPE, "", TOO_LARGE);
    const tort_verdict verdict = tort_cuda_claim_product(target, node);
    if (verdict.code != TORT_YES || !(params->has_c || gpu_has_epilogue(&params->epilogue))) return verdict;
    return tort_cuda_claim_second_launch(params->k, "cuBLAS");
}

static tort_verdict claim_plain(const tort_target *target, const tort_node_view *node) {
    (void)target;
    switch (node->inputs[0].type) {
    case TORT_BFLOAT16:
    case TORT_DOUBLE:
    case TORT_INT32:
    case TORT_INT64:
    case TORT_UINT32:
    case TORT_UINT64: return tort_yes();
    default: return tort_cuda_no_type(node, 0, "bfloat16, double and integers of 32 and 64 bits");
    }
}

static tort_status size_plain(const tort_target *target, const tort_node_view *node, size_t *scratch,
                              tort_error *error) {
    (void)target, (void)node, (void)error;
    *scratch = 0;
    return TORT_OK;
}

static tort_verdict claim_joined(const tort_target *target, const tort_node_view *node) {
    const tort_joined_matmul_params *params = node->params;
    if (params->count > GPU_JOINED)
        return tort_no(TORT_NO_SHAPE, "", "%d products, the kernel takes up to %d", (int)params->count, GPU_JOINED);
    return tort_cuda_claim_product(target, node);
}

static tort_verdict claim_joined_cublas(const tort_target *target, const tort_node_view *node) {
    const tort_matmul_params *product = node->params;
    const tort_verdict verdict = claim_joined(target, node);
    if (verdict.code != TORT_YES) return verdict;
    if (!fits_cublas(product->m, product->n, product->k, product->batches))
        return tort_no(TORT_NO_SHAPE, "", TOO_LARGE);
    return tort_cuda_claim_second_launch(product->k, "cuBLAS");
}

/* ---- sizes that claims could not know yet ------------------------------------------------------------------------ */

static tort_status size_product(const tort_target *target, const tort_node_view *node, const gpu_matmul *p,
                                size_t *scratch) {
    const gpu_board board = tort_cuda_board_of(target);
    *scratch = tiling_of(p, board, gpu_product_type_of(board, node->inputs[0].type)).scratch;
    return TORT_OK;
}

/* Scratch of a row of cuBLAS: that of the own kernel, which tune=on may choose. */
static tort_status size_cublas(const tort_target *target, const tort_node_view *node, const gpu_matmul *p, bool fits,
                               size_t *scratch, tort_error *error) {
    *scratch = 0;
    if (!fits) return tort_fail(error, TORT_E_UNSUPPORTED, "%s; switch it off by libraries=off", TOO_LARGE);
    return target->facts[CUDA_TUNE] ? size_product(target, node, p, scratch) : TORT_OK;
}

static tort_status size_matmul_cublas(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                      tort_error *error) {
    const tort_matmul_params *params = node->params;
    const gpu_matmul p = of_matmul(params);
    return size_cublas(target, node, &p, fits_cublas(params->m, params->n, params->k, params->batches), scratch, error);
}

static tort_status size_gemm_cublas(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                    tort_error *error) {
    const tort_gemm_params *params = node->params;
    const gpu_matmul p = of_gemm(params);
    return size_cublas(target, node, &p, fits_cublas(params->m, params->n, params->k, 1), scratch, error);
}

static tort_status size_matmul(const tort_target *target, const tort_node_view *node, size_t *scratch,
                               tort_error *error) {
    const gpu_matmul p = of_matmul(node->params);
    (void)error;
    return size_product(target, node, &p, scratch);
}

static tort_status size_joined(const tort_target *target, const tort_node_view *node, size_t *scratch,
                               tort_error *error) {
    const gpu_matmul p = of_joined(node->params);
    (void)error;
    return size_product(target, node, &p, scratch);
}

static tort_status size_joined_cublas(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                      tort_error *error) {
    const tort_status status = size_matmul_cublas(target, node, scratch, error);
    return status ? status : size_joined(target, node, scratch, error);
}

static tort_status size_gemm(const tort_target *target, const tort_node_view *node, size_t *scratch,
                             tort_error *error) {
    const gpu_matmul p = of_gemm(node->params);
    (void)error;
    return size_product(target, node, &p, scratch);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define CUBLAS(domain_, op_, family)                                                                                   \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = #family "_cublas", .needs = "cuBLAS", .claim = claim_##family##_cublas,  \
        .size = size_##family##_cublas, .prepare = CUDA_ONLY(prepare_##family##_cublas),                               \
        .fit = CUDA_ONLY(fit_##family##_cublas), .unfit = CUDA_ONLY(tort_cuda_unfit_lt),                               \
        .run = CUDA_ONLY(run_##family##_cublas)                                                                        \
    }
#define TILED(domain_, op_, family)                                                                                    \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = #family "_tiled", .claim = tort_cuda_claim_product,                      \
        .size = size_##family, .prepare = CUDA_ONLY(prepare_product), .run = CUDA_ONLY(run_##family)                   \
    }

#define PLAIN(domain_, op_, family)                                                                                    \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = #family "_plain", .claim = claim_plain, .size = size_plain,              \
        .prepare = CUDA_ONLY(prepare_plain), .run = CUDA_ONLY(run_##family##_plain)                                    \
    }

const tort_kernel tort_cuda_matmul_kernels[] = {
    CUBLAS("", "MatMul", matmul),
    TILED("", "MatMul", matmul),
    PLAIN("", "MatMul", matmul),
    CUBLAS("", "Gemm", gemm),
    TILED("", "Gemm", gemm),
    PLAIN("", "Gemm", gemm),
    CUBLAS("tinyort", "FusedMatMul", matmul),
    TILED("tinyort", "FusedMatMul", matmul),
    PLAIN("tinyort", "FusedMatMul", matmul),
    {"tinyort", "JoinedMatMul", "matmul_joined_cublas", .needs = "cuBLAS", .claim = claim_joined_cublas,
     .size = size_joined_cublas, .prepare = CUDA_ONLY(prepare_joined_cublas), .fit = CUDA_ONLY(fit_joined_cublas),
     .unfit = CUDA_ONLY(tort_cuda_unfit_lt), .run = CUDA_ONLY(run_joined_cublas)},
    {"tinyort", "JoinedMatMul", "matmul_joined", .claim = claim_joined, .size = size_joined,
     .prepare = CUDA_ONLY(prepare_product), .run = CUDA_ONLY(run_joined)},
    CUBLAS("tinyort", "FusedGemm", gemm),
    TILED("tinyort", "FusedGemm", gemm),
    PLAIN("tinyort", "FusedGemm", gemm),
    CUBLAS("com.microsoft", "FusedGemm", gemm),
    TILED("com.microsoft", "FusedGemm", gemm),
    CUBLAS("com.microsoft", "FusedMatMul", matmul),
    TILED("com.microsoft", "FusedMatMul", matmul),
    CUBLAS("com.microsoft", "FusedMatMulActivation", matmul),
    TILED("com.microsoft", "FusedMatMulActivation", matmul),
    CUBLAS("com.microsoft", "GemmFastGelu", matmul),
    TILED("com.microsoft", "GemmFastGelu", matmul),
    CUBLAS("com.microsoft", "TransposeMatMul", matmul),
    TILED("com.microsoft", "TransposeMatMul", matmul),
    {.op = NULL},
};
