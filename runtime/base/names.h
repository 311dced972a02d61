/* names.h - a hash table from names to numbers, so that a model with a hundred thousand names loads in linear time. */
#ifndef TORT_RUNTIME_BASE_NAMES_H
#define TORT_RUNTIME_BASE_NAMES_H

#include "runtime/base/memory.h"

typedef struct tort_names {
    const tort_env *env; /* borrows */
    struct tort_name_slot *slots;
    uint64_t seed;           /* of the hash */
    int32_t count, capacity; /* capacity is 0 or a power of two */
} tort_names;

void tort_names_init(tort_names *names, const tort_env *env);
void tort_names_free(tort_names *names);

/* False where the name is unknown. */
bool tort_names_find(const tort_names *names, const char *name, int32_t *number);
/* The name as it was added; NULL where it is unknown. */
const char *tort_names_key(const tort_names *names, const char *name);
/* Adds a name that is not there yet and borrows it; false: out of memory. */
bool tort_names_add(tort_names *names, const char *name, int32_t number);
/* Adds a name that is not there yet: this one, which is borrowed, or with "#2", "#3" and so on behind it, in the arena.
 * For a table whose numbers are all 1 where they were added; NULL: out of memory. */
const char *tort_names_add_unique(tort_names *names, tort_arena *arena, const char *name);

#endif
