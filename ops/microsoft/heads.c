/* heads.c - runs com.microsoft's attention operators, with the inner loops of any provider.
 *
 * Two passes, each divided among threads: rows are laid out, then blocks of queries attend to them. Read next:
 * heads_rows.c, the first pass. */
#include "ops/microsoft/heads.h"

#include "ops/extent.h"
#include "ops/microsoft/heads_run.h"
#include "runtime/core/base/memory.h"

#include <float.h>
#include <math.h>

/* ---- scores ------------------------------------------------------------------------------------------------------ */

/* A block of rows: queries of one head, or, where each head has one query, heads of a group that share their keys. */
typedef struct heads_block {
    const heads_job *job;
    int64_t batch, head, query, rows; /* of the first row */
    bool across;                      /* rows are heads */
    int64_t first, last;              /* keys that any of them sees */
    float *buffer, *scores, *bias, *outputs;
} heads_block;

/* Stride between rows of scores: room for the keys and a sink, a multiple of TORT_HEADS_STEP. */
static int64_t score_stride(int64_t keys) {
    return keys / TORT_HEADS_STEP * TORT_HEADS_STEP + TORT_HEADS_STEP;
}

/* True if keys that causality hides get scores, too, with the lowest float added. If scores have no mask and no bias
 * and are not output, such keys can be left out instead. */
static bool sees_all(const tort_heads_params *p) {
    return p->lengths < 0 && (p->mask_kind != TORT_HEADS_NO_MASK || p->score_bias >= 0 || p->scores >= 0);
}

/* First key that causality hides from a query. Without lengths the last query sees all keys, even if there are more of
 * them than queries, as in onnxruntime. */
static int64_t causal_end(const heads_job *job, int64_t batch, int64_t query) {
    const tort_heads_params *p = job->p;
    const heads_span span = job->spans[batch];
    const bool all = !p->causal || (p->lengths < 0 && query == p->queries - 1);
    return all || span.before + query + 1 > span.total ? span.total : span.before + query + 1;
}

/* Range *first .. *last-1 of keys that count for a query; those that a mask hides count, too. */
static void visible(const heads_job *job, int64_t batch, int64_t query, int64_t *first, int64_t *last) {
    const tort_heads_params *p = job->p;
    *last = sees_all(p) ? job->spans[batch].total : causal_end(job, batch, query);
    *first = p->causal && p->left_window >= 0 && *last > p->left_window ? *last - p->left_window : 0;
}

static bool is_hidden(const heads_job *job, int64_t batch, int64_t query, int64_t key) {
    const tort_heads_params *p = job->p;
    const int32_t *mask = job->call->inputs[p->mask].data;
    if (p->mask_kind == TORT_HEADS_ELEMENTS)
        return mask[p->mask_offset + batch * p->mask_strides[0] + query * p->mask_strides[1] +
                    key * p->mask_strides[2]] <= 0;
    return key >= mask[batch] || (p->mask_kind == TORT_HEADS_INTERVAL && key < mask[p->batch + batch]);
}

/* Adds mask_filter and the lowest float to hidden keys. In float, where a sum with the lowest float is that float
 * again: keys hidden by mask and causality count like those hidden by causality alone. */
static void add_mask(const heads_block *b, int64_t query, float *scores) {
    const tort_heads_params *p = b->job->p;
    const int64_t end = causal_end(b->job, b->batch, query);
    for (int64_t j = b->first; p->mask_kind != TORT_HEADS_NO_MASK && j < end; j++)
        if (is_hidden(b->job, b->batch, query, j)) scores[j - b->first] += (float)p->mask_filter;
    for (int64_t j = end; j < b->last; j++) scores[j - b->first] += -FLT_MAX;
}

static void add_bias(const heads_block *b, int64_t head, int64_t query, float *scores) {
    const tort_heads_params *p = b->job->p;
    const tort_tensor *bias = &b->job->call->inputs[p->score_bias];
    const int64_t from = b->batch * p->score_bias_strides[0] + head * p->score_bias_strides[1] +
                         query * p->score_bias_strides[2] + b->first;
    const float *row = bias->type == TORT_FLOAT ? (const float *)bias->data + from : b->bias;
    if (row == b->bias) tort_load_floats(bias->type, bias->data, from, b->last - b->first, b->bias);
    for (int64_t j = 0; j < b->last - b->first; j++) scores[j] += row[j];
}

/* Stores keys first .. last-1 of a row of the output of scores, 0 elsewhere, if it shows this stage. */
static void show_scores(const heads_block *b, int64_t stage, int64_t head, int64_t query, int64_t first, int64_t last,
                        const float *scores) {
    const tort_heads_params *p = b->job->p;
    if (p->scores < 0 || p->scores_stage != stage) return;
    const tort_tensor *out = &b->job->call->outputs[p->scores];
    const int64_t length = out->dims[3];
    const int64_t at = ((b->batch * p->query_heads + head) * p->queries + query) * length;
    float *row = b->bias;
    if (last > length) last = length;
    for (int64_t j = 0; j < length; j++) row[j] = j < first || j >= last ? 0 : scores[j - b->first];
    tort_store_floats(out->type, out->data, at, length, row);
}

/* Turns scores into probabilities, over keys first .. last-1. */
static void normalize(const heads_block *b, int64_t head, int64_t first, int64_t last, float *scores) {
    const tort_heads_params *p = b->job->p;
    const bool sinks = p->smooth || p->sink >= 0;
    const int64_t count = last - first;
    for (int64_t j = b->first; j < first; j++) scores[j - b->first] = 0;
    /* The sink follows the keys. */
    float *row = scores + (first - b->first);
    if (sinks) row[count] = p->sink >= 0 ? (float)tort_element_at(&b->job->call->inputs[p->sink], head) : 0;
    b->job->loops->softmax(row, row, count + sinks);
    for (int64_t j = last; j < b->last; j++) scores[j - b->first] = 0;
}

static void finish_scores(const heads_block *b) {
    const tort_heads_params *p = b->job->p;
    const int64_t stride = score_stride(b->last - b->first);
    for (int64_t r = 0; r < b->rows; r++) {
        const int64_t head = b->head + (b->across ? r : 0), query = b->query + (b->across ? 0 : r);
        float *scores = b->scores + r * stride;
        int64_t first, last;
        visible(b->job, b->batch, query, &first, &last);
        show_scores(b, 0, head, query, first, last, scores);
        if (p->softcap > 0)
            for (int64_t j = first - b->first; j < last - b->first; j++)
                scores[j] = (float)p->softcap * tanhf(scores[j] / (float)p->softcap);
        if (p->score_bias >= 0) add_bias(b, head, query, scores);
        if (sees_all(p)) add_mask(b, query, scores);
        show_scores(b, 1, head, query, first, last, scores);
        normalize(b, head, first, last, scores);
        show_scores(b, 2, head, query, first, last, scores);
    }
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static const float *row_at(const heads_plane *plane, int64_t batch, int64_t head, int64_t position) {
    return plane->rows + batch * plane->strides.batch + head * plane->strides.head + position * plane->strides.position;
}

static void make_scores(const heads_block *b) {
    const heads_job *job = b->job;
    const tort_heads_params *p = job->p;
    const int64_t key_head = b->head / (p->query_heads / p->key_heads);
    const tort_heads_product product = {.a = row_at(&job->query, b->batch, b->head, b->query),
                                        .a_stride = b->across ? job->query.strides.head : job->query.strides.position,
                                        .b = row_at(&job->key, b->batch, key_head, b->first),
                                        .b_stride = job->key.strides.position,
                                        .c = b->scores,
                                        .c_stride = score_stride(b->last - b->first),
                                        .rows = b->rows,
                                        .columns = b->last - b->first,
                                        .depth = p->key_size,
                                        .first = b->first,
                                        .scale = (float)p->scale};
    job->loops->score(job->loops->own, &product, b->buffer);
}

static void make_output(const heads_block *b) {
    const heads_job *job = b->job;
    const tort_heads_params *p = job->p;
    const tort_tensor *y = &job->call->outputs[0];
    const int64_t key_head = b->head / (p->query_heads / p->key_heads);
    const tort_head_strides *to = &p->output.strides;
    const int64_t at = b->batch * to->batch + b->head * to->head + b->query * to->position;
    const int64_t stride = b->across ? to->head : to->position;
    const bool plain = y->type == TORT_FLOAT;
    const tort_heads_product product = {.a = b->scores,
                                        .a_stride = score_stride(b->last - b->first),
                                        .b = row_at(&job->value, b->batch, key_head, b->first),
                                        .b_stride = job->value.strides.position,
                                        .c = plain ? (float *)y->data + at : b->outputs,
                                        .c_stride = plain ? stride : p->value_size,
                                        .rows = b->rows,
                                        .columns = p->value_size,
                                        .depth = b->last - b->first,
                                        .first = b->first,
                                        .scale = 1};
    job->loops->sum(job->loops->own, &product, b->buffer);
    for (int64_t r = 0; r < b->rows && !plain; r++)
        tort_store_floats(y->type, y->data, at + r * stride, p->value_size, b->outputs + r * p->value_size);
}

/* Length of a line, which is divided into blocks: the queries of a head, or the heads of a group. */
static int64_t line_length(const tort_heads_params *p) {
    return p->queries == 1 ? p->query_heads / p->key_heads : p->queries;
}

static void attend_block(const heads_job *job, int64_t index, char *part) {
    const tort_heads_params *p = job->p;
    const int64_t length = line_length(p), max = job->loops->max_rows, blocks = (length + max - 1) / max;
    const int64_t line = index / blocks, from = index % blocks * max, keys = tort_heads_capacity(p) + 1;
    const int64_t lines = p->queries == 1 ? p->key_heads : p->query_heads;
    heads_block b = {.job = job, .batch = line / lines, .across = p->queries == 1};
    b.head = b.across ? line % lines * length + from : line % lines;
    b.query = b.across ? 0 : from;
    b.rows = length - from < max ? length - from : max;
    b.buffer = (float *)part;
    b.scores = (float *)(part + job->loops->buffer_bytes);
    b.bias = b.scores + job->loops->score_room;
    b.outputs = b.bias + keys;
    int64_t unused;
    visible(job, b.batch, b.query, &b.first, &unused);
    visible(job, b.batch, b.across ? 0 : b.query + b.rows - 1, &unused, &b.last);
    b.first -= b.first % TORT_HEADS_STEP;
    make_scores(&b);
    finish_scores(&b);
    make_output(&b);
}

/* Gives the inner loops the keys that the queries of a block see. */
static void begin_keys(const heads_job *job, int64_t group, char *part) {
    const tort_heads_params *p = job->p;
    const int64_t batch = group / p->key_heads, head = group % p->key_heads;
    const tort_heads_keys keys = {.keys = row_at(&job->key, batch, head, 0),
                                  .values = row_at(&job->value, batch, head, 0),
                                  .key_stride = job->key.strides.position,
                                  .value_stride = job->value.strides.position,
                                  .count = job->spans[batch].total,
                                  .key_size = p->key_size,
                                  .value_size = p->value_size,
                                  .rows = line_length(p)};
    if (job->loops->begin) job->loops->begin(job->loops->own, &keys, (float *)part);
}

static void attend_parts(void *arg, int64_t begin, int64_t end) {
    const heads_job *job = arg;
    const tort_heads_params *p = job->p;
    const int64_t max = job->loops->max_rows, blocks = (line_length(p) + max - 1) / max;
    const int64_t lines = p->queries == 1 ? 1 : p->query_heads / p->key_heads; /* lines that see the same keys */
    const int64_t count = p->batch * p->key_heads * lines * blocks;
    for (int64_t part = begin; part < end; part++) {
        const int64_t first = count * part / job->loops->parts;
        for (int64_t i = first; i < count * (part + 1) / job->loops->parts; i++) {
            char *room = job->parts + (size_t)part * job->part_bytes;
            if (!tort_call_goes_on(job->call, 0)) return;
            if (i == first || i % (lines * blocks) == 0) begin_keys(job, i / (lines * blocks), room);
            attend_block(job, i, room);
        }
    }
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

/* Estimate of the nanoseconds of a part, at 8 operations each. */
static int64_t part_work(const tort_heads_loops *loops, double operations) {
    const double work = operations / 8 / loops->parts;
    return work < 1e15 ? (int64_t)work + 1 : (int64_t)1e15;
}

tort_status tort_heads_attend(const tort_call *call, const tort_heads_loops *loops, const float *projected,
                              void *scratch) {
    const tort_heads_params *p = call->params;
    heads_job job = {.call = call, .p = p, .loops = loops};
    if (!tort_heads_part_bytes(p, loops, &job.part_bytes)) return tort_out_of_memory(call->error, SIZE_MAX);
    tort_status status = tort_heads_begin(&job, projected, scratch);
    if (status) return status;
    const double rows = (double)p->batch * (double)tort_heads_capacity(p) * (double)p->key_heads;
    const double pairs = (double)p->batch * (double)p->query_heads * (double)p->queries * (double)job.longest;
    const double sizes = (double)(p->key_size + p->value_size);
    tort_parallel(call, loops->parts, part_work(loops, 2 * rows * sizes), tort_heads_lay_out, &job);
    if (tort_count(&call->outputs[0]) > 0)
        tort_parallel(call, loops->parts, part_work(loops, pairs * sizes), attend_parts, &job);
    return TORT_OK;
}

/* ---- the plain loop ---------------------------------------------------------------------------------------------- */

static void plain_score(const void *own, const tort_heads_product *g, float *buffer) {
    (void)own, (void)buffer;
    for (int64_t i = 0; i < g->rows; i++)
        for (int64_t j = 0; j < g->columns; j++) {
            const float *a = g->a + i * g->a_stride, *b = g->b + j * g->b_stride;
            double sum = 0;
            for (int64_t k = 0; k < g->depth; k++) sum += (double)a[k] * (double)b[k];
            g->c[i * g->c_stride + j] = (float)((double)g->scale * sum);
        }
}

static void plain_sum(const void *own, const tort_heads_product *g, float *buffer) {
    (void)own, (void)buffer;
    for (int64_t i = 0; i < g->rows; i++)
        for (int64_t first = 0; first < g->columns; first += TORT_BLOCK) {
            const int64_t count = tort_block_count(g->columns, first);
            double sums[TORT_BLOCK] = {0};
            for (int64_t k = 0; k < g->depth; k++) {
                const double weight = (double)g->a[i * g->a_stride + k];
                const float *b = g->b + k * g->b_stride + first;
                for (int64_t j = 0; j < count; j++) sums[j] += weight * (double)b[j];
            }
            for (int64_t j = 0; j < count; j++) g->c[i * g->c_stride + first + j] = (float)sums[j];
        }
}

static void plain_softmax(const float *x, float *y, int64_t count) {
    double max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < count; j++)
        if (!((double)x[j] <= max)) max = (double)x[j];
    for (int64_t j = 0; j < count; j++) sum += exp((double)x[j] - max);
    for (int64_t j = 0; j < count; j++) y[j] = (float)(exp((double)x[j] - max) / sum);
}

tort_heads_loops tort_heads_plain_loops(const tort_heads_params *p) {
    const int64_t items = p->batch * p->key_heads, max = 16, keys = tort_heads_capacity(p);
    return (tort_heads_loops){.score = plain_score,
                              .sum = plain_sum,
                              .softmax = plain_softmax,
                              .parts = (int32_t)(items < 1     ? 1
                                                 : items < max ? items
                                                               : max),
                              .max_rows = max,
                              .row_room = max,
                              .score_room =
                                  keys < INT64_MAX / max - TORT_HEADS_STEP ? max * score_stride(keys) : INT64_MAX};
}

/* Computes rows begin .. end-1 of the projection, one per row of the input. */
static void project_rows(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_heads_params *p = call->params;
    const tort_tensor *x = &call->inputs[0], *w = &call->inputs[1], *bias = tort_call_input(call, 2);
    for (int64_t row = begin; row < end; row++)
        for (int64_t first = 0; first < p->projected_size; first += TORT_BLOCK) {
            const int64_t count = tort_block_count(p->projected_size, first);
            double sums[TORT_BLOCK] = {0}, weights[TORT_BLOCK];
            if (bias) tort_load_doubles(bias->type, bias->data, first, count, sums);
            for (int64_t k = 0; k < p->input_size; k++) {
                const double element = tort_element_at(x, row * p->input_size + k);
                tort_load_doubles(w->type, w->data, k * p->projected_size + first, count, weights);
                for (int64_t j = 0; j < count; j++) sums[j] += element * weights[j];
            }
            tort_store_doubles(TORT_FLOAT, call->scratch, row * p->projected_size + first, count, sums);
        }
}

tort_status tort_heads_reference(const tort_call *call) {
    const tort_heads_params *p = call->params;
    const tort_heads_loops loops = tort_heads_plain_loops(p);
    size_t projection = 0;
    if (!tort_heads_projection(p, &projection)) return tort_out_of_memory(call->error, SIZE_MAX);
    const float *projected = p->query.operand == TORT_HEADS_PROJECTED ? call->scratch : NULL;
    if (projected)
        tort_parallel(call, p->batch * p->queries, p->input_size * p->projected_size, project_rows, (void *)call);
    return tort_heads_attend(call, &loops, projected, (char *)call->scratch + projection);
}
