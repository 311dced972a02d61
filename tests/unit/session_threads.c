/* session_threads.c - tests that a session really works on as many threads as it says, and that their number changes no
 * bit of what it computes. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/system.h"
#include "runtime/core/base/threads.h"
#include "runtime/include/provider.h"
#include "tests/build_model.h"
#include "tests/report_of.h"

/* ---- a kernel that counts the threads it is given ---- */

enum { MAX_THREADS = 16 };

enum { ITEMS = 1000 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t all;
    pthread_t seen[MAX_THREADS];
    int count;
    int64_t items;    /* that have begun */
    int64_t flushing; /* that took a subnormal number as 0 */
} met = {.lock = PTHREAD_MUTEX_INITIALIZER, .all = PTHREAD_COND_INITIALIZER};

static bool takes_subnormals_as_zero(void) {
    const volatile float tiny = 1e-40f, one = 1;
    return tiny * one == 0;
}

/* Threads take parts: a part that waits for all others to begin leaves each of them to another thread. */
static void meet(void *arg, int64_t begin, int64_t end) {
    (void)arg;
    pthread_mutex_lock(&met.lock);
    int i = 0;
    while (i < met.count && !pthread_equal(met.seen[i], pthread_self())) i++;
    if (i == met.count && met.count < MAX_THREADS) met.seen[met.count++] = pthread_self();
    met.items += end - begin;
    if (takes_subnormals_as_zero()) met.flushing += end - begin;
    while (met.items < ITEMS) pthread_cond_wait(&met.all, &met.lock);
    pthread_cond_broadcast(&met.all);
    pthread_mutex_unlock(&met.lock);
}

static tort_status run_counting(const tort_call *call) {
    tort_parallel(call, ITEMS, TORT_WORK_AT_ONCE / ITEMS, meet, NULL);
    memcpy(call->outputs[0].data, call->inputs[0].data, sizeof(float) * (size_t)tort_count(&call->inputs[0]));
    return TORT_OK;
}

static void open_counting(const tort_provider_config *config, void **device, tort_target *target,
                          tort_condition *condition) {
    (void)config;
    *device = NULL;
    *target = (tort_target){.description = "counts threads"};
    *condition = (tort_condition){.ready = true, .code = "READY"};
}

static const tort_kernel kernels[] = {{.domain = "", .op = "Relu", .name = "count", .run = run_counting}, {.op = NULL}};
static const tort_kernel *const tables[] = {kernels, NULL};
static const tort_provider counting = {.abi = TORT_PROVIDER_ABI,
                                       .name = "counting",
                                       .summary = "for tests",
                                       .host_memory = true,
                                       .kernels = tables,
                                       .open = open_counting};
static const tort_provider *const providers[] = {&counting, NULL};

static tort_model *relu_model(tort_error *error) {
    model_builder b = build_begin(NULL);
    int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){4});
    build_output(&b, build_node(&b, "Relu", "relu", (const int32_t[]){x, -1}));
    return build_end(&b, error);
}

/* Threads that a kernel of such a session met, and what the report says of the first provider. */
static int threads_met(const tort_env *env, const char *chain, tort_report_provider *told, char *description) {
    tort_error error;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_model *model = relu_model(&error);
    const char *pin = "relu=counting";
    tort_session_options options = {
        .struct_size = sizeof options, .chain = chain, .providers = providers, .pins = &pin, .pin_count = 1};
    float x[4] = {1, 2, 3, 4};
    tort_tensor input = {.type = TORT_FLOAT, .rank = 1, .dims = {4}, .data = x}, output = {.data = NULL};
    met.count = 0;
    met.items = 0;
    met.flushing = 0;
    cr_assert_eq(tort_session_create(env, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_run(context, &input, 1, &output, 1, &error), TORT_OK, "%s", error.msg);
    tort_report *report = report_of(session);
    *told = *report->providers[0];
    snprintf(description, 300, "%s", told->description);
    tort_report_free(report);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    return met.count;
}

Test(session_threads, kernels_run_on_as_many_threads_as_the_report_says) {
    tort_report_provider told;
    char description[300], words[40];
    for (int threads = 1; threads <= 5; threads++) {
        char chain[60];
        snprintf(chain, sizeof chain, "cpu:threads=%d,counting", threads);
        cr_expect_eq(threads_met(NULL, chain, &told, description), threads);
        cr_expect_eq(told.threads, threads);
        snprintf(words, sizeof words, ", %d thread%s", threads, threads == 1 ? "" : "s");
        cr_expect(strstr(description, words), "%s", description);
    }
}

static void serial(void *ud, int64_t count, int64_t grain, void (*body)(void *, int64_t, int64_t), void *arg) {
    (void)grain;
    ++*(int *)ud;
    body(arg, 0, count);
}

Test(session_threads, an_application_brings_its_own) {
    int calls = 0;
    const tort_env env = {.struct_size = sizeof env, .parallel_for = serial, .parallel_ud = &calls};
    tort_report_provider told;
    char description[300];
    cr_expect_eq(threads_met(&env, "cpu:threads=4,counting", &told, description), 1);
    cr_expect_gt(calls, 0);
    cr_expect_eq(told.threads, 0, "they are not ours to count");
    cr_expect(strstr(description, "the application's threads"), "%s", description);
}

typedef struct elsewhere {
    int64_t count;
    void (*body)(void *, int64_t, int64_t);
    void *arg;
    uint64_t mode; /* the thread's */
    bool changed;  /* after the body */
} elsewhere;

static void *run_elsewhere(void *arg) {
    elsewhere *e = arg;
    tort_subnormals_restore(
        e->mode); /* else a thread begins with the mode of the one that makes it, which is in a run */
    e->body(e->arg, 0, e->count);
    e->changed = takes_subnormals_as_zero();
    return NULL;
}

typedef struct observed {
    uint64_t mode; /* in which threads begin */
    bool changed;  /* one was left in another */
} observed;

/* Runs all on a thread of its own. */
static void on_another_thread(void *ud, int64_t count, int64_t grain, void (*body)(void *, int64_t, int64_t),
                              void *arg) {
    observed *o = ud;
    elsewhere e = {.count = count, .body = body, .arg = arg, .mode = o->mode};
    pthread_t thread;
    (void)grain;
    cr_assert(pthread_create(&thread, NULL, run_elsewhere, &e) == 0);
    pthread_join(thread, NULL);
    o->changed |= e.changed;
}

Test(session_threads, subnormals_are_zero_on_every_thread_of_a_run_and_nowhere_else) {
    observed seen = {.mode = tort_subnormals_off()};
    tort_subnormals_restore(seen.mode);
    const tort_env env = {.struct_size = sizeof env, .parallel_for = on_another_thread, .parallel_ud = &seen};
    tort_report_provider told;
    char description[300];
    for (int own = 0; own < 2; own++) {
        threads_met(own ? &env : NULL, "cpu:threads=3:subnormals=off,counting", &told, description);
        cr_expect_eq(met.flushing, ITEMS, "%lld of %d items", (long long)met.flushing, (int)ITEMS);
        cr_expect(!takes_subnormals_as_zero() && !seen.changed, "a thread of the application has its mode back");
        threads_met(own ? &env : NULL, "cpu:threads=3:subnormals=on,counting", &told, description);
        cr_expect_eq(met.flushing, 0);
    }
}

Test(session_threads, how_long_they_look_is_an_option) {
    static const struct {
        const char *chain;
        bool opens;
    } cases[] = {{"cpu:threads=2:spin=0", true}, {"cpu:spin=1000000", true}, {"cpu:spin=1000001", false},
                 {"cpu:spin=-1", false},         {"cpu:spin=1ms", false},    {"cpu:spin=", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tort_error error;
        tort_session *session = NULL;
        tort_model *model = relu_model(&error);
        tort_session_options options = {.struct_size = sizeof options, .chain = cases[i].chain};
        const tort_status status = tort_session_create(NULL, model, &options, &session, &error);
        cr_expect_eq(status == TORT_OK, cases[i].opens, "%s: %s", cases[i].chain, status ? error.msg : "it opened");
        tort_session_free(session);
        tort_model_free(model);
    }
}

/* ---- the same bits ---- */

/* Numbers without a pattern in -0.5 .. 0.5. */
static void fill(float *values, int64_t count, uint32_t state) {
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(state >> 8) * 0x1p-24f - 0.5f;
    }
}

static int32_t random_weight(model_builder *b, const char *name, int32_t rank, const int64_t *dims) {
    tort_tensor tensor = {.type = TORT_FLOAT, .rank = rank};
    int64_t count = 1;
    for (int32_t i = 0; i < rank; i++) count *= tensor.dims[i] = dims[i];
    float *values = calloc((size_t)count, sizeof *values);
    fill(values, count, (uint32_t)count);
    tensor.data = values;
    int32_t value = build_weight(b, name, &tensor);
    free(values);
    return value;
}

enum { INPUTS = 2 * 17 * 33 * 31, OUTPUTS = 2 * 40 * 31 * 45 };

/* A convolution whose channels, filters and pixels fit no tile, then what else is cut into parts: a product, sums,
 * rows. */
static tort_model *ragged_model(tort_error *error) {
    model_builder b = build_begin(NULL);
    int32_t x = build_input(&b, "x", TORT_FLOAT, 4, (const int64_t[]){2, 17, 33, 31});
    int32_t w = random_weight(&b, "w", 4, (const int64_t[]){40, 17, 3, 3});
    int32_t right = random_weight(&b, "right", 2, (const int64_t[]){29, 45});
    int32_t conv = build_node(&b, "Conv", "conv", (const int32_t[]){x, w, -1});
    int32_t relu = build_node(&b, "Relu", "relu", (const int32_t[]){conv, -1});
    int32_t product = build_node(&b, "MatMul", "product", (const int32_t[]){relu, right, -1});
    int32_t sum = build_node(&b, "Add", "sum", (const int32_t[]){product, product, -1});
    build_output(&b, build_node(&b, "Softmax", "softmax", (const int32_t[]){sum, -1}));
    return build_end(&b, error);
}

static void run_ragged(const tort_model *model, int threads, const float *x, float *y) {
    tort_error error;
    tort_session *session = NULL;
    tort_context *context = NULL;
    char chain[40];
    snprintf(chain, sizeof chain, "cpu:threads=%d", threads);
    tort_session_options options = {.struct_size = sizeof options, .chain = chain};
    tort_tensor input = {.type = TORT_FLOAT, .rank = 4, .dims = {2, 17, 33, 31}, .data = (void *)(uintptr_t)x};
    tort_tensor output = {.type = TORT_FLOAT, .rank = 4, .dims = {2, 40, 31, 45}, .data = y};
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_run(context, &input, 1, &output, 1, &error), TORT_OK, "%s", error.msg);
    tort_context_free(context);
    tort_session_free(session);
}

Test(session_threads, their_number_changes_no_bit) {
    tort_error error;
    tort_model *model = ragged_model(&error);
    cr_assert_not_null(model, "%s", error.msg);
    float *x = calloc(INPUTS, sizeof *x), *one = calloc(OUTPUTS, sizeof *one), *many = calloc(OUTPUTS, sizeof *many);
    fill(x, INPUTS, 1);
    run_ragged(model, 1, x, one);
    for (int threads = 2; threads <= 9; threads++) {
        run_ragged(model, threads, x, many);
        cr_expect(!memcmp(one, many, OUTPUTS * sizeof *one), "%d threads", threads);
    }
    free(x), free(one), free(many);
    tort_model_free(model);
}
