/* held.h - the account of what a run holds in host memory beside its plan, for the session's dynamic_limit: values
 * whose shape depends on data, sequences, optionals, maps, and the text of strings.
 *
 * Values may outlive the context that made them, and are freed by any thread; so the account lives as long as the last
 * of them. */
#ifndef TORT_RUNTIME_RUN_HELD_H
#define TORT_RUNTIME_RUN_HELD_H

#include <stdatomic.h>

#include "runtime/core/base/memory.h"

typedef struct tort_held {
    tort_env inner;        /* the application's */
    atomic_size_t objects; /* bytes of values and text, also of those that the application holds since earlier runs */
    atomic_size_t before;  /* objects when the run began */
    atomic_size_t regions; /* bytes of values whose shape depends on data, spares included */
    atomic_size_t limit;   /* of the run; SIZE_MAX between runs */
    atomic_size_t owners;  /* allocations that are alive, and the context */
    size_t refused;        /* bytes that the limit refused in this run; 0: none */
} tort_held;

/* Sets *env to an environment that allocates from `inner` and counts here. NULL: out of memory. */
tort_held *tort_held_new(const tort_env *inner, tort_env *env);
void tort_held_leave(tort_held *held); /* by the context; NULL is allowed */
void tort_held_begin(tort_held *held, uint64_t limit);
void tort_held_end(tort_held *held);
/* Bytes that the run holds now. */
size_t tort_held_bytes(const tort_held *held);

#endif
