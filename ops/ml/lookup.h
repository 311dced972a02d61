/* lookup.h - finds an element in a list of keys that the params hold: a hash table in the scratch of a call. */
#ifndef TORT_OPS_ML_LOOKUP_H
#define TORT_OPS_ML_LOOKUP_H

#include "runtime/op.h"

typedef struct tort_lookup {
    const void *params;
    tort_list keys;
    tort_type type; /* of the keys: string, an integer or a float */
    int32_t *slots; /* the scratch: -1, or the index of a key */
    uint64_t mask;
} tort_lookup;

enum { TORT_MAX_KEYS = 1 << 30 };

/* Scratch for so many keys, at most TORT_MAX_KEYS. */
size_t tort_lookup_bytes(int64_t count);
/* Of keys that are equal, the first or the last one is found. */
tort_lookup tort_lookup_build(const void *params, tort_list keys, tort_type type, bool first, void *scratch);
/* The index of a key, -1. Numbers are compared as numbers; NaN equals NaN. */
int64_t tort_lookup_text(const tort_lookup *lookup, tort_string text);
int64_t tort_lookup_integer(const tort_lookup *lookup, int64_t number);
/* Element i of data of the keys' type. */
int64_t tort_lookup_element(const tort_lookup *lookup, const void *data, int64_t i);

#endif
