/* labels.c - see labels.h. */
#include "ops/ml/labels.h"

#include "ops/ml/lists.h"

#include <string.h>

tort_status tort_read_labels(const tort_node_view *node, const char *integers, const char *strings, tort_type *type,
                             int64_t *count, tort_error *error) {
    const int64_t numbers = tort_attr_count(node, integers), texts = tort_attr_count(node, strings);
    *type = texts ? TORT_STRING : TORT_INT64;
    *count = texts ? texts : numbers;
    if (!numbers || !texts) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "has both %s and %s; expected one of them", integers, strings);
}

void tort_resolve_labels(const tort_resolve *resolve, const char *integers, const char *strings, tort_labels *labels) {
    const bool texts = tort_attr_count(resolve->node, strings) > 0;
    labels->type = texts ? TORT_STRING : TORT_INT64;
    labels->list = tort_resolve_list(resolve, texts ? strings : integers);
}

size_t tort_labels_bytes(const tort_labels *labels) {
    return labels->type == TORT_STRING ? (size_t)labels->list.count * sizeof(tort_string) : 0;
}

const void *tort_labels_open(const tort_call *call, const tort_labels *labels, void *scratch) {
    if (labels->type != TORT_STRING) return tort_list_at(call->params, labels->list);
    tort_string *texts = scratch;
    for (int64_t i = 0; i < labels->list.count; i++)
        if (!tort_row_goes_on(call->watch, i) ||
            tort_call_copy_text(call, tort_list_string(call->params, labels->list, i), &texts[i]))
            return NULL;
    return texts;
}

void tort_put_label(const tort_tensor *output, int64_t i, const void *labels, int64_t which) {
    if (output->type == TORT_STRING)
        ((tort_string *)output->data)[i] = ((const tort_string *)labels)[which];
    else
        ((int64_t *)output->data)[i] = ((const int64_t *)labels)[which];
}
