/* nhwc.c - the layout of nhwc.h: tensors that fit it, and conversion from and to the plain layout. Read next:
 * conv_nhwc.c. */
#include "kernels/cuda/nhwc.h"

#include "kernels/cuda/move.h"
#include "ops/extent.h"

static bool is_byte(tort_type type) {
    return type == TORT_INT8 || type == TORT_UINT8;
}

/* Bytes come in eights too: MobileNets have 24 and 40 channels, and pieces of 8 bytes are one load as well. */
static bool fits(const tort_info *info) {
    const tort_type type = info->type;
    return (type == TORT_FLOAT16 || type == TORT_BFLOAT16 || type == TORT_FLOAT || is_byte(type)) && info->rank >= 3 &&
           info->rank <= 2 + GPU_CONV_AXES && info->dims[1] > 0 && info->dims[1] % GPU_NHWC_PIECE == 0;
}

tort_verdict tort_cuda_claim_nhwc(const tort_target *target, const tort_node_view *node, int64_t channels) {
    const tort_verdict verdict = is_byte(node->inputs[0].type) ? tort_yes() : tort_cuda_claim_product(target, node);
    if (verdict.code != TORT_YES) return verdict;
    if (node->inputs[0].type == TORT_FLOAT && !tort_cuda_board_of(target).tf32)
        return tort_no(TORT_NO_TYPE, "", "exact float, channels last are for tensor cores (tf32=on)");
    if (channels <= 0) return tort_no(TORT_NO_DYNAMIC, "", "the number of channels is not known");
    if (channels % GPU_NHWC_PIECE == 0) return tort_yes();
    return tort_no(TORT_NO_SHAPE, "", "%lld channels, channels last come in eights", (long long)channels);
}

#ifdef CUDA_DEVICE
tort_status tort_cuda_nhwc_loaded(tort_prepare *p, cudaError_t code) {
    const int bytes = cuda_element_bytes(p->node->inputs[0].type);
    return cuda_loaded(p, code == cudaSuccess ? gpu_load_copy_box(bytes) : code);
}

/* Transposes the matrix of channels and pixels of each image. */
static tort_status convert(const tort_call *call, bool to_plain) {
    const tort_tensor *x = &call->inputs[0];
    const int64_t channels = x->dims[1], pixels = tort_extent(x->dims, 2, x->rank);
    const int64_t columns = to_plain ? pixels : channels, rows = to_plain ? channels : pixels; /* of Y's matrices */
    const gpu_box box = {.rank = 3,
                         .dims = {x->dims[0], rows, columns},
                         .dst_strides = {rows * columns, columns, 1},
                         .src_strides = {rows * columns, 1, rows}};
    return cuda_launched(
        call, gpu_copy_box(cuda_stream_of(call), cuda_element_bytes(x->type), call->outputs[0].data, x->data, &box));
}

static tort_status from_plain(const tort_call *call) {
    return convert(call, false);
}

static tort_status to_plain(const tort_call *call) {
    return convert(call, true);
}
#endif

const tort_layout tort_cuda_layouts[] = {
    {.name = "nhwc",
     .fits = fits,
     .bytes = tort_tensor_bytes,
     .from_plain = CUDA_ONLY(from_plain),
     .to_plain = CUDA_ONLY(to_plain)},
    {.name = NULL},
};
