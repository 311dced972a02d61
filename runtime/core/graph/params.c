/* params.c - params are plain data: the operator's struct of numbers, followed, with TORT_OP_LISTS, by the lists,
 * strings and tensors of the node's attributes, in their order.
 *
 * Lists are offsets from the start of the params. So params can be moved, compared and saved as bytes,
 * and outlive the model. */
#include <stdint.h>
#include <string.h>

#include "runtime/core/graph/infer.h"

#define LIST_ALIGN 8 /* alignment of the largest element */

/* The strings of an attribute: of a list, or of a string tensor, which is always in memory. NULL: it has none. */
static const tort_string *strings_of(const tort_model *model, const tort_attribute *attribute, size_t *count) {
    *count = (size_t)attribute->count;
    if (attribute->kind == TORT_ATTR_STRINGS) return attribute->u.strings;
    if (attribute->kind != TORT_ATTR_TENSOR) return NULL;
    const int32_t index = attribute->u.weights[0];
    const tort_weight *weight = &model->weights[index];
    const void *strings = NULL;
    *count = weight->bytes / sizeof(tort_string);
    if (weight->type != TORT_STRING || tort_weight_acquire(model, index, &strings, NULL)) return NULL;
    tort_weight_release(model, index);
    return strings;
}

static bool string_bytes(const tort_string *strings, size_t count, size_t *bytes) {
    bool fits = tort_mul_size(count, sizeof(tort_list), bytes);
    for (size_t i = 0; i < count && fits; i++) fits = tort_add_size(*bytes, strings[i].length, bytes);
    return fits;
}

/* Bytes of a list, string or tensor. False on overflow. 0 for the tensor of a Constant, which is its output. */
static bool list_bytes(const tort_node_view *node, const tort_attribute *attribute, size_t *bytes) {
    size_t count;
    *bytes = 0;
    if (attribute->kind == TORT_ATTR_TENSOR && node->op->flags & TORT_OP_CONSTANT) return true;
    const tort_string *strings = strings_of(node->model, attribute, &count);
    if (strings) return string_bytes(strings, count, bytes);
    if (attribute->kind == TORT_ATTR_TENSOR) *bytes = node->model->weights[attribute->u.weights[0]].bytes;
    if (attribute->kind == TORT_ATTR_STRING) *bytes = attribute->u.s.length;
    if (attribute->kind == TORT_ATTR_INTS) return tort_mul_size(count, sizeof(int64_t), bytes);
    if (attribute->kind == TORT_ATTR_FLOATS) return tort_mul_size(count, sizeof(float), bytes);
    return true;
}

/* The offset of an attribute's list in the params; for NULL the end of the last one. */
static size_t list_offset(const tort_node_view *node, const tort_attribute *wanted) {
    size_t offset = node->op->params_size, bytes = 0;
    bool fits = tort_align_size(offset, LIST_ALIGN, &offset);
    for (int32_t i = 0; fits && i < node->attribute_count && &node->attributes[i] != wanted; i++)
        fits = list_bytes(node, &node->attributes[i], &bytes) && tort_add_size(offset, bytes, &offset) &&
               tort_align_size(offset, LIST_ALIGN, &offset);
    return fits && offset < PTRDIFF_MAX ? offset : PTRDIFF_MAX;
}

size_t tort_params_bytes(const tort_model *model, const tort_node *node) {
    if (node->op->flags & TORT_OP_ONCE) return 0;
    if (!(node->op->flags & TORT_OP_LISTS)) return node->op->params_size;
    const tort_node_view view = {
        .op = node->op, .attributes = node->attributes, .attribute_count = node->attribute_count, .model = model};
    return list_offset(&view, NULL);
}

tort_status tort_params_measure(const tort_node_view *view, const tort_node *node, size_t *bytes, tort_error *error) {
    *bytes = tort_params_bytes(view->model, node);
    if (!(node->op->flags & TORT_OP_ONCE)) return TORT_OK;
    tort_resolve resolve = {.node = view, .error = error};
    const tort_status status = node->op->resolve(&resolve);
    *bytes = resolve.params_bytes;
    return status;
}

/* Writes a tort_list for each string, then the bytes of all strings. */
static void copy_strings(uint8_t *params, size_t offset, const tort_string *strings, size_t count) {
    tort_list *lists = (tort_list *)(void *)(params + offset);
    offset += count * sizeof *lists;
    for (size_t i = 0; i < count; i++) {
        lists[i] = (tort_list){offset, (int64_t)strings[i].length};
        if (strings[i].length) memcpy(params + offset, strings[i].data, strings[i].length);
        offset += strings[i].length;
    }
}

/* The data of a list of numbers, or of a string; NULL: neither. */
static const void *list_data(const tort_attribute *attribute) {
    if (attribute->kind == TORT_ATTR_STRING) return attribute->u.s.data;
    if (attribute->kind == TORT_ATTR_INTS) return attribute->u.ints;
    return attribute->kind == TORT_ATTR_FLOATS ? attribute->u.floats : NULL;
}

tort_list tort_resolve_list(const tort_resolve *resolve, const char *name) {
    const tort_node_view *node = resolve->node;
    const tort_attribute *attribute = node->op->flags & TORT_OP_LISTS ? tort_attr(node, name) : NULL;
    size_t bytes = 0;
    if (!attribute || !list_bytes(node, attribute, &bytes) || !bytes) return (tort_list){0, 0};
    const size_t offset = list_offset(node, attribute);
    uint8_t *params = resolve->params;
    if (attribute->kind == TORT_ATTR_STRINGS)
        copy_strings(params, offset, attribute->u.strings, (size_t)attribute->count);
    else
        memcpy(params + offset, list_data(attribute), bytes);
    return (tort_list){offset, attribute->kind == TORT_ATTR_STRING ? (int64_t)bytes : attribute->count};
}

tort_status tort_resolve_tensor(const tort_resolve *resolve, const char *name, tort_list *list) {
    const tort_node_view *node = resolve->node;
    const tort_attribute *attribute = node->op->flags & TORT_OP_LISTS ? tort_attr(node, name) : NULL;
    *list = (tort_list){0, 0};
    if (!attribute) return TORT_OK;
    const int32_t index = attribute->u.weights[0];
    const tort_weight *weight = &node->model->weights[index];
    const void *data = NULL;
    uint8_t *params = resolve->params;
    if (weight->bytes == 0) return TORT_OK;
    tort_status status = tort_weight_acquire(node->model, index, &data, resolve->error);
    if (status) return status;
    *list = (tort_list){list_offset(node, attribute), 1};
    for (int32_t d = 0; d < weight->rank; d++) list->count *= weight->dims[d];
    if (weight->type == TORT_STRING)
        copy_strings(params, (size_t)list->offset, data, (size_t)list->count);
    else
        memcpy(params + list->offset, data, weight->bytes);
    tort_weight_release(node->model, index);
    return TORT_OK;
}

tort_string tort_list_string(const void *params, tort_list strings, int64_t i) {
    const tort_list text = ((const tort_list *)tort_list_at(params, strings))[i];
    return (tort_string){tort_list_at(params, text), (size_t)text.count};
}
