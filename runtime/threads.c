/* threads.c - the pool behind the default parallel_for; threads.h says what it promises.
 *
 * One job at a time: `busy` is taken by the caller whose job it is. Workers wait for the number of jobs to change,
 * do the part that carries their index, and count themselves out. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "runtime/threads.h"

typedef struct worker {
    pthread_t thread;
    struct tort_pool *pool;
    int32_t part;
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
    atomic_flag busy;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t work, done;
    pool_job job;
    uint64_t jobs;   /* started so far */
    int32_t pending; /* workers that have not finished the job */
    bool stop;
};

static void run_part(const pool_job *job, int32_t part) {
    int64_t size = job->count / job->parts, larger = job->count % job->parts;
    int64_t begin = size * part + (part < larger ? part : larger);
    job->body(job->arg, begin, begin + size + (part < larger ? 1 : 0));
}

static void *work(void *arg) {
    const worker *self = arg;
    tort_pool *pool = self->pool;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->stop && pool->jobs == seen) pthread_cond_wait(&pool->work, &pool->lock);
        if (pool->stop) break;
        seen = pool->jobs;
        if (self->part >= pool->job.parts) continue;
        pool_job job = pool->job;
        pthread_mutex_unlock(&pool->lock);
        run_part(&job, self->part);
        pthread_mutex_lock(&pool->lock);
        if (--pool->pending == 0) pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static int32_t online_processors(void) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : online > 1024 ? 1024 : (int32_t)online;
}

tort_pool *tort_pool_create(const tort_env *env, int32_t threads) {
    if (threads <= 0) threads = online_processors();
    tort_pool *pool = tort_alloc_zero(env, 1, sizeof *pool);
    worker *workers = tort_alloc_zero(env, (size_t)threads, sizeof *workers);
    if (!pool || !workers) {
        tort_free(env, pool, sizeof *pool);
        tort_free(env, workers, (size_t)threads * sizeof *workers);
        return NULL;
    }
    pool->env = *env;
    pool->workers = workers;
    pool->worker_capacity = threads;
    atomic_flag_clear(&pool->busy);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (int32_t i = 0; i < threads - 1; i++) {
        workers[i] = (worker){.pool = pool, .part = i + 1};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) break;
        pool->worker_count++;
    }
    return pool;
}

void tort_pool_destroy(tort_pool *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (int32_t i = 0; i < pool->worker_count; i++) pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    tort_env env = pool->env;
    tort_free(&env, pool->workers, (size_t)pool->worker_capacity * sizeof *pool->workers);
    tort_free(&env, pool, sizeof *pool);
}

int32_t tort_pool_threads(const tort_pool *pool) {
    return pool->worker_count + 1;
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
    pool_job job = {body, arg, count, (int32_t)parts};
    pthread_mutex_lock(&pool->lock);
    pool->job = job;
    pool->jobs++;
    pool->pending = job.parts - 1;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    run_part(&job, 0);
    pthread_mutex_lock(&pool->lock);
    while (pool->pending > 0) pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    atomic_flag_clear(&pool->busy);
}
