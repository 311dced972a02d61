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

template <int COUNT, class C, class F> static __device__ __forceinline__ void replace_each(C (&x)[COUNT], F function) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) x[i] = function(x[i]);
}

/* Applies the activation to several results, with one decision for all, and no call: the code of all activations is in
 * the kernel, so it has one place where results are finished. */
template <int COUNT, class C> static __device__ __forceinline__ void activate(const tort_epilogue &e, C (&x)[COUNT]) {
    const C alpha = (C)e.alpha, beta = (C)e.beta;
    switch (e.activation) {
    case TORT_ACTIVATION_NONE: return;
    case TORT_ACTIVATION_RELU: return replace_each(x, [](C v) { return relu(v); });
    case TORT_ACTIVATION_LEAKY_RELU: return replace_each(x, [=](C v) { return leaky_relu(v, alpha); });
    case TORT_ACTIVATION_CLIP: return replace_each(x, [=](C v) { return clipped(v, alpha, beta); });
    case TORT_ACTIVATION_SIGMOID: return replace_each(x, [](C v) { return sigmoid(v); });
    case TORT_ACTIVATION_SILU: return replace_each(x, [](C v) { return swish(v, (C)1); });
    case TORT_ACTIVATION_HARD_SIGMOID: return replace_each(x, [=](C v) { return hard_sigmoid(v, alpha, beta); });
    case TORT_ACTIVATION_HARD_SWISH: return replace_each(x, [](C v) { return hard_swish(v); });
    case TORT_ACTIVATION_GELU: return replace_each(x, [](C v) { return gelu(v); });
    case TORT_ACTIVATION_GELU_TANH: return replace_each(x, [](C v) { return gelu_tanh(v); });
    case TORT_ACTIVATION_TANH: return replace_each(x, [](C v) { return hyperbolic_tangent(v); });
    case TORT_ACTIVATION_ELU:
    case TORT_ACTIVATION_SELU:
    case TORT_ACTIVATION_CELU: {
        const C slope = e.activation == TORT_ACTIVATION_CELU ? divided((C)1, alpha) : (C)1;
        const C gamma = e.activation == TORT_ACTIVATION_SELU ? beta : (C)1;
        return replace_each(x, [=](C v) { return scaled_elu(v, alpha, slope, gamma); });
    }
    case TORT_ACTIVATION_SOFTPLUS: return replace_each(x, [](C v) { return softplus(v); });
    case TORT_ACTIVATION_SOFTSIGN: return replace_each(x, [](C v) { return softsign(v); });
    default: return replace_each(x, [=](C v) { return v > alpha ? v : (C)0; }); /* THRESHOLDED_RELU */
    }
}

/* Returns element `at` of Y from its result, which includes the bias. */
template <class T, class C>
static __device__ __forceinline__ T finish(const tort_epilogue &e, const T *residual, int64_t at, C result) {
    C value[1] = {residual ? result + (C)residual[at] : result};
    activate(e, value);
    return (T)value[0];
}
#endif

#endif
