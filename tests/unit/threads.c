/* Tests of runtime/core/base/threads.c: parts cover the range once, nested and concurrent calls do not block, and a
 * worker does not stay on its caller's processor. */
#define _GNU_SOURCE /* usleep, affinities */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/core/base/threads.h"

enum { COUNT = 1000 };

typedef struct marks {
    atomic_int seen[COUNT];
    atomic_int calls;
    tort_pool *pool;
} marks;

static void mark(void *arg, int64_t begin, int64_t end) {
    marks *m = arg;
    atomic_fetch_add(&m->calls, 1);
    for (int64_t i = begin; i < end; i++) atomic_fetch_add(&m->seen[i], 1);
}

static void assert_each_once(const marks *m, int64_t count) {
    for (int64_t i = 0; i < COUNT; i++) cr_assert_eq(m->seen[i], i < count ? 1 : 0);
}

Test(threads, every_item_is_done_once_whatever_the_counts) {
    tort_env env = tort_env_complete(NULL);
    for (int32_t threads = 1; threads <= 5; threads++) {
        tort_pool *pool = tort_pool_create(&env, threads, -1, false);
        cr_assert_eq(tort_pool_threads(pool), threads);
        for (int64_t count = 0; count < COUNT; count += 37) {
            marks m = {0};
            tort_pool_parallel_for(pool, count, 10, mark, &m);
            assert_each_once(&m, count);
            int64_t parts = count / 10 < threads ? count / 10 : threads;
            cr_assert_eq(m.calls, count == 0 ? 0 : parts > 1 ? (int)parts : 1);
        }
        tort_pool_destroy(pool);
    }
    tort_pool_destroy(NULL);
}

/* Workers that sleep, and that look for work, at the time of the fork. */
Test(threads, a_forked_child_works_without_workers_and_frees_the_pool) {
    tort_env env = tort_env_complete(NULL);
    for (int round = 0; round < 50; round++) {
        tort_pool *pool = tort_pool_create(&env, 4, -1, false);
        marks m = {0};
        tort_pool_parallel_for(pool, COUNT, 10, mark, &m);
        if (round % 2) usleep(20000);
        const pid_t child = fork();
        if (!child) {
            marks inner = {0};
            alarm(20);
            tort_pool_begin_run(pool);
            tort_pool_parallel_for(pool, COUNT, 10, mark, &inner);
            tort_pool_end_run(pool);
            tort_pool_destroy(pool);
            _exit(inner.seen[0] == 1 && inner.seen[COUNT - 1] == 1 ? 0 : 1);
        }
        int status = -1;
        cr_expect_eq(waitpid(child, &status, 0), child);
        cr_expect_eq(status, 0, "round %d", round);
        tort_pool_destroy(pool);
    }
}

static void mark_nested(void *arg, int64_t begin, int64_t end) {
    marks *m = arg;
    for (int64_t i = begin; i < end; i++) {
        marks inner = {0};
        tort_pool_parallel_for(m->pool, 20, 1, mark, &inner);
        assert_each_once(&inner, 20);
        cr_assert_eq(inner.calls, 1);
        atomic_fetch_add(&m->seen[i], 1);
    }
}

Test(threads, a_nested_call_runs_serially) {
    tort_env env = tort_env_complete(NULL);
    marks m = {.pool = tort_pool_create(&env, 3, -1, false)};
    tort_pool_parallel_for(m.pool, 50, 1, mark_nested, &m);
    assert_each_once(&m, 50);
    tort_pool_destroy(m.pool);
}

static void *call_often(void *pool) {
    for (int i = 0; i < 200; i++) {
        marks m = {0};
        tort_pool_parallel_for(pool, 100, 1, mark, &m);
        for (int64_t k = 0; k < 100; k++)
            if (m.seen[k] != 1) return "an item was not done once";
    }
    return NULL;
}

Test(threads, contexts_side_by_side_share_a_pool) {
    tort_env env = tort_env_complete(NULL);
    tort_pool *pool = tort_pool_create(&env, 3, -1, false);
    pthread_t callers[4];
    for (int i = 0; i < 4; i++) pthread_create(&callers[i], NULL, call_often, pool);
    for (int i = 0; i < 4; i++) {
        void *complaint;
        pthread_join(callers[i], &complaint);
        cr_assert_null(complaint);
    }
    tort_pool_destroy(pool);
}

static void *run_often(void *pool) {
    for (int i = 0; i < 100; i++) {
        tort_pool_begin_run(pool);
        void *complaint = call_often(pool);
        tort_pool_end_run(pool);
        if (complaint) return complaint;
    }
    return NULL;
}

/* With more threads than any machine has processors nobody looks; else who looks finds every job. */
Test(threads, jobs_that_follow_each_other_closely_are_all_done) {
    tort_env env = tort_env_complete(NULL);
    const int32_t threads[] = {2, 3, 40};
    for (int i = 0; i < 3; i++) {
        tort_pool *pool = tort_pool_create(&env, threads[i], i == 1 ? 1000 : 0, false);
        cr_assert_null(run_often(pool));
        tort_pool_destroy(pool);
    }
}

static void wait_for_others(void *arg, int64_t begin, int64_t end) {
    atomic_int *begun = arg;
    atomic_fetch_add(begun, (int)(end - begin));
    while (atomic_load(begun) < 4) usleep(100);
}

Test(threads, workers_that_sleep_are_woken) {
    tort_env env = tort_env_complete(NULL);
    tort_pool *pool = tort_pool_create(&env, 4, 0, false);
    for (int i = 0; i < 20; i++) {
        atomic_int begun = 0;
        usleep(2000); /* until they sleep */
        tort_pool_parallel_for(pool, 4, 1, wait_for_others, &begun);
        cr_assert_eq(begun, 4);
    }
    tort_pool_destroy(pool);
}

static void mark_slowly(void *arg, int64_t begin, int64_t end) {
    if (begin > 0) usleep(2000); /* longer than the caller looks */
    mark(arg, begin, end);
}

Test(threads, a_caller_that_sleeps_is_woken) {
    tort_env env = tort_env_complete(NULL);
    tort_pool *pool = tort_pool_create(&env, 2, -1, false);
    for (int i = 0; i < 20; i++) {
        marks m = {0};
        tort_pool_parallel_for(pool, 100, 1, mark_slowly, &m);
        assert_each_once(&m, 100);
    }
    tort_pool_destroy(pool);
}

#ifdef __linux__

/* Of a caller that stays on one processor, and its worker. */
typedef struct neighbours {
    pthread_t caller;
    int processor;
    atomic_int worker_begun, beside, narrowed;
} neighbours;

/* For the worker: the caller waits for it, so that each has one part. False: this is the caller. */
static bool is_worker(neighbours *n) {
    if (!pthread_equal(pthread_self(), n->caller)) {
        atomic_store(&n->worker_begun, 1);
        return true;
    }
    while (!atomic_load(&n->worker_begun)) usleep(10);
    return false;
}

static void come_beside(void *arg, int64_t begin, int64_t end) {
    neighbours *n = arg;
    cpu_set_t all, one;
    (void)begin, (void)end;
    if (!is_worker(n)) return;
    pthread_getaffinity_np(pthread_self(), sizeof all, &all);
    CPU_ZERO(&one);
    CPU_SET((unsigned)n->processor, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    pthread_setaffinity_np(pthread_self(), sizeof all, &all);
}

static void look_around(void *arg, int64_t begin, int64_t end) {
    neighbours *n = arg;
    cpu_set_t all;
    (void)begin, (void)end;
    if (!is_worker(n)) return;
    atomic_fetch_add(&n->beside, sched_getcpu() == n->processor);
    pthread_getaffinity_np(pthread_self(), sizeof all, &all);
    atomic_fetch_add(&n->narrowed, CPU_COUNT(&all) < 2);
}

/* Linux wakes a worker there, and both would take turns for longer than a run. */
Test(threads, a_worker_beside_its_caller_steps_aside) {
    enum { ROUNDS = 40 };
    tort_env env = tort_env_complete(NULL);
    neighbours n = {.caller = pthread_self(), .processor = sched_getcpu()};
    cpu_set_t all, one;
    pthread_getaffinity_np(pthread_self(), sizeof all, &all);
    if (CPU_COUNT(&all) < 2) {
        /* Criterion has no skip within a test; the sum over all runners reads this line. */
        printf("threads: that a worker steps aside is not tested here: there is one processor\n");
        printf("threads: 0 passed, 0 failed, 1 skipped\n");
        return;
    }
    tort_pool *pool = tort_pool_create(&env, 2, -1, false);
    CPU_ZERO(&one);
    CPU_SET((unsigned)n.processor, &one);
    cr_assert_eq(pthread_setaffinity_np(pthread_self(), sizeof one, &one), 0);
    for (int i = 0; i < ROUNDS; i++) {
        atomic_store(&n.worker_begun, 0);
        tort_pool_parallel_for(pool, 2, 1, come_beside, &n);
        atomic_store(&n.worker_begun, 0);
        tort_pool_parallel_for(pool, 2, 1, look_around, &n);
    }
    cr_expect_lt(n.beside, ROUNDS / 2, "in %d of %d jobs both were on one processor", (int)n.beside, ROUNDS);
    cr_expect_eq(n.narrowed, 0);
    tort_pool_destroy(pool);
}

#endif
