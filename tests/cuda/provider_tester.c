/* provider_tester.c - see provider_tester.h. */
#include "tests/cuda/provider_tester.h"

#include <math.h>
#include <stdio.h>

void tester_check(tester *t, bool good, const char *what, const char *detail) {
    if (good) {
        t->passed++;
        return;
    }
    printf("FAILED: %s: %s\n", what, detail);
    t->failed++;
}

void tester_configure(tester *t, const cudasim_settings *settings) {
    cudasim_settings defaults = t->control->defaults();
    t->control->configure(settings ? settings : &defaults);
}

tort_status tester_open(const tester *t, const provider_model *model, const char *chain, tort_session **session,
                        tort_error *error) {
    const tort_provider *const providers[] = {t->provider, NULL};
    tort_session_options options = {
        .struct_size = sizeof options, .chain = chain, .providers = providers, .unfolded = !model->folded};
    return tort_session_create(&t->memory->env, model->model, &options, session, error);
}

tort_status tester_start(const tester *t, const char *chain, tort_session **session, tort_context **context,
                         tort_error *error) {
    tort_status status = tester_open(t, &t->model, chain, session, error);
    return status ? status : tort_context_create(*session, context, error);
}

bool tester_run_on_cpu(tester *t) {
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error;
    tort_status status = tester_start(t, "cpu", &session, &context, &error);
    if (!status) status = provider_model_run(&t->model, context, t->expected, &error);
    if (status) printf("FAILED: on cpu: %s\n", error.msg);
    tort_context_free(context);
    tort_session_free(session);
    return !status;
}

/* Every output is what cpu makes, within rounding. */
bool tester_is_right(const tester *t, const float *found) {
    for (int i = 0; i < PROVIDER_MODEL_COUNT; i++)
        if (!(fabsf(found[i] - t->expected[i]) <= 1e-5f + 1e-4f * fabsf(t->expected[i]))) return false;
    return true;
}

void tester_check_device(tester *t, const char *what) {
    char text[300];
    if (t->control->leftovers(text, sizeof text)) tester_check(t, false, what, text);
}

/* When no session is left. */
void tester_check_leftovers(tester *t, const char *what) {
    tester_check_device(t, what);
    if (!t->memory->live_blocks && !t->memory->wrong_sizes) return;
    tester_check(t, false, what, "host memory is not freed, or with another size");
    t->memory->live_blocks = t->memory->wrong_sizes = 0; /* told once */
}
