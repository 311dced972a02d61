/* provider_calls.c - what a run asks of the device, as the provider tells it: each family of nodes, streams that wait,
 * an input out of range. Read first: provider_tester.h; network_calls.c does whole networks. */
#include <stdio.h>
#include <string.h>

#include "tests/cuda/provider_tester.h"
#include "tests/cuda/simulator.h"

/* One run; what was told of it is what the device saw. */
static void check_run(tester *t, tort_context *context, const char *what, tort_status expected) {
    float found[PROVIDER_MODEL_COUNT];
    char text[200];
    tort_device_calls told = {0};
    tort_error error;
    const tort_device_calls before = simulator_saw(t->control);
    const tort_status status = provider_model_run(&t->model, context, found, &error);
    const tort_device_calls seen = simulator_saw_since(t->control, &before);
    tester_check(t, status == expected, what, error.msg);
    const tort_status asked = tort_context_calls(context, "cudasim", &told, &error);
    snprintf(text, sizeof text, "told %llu %llu %llu %llu, seen %llu %llu %llu %llu", (unsigned long long)told.launches,
             (unsigned long long)told.copies, (unsigned long long)told.waits, (unsigned long long)told.allocations,
             (unsigned long long)seen.launches, (unsigned long long)seen.copies, (unsigned long long)seen.waits,
             (unsigned long long)seen.allocations);
    tester_check(t, !asked && told.launches && !memcmp(&told, &seen, sizeof told), what, text);
}

void provider_test_calls(tester *t) {
    static const char *const chains[] = {"cudasim", "cudasim:libraries=off", "cudasim,cpu"};
    tort_error error;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        tort_session *session = NULL;
        tort_context *context = NULL;
        tester_configure(t, NULL);
        tort_status status = tester_start(t, chains[i], &session, &context, &error);
        tester_check(t, !status, chains[i], error.msg);
        for (int run = 0; !status && run < 2; run++) check_run(t, context, chains[i], TORT_OK);
        if (!status) {
            t->model.ids[1] = 99;
            check_run(t, context, "an index out of range", TORT_E_RUN);
            t->model.ids[1] = PROVIDER_MODEL_ID;
        }
        tort_context_free(context);
        tort_session_free(session);
        tester_check_leftovers(t, chains[i]);
    }
}
