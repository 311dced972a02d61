/* heads.c - the attention operators of com.microsoft: blocks of queries, as in attention.c. float16 and bfloat16 are
 * computed in float.
 *
 * Read next: ops/microsoft/heads.h, attend.h. */
#include "ops/microsoft/heads.h"
#include "kernels/cpu/attend.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/packed_gemm.h"
#include "kernels/cpu/product.h"
#include "runtime/core/base/memory.h"

/* ---- inner loops ------------------------------------------------------------------------------------------------- */

/* Bytes of the tort_attend at the start of a part's buffer; packed keys and values follow. */
#define HEAD_BYTES ((sizeof(tort_attend) + TORT_HOST_ALIGN - 1) / TORT_HOST_ALIGN * TORT_HOST_ALIGN)

static tort_attend *head_of(float *buffer) {
    return (tort_attend *)(void *)buffer;
}

/* own: the call. */
static void begin_keys(const void *own, const tort_heads_keys *keys, float *buffer) {
    const tort_call *call = own;
    tort_attend *attend = head_of(buffer);
    *attend = (tort_attend){.call = call,
                            .simd = ((const tort_cpu_device *)call->device)->simd,
                            .count = keys->count,
                            .key_size = keys->key_size,
                            .value_size = keys->value_size,
                            .keys = {.data = keys->keys, .row = keys->key_stride, .column = 1},
                            .values = {.data = keys->values, .row = keys->value_stride, .column = 1}};
    tort_attend_begin(attend, keys->rows, buffer + HEAD_BYTES / sizeof(float));
}

static void score(const void *own, const tort_heads_product *g, float *buffer) {
    const tort_attend_matrix queries = {.data = g->a, .row = g->a_stride, .column = 1};
    (void)own;
    tort_attend_scores(head_of(buffer), &queries, g->rows, g->first, g->first + g->columns, g->scale, g->c,
                       g->c_stride);
}

static void sum(const void *own, const tort_heads_product *g, float *buffer) {
    (void)own;
    tort_attend_sum(head_of(buffer), g->a, g->a_stride, g->rows, g->first, g->first + g->depth, g->c, g->c_stride);
}

/* Returns the loops for a node; call: NULL before a run. More keys mean fewer rows per block, so that the scores stay
 * in the cache; each row of scores has room for a sink beside its keys. */
static tort_heads_loops loops_of(const tort_call *call, const tort_simd *simd, int32_t threads,
                                 const tort_heads_params *p) {
    const int64_t keys = p->past_length + p->new_keys;
    size_t bytes = tort_attend_buffer(simd, keys, p->key_size, p->value_size);
    if (!tort_add_size(bytes, HEAD_BYTES, &bytes)) bytes = SIZE_MAX / TORT_HOST_ALIGN * TORT_HOST_ALIGN;
    return (tort_heads_loops){.own = call,
                              .begin = begin_keys,
                              .score = score,
                              .sum = sum,
                              .softmax = simd->softmax_row,
                              .parts = threads,
                              .max_rows = tort_attend_block_rows(simd, keys),
                              .row_room = TORT_ATTEND_MAX_ROWS,
                              .score_room = tort_attend_score_floats(simd, keys),
                              .buffer_bytes = bytes};
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static tort_status size_heads(const tort_target *target, const tort_node_view *node, size_t *scratch,
                              tort_error *error) {
    const tort_simd *simd = tort_simd_choose(target->instructions);
    const tort_heads_loops loops = loops_of(NULL, simd, target->threads, node->params);
    if (tort_heads_scratch(node->params, &loops, scratch)) return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

static tort_status run_heads(const tort_call *call) {
    const tort_cpu_device *device = call->device;
    const tort_heads_loops loops = loops_of(call, device->simd, device->threads, call->params);
    return tort_heads_attend(call, &loops, NULL, call->scratch);
}

/* Attention (com.microsoft) first projects its input to queries, keys and values: a product as in MatMul, with
 * constant weights packed ahead. Its scratch comes first. */
static tort_status pack_size_projected(const tort_target *target, const tort_node_view *node, size_t *bytes,
                                       uint32_t *consumed, tort_error *error) {
    const tort_info *weights = &node->inputs[1];
    if (!tort_product_packs_b(node)) return TORT_OK;
    return tort_product_pack_size(target, weights->dims[1], weights->dims[0], bytes, consumed, error);
}

static tort_status prepare_projected(tort_prepare *prepare) {
    const tort_info *weights = &prepare->node->inputs[1];
    if (!prepare->packed) return TORT_OK;
    return tort_product_prepare(prepare, weights->dims[1], 1, weights->dims[1], weights->dims[0], 1);
}

static tort_status size_projected(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                  tort_error *error) {
    const tort_heads_params *p = node->params;
    size_t heads, projection;
    tort_status status = tort_product_size(target, node, scratch, error);
    if (!status) status = size_heads(target, node, &heads, error);
    if (status) return status;
    if (tort_heads_projection(p, &projection) && tort_cpu_reserve(scratch, projection) &&
        tort_cpu_reserve(scratch, heads))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

static tort_status run_projected(const tort_call *call) {
    const tort_heads_params *p = call->params;
    const tort_cpu_device *device = call->device;
    const tort_heads_loops loops = loops_of(call, device->simd, device->threads, p);
    const tort_tensor *bias = tort_call_input(call, 2);
    char *scratch = call->scratch;
    size_t bytes;
    if (tort_count(&call->outputs[0]) == 0 && p->present_key < 0) return TORT_OK;
    if (!tort_heads_projection(p, &bytes)) return tort_out_of_memory(call->error, SIZE_MAX);
    void *buffers = tort_cpu_take(&scratch, tort_packed_gemm_buffer(device->simd, false, call->packed != NULL) *
                                                (size_t)device->threads);
    float *projected = tort_cpu_take(&scratch, bytes);
    tort_packed_gemm gemm = {.m = p->batch * p->queries,
                             .n = p->projected_size,
                             .k = p->input_size,
                             .a = call->inputs[0].data,
                             .a_row_stride = p->input_size,
                             .a_k_stride = 1,
                             .scale = 1,
                             .b = call->inputs[1].data,
                             .b_k_stride = p->projected_size,
                             .b_column_stride = 1,
                             .c = projected,
                             .c_stride = p->projected_size,
                             .column_bias = bias ? bias->data : NULL};
    tort_status status = gemm.m > 0 ? tort_product_run(call, &gemm, NULL, buffers) : TORT_OK;
    return status ? status : tort_heads_attend(call, &loops, projected, scratch);
}

/* past: input of the keys' cache, which the values' follows. */
#define ROW(op_, past)                                                                                                 \
    {                                                                                                                  \
        .domain = "com.microsoft", .op = op_, .name = "heads_blocks", .claim = tort_cpu_claim_any, .size = size_heads, \
        .run = run_heads, .caches = {                                                                                  \
            past,                                                                                                      \
            1,                                                                                                         \
            2                                                                                                          \
        }                                                                                                              \
    }

const tort_kernel tort_cpu_heads[] = {
    {"com.microsoft", "Attention", "heads_projected", .claim = tort_cpu_claim_float, .size = size_projected,
     .pack.size = pack_size_projected, .pack.in_parts = 1u << 1, .pack.writes_all = true, .prepare = prepare_projected,
     .run = run_projected, .caches = {4, 1, 1}},
    ROW("GroupQueryAttention", 3),
    ROW("MultiHeadAttention", 6),
    ROW("DecoderMaskedMultiHeadAttention", 5),
    {.op = NULL},
};
