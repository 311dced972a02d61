/* threads.c - the thread pool behind the default parallel_for; see threads.h for its guarantees.
 *
 * One job at a time; its caller holds `busy`. A job is handed over in one atomic word, `offer`: the job's number
 * (against ABA), and the range of parts that are left, first to end. A thread takes a part by compare-and-swap;
 * the job stays valid until all its parts are counted out, so locks are needed only to sleep and to wake. The
 * caller takes parts from the front, workers from the end, so that a thread tends to get the same part again,
 * whose data is in its cache. */
#define _GNU_SOURCE /* sched_getcpu, affinities */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "runtime/core/base/system.h"
#include "runtime/core/base/threads.h"
#include "runtime/core/base/watch.h"

/* Microseconds of busy waiting before a thread sleeps. Waking up takes about 50. */
#define IN_RUN 1000      /* a worker during a run: the run may be in a long single-threaded step */
#define BETWEEN_RUNS 200 /* a worker between runs that follow each other closely, even from a script */
#define FOR_WORKERS 200  /* a caller: a preempted worker may need this processor to go on */
#define LOOKS 32         /* polls between two queries of the clock */
#define PART_BITS 16     /* of the offer: end in the lowest bits, then first, then the number of the job */
#define MAX_PARTS ((1 << PART_BITS) - 1)
#ifdef TORT_CPU_PLAIN
#define WAITS_BUSILY false /* a plain build is to be small: its threads sleep at once, where the system puts them */
#else
#define WAITS_BUSILY true
#endif

typedef struct pool_job {
    void (*body)(void *, int64_t, int64_t);
    void *arg;
    int64_t count;
    int32_t parts;
} pool_job;

struct tort_pool {
    tort_env env;
    pthread_t *workers;
    int32_t worker_capacity, worker_count;
    int64_t spin;         /* microseconds of busy waiting between runs */
    atomic_int processor; /* of the caller when it offered its last job */
    pid_t process;        /* that has the workers: after a fork the child has none, and calls work without */
    bool flushes;         /* its threads take subnormal numbers as 0 */
    bool looks;           /* false if there are more threads than processors: busy waiting would slow others down */
    atomic_flag busy;
    atomic_int runs;     /* that are under way */
    atomic_int sleepers; /* number of sleeping workers */
    atomic_bool stop;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    atomic_bool caller_sleeps;
    _Alignas(64) atomic_uint_fast64_t offer;
    pool_job job;                    /* written before the offer; read only with a part in hand */
    _Alignas(64) atomic_int pending; /* parts not finished yet */
};

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static void run_part(const pool_job *job, int32_t part) {
    int64_t size = job->count / job->parts, larger = job->count % job->parts;
    int64_t begin = size * part + (part < larger ? part : larger);
    job->body(job->arg, begin, begin + size + (part < larger ? 1 : 0));
}

/* Counts a finished part. After the last one the caller may return, and its job be gone. */
static void count_out(tort_pool *pool) {
    if (atomic_fetch_sub(&pool->pending, 1) > 1 || !atomic_load(&pool->caller_sleeps)) return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_signal(&pool->done);
    pthread_mutex_unlock(&pool->lock);
}

static int32_t first_of(uint_fast64_t offer) {
    return (int32_t)(offer >> PART_BITS & MAX_PARTS);
}

static int32_t end_of(uint_fast64_t offer) {
    return (int32_t)(offer & MAX_PARTS);
}

static void take_parts(tort_pool *pool, bool caller) {
    uint_fast64_t offer = atomic_load(&pool->offer);
    while (first_of(offer) < end_of(offer)) {
        const uint_fast64_t rest = caller ? offer + (1 << PART_BITS) : offer - 1;
        if (!atomic_compare_exchange_weak(&pool->offer, &offer, rest)) continue;
        run_part(&pool->job, caller ? first_of(offer) : end_of(offer) - 1);
        count_out(pool);
        offer = atomic_load(&pool->offer);
    }
}

/* ---- workers ----------------------------------------------------------------------------------------------------- */

static bool has_work(tort_pool *pool) {
    const uint_fast64_t offer = atomic_load(&pool->offer);
    return first_of(offer) < end_of(offer) || atomic_load(&pool->stop);
}

/* Yields now and then: the thread that it waits for may have been woken on this processor, and would not be moved to
 * another one for milliseconds. */
static bool look_for_work(tort_pool *pool) {
    if (!WAITS_BUSILY || !pool->looks) return has_work(pool);
    const int64_t begin = tort_now();
    do {
        for (int32_t i = 0; i < LOOKS; i++) {
            if (has_work(pool)) return true;
            tort_rest_a_moment();
        }
        sched_yield();
    } while (tort_now() - begin < 1000 * (atomic_load(&pool->runs) ? IN_RUN : pool->spin));
    return false;
}

/* No wake-up is lost: the offering thread reads `sleepers` after writing the offer, a worker reads the offer after
 * writing `sleepers`, so one sees the other. A worker woken too late waits for the next job. */
static void wait_for_work(tort_pool *pool) {
    if (look_for_work(pool)) return;
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1);
    if (!has_work(pool)) pthread_cond_wait(&pool->wake, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->lock);
}

/* Linux often wakes a thread on the waker's processor, even if others are idle; both then share it for some scheduler
 * ticks, longer than many runs. A worker that finds itself on its caller's processor makes the system move it: it sets
 * its affinity to all other processors, and then to all again. */
static void step_aside(const tort_pool *pool) {
    cpu_set_t all, others;
    const int here = sched_getcpu();
    if (!pool->looks || here < 0 || here != atomic_load(&pool->processor)) return;
    if (pthread_getaffinity_np(pthread_self(), sizeof all, &all) || CPU_COUNT(&all) < 2) return;
    others = all;
    CPU_CLR((unsigned)here, &others);
    pthread_setaffinity_np(pthread_self(), sizeof others, &others);
    pthread_setaffinity_np(pthread_self(), sizeof all, &all);
}

static void *work(void *arg) {
    tort_pool *pool = arg;
    if (pool->flushes) tort_subnormals_off();
    while (!atomic_load(&pool->stop)) {
        wait_for_work(pool);
        if (WAITS_BUSILY) step_aside(pool);
        take_parts(pool, false);
    }
    return NULL;
}

static void wake_workers(tort_pool *pool, int32_t wanted) {
    if (!atomic_load(&pool->sleepers)) return;
    pthread_mutex_lock(&pool->lock); /* a worker about to sleep sleeps now, or saw the offer */
    const int32_t sleepers = atomic_load(&pool->sleepers);
    pthread_mutex_unlock(&pool->lock);
    for (int32_t i = 0; i < wanted && i < sleepers; i++) pthread_cond_signal(&pool->wake);
}

/* ---- create, destroy --------------------------------------------------------------------------------------------- */

int32_t tort_processors(void) {
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t allowed;
    if (pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed) == 0) count = CPU_COUNT(&allowed);
    return count < 1 ? 1 : count > 1024 ? 1024 : (int32_t)count;
}

static void start_workers(tort_pool *pool) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes)) return;
    pthread_attr_setstacksize(&attributes, TORT_THREAD_STACK);
    while (pool->worker_count < pool->worker_capacity &&
           pthread_create(&pool->workers[pool->worker_count], &attributes, work, pool) == 0)
        pool->worker_count++;
    pthread_attr_destroy(&attributes);
}

static void free_pool(tort_pool *pool) {
    tort_env env = pool->env;
    tort_free(&env, pool->workers, (size_t)pool->worker_capacity * sizeof *pool->workers);
    tort_free_aligned(&env, pool, sizeof *pool);
}

tort_pool *tort_pool_create(const tort_env *env, int32_t threads, int64_t spin, bool flushes) {
    if (threads <= 0) threads = tort_processors();
    if (threads > MAX_PARTS) threads = MAX_PARTS;
    tort_pool *pool = tort_alloc_aligned(env, sizeof *pool);
    if (!pool) return NULL;
    *pool = (tort_pool){.env = *env,
                        .worker_capacity = threads - 1,
                        .spin = spin < 0 ? BETWEEN_RUNS : spin,
                        .process = getpid(),
                        .flushes = flushes,
                        .looks = WAITS_BUSILY && threads <= tort_processors(),
                        .busy = ATOMIC_FLAG_INIT,
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .wake = PTHREAD_COND_INITIALIZER,
                        .done = PTHREAD_COND_INITIALIZER};
    pool->workers = tort_alloc_zero(env, (size_t)pool->worker_capacity, sizeof *pool->workers);
    if (!pool->workers) {
        free_pool(pool);
        return NULL;
    }
    start_workers(pool);
    return pool;
}

/* A forked child must not call this: it would wait for workers that it does not have, also inside pthread_cond_destroy.
 */
static void end_workers(tort_pool *pool) {
    atomic_store(&pool->stop, true);
    wake_workers(pool, pool->worker_count);
    for (int32_t i = 0; i < pool->worker_count; i++) pthread_join(pool->workers[i], NULL);
}

void tort_pool_destroy(tort_pool *pool) {
    if (!pool) return;
    if (getpid() == pool->process) end_workers(pool);
    free_pool(pool); /* lock, wake and done were initialized statically, and hold nothing that must be destroyed */
}

int32_t tort_pool_threads(const tort_pool *pool) {
    return pool->worker_count + 1;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* In a forked child the pool is busy for ever, so that calls do all work themselves: `lock` may be held by a worker
 * that is not there. */
void tort_pool_begin_run(tort_pool *pool) {
    if (!pool) return;
    if (getpid() != pool->process) atomic_flag_test_and_set(&pool->busy);
    atomic_fetch_add(&pool->runs, 1);
}

void tort_pool_end_run(tort_pool *pool) {
    if (pool) atomic_fetch_sub(&pool->runs, 1);
}

static void offer_parts(tort_pool *pool, int32_t parts) {
    const uint_fast64_t number = (atomic_load(&pool->offer) >> 2 * PART_BITS) + 1;
    if (WAITS_BUSILY) atomic_store(&pool->processor, sched_getcpu());
    atomic_store(&pool->pending, parts);
    atomic_store(&pool->offer, number << 2 * PART_BITS | (uint_fast64_t)parts);
    wake_workers(pool, parts - 1);
}

static bool look_for_end(tort_pool *pool) {
    if (atomic_load(&pool->pending) == 0) return true;
    if (!WAITS_BUSILY || !pool->looks) return false;
    const int64_t begin = tort_now();
    do {
        for (int32_t i = 0; i < LOOKS; i++) {
            if (atomic_load(&pool->pending) == 0) return true;
            tort_rest_a_moment();
        }
        sched_yield();
    } while (tort_now() - begin < 1000 * FOR_WORKERS);
    return false;
}

static void wait_for_end(tort_pool *pool) {
    if (look_for_end(pool)) return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->caller_sleeps, true);
    while (atomic_load(&pool->pending) > 0) pthread_cond_wait(&pool->done, &pool->lock);
    atomic_store(&pool->caller_sleeps, false);
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
    offer_parts(pool, (int32_t)parts);
    take_parts(pool, true);
    wait_for_end(pool);
    atomic_flag_clear(&pool->busy);
}
