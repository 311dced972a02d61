/* claims.h - what many families claim alike, and what their run functions share. Plain C, in every build. */
#ifndef TORT_KERNELS_CUDA_CLAIMS_H
#define TORT_KERNELS_CUDA_CLAIMS_H

#include "kernels/cuda/cuda_provider.h"

/* Element types of kernels that compute: half and bfloat16 are computed in float. */
typedef enum gpu_type { GPU_FLOAT, GPU_HALF, GPU_BFLOAT16, GPU_DOUBLE, GPU_TYPE_COUNT } gpu_type;

static inline gpu_type gpu_type_of(tort_type type) {
    switch (type) {
    case TORT_FLOAT16: return GPU_HALF;
    case TORT_BFLOAT16: return GPU_BFLOAT16;
    case TORT_DOUBLE: return GPU_DOUBLE;
    default: return GPU_FLOAT;
    }
}

/* Bytes of what kernels compute in for elements of that type: double for double, float for the others. */
static inline size_t gpu_type_bytes(gpu_type type) {
    return type == GPU_DOUBLE ? sizeof(double) : sizeof(float);
}

/* YES where input 0 is float or float16. */
tort_verdict tort_cuda_claim_float(const tort_target *target, const tort_node_view *node);
/* Products on tensor cores: YES where it is one of these, or bfloat16 for which the code of this device has them. */
tort_verdict tort_cuda_claim_product(const tort_target *target, const tort_node_view *node);
/* YES where it is a float of 16 to 64 bits; likewise, or an integer of 8 to 64 bits. */
tort_verdict tort_cuda_claim_real(const tort_target *target, const tort_node_view *node);
tort_verdict tort_cuda_claim_number(const tort_target *target, const tort_node_view *node);
/* Data movement: YES for elements of 1, 2, 4 or 8 bytes; not strings, complex128 or packed types. */
tort_verdict tort_cuda_claim_movable(const tort_target *target, const tort_node_view *node);
/* The same of another input; and the question itself. */
tort_verdict tort_cuda_claim_moved(const tort_node_view *node, int32_t input);
bool tort_cuda_is_movable(tort_type type);
/* YES where the rank of input 0 is known. */
tort_verdict tort_cuda_claim_rank(const tort_node_view *node);
/* The refusal of a type: names input, type and what the kernel computes in. */
tort_verdict tort_cuda_no_type(const tort_node_view *node, int32_t input, const char *expected);
/* The refusal of an input whose type is not that of input `like`. */
tort_verdict tort_cuda_not_alike(const tort_node_view *node, int32_t input, int32_t like);

#if defined(CUDA_DEVICE) && !defined(__cplusplus) /* host code; a .cu file has gpu.h */
#include "kernels/cuda/device.h"

static inline gpu_stream cuda_stream_of(const tort_call *call) {
    cuda_stream *stream = call->stream;
    return (gpu_stream){stream->stream, &stream->launches};
}
/* The data of input i; NULL where the node does not have it. */
static inline const void *cuda_input(const tort_call *call, int32_t i) {
    const tort_tensor *input = tort_call_input(call, i);
    return input ? input->data : NULL;
}
/* What a launcher returned, as the status of run. */
static inline tort_status cuda_launched(const tort_call *call, cudaError_t code) {
    return cuda_status(call->error, code, "kernel launch");
}
/* Where a kernel reports a bad value. The end of the run reads it, which is a copy more: a row asks for it only where
 * its kernel looks at values. */
static inline gpu_status *cuda_status_word(const tort_call *call) {
    cuda_stream *stream = call->stream;
    stream->may_fault = true;
    return stream->status;
}
static inline void cuda_count_copy(const tort_call *call) {
    cuda_stream *stream = call->stream;
    stream->copies++;
}
/* Copies bytes from one place of the device to another, as run. */
static inline tort_status cuda_copied(const tort_call *call, void *to, const void *from, size_t bytes) {
    cuda_count_copy(call);
    return cuda_launched(call, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, cuda_stream_of(call).handle));
}
/* What a loader returned, as the status of prepare. */
static inline tort_status cuda_loaded(const tort_prepare *prepare, cudaError_t code) {
    return cuda_status(prepare->error, code, "loading a kernel");
}
#endif

#endif
