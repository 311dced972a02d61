/* claims.h - claims that many families share, and helpers of their run functions. Plain C, in every build. */
#ifndef TORT_KERNELS_CUDA_CLAIMS_H
#define TORT_KERNELS_CUDA_CLAIMS_H

#include "kernels/cuda/cuda_provider.h"

/* Element types of kernels that compute: half and bfloat16 are computed in float. */
typedef enum gpu_type {
    GPU_FLOAT,
    GPU_HALF,
    GPU_BFLOAT16,
    GPU_DOUBLE,
    GPU_TYPE_COUNT,
    GPU_TF32 = GPU_TYPE_COUNT /* floats that a product rounds to 10 bits: for matmul.h and nhwc.h alone */
} gpu_type;

static inline gpu_type gpu_type_of(tort_type type) {
    switch (type) {
    case TORT_FLOAT16: return GPU_HALF;
    case TORT_BFLOAT16: return GPU_BFLOAT16;
    case TORT_DOUBLE: return GPU_DOUBLE;
    default: return GPU_FLOAT;
    }
}

/* The type of a product on a device, and what multiplies there. */
static inline gpu_type gpu_product_type_of(gpu_board board, tort_type type) {
    return type == TORT_FLOAT && board.tf32 ? GPU_TF32 : gpu_type_of(type);
}
static inline gpu_unit gpu_unit_of(gpu_type type) {
    return type == GPU_TF32 ? GPU_MMA_TF32 : type == GPU_FLOAT ? GPU_FMA : GPU_MMA_HALF;
}

/* Returns the bytes of the type in which kernels compute: double for double, float for the others. */
static inline size_t gpu_type_bytes(gpu_type type) {
    return type == GPU_DOUBLE ? sizeof(double) : sizeof(float);
}

static inline int cuda_element_bytes(tort_type type) {
    return tort_type_bits(type) / 8;
}

/* Accepts input 0 of float or float16. */
tort_verdict tort_cuda_claim_float(const tort_target *target, const tort_node_view *node);
/* Accepts input 0 of these types, or of bfloat16 if the device's code has tensor cores for it: for products on
 * tensor cores. */
tort_verdict tort_cuda_claim_product(const tort_target *target, const tort_node_view *node);
#ifndef CUDA_DEVICE
tort_status tort_cuda_measures_elsewhere(const tort_call *call, tort_info *outputs); /* never called */
#endif
/* Accepts floats of 16 to 64 bits; claim_number also integers of 8 to 64 bits. */
tort_verdict tort_cuda_claim_real(const tort_target *target, const tort_node_view *node);
tort_verdict tort_cuda_claim_number(const tort_target *target, const tort_node_view *node);
/* Accepts elements of 1, 2, 4 or 8 bytes, for data movement; not strings, complex128 or packed types. */
tort_verdict tort_cuda_claim_movable(const tort_target *target, const tort_node_view *node);
/* The same for another input, and for a type. */
tort_verdict tort_cuda_claim_moved(const tort_node_view *node, int32_t input);
bool tort_cuda_is_movable(tort_type type);
/* Accepts nodes whose input 0 has a known rank. */
tort_verdict tort_cuda_claim_rank(const tort_node_view *node);
/* Refuses a type: names input, type and the types that the kernel takes. */
tort_verdict tort_cuda_no_type(const tort_node_view *node, int32_t input, const char *expected);
/* Refuses an input whose type differs from that of input `like`. */
tort_verdict tort_cuda_not_alike(const tort_node_view *node, int32_t input, int32_t like);

#if defined(CUDA_DEVICE) && !defined(__cplusplus) /* host code; a .cu file has gpu.h */
#include "kernels/cuda/device.h"

static inline gpu_stream cuda_stream_of(const tort_call *call) {
    cuda_stream *stream = call->stream;
    return (gpu_stream){stream->stream, &stream->launches, stream->device->overlaps};
}
/* Returns the data of input or output i; NULL if the node does not have it. */
static inline const void *cuda_input(const tort_call *call, int32_t i) {
    const tort_tensor *input = tort_call_input(call, i);
    return input ? input->data : NULL;
}
static inline void *cuda_output(const tort_call *call, int32_t i) {
    const tort_tensor *output = tort_call_output(call, i);
    return output ? output->data : NULL;
}
/* Turns the result of a launcher into the status of run. */
static inline tort_status cuda_launched(const tort_call *call, cudaError_t code) {
    return cuda_status(call->error, code, "kernel launch");
}
/* Returns the word in which a kernel reports a bad value. Reading it at the end of the run is one more copy, so a
 * row asks for it only if its kernel checks values. */
static inline gpu_status *cuda_status_word(const tort_call *call) {
    cuda_stream *stream = call->stream;
    stream->may_fault = true;
    stream->status_read = false; /* what a graph has read was of the steps before */
    return stream->status;
}
static inline void cuda_count_copy(const tort_call *call) {
    cuda_stream *stream = call->stream;
    stream->copies++;
}
/* Copies bytes within the device; returns the status of run. */
static inline tort_status cuda_copied(const tort_call *call, void *to, const void *from, size_t bytes) {
    cuda_count_copy(call);
    return cuda_launched(call, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, cuda_stream_of(call).handle));
}
/* Returns the type of a node's product, while its kernels are loaded and in a run. */
static inline gpu_type cuda_prepared_type(const tort_prepare *prepare) {
    const cuda_device *device = prepare->device;
    return gpu_product_type_of(device->board, prepare->node->inputs[0].type);
}
static inline gpu_type cuda_product_type(const tort_call *call) {
    const cuda_stream *stream = call->stream;
    return gpu_product_type_of(stream->device->board, call->inputs[0].type);
}
/* Turns the result of a loader into the status of prepare. */
static inline tort_status cuda_loaded(const tort_prepare *prepare, cudaError_t code) {
    return cuda_status(prepare->error, code, "loading a kernel");
}
#else
#include "kernels/cuda/stream.h"
#endif

#endif
