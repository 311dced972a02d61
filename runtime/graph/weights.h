/* weights.h - the model's side of weights: which are resident. Private to model.c and weights.c; everyone else uses
 * tort_weight_acquire and tort_weight_release of graph.h. */
#ifndef TORT_RUNTIME_GRAPH_WEIGHTS_H
#define TORT_RUNTIME_GRAPH_WEIGHTS_H

#include "runtime/graph/graph.h"

struct tort_weight_store *tort_weight_store_new(const tort_env *env); /* borrows env; NULL: out of memory */
void tort_weight_store_free(struct tort_weight_store *store);
bool tort_weight_store_grow(struct tort_weight_store *store, int32_t count);
/* Bytes that acquiring the weight takes of the allocator: 0 where it is used in place, or in memory for good. */
size_t tort_weight_home_bytes(const tort_model *model, int32_t weight);
/* What weights that can be dropped hold of the allocator now. */
size_t tort_weights_resident(const tort_model *model);
/* Memory for the bytes of a weight, zeroed, for good; NULL: out of memory. */
void *tort_weight_store_put(struct tort_weight_store *store, int32_t weight, size_t size);

#endif
