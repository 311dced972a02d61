/* lists.h - the length of a list attribute. */
#ifndef TORT_OPS_ML_LISTS_H
#define TORT_OPS_ML_LISTS_H

#include "runtime/include/op.h"

/* Number of elements of a list attribute; 0 if the node does not have it. */
static inline int64_t tort_attr_count(const tort_node_view *node, const char *name) {
    const tort_attribute *list = tort_attr(node, name);
    return list ? list->count : 0;
}

#endif
