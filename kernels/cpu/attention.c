/* attention.c - FusedAttention in fp32: a block of queries at a time, whose scores stay in the cache from the first
 * product to the second.
 *
 * A block has as many queries as its scores fit BLOCK_FLOATS, so its size does not depend on the threads, which share
 * out the blocks of all matrices. Read next: packed_gemm.h, ops/fused_attention.c (the meaning). */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/packed_gemm.h"
#include "ops/fused_attention.h"
#include "runtime/base/memory.h"

#include <math.h>
#include <string.h>

#define BLOCK_FLOATS 65536 /* 256 KiB of scores, a part of a second cache */
#define BLOCK_MOST 168     /* queries; what a product packs of its left side at a time */

/* ---- claim ------------------------------------------------------------------------------------------------------- */

static tort_verdict claim_attention(const tort_target *target, const tort_node_view *node) {
    int32_t count = 0;
    const int64_t *perm = tort_attr_ints(node, "y_perm", &count);
    if (count && perm[count - 1] != count - 1)
        return tort_no(TORT_NO_ATTR, "", "writes rows whose elements lie together, y_perm moves the last axis");
    return tort_cpu_claim_float(target, node);
}

/* ---- size -------------------------------------------------------------------------------------------------------- */

/* Queries of a block. */
static int64_t block_rows(const tort_simd *simd, const tort_fused_attention_params *p) {
    const int64_t fit = p->keys > 0 ? BLOCK_FLOATS / p->keys : BLOCK_MOST, tile = simd->tile_rows;
    const int64_t rows = fit < BLOCK_MOST ? fit / tile * tile : BLOCK_MOST;
    return rows > tile ? rows : tile;
}

/* Floats of the scores of a block. Never fewer for more keys, so that memory for the longest sequence has room for all:
 * rows are rounded down, this is not. */
static bool score_floats(const tort_simd *simd, const tort_fused_attention_params *p, size_t *floats) {
    size_t most, least;
    if (!tort_mul_size(BLOCK_MOST, (size_t)p->keys, &most) ||
        !tort_mul_size((size_t)simd->tile_rows, (size_t)p->keys, &least))
        return false;
    *floats = most < BLOCK_FLOATS ? most : least > BLOCK_FLOATS ? least : BLOCK_FLOATS;
    return true;
}

/* Bytes of a thread: what the products pack, the scores of a block, a row of them before its softmax. */
static bool buffer_bytes(const tort_simd *simd, const tort_fused_attention_params *p, size_t *bytes) {
    size_t scores;
    *bytes = tort_packed_gemm_buffer(simd, false, false);
    return score_floats(simd, p, &scores) && tort_add_size(scores, (size_t)p->keys, &scores) && scores <= INT64_MAX &&
           tort_cpu_reserve_floats(bytes, (int64_t)scores);
}

static tort_status size_attention(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                  tort_error *error) {
    size_t bytes;
    *scratch = 0;
    if (buffer_bytes(tort_simd_choose(target->instructions), node->params, &bytes) &&
        tort_mul_size(bytes, (size_t)target->threads, scratch))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

typedef struct attention_job {
    const tort_call *call;
    const tort_simd *simd;
    int64_t rows, blocks; /* queries of a block, blocks of a matrix */
    size_t buffer_bytes;
    int32_t parts;
} attention_job;

/* The queries first..first+count of a matrix. */
typedef struct attention_block {
    const tort_call *call;
    const tort_simd *simd;
    int64_t matrix, first, count;
    float *buffer, *scores, *row; /* of the products; (count, keys); one row */
} attention_block;

static const float *matrix_of(const attention_block *b, int32_t input, const tort_matrix_strides *strides) {
    return (const float *)b->call->inputs[input].data + tort_matrix_offset(b->call->params, strides, b->matrix);
}

static void multiply(const attention_block *b, tort_packed_gemm *gemm) {
    gemm->simd = b->simd;
    gemm->pack_b = tort_pack_b_matrix;
    gemm->m = b->count;
    const bool together = gemm->a_k_stride == 1 && gemm->b_column_stride == 1;
    if (gemm->m == 1 && together && gemm->scale == 1) /* not worth packing B for */
        b->simd->row_product(gemm->c, gemm->n, gemm->a, gemm->k, gemm->b, gemm->b_k_stride, NULL);
    else
        tort_packed_gemm_block(gemm, 0, gemm->m, 0, gemm->n, b->buffer);
}

static void make_scores(const attention_block *b) {
    const tort_fused_attention_params *p = b->call->params;
    tort_packed_gemm gemm = {.n = p->keys,
                             .k = p->key_size,
                             .a = matrix_of(b, TORT_ATTENTION_Q, &p->q) + b->first * p->q.row,
                             .a_row_stride = p->q.row,
                             .a_k_stride = p->q.column,
                             .scale = (float)p->scale,
                             .b = matrix_of(b, TORT_ATTENTION_K, &p->k),
                             .b_k_stride = p->k.row,
                             .b_column_stride = p->k.column,
                             .c = b->scores,
                             .c_stride = p->keys};
    multiply(b, &gemm);
}

static void hide(const attention_block *b, int64_t row, const tort_tensor *keep, float *scores) {
    const tort_fused_attention_params *p = b->call->params;
    const uint8_t *kept = (const uint8_t *)keep->data + tort_matrix_offset(p, &p->keep, b->matrix) + row * p->keep.row;
    for (int64_t j = 0; j < p->keys; j++)
        if ((kept[j * p->keep.column] != 0) != p->keep_where) scores[j] = (float)p->fill;
}

static void add_mask(const attention_block *b, int64_t row, const float *scores, float *sums) {
    const tort_fused_attention_params *p = b->call->params;
    const float *mask = matrix_of(b, TORT_ATTENTION_MASK, &p->mask) + row * p->mask.row;
    for (int64_t j = 0; j < p->keys; j++) sums[j] = scores[j] + (p->mask.column ? mask[j] : mask[0]);
}

/* Scores to probabilities. */
static void normalize(const attention_block *b) {
    const tort_fused_attention_params *p = b->call->params;
    const tort_tensor *mask = tort_call_input(b->call, TORT_ATTENTION_MASK);
    const tort_tensor *keep = tort_call_input(b->call, TORT_ATTENTION_KEEP);
    for (int64_t i = 0; i < b->count; i++) {
        float *scores = b->scores + i * p->keys;
        if (keep) hide(b, b->first + i, keep, scores);
        if (mask)
            add_mask(b, b->first + i, scores, b->row);
        else
            memcpy(b->row, scores, (size_t)p->keys * sizeof *scores);
        b->simd->softmax_row(b->row, scores, p->keys);
        for (int64_t j = 0; p->nan_to_zero && j < p->keys; j++)
            if (isnan(scores[j])) scores[j] = 0;
    }
}

static void make_output(const attention_block *b) {
    const tort_fused_attention_params *p = b->call->params;
    tort_packed_gemm gemm = {.n = p->value_size,
                             .k = p->keys,
                             .a = b->scores,
                             .a_row_stride = p->keys,
                             .a_k_stride = 1,
                             .scale = 1,
                             .b = matrix_of(b, TORT_ATTENTION_V, &p->v),
                             .b_k_stride = p->v.row,
                             .b_column_stride = p->v.column,
                             .c = (float *)b->call->outputs[0].data + tort_matrix_offset(p, &p->y, b->matrix) +
                                  b->first * p->y.row,
                             .c_stride = p->y.row};
    multiply(b, &gemm);
}

static void attend_part(void *arg, int64_t begin, int64_t end) {
    const attention_job *job = arg;
    const tort_fused_attention_params *p = job->call->params;
    for (int64_t part = begin; part < end; part++) {
        attention_block b = {.call = job->call, .simd = job->simd};
        int64_t first, last;
        b.buffer = (float *)((char *)job->call->scratch + (size_t)part * job->buffer_bytes);
        b.scores = b.buffer + tort_packed_gemm_buffer(job->simd, false, false) / sizeof(float);
        b.row = b.scores + job->rows * p->keys;
        tort_cpu_share(p->outer * p->inner * job->blocks, 1, part, job->parts, &first, &last);
        for (int64_t i = first; i < last; i++) {
            b.matrix = i / job->blocks;
            b.first = i % job->blocks * job->rows;
            b.count = p->queries - b.first < job->rows ? p->queries - b.first : job->rows;
            make_scores(&b);
            normalize(&b);
            make_output(&b);
        }
    }
}

static tort_status run_attention(const tort_call *call) {
    const tort_fused_attention_params *p = call->params;
    const tort_cpu_device *device = call->device;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    attention_job job = {.call = call, .simd = device->simd, .parts = device->threads};
    job.rows = block_rows(job.simd, p);
    job.blocks = (p->queries + job.rows - 1) / job.rows;
    if (!buffer_bytes(job.simd, p, &job.buffer_bytes)) return tort_out_of_memory(call->error, SIZE_MAX);
    const double small = 32 * 1024; /* products that are done before another thread would have begun */
    if ((double)p->outer * (double)p->inner * (double)p->queries * (double)p->keys *
            (double)(p->key_size + p->value_size) <
        small)
        job.parts = 1;
    tort_cpu_parts(call, job.parts, attend_part, &job);
    return TORT_OK;
}

const tort_kernel tort_cpu_attention[] = {
    {.domain = "tinyort",
     .op = "FusedAttention",
     .name = "attention_blocks",
     .claim = claim_attention,
     .size = size_attention,
     .run = run_attention},
    {.op = NULL},
};
