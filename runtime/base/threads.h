/* threads.h - the default parallel_for: a pool that belongs to a session.
 *
 * A call cuts its range into equal parts, at most one a thread, which the threads take one after the other, the
 * caller's among them: one that is late, because its processor is busy with something else, leaves its part to others.
 * What a part is depends on nothing but the counts, so results do not depend on timing. Within a run threads look for
 * the next call without sleeping; between runs they sleep after a moment. A call while the pool is busy (nested, or
 * from another context) runs on the caller's thread alone. */
#ifndef TORT_RUNTIME_BASE_THREADS_H
#define TORT_RUNTIME_BASE_THREADS_H

#include "runtime/base/memory.h"

typedef struct tort_pool tort_pool;

/* On which the calling thread may run: in a container, or under taskset, fewer than the machine has. */
int32_t tort_processors(void);

/* threads: the caller's included; 0: one for each of tort_processors. Fewer if the system refuses to start
 * them. spin: microseconds for which they look for a call between runs; negative: as is usual. NULL: out of memory.
 * Copies env, of which only the allocator is used. */
tort_pool *tort_pool_create(const tort_env *env, int32_t threads, int64_t spin);
/* No call may be running. NULL is allowed. */
void tort_pool_destroy(tort_pool *pool);
int32_t tort_pool_threads(const tort_pool *pool);

/* A run begins, or ends: between the two the next call is near. Runs may overlap. NULL is allowed. */
void tort_pool_begin_run(tort_pool *pool);
void tort_pool_end_run(tort_pool *pool);

/* For tort_env.parallel_for, with the pool as parallel_ud. No part is smaller than `grain` unless it is the whole. */
void tort_pool_parallel_for(void *pool, int64_t count, int64_t grain,
                            void (*body)(void *arg, int64_t begin, int64_t end), void *arg);

#endif
