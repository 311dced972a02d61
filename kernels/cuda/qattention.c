/* qattention.c - row of com.microsoft's QAttention: queries, keys and values of all heads by a product of bytes, as
 * MatMulIntegerToFloat, into scratch memory; then what heads.c does for Attention. Read first: integer_matmul.c. */
#include "ops/microsoft/qattention.h"

#include "kernels/cuda/heads.h"
#include "kernels/cuda/integer_matmul.h"

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_integer_inputs *in = &tort_qattention_product;
    const tort_heads_params *p = node->params;
    tort_operands view;
    int32_t zero;
    tort_qattention_view(node, &view);
    tort_verdict verdict = tort_cuda_claim_heads(target, &view.view);
    if (verdict.code == TORT_YES) verdict = tort_cuda_claim_byte_sums(p->input_size);
    if (verdict.code != TORT_YES) return verdict;
    if (tort_cuda_byte_zero(node, in, &zero) && !zero) return tort_yes();
    return tort_no(TORT_NO_ATTR, "quantize weights symmetrically",
                   "is for weights whose zero point is known to be 0, or 128 of uint8");
}

static gpu_integer_matmul product_of(const tort_heads_params *p) {
    return (gpu_integer_matmul){.m = p->batch * p->queries,
                                .n = p->projected_size,
                                .k = p->input_size,
                                .batches = 1,
                                .line = gpu_byte_line(p->input_size),
                                .matrix = gpu_byte_matrix(p->projected_size, p->input_size)};
}

static gpu_tiling tiling_of(const gpu_integer_matmul *p, gpu_board board) {
    return tort_cuda_tiling_of(board, GPU_MMA_BYTES, p->m, p->n, p->k, 1);
}

/* Scratch memory: that of Attention; behind it weights that are packed in each run, and sums of parts of the product.
 */
static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const gpu_integer_matmul product = product_of(node->params);
    const bool packs = !node->inputs[tort_qattention_product.b].constant;
    tort_operands view;
    tort_qattention_view(node, &view);
    const tort_status status = tort_cuda_size_heads(target, &view.view, scratch, error);
    if (status) return status;
    if (tort_align_size(*scratch, TORT_DEVICE_ALIGN, scratch) &&
        tort_add_size(*scratch, packs ? (uint64_t)product.matrix : 0, scratch) &&
        tort_align_size(*scratch, TORT_DEVICE_ALIGN, scratch) &&
        tort_add_size(*scratch, tiling_of(&product, tort_cuda_board_of(target)).scratch, scratch))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

#ifdef CUDA_DEVICE
static tort_status ready(tort_prepare *p) {
    tort_operands view;
    tort_prepare inner = *p;
    tort_qattention_view(p->node, &view);
    inner.node = &view.view;
    const tort_status status = cuda_prepare_heads(&inner);
    return status ? status : cuda_loaded(p, gpu_load_integer_matmul(p->node->inputs[0].type == TORT_INT8));
}

static tort_status project(const tort_call *call, void *to, void *behind) {
    const cuda_stream *stream = call->stream;
    gpu_integer_matmul p = product_of(call->params);
    const gpu_tiling tiling = tiling_of(&p, stream->device->board);
    const bool packs = !call->packed, is_signed = call->inputs[tort_qattention_product.b].type == TORT_INT8;
    const int64_t room = packs ? gpu_pieces(p.matrix, TORT_DEVICE_ALIGN) * TORT_DEVICE_ALIGN : 0;
    const gpu_parts parts = {(void *)((char *)behind + room), stream->arrivals};
    const gpu_byte_operands operands = {call->inputs[0].data, packs ? behind : call->packed, to};
    cudaError_t code = cudaSuccess;
    if (packs)
        code = gpu_pack_bytes(cuda_stream_of(call), call->inputs[tort_qattention_product.b].data, false, is_signed, 1,
                              p.n, p.k, behind);
    if (code != cudaSuccess) return cuda_launched(call, code);
    p.sums = tort_cuda_sums_of(call, &tort_qattention_product);
    p.sums.k = p.k;
    return cuda_launched(call, gpu_run_integer_matmul(cuda_stream_of(call), &p, &operands, &tiling, &parts));
}

static tort_status run(const tort_call *call) {
    tort_tensor operands[TORT_QATTENTION_OPERANDS];
    tort_call inner = *call;
    tort_qattention_operands(call, operands);
    operands[0].type = call->inputs[tort_qattention_product.bias].type;
    inner.inputs = operands;
    inner.input_count = TORT_QATTENTION_OPERANDS;
    return cuda_run_heads_of(&inner, call, project);
}
#endif

const tort_kernel tort_cuda_qattention_kernels[] = {
    {"com.microsoft", "QAttention", "qattention", .claim = claim, .size = size, .pack.size = tort_cuda_pack_size,
     .pack.ready = CUDA_ONLY(ready), .prepare = CUDA_ONLY(tort_cuda_pack), .run = CUDA_ONLY(run), .caches = {8, 1, 1}},
    {.op = NULL},
};
