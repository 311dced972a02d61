/* lookup.h - a hash table in the scratch of a call: finds the index of an element in a list of keys in params. */
#ifndef TORT_OPS_ML_LOOKUP_H
#define TORT_OPS_ML_LOOKUP_H

#include "runtime/include/op.h"

typedef struct tort_lookup {
    const uint64_t *hash_key;
    const void *params;
    tort_list keys;
    tort_type type; /* of the keys: string, an integer or a float */
    int32_t *slots; /* in scratch: the index of a key; -1: free */
    uint64_t mask;
} tort_lookup;

enum { TORT_MAX_KEYS = 1 << 30 };

/* Bytes of scratch for so many keys, at most TORT_MAX_KEYS. */
size_t tort_lookup_bytes(int64_t count);
/* Builds the table of keys in the call's params. Of equal keys, `first` selects the first one, otherwise the last. */
tort_lookup tort_lookup_build(const tort_call *call, tort_list keys, tort_type type, bool first, void *scratch);
/* The index of a key; -1 if it is missing. Numbers are compared by value; NaN equals NaN. */
int64_t tort_lookup_text(const tort_lookup *lookup, tort_string text);
int64_t tort_lookup_integer(const tort_lookup *lookup, int64_t number);
/* Looks up element i of data, which has the keys' type. */
int64_t tort_lookup_element(const tort_lookup *lookup, const void *data, int64_t i);

#endif
