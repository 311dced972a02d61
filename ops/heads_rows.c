/* heads_rows.c - the first half of attention: checks the numbers that inputs hold, and lays out queries, keys and
 * values as rows: biases, normalization, rotary embedding, the past, and the present outputs, which hold the keys and
 * values for the next run. Which keys a query sees is here, too.
 *
 * Rows that a bias, a normalization or a rotation changes are computed in float, whatever the type of the rows: no
 * operator that has one has operands of double. Read next: heads.c, which attends to them. */
#include "ops/heads.h"

#include "ops/index.h"
#include "runtime/core/base/memory.h"

#include <math.h>

enum { QUERY = TORT_HEADS_QUERY, KEY, VALUE };

/* ---- numbers that inputs hold ------------------------------------------------------------------------------------ */

static int64_t index_at(const tort_heads_run *run, int64_t input, int64_t i) {
    return tort_index_at(&run->call->inputs[input], i);
}

/* Keys of a batch entry without input `lengths`; valid: number of those that are not hidden, -1: all. */
static tort_heads_span span_of(const tort_heads_run *run, int64_t valid) {
    const tort_heads_params *p = run->p;
    tort_heads_span span = {run->past_count, run->longest, run->past_count, run->longest, run->past_count};
    if (valid >= 0) span.end = valid, span.before = span.start = valid - p->queries;
    if (span.end > p->end) span.end = p->end;
    return span;
}

static tort_status check_valid(const tort_heads_run *run, int64_t batch) {
    const tort_heads_params *p = run->p;
    const int64_t valid = p->valid >= 0 ? index_at(run, p->valid, batch) : -1;
    if (p->valid >= 0 && (valid < 0 || valid > run->longest))
        return tort_fail(run->call->error, TORT_E_RUN, "nonpad_kv_seqlen[%lld] is %lld; expected 0 to %lld",
                         (long long)batch, (long long)valid, (long long)run->longest);
    run->spans[batch] = span_of(run, valid);
    return TORT_OK;
}

/* Keys that a cache has after `total` of a sequence: all that fit; then, each time that one more would not, as many go
 * at once as leave one less than a window, which the next query joins. So ONNX Runtime defines sliding_window_cache. */
static int64_t resident(const tort_heads_params *p, int64_t total) {
    const int64_t room = p->past_length, at_once = room - p->cached_window + 1;
    return total <= room ? total : total - (total - room + at_once - 1) / at_once * at_once;
}

/* Keys of a batch entry with input `lengths`. */
static tort_heads_span read_span(const tort_heads_run *run, int64_t batch) {
    const tort_heads_params *p = run->p;
    const int64_t total = index_at(run, p->lengths, batch) + 1;
    const int64_t start = p->past_key.operand < 0 || run->first ? 0 : total - p->queries;
    if (p->cached_window > 0) {
        const int64_t past = start > 0 ? resident(p, start) : 0, all = past + total - start;
        return (tort_heads_span){past, all, start < 0 ? start : past, all, start};
    }
    return (tort_heads_span){p->new_keys == 0 ? total : start, total, start, total, start};
}

static tort_status check_span(const tort_heads_run *run, int64_t batch) {
    const tort_heads_params *p = run->p;
    const tort_heads_span span = run->spans[batch] = read_span(run, batch);
    const int64_t length = index_at(run, p->lengths, batch) + 1;
    if (length < 1 || length > run->longest || span.total < 1)
        return tort_fail(run->call->error, TORT_E_RUN, "seqlens_k[%lld] is %lld; expected 0 to %lld", (long long)batch,
                         (long long)length - 1, (long long)run->longest - 1);
    if (span.before < 0 || span.past > p->past_length || span.total > span.past + p->new_keys)
        return tort_fail(run->call->error, TORT_E_RUN,
                         "seqlens_k[%lld] is %lld: %lld keys are not those of a past of at most %lld and %lld new ones",
                         (long long)batch, (long long)span.total - 1, (long long)span.total, (long long)p->past_length,
                         (long long)p->new_keys);
    return TORT_OK;
}

static tort_status check_past_count(tort_heads_run *run) {
    const tort_heads_params *p = run->p;
    run->past_count = p->past_count >= 0 ? index_at(run, p->past_count, 0) : p->past_length;
    run->longest = run->past_count + p->new_keys;
    if (p->past_count >= 0 && (run->past_count < 0 || run->longest > p->past_length))
        return tort_fail(run->call->error, TORT_E_RUN,
                         "past_sequence_length is %lld; with %lld new keys it is beyond the %lld of the past",
                         (long long)run->past_count, (long long)p->new_keys, (long long)p->past_length);
    return TORT_OK;
}

static tort_status check_beams(tort_heads_run *run) {
    const tort_heads_params *p = run->p;
    run->beams = p->beams >= 0 ? index_at(run, p->beams, 0) : p->beam_width;
    if (p->beam_choices < 0) return TORT_OK;
    if (run->beams < 1 || p->batch % run->beams != 0)
        return tort_fail(run->call->error, TORT_E_RUN, "beam_width is %lld; the batch has %lld", (long long)run->beams,
                         (long long)p->batch);
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t j = 0; j < run->past_count; j++) {
            const int64_t choice = index_at(run, p->beam_choices, b * p->beam_stride + j);
            if (choice < 0 || choice >= run->beams)
                return tort_fail(run->call->error, TORT_E_RUN, "cache_indirection has %lld; there are %lld beams",
                                 (long long)choice, (long long)run->beams);
        }
    return TORT_OK;
}

/* Row of the caches for a position: given by position_ids, or counted from that of the first query. */
static int64_t rotary_row(const tort_heads_run *run, int64_t batch, int64_t position) {
    const tort_heads_params *p = run->p;
    if (p->positions < 0) return run->spans[batch].start + position;
    const tort_tensor *ids = &run->call->inputs[p->positions];
    return run->first ? tort_index_at(ids, 0) + position : tort_index_at(ids, batch * p->queries + position);
}

static tort_status check_positions(const tort_heads_run *run) {
    const tort_heads_params *p = run->p;
    for (int64_t b = 0; b < p->batch && p->rotated > 0; b++)
        for (int64_t s = 0; s < p->queries; s++) {
            const int64_t row = rotary_row(run, b, s);
            if (row < 0 || row >= p->cache_length)
                return tort_fail(run->call->error, TORT_E_RUN,
                                 "position %lld of batch %lld is %lld; the caches of cosines and sines have %lld rows",
                                 (long long)s, (long long)b, (long long)row, (long long)p->cache_length);
        }
    return TORT_OK;
}

static int64_t longest_span(const tort_heads_run *run) {
    int64_t longest = 0;
    for (int64_t b = 0; b < run->p->batch; b++)
        if (run->spans[b].total > longest) longest = run->spans[b].total;
    return longest;
}

static tort_status check_numbers(tort_heads_run *run) {
    const tort_heads_params *p = run->p;
    if (p->lengths < 0) {
        tort_status status = check_past_count(run);
        for (int64_t b = 0; b < p->batch && !status; b++) status = check_valid(run, b);
        return status ? status : check_beams(run);
    }
    run->longest = index_at(run, p->total, 0);
    run->first = p->queries == run->longest;
    if (!p->cached_window && run->longest != tort_heads_capacity(p) && run->longest > p->past_length)
        return tort_fail(
            run->call->error, TORT_E_RUN,
            "total_sequence_length is %lld; expected %lld, that of the past and the new keys, or, where the "
            "past is a buffer that has room for all of them, at most %lld",
            (long long)run->longest, (long long)tort_heads_capacity(p), (long long)p->past_length);
    for (int64_t b = 0; b < p->batch; b++) {
        tort_status status = check_span(run, b);
        if (status) return status;
    }
    if (p->cached_window) run->longest = longest_span(run);
    return check_positions(run);
}

/* ---- memory of rows ---------------------------------------------------------------------------------------------- */

static const tort_heads_rows *operand_of(const tort_heads_params *p, int32_t which) {
    return which == QUERY ? &p->query : which == KEY ? &p->key : &p->value;
}

/* Input that has the rows, or is projected to them. */
static int64_t input_of(const tort_heads_params *p, int32_t which) {
    const int64_t operand = operand_of(p, which)->operand;
    return operand == TORT_HEADS_PROJECTED ? 0 : operand;
}

static int64_t size_of(const tort_heads_params *p, int32_t which) {
    return which == VALUE ? p->value_size : p->key_size;
}

/* True if new rows are not those of the operand. */
static bool changes(const tort_heads_params *p, int32_t which) {
    const bool turned = which != VALUE && (p->rotated > 0 || p->query_norm >= 0);
    return turned || (p->bias >= 0 && p->bias_offsets[which] >= 0);
}

/* Where rows of a type are: in the input, if they need no change; in the present output, which needs them anyway; else
 * in scratch. Elements of a row are adjacent but for floats in the input. */
typedef enum heads_home { IN_PLACE, PRESENT, SCRATCH } heads_home;

/* source: type of the input that has the rows, or is projected to them. */
static heads_home home_of(const tort_heads_params *p, tort_type source, tort_type type, int32_t which) {
    const tort_heads_rows *rows = operand_of(p, which);
    const int64_t present = which == QUERY ? TORT_HEADS_NONE : which == KEY ? p->present_key : p->present_value;
    const bool past = which != QUERY && p->past_key.operand >= 0,
               apart = type == TORT_DOUBLE && rows->strides.element != 1;
    if (p->cached_window && which != QUERY) return SCRATCH; /* the present has other keys than the run */
    if (present >= 0) return source == type && p->beam_choices < 0 ? PRESENT : SCRATCH;
    if (rows->operand == TORT_HEADS_PROJECTED) source = TORT_FLOAT;
    return source == type && !changes(p, which) && !past && !apart ? IN_PLACE : SCRATCH;
}

/* Rows of a head that scratch has room for. */
static int64_t length_of(const tort_heads_params *p, int32_t which) {
    return which == QUERY ? p->queries : tort_heads_capacity(p);
}

static bool plane_bytes(const tort_heads_params *p, tort_type type, int32_t which, size_t *bytes) {
    const int64_t heads = which == QUERY ? p->query_heads : p->key_heads;
    return tort_mul_size((uint64_t)p->batch, (uint64_t)heads, bytes) &&
           tort_mul_size(*bytes, (uint64_t)length_of(p, which), bytes) &&
           tort_mul_size(*bytes, (uint64_t)size_of(p, which), bytes) &&
           tort_mul_size(*bytes, type == TORT_FLOAT ? sizeof(float) : sizeof(double), bytes) &&
           tort_align_size(*bytes, TORT_HOST_ALIGN, bytes);
}

static bool span_bytes(const tort_heads_params *p, size_t *bytes) {
    return tort_mul_size((uint64_t)p->batch, sizeof(tort_heads_span), bytes) &&
           tort_align_size(*bytes, TORT_HOST_ALIGN, bytes);
}

bool tort_heads_rows_bytes(const tort_node_view *node, const tort_heads_params *p, tort_type type, size_t *bytes) {
    bool fits = span_bytes(p, bytes);
    for (int32_t which = QUERY; fits && which <= VALUE; which++) {
        size_t plane;
        if (home_of(p, node->inputs[input_of(p, which)].type, type, which) == SCRATCH)
            fits = plane_bytes(p, type, which, &plane) && tort_add_size(*bytes, plane, bytes);
    }
    return fits;
}

static const tort_tensor *source(const tort_heads_run *run, int32_t which) {
    const tort_heads_rows *rows = operand_of(run->p, which);
    return rows->operand == TORT_HEADS_PROJECTED ? &run->projected : &run->call->inputs[rows->operand];
}

static const tort_tensor *present(const tort_heads_run *run, int32_t which) {
    const int64_t output = which == KEY ? run->p->present_key : run->p->present_value;
    return output >= 0 ? &run->call->outputs[output] : NULL;
}

/* Positions of a head in an output of keys or values, whose last two dimensions are (position, element). */
static int64_t present_length(const tort_tensor *tensor) {
    return tensor->dims[tensor->rank - 2];
}

static int64_t present_at(const tort_heads_run *run, int32_t which, int64_t batch, int64_t head) {
    const tort_heads_params *p = run->p;
    return (which == VALUE ? p->present_value_offset : 0) +
           (batch * p->key_heads + head) * present_length(present(run, which)) * size_of(p, which);
}

/* Element `at` of memory of rows. */
static void *element(const tort_heads_run *run, void *rows, int64_t at) {
    return run->type == TORT_FLOAT ? (void *)((float *)rows + at) : (void *)((double *)rows + at);
}

static tort_heads_plane plane_of(tort_heads_run *run, int32_t which, char **scratch) {
    const tort_heads_params *p = run->p;
    const heads_home home = home_of(p, run->call->inputs[input_of(p, which)].type, run->type, which);
    const int64_t size = size_of(p, which), heads = which == QUERY ? p->query_heads : p->key_heads;
    if (home == IN_PLACE)
        return (tort_heads_plane){element(run, source(run, which)->data, operand_of(p, which)->offset),
                                  operand_of(p, which)->strides};
    const int64_t length = home == PRESENT ? present_length(present(run, which)) : length_of(p, which);
    tort_heads_plane plane = {.strides = {heads * length * size, length * size, size, 1}};
    size_t bytes = 0;
    run->laid_out[which] = home == SCRATCH;
    if (home == PRESENT)
        plane.rows = element(run, present(run, which)->data, present_at(run, which, 0, 0));
    else if (plane_bytes(p, run->type, which, &bytes))
        plane.rows = *scratch;
    *scratch += bytes;
    return plane;
}

static tort_status check_room(const tort_heads_run *run) {
    const tort_heads_params *p = run->p;
    for (int32_t which = KEY; which <= VALUE; which++)
        if (!p->cached_window && present(run, which) && present_length(present(run, which)) < run->longest)
            return tort_fail(run->call->error, TORT_E_RUN, "%lld keys do not fit the present, which has room for %lld",
                             (long long)run->longest, (long long)present_length(present(run, which)));
    const tort_tensor *bias = p->score_bias >= 0 ? &run->call->inputs[p->score_bias] : NULL;
    if (bias && p->score_bias_strides.element &&
        bias->dims[bias->rank - 1] < (run->longest < p->end ? run->longest : p->end))
        return tort_fail(run->call->error, TORT_E_RUN, "attention_bias is for %lld keys; there are %lld",
                         (long long)bias->dims[bias->rank - 1], (long long)run->longest);
    const tort_tensor *mask = p->mask_kind == TORT_HEADS_ELEMENTS ? &run->call->inputs[p->mask] : NULL;
    if (mask && mask->dims[mask->rank - 1] < run->longest)
        return tort_fail(run->call->error, TORT_E_RUN, "the mask is for %lld keys; there are %lld",
                         (long long)mask->dims[mask->rank - 1], (long long)run->longest);
    return TORT_OK;
}

tort_status tort_heads_begin(tort_heads_run *run, const float *projected, char **scratch) {
    const tort_heads_params *p = run->p;
    size_t bytes;
    if (!span_bytes(p, &bytes)) return tort_out_of_memory(run->call->error, SIZE_MAX);
    run->spans = (tort_heads_span *)(void *)*scratch;
    *scratch += bytes;
    tort_status status = check_numbers(run);
    if (!status) status = check_room(run);
    if (status) return status;
    run->projected = (tort_tensor){.type = TORT_FLOAT, .rank = 1, .data = (void *)(uintptr_t)projected};
    run->projected.dims[0] = p->batch * p->queries * p->projected_size;
    for (int32_t which = QUERY; which <= VALUE; which++) run->planes[which] = plane_of(run, which, scratch);
    return TORT_OK;
}

/* ---- a row ------------------------------------------------------------------------------------------------------- */

/* Loads elements as floats; most are floats already. */
static void load_floats(const tort_tensor *tensor, int64_t first, int64_t count, float *out) {
    if (tensor->type == TORT_FLOAT)
        memcpy(out, (const float *)tensor->data + first, (size_t)count * sizeof *out);
    else
        tort_load_floats(tensor->type, tensor->data, first, count, out);
}

/* Loads elements as those of rows. */
static void load(const tort_heads_run *run, const tort_tensor *tensor, int64_t first, int64_t count, void *rows) {
    if (run->type == TORT_FLOAT)
        load_floats(tensor, first, count, rows);
    else
        tort_load_doubles(tensor->type, tensor->data, first, count, rows);
}

static void add_row_bias(const tort_heads_run *run, int32_t which, int64_t head, int64_t size, float *restrict row) {
    const tort_heads_params *p = run->p;
    if (p->bias < 0 || p->bias_offsets[which] < 0) return;
    const tort_tensor *bias = &run->call->inputs[p->bias];
    const int64_t at = p->bias_offsets[which] + head * size;
    const float *restrict floats = (const float *)bias->data + at;
    if (bias->type == TORT_FLOAT)
        for (int64_t i = 0; i < size; i++) row[i] += floats[i];
    else
        for (int64_t i = 0; i < size; i++) row[i] += (float)tort_element_at(bias, at + i);
}

/* RMS normalization: the root of the mean of squares becomes 1, times a weight. */
static void normalize_row(const tort_heads_run *run, int64_t input, int64_t size, float *row) {
    const tort_tensor *weights = &run->call->inputs[input];
    double sum = 0;
    for (int64_t i = 0; i < size; i++) sum += (double)row[i] * (double)row[i];
    const double factor = 1 / sqrt(sum / (double)size + run->p->norm_epsilon);
    for (int64_t i = 0; i < size; i++) row[i] = (float)((double)row[i] * factor * tort_element_at(weights, i));
}

/* room: for the cosines and sines. */
static void rotate_row(const tort_heads_run *run, int64_t batch, int64_t position, float *room, float *row) {
    const tort_heads_params *p = run->p;
    const tort_tensor *cosines = &run->call->inputs[p->cosines], *sines = &run->call->inputs[p->sines];
    const int64_t half = p->rotated / 2;
    const int64_t at = tort_index_within(rotary_row(run, batch, position), p->cache_length) * half;
    load_floats(cosines, at, half, room);
    load_floats(sines, at, half, room + half);
    for (int64_t i = 0; i < half; i++) {
        float *first = row + (p->interleaved ? 2 * i : i), *second = first + (p->interleaved ? 1 : half);
        const float real = *first * room[i] - *second * room[half + i];
        *second = *first * room[half + i] + *second * room[i];
        *first = real;
    }
}

/* Makes new rows of a head, which follow one another in memory of rows. */
static void make_rows(const tort_heads_run *run, int32_t which, int64_t batch, int64_t head, float *room, void *rows) {
    const tort_heads_params *p = run->p;
    const tort_heads_rows *operand = operand_of(p, which);
    const tort_tensor *tensor = source(run, which);
    const int64_t size = size_of(p, which), count = which == QUERY ? p->queries : p->new_keys;
    const int64_t norm = which == QUERY ? p->query_norm : which == KEY ? p->key_norm : TORT_HEADS_NONE;
    const bool changed = changes(p, which), adjacent = operand->strides.element == 1;
    const bool together = !changed && adjacent && operand->strides.position == size;
    for (int64_t s = 0; s < (together ? 1 : count); s++) {
        const int64_t from = operand->offset + tort_heads_row_at(&operand->strides, batch, head, s);
        void *row = element(run, rows, s * size);
        float *floats = run->type == TORT_FLOAT ? row : room + p->rotated;
        for (int64_t i = 0; i < size && !adjacent; i++)
            load(run, tensor, from + i * operand->strides.element, 1, element(run, row, i));
        if (!adjacent) continue;
        if (!changed) {
            load(run, tensor, from, together ? count * size : size, row);
            continue;
        }
        load_floats(tensor, from, size, floats);
        add_row_bias(run, which, head, size, floats);
        if (norm >= 0) normalize_row(run, norm, size, floats);
        if (which != VALUE && p->rotated > 0) rotate_row(run, batch, s, room, floats);
        if (floats != row) tort_load_doubles(TORT_FLOAT, floats, 0, size, row);
    }
}

/* ---- a head ------------------------------------------------------------------------------------------------------ */

/* Loads the past of a head as rows; with beams, each position is taken from one of the beams of its batch entry. */
static void load_past(const tort_heads_run *run, int32_t which, int64_t batch, int64_t head, int64_t count,
                      void *rows) {
    const tort_heads_params *p = run->p;
    const tort_heads_rows *past = which == KEY ? &p->past_key : &p->past_value;
    const int64_t size = size_of(p, which);
    if (count == 0) return;
    const tort_tensor *tensor = &run->call->inputs[past->operand];
    const int64_t at = past->offset + head * past->strides.head;
    if (p->beam_choices < 0) {
        load(run, tensor, at + batch * past->strides.batch, count * size, rows);
        return;
    }
    for (int64_t j = 0; j < count; j++) {
        const int64_t choice =
            tort_index_within(index_at(run, p->beam_choices, batch * p->beam_stride + j), run->beams);
        const int64_t beam = batch / run->beams * run->beams + choice;
        load(run, tensor, at + beam * past->strides.batch + j * size, size, element(run, rows, j * size));
    }
}

/* Fills the present output of a head, except the new rows: the past, and the rest behind. In one buffer with the past
 * all of that stays. */
static void keep_past(const tort_heads_run *run, int32_t which, int64_t batch, int64_t head, int64_t count) {
    const tort_heads_params *p = run->p;
    const tort_heads_rows *past = which == KEY ? &p->past_key : &p->past_value;
    const tort_tensor *out = present(run, which);
    const int64_t size = size_of(p, which), length = present_length(out);
    const int64_t to = present_at(run, which, batch, head), behind = count + p->new_keys;
    if (past->operand >= 0) {
        const void *data = run->call->inputs[past->operand].data;
        if (data == out->data) return;
        const int64_t from = past->offset + batch * past->strides.batch + head * past->strides.head;
        if (count > 0) tort_copy_elements(out->type, out->data, to, data, from, count * size);
        if (!p->zero_rest && length > behind)
            tort_copy_elements(out->type, out->data, to + behind * size, data, from + behind * size,
                               (length - behind) * size);
    }
    if (p->zero_rest || past->operand < 0) {
        const size_t bytes = (size_t)tort_type_bits(out->type) / 8;
        memset((char *)out->data + (size_t)(to + behind * size) * bytes, 0, (size_t)((length - behind) * size) * bytes);
    }
}

/* Fills the present output of a head with the latest of its rows, past ones and new ones, as many as the cache has from
 * now on. */
static void keep_latest(const tort_heads_run *run, int32_t which, int64_t batch, int64_t head, const void *rows) {
    const tort_heads_span *span = &run->spans[batch];
    const tort_tensor *out = present(run, which);
    const int64_t size = size_of(run->p, which), to = present_at(run, which, batch, head);
    const int64_t kept = resident(run->p, span->start + span->total - span->past), first = span->total - kept;
    const int64_t rest = (present_length(out) - kept) * size, bytes = tort_type_bits(out->type) / 8;
    if (run->type == TORT_FLOAT)
        tort_store_floats(out->type, out->data, to, kept * size, (const float *)rows + first * size);
    else
        tort_store_doubles(out->type, out->data, to, kept * size, (const double *)rows + first * size);
    memset((char *)out->data + (to + kept * size) * bytes, 0, (size_t)(rest * bytes));
}

/* Lays out the rows of a head of keys or values, and fills its present output. */
static void lay_out_keys(const tort_heads_run *run, int32_t which, int64_t batch, int64_t head, float *room) {
    const tort_heads_params *p = run->p;
    const tort_tensor *out = present(run, which);
    const tort_heads_plane *plane = &run->planes[which];
    const int64_t size = size_of(p, which), past = run->spans[batch].past;
    const int64_t at = batch * plane->strides.batch + head * plane->strides.head;
    if (!run->laid_out[which] && !out) return;
    void *rows = element(run, plane->rows, at), *fresh = element(run, rows, past * size);
    if (run->laid_out[which]) load_past(run, which, batch, head, past, rows);
    if (out && !p->cached_window) keep_past(run, which, batch, head, past);
    make_rows(run, which, batch, head, room, fresh);
    if (!out || !run->laid_out[which]) return;
    if (p->cached_window) {
        keep_latest(run, which, batch, head, rows);
        return;
    }
    const int64_t to = present_at(run, which, batch, head) + past * size;
    if (run->type == TORT_FLOAT)
        tort_store_floats(out->type, out->data, to, p->new_keys * size, fresh);
    else
        tort_store_doubles(out->type, out->data, to, p->new_keys * size, fresh);
}

int64_t tort_heads_laid_out(const tort_heads_run *run) {
    const tort_heads_params *p = run->p;
    const bool keys = run->laid_out[KEY] || run->laid_out[VALUE] || present(run, KEY) || present(run, VALUE);
    return p->batch * ((run->laid_out[QUERY] ? p->query_heads : 0) + (keys ? 2 * p->key_heads : 0));
}

void tort_heads_lay_out(const tort_heads_run *run, int64_t begin, int64_t end, float *room) {
    const tort_heads_params *p = run->p;
    const int64_t queries = run->laid_out[QUERY] ? p->query_heads : 0, heads = tort_heads_laid_out(run) / p->batch;
    const tort_heads_plane *to = &run->planes[QUERY];
    for (int64_t i = begin; i < end && tort_call_goes_on(run->call, 0); i++) {
        const int64_t batch = i / heads, head = i % heads, key = head - queries;
        if (head < queries)
            make_rows(run, QUERY, batch, head, room,
                      element(run, to->rows, batch * to->strides.batch + head * to->strides.head));
        else
            lay_out_keys(run, key < p->key_heads ? KEY : VALUE, batch, key % p->key_heads, room);
    }
}

bool tort_heads_is_hidden(const tort_heads_run *run, int64_t batch, int64_t query, int64_t key) {
    const tort_heads_params *p = run->p;
    const int32_t *mask = run->call->inputs[p->mask].data;
    if (p->mask_kind == TORT_HEADS_ELEMENTS)
        return mask[p->mask_offset + batch * p->mask_strides[0] + query * p->mask_strides[1] +
                    key * p->mask_strides[2]] <= 0;
    return key >= mask[batch] || (p->mask_kind == TORT_HEADS_INTERVAL && key < mask[p->batch + batch]);
}
