/* attention.c - FusedAttention in fp32, blocked over queries: the scores of a block of queries stay in the L2 cache
 * from the first product to the second.
 *
 * Y = softmax(scale * Q * K + mask) * V. Only queries are blocked: a block has the scores of all keys, so softmax is
 * the plain one over whole rows. (FlashAttention, Dao et al. 2022, blocks keys too and so needs the online softmax;
 * kernels/cuda/attend.h does that.)
 * Cost: queries * keys * (key_size + value_size) multiply-adds per head; memory per thread is one block's scores and
 * the packed keys and values, instead of queries * keys scores.
 * Example: 512 keys give rows of 544 floats and blocks of up to 120 queries: 255 KiB.
 *
 * The block size does not depend on the number of threads, so neither do the results; threads share the blocks of all
 * heads.
 * Read next: attend.h, ops/fused_attention.c (the meaning). */
#include "kernels/cpu/attend.h"
#include "kernels/cpu/cpu.h"
#include "ops/fused_attention.h"
#include "runtime/core/base/memory.h"

#include <math.h>

/* ---- claim ------------------------------------------------------------------------------------------------------- */

static tort_verdict claim_attention(const tort_target *target, const tort_node_view *node) {
    int32_t count = 0;
    const int64_t *perm = tort_attr_ints(node, "y_perm", &count);
    if (count && perm[count - 1] != count - 1)
        return tort_no(TORT_NO_ATTR, "", "writes rows whose elements lie together, y_perm moves the last axis");
    return tort_cpu_claim_float(target, node);
}

/* ---- size -------------------------------------------------------------------------------------------------------- */

/* Computes the bytes of a thread's buffer: packed keys and values, then the scores of a block. */
static bool part_bytes(const tort_simd *simd, const tort_fused_attention_params *p, size_t *bytes) {
    *bytes = tort_attend_buffer(simd, p->keys, p->key_size, p->value_size);
    return tort_cpu_reserve_floats(bytes, tort_attend_score_floats(simd, p->keys));
}

static tort_status size_attention(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                  tort_error *error) {
    size_t bytes;
    *scratch = 0;
    if (part_bytes(tort_simd_choose(target->instructions), node->params, &bytes) &&
        tort_mul_size(bytes, (size_t)target->threads, scratch))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

typedef struct attention_job {
    const tort_call *call;
    const tort_simd *simd;
    int64_t rows, blocks; /* queries per block, blocks per matrix */
    size_t part_bytes;
    int32_t parts;
} attention_job;

/* Queries first..first+count of a matrix. */
typedef struct attention_block {
    const tort_call *call;
    tort_attend attend;
    int64_t matrix, first, count, stride;
    float *scores; /* (count, keys), rows stride apart */
} attention_block;

static const float *matrix_of(const attention_block *b, int32_t input, const tort_matrix_strides *strides) {
    return (const float *)b->call->inputs[input].data + tort_matrix_offset(b->call->params, strides, b->matrix);
}

static tort_attend_matrix operand(const attention_block *b, int32_t input, const tort_matrix_strides *strides) {
    return (tort_attend_matrix){.data = matrix_of(b, input, strides), .row = strides->row, .column = strides->column};
}

/* Starts a matrix: operands and packing. K is (key_size, keys) here, so its rows and columns are swapped. */
static void begin_matrix(attention_block *b, int64_t matrix, float *buffer) {
    const tort_fused_attention_params *p = b->call->params;
    b->matrix = matrix;
    b->attend.keys = operand(b, TORT_ATTENTION_K, &p->k);
    b->attend.keys.row = p->k.column;
    b->attend.keys.column = p->k.row;
    b->attend.values = operand(b, TORT_ATTENTION_V, &p->v);
    tort_attend_begin(&b->attend, p->q.column == 1 ? p->queries : INT64_MAX, buffer);
}

static void hide(const attention_block *b, int64_t row, const tort_tensor *keep, float *scores) {
    const tort_fused_attention_params *p = b->call->params;
    const uint8_t *kept = (const uint8_t *)keep->data + tort_matrix_offset(p, &p->keep, b->matrix) + row * p->keep.row;
    for (int64_t j = 0; j < p->keys; j++)
        if ((kept[j * p->keep.column] != 0) != p->keep_where) scores[j] = (float)p->fill;
}

static void add_mask(const attention_block *b, int64_t row, float *scores) {
    const tort_fused_attention_params *p = b->call->params;
    const float *mask = matrix_of(b, TORT_ATTENTION_MASK, &p->mask) + row * p->mask.row;
    const tort_epilogue sum = {.activation = TORT_ACTIVATION_NONE};
    if (p->mask.column)
        b->attend.simd->finish(&sum, mask, scores, p->keys);
    else
        for (int64_t j = 0; j < p->keys; j++) scores[j] += mask[0];
}

/* Turns scores into probabilities: mask, then softmax. */
static void normalize(const attention_block *b) {
    const tort_fused_attention_params *p = b->call->params;
    const tort_tensor *mask = tort_call_input(b->call, TORT_ATTENTION_MASK);
    const tort_tensor *keep = tort_call_input(b->call, TORT_ATTENTION_KEEP);
    for (int64_t i = 0; i < b->count && tort_attend_row_goes_on(b->call, p->keys); i++) {
        float *scores = b->scores + i * b->stride;
        if (keep) hide(b, b->first + i, keep, scores);
        if (mask) add_mask(b, b->first + i, scores);
        b->attend.simd->softmax_row(scores, scores, p->keys);
        for (int64_t j = 0; p->nan_to_zero && j < p->keys; j++)
            if (isnan(scores[j])) scores[j] = 0;
    }
}

static void attend_block(const attention_block *b) {
    const tort_fused_attention_params *p = b->call->params;
    tort_attend_matrix queries = operand(b, TORT_ATTENTION_Q, &p->q);
    queries.data += b->first * p->q.row;
    float *y = (float *)b->call->outputs[0].data + tort_matrix_offset(p, &p->y, b->matrix) + b->first * p->y.row;
    tort_attend_scores(&b->attend, &queries, b->count, 0, p->keys, (float)p->scale, b->scores, b->stride);
    normalize(b);
    tort_attend_sum(&b->attend, b->scores, b->stride, b->count, 0, p->keys, y, p->y.row);
}

static void attend_part(void *arg, int64_t begin, int64_t end) {
    const attention_job *job = arg;
    const tort_fused_attention_params *p = job->call->params;
    for (int64_t part = begin; part < end; part++) {
        char *buffer = (char *)job->call->scratch + (size_t)part * job->part_bytes;
        attention_block b = {
            .call = job->call,
            .attend = {.call = job->call,
                       .simd = job->simd,
                       .count = p->keys,
                       .key_size = p->key_size,
                       .value_size = p->value_size},
            .stride = tort_attend_stride(p->keys),
            .scores = (float *)(buffer + tort_attend_buffer(job->simd, p->keys, p->key_size, p->value_size))};
        int64_t first, last;
        tort_cpu_share(p->outer * p->inner * job->blocks, 1, part, job->parts, &first, &last);
        for (int64_t i = first; i < last && tort_call_goes_on(job->call, 0); i++) {
            if (i == first || i % job->blocks == 0) begin_matrix(&b, i / job->blocks, (float *)buffer);
            b.first = i % job->blocks * job->rows;
            b.count = p->queries - b.first < job->rows ? p->queries - b.first : job->rows;
            attend_block(&b);
        }
    }
}

static tort_status run_attention(const tort_call *call) {
    const tort_fused_attention_params *p = call->params;
    const tort_cpu_device *device = call->device;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    attention_job job = {.call = call, .simd = device->simd, .parts = device->threads};
    job.rows = tort_attend_block_rows(job.simd, p->keys);
    job.blocks = (p->queries + job.rows - 1) / job.rows;
    if (!part_bytes(job.simd, p, &job.part_bytes)) return tort_out_of_memory(call->error, SIZE_MAX);
    const double small = 32 * 1024; /* multiply-adds that are done before another thread would have started */
    if ((double)p->outer * (double)p->inner * (double)p->queries * (double)p->keys *
            (double)(p->key_size + p->value_size) <
        small)
        job.parts = 1;
    tort_cpu_parts(call, job.parts, attend_part, &job);
    return TORT_OK;
}

const tort_kernel tort_cpu_attention[] = {
    {"tinyort", "FusedAttention", "attention_blocks", .claim = claim_attention, .size = size_attention,
     .run = run_attention, .strides.inputs = 1u << TORT_ATTENTION_Q | 1u << TORT_ATTENTION_K | 1u << TORT_ATTENTION_V,
     .strides.restride = tort_attention_restride},
    {.op = NULL},
};
