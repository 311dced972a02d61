/* heads.c - all attention operators, blocked over queries: the scores of a block stay in the L2 cache from the first
 * product to the second. float16 and bfloat16 are computed in float.
 *
 * Only queries are blocked: a block has the scores of all keys, so softmax is the plain one over whole rows.
 * (FlashAttention, Dao et al. 2022, blocks keys too and so needs the online softmax; kernels/cuda/attend.h does that.)
 * The block size does not depend on the number of threads, so neither do the results.
 *
 * A block computes scores only for keys first..last, bounded by causality, windows and lengths: causal attention makes
 * about half of the products. With one query per head (decoding), a block's rows are the heads of a group that share
 * their keys (grouped-query attention, Ainslie et al. 2023), so that keys are read once per group.
 * Cost: queries * visible keys * (key_size + value_size) multiply-adds per head.
 * Example: 32 query heads with 8 key heads, one query, 1000 keys: blocks of 4 rows, and 8 instead of 32 passes over
 * keys.
 * Read next: ops/heads.h (the meaning), attend.h. */
#include "ops/fused_attention.h"
#include "kernels/cpu/attend.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/packed_gemm.h"
#include "kernels/cpu/product.h"
#include "kernels/cpu/sizes.h"
#include "ops/extent.h"
#include "ops/heads.h"
#include "runtime/core/base/memory.h"

#include <math.h>

enum { QUERY = TORT_HEADS_QUERY, KEY, VALUE }; /* also the first inputs of Attention of ONNX */

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Memory of a part, as offsets behind packed keys and values: scores of a block, a row of them, and outputs of a block.
 */
typedef struct heads_memory {
    size_t scores, row, outputs, bytes;
} heads_memory;

/* More keys mean fewer rows per block, so that the scores stay in the cache. False: overflow. */
static bool lay_out_memory(const tort_simd *simd, const tort_heads_params *p, heads_memory *m) {
    const int64_t keys = tort_heads_capacity(p);
    size_t outputs;
    m->scores = m->bytes = tort_attend_buffer(simd, keys, p->key_size, p->value_size);
    if (!tort_cpu_reserve_floats(&m->bytes, tort_attend_score_floats(simd, keys))) return false;
    m->row = m->bytes;
    if (!tort_cpu_reserve_floats(&m->bytes, keys + 1)) return false;
    m->outputs = m->bytes;
    return tort_mul_size(TORT_ATTEND_MAX_ROWS, (uint64_t)p->value_size, &outputs) && outputs <= PTRDIFF_MAX &&
           tort_cpu_reserve_floats(&m->bytes, (int64_t)outputs) &&
           tort_cpu_reserve_floats(&m->bytes, tort_heads_room(p));
}

static tort_status size_heads(const tort_target *target, const tort_node_view *node, size_t *scratch,
                              tort_error *error) {
    heads_memory memory;
    if (lay_out_memory(tort_simd_choose(target->instructions), node->params, &memory) &&
        tort_heads_rows_bytes(node, node->params, TORT_FLOAT, scratch) &&
        tort_mul_size(memory.bytes, (uint64_t)target->threads, &memory.bytes) &&
        tort_add_size(*scratch, memory.bytes, scratch))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

typedef struct heads_job {
    const tort_heads_run *run;
    const tort_simd *simd;
    int64_t length, rows, blocks; /* rows of a line and of a block; blocks of a line */
    int64_t lines;                /* lines that see the same keys */
    char *parts;
    heads_memory memory; /* of a part */
    int32_t count;       /* of parts */
} heads_job;

/* A block: rows of a line, which are the queries of a head, or, where each head has one query, heads of a group. */
typedef struct heads_block {
    const heads_job *job;
    tort_attend attend;
    int64_t batch, head, query, rows, stride; /* of the first row; rows; from row to row of scores */
    bool across;                              /* rows are heads */
    int64_t first, last;                      /* keys that have scores; first is a multiple of TORT_ATTEND_STEP */
    float *buffer, *scores, *row, *outputs;
} heads_block;

/* Adds mask_filter and `hidden` to the scores of hidden keys. In float, where a sum with the lowest float is that float
 * again: keys that a mask hides with it count like those hidden by causality. */
static void hide(const heads_block *b, int64_t query, float *scores) {
    const tort_heads_run *run = b->job->run;
    int64_t first, last;
    tort_heads_visible(run, b->batch, query, &first, &last);
    for (int64_t j = first; run->p->mask_kind != TORT_HEADS_NO_MASK && j < last; j++)
        if (tort_heads_is_hidden(run, b->batch, query, j)) scores[j - b->first] += (float)run->p->mask_filter;
    for (int64_t j = b->first; j < first; j++) scores[j - b->first] += (float)run->p->hidden;
    for (int64_t j = last; j < b->last; j++) scores[j - b->first] += (float)run->p->hidden;
}

/* Replaces scores of keys first .. last-1. */
static void replace(const heads_block *b, int64_t head, int64_t query, int64_t first, int64_t last, float *scores) {
    const tort_heads_params *p = b->job->run->p;
    const int64_t from = tort_heads_row_at(&p->keep_strides, b->batch, head, query), step = p->keep_strides.element;
    const uint8_t *kept = (const uint8_t *)b->job->run->call->inputs[p->keep].data + from + first * step;
    for (int64_t j = 0; j < last - first; j++)
        if ((kept[j * step] != 0) != p->keep_where) scores[j] = (float)p->fill;
}

/* Adds the bias to the scores of keys first .. last-1. */
static void add_bias(const heads_block *b, int64_t head, int64_t query, int64_t first, int64_t last, float *scores) {
    const tort_heads_params *p = b->job->run->p;
    const tort_tensor *bias = &b->job->run->call->inputs[p->score_bias];
    const int64_t step = p->score_bias_strides.element;
    const int64_t from = tort_heads_row_at(&p->score_bias_strides, b->batch, head, query) + first * step;
    const tort_epilogue sum = {.activation = TORT_ACTIVATION_NONE};
    const float *row = (const float *)bias->data + from;
    if (bias->type != TORT_FLOAT) tort_load_floats(bias->type, bias->data, from, last - first, b->row);
    if (bias->type != TORT_FLOAT) row = b->row;
    if (step == 1)
        b->job->simd->finish(&sum, row, scores, last - first);
    else
        for (int64_t j = 0; j < last - first; j++) scores[j] += *row;
}

static void cap(const heads_block *b, float *scores, int64_t count) {
    const float softcap = (float)b->job->run->p->softcap;
    for (int64_t j = 0; j < count; j++) scores[j] /= softcap;
    b->job->simd->map(TORT_ACTIVATION_TANH, 0, 0, scores, scores, count);
    for (int64_t j = 0; j < count; j++) scores[j] *= softcap;
}

/* Stores keys first .. last-1 of a row of the output of scores, 0 elsewhere, if it shows this stage. */
static void show_scores(const heads_block *b, int64_t stage, int64_t head, int64_t query, int64_t first, int64_t last,
                        const float *scores) {
    const tort_heads_params *p = b->job->run->p;
    if (p->scores_stage != stage) return;
    const tort_tensor *out = &b->job->run->call->outputs[p->scores];
    const int64_t length = out->dims[3];
    const int64_t at = ((b->batch * p->query_heads + head) * p->queries + query) * length;
    for (int64_t j = 0; j < length; j++) b->row[j] = j < first || j >= last ? 0 : scores[j - first];
    tort_store_floats(out->type, out->data, at, length, b->row);
}

static bool is_empty(const float *scores, int64_t count) {
    for (int64_t j = 0; j < count; j++)
        if (scores[j] != -INFINITY) return false;
    return true;
}

/* Turns the scores of keys first .. last-1 into weights. The sink follows the keys. */
static void normalize(const heads_block *b, int64_t head, float *scores, int64_t count) {
    const tort_heads_params *p = b->job->run->p;
    const bool sinks = p->smooth || p->sink >= 0;
    if (p->empty_is_zero && (p->score_bias >= 0 || p->keep >= 0) && is_empty(scores, count)) {
        for (int64_t j = 0; j < count; j++) scores[j] = 0;
        return;
    }
    if (sinks) scores[count] = p->sink >= 0 ? (float)tort_element_at(&b->job->run->call->inputs[p->sink], head) : 0;
    b->job->simd->softmax_row(scores, scores, count + sinks);
    for (int64_t j = 0; j < count && p->nan_to_zero; j++)
        if (isnan(scores[j])) scores[j] = 0;
}

/* Turns a row of products into weights; those of keys without a score are 0. */
static void weigh(const heads_block *b, int64_t head, int64_t query, float *row) {
    const tort_heads_params *p = b->job->run->p;
    int64_t first, last;
    tort_heads_scored(b->job->run, b->batch, query, &first, &last);
    float *scores = row + (first - b->first);
    if (p->scores >= 0) show_scores(b, TORT_HEADS_PRODUCTS, head, query, first, last, scores);
    if (p->softcap > 0) cap(b, scores, last - first);
    if (p->scores >= 0) show_scores(b, TORT_HEADS_CAPPED, head, query, first, last, scores);
    if (p->keep >= 0) replace(b, head, query, first, last, scores);
    if (p->score_bias >= 0) add_bias(b, head, query, first, last, scores);
    if (p->scores_all) hide(b, query, row);
    if (p->scores >= 0) show_scores(b, TORT_HEADS_BIASED, head, query, first, last, scores);
    normalize(b, head, scores, last - first);
    for (int64_t j = b->first; j < first; j++) row[j - b->first] = 0;
    for (int64_t j = last; j < b->last; j++) row[j - b->first] = 0;
    if (p->scores >= 0) show_scores(b, TORT_HEADS_WEIGHTS, head, query, first, last, scores);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static const float *rows_at(const heads_block *b, int32_t which, int64_t head, int64_t position) {
    const tort_heads_plane *plane = &b->job->run->planes[which];
    return (const float *)plane->rows + tort_heads_row_at(&plane->strides, b->batch, head, position);
}

static void attend_block(heads_block *b) {
    const tort_heads_run *run = b->job->run;
    const tort_heads_params *p = run->p;
    const tort_head_strides *from = &run->planes[QUERY].strides, *to = &p->output.strides;
    const tort_tensor *y = &run->call->outputs[0];
    const tort_attend_matrix queries = {.data = rows_at(b, QUERY, b->head, b->query),
                                        .row = b->across ? from->head : from->position,
                                        .column = from->element};
    const int64_t at = tort_heads_row_at(to, b->batch, b->head, b->query), step = b->across ? to->head : to->position;
    const bool direct = y->type == TORT_FLOAT;
    int64_t unused;
    tort_heads_scored(run, b->batch, b->query, &b->first, &unused);
    tort_heads_scored(run, b->batch, b->across ? 0 : b->query + b->rows - 1, &unused, &b->last);
    b->first -= b->first % TORT_ATTEND_STEP;
    b->stride = tort_attend_stride(b->last - b->first);
    tort_attend_scores(&b->attend, &queries, b->rows, b->first, b->last, (float)p->scale, b->scores, b->stride);
    for (int64_t i = 0; i < b->rows && tort_attend_row_goes_on(run->call, b->last - b->first); i++)
        weigh(b, b->head + (b->across ? i : 0), b->query + (b->across ? 0 : i), b->scores + i * b->stride);
    tort_attend_sum(&b->attend, b->scores, b->stride, b->rows, b->first, b->last,
                    direct ? (float *)y->data + at : b->outputs, direct ? step : p->value_size);
    for (int64_t i = 0; i < b->rows && !direct; i++)
        tort_store_floats(y->type, y->data, at + i * step, p->value_size, b->outputs + i * p->value_size);
}

static tort_attend_matrix matrix_of(const heads_block *b, int32_t which, int64_t head) {
    const tort_head_strides *strides = &b->job->run->planes[which].strides;
    return (tort_attend_matrix){
        .data = rows_at(b, which, head, 0), .row = strides->position, .column = strides->element};
}

/* Starts the keys and values of a head. Queries whose elements are apart need packing. */
static void begin_keys(heads_block *b, int64_t key_head) {
    const tort_heads_run *run = b->job->run;
    b->attend = (tort_attend){.call = run->call,
                              .simd = b->job->simd,
                              .count = run->spans[b->batch].total,
                              .key_size = run->p->key_size,
                              .value_size = run->p->value_size,
                              .keys = matrix_of(b, KEY, key_head),
                              .values = matrix_of(b, VALUE, key_head)};
    tort_attend_begin(&b->attend, run->planes[QUERY].strides.element == 1 ? b->job->length : INT64_MAX, b->buffer);
}

static void attend_parts(void *arg, int64_t begin, int64_t end) {
    const heads_job *job = arg;
    const tort_heads_params *p = job->run->p;
    const int64_t per_head = job->lines * job->blocks, group = tort_heads_group(p);
    for (int64_t part = begin; part < end; part++) {
        char *memory = job->parts + (size_t)part * job->memory.bytes;
        heads_block b = {.job = job,
                         .across = p->queries == 1,
                         .buffer = (float *)memory,
                         .scores = (float *)(memory + job->memory.scores),
                         .row = (float *)(memory + job->memory.row),
                         .outputs = (float *)(memory + job->memory.outputs)};
        int64_t first, last;
        tort_cpu_share(p->batch * p->key_heads * per_head, 1, part, job->count, &first, &last);
        for (int64_t i = first; i < last && tort_call_goes_on(job->run->call, 0); i++) {
            const int64_t key_head = i / per_head % p->key_heads, from = i % job->blocks * job->rows;
            b.batch = i / per_head / p->key_heads;
            if (i == first || i % per_head == 0) begin_keys(&b, key_head);
            b.rows = tort_min(job->length - from, job->rows);
            b.head = key_head * group + (b.across ? from : i % per_head / job->blocks);
            b.query = b.across ? 0 : from;
            attend_block(&b);
        }
    }
}

static void lay_out_parts(void *arg, int64_t begin, int64_t end) {
    const heads_job *job = arg;
    for (int64_t part = begin; part < end; part++) {
        int64_t first, last;
        tort_cpu_share(tort_heads_laid_out(job->run), 1, part, job->count, &first, &last);
        tort_heads_lay_out(job->run, first, last, (float *)(job->parts + (size_t)part * job->memory.bytes));
    }
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

/* Returns the parts that so much work is worth: floats that are copied, or multiply-adds. */
static int32_t parts_of(const tort_cpu_device *device, double work) {
    const double small = 32 * 1024; /* done before another thread would have started */
    return work < small ? 1 : device->threads;
}

/* projected: as of tort_heads_begin. */
static tort_status attend(const tort_call *call, const float *projected, char *scratch) {
    const tort_heads_params *p = call->params;
    const tort_cpu_device *device = call->device;
    tort_heads_run run = {.call = call, .p = p, .type = TORT_FLOAT};
    heads_job job = {.run = &run, .simd = device->simd};
    const double sizes = (double)(p->key_size + p->value_size);
    const int64_t group = tort_heads_group(p);
    tort_status status = tort_heads_begin(&run, projected, &scratch);
    if (status) return status;
    if (!lay_out_memory(job.simd, p, &job.memory)) return tort_out_of_memory(call->error, SIZE_MAX);
    const double floats = (double)p->batch * (double)p->key_heads * (double)run.longest * sizes;
    job.parts = scratch;
    job.count = parts_of(device, floats);
    if (tort_heads_laid_out(&run) > 0) tort_cpu_parts(call, job.count, lay_out_parts, &job);
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    job.length = p->queries == 1 ? group : p->queries;
    job.lines = p->queries == 1 ? 1 : group;
    job.rows = tort_attend_block_rows(job.simd, tort_heads_capacity(p));
    job.blocks = (job.length + job.rows - 1) / job.rows;
    job.count = parts_of(device, floats * (double)group * (double)p->queries);
    tort_cpu_parts(call, job.count, attend_parts, &job);
    return TORT_OK;
}

static tort_status run_heads(const tort_call *call) {
    return attend(call, NULL, call->scratch);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static tort_verdict claim_attention(const tort_target *target, const tort_node_view *node) {
    const tort_heads_params *p = node->params;
    if (p->scores >= 0) return tort_no(TORT_NO_ATTR, "", "does not make qk_matmul_output");
    if (tort_attr_int(node, "softmax_precision") == TORT_DOUBLE)
        return tort_no(TORT_NO_ATTR, "", "computes in float, softmax_precision is double");
    if (node->inputs[VALUE].type != TORT_FLOAT)
        return tort_no(TORT_NO_TYPE, "", "is for float, V is %s", tort_type_name(node->inputs[VALUE].type));
    if (p->score_bias >= 0 && node->inputs[p->score_bias].type != TORT_FLOAT)
        return tort_no(TORT_NO_TYPE, "", "takes a mask of float or bool, attn_mask is %s",
                       tort_type_name(node->inputs[p->score_bias].type));
    return tort_cpu_claim_float(target, node);
}

static tort_verdict claim_fused(const tort_target *target, const tort_node_view *node) {
    int32_t count = 0;
    const int64_t *perm = tort_attr_ints(node, "y_perm", &count);
    if (count && perm[count - 1] != count - 1)
        return tort_no(TORT_NO_ATTR, "", "writes rows whose elements lie together, y_perm moves the last axis");
    return tort_cpu_claim_float(target, node);
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
    return status ? status : attend(call, projected, scratch);
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
    {"", "Attention", "attention_blocks", .claim = claim_attention, .size = size_heads, .run = run_heads},
    {"tinyort", "FusedAttention", "attention_blocks", .claim = claim_fused, .size = size_heads, .run = run_heads,
     .strides.inputs = 1u << QUERY | 1u << KEY | 1u << VALUE, .strides.restride = tort_attention_restride},
    {"com.microsoft", "Attention", "heads_projected", .claim = tort_cpu_claim_float, .size = size_projected,
     .pack.size = pack_size_projected, .pack.in_parts = 1u << 1, .pack.writes_all = true, .prepare = prepare_projected,
     .run = run_projected, .caches = {4, 1, 1}},
    ROW("GroupQueryAttention", 3),
    ROW("MultiHeadAttention", 6),
    ROW("DecoderMaskedMultiHeadAttention", 5),
    {.op = NULL},
};
