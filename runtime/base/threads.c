/* threads.c - the pool behind the default parallel_for; threads.h says what it promises.
 *
 * One job at a time: `busy` is taken by the caller whose job it is. A worker waits for the number of its jobs to
 * change, does the part that carries its index, and counts itself out. Between the steps of a run the next job is
 * microseconds away, and to be woken takes longer than that: so who waits looks for a moment before it sleeps. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "runtime/base/threads.h"

#define LOOKS 2000 /* before sleeping; some 30 microseconds */

typedef struct worker {
    pthread_t thread;
    struct tort_pool *pool;
    int32_t part;
    atomic_uint_fast64_t jobs; /* given to it so far; raised under the lock, so that it does not sleep through one */
    pthread_cond_t wake;
} worker;

typedef struct pool_job {
    void (*body)(void *, int64_t, int64_t);
    void *arg;
    int64_t count;
    int32_t parts;
} pool_job;

struct tort_pool {
    tort_env env;
    worker *workers;
    int32_t worker_capacity, worker_count;
    int32_t looks; /* 0 where there are more threads than processors: looking would keep others from working */
    atomic_flag busy;
    atomic_int pending; /* workers that have not finished the job */
    atomic_bool stop;
    pthread_mutex_t lock;
    pthread_cond_t done;
    pool_job job; /* written before the workers' `jobs` are raised, read after */
};

static void rest_a_moment(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void run_part(const pool_job *job, int32_t part) {
    int64_t size = job->count / job->parts, larger = job->count % job->parts;
    int64_t begin = size * part + (part < larger ? part : larger);
    job->body(job->arg, begin, begin + size + (part < larger ? 1 : 0));
}

static bool has_work(worker *self, uint64_t seen) {
    return atomic_load(&self->jobs) != seen || atomic_load(&self->pool->stop);
}

static void wait_for_work(worker *self, uint64_t seen) {
    tort_pool *pool = self->pool;
    for (int32_t i = 0; i < pool->looks; i++) {
        if (has_work(self, seen)) return;
        rest_a_moment();
    }
    pthread_mutex_lock(&pool->lock);
    while (!has_work(self, seen)) pthread_cond_wait(&self->wake, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

static void wait_for_workers(tort_pool *pool) {
    for (int32_t i = 0; i < pool->looks; i++) {
        if (atomic_load(&pool->pending) == 0) return;
        rest_a_moment();
    }
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->pending) > 0) pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

/* `job` stays while it is read: the caller begins no other before every part of it is counted out. */
static void *work(void *arg) {
    worker *self = arg;
    tort_pool *pool = self->pool;
    for (uint64_t seen = 0;; seen++) {
        wait_for_work(self, seen);
        if (atomic_load(&pool->stop)) return NULL;
        run_part(&pool->job, self->part);
        if (atomic_fetch_sub(&pool->pending, 1) > 1) continue;
        pthread_mutex_lock(&pool->lock);
        pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->lock);
    }
}

static int32_t online_processors(void) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : online > 1024 ? 1024 : (int32_t)online;
}

static void free_pool(tort_pool *pool) {
    tort_env env = pool->env;
    tort_free(&env, pool->workers, (size_t)pool->worker_capacity * sizeof *pool->workers);
    tort_free(&env, pool, sizeof *pool);
}

tort_pool *tort_pool_create(const tort_env *env, int32_t threads) {
    if (threads <= 0) threads = online_processors();
    tort_pool *pool = tort_alloc_zero(env, 1, sizeof *pool);
    if (!pool) return NULL;
    pool->env = *env;
    pool->worker_capacity = threads - 1;
    pool->workers = tort_alloc_zero(env, (size_t)pool->worker_capacity, sizeof *pool->workers);
    if (!pool->workers) {
        free_pool(pool);
        return NULL;
    }
    pool->looks = threads <= online_processors() ? LOOKS : 0;
    atomic_flag_clear(&pool->busy);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (int32_t i = 0; i < pool->worker_capacity; i++) {
        worker *w = &pool->workers[i];
        w->pool = pool;
        w->part = i + 1;
        pthread_cond_init(&w->wake, NULL);
        if (pthread_create(&w->thread, NULL, work, w) != 0) {
            pthread_cond_destroy(&w->wake);
            break;
        }
        pool->worker_count++;
    }
    return pool;
}

void tort_pool_destroy(tort_pool *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->stop, true);
    for (int32_t i = 0; i < pool->worker_count; i++) pthread_cond_signal(&pool->workers[i].wake);
    pthread_mutex_unlock(&pool->lock);
    for (int32_t i = 0; i < pool->worker_count; i++) {
        pthread_join(pool->workers[i].thread, NULL);
        pthread_cond_destroy(&pool->workers[i].wake);
    }
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->lock);
    free_pool(pool);
}

int32_t tort_pool_threads(const tort_pool *pool) {
    return pool->worker_count + 1;
}

static void start_workers(tort_pool *pool, int32_t count) {
    atomic_store(&pool->pending, count);
    pthread_mutex_lock(&pool->lock);
    for (int32_t i = 0; i < count; i++) {
        atomic_fetch_add(&pool->workers[i].jobs, 1);
        pthread_cond_signal(&pool->workers[i].wake);
    }
    pthread_mutex_unlock(&pool->lock);
}

void tort_pool_parallel_for(void *ud, int64_t count, int64_t grain, void (*body)(void *, int64_t, int64_t), void *arg) {
    tort_pool *pool = ud;
    if (count <= 0) return;
    int64_t parts = grain > 1 ? count / grain : count;
    if (parts > tort_pool_threads(pool)) parts = tort_pool_threads(pool);
    if (parts <= 1 || atomic_flag_test_and_set(&pool->busy)) {
        body(arg, 0, count);
        return;
    }
    pool->job = (pool_job){body, arg, count, (int32_t)parts};
    start_workers(pool, (int32_t)parts - 1);
    run_part(&pool->job, 0);
    wait_for_workers(pool);
    atomic_flag_clear(&pool->busy);
}
