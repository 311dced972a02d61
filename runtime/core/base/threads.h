/* threads.h - the default parallel_for: a thread pool that belongs to a session.
 *
 * A call splits its range into equal parts, at most one per thread, which all threads, the caller included, take one by
 * one: if a thread is late, since its processor is busy, others take its part. Parts depend only on the counts, so
 * results do not depend on timing. During a run threads wait for the next call without sleeping; between runs they soon
 * sleep. A call while the pool is busy (nested, or from another context) runs on the caller's thread alone. */
#ifndef TORT_RUNTIME_BASE_THREADS_H
#define TORT_RUNTIME_BASE_THREADS_H

#include "runtime/core/base/memory.h"

typedef struct tort_pool tort_pool;

/* The number of processors that the calling thread may use: in a container or under taskset
 * fewer than the machine has. */
int32_t tort_processors(void);

/* threads: including the caller; 0: one for each of tort_processors; fewer if the system refuses to start them.
 * spin: microseconds of busy waiting between runs; negative: the default. flushes: its threads take subnormal numbers
 * as 0. NULL: out of memory. Copies env, and uses only its allocator. */
tort_pool *tort_pool_create(const tort_env *env, int32_t threads, int64_t spin, bool flushes);
/* No call may be in progress. NULL is allowed. */
void tort_pool_destroy(tort_pool *pool);
int32_t tort_pool_threads(const tort_pool *pool);

/* Mark begin and end of a run, during which the next call is near. Runs may overlap. NULL is allowed. */
void tort_pool_begin_run(tort_pool *pool);
void tort_pool_end_run(tort_pool *pool);

/* A tort_env.parallel_for, with the pool as parallel_ud. No part is smaller than `grain`,
 * unless it is the whole range. */
void tort_pool_parallel_for(void *pool, int64_t count, int64_t grain,
                            void (*body)(void *arg, int64_t begin, int64_t end), void *arg);

#endif
