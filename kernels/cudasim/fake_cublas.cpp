/* fake_cublas.cpp - the simulated cuBLAS: the functions of library_api.h over plain loops, with cuBLAS's argument
 * checks.
 *
 * Scalars are host pointers, read at the call. A workspace that was given is overwritten by every product, as it may
 * be. Read next: fake_cudnn.cpp. */
#include "kernels/cudasim/fake_libraries.h"

#include <algorithm>

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

/* A column-major matrix of a batch, maybe used transposed. */
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
    /* All elements that so many rows and columns (as used) reach. */
    bool is_valid(int rows, int columns, int batch) const {
        if (!rows || !columns || !batch) return true;
        const long long lines = transposed ? rows : columns, length = transposed ? columns : rows;
        const long long last = (batch - 1) * stride + (lines - 1) * leading + length;
        return operand_is_valid(data, (size_t)last * element_size(element));
    }
};

struct Product {
    Matrix a, b, c;
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
                const double old = beta != 0 ? beta * (double)c.at(index, i, j) : 0; /* c may be undefined otherwise */
                store_element(const_cast<void *>(c.data), index * c.stride + i + (long long)j * c.leading, c.element,
                              alpha * sum + old);
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
    if (!library_object_lives(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!element_of(a_type, &product.a.element) || !element_of(b_type, &product.b.element) ||
        !element_of(c_type, &product.c.element))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    product.alpha = *(const float *)alpha;
    product.beta = *(const float *)beta;
    product.tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
                   (compute == CUBLAS_COMPUTE_32F && handle->math == CUBLAS_TF32_TENSOR_OP_MATH);
    product.workspace = handle->workspace;
    product.workspace_bytes = handle->workspace_bytes;
    const cublasStatus_t status = product.check();
    if (status || !product.m || !product.n || !product.batch) return status;
    /* The real library would lose the device here; a refusal names the mistake better. */
    if (!product.a.is_valid(product.m, product.k, product.batch) ||
        !product.b.is_valid(product.k, product.n, product.batch) ||
        !product.c.is_valid(product.m, product.n, product.batch))
        return CUBLAS_STATUS_INVALID_VALUE;
    return library_submit(handle->device, handle->stream, [product] { product.run(); })
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_EXECUTION_FAILED;
}

} // namespace

extern "C" {

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
    handle->workspace = nullptr; /* as the real one: a new stream means the default workspace */
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
    Product product = {};
    product.a = {a, Element::f32, transpose_a == CUBLAS_OP_T, lda, a_stride};
    product.b = {b, Element::f32, transpose_b == CUBLAS_OP_T, ldb, b_stride};
    product.c = {c, Element::f32, false, ldc, c_stride};
    product.m = m, product.n = n, product.k = k, product.batch = batch;
    return multiply(handle, product, a_type, b_type, c_type, compute, alpha, beta);
}
}
