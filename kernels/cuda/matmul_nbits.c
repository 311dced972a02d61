/* matmul_nbits.c - row and claim of com.microsoft's MatMulNBits. Few rows, as of a step of decoding, multiply the
 * packed numbers directly. For more rows the weights are unpacked into scratch memory, and the tiled product multiplies
 * them.
 *
 * accuracy_level is the least accuracy that A may be rounded to; kernels here do not round it. Kernels:
 * matmul_nbits.cu. */
#include "kernels/cuda/matmul_nbits.h"

#include "kernels/cuda/matmul.h"
#include "ops/microsoft/matmul_nbits.h"

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_nbits *p = node->params;
    if (p->grouped)
        return tort_no(TORT_NO_ATTR, "quantize the model without reordering its columns (act_order)",
                       "has g_idx, the kernel takes the block of an element from its place");
    if (p->zeros_type != TORT_UNDEFINED && p->zeros_type != TORT_UINT8 && p->zeros_type != node->inputs[0].type)
        return tort_cuda_not_alike(node, TORT_NBITS_ZEROS, TORT_NBITS_A);
    return tort_cuda_claim_product(target, node);
}

/* ---- scratch memory: the unpacked weights, then the sums of the product's parts ---------------------------------- */

enum { SUMS_ALIGN = 256 };

static gpu_tiling tiling_of(const tort_nbits *p, gpu_board board, tort_type type) {
    return tort_cuda_tiling_of(board, gpu_unit_of(gpu_product_type_of(board, type)), p->m, p->n, p->k, 1);
}

/* Sets the offset of the sums; false if it is beyond size_t. */
static bool weights_end(const tort_nbits *p, tort_type type, size_t *end) {
    return tort_mul_size((uint64_t)p->n, (uint64_t)p->k, end) &&
           tort_mul_size(*end, (uint64_t)cuda_element_bytes(type), end) && tort_align_size(*end, SUMS_ALIGN, end);
}

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_nbits *p = node->params;
    const tort_type type = node->inputs[0].type;
    *scratch = 0;
    if (p->m <= GPU_NBITS_FEW) return TORT_OK;
    if (weights_end(p, type, scratch) &&
        tort_add_size(*scratch, tiling_of(p, tort_cuda_board_of(target), type).scratch, scratch))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

#ifdef CUDA_DEVICE
static tort_status prepare(tort_prepare *prepare) {
    const tort_nbits *p = prepare->node->params;
    const gpu_type type = gpu_type_of(prepare->node->inputs[0].type);
    const tort_status status = cuda_loaded(prepare, gpu_load_nbits(type, tort_type_bits(p->type)));
    return status ? status : cuda_loaded(prepare, gpu_load_matmul(cuda_prepared_type(prepare)));
}

static gpu_nbits operands_of(const tort_call *call) {
    const tort_nbits *p = call->params;
    const void *zeros = cuda_input(call, TORT_NBITS_ZEROS);
    gpu_nbits o = {.m = p->m,
                   .n = p->n,
                   .k = p->k,
                   .blocks = p->blocks,
                   .bits = tort_type_bits(p->type),
                   .a = call->inputs[TORT_NBITS_A].data,
                   .b = call->inputs[TORT_NBITS_B].data,
                   .scales = call->inputs[TORT_NBITS_SCALES].data,
                   .zeros = p->zeros_type == TORT_UINT8 ? NULL : zeros,
                   .packed_zeros = p->zeros_type == TORT_UINT8 ? zeros : NULL,
                   .bias = cuda_input(call, TORT_NBITS_BIAS),
                   .y = call->outputs[0].data};
    while ((int64_t)1 << o.block_shift < p->block) o.block_shift++;
    return o;
}

/* Multiplies by the weights that were unpacked into scratch memory. */
static tort_status run_product(const tort_call *call, const gpu_nbits *o) {
    const cuda_stream *stream = call->stream;
    const tort_type type = call->inputs[TORT_NBITS_A].type;
    const gpu_tiling tiling = tiling_of(call->params, stream->device->board, type);
    const gpu_matmul p = {.m = o->m,
                          .n = o->n,
                          .k = o->k,
                          .batches = 1,
                          .a_row = o->k,
                          .a_column = 1,
                          .b_row = 1,
                          .b_column = o->k,
                          .c_column = 1, /* the bias */
                          .alpha = 1.0f,
                          .beta = 1.0f};
    const gpu_matmul_operands operands = {.a = o->a, .b = call->scratch, .c = o->bias, .y = o->y};
    size_t end = 0;
    (void)weights_end(call->params, type, &end); /* `size` has checked it */
    const gpu_parts parts = {(float *)(void *)((char *)call->scratch + end), stream->arrivals};
    return cuda_launched(call,
                         gpu_run_matmul(cuda_stream_of(call), cuda_product_type(call), &p, &operands, &tiling, &parts));
}

static tort_status run(const tort_call *call) {
    const cuda_stream *stream = call->stream;
    const gpu_type type = gpu_type_of(call->inputs[TORT_NBITS_A].type);
    const gpu_nbits o = operands_of(call);
    if (o.m <= GPU_NBITS_FEW)
        return cuda_launched(call,
                             gpu_run_nbits_few(cuda_stream_of(call), type, &o, stream->device->board.multiprocessors));
    const tort_status status =
        cuda_launched(call, gpu_run_nbits_dequantize(cuda_stream_of(call), type, &o, call->scratch));
    return status ? status : run_product(call, &o);
}
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_kernel tort_cuda_matmul_nbits_kernels[] = {
    {"com.microsoft", "MatMulNBits", "matmul_nbits", .claim = claim, .size = size, .prepare = CUDA_ONLY(prepare),
     .run = CUDA_ONLY(run)},
    {.op = NULL},
};
