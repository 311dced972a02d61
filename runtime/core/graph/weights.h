/* weights.h - residency of the model's weights. Private to model.c and weights.c; others use tort_weight_acquire and
 * tort_weight_release of graph.h. */
#ifndef TORT_RUNTIME_GRAPH_WEIGHTS_H
#define TORT_RUNTIME_GRAPH_WEIGHTS_H

#include "runtime/core/graph/graph.h"

struct tort_weight_store *tort_weight_store_new(const tort_env *env); /* borrows env; NULL: out of memory */
void tort_weight_store_free(struct tort_weight_store *store);
bool tort_weight_store_grow(struct tort_weight_store *store, int32_t count);
/* Bytes of the allocator that acquiring the weight takes; 0 if it is used in place, or always in memory. */
size_t tort_weight_home_bytes(const tort_model *model, int32_t weight);
/* Bytes of the allocator held now by weights that can be dropped. */
size_t tort_weights_resident(const tort_model *model);
/* Zeroed memory for the bytes of a weight, which is never dropped; NULL: out of memory. */
void *tort_weight_store_put(struct tort_weight_store *store, int32_t weight, size_t size);

#endif
