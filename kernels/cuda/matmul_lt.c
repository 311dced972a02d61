/* matmul_lt.c - products by cublasLt, see matmul_lt.h. Its descriptors are made for each call, as they hold the
 * address of the bias. The algorithm is chosen once per plan, among those that the workspace of a stream suffices for.
 */
#include "kernels/cuda/matmul_lt.h"

#ifdef CUDA_DEVICE
#include <limits.h>

enum { LT_ALIGNMENT = 16 }; /* bytes, for all operands */

/* Descriptors of a product, in the column-major view of cuBLAS: Y' = B' A'. */
typedef struct lt_product {
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t a, b, y;
} lt_product;

/* ---- described --------------------------------------------------------------------------------------------------- */

typedef struct ending {
    tort_activation activation;
    cublasLtEpilogue_t plain, with_bias;
} ending;

/* Returns NULL if cublasLt does not have the activation. Its Gelu is that by tanh. */
static const ending *ending_of(tort_activation activation) {
    static const ending endings[] = {
        {TORT_ACTIVATION_NONE, CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS},
        {TORT_ACTIVATION_RELU, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS},
        {TORT_ACTIVATION_GELU_TANH, CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS},
    };
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (endings[i].activation == activation) return &endings[i];
    return NULL;
}

static cublasStatus_t set_epilogue(const cublas_functions *f, const gpu_matmul *p, const void *bias,
                                   cublasLtMatmulDesc_t product) {
    const ending *found = ending_of(p->epilogue.activation);
    const cublasLtEpilogue_t epilogue = bias ? found->with_bias : found->plain;
    cublasStatus_t code =
        f->cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (code != CUBLAS_STATUS_SUCCESS || !bias) return code;
    return f->cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
}

static cublasStatus_t set_operations(const cublas_functions *f, const gpu_matmul *p, cublasLtMatmulDesc_t product) {
    const cublasOperation_t a = p->a_column != 1 ? CUBLAS_OP_T : CUBLAS_OP_N,
                            b = p->b_column != 1 ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasStatus_t code = f->cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &b, sizeof b);
    if (code != CUBLAS_STATUS_SUCCESS) return code;
    return f->cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSB, &a, sizeof a);
}

/* Describes a matrix of `rows` stored rows. */
static cublasStatus_t describe_matrix(const cublas_functions *f, cudaDataType type, int64_t rows, int64_t length,
                                      cublasLtMatrixLayout_t *layout) {
    return f->cublasLtMatrixLayoutCreate(layout, type, (uint64_t)length, (uint64_t)rows, length);
}

static cublasStatus_t describe(const cuda_device *device, tort_type type, const gpu_matmul *p, const void *bias,
                               lt_product *out) {
    const cublas_functions *f = &device->libraries.cublas;
    const bool a_transposed = p->a_column != 1, b_transposed = p->b_column != 1;
    const cudaDataType data = cublas_data(type);
    *out = (lt_product){.product = NULL};
    cublasStatus_t code = f->cublasLtMatmulDescCreate(&out->product, cublas_compute(device, type), CUDA_R_32F);
    if (code == CUBLAS_STATUS_SUCCESS) code = set_operations(f, p, out->product);
    if (code == CUBLAS_STATUS_SUCCESS) code = set_epilogue(f, p, bias, out->product);
    if (code == CUBLAS_STATUS_SUCCESS)
        code = describe_matrix(f, data, a_transposed ? p->k : p->m, a_transposed ? p->m : p->k, &out->a);
    if (code == CUBLAS_STATUS_SUCCESS)
        code = describe_matrix(f, data, b_transposed ? p->n : p->k, b_transposed ? p->k : p->n, &out->b);
    if (code == CUBLAS_STATUS_SUCCESS) code = describe_matrix(f, data, p->m, p->n, &out->y);
    return code;
}

static void drop(const cublas_functions *f, const lt_product *lt) {
    if (lt->a) f->cublasLtMatrixLayoutDestroy(lt->a);
    if (lt->b) f->cublasLtMatrixLayoutDestroy(lt->b);
    if (lt->y) f->cublasLtMatrixLayoutDestroy(lt->y);
    if (lt->product) f->cublasLtMatmulDescDestroy(lt->product);
}

/* ---- fit --------------------------------------------------------------------------------------------------------- */

/* True if there is more than a product, and cublasLt can do all of it. */
static bool suits(const gpu_matmul *p, bool biased) {
    if (!biased && !gpu_has_epilogue(&p->epilogue)) return false;
    if (!ending_of(p->epilogue.activation)) return false;
    if (biased && (p->c_row != 0 || p->c_column != 1 || p->beta != 1)) return false;
    return p->batches == 1 && p->m > 0 && p->n > 0 && p->k > 0;
}

/* Makes the preference for the choice of an algorithm: the workspace of a stream, and only the alignment that operands
 * have. The defaults would allow more. */
static cublasStatus_t make_preference(const cublas_functions *f, uint64_t workspace,
                                      cublasLtMatmulPreference_t *preference) {
    static const cublasLtMatmulPreferenceAttributes_t alignments[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    const uint32_t alignment = LT_ALIGNMENT;
    cublasStatus_t code = f->cublasLtMatmulPreferenceCreate(preference);
    if (code == CUBLAS_STATUS_SUCCESS)
        code = f->cublasLtMatmulPreferenceSetAttribute(*preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                       &workspace, sizeof workspace);
    for (int i = 0; i < 4 && code == CUBLAS_STATUS_SUCCESS; i++)
        code = f->cublasLtMatmulPreferenceSetAttribute(*preference, alignments[i], &alignment, sizeof alignment);
    return code;
}

/* Returns the device's handle, which is made when it is needed first. */
static cublasStatus_t handle_of(cuda_device *device, cublasLtHandle_t *handle) {
    cublasStatus_t code = CUBLAS_STATUS_SUCCESS;
    pthread_mutex_lock(&device->lock);
    if (!device->lt) code = device->libraries.cublas.cublasLtCreate(&device->lt);
    *handle = device->lt;
    pthread_mutex_unlock(&device->lock);
    return code;
}

/* Asks for the best algorithms; *found is 0 if there is none. */
static cublasStatus_t ask(cuda_device *device, const lt_product *lt, int wanted, cublasLtMatmulHeuristicResult_t *best,
                          int *found) {
    const cublas_functions *f = &device->libraries.cublas;
    cublasLtHandle_t handle = NULL;
    cublasLtMatmulPreference_t preference = NULL;
    *found = 0;
    cublasStatus_t code = handle_of(device, &handle);
    if (code == CUBLAS_STATUS_SUCCESS) code = make_preference(f, device->workspace, &preference);
    if (code == CUBLAS_STATUS_SUCCESS)
        code = f->cublasLtMatmulAlgoGetHeuristic(handle, lt->product, lt->b, lt->a, lt->y, lt->y, preference, wanted,
                                                 best, found);
    if (preference) f->cublasLtMatmulPreferenceDestroy(preference);
    return code;
}

/* Lists the best algorithms for p; none is no error. */
static tort_status list(const tort_fit *fit, const gpu_matmul *p, bool biased, int wanted,
                        cublasLtMatmulHeuristicResult_t *best, int *found) {
    cuda_device *device = fit->device;
    const cublas_functions *f = &device->libraries.cublas;
    /* An algorithm is chosen for a product with a bias; its address does not matter yet, but must not be NULL. */
    const void *bias = biased ? (const void *)fit->node : NULL;
    lt_product lt;
    *found = 0;
    if (!suits(p, biased)) return TORT_OK;
    cublasStatus_t code = describe(device, fit->node->inputs[0].type, p, bias, &lt);
    if (code == CUBLAS_STATUS_SUCCESS) code = ask(device, &lt, wanted, best, found);
    drop(f, &lt);
    if (code == CUBLAS_STATUS_SUCCESS || code == CUBLAS_STATUS_NOT_SUPPORTED) return TORT_OK;
    return cuda_library_failed(fit->error, fit->stream, "cublasLt", f->cublasGetStatusString(code));
}

static tort_status keep(tort_fit *fit, uint32_t choice, const cublasLtMatmulHeuristicResult_t *best) {
    cuda_fitted_product *fitted = tort_alloc_zero(fit->env, 1, sizeof *fitted);
    if (!fitted) return tort_out_of_memory(fit->error, sizeof *fitted);
    fitted->choice = choice;
    if (choice >= CUDA_CHOSE_LT) fitted->algorithm = best[choice - CUDA_CHOSE_LT].algo;
    fit->fitted = fitted;
    return TORT_OK;
}

tort_status tort_cuda_fit_lt(tort_fit *fit, const gpu_matmul *p, bool biased) {
    cublasLtMatmulHeuristicResult_t best[1];
    int found;
    const tort_status status = list(fit, p, biased, 1, best, &found);
    fit->choice = 0;
    return status || !found ? status : keep(fit, CUDA_CHOSE_LT, best);
}

tort_status tort_cuda_fit_tuned(tort_fit *fit, const gpu_matmul *p, bool biased, cuda_run *library, cuda_run *own,
                                const char *name, size_t scratch, bool at_once) {
    cublasLtMatmulHeuristicResult_t best[CUDA_LT_ALGORITHMS];
    cuda_trial t;
    int found;
    tort_status status = list(fit, p, biased, CUDA_LT_ALGORITHMS, best, &found);
    if (status) return status;
    cuda_trial_open(&t, fit);
    const bool pays = cuda_trial_pays(&t);
    for (int i = 0; !status && pays && i <= found; i++) { /* then cuBLAS */
        cuda_fitted_product tried = {.choice = i < found ? (uint32_t)(CUDA_CHOSE_LT + i) : CUDA_CHOSE_CUBLAS};
        if (i < found) tried.algorithm = best[i].algo;
        status = cuda_trial_time(&t, tried.choice, library, &tried);
    }
    if (!status && pays) status = cuda_trial_time(&t, CUDA_CHOSE_OWN, own, NULL);
    cuda_trial_choose(&t, name);
    cuda_trial_close(&t);
    if (status) return status;
    if (fit->choice >= (uint32_t)(CUDA_CHOSE_LT + found)) fit->choice = 0;
    const uint32_t choice = fit->choice ? fit->choice
                            : at_once   ? CUDA_CHOSE_OWN
                            : found     ? CUDA_CHOSE_LT
                                        : CUDA_CHOSE_CUBLAS;
    fit->needs = choice == CUDA_CHOSE_OWN ? scratch : 0;
    return keep(fit, choice, best);
}

void tort_cuda_unfit_lt(void *device, const tort_env *env, void *fitted) {
    (void)device;
    tort_free(env, fitted, sizeof(cuda_fitted_product));
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

static bool is_aligned(const tort_tensor *tensor) {
    return !tort_present(tensor) || (uintptr_t)tensor->data % LT_ALIGNMENT == 0;
}

bool tort_cuda_has_lt(const tort_call *call) {
    const cuda_fitted_product *fitted = call->fitted;
    bool aligned = fitted && fitted->choice >= CUDA_CHOSE_LT && is_aligned(&call->outputs[0]);
    for (int32_t i = 0; aligned && i < call->input_count; i++) aligned = is_aligned(&call->inputs[i]);
    return aligned;
}

tort_status tort_cuda_run_lt(const tort_call *call, const gpu_matmul *p) {
    cuda_stream *stream = call->stream;
    const cublas_functions *f = &stream->device->libraries.cublas;
    const void *residual = cuda_input(call, TORT_EPILOGUE_Z);
    const cuda_fitted_product *fitted = call->fitted;
    const float kept = residual ? 1.0f : 0.0f;
    void *y = call->outputs[0].data;
    lt_product lt;
    stream->launches++;
    cublasStatus_t code = describe(stream->device, call->inputs[0].type, p, cuda_input(call, 2), &lt);
    if (code == CUBLAS_STATUS_SUCCESS)
        code = f->cublasLtMatmul((cublasLtHandle_t)stream->blas, lt.product, &p->alpha, call->inputs[1].data, lt.b,
                                 call->inputs[0].data, lt.a, &kept, residual ? residual : y, lt.y, y, lt.y,
                                 &fitted->algorithm, stream->workspace, stream->device->workspace, stream->stream);
    drop(f, &lt);
    if (code == CUBLAS_STATUS_SUCCESS) return TORT_OK;
    return cuda_library_failed(call->error, stream, "cublasLt", f->cublasGetStatusString(code));
}
#else
typedef int tort_cuda_lt_is_in_builds_with_cuda; /* ISO C requires a declaration */
#endif
