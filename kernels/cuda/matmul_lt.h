/* matmul_lt.h - one product with bias, residual and Relu in one launch, by cublasLt, which comes with cuBLAS. For host
 * code. */
#ifndef TORT_KERNELS_CUDA_MATMUL_LT_H
#define TORT_KERNELS_CUDA_MATMUL_LT_H

#include "kernels/cuda/matmul.h"
#include "runtime/provider.h"

#ifdef CUDA_DEVICE
#include "kernels/cuda/device.h"

/* How a product of these elements is computed. */
static inline cudaDataType cublas_data(tort_type type) {
    return type == TORT_FLOAT16 ? CUDA_R_16F : type == TORT_BFLOAT16 ? CUDA_R_16BF : CUDA_R_32F;
}
static inline cublasComputeType_t cublas_compute(const cuda_device *device, tort_type type) {
    return device->tf32 && type == TORT_FLOAT ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

/* For a row's fit: asks cublasLt how it would do what p says, with a bias or without. fit->fitted stays NULL where it
 * does not: then bias, residual and activation are a launch of their own. */
tort_status tort_cuda_fit_lt(tort_fit *fit, const gpu_matmul *p, bool biased);
void tort_cuda_unfit_lt(void *device, const tort_env *env, void *fitted);
/* May this call use what was fitted? An operand that is a part of another may lie at any address. */
bool tort_cuda_has_lt(const tort_call *call);
/* y = activation(alpha * A * B + bias + residual); bias is input 2 or absent. */
tort_status tort_cuda_run_lt(const tort_call *call, const gpu_matmul *p);
#endif

#endif
