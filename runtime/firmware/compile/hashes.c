/* hashes.c - tells which files of a compiled model belong together: hashes of the graph, of the code and of the
 * weights.
 *
 * Code has numbers of its own (scales, zero points, sizes), so weights fit one code: that of their own compilation, or
 * of another whose code is the same to the byte. All are FNV-1a of 64 bits (Fowler, Noll and Vo), which a loader on a
 * board computes in three lines. */
#include "runtime/firmware/compile/compilation.h"

void tort_compile_hash(uint64_t *hash, const void *data, size_t size) {
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++) *hash = (*hash ^ bytes[i]) * UINT64_C(0x100000001b3);
}

static void add_text(uint64_t *hash, const char *text) {
    tort_compile_hash(hash, text, strlen(text) + 1);
}

static void add_numbers(uint64_t *hash, const void *numbers, int32_t count, size_t size) {
    tort_compile_hash(hash, &count, sizeof count);
    tort_compile_hash(hash, numbers, (size_t)count * size);
}

static void add_attribute(uint64_t *hash, const tort_attribute *attribute) {
    add_text(hash, attribute->name);
    switch (attribute->kind) {
    case TORT_ATTR_FLOAT: tort_compile_hash(hash, &attribute->u.f, sizeof attribute->u.f); break;
    case TORT_ATTR_INT: tort_compile_hash(hash, &attribute->u.i, sizeof attribute->u.i); break;
    case TORT_ATTR_STRING: tort_compile_hash(hash, attribute->u.s.data, (size_t)attribute->u.s.length); break;
    case TORT_ATTR_FLOATS: add_numbers(hash, attribute->u.floats, attribute->count, sizeof(float)); break;
    case TORT_ATTR_INTS: add_numbers(hash, attribute->u.ints, attribute->count, sizeof(int64_t)); break;
    default: break; /* tensors are weights, and nodes with bodies are refused */
    }
}

/* The model's nodes with their edges and attributes, and types and shapes of its values; no names and no weights. */
static uint64_t hash_of_graph(const tort_compilation *c) {
    const tort_graph *graph = &c->session->model->graphs[0];
    uint64_t hash = TORT_COMPILE_HASH;
    for (int32_t n = 0; n < graph->node_count; n++) {
        const tort_node *node = &graph->nodes[n];
        add_text(&hash, node->domain);
        add_text(&hash, node->op_type);
        add_numbers(&hash, node->inputs, node->input_count, sizeof *node->inputs);
        add_numbers(&hash, node->outputs, node->output_count, sizeof *node->outputs);
        for (int32_t i = 0; i < node->attribute_count; i++) add_attribute(&hash, &node->attributes[i]);
    }
    for (int32_t i = 0; i < graph->input_count; i++) {
        const tort_info *info = &c->lowered->infos[graph->inputs[i]];
        add_numbers(&hash, info->dims, info->rank, sizeof *info->dims);
    }
    return hash;
}

tort_status tort_compile_hashes(tort_compilation *c, const char *code, size_t length) {
    c->hashes.graph = hash_of_graph(c);
    c->hashes.code = TORT_COMPILE_HASH;
    add_text(&c->hashes.code, c->target ? c->target : "");
    tort_compile_hash(&c->hashes.code, code, length);
    return tort_compile_hash_weights(c);
}
