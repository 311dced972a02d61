/* constants.c - constants of the host as weights of a model, read where the host has them until it may free them. */
#include <stdlib.h>
#include <string.h>

#include "runtime/core/graph/graph.h"
#include "runtime/plugin/plugin.h"

/* Where the host has the constants, by the "file" of a weight; the source of the model's weights. */
typedef struct constants {
    const tort_env *env; /* of the model */
    const void **data;
    void **copies; /* owned; by the same number; NULL before plugin_let_go */
    int32_t count, capacity;
} constants;

static tort_status read_constant(void *ud, int32_t file, uint64_t offset, uint64_t length, void *dst,
                                 tort_error *error) {
    const constants *c = ud;
    if (file >= c->count || !c->data[file])
        return tort_fail(error, TORT_E_INTERNAL, "a constant is read after the host has freed it");
    memcpy(dst, (const char *)c->data[file] + offset, (size_t)length);
    return TORT_OK;
}

static void close_constants(void *ud) {
    constants *c = ud;
    for (int32_t i = 0; c->copies && i < c->count; i++) free(c->copies[i]);
    tort_free(c->env, (void *)c->data, (size_t)c->capacity * sizeof *c->data);
    free((void *)c->copies);
    free(c);
}

bool plugin_constants_open(tort_model *model) {
    constants *c = calloc(1, sizeof *c);
    if (!c) return false;
    c->env = &model->env;
    model->source_ud = c;
    model->source_read = read_constant;
    model->source_close = close_constants;
    model->source_is_ours = true;
    return true;
}

tort_status plugin_let_go(tort_model *model, tort_error *error) {
    enum { SMALL = 1 << 16 };
    constants *c = model->source_ud;
    c->copies = calloc((size_t)c->count + 1, sizeof *c->copies);
    if (!c->copies) return tort_out_of_memory(error, (size_t)c->count * sizeof *c->copies);
    for (int32_t i = 0; i < model->weight_count; i++) {
        const tort_weight *weight = &model->weights[i];
        if (weight->encoding != TORT_ENCODING_RAW) continue;
        const bool kept = model->graph_count > 1 || weight->length <= SMALL;
        void *copy = kept ? malloc((size_t)weight->length) : NULL;
        if (kept && !copy) return tort_out_of_memory(error, (size_t)weight->length);
        if (kept) memcpy(copy, c->data[weight->file], (size_t)weight->length);
        c->data[weight->file] = c->copies[weight->file] = copy;
    }
    return TORT_OK;
}

int32_t plugin_constants_add(tort_model *model, const tort_tensor *tensor, size_t bytes) {
    constants *c = model->source_ud;
    if (!tort_grow(c->env, (void **)&c->data, &c->capacity, c->count + 1, sizeof *c->data)) return -1;
    tort_weight weight = {.type = tensor->type,
                          .rank = tensor->rank,
                          .bytes = bytes,
                          .encoding = TORT_ENCODING_RAW,
                          .file = c->count,
                          .length = bytes};
    memcpy(weight.dims, tensor->dims, sizeof weight.dims);
    c->data[c->count++] = tensor->data;
    return tort_model_add_weight(model, &weight);
}
