/* flex_attention.c - rows of AttentionScores and AttentionOutput, the two products of a FlexAttention that has graphs
 * between them. Queries of a group of heads share its keys and values. Kernel: matmul.cu. */
#include "kernels/cuda/matmul.h"

#include "ops/flex_attention.h"

enum { SCORES, OUTPUT }; /* variants of the rows */

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_type type = node->inputs[0].type;
    if (node->inputs[1].type != type) return tort_cuda_not_alike(node, 1, 0);
    if (node->outputs[0].type != type)
        return tort_no(TORT_NO_ATTR, "softmax_precision", "takes scores of the type of queries and values");
    return tort_cuda_claim_float(target, node);
}

static gpu_matmul product_of(const tort_kernel *row, const tort_flex_params *p) {
    const bool scores = row->variant == SCORES;
    const int64_t groups = p->group > 0 ? p->heads / p->group : 0, matrix = p->keys * p->size,
                  rows = p->length * (scores ? p->size : p->keys);
    return (gpu_matmul){.m = p->length,
                        .n = scores ? p->keys : p->size,
                        .k = scores ? p->size : p->keys,
                        .batches = p->batch * p->heads,
                        .a_row = scores ? p->size : p->keys,
                        .a_column = 1,
                        .b_row = scores ? 1 : p->size,
                        .b_column = scores ? p->size : 1,
                        .batch_rank = 3,
                        .batch_dims = {p->batch, groups, p->group},
                        .a_batch = {p->heads * rows, p->group * rows, rows},
                        .b_batch = {groups * matrix, matrix, 0},
                        .alpha = scores ? (float)p->scale : 1.0f};
}

static gpu_tiling tiling_of(gpu_board board, tort_type type, const gpu_matmul *p) {
    return tort_cuda_tiling_of(board, gpu_unit_of(gpu_product_type_of(board, type)), p->m, p->n, p->k, p->batches);
}

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const gpu_matmul p = product_of(node->kernel, node->params);
    (void)error;
    *scratch = tiling_of(tort_cuda_board_of(target), node->inputs[0].type, &p).scratch;
    return TORT_OK;
}

#ifdef CUDA_DEVICE
static tort_status prepare(tort_prepare *p) {
    return cuda_loaded(p, gpu_load_matmul(cuda_prepared_type(p)));
}

static tort_status run(const tort_call *call) {
    const cuda_stream *stream = call->stream;
    const gpu_matmul p = product_of(call->kernel, call->params);
    const gpu_tiling tiling = tiling_of(stream->device->board, call->inputs[0].type, &p);
    const gpu_matmul_operands operands = {
        .a = call->inputs[0].data, .b = call->inputs[1].data, .y = call->outputs[0].data};
    const gpu_parts parts = {call->scratch, stream->arrivals};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    return cuda_launched(call,
                         gpu_run_matmul(cuda_stream_of(call), cuda_product_type(call), &p, &operands, &tiling, &parts));
}
#endif

#define ROW(op_, variant_)                                                                                             \
    {                                                                                                                  \
        "tinyort", op_, "flex_product", .claim = claim, .size = size, .prepare = CUDA_ONLY(prepare),                   \
                                        .run = CUDA_ONLY(run), .variant = variant_                                     \
    }

const tort_kernel tort_cuda_flex_attention_kernels[] = {
    ROW("AttentionScores", SCORES),
    ROW("AttentionOutput", OUTPUT),
    {.op = NULL},
};
