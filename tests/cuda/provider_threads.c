/* provider_threads.c - see provider_threads.h. */
#include "tests/cuda/provider_threads.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cudasim/cudart.h"

enum { THREADS = 5, RUNS = 10 };

typedef struct worker {
    const tort_provider *provider;
    tort_session *session; /* NULL: opens one for each run, which must not disturb what others record */
    provider_model *model;
    float outputs[RUNS][PROVIDER_MODEL_COUNT];
    tort_status status;
    tort_error error;
} worker;

static void run_in(worker *w, tort_session *session, int from, int to) {
    tort_context *context = NULL;
    w->status = tort_context_create(session, &context, &w->error);
    for (int i = from; !w->status && i < to; i++)
        w->status = provider_model_run(w->model, context, w->outputs[i], &w->error);
    tort_context_free(context);
}

static tort_status open_on(const tort_provider *provider, const provider_model *model, const char *chain,
                           tort_session **session, tort_error *error) {
    const tort_provider *const providers[] = {provider, NULL};
    tort_session_options options = {.struct_size = sizeof options, .chain = chain, .providers = providers};
    return tort_session_create(NULL, model->model, &options, session, error);
}

static const char *const chains[] = {"cudasim:device=0,cpu:threads=1", "cudasim:device=1,cpu:threads=1"};

static void *work(void *argument) {
    worker *w = argument;
    if (w->session) {
        run_in(w, w->session, 0, RUNS);
        return NULL;
    }
    for (int i = 0; !w->status && i < RUNS; i++) {
        tort_session *session = NULL;
        w->status = open_on(w->provider, w->model, chains[i % 2], &session, &w->error);
        if (!w->status) run_in(w, session, i, i + 1);
        tort_session_free(session);
    }
    return NULL;
}

static void run_all(worker *workers) {
    pthread_t threads[THREADS];
    bool started[THREADS];
    for (int i = 0; i < THREADS; i++) started[i] = !pthread_create(&threads[i], NULL, work, &workers[i]);
    for (int i = 0; i < THREADS; i++)
        if (started[i])
            pthread_join(threads[i], NULL);
        else
            work(&workers[i]);
}

/* Near what cpu made, and the same bits in every run of every thread. */
static bool all_right(const worker *workers, const float *expected) {
    for (int i = 0; i < THREADS; i++)
        for (int run = 0; run < RUNS; run++)
            if (memcmp(workers[i].outputs[run], workers[0].outputs[0], sizeof workers[i].outputs[run])) return false;
    for (int i = 0; i < PROVIDER_MODEL_COUNT; i++)
        if (!(fabsf(workers[0].outputs[0][i] - expected[i]) <= 1e-5f + 1e-4f * fabsf(expected[i]))) return false;
    return true;
}

/* Two contexts of a session on each device, and a thread that opens sessions, all at once. lose: a kernel of one of
 * them loses its device. */
static bool side_by_side(const tort_provider *provider, const cudasim_control *control, provider_model *model,
                         const float *expected, bool lose) {
    static worker workers[THREADS];
    tort_session *sessions[2] = {NULL, NULL};
    tort_error error;
    char text[300] = "";
    const cudasim_settings settings = control->defaults();
    control->configure(&settings);
    tort_status status = open_on(provider, model, chains[0], &sessions[0], &error);
    if (!status) status = open_on(provider, model, chains[1], &sessions[1], &error);
    for (int i = 0; i < THREADS; i++)
        workers[i] = (worker){.provider = provider, .session = i < 4 ? sessions[i % 2] : NULL, .model = model};
    if (!status && lose) control->fail_nth("cudaLaunchKernel", 30, cudaErrorIllegalAddress);
    if (!status) run_all(workers);
    int lost = 0, fine = 0;
    for (int i = 0; i < THREADS; i++) {
        lost += workers[i].status == TORT_E_DEVICE_LOST;
        fine += workers[i].status == TORT_OK;
        if (!status && !lose && workers[i].status) printf("  %s\n", workers[i].error.msg);
    }
    for (int i = 0; i < 2; i++) tort_session_free(sessions[i]);
    bool left = control->leftovers(text, sizeof text) > 0;
    if (status || left) printf("  %s\n", status ? error.msg : text);
    if (status || left) return false;
    if (lose) return lost > 0 && lost + fine == THREADS; /* a thread may have ended before, or have the other device */
    return fine == THREADS && all_right(workers, expected);
}

void provider_threads_check(const tort_provider *provider, const cudasim_control *control, provider_model *model,
                            const float *expected, int *passed, int *failed) {
    for (int lose = 0; lose < 2; lose++) {
        bool good = side_by_side(provider, control, model, expected, lose);
        if (!good) printf("FAILED: threads: %s\n", lose ? "a lost device" : "contexts side by side");
        *passed += good;
        *failed += !good;
    }
}
