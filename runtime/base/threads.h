/* threads.h - the default parallel_for: a pool that belongs to a session.
 *
 * A call cuts its range into equal parts, one a thread, the caller's thread among them; which thread takes which part
 * is fixed, so results do not depend on timing. Idle threads sleep, after some 30 microseconds in which they look for
 * the next call. A call while the pool is busy (nested, or from another context) runs on the caller's thread alone. */
#ifndef TORT_RUNTIME_BASE_THREADS_H
#define TORT_RUNTIME_BASE_THREADS_H

#include "runtime/base/memory.h"

typedef struct tort_pool tort_pool;

/* threads: the caller's included; 0: one for each processor that is online. Fewer if the system refuses to start
 * them. NULL: out of memory. Copies env, of which only the allocator is used. */
tort_pool *tort_pool_create(const tort_env *env, int32_t threads);
/* No call may be running. NULL is allowed. */
void tort_pool_destroy(tort_pool *pool);
int32_t tort_pool_threads(const tort_pool *pool);

/* For tort_env.parallel_for, with the pool as parallel_ud. No part is smaller than `grain` unless it is the whole. */
void tort_pool_parallel_for(void *pool, int64_t count, int64_t grain,
                            void (*body)(void *arg, int64_t begin, int64_t end), void *arg);

#endif
