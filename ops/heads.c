/* heads.c - the plain loop of attention with heads: softmax(query * keys, masked) * values.
 *
 * Scores, weights and sums are doubles, and round once, at the end; that is more precise than any softmax_precision.
 * Two passes, each divided among threads: rows are laid out, then each query attends to them. Read next: heads_rows.c,
 * the first pass. */
#include "ops/heads.h"

#include "ops/extent.h"
#include "runtime/core/base/memory.h"

#include <math.h>

enum { QUERY = TORT_HEADS_QUERY, KEY, VALUE };

/* ---- params ------------------------------------------------------------------------------------------------------ */

void tort_heads_clear(tort_heads_params *p) {
    int64_t *const absent[] = {&p->query.operand,
                               &p->key.operand,
                               &p->value.operand,
                               &p->past_key.operand,
                               &p->past_value.operand,
                               &p->present_key,
                               &p->present_value,
                               &p->bias,
                               &p->cosines,
                               &p->sines,
                               &p->positions,
                               &p->query_norm,
                               &p->key_norm,
                               &p->past_count,
                               &p->lengths,
                               &p->total,
                               &p->valid,
                               &p->mask,
                               &p->keep,
                               &p->score_bias,
                               &p->beams,
                               &p->beam_choices,
                               &p->sink,
                               &p->scores,
                               &p->left_window,
                               &p->right_window};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) *absent[i] = TORT_HEADS_NONE;
    for (int32_t i = 0; i < 3; i++) p->bias_offsets[i] = -1;
    p->end = INT64_MAX;
}

bool tort_heads_projection(const tort_heads_params *p, size_t *bytes) {
    *bytes = 0;
    if (p->query.operand != TORT_HEADS_PROJECTED) return true;
    return tort_mul_size((uint64_t)p->batch, (uint64_t)p->queries, bytes) &&
           tort_mul_size(*bytes, (uint64_t)p->projected_size, bytes) && tort_mul_size(*bytes, sizeof(float), bytes) &&
           tort_align_size(*bytes, TORT_HOST_ALIGN, bytes);
}

/* Number of workers: one per head, but at most 32, since each has its own scratch. */
static int64_t worker_count(const tort_heads_params *p) {
    const int64_t heads = p->batch * p->query_heads;
    return heads < 1 ? 1 : heads < 32 ? heads : 32;
}

/* Scratch of a worker, in doubles: scores, sums, and room to lay out rows. */
static bool worker_doubles(const tort_heads_params *p, size_t *doubles) {
    return tort_add_size((uint64_t)tort_heads_capacity(p), (uint64_t)p->value_size, doubles) &&
           tort_add_size(*doubles, (uint64_t)tort_heads_room(p), doubles);
}

tort_status tort_heads_settle(tort_resolve *resolve) {
    tort_heads_params *p = resolve->params;
    size_t projection, rows, workers;
    if (tort_heads_projection(p, &projection) && tort_heads_rows_bytes(resolve->node, p, TORT_DOUBLE, &rows) &&
        worker_doubles(p, &workers) && tort_mul_size(workers, (uint64_t)worker_count(p) * sizeof(double), &workers) &&
        tort_add_size(projection, rows, &rows) && tort_add_size(rows, workers, &resolve->scratch_bytes))
        return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MEMORY, "%lld keys do not fit in memory",
                     (long long)tort_heads_capacity(p));
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

typedef struct heads_query {
    const tort_heads_run *run;
    int64_t batch, head, query;
    int64_t first, last;   /* keys that have scores */
    double *scores, *sums; /* scores of all keys */
} heads_query;

static const double *row_at(const heads_query *q, int32_t which, int64_t position) {
    const tort_heads_plane *plane = &q->run->planes[which];
    const int64_t head = which == QUERY ? q->head : q->head / tort_heads_group(q->run->p);
    return (const double *)plane->rows + tort_heads_row_at(&plane->strides, q->batch, head, position);
}

/* Stores the scores of all keys, if the output of scores shows this stage. */
static void show_scores(const heads_query *q, int64_t stage) {
    const tort_heads_params *p = q->run->p;
    if (p->scores < 0 || p->scores_stage != stage) return;
    const tort_tensor *out = &q->run->call->outputs[p->scores];
    const int64_t row = (q->batch * p->query_heads + q->head) * p->queries + q->query;
    tort_store_doubles(out->type, out->data, row * out->dims[3], out->dims[3], q->scores);
}

static void add_biases(const heads_query *q) {
    const tort_heads_params *p = q->run->p;
    const int64_t last = q->last < p->end ? q->last : p->end;
    const int64_t kept = tort_heads_row_at(&p->keep_strides, q->batch, q->head, q->query);
    const int64_t added = tort_heads_row_at(&p->score_bias_strides, q->batch, q->head, q->query);
    const tort_tensor *inputs = q->run->call->inputs;
    for (int64_t j = q->first; j < last && p->keep >= 0; j++)
        if ((((const uint8_t *)inputs[p->keep].data)[kept + j * p->keep_strides.element] != 0) != p->keep_where)
            q->scores[j] = p->fill;
    for (int64_t j = q->first; j < last && p->score_bias >= 0; j++)
        q->scores[j] += tort_element_at(&inputs[p->score_bias], added + j * p->score_bias_strides.element);
}

/* Adds what hides keys to their scores. The sum is a float, where a sum with the lowest float is that float again: keys
 * that a mask hides with it count alike, whatever their scores are. */
static void hide(const heads_query *q) {
    const tort_heads_params *p = q->run->p;
    int64_t first, last;
    tort_heads_visible(q->run, q->batch, q->query, &first, &last);
    for (int64_t j = q->first; j < q->last; j++) {
        if (j < first || j >= last)
            q->scores[j] = (double)(float)(q->scores[j] + p->hidden);
        else if (p->mask_kind != TORT_HEADS_NO_MASK && tort_heads_is_hidden(q->run, q->batch, q->query, j))
            q->scores[j] = (double)(float)(q->scores[j] + p->mask_filter);
    }
}

static void normalize(const heads_query *q) {
    const tort_heads_params *p = q->run->p;
    const double sink = p->sink >= 0 ? tort_element_at(&q->run->call->inputs[p->sink], q->head)
                        : p->smooth  ? 0
                                     : -INFINITY;
    double max = sink, sum = 0;
    for (int64_t j = q->first; j < q->last; j++)
        if (q->scores[j] > max || isnan(q->scores[j])) max = q->scores[j];
    const bool zero = p->empty_is_zero && max == -INFINITY;
    for (int64_t j = q->first; j < q->last; j++) sum += q->scores[j] = zero ? 0 : exp(q->scores[j] - max);
    if (sink != -INFINITY) sum += exp(sink - max);
    for (int64_t j = q->first; j < q->last && !zero; j++) {
        q->scores[j] /= sum;
        if (p->nan_to_zero && isnan(q->scores[j])) q->scores[j] = 0;
    }
}

/* Turns scores of products into weights. */
static void weigh(const heads_query *q) {
    const tort_heads_params *p = q->run->p;
    show_scores(q, TORT_HEADS_PRODUCTS);
    for (int64_t j = q->first; j < q->last && p->softcap > 0; j++)
        q->scores[j] = p->softcap * tanh(q->scores[j] / p->softcap);
    show_scores(q, TORT_HEADS_CAPPED);
    add_biases(q);
    hide(q);
    show_scores(q, TORT_HEADS_BIASED);
    normalize(q);
    show_scores(q, TORT_HEADS_WEIGHTS);
}

static void attend(heads_query *q) {
    const tort_heads_params *p = q->run->p;
    const tort_tensor *y = &q->run->call->outputs[0];
    const double *query = row_at(q, QUERY, q->query);
    tort_heads_scored(q->run, q->batch, q->query, &q->first, &q->last);
    for (int64_t j = 0; j < tort_heads_capacity(p); j++) q->scores[j] = 0;
    for (int64_t j = q->first; j < q->last; j++)
        q->scores[j] = p->scale * tort_dot(query, row_at(q, KEY, j), p->key_size);
    weigh(q);
    for (int64_t i = 0; i < p->value_size; i++) q->sums[i] = 0;
    for (int64_t j = q->first; j < q->last; j++) {
        const double weight = q->scores[j], *value = row_at(q, VALUE, j);
        if (weight == 0 && p->empty_is_zero) continue; /* a hidden key does not count, whatever its value is */
        for (int64_t i = 0; i < p->value_size; i++) q->sums[i] += weight * value[i];
    }
    const int64_t to = tort_heads_row_at(&p->output.strides, q->batch, q->head, q->query);
    const int64_t step = p->output.strides.element, together = step == 1 ? p->value_size : 1;
    for (int64_t i = 0; i < p->value_size; i += together)
        tort_store_doubles(y->type, y->data, to + i * step, together, q->sums + i);
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

typedef struct heads_job {
    const tort_heads_run *run;
    double *scratch; /* of all workers */
    size_t doubles;  /* of one */
    int64_t workers;
} heads_job;

static void lay_out(void *arg, int64_t begin, int64_t end) {
    const heads_job *job = arg;
    const int64_t heads = tort_heads_laid_out(job->run);
    for (int64_t worker = begin; worker < end; worker++)
        tort_heads_lay_out(job->run, heads * worker / job->workers, heads * (worker + 1) / job->workers,
                           (float *)(job->scratch + (size_t)worker * job->doubles));
}

/* Runs workers begin .. end-1; each takes every worker_count-th head. */
static void attend_heads(void *arg, int64_t begin, int64_t end) {
    const heads_job *job = arg;
    const tort_heads_params *p = job->run->p;
    for (int64_t worker = begin; worker < end; worker++) {
        heads_query q = {.run = job->run, .scores = job->scratch + (size_t)worker * job->doubles};
        q.sums = q.scores + tort_heads_capacity(p);
        for (int64_t head = worker; head < p->batch * p->query_heads; head += job->workers) {
            q.batch = head / p->query_heads;
            q.head = head % p->query_heads;
            for (q.query = 0; q.query < p->queries && tort_call_goes_on(job->run->call, 0); q.query++) attend(&q);
        }
    }
}

tort_status tort_heads_attend(const tort_call *call, const float *projected, void *scratch) {
    const tort_heads_params *p = call->params;
    tort_heads_run run = {.call = call, .p = p, .type = TORT_DOUBLE};
    heads_job job = {.run = &run, .workers = worker_count(p)};
    char *free_bytes = scratch;
    tort_status status = tort_heads_begin(&run, projected, &free_bytes);
    if (status) return status;
    if (!worker_doubles(p, &job.doubles)) return tort_out_of_memory(call->error, SIZE_MAX);
    job.scratch = (double *)(void *)free_bytes;
    const double sizes = (double)(p->key_size + p->value_size) * (double)p->batch * (double)run.longest;
    const double work = sizes * (double)p->query_heads * (double)p->queries / (double)job.workers;
    tort_parallel(call, job.workers, sizes < 1e15 ? (int64_t)sizes : (int64_t)1e15, lay_out, &job);
    tort_parallel(call, job.workers, work < 1e15 ? (int64_t)work : (int64_t)1e15, attend_heads, &job);
    return TORT_OK;
}

tort_status tort_heads_reference(const tort_call *call) {
    return tort_heads_attend(call, NULL, call->scratch);
}
