/* value.h - functions on tort_values that operators and the executor need beside those in tinyort.h.
 *
 * The nesting of a value is bounded by its type (TORT_MAX_NESTING), so recursion over it is safe. */
#ifndef TORT_RUNTIME_GRAPH_VALUE_H
#define TORT_RUNTIME_GRAPH_VALUE_H

#include "runtime/include/tinyort.h"

/* A new tensor of this type and shape, to be filled before it is shared; `shape->data` is not read. Elements are
 * uninitialized, strings empty. Aligned to TORT_HOST_ALIGN. NULL: out of memory, or type or shape is invalid. */
TORT_API tort_value *tort_value_new(const tort_env *env, const tort_tensor *shape);
TORT_API void *tort_value_data(tort_value *value); /* of a new tensor, to fill it */
/* Copies the text that the strings of a new tensor point to; a no-op for other types. False: out of memory. */
TORT_API bool tort_value_own_text(tort_value *value);

/* True if there is only one reference: its holder may change the value. */
TORT_API bool tort_value_single(const tort_value *value);
/* A new sequence that shares the elements. */
TORT_API tort_value *tort_value_copy(const tort_value *sequence);
/* Inserts `element` before element `at`, 0..count; see tort_value_append. */
TORT_API bool tort_value_insert(tort_value *sequence, int32_t at, const tort_value *element);
/* Removes element `at`, which must exist, from a sequence that has only one reference. */
TORT_API void tort_value_erase(tort_value *sequence, int32_t at);

/* Like tort_value_map, but retains the keys, a tensor, which several maps may share. */
TORT_API tort_value *tort_value_map_of(const tort_env *env, const tort_value *keys, tort_value_type type,
                                       const tort_value *const *values);

/* True if both types are equal as far as known: an UNDEFINED element type fits any. */
TORT_API bool tort_type_fits(tort_value_type a, tort_value_type b);

#endif
