/* value.h - values of a run inside the library: what operators and the executor need beside the functions in tinyort.h.
 *
 * A value is nested no deeper than its type can tell (TORT_MAX_NESTING), so walking one needs no stack of its own. */
#ifndef TORT_RUNTIME_GRAPH_VALUE_H
#define TORT_RUNTIME_GRAPH_VALUE_H

#include "runtime/tinyort.h"

/* A tensor of this type and shape, to be filled before anybody else sees it; `shape->data` is not read. Elements are
 * not initialised, strings are empty. Aligned to TORT_HOST_ALIGN. NULL: out of memory, or no valid type and shape. */
TORT_API tort_value *tort_value_new(const tort_env *env, const tort_tensor *shape);
TORT_API void *tort_value_data(tort_value *value); /* of a new tensor, for filling it */
/* Copies the text that the strings of a new tensor point to; other types are left alone. False: out of memory. */
TORT_API bool tort_value_own_text(tort_value *value);

/* Is there one reference alone? Its holder may change the value. */
TORT_API bool tort_value_single(const tort_value *value);
/* A new sequence of the same elements. */
TORT_API tort_value *tort_value_copy(const tort_value *sequence);
/* Puts `element` before element `at`, 0 to count; see tort_value_append. */
TORT_API bool tort_value_insert(tort_value *sequence, int32_t at, const tort_value *element);
/* Takes element `at`, which is there, out of a sequence that has one reference. */
TORT_API void tort_value_erase(tort_value *sequence, int32_t at);

/* As tort_value_map, with keys that several maps share: a tensor, held with a reference. */
TORT_API tort_value *tort_value_map_of(const tort_env *env, const tort_value *keys, tort_value_type type,
                                       const tort_value *const *values);

/* Are these one type, as far as is known? Elements of UNDEFINED type may be any. */
TORT_API bool tort_type_fits(tort_value_type a, tort_value_type b);

#endif
