/* profile.c - an application that asks what each step of a run took, and what it had to do. */
#include <stdio.h>
#include <tinyort_profile.h>

typedef struct sums {
    int steps, counted;
    double flops, bytes;
    int64_t time, last;
} sums;

static void add(void *ud, const tort_profile_step *step) {
    sums *s = ud;
    printf("node %d on %s: %lld ns, %.0f bytes, %.0f FLOPs\n", step->node, step->provider,
           (long long)(step->end - step->begin), step->bytes, step->flops);
    if (step->begin < s->last) s->time = -1; /* told in order, one behind another */
    if (s->time >= 0) s->time += step->end - step->begin - step->inside;
    s->last = step->end;
    s->steps++;
    if (step->bytes > 0) s->bytes += step->bytes;
    if (step->flops < 0) return;
    s->counted++;
    s->flops += step->flops;
}

static tort_status run(tort_context *context, tort_error *error) {
    static float pixels[64];
    tort_tensor input = {.type = TORT_FLOAT, .rank = 4, .dims = {1, 1, 8, 8}, .data = pixels}, output = {.data = NULL};
    return tort_context_run(context, &input, 1, &output, 1, error);
}

/* Eight nodes, and a step that brings channels out of blocks. */
static int right(const sums *s) {
    return s->steps == 9 && s->counted == 4 &&
           s->flops == 2.0 * (64 * 16 * 9 + 16 * 32 * 16 * 9 + 4 * 32 * 32 * 9 + 1280);
}

int main(void) {
    tort_error error = {.msg = ""};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_peak peak = {0};
    sums work = {0}, times = {0}, none = {0};
    tort_status status = tort_model_load(NULL, "models/digits.onnx", NULL, &model, &error);
    if (!status) status = tort_session_create(NULL, model, NULL, &session, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    if (!status) tort_context_profile(context, true, add, &work);
    if (!status) status = run(context, &error);
    if (!status) tort_context_profile(context, false, add, &times);
    if (!status) status = run(context, &error);
    if (!status) tort_context_profile(context, false, NULL, &none);
    if (!status) status = run(context, &error);
    if (!status) status = tort_session_peak(session, "cpu", &peak, &error);
    if (status) printf("%s: %s\n", tort_status_name(status), error.msg);
    printf("%.0f of %.0f GFLOP/s\n", work.flops / (double)work.time, 1e-9 * peak.flops);
    const int fine = !status && right(&work) && work.time > 0 && times.steps == 9 && times.bytes == 0 &&
                     times.counted == 0 && none.steps == 0 && peak.flops > 0 && peak.bytes > 0 &&
                     tort_session_peak(session, "toaster", &peak, &error) == TORT_E_USAGE;
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    return !fine;
}
