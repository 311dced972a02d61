/* gather_block_quantized.c - row and claim of com.microsoft's GatherBlockQuantized, for tables of integers. Kernel:
 * gather_block_quantized.cu. */
#include "kernels/cuda/gather_block_quantized.h"

#include "ops/extent.h"
#include "ops/microsoft/gather_block_quantized.h"

enum { DATA, INDICES, SCALES, ZEROS };

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    (void)target;
    switch (node->inputs[DATA].type) {
    case TORT_INT4:
    case TORT_UINT4:
    case TORT_UINT8: return tort_yes();
    default:
        return tort_no(TORT_NO_TYPE, "quantize the table to integers of 4 or 8 bits",
                       "data is %s, the kernel takes int4, uint4 or uint8", tort_type_name(node->inputs[DATA].type));
    }
}

#ifdef CUDA_DEVICE
static tort_status prepare(tort_prepare *p) {
    const tort_info *in = p->node->inputs;
    return cuda_loaded(p, gpu_load_gather_block(gpu_type_of(in[SCALES].type), cuda_element_bytes(in[INDICES].type)));
}

/* Blocks of zero points along the quantized axis: packed ones are padded to whole bytes along the last. */
static int64_t zero_blocks_of(const tort_call *call, const tort_gather_block *p, int64_t blocks) {
    if (call->inputs[DATA].type != TORT_UINT8 || p->quantize_axis != p->rank - 1) return blocks;
    const int64_t per_byte = 8 / tort_type_bits(p->type);
    return (blocks + per_byte - 1) / per_byte * per_byte;
}

static gpu_gather_block operands_of(const tort_call *call) {
    const tort_gather_block *p = call->params;
    const tort_tensor *in = call->inputs;
    const int64_t table = tort_extent(p->dims, 0, p->rank), along = p->dims[p->quantize_axis];
    gpu_gather_block g = {.count = (size_t)tort_count(&call->outputs[0]),
                          .size = p->dims[p->gather_axis],
                          .blocks = (along + p->block - 1) / p->block,
                          .bits = tort_type_bits(p->type),
                          .is_signed = p->type == TORT_INT4,
                          .zero = p->zero,
                          .indices = in[INDICES].data,
                          .scales = in[SCALES].data,
                          .data = in[DATA].data,
                          .zeros = cuda_input(call, ZEROS),
                          .y = call->outputs[0].data};
    g.max = (uint64_t)table > g.count ? (uint64_t)table : g.count;
    g.inner = gpu_divisor_of(tort_extent(p->dims, p->gather_axis + 1, p->rank), g.max);
    g.index_count = gpu_divisor_of(tort_count(&in[INDICES]), g.max);
    g.after = gpu_divisor_of(tort_extent(p->dims, p->quantize_axis + 1, p->rank), g.max);
    g.along = gpu_divisor_of(along, g.max);
    g.zero_blocks = zero_blocks_of(call, p, g.blocks);
    while ((int64_t)1 << g.block_shift < p->block) g.block_shift++;
    return g;
}

static tort_status run(const tort_call *call) {
    const gpu_gather_block g = operands_of(call);
    return cuda_launched(call, gpu_run_gather_block(cuda_stream_of(call), gpu_type_of(call->inputs[SCALES].type),
                                                    cuda_element_bytes(call->inputs[INDICES].type), &g));
}
#endif

const tort_kernel tort_cuda_gather_block_kernels[] = {
    {"com.microsoft", "GatherBlockQuantized", "gather_block_quantized", .claim = claim, .prepare = CUDA_ONLY(prepare),
     .run = CUDA_ONLY(run)},
    {.op = NULL},
};
