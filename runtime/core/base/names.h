/* names.h - a hash table from names to numbers, so that a model with a hundred thousand names loads in linear time. */
#ifndef TORT_RUNTIME_BASE_NAMES_H
#define TORT_RUNTIME_BASE_NAMES_H

#include "runtime/core/base/memory.h"

typedef struct tort_names {
    const tort_env *env; /* borrowed; its key is that of the hash */
    struct tort_name_slot *slots;
    int32_t count, capacity; /* capacity is 0 or a power of two */
} tort_names;

void tort_names_init(tort_names *names, const tort_env *env);
void tort_names_free(tort_names *names);

/* False: the name is unknown. */
bool tort_names_find(const tort_names *names, const char *name, int32_t *number);
/* The name as it was added; NULL: it is unknown. */
const char *tort_names_key(const tort_names *names, const char *name);
/* Adds a new name, borrowed; false: out of memory. */
bool tort_names_add(tort_names *names, const char *name, int32_t number);
/* Adds the name, borrowed, or if it is taken, a copy in the arena with "#2", "#3" and so on appended. Only for tables
 * in which all names were added with number 1. NULL: out of memory. */
const char *tort_names_add_unique(tort_names *names, tort_arena *arena, const char *name);

#endif
