/* library_api.h - the few functions of cuBLAS (12, 13) and cuDNN (9) that kernels call: constants, types,
 * prototypes.
 *
 * They are declared here because a build does not need those libraries: they are opened at run time, or not at all.
 * A test checks every entry against NVIDIA's headers where those are installed. The function lists define the table
 * of pointers that is filled after opening, and the simulated libraries, whose functions have the same names.
 * Dimensions, layouts and limits are in NVIDIA's manuals; matrices of cuBLAS are column-major. */
#ifndef TORT_KERNELS_CUDA_LIBRARY_API_H
#define TORT_KERNELS_CUDA_LIBRARY_API_H

#include <stddef.h>
#include <stdint.h>

/* All enumerations, by the names of their types; each is a list of X(name, value). */
#define TORT_LIBRARY_ENUMERATIONS(X)                                                                                   \
    X(cublasStatus_t, CUBLAS_STATUSES)                                                                                 \
    X(cublasOperation_t, CUBLAS_OPERATIONS)                                                                            \
    X(cublasComputeType_t, CUBLAS_COMPUTE_TYPES)                                                                       \
    X(libraryPropertyType, LIBRARY_PROPERTIES)                                                                         \
    X(cublasGemmAlgo_t, CUBLAS_GEMM_ALGORITHMS)                                                                        \
    X(cublasMath_t, CUBLAS_MATH_MODES)                                                                                 \
    X(cublasLtMatmulDescAttributes_t, CUBLASLT_PRODUCT_ATTRIBUTES)                                                     \
    X(cublasLtMatmulPreferenceAttributes_t, CUBLASLT_PREFERENCES)                                                      \
    X(cublasLtEpilogue_t, CUBLASLT_EPILOGUES)                                                                          \
    X(cudaDataType, CUDA_DATA_TYPES)                                                                                   \
    X(cudnnStatus_t, CUDNN_STATUSES)                                                                                   \
    X(cudnnDataType_t, CUDNN_DATA_TYPES)                                                                               \
    X(cudnnTensorFormat_t, CUDNN_TENSOR_FORMATS)                                                                       \
    X(cudnnConvolutionMode_t, CUDNN_CONVOLUTION_MODES)                                                                 \
    X(cudnnMathType_t, CUDNN_MATH_TYPES)                                                                               \
    X(cudnnNanPropagation_t, CUDNN_NAN_PROPAGATIONS)                                                                   \
    X(cudnnActivationMode_t, CUDNN_ACTIVATIONS)                                                                        \
    X(cudnnDeterminism_t, CUDNN_DETERMINISMS)                                                                          \
    X(cudnnConvolutionFwdAlgo_t, CUDNN_FORWARD_ALGORITHMS)

#define LIBRARY_PROPERTIES(X) X(MAJOR_VERSION, 0) X(MINOR_VERSION, 1) X(PATCH_LEVEL, 2)

#define CUBLAS_STATUSES(X)                                                                                             \
    X(CUBLAS_STATUS_SUCCESS, 0)                                                                                        \
    X(CUBLAS_STATUS_NOT_INITIALIZED, 1)                                                                                \
    X(CUBLAS_STATUS_ALLOC_FAILED, 3)                                                                                   \
    X(CUBLAS_STATUS_INVALID_VALUE, 7)                                                                                  \
    X(CUBLAS_STATUS_ARCH_MISMATCH, 8)                                                                                  \
    X(CUBLAS_STATUS_EXECUTION_FAILED, 13)                                                                              \
    X(CUBLAS_STATUS_INTERNAL_ERROR, 14)                                                                                \
    X(CUBLAS_STATUS_NOT_SUPPORTED, 15)
#define CUBLAS_OPERATIONS(X)                                                                                           \
    X(CUBLAS_OP_N, 0)                                                                                                  \
    X(CUBLAS_OP_T, 1)
#define CUBLAS_COMPUTE_TYPES(X)                                                                                        \
    X(CUBLAS_COMPUTE_32F, 68)                                                                                          \
    X(CUBLAS_COMPUTE_32F_PEDANTIC, 69)                                                                                 \
    X(CUBLAS_COMPUTE_32F_FAST_TF32, 77)
#define CUBLAS_GEMM_ALGORITHMS(X) X(CUBLAS_GEMM_DEFAULT, -1)
#define CUBLAS_MATH_MODES(X)                                                                                           \
    X(CUBLAS_DEFAULT_MATH, 0)                                                                                          \
    X(CUBLAS_TF32_TENSOR_OP_MATH, 3)
#define CUBLASLT_PRODUCT_ATTRIBUTES(X)                                                                                 \
    X(CUBLASLT_MATMUL_DESC_TRANSA, 3)                                                                                  \
    X(CUBLASLT_MATMUL_DESC_TRANSB, 4)                                                                                  \
    X(CUBLASLT_MATMUL_DESC_EPILOGUE, 7)                                                                                \
    X(CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8)
#define CUBLASLT_PREFERENCES(X)                                                                                        \
    X(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1)                                                                     \
    X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5)                                                                   \
    X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 6)                                                                   \
    X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 7)                                                                   \
    X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8)
#define CUBLASLT_EPILOGUES(X)                                                                                          \
    X(CUBLASLT_EPILOGUE_DEFAULT, 1)                                                                                    \
    X(CUBLASLT_EPILOGUE_RELU, 2)                                                                                       \
    X(CUBLASLT_EPILOGUE_BIAS, 4)                                                                                       \
    X(CUBLASLT_EPILOGUE_RELU_BIAS, 6)                                                                                  \
    X(CUBLASLT_EPILOGUE_GELU, 32)                                                                                      \
    X(CUBLASLT_EPILOGUE_GELU_BIAS, 36)
#define CUDA_DATA_TYPES(X)                                                                                             \
    X(CUDA_R_32F, 0)                                                                                                   \
    X(CUDA_R_16F, 2)                                                                                                   \
    X(CUDA_R_16BF, 14)

#define CUDNN_STATUSES(X)                                                                                              \
    X(CUDNN_STATUS_SUCCESS, 0)                                                                                         \
    X(CUDNN_STATUS_NOT_INITIALIZED, 1001)                                                                              \
    X(CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH, 1002)                                                                  \
    X(CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED, 1008)                                                                    \
    X(CUDNN_STATUS_BAD_PARAM, 2000)                                                                                    \
    X(CUDNN_STATUS_NOT_SUPPORTED, 3000)                                                                                \
    X(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, 4003)                                                        \
    X(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, 4004)                                                      \
    X(CUDNN_STATUS_EXECUTION_FAILED, 5000)
#define CUDNN_DATA_TYPES(X)                                                                                            \
    X(CUDNN_DATA_FLOAT, 0)                                                                                             \
    X(CUDNN_DATA_HALF, 2)                                                                                              \
    X(CUDNN_DATA_BFLOAT16, 9)
#define CUDNN_TENSOR_FORMATS(X) X(CUDNN_TENSOR_NCHW, 0)
#define CUDNN_CONVOLUTION_MODES(X) X(CUDNN_CROSS_CORRELATION, 1)
#define CUDNN_MATH_TYPES(X)                                                                                            \
    X(CUDNN_DEFAULT_MATH, 0)                                                                                           \
    X(CUDNN_TENSOR_OP_MATH, 1)                                                                                         \
    X(CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION, 2)                                                                        \
    X(CUDNN_FMA_MATH, 3)
#define CUDNN_NAN_PROPAGATIONS(X)                                                                                      \
    X(CUDNN_NOT_PROPAGATE_NAN, 0)                                                                                      \
    X(CUDNN_PROPAGATE_NAN, 1)
#define CUDNN_ACTIVATIONS(X)                                                                                           \
    X(CUDNN_ACTIVATION_RELU, 1)                                                                                        \
    X(CUDNN_ACTIVATION_IDENTITY, 5)
#define CUDNN_DETERMINISMS(X)                                                                                          \
    X(CUDNN_NON_DETERMINISTIC, 0)                                                                                      \
    X(CUDNN_DETERMINISTIC, 1)
#define CUDNN_FORWARD_ALGORITHMS(X)                                                                                    \
    X(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, 0)                                                                     \
    X(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, 1)                                                             \
    X(CUDNN_CONVOLUTION_FWD_ALGO_GEMM, 2)                                                                              \
    X(CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, 3)                                                                            \
    X(CUDNN_CONVOLUTION_FWD_ALGO_FFT, 4)                                                                               \
    X(CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING, 5)                                                                        \
    X(CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, 6)                                                                          \
    X(CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, 7)

#ifdef TORT_AGAINST_NVIDIA_HEADERS

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cudnn.h>

#else

#include "kernels/cuda/cuda_api.h"

#define TORT_ENUMERATOR(name, value) name = value,
#define TORT_ENUMERATION(type, list) typedef enum { list(TORT_ENUMERATOR) } type;
TORT_LIBRARY_ENUMERATIONS(TORT_ENUMERATION)
#undef TORT_ENUMERATION
#undef TORT_ENUMERATOR

typedef struct cublasContext *cublasHandle_t;
typedef struct cublasLtContext *cublasLtHandle_t; /* a cublasHandle_t is one, too */
typedef struct cublasLtMatmulDesc *cublasLtMatmulDesc_t;
typedef struct cublasLtMatrixLayout *cublasLtMatrixLayout_t;
typedef struct cublasLtMatmulPreference *cublasLtMatmulPreference_t;

typedef struct {
    uint64_t data[8];
} cublasLtMatmulAlgo_t;

typedef struct {
    cublasLtMatmulAlgo_t algo;
    size_t workspaceSize;
    cublasStatus_t state; /* if not success, the other fields are not set */
    float wavesCount;
    int reserved[4];
} cublasLtMatmulHeuristicResult_t;

typedef struct cudnnContext *cudnnHandle_t;
typedef struct cudnnTensorStruct *cudnnTensorDescriptor_t;
typedef struct cudnnFilterStruct *cudnnFilterDescriptor_t;
typedef struct cudnnConvolutionStruct *cudnnConvolutionDescriptor_t;
typedef struct cudnnActivationStruct *cudnnActivationDescriptor_t;

typedef struct {
    cudnnConvolutionFwdAlgo_t algo;
    cudnnStatus_t status; /* if not success, this algorithm cannot do it */
    float time;           /* -1 if only estimated */
    size_t memory;        /* workspace bytes */
    cudnnDeterminism_t determinism;
    cudnnMathType_t mathType;
    int reserved[3];
} cudnnConvolutionFwdAlgoPerf_t;

#endif

/* X(return type, name, parameters) */
#define CUBLAS_FUNCTIONS(X)                                                                                            \
    X(cublasStatus_t, cublasCreate_v2, (cublasHandle_t * handle))                                                      \
    X(cublasStatus_t, cublasDestroy_v2, (cublasHandle_t handle))                                                       \
    X(cublasStatus_t, cublasGetProperty, (libraryPropertyType which, int *value))                                      \
    X(const char *, cublasGetStatusString, (cublasStatus_t status))                                                    \
    X(cublasStatus_t, cublasSetStream_v2, (cublasHandle_t handle, cudaStream_t stream))                                \
    X(cublasStatus_t, cublasSetWorkspace_v2, (cublasHandle_t handle, void *workspace, size_t bytes))                   \
    X(cublasStatus_t, cublasSetMathMode, (cublasHandle_t handle, cublasMath_t mode))                                   \
    X(cublasStatus_t, cublasGemmEx,                                                                                    \
      (cublasHandle_t handle, cublasOperation_t transpose_a, cublasOperation_t transpose_b, int m, int n, int k,       \
       const void *alpha, const void *a, cudaDataType a_type, int lda, const void *b, cudaDataType b_type, int ldb,    \
       const void *beta, void *c, cudaDataType c_type, int ldc, cublasComputeType_t compute,                           \
       cublasGemmAlgo_t algorithm))                                                                                    \
    X(cublasStatus_t, cublasGemmStridedBatchedEx,                                                                      \
      (cublasHandle_t handle, cublasOperation_t transpose_a, cublasOperation_t transpose_b, int m, int n, int k,       \
       const void *alpha, const void *a, cudaDataType a_type, int lda, long long a_stride, const void *b,              \
       cudaDataType b_type, int ldb, long long b_stride, const void *beta, void *c, cudaDataType c_type, int ldc,      \
       long long c_stride, int batch, cublasComputeType_t compute, cublasGemmAlgo_t algorithm))                        \
    CUBLASLT_FUNCTIONS(X)

/* Functions of libcublasLt, which libcublas depends on: the loader finds them through it. */
#define CUBLASLT_FUNCTIONS(X)                                                                                          \
    X(cublasStatus_t, cublasLtCreate, (cublasLtHandle_t * handle))                                                     \
    X(cublasStatus_t, cublasLtDestroy, (cublasLtHandle_t handle))                                                      \
    X(cublasStatus_t, cublasLtMatmulDescCreate,                                                                        \
      (cublasLtMatmulDesc_t * product, cublasComputeType_t compute, cudaDataType scale_type))                          \
    X(cublasStatus_t, cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t product))                                       \
    X(cublasStatus_t, cublasLtMatmulDescSetAttribute,                                                                  \
      (cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t attribute, const void *value, size_t bytes))       \
    X(cublasStatus_t, cublasLtMatrixLayoutCreate,                                                                      \
      (cublasLtMatrixLayout_t * layout, cudaDataType type, uint64_t rows, uint64_t columns, int64_t leading))          \
    X(cublasStatus_t, cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t layout))                                    \
    X(cublasStatus_t, cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t * preference))                       \
    X(cublasStatus_t, cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t preference))                        \
    X(cublasStatus_t, cublasLtMatmulPreferenceSetAttribute,                                                            \
      (cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute, const void *value,       \
       size_t bytes))                                                                                                  \
    X(cublasStatus_t, cublasLtMatmulAlgoGetHeuristic,                                                                  \
      (cublasLtHandle_t handle, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,      \
       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int asked,           \
       cublasLtMatmulHeuristicResult_t results[], int *returned))                                                      \
    X(cublasStatus_t, cublasLtMatmul,                                                                                  \
      (cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void *alpha, const void *a,                        \
       cublasLtMatrixLayout_t a_layout, const void *b, cublasLtMatrixLayout_t b_layout, const void *beta,              \
       const void *c, cublasLtMatrixLayout_t c_layout, void *d, cublasLtMatrixLayout_t d_layout,                       \
       const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t workspace_bytes, cudaStream_t stream))

#define CUDNN_FUNCTIONS(X)                                                                                             \
    X(size_t, cudnnGetVersion, (void))                                                                                 \
    X(const char *, cudnnGetErrorString, (cudnnStatus_t status))                                                       \
    X(void, cudnnGetLastErrorString, (char *message, size_t max_size))                                                 \
    X(cudnnStatus_t, cudnnCreate, (cudnnHandle_t * handle))                                                            \
    X(cudnnStatus_t, cudnnDestroy, (cudnnHandle_t handle))                                                             \
    X(cudnnStatus_t, cudnnSetStream, (cudnnHandle_t handle, cudaStream_t stream))                                      \
    X(cudnnStatus_t, cudnnCreateTensorDescriptor, (cudnnTensorDescriptor_t * descriptor))                              \
    X(cudnnStatus_t, cudnnDestroyTensorDescriptor, (cudnnTensorDescriptor_t descriptor))                               \
    X(cudnnStatus_t, cudnnSetTensorNdDescriptor,                                                                       \
      (cudnnTensorDescriptor_t descriptor, cudnnDataType_t type, int rank, const int dims[], const int strides[]))     \
    X(cudnnStatus_t, cudnnCreateFilterDescriptor, (cudnnFilterDescriptor_t * descriptor))                              \
    X(cudnnStatus_t, cudnnDestroyFilterDescriptor, (cudnnFilterDescriptor_t descriptor))                               \
    X(cudnnStatus_t, cudnnSetFilterNdDescriptor,                                                                       \
      (cudnnFilterDescriptor_t descriptor, cudnnDataType_t type, cudnnTensorFormat_t format, int rank,                 \
       const int dims[]))                                                                                              \
    X(cudnnStatus_t, cudnnCreateConvolutionDescriptor, (cudnnConvolutionDescriptor_t * descriptor))                    \
    X(cudnnStatus_t, cudnnDestroyConvolutionDescriptor, (cudnnConvolutionDescriptor_t descriptor))                     \
    X(cudnnStatus_t, cudnnSetConvolutionNdDescriptor,                                                                  \
      (cudnnConvolutionDescriptor_t descriptor, int spatial_rank, const int pads[], const int strides[],               \
       const int dilations[], cudnnConvolutionMode_t mode, cudnnDataType_t compute_type))                              \
    X(cudnnStatus_t, cudnnSetConvolutionGroupCount, (cudnnConvolutionDescriptor_t descriptor, int groups))             \
    X(cudnnStatus_t, cudnnSetConvolutionMathType, (cudnnConvolutionDescriptor_t descriptor, cudnnMathType_t math))     \
    X(cudnnStatus_t, cudnnCreateActivationDescriptor, (cudnnActivationDescriptor_t * descriptor))                      \
    X(cudnnStatus_t, cudnnDestroyActivationDescriptor, (cudnnActivationDescriptor_t descriptor))                       \
    X(cudnnStatus_t, cudnnSetActivationDescriptor,                                                                     \
      (cudnnActivationDescriptor_t descriptor, cudnnActivationMode_t mode, cudnnNanPropagation_t nan,                  \
       double coefficient))                                                                                            \
    X(cudnnStatus_t, cudnnGetConvolutionForwardAlgorithm_v7,                                                           \
      (cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,                         \
       const cudnnConvolutionDescriptor_t convolution, const cudnnTensorDescriptor_t y, int asked, int *returned,      \
       cudnnConvolutionFwdAlgoPerf_t *results))                                                                        \
    X(cudnnStatus_t, cudnnGetConvolutionForwardWorkspaceSize,                                                          \
      (cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,                         \
       const cudnnConvolutionDescriptor_t convolution, const cudnnTensorDescriptor_t y,                                \
       cudnnConvolutionFwdAlgo_t algorithm, size_t *bytes))                                                            \
    X(cudnnStatus_t, cudnnConvolutionForward,                                                                          \
      (cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t x_descriptor, const void *x,             \
       const cudnnFilterDescriptor_t w_descriptor, const void *w, const cudnnConvolutionDescriptor_t convolution,      \
       cudnnConvolutionFwdAlgo_t algorithm, void *workspace, size_t workspace_bytes, const void *beta,                 \
       const cudnnTensorDescriptor_t y_descriptor, void *y))                                                           \
    X(cudnnStatus_t, cudnnConvolutionBiasActivationForward,                                                            \
      (cudnnHandle_t handle, const void *alpha1, const cudnnTensorDescriptor_t x_descriptor, const void *x,            \
       const cudnnFilterDescriptor_t w_descriptor, const void *w, const cudnnConvolutionDescriptor_t convolution,      \
       cudnnConvolutionFwdAlgo_t algorithm, void *workspace, size_t workspace_bytes, const void *alpha2,               \
       const cudnnTensorDescriptor_t z_descriptor, const void *z, const cudnnTensorDescriptor_t bias_descriptor,       \
       const void *bias, const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t y_descriptor,     \
       void *y))

#endif
