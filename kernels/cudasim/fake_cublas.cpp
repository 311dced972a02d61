/* fake_cublas.cpp - the simulated cuBLAS: the functions of library_api.h as plain loops, with cuBLAS's argument
 * checks.
 *
 * Scalars are host pointers, read at the call. Every product overwrites its workspace, as the real library may. Read
 * next: fake_cudnn.cpp. */
#include "kernels/cudasim/fake_libraries.h"

#include <algorithm>
#include <math.h>

using namespace cudasim;

struct cublasContext {
    int device;
    cudaStream_t stream;
    void *workspace;
    size_t workspace_bytes;
    cublasMath_t math;
};

namespace {

const int minor_version = 1;

bool element_of(cudaDataType type, Element *element) {
    switch (type) {
    case CUDA_R_32F: *element = Element::f32; return true;
    case CUDA_R_16F: *element = Element::f16; return true;
    case CUDA_R_16BF: *element = Element::bf16; return true;
    }
    return false;
}

/* Epilogue of a cublasLt product; empty for cuBLAS. */
struct Ending {
    bool relu, gelu;  /* gelu: by tanh */
    const void *bias; /* one element per row of D; may be NULL */
    const void *c;    /* matrix scaled by beta, as large as D; NULL: D itself */
};

/* A column-major matrix of a batch, optionally transposed when used. */
struct Matrix {
    const void *data;
    Element element;
    bool transposed;
    int leading;
    long long stride;

    float at(int batch, int row, int column) const {
        const long long offset = transposed ? column + (long long)row * leading : row + (long long)column * leading;
        return load_element(data, batch * stride + offset, element);
    }
    /* True if all elements of rows x columns (as used) lie in valid memory. */
    bool is_valid(int rows, int columns, int batch) const {
        if (!rows || !columns || !batch) return true;
        const long long lines = transposed ? rows : columns, length = transposed ? columns : rows;
        const long long last = (batch - 1) * stride + (lines - 1) * leading + length;
        return operand_is_valid(data, (size_t)last * element_size(element));
    }
};

struct Product {
    Matrix a, b, c;
    Ending ending;
    int m, n, k, batch;
    float alpha, beta;
    bool tf32;
    void *workspace;
    size_t workspace_bytes;

    cublasStatus_t check() const {
        if (m < 0 || n < 0 || k < 0 || batch < 0) return CUBLAS_STATUS_INVALID_VALUE;
        if (a.leading < std::max(1, a.transposed ? k : m) || b.leading < std::max(1, b.transposed ? n : k) ||
            c.leading < std::max(1, m))
            return CUBLAS_STATUS_INVALID_VALUE;
        if (a.element != b.element || (c.element != a.element && c.element != Element::f32))
            return CUBLAS_STATUS_NOT_SUPPORTED;
        return CUBLAS_STATUS_SUCCESS;
    }

    void run_one(int index, std::vector<float> &left, std::vector<float> &right) const {
        for (int i = 0; i < m; i++)
            for (int x = 0; x < k; x++) left[(size_t)i * k + x] = operand(a.at(index, i, x));
        for (int j = 0; j < n; j++)
            for (int x = 0; x < k; x++) right[(size_t)j * k + x] = operand(b.at(index, x, j));
        for (int j = 0; j < n; j++) {
            for (int i = 0; i < m; i++) {
                double sum = 0;
                for (int x = 0; x < k; x++) sum += (double)left[(size_t)i * k + x] * right[(size_t)j * k + x];
                const Matrix old_c = {ending.c ? ending.c : c.data, c.element, false, c.leading, c.stride};
                const double old =
                    beta != 0 ? beta * (double)old_c.at(index, i, j) : 0; /* c may be undefined otherwise */
                double result = alpha * sum + old;
                if (ending.bias) result += load_element(ending.bias, i, c.element);
                if (ending.relu && result < 0) result = 0;
                if (ending.gelu)
                    result *= 0.5 * (1 + tanh(0.7978845608028654 * (result + 0.044715 * result * result * result)));
                store_element(const_cast<void *>(c.data), index * c.stride + i + (long long)j * c.leading, c.element,
                              result);
            }
        }
    }

    void run() const {
        std::vector<float> left((size_t)m * k), right((size_t)n * k);
        if (workspace) memset(workspace, poison, workspace_bytes);
        for (int index = 0; index < batch; index++) run_one(index, left, right);
    }

    float operand(float value) const {
        return tf32 && a.element == Element::f32 ? round_to_tf32(value) : value;
    }
};

cublasStatus_t multiply(cublasHandle_t handle, Product &product, cudaDataType a_type, cudaDataType b_type,
                        cudaDataType c_type, cublasComputeType_t compute, const void *alpha, const void *beta) {
    if (!element_of(a_type, &product.a.element) || !element_of(b_type, &product.b.element) ||
        !element_of(c_type, &product.c.element))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    product.alpha = *(const float *)alpha;
    product.beta = *(const float *)beta;
    product.tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
                   (compute == CUBLAS_COMPUTE_32F && handle->math == CUBLAS_TF32_TENSOR_OP_MATH);
    product.workspace = handle->workspace;
    product.workspace_bytes = handle->workspace_bytes;
    /* The real library would allocate one, within the recording and beyond any limit. */
    const CUstream_st *stream = find_stream(handle->stream);
    if (!product.workspace && stream && stream->capture) return CUBLAS_STATUS_EXECUTION_FAILED;
    const cublasStatus_t status = product.check();
    if (status || !product.m || !product.n || !product.batch) return status;
    /* The real library would lose the device here; refusing the call names the mistake better. */
    if (!product.a.is_valid(product.m, product.k, product.batch) ||
        !product.b.is_valid(product.k, product.n, product.batch) ||
        !product.c.is_valid(product.m, product.n, product.batch))
        return CUBLAS_STATUS_INVALID_VALUE;
    return library_submit(handle->device, handle->stream, [product] { product.run(); })
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_EXECUTION_FAILED;
}

} // namespace

/* ---- cublasLt: descriptors --------------------------------------------------------------------------------------- */

struct cublasLtContext {
    int device;
};

struct cublasLtMatmulDesc {
    cublasComputeType_t compute;
    cublasOperation_t transpose_a, transpose_b;
    cublasLtEpilogue_t epilogue;
    const void *bias;
};

struct cublasLtMatrixLayout {
    cudaDataType type;
    uint64_t rows, columns;
    int64_t leading;
};

struct cublasLtMatmulPreference {
    uint64_t workspace;
    uint32_t alignments[4];
};

namespace {

template <class T> cublasStatus_t create(T **out, const T &value, const char *function) {
    *out = nullptr;
    if (library_call_fails(function)) return CUBLAS_STATUS_ALLOC_FAILED;
    *out = new T(value);
    machine().library_objects.insert(*out);
    return CUBLAS_STATUS_SUCCESS;
}

template <class T> cublasStatus_t destroy(T *object, const char *function) {
    const bool fails = library_call_fails(function);
    if (!machine().library_objects.erase(object)) return CUBLAS_STATUS_INVALID_VALUE;
    delete object;
    return fails ? CUBLAS_STATUS_INTERNAL_ERROR : CUBLAS_STATUS_SUCCESS;
}

/* Stores an attribute, if it has exactly the expected size. */
template <class T> bool set(T *out, const void *value, size_t bytes) {
    if (bytes != sizeof *out) return false;
    memcpy(out, value, bytes);
    return true;
}

/* True if the operand, as used, has this many rows and columns. */
bool has_shape(const cublasLtMatrixLayout *layout, cublasOperation_t transposed, uint64_t rows, uint64_t columns) {
    return transposed == CUBLAS_OP_T ? layout->rows == columns && layout->columns == rows
                                     : layout->rows == rows && layout->columns == columns;
}

cublasStatus_t check_lt(const cublasLtMatmulDesc *product, const cublasLtMatrixLayout *a, const cublasLtMatrixLayout *b,
                        const cublasLtMatrixLayout *c, const cublasLtMatrixLayout *d, Product *out) {
    if (!library_object_lives(product) || !library_object_lives(a) || !library_object_lives(b) ||
        !library_object_lives(c) || !library_object_lives(d))
        return CUBLAS_STATUS_INVALID_VALUE;
    const bool biased = product->epilogue & CUBLASLT_EPILOGUE_BIAS; /* a bit, in the real library too */
    const uint64_t k = product->transpose_a == CUBLAS_OP_T ? a->rows : a->columns;
    if (biased != (product->bias != nullptr) || c->rows != d->rows || c->columns != d->columns ||
        c->leading != d->leading || !has_shape(a, product->transpose_a, d->rows, k) ||
        !has_shape(b, product->transpose_b, k, d->columns))
        return CUBLAS_STATUS_INVALID_VALUE;
    *out = Product{};
    out->a = {nullptr, Element::f32, product->transpose_a == CUBLAS_OP_T, (int)a->leading, 0};
    out->b = {nullptr, Element::f32, product->transpose_b == CUBLAS_OP_T, (int)b->leading, 0};
    out->c = {nullptr, Element::f32, false, (int)d->leading, 0};
    out->ending.relu = product->epilogue & CUBLASLT_EPILOGUE_RELU;
    out->ending.gelu = product->epilogue & CUBLASLT_EPILOGUE_GELU;
    out->ending.bias = product->bias;
    out->m = (int)d->rows, out->n = (int)d->columns, out->k = (int)k, out->batch = 1;
    return a->type == b->type && a->type == c->type && a->type == d->type ? CUBLAS_STATUS_SUCCESS
                                                                          : CUBLAS_STATUS_NOT_SUPPORTED;
}

const uint64_t only_algorithm = 0x17; /* the content of a real algorithm is opaque */

} // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
    return create(handle, cublasLtContext{0}, __func__);
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
    return destroy(handle, __func__);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *product, cublasComputeType_t compute, cudaDataType) {
    return create(product, cublasLtMatmulDesc{compute, CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, nullptr},
                  __func__);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
    return destroy(product, __func__);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t bytes) {
    if (library_call_fails(__func__) || !library_object_lives(product)) return CUBLAS_STATUS_INVALID_VALUE;
    bool good = false;
    switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA: good = set(&product->transpose_a, value, bytes); break;
    case CUBLASLT_MATMUL_DESC_TRANSB: good = set(&product->transpose_b, value, bytes); break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE: good = set(&product->epilogue, value, bytes); break;
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: good = set(&product->bias, value, bytes); break;
    }
    return good ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
    return create(layout, cublasLtMatrixLayout{type, rows, columns, leading}, __func__);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
    return destroy(layout, __func__);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
    return create(preference, cublasLtMatmulPreference{32 << 20, {256, 256, 256, 256}}, __func__);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
    return destroy(preference, __func__);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
                                                    size_t bytes) {
    if (library_call_fails(__func__) || !library_object_lives(preference)) return CUBLAS_STATUS_INVALID_VALUE;
    const bool good =
        attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
            ? set(&preference->workspace, value, bytes)
            : set(&preference->alignments[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value, bytes);
    return good ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

/* Returns the only algorithm; it demands the largest workspace allowed, so that a missing one is noticed. */
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int asked,
                                              cublasLtMatmulHeuristicResult_t results[], int *returned) {
    Product checked;
    if (library_call_fails(__func__)) return CUBLAS_STATUS_ALLOC_FAILED;
    if (!library_object_lives(handle) || !library_object_lives(preference) || asked < 1)
        return CUBLAS_STATUS_INVALID_VALUE;
    const char *unsupported = machine().settings.unsupported;
    if (unsupported && !strcmp(unsupported, __func__)) return CUBLAS_STATUS_NOT_SUPPORTED;
    const cublasStatus_t status = check_lt(product, a, b, c, d, &checked);
    if (status) return status;
    results[0] = {};
    results[0].algo.data[0] = only_algorithm;
    results[0].algo.data[1] = preference->alignments[0];
    results[0].algo.data[2] = preference->workspace;
    results[0].workspaceSize = preference->workspace;
    *returned = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void *alpha, const void *a,
                              cublasLtMatrixLayout_t a_layout, const void *b, cublasLtMatrixLayout_t b_layout,
                              const void *beta, const void *c, cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algorithm, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
    if (library_call_fails(__func__)) return CUBLAS_STATUS_ALLOC_FAILED;
    Product checked;
    const cublasStatus_t status = check_lt(product, a_layout, b_layout, c_layout, d_layout, &checked);
    if (status) return status;
    if (algorithm->data[0] != only_algorithm || workspace_bytes < algorithm->data[2] ||
        !operand_is_valid(workspace, workspace_bytes))
        return CUBLAS_STATUS_INVALID_VALUE;
    for (const void *operand : {a, b, c, (const void *)d})
        if ((uintptr_t)operand % algorithm->data[1]) return CUBLAS_STATUS_INVALID_VALUE;
    if (!library_object_lives(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    cublasContext with = *(cublasContext *)handle; /* the stream is an argument of the call */
    with.stream = stream;
    with.workspace = workspace, with.workspace_bytes = workspace_bytes;
    checked.a.data = a, checked.b.data = b, checked.c.data = d, checked.ending.c = c;
    if ((checked.ending.bias && !operand_is_valid(checked.ending.bias, 1)) || !operand_is_valid(c, 1))
        return CUBLAS_STATUS_INVALID_VALUE;
    return multiply(&with, checked, a_layout->type, b_layout->type, d_layout->type, product->compute, alpha, beta);
}

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle) {
    Call call(__func__);
    *handle = nullptr;
    if (call.error)
        return call.error == cudaErrorMemoryAllocation ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_NOT_INITIALIZED;
    *handle = new cublasContext{call.device(), nullptr, nullptr, 0, CUBLAS_DEFAULT_MATH};
    machine().library_objects.insert(*handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
    Call call(__func__, Needs::nothing);
    if (!machine().library_objects.erase(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    (void)refuse_device_wait(call.device());
    delete handle;
    return call.error ? CUBLAS_STATUS_INTERNAL_ERROR : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType which, int *value) {
    if (library_call_fails(__func__)) return CUBLAS_STATUS_INVALID_VALUE;
    *value = which == MAJOR_VERSION ? machine().settings.cublas_version : which == MINOR_VERSION ? minor_version : 0;
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusString(cublasStatus_t status) {
#define CUDASIM_NAME(name, value)                                                                                      \
    case name: return #name;
    switch (status) { CUBLAS_STATUSES(CUDASIM_NAME) }
#undef CUDASIM_NAME
    return "unknown cuBLAS status";
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
    if (library_call_fails(__func__)) return CUBLAS_STATUS_ALLOC_FAILED;
    if (!library_object_lives(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    const CUstream_st *found = find_stream(stream);
    if (!found || (stream && found->device != handle->device)) return CUBLAS_STATUS_INVALID_VALUE;
    handle->stream = stream;
    handle->workspace = nullptr; /* as in the real library: a new stream resets the workspace to the default */
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes) {
    if (library_call_fails(__func__)) return CUBLAS_STATUS_ALLOC_FAILED;
    if (!library_object_lives(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    if ((uintptr_t)workspace % 256 || !operand_is_valid(workspace, bytes)) return CUBLAS_STATUS_INVALID_VALUE;
    handle->workspace = bytes ? workspace : nullptr;
    handle->workspace_bytes = bytes;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
    if (library_call_fails(__func__)) return CUBLAS_STATUS_ALLOC_FAILED;
    if (!library_object_lives(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->math = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transpose_a, cublasOperation_t transpose_b, int m,
                            int n, int k, const void *alpha, const void *a, cudaDataType a_type, int lda, const void *b,
                            cudaDataType b_type, int ldb, const void *beta, void *c, cudaDataType c_type, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t) {
    if (library_call_fails(__func__)) return CUBLAS_STATUS_ALLOC_FAILED;
    if (!library_object_lives(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    Product product = {};
    product.a = {a, Element::f32, transpose_a == CUBLAS_OP_T, lda, 0};
    product.b = {b, Element::f32, transpose_b == CUBLAS_OP_T, ldb, 0};
    product.c = {c, Element::f32, false, ldc, 0};
    product.m = m, product.n = n, product.k = k, product.batch = 1;
    return multiply(handle, product, a_type, b_type, c_type, compute, alpha, beta);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transpose_a,
                                          cublasOperation_t transpose_b, int m, int n, int k, const void *alpha,
                                          const void *a, cudaDataType a_type, int lda, long long a_stride,
                                          const void *b, cudaDataType b_type, int ldb, long long b_stride,
                                          const void *beta, void *c, cudaDataType c_type, int ldc, long long c_stride,
                                          int batch, cublasComputeType_t compute, cublasGemmAlgo_t) {
    if (library_call_fails(__func__)) return CUBLAS_STATUS_ALLOC_FAILED;
    if (!library_object_lives(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    Product product = {};
    product.a = {a, Element::f32, transpose_a == CUBLAS_OP_T, lda, a_stride};
    product.b = {b, Element::f32, transpose_b == CUBLAS_OP_T, ldb, b_stride};
    product.c = {c, Element::f32, false, ldc, c_stride};
    product.m = m, product.n = n, product.k = k, product.batch = batch;
    return multiply(handle, product, a_type, b_type, c_type, compute, alpha, beta);
}
}
