/* real.h - the floating-point types of operators that take them all. Plain C, but for what kernels compute in. */
#ifndef TORT_KERNELS_CUDA_REAL_H
#define TORT_KERNELS_CUDA_REAL_H

#include "kernels/cuda/claims.h"

typedef enum gpu_real { GPU_REAL_FLOAT, GPU_REAL_HALF, GPU_REAL_BFLOAT16, GPU_REAL_DOUBLE, GPU_REAL_COUNT } gpu_real;

/* GPU_REAL_COUNT: none of them. */
static inline gpu_real gpu_real_of(tort_type type) {
    switch (type) {
    case TORT_FLOAT: return GPU_REAL_FLOAT;
    case TORT_FLOAT16: return GPU_REAL_HALF;
    case TORT_BFLOAT16: return GPU_REAL_BFLOAT16;
    case TORT_DOUBLE: return GPU_REAL_DOUBLE;
    default: return GPU_REAL_COUNT;
    }
}

/* Bytes of a number that kernels compute with for elements of that type: double for double, float for the others. */
static inline size_t gpu_real_bytes(gpu_real type) {
    return type == GPU_REAL_DOUBLE ? sizeof(double) : sizeof(float);
}

/* YES where input 0 is of these types. */
static inline tort_verdict tort_cuda_claim_real(const tort_target *target, const tort_node_view *node) {
    (void)target;
    if (gpu_real_of(node->inputs[0].type) != GPU_REAL_COUNT) return tort_yes();
    return tort_cuda_no_type(node, 0, "float, float16, bfloat16 or double");
}

#ifdef __cplusplus
template <class T> struct real_of { typedef float type; };
template <> struct real_of<double> { typedef double type; };
#endif

#endif
