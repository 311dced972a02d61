/* matmul_lt.h - one product with bias, residual, Relu or Gelu in one launch, by cublasLt, which is part of cuBLAS. For
 * host code. */
#ifndef TORT_KERNELS_CUDA_MATMUL_LT_H
#define TORT_KERNELS_CUDA_MATMUL_LT_H

#include "kernels/cuda/matmul.h"
#include "runtime/include/provider.h"

#ifdef CUDA_DEVICE
#include "kernels/cuda/trial.h"

/* Types in which a product of these elements is computed. */
static inline cudaDataType cublas_data(tort_type type) {
    return type == TORT_FLOAT16 ? CUDA_R_16F : type == TORT_BFLOAT16 ? CUDA_R_16BF : CUDA_R_32F;
}
static inline cublasComputeType_t cublas_compute(const cuda_device *device, tort_type type) {
    return device->tf32 && type == TORT_FLOAT ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

/* Candidates for a product of known shapes, also as tort_fit.choice: the own kernel (CUDA_CHOSE_OWN), cuBLAS, or an
 * algorithm of cublasLt, by its place in the list that cublasLt makes. */
enum { CUDA_CHOSE_CUBLAS = CUDA_CHOSE_OWN + 1, CUDA_CHOSE_LT, CUDA_LT_ALGORITHMS = 4 };

typedef struct cuda_fitted_product {
    uint32_t choice;
    cublasLtMatmulAlgo_t algorithm;
} cuda_fitted_product;

/* For a row's fit: takes cublasLt's first algorithm for p, with or without a bias. fit->fitted stays NULL if there is
 * none: bias, residual and activation are then a separate launch. */
tort_status tort_cuda_fit_lt(tort_fit *fit, const gpu_matmul *p, bool biased);
/* The same with tune=on: the fastest of the library's ways and the own kernel, of the row `name`, which needs so many
 * bytes of scratch, and serves where nothing was tried if `at_once`. */
tort_status tort_cuda_fit_tuned(tort_fit *fit, const gpu_matmul *p, bool biased, cuda_run *library, cuda_run *own,
                                const char *name, size_t scratch, bool at_once);
static inline bool tort_cuda_chose_own(const tort_call *call) {
    const cuda_fitted_product *fitted = call->fitted;
    return fitted && fitted->choice == CUDA_CHOSE_OWN;
}
void tort_cuda_unfit_lt(void *device, const tort_env *env, void *fitted);
/* True if this call can use the fitted algorithm: an operand that is a part of another tensor may be unaligned. */
bool tort_cuda_has_lt(const tort_call *call);
/* y = activation(alpha * A * B + bias + residual); bias is input 2 or absent. */
tort_status tort_cuda_run_lt(const tort_call *call, const gpu_matmul *p);
#endif

#endif
