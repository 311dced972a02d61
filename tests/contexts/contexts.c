/* contexts.c - contexts of one session side by side: each thread runs its own, with shapes that others are planning at
 * the same time, while reports are asked for and plans are made ahead. Every value must be right.
 *
 * A program of its own, so that it also runs under the thread sanitizer, which has to find nothing.
 * Prints `contexts: N passed, N failed`. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/build_model.h"
#include "tests/fake_provider.h"
#include "tests/report_of.h"

enum { THREADS = 4, ROUNDS = 150, COLUMNS = 33, MAX_ROWS = 90 };

typedef struct worker {
    tort_session *session;
    unsigned state;
    int passed, failed;
    char complaint[600];
} worker;

/* x [n, 33] -> Relu -> MatMul with ones [33, 5] -> Add -> y [n, 5], and the indices of what is not zero in x. */
static tort_model *side_model(void) {
    static float ones[COLUMNS * 5];
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) ones[i] = 1;
    model_builder b = build_begin(NULL);
    tort_error error;
    int32_t x = build_input(&b, "x", TORT_FLOAT, 2, (const int64_t[]){-1, COLUMNS});
    int32_t w =
        build_weight(&b, "w", &(tort_tensor){.type = TORT_FLOAT, .rank = 2, .dims = {COLUMNS, 5}, .data = ones});
    int32_t relu = build_node(&b, "Relu", "relu", (const int32_t[]){x, -1});
    int32_t product = build_node(&b, "MatMul", "product", (const int32_t[]){relu, w, -1});
    build_output(&b, build_node(&b, "Add", "sum", (const int32_t[]){product, product, -1}));
    build_output(&b, build_node(&b, "NonZero", "where", (const int32_t[]){x, -1}));
    tort_model *model = build_end(&b, &error);
    if (!model) {
        fprintf(stderr, "contexts: %s\n", error.msg);
        exit(1);
    }
    return model;
}

static unsigned next_number(worker *w) {
    w->state = w->state * 1664525u + 1013904223u;
    return w->state >> 16;
}

static void check(worker *w, bool condition, const char *what, const tort_error *error) {
    w->passed += condition;
    w->failed += !condition;
    if (!condition) snprintf(w->complaint, sizeof w->complaint, "%s: %s", what, error ? error->msg : "");
}

/* Rows of ones, the last of them of -1: sums are 2 * 33, and 0. */
static void run_once(worker *w, tort_context *context, float *x, int64_t rows) {
    tort_error error;
    for (int64_t i = 0; i < rows * COLUMNS; i++) x[i] = i < (rows - 1) * COLUMNS ? 1 : -1;
    tort_tensor input = {.type = TORT_FLOAT, .rank = 2, .dims = {rows, COLUMNS}, .data = x};
    tort_tensor outputs[2] = {{.data = NULL}, {.data = NULL}};
    tort_status status = tort_context_run(context, &input, 1, outputs, 2, &error);
    check(w, !status, "run", &error);
    if (status) return;
    const float *y = outputs[0].data;
    bool right = outputs[1].dims[1] == rows * COLUMNS;
    for (int64_t i = 0; i < rows * 5; i++) right = right && y[i] == (i < (rows - 1) * 5 ? 2.0f * COLUMNS : 0.0f);
    check(w, right, "values", NULL);
}

static void ask(worker *w, unsigned what) {
    tort_error error;
    if (what % 7 == 0) {
        tort_report *report = report_of(w->session);
        check(w, report->node_count == 4, "report", NULL);
        tort_report_free(report);
    } else if (what % 7 == 1) {
        const tort_input_shape shape = {"x", 2, {1 + what % MAX_ROWS, COLUMNS}};
        check(w, !tort_session_plan(w->session, &shape, 1, &error), "plan", &error);
    }
}

static void *work(void *arg) {
    worker *w = arg;
    tort_error error;
    tort_context *context = NULL;
    float *x = calloc(MAX_ROWS * COLUMNS, sizeof *x);
    for (int round = 0; x && round < ROUNDS; round++) {
        if (round % 50 == 0) {
            tort_context_free(context);
            check(w, !tort_context_create(w->session, &context, &error), "create", &error);
            if (!context) break;
        }
        run_once(w, context, x, 1 + next_number(w) % MAX_ROWS);
        ask(w, next_number(w));
    }
    tort_context_free(context);
    free(x);
    return NULL;
}

static void run_side_by_side(const tort_model *model, const char *chain, int *passed, int *failed) {
    tort_session *session = NULL;
    tort_error error;
    worker workers[THREADS] = {{.session = NULL}};
    pthread_t threads[THREADS];
    tort_session_options options = {.struct_size = sizeof options, .chain = chain, .providers = fake_providers};
    if (tort_session_create(NULL, model, &options, &session, &error)) {
        printf("contexts: FAILED: %s: %s\n", chain, error.msg);
        ++*failed;
        return;
    }
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (worker){.session = session, .state = i + 1};
        if (pthread_create(&threads[i], NULL, work, &workers[i])) abort();
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        *passed += workers[i].passed;
        *failed += workers[i].failed;
        if (workers[i].failed) printf("contexts: FAILED: %s: %s\n", chain, workers[i].complaint);
    }
    tort_session_free(session);
}

int main(void) {
    int passed = 0, failed = 0;
    tort_model *model = side_model();
    run_side_by_side(model, "cpu:threads=1", &passed, &failed);
    run_side_by_side(model, "cpu:threads=3", &passed, &failed);
    run_side_by_side(model, "fake,cpu:threads=2", &passed, &failed);
    tort_model_free(model);
    printf("contexts: %d passed, %d failed\n", passed, failed);
    return failed != 0;
}
