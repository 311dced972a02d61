/* trial.c - sessions of messages, and decibels (trial.h). */
#include "runtime/quantize/trial.h"

#include <math.h>
#include <string.h>

#include "runtime/core/base/memory.h"
#include "runtime/core/graph/graph.h"
#include "ops/numeric.h"
#include "runtime/include/op.h"

/* ---- a message as a session -------------------------------------------------------------------------------------- */

/* A piece of a message: bytes that lie elsewhere, or copies. */
typedef struct tort_piece {
    uint64_t offset; /* in the message */
    size_t size;
    const uint8_t *data; /* NULL: `copy` bytes after the start of the copies */
    int32_t copy;
} tort_piece;

typedef struct piece_buffer {
    ProtobufCBuffer base;
    tort_trial *trial;
    tort_env env;
    bool ok;
} piece_buffer;

enum { LARGE = 4096 }; /* bytes of a piece that is not copied */

static void append(ProtobufCBuffer *base, size_t size, const uint8_t *bytes) {
    piece_buffer *b = (piece_buffer *)base;
    tort_trial *t = b->trial;
    tort_piece *last = t->piece_count ? &t->pieces[t->piece_count - 1] : NULL;
    const uint64_t offset = last ? last->offset + last->size : 0;
    b->ok = b->ok && tort_grow(&b->env, (void **)&t->pieces, &t->piece_capacity, t->piece_count + 1, sizeof *t->pieces);
    if (b->ok && size < LARGE)
        b->ok = tort_grow(&b->env, (void **)&t->copies, &t->copy_capacity, t->copy_count + (int32_t)size, 1);
    if (!b->ok) return;
    last = t->piece_count ? &t->pieces[t->piece_count - 1] : NULL;
    if (size >= LARGE) {
        t->pieces[t->piece_count++] = (tort_piece){offset, size, bytes, 0};
        return;
    }
    if (size) memcpy(t->copies + t->copy_count, bytes, size);
    if (last && !last->data)
        last->size += size;
    else
        t->pieces[t->piece_count++] = (tort_piece){offset, size, NULL, t->copy_count};
    t->copy_count += (int32_t)size;
}

/* tort_reader.read: the piece of the offset is found by bisection, and those behind it follow. */
static int read_pieces(void *ud, uint64_t offset, uint64_t length, void *to) {
    const tort_trial *t = ud;
    int32_t low = 0, high = t->piece_count;
    while (high - low > 1) {
        const int32_t middle = low + (high - low) / 2;
        if (t->pieces[middle].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    for (uint8_t *at = to; length; low++) {
        if (low == t->piece_count) return 1;
        const tort_piece *piece = &t->pieces[low];
        const size_t within = (size_t)(offset - piece->offset), left = piece->size - within;
        const size_t count = length < left ? (size_t)length : left;
        if (count) memcpy(at, (piece->data ? piece->data : t->copies + piece->copy) + within, count);
        at += count;
        offset += count;
        length -= count;
    }
    return 0;
}

/* Lists the pieces of a message. */
static tort_status take_apart(tort_trial *trial, const TortOnnx__ModelProto *proto, tort_error *error) {
    piece_buffer buffer = {.base = {.append = append}, .trial = trial, .env = tort_env_complete(NULL), .ok = true};
    trial->size = protobuf_c_message_get_packed_size(&proto->base);
    if (trial->size > INT32_MAX)
        return tort_fail(error, TORT_E_UNSUPPORTED,
                         "the model would have more than 2 GiB, the limit of a file of ONNX: what is chosen is judged "
                         "by running it, which cannot be done here");
    protobuf_c_message_pack_to_buffer(&proto->base, &buffer.base);
    return buffer.ok ? TORT_OK : tort_out_of_memory(error, 0);
}

/* Opens the model of a message. */
static tort_status load(tort_trial *trial, const TortOnnx__ModelProto *proto, tort_error *error) {
    const tort_load_options options = {.struct_size = sizeof options};
    *trial = (tort_trial){0};
    const tort_status status = take_apart(trial, proto, error);
    const tort_reader reader = {sizeof reader, trial->size, read_pieces, trial};
    return status ? status : tort_model_load_reader(NULL, &reader, &options, &trial->model, error);
}

tort_status tort_trial_types(tort_net *net, tort_error *error) {
    tort_trial trial;
    const tort_status status = load(&trial, net->proto, error);
    const tort_graph *graph = status ? NULL : &trial.model->graphs[0];
    for (int32_t i = 0; graph && i < graph->value_count; i++) {
        const tort_info *info = &graph->values[i].info;
        const int32_t value = tort_net_find(net, graph->values[i].name);
        if (value < 0 || net->values[value].constant || info->kind != TORT_TENSOR) continue;
        net->values[value].type = info->type;
        net->values[value].rank = info->rank;
        for (int32_t d = 0; d < info->rank; d++)
            net->values[value].dims[d] = tort_dim_known(info->dims[d]) ? info->dims[d] : -1;
    }
    tort_trial_close(&trial);
    return status;
}

tort_status tort_trial_open(tort_trial *trial, const TortOnnx__ModelProto *proto, const tort_session_options *options,
                            tort_error *error) {
    tort_session_options sized = *options;
    sized.symbol_count = 0; /* the message has these sizes, and no such name anymore */
    tort_status status = load(trial, proto, error);
    if (!status) status = tort_session_create(NULL, trial->model, &sized, &trial->session, error);
    if (!status) status = tort_context_create(trial->session, &trial->context, error);
    return status;
}

void tort_trial_close(tort_trial *trial) {
    const tort_env env = tort_env_complete(NULL);
    tort_context_free(trial->context);
    tort_session_free(trial->session);
    tort_model_free(trial->model);
    tort_free(&env, trial->pieces, (size_t)trial->piece_capacity * sizeof *trial->pieces);
    tort_free(&env, trial->copies, (size_t)trial->copy_capacity);
    *trial = (tort_trial){0};
}

tort_status tort_trial_run(const tort_judge *judge, tort_trial *trial, int32_t sample, tort_tensor *outputs,
                           tort_error *error) {
    tort_status status = judge->samples->read(judge->samples->ud, sample, judge->inputs, error);
    const int32_t count = tort_model_output_count(trial->model);
    for (int32_t i = 0; i < count; i++) outputs[i] = (tort_tensor){0};
    if (!status) status = tort_context_run(trial->context, judge->inputs, judge->input_count, outputs, count, error);
    return status;
}

/* ---- comparison -------------------------------------------------------------------------------------------------- */

static double element(const tort_tensor *tensor, int64_t i) {
    double x;
    if (tensor->type == TORT_FLOAT) return (double)((const float *)tensor->data)[i];
    tort_load_doubles(tensor->type, tensor->data, i, 1, &x);
    return x;
}

/* The decision of a row: its largest element, or of a single one whether it is above 0.5. */
static int64_t decision_of(const tort_tensor *tensor, int64_t row, int64_t length) {
    int64_t best = 0;
    if (length == 1) return element(tensor, row) > 0.5;
    for (int64_t i = 1; i < length; i++)
        if (element(tensor, row * length + i) > element(tensor, row * length + best)) best = i;
    return best;
}

typedef struct powers {
    double signal, error; /* error: NAN: another shape, or not finite where it was */
} powers;

static void add_powers(powers *p, const tort_tensor *want, const tort_tensor *got) {
    double a[TORT_BLOCK], b[TORT_BLOCK];
    const int64_t count = tort_count(want);
    if (!tort_same_shape(want, got)) p->error = NAN; /* as many boxes as were found: not comparable by element */
    for (int64_t at = 0; !isnan(p->error) && at < count; at += TORT_BLOCK) {
        const int64_t n = tort_block_count(count, at);
        tort_load_doubles(want->type, want->data, at, n, a);
        tort_load_doubles(got->type, got->data, at, n, b);
        for (int64_t i = 0; i < n; i++) {
            if (!isfinite(a[i])) continue;
            p->signal += a[i] * a[i];
            p->error += isfinite(b[i]) ? (a[i] - b[i]) * (a[i] - b[i]) : NAN;
        }
    }
}

enum { LIMIT = 120 }; /* decibels, of both signs */

/* The mean over the outputs. which: the powers of each; NULL: its own. */
static double decibels(const powers *p, const int32_t *which, int32_t count) {
    double sum = 0;
    for (int32_t i = 0; i < count; i++) {
        const powers *of = &p[which ? which[i] : i];
        if (isnan(of->error)) return -LIMIT;
        const double db = of->error > 0 ? 10 * log10(of->signal / of->error) : LIMIT;
        sum += fmax(fmin(db, LIMIT), -LIMIT);
    }
    return count ? sum / count : LIMIT;
}

/* Minimum over the outputs that are not all 0, as a signal of 0 has no decibels. */
static double worst_decibels(const powers *p, int32_t count) {
    double worst = LIMIT;
    for (int32_t i = 0; i < count; i++)
        if (isnan(p[i].error) || p[i].signal > 0) worst = fmin(worst, decibels(&p[i], NULL, 1));
    return worst;
}

static bool is_number(const tort_tensor *tensor) {
    return tensor->type != TORT_STRING && tensor->type != TORT_UNDEFINED;
}

tort_status tort_trial_judge(const tort_judge *judge, tort_trial *trial, const int32_t *samples, int32_t count,
                             tort_judgement *judgement, tort_maker *maker, tort_error *error) {
    const size_t outputs = (size_t)(judge->output_count + judge->smooth_count);
    tort_tensor *got = tort_make(maker, outputs, sizeof *got);
    powers *sums = tort_make(maker, outputs, sizeof *sums);
    int64_t rows = 0, equal = 0;
    for (int32_t s = 0; s < count; s++) {
        const int32_t sample = samples ? samples[s] : s;
        const tort_status status = tort_trial_run(judge, trial, sample, got, error);
        if (status) return status;
        const tort_tensor *want = judge->wanted[sample].outputs;
        for (size_t k = 0; k < outputs; k++) {
            if (!is_number(&want[k])) continue;
            add_powers(&sums[k], &want[k], &got[k]);
            if (!tort_same_shape(&want[k], &got[k])) continue;
            const int64_t length = want[k].rank ? want[k].dims[want[k].rank - 1] : 1, n = tort_count(&want[k]);
            const bool labelled = judge->truth != NULL;
            for (int64_t r = 0; k == 0 && length && r < (labelled ? n > 0 : n / length); r++, rows++)
                equal += decision_of(&got[k], r, length) ==
                         (labelled ? judge->truth[sample] : decision_of(&want[k], r, length));
        }
    }
    *judgement = (tort_judgement){.db = decibels(sums, NULL, judge->output_count),
                                  .worst = worst_decibels(sums, judge->output_count),
                                  .score = decibels(sums, judge->smooth, judge->output_count),
                                  .agreement = rows ? (double)equal / (double)rows : 1};
    return TORT_OK;
}

double tort_judge_float(const tort_judge *judge) {
    const int32_t count = judge->samples->count;
    int32_t right = 0, of = 0;
    for (int32_t s = 0; s < count; s++) {
        const tort_tensor *want = judge->wanted[s].outputs;
        const int64_t length = !want ? 0 : want->rank ? want->dims[want->rank - 1] : 1;
        right += length > 0 && decision_of(want, 0, length) == judge->truth[s];
        of += want != NULL;
    }
    return (double)right / of;
}
