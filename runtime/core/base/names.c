/* names.c - the hash table: open addressing with linear probing, at most three quarters full. */
#include "runtime/core/base/names.h"

#include <string.h>

#include "runtime/core/base/hash.h"

typedef struct tort_name_slot {
    const char *name; /* NULL: empty */
    uint32_t hash;
    int32_t number;
} tort_name_slot;

void tort_names_init(tort_names *names, const tort_env *env) {
    *names = (tort_names){.env = env};
}

void tort_names_free(tort_names *names) {
    tort_free(names->env, names->slots, (size_t)names->capacity * sizeof *names->slots);
    tort_names_init(names, names->env);
}

static uint32_t hash_of(const tort_names *names, const char *name) {
    return (uint32_t)tort_hash(names->env->hash_key, name, strlen(name));
}

static tort_name_slot *slot_of(const tort_names *names, const char *name, uint32_t hash) {
    uint32_t mask = (uint32_t)names->capacity - 1, at = hash & mask;
    while (names->slots[at].name && (names->slots[at].hash != hash || strcmp(names->slots[at].name, name) != 0))
        at = (at + 1) & mask;
    return &names->slots[at];
}

bool tort_names_find(const tort_names *names, const char *name, int32_t *number) {
    if (names->count == 0) return false;
    const tort_name_slot *slot = slot_of(names, name, hash_of(names, name));
    if (!slot->name) return false;
    *number = slot->number;
    return true;
}

const char *tort_names_key(const tort_names *names, const char *name) {
    return names->count ? slot_of(names, name, hash_of(names, name))->name : NULL;
}

static bool enlarge(tort_names *names) {
    tort_names larger = *names;
    if (names->capacity > INT32_MAX / 2) return false;
    larger.capacity = names->capacity ? names->capacity * 2 : 4;
    larger.slots = tort_alloc_zero(names->env, (size_t)larger.capacity, sizeof *larger.slots);
    if (!larger.slots) return false;
    for (int32_t i = 0; i < names->capacity; i++) {
        const tort_name_slot *slot = &names->slots[i];
        if (slot->name) *slot_of(&larger, slot->name, slot->hash) = *slot;
    }
    tort_free(names->env, names->slots, (size_t)names->capacity * sizeof *names->slots);
    *names = larger;
    return true;
}

bool tort_names_add(tort_names *names, const char *name, int32_t number) {
    if (names->count >= names->capacity / 4 * 3 && !enlarge(names)) return false;
    uint32_t hash = hash_of(names, name);
    *slot_of(names, name, hash) = (tort_name_slot){name, hash, number};
    names->count++;
    return true;
}

/* The number of a name counts its uses, so that n equal names cost O(n) look-ups, not O(n^2). */
const char *tort_names_add_unique(tort_names *names, tort_arena *arena, const char *name) {
    int32_t repeat;
    if (!tort_names_find(names, name, &repeat)) return tort_names_add(names, name, 1) ? name : NULL;
    const char *other;
    int32_t taken;
    do {
        other = tort_arena_format(arena, "%s#%d", name, ++repeat);
        if (!other) return NULL;
    } while (tort_names_find(names, other, &taken));
    slot_of(names, name, hash_of(names, name))->number = repeat;
    return tort_names_add(names, other, 1) ? other : NULL;
}
