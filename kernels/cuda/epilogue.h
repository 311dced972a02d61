/* epilogue.h - the epilogue of a fused operator: y = activation(result + bias + residual), see ops/epilogue.h.
 *
 * An own kernel applies it to its sums before they are stored. After a library's product or convolution it is a
 * separate launch over Y. Plain C, except for the functions that kernels call. */
#ifndef TORT_KERNELS_CUDA_EPILOGUE_H
#define TORT_KERNELS_CUDA_EPILOGUE_H

#include "kernels/cuda/broadcast.h"
#include "ops/epilogue.h"

/* The launch over Y, which must not be empty, in place: y = activation(y + scale * bias + residual). */
typedef struct gpu_epilogue {
    tort_epilogue epilogue;
    gpu_loop loop;               /* over Y; operand 0 is the bias */
    const void *bias, *residual; /* NULL if absent; the residual is laid out as Y */
    void *y;
    float scale; /* of the bias */
} gpu_epilogue;

/* True if a result needs more than its bias. */
static inline bool gpu_has_epilogue(const tort_epilogue *epilogue) {
    return epilogue->activation != TORT_ACTIVATION_NONE || epilogue->residual;
}

/* For a library's row that would need that launch: refuses if each sum has few products, `length` (< 0: unknown). */
tort_verdict tort_cuda_claim_second_launch(int64_t length, const char *library);

GPU_LAUNCHER gpu_run_epilogue(gpu_stream stream, gpu_type type, const gpu_epilogue *e);
GPU_LAUNCHER gpu_load_epilogue(gpu_type type);

/* The launch for a row: prepare loads its code; run applies it to output 0, of `rank` dims, with a bias (NULL: none)
 * of these strides, and input Z. */
tort_status tort_cuda_prepare_epilogue(tort_prepare *p);
tort_status tort_cuda_run_epilogue(const tort_call *call, const tort_epilogue *epilogue, const void *bias, float scale,
                                   int32_t rank, const int64_t *dims, const int64_t *bias_strides);

#ifdef __cplusplus
#include "kernels/cuda/activation.h"

/* Applies all activations but the cheapest. Not inlined: a kernel that ends with eight of them would consist mostly
 * of these. */
template <class C> static __device__ __noinline__ C activate_curved(int32_t activation, C alpha, C beta, C x) {
    switch (activation) {
    case TORT_ACTIVATION_LEAKY_RELU: return leaky_relu(x, alpha);
    case TORT_ACTIVATION_CLIP: return clipped(x, alpha, beta);
    case TORT_ACTIVATION_SIGMOID: return sigmoid(x);
    case TORT_ACTIVATION_SILU: return swish(x, (C)1);
    case TORT_ACTIVATION_HARD_SIGMOID: return hard_sigmoid(x, alpha, beta);
    case TORT_ACTIVATION_HARD_SWISH: return hard_swish(x);
    case TORT_ACTIVATION_GELU: return gelu(x);
    case TORT_ACTIVATION_GELU_TANH: return gelu_tanh(x);
    case TORT_ACTIVATION_TANH: return tanh(x);
    case TORT_ACTIVATION_ELU: return elu(x, alpha);
    case TORT_ACTIVATION_SELU: return selu(x, alpha, beta);
    case TORT_ACTIVATION_CELU: return celu(x, alpha);
    case TORT_ACTIVATION_SOFTPLUS: return softplus(x);
    case TORT_ACTIVATION_SOFTSIGN: return softsign(x);
    default: return x > alpha ? x : (C)0; /* TORT_ACTIVATION_THRESHOLDED_RELU */
    }
}

template <class C> static __device__ __forceinline__ C activate(const tort_epilogue &e, C x) {
    if (e.activation == TORT_ACTIVATION_NONE) return x;
    return e.activation == TORT_ACTIVATION_RELU ? relu(x) : activate_curved(e.activation, (C)e.alpha, (C)e.beta, x);
}

/* Applies the activation to several results, with one decision for all. */
template <int COUNT> static __device__ __forceinline__ void activate_all(const tort_epilogue &e, float (&x)[COUNT]) {
    if (e.activation == TORT_ACTIVATION_NONE) return;
    if (e.activation == TORT_ACTIVATION_RELU) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) x[i] = relu(x[i]);
        return;
    }
#pragma unroll
    for (int i = 0; i < COUNT; i++) x[i] = activate_curved(e.activation, e.alpha, e.beta, x[i]);
}

/* Returns element `at` of Y from its result, which includes the bias. */
template <class T, class C>
static __device__ __forceinline__ T finish(const tort_epilogue &e, const T *residual, int64_t at, C result) {
    if (residual) result += (C)residual[at];
    return (T)activate(e, result);
}
#endif

#endif
