/* trial.c - sessions of messages, and decibels (trial.h). */
#include "runtime/quantize/trial.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "runtime/core/base/memory.h"
#include "ops/numeric.h"
#include "runtime/include/op.h"

/* ---- a message as a session -------------------------------------------------------------------------------------- */

tort_status tort_trial_pack(tort_trial *trial, const TortOnnx__ModelProto *proto, tort_error *error) {
    const tort_env env = tort_env_complete(NULL);
    *trial = (tort_trial){.size = protobuf_c_message_get_packed_size(&proto->base)};
    if (trial->size > INT32_MAX)
        return tort_fail(error, TORT_E_UNSUPPORTED,
                         "the model would have more than 2 GiB, the limit of a file of ONNX: what is chosen is judged "
                         "by running it, which cannot be done here");
    trial->bytes = tort_alloc(&env, trial->size);
    if (!trial->bytes) return tort_out_of_memory(error, trial->size);
    protobuf_c_message_pack(&proto->base, trial->bytes);
    return TORT_OK;
}

tort_status tort_trial_open(tort_trial *trial, const TortOnnx__ModelProto *proto, const tort_session_options *options,
                            tort_error *error) {
    const tort_load_options load = {.struct_size = sizeof load};
    tort_session_options sized = *options;
    sized.symbol_count = 0; /* the message has these sizes, and no such name anymore */
    tort_status status = tort_trial_pack(trial, proto, error);
    if (!status) status = tort_model_load_buffer(NULL, trial->bytes, trial->size, &load, &trial->model, error);
    if (!status) status = tort_session_create(NULL, trial->model, &sized, &trial->session, error);
    if (!status) status = tort_context_create(trial->session, &trial->context, error);
    return status;
}

void tort_trial_close(tort_trial *trial) {
    const tort_env env = tort_env_complete(NULL);
    tort_context_free(trial->context);
    tort_session_free(trial->session);
    tort_model_free(trial->model);
    tort_free(&env, trial->bytes, trial->size);
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
    double signal, error;
} powers;

static void add_powers(powers *p, const tort_tensor *want, const tort_tensor *got) {
    const int64_t count = tort_count(want);
    for (int64_t i = 0; i < count; i++) {
        const double a = element(want, i), e = a - element(got, i);
        p->signal += a * a;
        p->error += e * e;
    }
}

/* The mean over the outputs. which: the powers of each; NULL: its own. */
static double decibels(const powers *p, const int32_t *which, int32_t count) {
    const double limit = 120;
    double sum = 0;
    for (int32_t i = 0; i < count; i++) {
        const powers *of = &p[which ? which[i] : i];
        if (isnan(of->error)) return -limit;
        const double db = of->error > 0 ? 10 * log10(of->signal / of->error) : limit;
        sum += fmax(fmin(db, limit), -limit);
    }
    return count ? sum / count : limit;
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
        const tort_status status = tort_trial_run(judge, trial, samples[s], got, error);
        if (status) return status;
        const tort_tensor *want = judge->wanted[samples[s]].outputs;
        for (size_t k = 0; k < outputs; k++) {
            if (!is_number(&want[k])) continue;
            if (!tort_same_shape(&want[k], &got[k])) {
                sums[k].error = NAN; /* as many boxes as were found: other decisions, not comparable by element */
                continue;
            }
            add_powers(&sums[k], &want[k], &got[k]);
            const int64_t length = want[k].rank ? want[k].dims[want[k].rank - 1] : 1, n = tort_count(&want[k]);
            const bool labelled = judge->truth != NULL;
            for (int64_t r = 0; k == 0 && length && r < (labelled ? n > 0 : n / length); r++, rows++)
                equal += decision_of(&got[k], r, length) ==
                         (labelled ? judge->truth[samples[s]] : decision_of(&want[k], r, length));
        }
    }
    *judgement = (tort_judgement){.db = decibels(sums, NULL, judge->output_count),
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
