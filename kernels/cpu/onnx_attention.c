/* onnx_attention.c - Attention of ONNX in fp32: blocks of queries, as in attention.c, that skip the keys which none
 * of them may see.
 *
 * A block computes scores only for keys low..high, bounded by causality, windows and the valid length: causal
 * attention makes about half of the products. With one query per head (decoding), a block's rows are the heads of a
 * group that share their keys (grouped-query attention, Ainslie et al. 2023), so that keys are read once per group.
 * Cost: queries * visible keys * (key_size + value_size) multiply-adds per head.
 * Example: 32 query heads with 8 key heads, one query, 1000 keys: blocks of 4 rows, and 8 instead of 32 passes over
 * keys.
 *
 * Past and new keys and values are made contiguous first: in the outputs `present_*` if there are, else in scratch.
 * Read next: attend.h, ops/attention.c (the meaning). */
#include "kernels/cpu/attend.h"
#include "kernels/cpu/cpu.h"
#include "ops/attention.h"
#include "ops/index.h"
#include "runtime/core/base/memory.h"

#include <math.h>
#include <string.h>

enum { QUERY, KEY, VALUE, MASK, PAST_KEY, PAST_VALUE, VALID_KEYS }; /* inputs */
enum { PRESENT_KEY = 1, PRESENT_VALUE, SCORES };                    /* outputs */

/* ---- claim ------------------------------------------------------------------------------------------------------- */

static tort_verdict claim_attention(const tort_target *target, const tort_node_view *node) {
    if (tort_has_output(node, SCORES)) return tort_no(TORT_NO_ATTR, "", "does not make qk_matmul_output");
    if (tort_attr_int(node, "softmax_precision") == TORT_DOUBLE)
        return tort_no(TORT_NO_ATTR, "", "computes in float, softmax_precision is double");
    if (node->inputs[VALUE].type != TORT_FLOAT)
        return tort_no(TORT_NO_TYPE, "", "is for float, V is %s", tort_type_name(node->inputs[VALUE].type));
    if (tort_has_input(node, MASK) && node->inputs[MASK].type != TORT_FLOAT && node->inputs[MASK].type != TORT_BOOL)
        return tort_no(TORT_NO_TYPE, "", "takes a mask of float or bool, attn_mask is %s",
                       tort_type_name(node->inputs[MASK].type));
    return tort_cpu_claim_float(target, node);
}

/* ---- size -------------------------------------------------------------------------------------------------------- */

/* Computes the floats of the keys (or values) of all heads in scratch: needed if there is a past, but no output for
 * past and new ones. */
static bool gathered_floats(const tort_attention_params *p, int64_t size, bool gathers, size_t *floats) {
    *floats = 0;
    return !gathers || (tort_mul_size((size_t)p->batch, (size_t)p->key_heads, floats) &&
                        tort_mul_size(*floats, (size_t)p->total_length, floats) &&
                        tort_mul_size(*floats, (size_t)size, floats) && *floats <= INT64_MAX);
}

static bool part_bytes(const tort_simd *simd, const tort_attention_params *p, size_t *bytes) {
    *bytes = tort_attend_buffer(simd, p->total_length, p->key_size, p->value_size);
    return tort_cpu_reserve_floats(bytes, tort_attend_score_floats(simd, p->total_length));
}

static tort_status size_attention(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                  tort_error *error) {
    const tort_attention_params *p = node->params;
    const bool past = tort_has_input(node, PAST_KEY);
    size_t keys, values;
    if (part_bytes(tort_simd_choose(target->instructions), p, scratch) &&
        tort_mul_size(*scratch, (size_t)target->threads, scratch) &&
        gathered_floats(p, p->key_size, past && !tort_has_output(node, PRESENT_KEY), &keys) &&
        gathered_floats(p, p->value_size, past && !tort_has_output(node, PRESENT_VALUE), &values) &&
        tort_cpu_reserve_floats(scratch, (int64_t)keys) && tort_cpu_reserve_floats(scratch, (int64_t)values))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

/* Rows (batch, key head, position) of keys or values. */
typedef struct key_rows {
    float *together; /* buffer that makes them contiguous; NULL: they are already */
    const float *rows;
    tort_head_strides strides;
} key_rows;

typedef struct attention_job {
    const tort_call *call;
    const tort_attention_params *p;
    const tort_simd *simd;
    key_rows keys, values;
    bool across;                  /* a block's rows are the heads of a group, with one query each */
    int64_t length, rows, blocks; /* rows per line and per block; blocks per line */
    int64_t lines;                /* lines per key head */
    char *buffers;
    size_t part_bytes;
    int32_t parts;
} attention_job;

/* A block: rows first..first+count of a line, of query head `head` or, if across, of consecutive heads from it on. */
typedef struct attention_block {
    const attention_job *job;
    tort_attend attend;
    int64_t batch, head, first, count, stride;
    int64_t valid;     /* keys that are not padding */
    int64_t low, high; /* keys that any row sees; low is a multiple of TORT_ATTEND_STEP */
    float *scores;
} attention_block;

/* Keys of a batch entry that are not padding, after check_valid_keys (see ops/index.h). */
static int64_t valid_keys_of(const attention_job *job, int64_t batch) {
    const int64_t total = job->p->total_length;
    const tort_tensor *valid_keys = tort_call_input(job->call, VALID_KEYS);
    return valid_keys ? tort_index_within(tort_index_at(valid_keys, batch), total + 1) : total;
}

/* Computes the range low..high of keys that a query may see by position, before the mask. */
static void visible(const attention_block *b, int64_t position, int64_t *low, int64_t *high) {
    const tort_attention_params *p = b->job->p;
    const bool padded = tort_call_input(b->job->call, VALID_KEYS) != NULL;
    const int64_t at = position + (padded ? b->valid - p->query_length : p->past_length);
    *high = b->valid < p->mask_length ? b->valid : p->mask_length;
    if (p->causal && *high > at + 1) *high = at + 1;
    if (p->right_window >= 0 && *high > at + p->right_window + 1) *high = at + p->right_window + 1;
    if (*high < 0) *high = 0;
    *low = p->left_window >= 0 && at > p->left_window ? at - p->left_window : 0;
    if (*low > *high) *low = *high;
}

/* Applies the mask to the scores of keys low..high; false if it leaves no key. */
static bool add_mask(const attention_block *b, int64_t head, int64_t position, int64_t low, int64_t high,
                     float *scores) {
    const tort_attention_params *p = b->job->p;
    const tort_tensor *mask = tort_call_input(b->job->call, MASK);
    if (!mask) return low < high;
    const int64_t step = p->mask_strides[3];
    const int64_t from =
        b->batch * p->mask_strides[0] + head * p->mask_strides[1] + position * p->mask_strides[2] + low * step;
    const float *added = (const float *)mask->data + from;
    const bool *kept = (const bool *)mask->data + from;
    const tort_epilogue sum = {.activation = TORT_ACTIVATION_NONE};
    if (mask->type == TORT_FLOAT && step == 1)
        b->attend.simd->finish(&sum, added, scores, high - low);
    else
        for (int64_t j = 0; j < high - low; j++) {
            if (mask->type == TORT_FLOAT)
                scores[j] += added[j * step];
            else if (!kept[j * step])
                scores[j] = -INFINITY;
        }
    for (int64_t j = 0; j < high - low; j++)
        if (scores[j] != -INFINITY) return true;
    return false;
}

static void cap(const attention_block *b, float *scores, int64_t count) {
    const float softcap = (float)b->job->p->softcap;
    for (int64_t j = 0; j < count; j++) scores[j] /= softcap;
    b->attend.simd->maps[TORT_ACTIVATION_TANH](0, 0, scores, scores, count);
    for (int64_t j = 0; j < count; j++) scores[j] *= softcap;
}

/* Turns scores into probabilities: cap, mask, then softmax over the visible keys; other weights are 0. */
static void normalize(const attention_block *b) {
    const attention_job *job = b->job;
    for (int64_t i = 0; i < b->count && tort_attend_row_goes_on(job->call, b->high - b->low); i++) {
        const int64_t position = job->across ? 0 : b->first + i, head = b->head + (job->across ? i : 0);
        float *row = b->scores + i * b->stride;
        int64_t low, high;
        visible(b, position, &low, &high);
        float *seen = row + (low - b->low);
        if (job->p->softcap > 0) cap(b, seen, high - low);
        if (!add_mask(b, head, position, low, high, seen)) low = high;
        b->attend.simd->softmax_row(seen, seen, high - low);
        for (int64_t j = b->low; j < low; j++) row[j - b->low] = 0;
        for (int64_t j = high; j < b->high; j++) row[j - b->low] = 0;
    }
}

static void attend_block(attention_block *b) {
    const attention_job *job = b->job;
    const tort_attention_params *p = job->p;
    const int64_t last = job->across ? 0 : b->first + b->count - 1;
    const tort_head_strides *from = &p->query, *to = &p->output;
    const tort_attend_matrix queries = {.data = (const float *)job->call->inputs[QUERY].data + b->batch * from->batch +
                                                b->head * from->head + (job->across ? 0 : b->first * from->position),
                                        .row = job->across ? from->head : from->position,
                                        .column = 1};
    float *y = (float *)job->call->outputs[0].data + b->batch * to->batch + b->head * to->head +
               (job->across ? 0 : b->first * to->position);
    int64_t unused;
    visible(b, job->across ? 0 : b->first, &b->low, &unused);
    visible(b, last, &unused, &b->high);
    b->low -= b->low % TORT_ATTEND_STEP;
    b->stride = tort_attend_stride(b->high - b->low);
    tort_attend_scores(&b->attend, &queries, b->count, b->low, b->high, (float)p->scale, b->scores, b->stride);
    normalize(b);
    tort_attend_sum(&b->attend, b->scores, b->stride, b->count, b->low, b->high, y,
                    job->across ? to->head : to->position);
}

static tort_attend_matrix rows_of(const key_rows *rows, int64_t batch, int64_t head) {
    return (tort_attend_matrix){.data = rows->rows + batch * rows->strides.batch + head * rows->strides.head,
                                .row = rows->strides.position,
                                .column = 1};
}

static void attend_parts(void *arg, int64_t begin, int64_t end) {
    const attention_job *job = arg;
    const tort_attention_params *p = job->p;
    const int64_t per_head = job->lines * job->blocks, group = p->query_heads / p->key_heads;
    for (int64_t part = begin; part < end; part++) {
        char *buffer = job->buffers + (size_t)part * job->part_bytes;
        attention_block b = {
            .job = job,
            .attend = {.call = job->call,
                       .simd = job->simd,
                       .count = p->total_length,
                       .key_size = p->key_size,
                       .value_size = p->value_size},
            .scores = (float *)(buffer + tort_attend_buffer(job->simd, p->total_length, p->key_size, p->value_size))};
        int64_t first, last;
        tort_cpu_share(p->batch * p->key_heads * per_head, 1, part, job->parts, &first, &last);
        for (int64_t i = first; i < last && tort_call_goes_on(job->call, 0); i++) {
            const int64_t key_head = i / per_head % p->key_heads;
            b.batch = i / per_head / p->key_heads;
            if (i == first || i % per_head == 0) {
                b.valid = valid_keys_of(job, b.batch);
                b.attend.keys = rows_of(&job->keys, b.batch, key_head);
                b.attend.values = rows_of(&job->values, b.batch, key_head);
                tort_attend_begin(&b.attend, job->length, (float *)buffer);
            }
            b.first = i % job->blocks * job->rows;
            b.count = job->length - b.first < job->rows ? job->length - b.first : job->rows;
            b.head = key_head * group + (job->across ? b.first : i % per_head / job->blocks);
            attend_block(&b);
        }
    }
}

/* ---- keys and values --------------------------------------------------------------------------------------------- */

/* Copies the past and the new rows of heads begin..end next to each other. */
static void put_together(const attention_job *job, int32_t input, const key_rows *to, int64_t begin, int64_t end) {
    const tort_attention_params *p = job->p;
    const int64_t size = input == KEY ? p->key_size : p->value_size, past = p->past_length * size;
    const tort_head_strides *strides = input == KEY ? &p->key : &p->value;
    const tort_tensor *cache = tort_call_input(job->call, input == KEY ? PAST_KEY : PAST_VALUE);
    for (int64_t i = begin; to->together && i < end; i++) {
        float *rows = to->together + i * p->total_length * size;
        const float *fresh = (const float *)job->call->inputs[input].data + i / p->key_heads * strides->batch +
                             i % p->key_heads * strides->head;
        if (past > 0) memcpy(rows, (const float *)cache->data + i * past, (size_t)past * sizeof *rows);
        for (int64_t j = 0; j < p->new_length; j++)
            memcpy(rows + past + j * size, fresh + j * strides->position, (size_t)size * sizeof *rows);
    }
}

static void put_heads_together(void *arg, int64_t begin, int64_t end) {
    const attention_job *job = arg;
    put_together(job, KEY, &job->keys, begin, end);
    put_together(job, VALUE, &job->values, begin, end);
}

/* Returns the rows of keys or values, and takes scratch if they must be copied but have no output. */
static key_rows settle(const attention_job *job, int32_t input, char **scratch) {
    const tort_attention_params *p = job->p;
    const int64_t size = input == KEY ? p->key_size : p->value_size;
    const tort_tensor *present = tort_call_output(job->call, input == KEY ? PRESENT_KEY : PRESENT_VALUE);
    const bool past = tort_call_input(job->call, PAST_KEY) != NULL;
    size_t floats;
    key_rows rows = {.rows = job->call->inputs[input].data, .strides = input == KEY ? p->key : p->value};
    if (present) rows.together = present->data;
    if (past && !present && gathered_floats(p, size, true, &floats))
        rows.together = tort_cpu_take(scratch, floats * sizeof(float));
    if (!rows.together) return rows;
    rows.rows = rows.together;
    rows.strides = (tort_head_strides){p->key_heads * p->total_length * size, p->total_length * size, size};
    return rows;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static tort_status check_valid_keys(const tort_call *call) {
    const tort_attention_params *p = call->params;
    const tort_tensor *valid_keys = tort_call_input(call, VALID_KEYS);
    for (int64_t b = 0; valid_keys && b < p->batch; b++) {
        const int64_t valid = tort_index_at(valid_keys, b);
        if (valid < 0 || valid > p->total_length)
            return tort_fail(call->error, TORT_E_RUN, "nonpad_kv_seqlen[%lld] is %lld; expected 0 to %lld",
                             (long long)b, (long long)valid, (long long)p->total_length);
    }
    return TORT_OK;
}

static tort_status run_attention(const tort_call *call) {
    const tort_attention_params *p = call->params;
    const tort_cpu_device *device = call->device;
    const int64_t group = p->query_heads / p->key_heads;
    attention_job job = {.call = call, .p = p, .simd = device->simd, .across = p->query_length == 1};
    tort_status status = check_valid_keys(call);
    if (status) return status;
    if (!part_bytes(job.simd, p, &job.part_bytes)) return tort_out_of_memory(call->error, SIZE_MAX);
    char *scratch = call->scratch;
    job.buffers = tort_cpu_take(&scratch, job.part_bytes * (size_t)device->threads);
    job.keys = settle(&job, KEY, &scratch);
    job.values = settle(&job, VALUE, &scratch);
    const int64_t heads = p->batch * p->key_heads, row = p->key_size + p->value_size;
    if (job.keys.together || job.values.together)
        tort_parallel(call, heads, p->total_length * row / 8 + 1, put_heads_together, &job);
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    job.length = job.across ? group : p->query_length;
    job.lines = job.across ? 1 : group;
    job.rows = tort_attend_block_rows(job.simd, p->total_length);
    job.blocks = (job.length + job.rows - 1) / job.rows;
    const double small = 32 * 1024; /* multiply-adds that are done before another thread would have started */
    const double products = (double)heads * (double)(group * p->query_length) * (double)p->total_length * (double)row;
    job.parts = products < small ? 1 : device->threads;
    tort_cpu_parts(call, job.parts, attend_parts, &job);
    return TORT_OK;
}

const tort_kernel tort_cpu_onnx_attention[] = {
    {"", "Attention", "attention_blocks", .claim = claim_attention, .size = size_attention, .run = run_attention},
    {.op = NULL},
};
