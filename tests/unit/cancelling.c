/* Tests of tort_context_cancel: from the thread of the run and from another one, in a run and before it, on the host
 * and on a device. tests/install/examples/cancel.c does so from outside of the tree. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tests/build_model.h"
#include "tests/fake_provider.h"

enum { NODES = 6 };

/* A chain of as many nodes; the last of them tells with its index that all have run. */
typedef struct fixture {
    tort_model *model;
    tort_session *session;
    tort_context *context;
    tort_error error;
    float y;
    atomic_int seen; /* nodes that have run */
    atomic_bool stop;
    int32_t cancel_at;   /* the observer cancels after this node; -1: never */
    bool from_elsewhere; /* another thread does, and the observer waits for it */
} fixture;

static void *cancel_elsewhere(void *context) {
    tort_context_cancel(context);
    return NULL;
}

static void observe(void *ud, int32_t node, const char *value, const tort_tensor *tensor) {
    fixture *f = ud;
    (void)value, (void)tensor;
    atomic_fetch_add(&f->seen, 1);
    if (node != f->cancel_at) return;
    pthread_t other;
    if (!f->from_elsewhere) {
        tort_context_cancel(f->context);
        return;
    }
    cr_assert_eq(pthread_create(&other, NULL, cancel_elsewhere, f->context), 0);
    pthread_join(other, NULL);
}

static void open_fixture(fixture *f, const char *chain) {
    *f = (fixture){.cancel_at = -1};
    static const char *const names[NODES] = {"neg0", "neg1", "neg2", "neg3", "neg4", "neg5"};
    model_builder b = build_begin(NULL);
    int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){1});
    for (int i = 0; i < NODES; i++) x = build_node(&b, "Neg", names[i], (const int32_t[]){x, -1});
    build_output(&b, x);
    f->model = build_end(&b, &f->error);
    cr_assert_not_null(f->model, "%s", f->error.msg);
    const tort_session_options options = {
        .struct_size = sizeof options, .chain = chain, .providers = fake_providers, .unfolded = true};
    cr_assert_eq(tort_session_create(NULL, f->model, &options, &f->session, &f->error), TORT_OK, "%s", f->error.msg);
    cr_assert_eq(tort_context_create(f->session, &f->context, &f->error), TORT_OK, "%s", f->error.msg);
    tort_context_observe(f->context, observe, f);
}

static void close_fixture(fixture *f) {
    tort_context_free(f->context);
    tort_session_free(f->session);
    tort_model_free(f->model);
}

static tort_status run(fixture *f) {
    float x = 3;
    const tort_tensor input = {.type = TORT_FLOAT, .rank = 1, .dims = {1}, .data = &x};
    tort_tensor output = {.type = TORT_FLOAT, .rank = 1, .dims = {1}, .data = &f->y};
    atomic_store(&f->seen, 0);
    f->y = 0;
    return tort_context_run(f->context, &input, 1, &output, 1, &f->error);
}

static void check_whole_run(fixture *f) {
    f->cancel_at = -1;
    cr_expect_eq(run(f), TORT_OK, "%s", f->error.msg);
    cr_expect_eq(atomic_load(&f->seen), NODES);
    cr_expect_eq(f->y, 3);
}

static void check_cancelled_after(fixture *f, int32_t node) {
    char words[32];
    snprintf(words, sizeof words, "node %d \"neg%d\"", node + 1, node + 1);
    cr_expect_eq(run(f), TORT_E_CANCELLED, "%s", f->error.msg);
    cr_expect_eq(f->error.code, TORT_E_CANCELLED);
    cr_expect_eq(f->error.node, node + 1);
    cr_expect_null(f->error.provider);
    cr_expect(strstr(f->error.msg, words), "%s", f->error.msg);
    cr_expect_eq(atomic_load(&f->seen), node + 1);
}

Test(cancelling, a_run_ends_before_the_next_step_and_the_context_goes_on) {
    for (int device = 0; device < 2; device++) {
        fixture f;
        open_fixture(&f, device ? "fake" : "cpu:threads=1");
        check_whole_run(&f);
        for (int32_t node = 0; node < NODES - 1; node++) {
            f.cancel_at = node;
            f.from_elsewhere = node & 1;
            check_cancelled_after(&f, node);
            check_whole_run(&f);
        }
        close_fixture(&f);
    }
}

Test(cancelling, before_a_run_it_is_that_run) {
    fixture f;
    open_fixture(&f, "cpu:threads=1");
    tort_context_cancel(f.context);
    check_cancelled_after(&f, -1);
    check_whole_run(&f);
    close_fixture(&f);
}

/* The flag goes with the run, even where nothing is left to be ended. */
Test(cancelling, after_the_last_step_nothing_is_cancelled) {
    fixture f;
    open_fixture(&f, "cpu:threads=1");
    f.cancel_at = NODES - 1;
    cr_expect_eq(run(&f), TORT_OK, "%s", f.error.msg);
    check_whole_run(&f);
    close_fixture(&f);
}

static void *keep_cancelling(void *ud) {
    fixture *f = ud;
    while (!atomic_load(&f->stop)) tort_context_cancel(f->context);
    return NULL;
}

Test(cancelling, from_another_thread_at_any_time) {
    fixture f;
    pthread_t other;
    int ended = 0;
    open_fixture(&f, "cpu:threads=1");
    tort_context_observe(f.context, NULL, NULL);
    cr_assert_eq(pthread_create(&other, NULL, keep_cancelling, &f), 0);
    while (!ended) {
        const tort_status status = run(&f);
        cr_assert(status == TORT_OK || status == TORT_E_CANCELLED, "%s", f.error.msg);
        ended = status == TORT_E_CANCELLED;
    }
    atomic_store(&f.stop, true);
    pthread_join(other, NULL);
    close_fixture(&f);
}
