/* attribute.c - finds attributes of a node by name (op.h). check.c has checked their kinds and added defaults. */
#include <string.h>

#include "runtime/include/op.h"

const tort_attribute *tort_attr(const tort_node_view *node, const char *name) {
    for (int32_t i = 0; i < node->attribute_count; i++)
        if (!strcmp(node->attributes[i].name, name)) return &node->attributes[i];
    return NULL;
}

int64_t tort_attr_int(const tort_node_view *node, const char *name) {
    const tort_attribute *attribute = tort_attr(node, name);
    return attribute && attribute->kind == TORT_ATTR_INT ? attribute->u.i : 0;
}

tort_type tort_attr_type(const tort_node_view *node, const char *name) {
    const tort_attribute *attribute = tort_attr(node, name);
    if (attribute && attribute->kind == TORT_ATTR_STRING)
        return tort_type_named(attribute->u.s.data, attribute->u.s.length);
    return attribute && attribute->kind == TORT_ATTR_INT ? (tort_type)attribute->u.i : TORT_UNDEFINED;
}

float tort_attr_float(const tort_node_view *node, const char *name) {
    const tort_attribute *attribute = tort_attr(node, name);
    return attribute && attribute->kind == TORT_ATTR_FLOAT ? attribute->u.f : 0.0f;
}

const char *tort_attr_string(const tort_node_view *node, const char *name) {
    const tort_attribute *attribute = tort_attr(node, name);
    return attribute && attribute->kind == TORT_ATTR_STRING ? attribute->u.s.data : "";
}

const int64_t *tort_attr_ints(const tort_node_view *node, const char *name, int32_t *count) {
    const tort_attribute *attribute = tort_attr(node, name);
    bool given = attribute && attribute->kind == TORT_ATTR_INTS;
    *count = given ? attribute->count : 0;
    return given ? attribute->u.ints : NULL;
}

const float *tort_attr_floats(const tort_node_view *node, const char *name, int32_t *count) {
    const tort_attribute *attribute = tort_attr(node, name);
    bool given = attribute && attribute->kind == TORT_ATTR_FLOATS;
    *count = given ? attribute->count : 0;
    return given ? attribute->u.floats : NULL;
}
