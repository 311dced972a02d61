/* heads_rows.c - lays out the queries, keys and values of com.microsoft's attention operators as rows of floats:
 * biases, normalization, rotary embedding, the past, and the present outputs, which hold the keys and values for the
 * next run. Read next: heads.c, which attends to them. */
#include "ops/microsoft/heads_run.h"

#include "ops/index.h"

#include <math.h>

enum { QUERY, KEY, VALUE };

/* ---- numbers that inputs hold ------------------------------------------------------------------------------------ */

static int64_t int32_at(const heads_job *job, int64_t input, int64_t i) {
    return tort_index_at(&job->call->inputs[input], i);
}

static heads_span read_span(const heads_job *job, int64_t batch) {
    const tort_heads_params *p = job->p;
    if (p->lengths < 0) return (heads_span){job->past_count, job->past_count + p->new_keys, job->past_count};
    const int64_t total = int32_at(job, p->lengths, batch) + 1;
    const int64_t before = p->past_key.operand < 0 || job->first ? 0 : total - p->queries;
    return (heads_span){p->new_keys == 0 ? total : before, total, before};
}

static tort_status check_span(const heads_job *job, int64_t batch) {
    const tort_heads_params *p = job->p;
    const heads_span span = job->spans[batch] = read_span(job, batch);
    if (span.total < 1 || span.total > job->longest)
        return tort_fail(job->call->error, TORT_E_RUN, "seqlens_k[%lld] is %lld; expected 0 to %lld", (long long)batch,
                         (long long)span.total - 1, (long long)job->longest - 1);
    if (span.before < 0 || span.past > p->past_length || span.total > span.past + p->new_keys)
        return tort_fail(job->call->error, TORT_E_RUN,
                         "seqlens_k[%lld] is %lld: %lld keys are not those of a past of at most %lld and %lld new ones",
                         (long long)batch, (long long)span.total - 1, (long long)span.total, (long long)p->past_length,
                         (long long)p->new_keys);
    return TORT_OK;
}

static tort_status check_past_count(heads_job *job) {
    const tort_heads_params *p = job->p;
    job->past_count = p->past_count >= 0 ? int32_at(job, p->past_count, 0) : p->past_length;
    job->longest = job->past_count + p->new_keys;
    if (p->past_count >= 0 && (job->past_count < 0 || job->longest > p->past_length))
        return tort_fail(job->call->error, TORT_E_RUN,
                         "past_sequence_length is %lld; with %lld new keys it is beyond the %lld of the past",
                         (long long)job->past_count, (long long)p->new_keys, (long long)p->past_length);
    return TORT_OK;
}

static tort_status check_beams(heads_job *job) {
    const tort_heads_params *p = job->p;
    job->beams = p->beams >= 0 ? int32_at(job, p->beams, 0) : p->beam_width;
    if (p->beam_choices < 0) return TORT_OK;
    if (job->beams < 1 || p->batch % job->beams != 0)
        return tort_fail(job->call->error, TORT_E_RUN, "beam_width is %lld; the batch has %lld", (long long)job->beams,
                         (long long)p->batch);
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t j = 0; j < job->past_count; j++) {
            const int64_t choice = int32_at(job, p->beam_choices, b * p->beam_stride + j);
            if (choice < 0 || choice >= job->beams)
                return tort_fail(job->call->error, TORT_E_RUN, "cache_indirection has %lld; there are %lld beams",
                                 (long long)choice, (long long)job->beams);
        }
    return TORT_OK;
}

/* Row of the caches for a position: given by position_ids, or counted from that of the first query. */
static int64_t rotary_row(const heads_job *job, int64_t batch, int64_t position) {
    const tort_heads_params *p = job->p;
    if (p->positions < 0) return job->spans[batch].before + position;
    const tort_tensor *ids = &job->call->inputs[p->positions];
    return job->first ? tort_index_at(ids, 0) + position : tort_index_at(ids, batch * p->queries + position);
}

static tort_status check_positions(const heads_job *job) {
    const tort_heads_params *p = job->p;
    for (int64_t b = 0; b < p->batch && p->rotated > 0; b++)
        for (int64_t s = 0; s < p->queries; s++) {
            const int64_t row = rotary_row(job, b, s);
            if (row < 0 || row >= p->cache_length)
                return tort_fail(job->call->error, TORT_E_RUN,
                                 "position %lld of batch %lld is %lld; the caches of cosines and sines have %lld rows",
                                 (long long)s, (long long)b, (long long)row, (long long)p->cache_length);
        }
    return TORT_OK;
}

static tort_status check_numbers(heads_job *job) {
    const tort_heads_params *p = job->p;
    if (p->lengths < 0) {
        tort_status status = check_past_count(job);
        for (int64_t b = 0; b < p->batch; b++) job->spans[b] = read_span(job, b);
        return status ? status : check_beams(job);
    }
    job->longest = int32_at(job, p->total, 0);
    job->first = p->queries == job->longest;
    if (job->longest != tort_heads_capacity(p) && job->longest > p->past_length)
        return tort_fail(
            job->call->error, TORT_E_RUN,
            "total_sequence_length is %lld; expected %lld, that of the past and the new keys, or, where the "
            "past is a buffer that has room for all of them, at most %lld",
            (long long)job->longest, (long long)tort_heads_capacity(p), (long long)p->past_length);
    for (int64_t b = 0; b < p->batch; b++) {
        tort_status status = check_span(job, b);
        if (status) return status;
    }
    return check_positions(job);
}

/* ---- memory of rows ---------------------------------------------------------------------------------------------- */

static const tort_tensor *source(const heads_job *job, const tort_heads_rows *rows) {
    return rows->operand == TORT_HEADS_PROJECTED ? &job->projected : &job->call->inputs[rows->operand];
}

static const tort_tensor *present(const heads_job *job, int32_t which) {
    const int64_t output = which == KEY ? job->p->present_key : job->p->present_value;
    return output >= 0 ? &job->call->outputs[output] : NULL;
}

/* Positions of a head in an output of keys or values, whose last two dimensions are (position, element). */
static int64_t present_length(const tort_tensor *tensor) {
    return tensor->dims[tensor->rank - 2];
}

static int64_t present_at(const heads_job *job, int32_t which, int64_t batch, int64_t head) {
    const tort_heads_params *p = job->p;
    const int64_t size = which == KEY ? p->key_size : p->value_size;
    return (which == VALUE ? p->present_value_offset : 0) +
           (batch * p->key_heads + head) * present_length(present(job, which)) * size;
}

static heads_plane plane_of(heads_job *job, int32_t which, char **scratch) {
    const tort_heads_params *p = job->p;
    const tort_heads_rows *rows = which == QUERY ? &p->query : which == KEY ? &p->key : &p->value;
    const tort_heads_home home = which == QUERY ? p->query_home : which == KEY ? p->key_home : p->value_home;
    const int64_t heads = which == QUERY ? p->query_heads : p->key_heads;
    const int64_t size = which == VALUE ? p->value_size : p->key_size;
    if (home == TORT_HEADS_IN_PLACE)
        return (heads_plane){(const float *)source(job, rows)->data + rows->offset, rows->strides};
    int64_t length = which == QUERY ? p->queries : tort_heads_capacity(p);
    float *at;
    if (home == TORT_HEADS_PRESENT) {
        const tort_tensor *tensor = present(job, which);
        length = present_length(tensor);
        at = (float *)tensor->data + (which == VALUE ? p->present_value_offset : 0);
    } else {
        const size_t bytes = (size_t)(p->batch * heads * length * size) * sizeof(float);
        at = job->laid_out[which] = (float *)*scratch;
        *scratch += (bytes + TORT_HOST_ALIGN - 1) / TORT_HOST_ALIGN * TORT_HOST_ALIGN;
    }
    return (heads_plane){at, {heads * length * size, length * size, size}};
}

tort_status tort_heads_begin(heads_job *job, const float *projected, void *scratch) {
    const tort_heads_params *p = job->p;
    char *free_bytes = (char *)scratch + tort_heads_span_bytes(p);
    job->spans = scratch;
    tort_status status = check_numbers(job);
    for (int32_t which = KEY; which <= VALUE && !status; which++)
        if (present(job, which) && present_length(present(job, which)) < job->longest)
            status =
                tort_fail(job->call->error, TORT_E_RUN, "%lld keys do not fit the present, which has room for %lld",
                          (long long)job->longest, (long long)present_length(present(job, which)));
    if (!status && p->score_bias >= 0 && job->call->inputs[p->score_bias].dims[3] < job->longest)
        status = tort_fail(job->call->error, TORT_E_RUN, "attention_bias is for %lld keys; there are %lld",
                           (long long)job->call->inputs[p->score_bias].dims[3], (long long)job->longest);
    const tort_tensor *mask = p->mask >= 0 ? &job->call->inputs[p->mask] : NULL;
    if (!status && mask && p->mask_kind == TORT_HEADS_ELEMENTS && mask->dims[mask->rank - 1] < job->longest)
        status = tort_fail(job->call->error, TORT_E_RUN, "the mask is for %lld keys; there are %lld",
                           (long long)mask->dims[mask->rank - 1], (long long)job->longest);
    if (status) return status;
    job->projected = (tort_tensor){.type = TORT_FLOAT, .rank = 1, .data = (void *)(uintptr_t)projected};
    job->projected.dims[0] = p->batch * p->queries * p->projected_size;
    job->query = plane_of(job, QUERY, &free_bytes);
    job->key = plane_of(job, KEY, &free_bytes);
    job->value = plane_of(job, VALUE, &free_bytes);
    job->parts = free_bytes;
    return TORT_OK;
}

/* ---- a row ------------------------------------------------------------------------------------------------------- */

/* Loads elements as floats; most are floats already. */
static void load(const tort_tensor *tensor, int64_t first, int64_t count, float *out) {
    if (tensor->type == TORT_FLOAT)
        memcpy(out, (const float *)tensor->data + first, (size_t)count * sizeof *out);
    else
        tort_load_floats(tensor->type, tensor->data, first, count, out);
}

/* Buffers of a part for single rows. */
typedef struct row_room {
    float *row, *cosines, *sines;
} row_room;

static void add_row_bias(const heads_job *job, int32_t which, int64_t head, int64_t size, float *restrict row) {
    const tort_heads_params *p = job->p;
    if (p->bias < 0 || p->bias_offsets[which] < 0) return;
    const tort_tensor *bias = &job->call->inputs[p->bias];
    const int64_t at = p->bias_offsets[which] + head * size;
    const float *restrict floats = (const float *)bias->data + at;
    if (bias->type == TORT_FLOAT)
        for (int64_t i = 0; i < size; i++) row[i] += floats[i];
    else
        for (int64_t i = 0; i < size; i++) row[i] += (float)tort_element_at(bias, at + i);
}

/* RMS normalization: the root of the mean of squares becomes 1, times a weight. */
static void normalize_row(const heads_job *job, int64_t input, int64_t size, float *row) {
    const tort_tensor *weights = &job->call->inputs[input];
    double sum = 0;
    for (int64_t i = 0; i < size; i++) sum += (double)row[i] * (double)row[i];
    const double factor = 1 / sqrt(sum / (double)size + job->p->norm_epsilon);
    for (int64_t i = 0; i < size; i++) row[i] = (float)((double)row[i] * factor * tort_element_at(weights, i));
}

static void rotate_row(const heads_job *job, int64_t batch, int64_t position, const row_room *room, float *row) {
    const tort_heads_params *p = job->p;
    const tort_tensor *cosines = &job->call->inputs[p->cosines], *sines = &job->call->inputs[p->sines];
    const int64_t half = p->rotated / 2;
    const int64_t at = tort_index_within(rotary_row(job, batch, position), p->cache_length) * half;
    load(cosines, at, half, room->cosines);
    load(sines, at, half, room->sines);
    for (int64_t i = 0; i < half; i++) {
        float *first = row + (p->interleaved ? 2 * i : i), *second = first + (p->interleaved ? 1 : half);
        const float real = *first * room->cosines[i] - *second * room->sines[i];
        *second = *first * room->sines[i] + *second * room->cosines[i];
        *first = real;
    }
}

static void make_row(const heads_job *job, int32_t which, int64_t batch, int64_t head, int64_t position,
                     const row_room *room, float *row) {
    const tort_heads_params *p = job->p;
    const tort_heads_rows *rows = which == QUERY ? &p->query : which == KEY ? &p->key : &p->value;
    const tort_tensor *tensor = source(job, rows);
    const tort_head_strides *strides = &rows->strides;
    const int64_t size = which == VALUE ? p->value_size : p->key_size;
    const int64_t norm = which == QUERY ? p->query_norm : which == KEY ? p->key_norm : TORT_HEADS_NONE;
    const int64_t from = batch * strides->batch + head * strides->head + position * strides->position;
    load(tensor, rows->offset + from, size, row);
    add_row_bias(job, which, head, size, row);
    if (norm >= 0) normalize_row(job, norm, size, row);
    if (which != VALUE && p->rotated > 0) rotate_row(job, batch, position, room, row);
}

/* ---- a head ------------------------------------------------------------------------------------------------------ */

/* Loads the past of a head as rows; with beams, each position is taken from one of the beams of its batch entry. */
static void load_past(const heads_job *job, int32_t which, int64_t batch, int64_t head, int64_t count, float *rows) {
    const tort_heads_params *p = job->p;
    const tort_heads_rows *past = which == KEY ? &p->past_key : &p->past_value;
    const int64_t size = which == KEY ? p->key_size : p->value_size;
    if (count == 0) return;
    const tort_tensor *tensor = &job->call->inputs[past->operand];
    const int64_t at = past->offset + head * past->strides.head;
    if (p->beam_choices < 0) {
        load(tensor, at + batch * past->strides.batch, count * size, rows);
        return;
    }
    for (int64_t j = 0; j < count; j++) {
        const int64_t choice =
            tort_index_within(int32_at(job, p->beam_choices, batch * p->beam_stride + j), job->beams);
        const int64_t beam = batch / job->beams * job->beams + choice;
        load(tensor, at + beam * past->strides.batch + j * size, size, rows + j * size);
    }
}

/* Fills the present output of a head, except the new rows: the past, and the rest behind. In one buffer with the past
 * all of that stays. */
static void keep_past(const heads_job *job, int32_t which, int64_t batch, int64_t head, int64_t count) {
    const tort_heads_params *p = job->p;
    const tort_heads_rows *past = which == KEY ? &p->past_key : &p->past_value;
    const tort_tensor *out = present(job, which);
    const int64_t size = which == KEY ? p->key_size : p->value_size, length = present_length(out);
    const int64_t to = present_at(job, which, batch, head), behind = count + p->new_keys;
    if (past->operand >= 0) {
        const void *data = job->call->inputs[past->operand].data;
        if (data == out->data) return;
        const int64_t from = past->offset + batch * past->strides.batch + head * past->strides.head;
        if (count > 0) tort_copy_elements(out->type, out->data, to, data, from, count * size);
        if (!p->zero_rest && length > behind)
            tort_copy_elements(out->type, out->data, to + behind * size, data, from + behind * size,
                               (length - behind) * size);
    }
    if (p->zero_rest || past->operand < 0) {
        const size_t bytes = out->type == TORT_FLOAT ? 4 : 2;
        memset((char *)out->data + (size_t)(to + behind * size) * bytes, 0, (size_t)((length - behind) * size) * bytes);
    }
}

static void lay_out_keys(const heads_job *job, int32_t which, int64_t batch, int64_t head, const row_room *room) {
    const tort_heads_params *p = job->p;
    const tort_tensor *out = present(job, which);
    const heads_plane *plane = which == KEY ? &job->key : &job->value;
    const int64_t size = which == KEY ? p->key_size : p->value_size, past = job->spans[batch].past;
    float *rows = job->laid_out[which];
    if (rows) rows += batch * plane->strides.batch + head * plane->strides.head;
    if (!rows && !out) return;
    if (rows) load_past(job, which, batch, head, past, rows);
    if (out) keep_past(job, which, batch, head, past);
    for (int64_t s = 0; s < p->new_keys; s++) {
        float *row = rows ? rows + (past + s) * size : room->row;
        const int64_t at = out ? present_at(job, which, batch, head) + (past + s) * size : 0;
        if (!rows && out->type == TORT_FLOAT) row = (float *)out->data + at;
        make_row(job, which, batch, head, s, room, row);
        if (!out || row == (float *)out->data + at) continue;
        tort_store_floats(out->type, out->data, at, size, row);
    }
}

static void lay_out_queries(const heads_job *job, int64_t batch, int64_t head, const row_room *room) {
    const tort_heads_params *p = job->p;
    const tort_head_strides *to = &job->query.strides;
    float *rows = job->laid_out[QUERY];
    if (!rows) return;
    rows += batch * to->batch + head * to->head;
    for (int64_t s = 0; s < p->queries; s++) make_row(job, QUERY, batch, head, s, room, rows + s * to->position);
}

void tort_heads_lay_out(void *arg, int64_t begin, int64_t end) {
    const heads_job *job = arg;
    const tort_heads_params *p = job->p;
    const int64_t queries = job->laid_out[QUERY] ? p->query_heads : 0, heads = queries + 2 * p->key_heads;
    const int64_t count = p->batch * heads, parts = job->loops->parts;
    for (int64_t part = begin; part < end; part++) {
        float *floats = (float *)(job->parts + (size_t)part * job->part_bytes + job->loops->buffer_bytes);
        const row_room room = {floats + p->rotated, floats, floats + p->rotated / 2};
        for (int64_t i = count * part / parts; i < count * (part + 1) / parts; i++) {
            const int64_t batch = i / heads, head = i % heads;
            if (head < queries)
                lay_out_queries(job, batch, head, &room);
            else
                lay_out_keys(job, head - queries < p->key_heads ? KEY : VALUE, batch, (head - queries) % p->key_heads,
                             &room);
        }
    }
}
