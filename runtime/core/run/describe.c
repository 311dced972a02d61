/* describe.c - what a node of a session reads, makes and is told by its attributes, as texts (tinyort_report.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/core/base/locale.h"
#include "runtime/core/graph/graph.h"
#include "runtime/core/lowered/constants.h"
#include "runtime/include/tinyort_report.h"

/* The memory behind a tort_description, its first member. */
typedef struct store {
    tort_description description;
    tort_env env;
    tort_arena arena;
} store;

typedef struct writer {
    const tort_session *session;
    const tort_lowered *lowered;
    tort_arena *arena;
    size_t range_bytes;
} writer;

/* ---- values ------------------------------------------------------------------------------------------------------ */

static double element(tort_type type, const void *data, int64_t i) {
    switch (type) {
    case TORT_FLOAT: return (double)((const float *)data)[i];
    case TORT_DOUBLE: return ((const double *)data)[i];
    case TORT_INT8: return ((const int8_t *)data)[i];
    case TORT_UINT8: return ((const uint8_t *)data)[i];
    case TORT_INT16: return ((const int16_t *)data)[i];
    case TORT_UINT16: return ((const uint16_t *)data)[i];
    case TORT_INT32: return ((const int32_t *)data)[i];
    case TORT_UINT32: return ((const uint32_t *)data)[i];
    case TORT_INT64: return (double)((const int64_t *)data)[i];
    default: return (double)NAN;
    }
}

static void read_range(const writer *w, int32_t value, const tort_info *info, tort_described_value *out) {
    const int32_t constant = w->lowered->constant_of ? w->lowered->constant_of[value] : -1;
    const int32_t weight = w->lowered->graph.values[value].weight;
    const tort_model *model = w->session->model;
    const void *data;
    if (out->bytes < 0 || (uint64_t)out->bytes > w->range_bytes || !tort_type_bits(info->type)) return;
    if (constant >= 0 ? tort_constant_acquire(w->session, constant, &data, NULL)
                      : weight < 0 || tort_weight_acquire(model, weight, &data, NULL))
        return;
    const int64_t count = out->bytes * 8 / tort_type_bits(info->type);
    for (int64_t i = 0; data && i < count; i++) { /* NULL: folded, and dropped since nothing reads it */
        const double x = element(info->type, data, i);
        if (!isfinite(x)) continue;
        out->low = x < out->low || isnan(out->low) ? x : out->low;
        out->high = x > out->high || isnan(out->high) ? x : out->high;
    }
    if (constant >= 0)
        tort_constant_release(w->session, constant);
    else
        tort_weight_release(model, weight);
}

static const char *shape_text(const writer *w, const tort_info *info) {
    char text[400] = "";
    size_t used = 0;
    if (info->kind != TORT_TENSOR || info->rank < 0) return info->kind == TORT_TENSOR ? "?" : "";
    for (int32_t d = 0; d < info->rank && used < sizeof text; d++) {
        char dim[100];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", d ? "x" : "",
                                 tort_dim_text(&w->session->dims, info->dims[d], dim, sizeof dim));
    }
    return tort_arena_text(w->arena, text, strlen(text));
}

static bool write_value(const writer *w, int32_t value, tort_described_value *out) {
    *out = (tort_described_value){"", "", "", -1, false, (double)NAN, (double)NAN};
    if (value < 0) return true;
    const tort_info *info = &w->lowered->infos[value];
    char type[80];
    out->name = w->lowered->graph.values[value].name;
    out->constant = tort_is_constant(w->lowered, value);
    tort_tensor tensor;
    size_t bytes;
    if (tort_info_tensor(info, &tensor) && tort_tensor_bytes(&tensor, &bytes)) out->bytes = (int64_t)bytes;
    const char *name = info->kind == TORT_TENSOR ? tort_type_name(info->type)
                                                 : tort_type_text(tort_info_type(info), type, sizeof type);
    out->type = tort_arena_text(w->arena, name, strlen(name));
    out->shape = shape_text(w, info);
    if (out->constant) read_range(w, value, info, out);
    return out->type && out->shape;
}

static bool write_values(const writer *w, const int32_t *values, int32_t count, const tort_described_value **out) {
    tort_described_value *list = tort_arena_array(w->arena, (size_t)count, sizeof *list);
    bool good = list;
    for (int32_t i = 0; good && i < count; i++) good = write_value(w, values[i], &list[i]);
    *out = list;
    return good;
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static const char *weight_text(const writer *w, int32_t weight, char *buffer, size_t size) {
    const tort_weight *held = &w->session->model->weights[weight];
    size_t used = (size_t)snprintf(buffer, size, "tensor of %s", tort_type_name(held->type));
    for (int32_t d = 0; d < held->rank && used < size; d++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%lld", d ? "x" : " ", (long long)held->dims[d]);
    return buffer;
}

/* Element i of an attribute as text; "": its kind has none. */
static const char *element_text(const writer *w, const tort_attribute *a, int32_t i, char *buffer, size_t size) {
    const tort_graph *graph;
    *buffer = 0;
    switch (a->kind) {
    case TORT_ATTR_INT: snprintf(buffer, size, "%lld", (long long)a->u.i); break;
    case TORT_ATTR_INTS: snprintf(buffer, size, "%lld", (long long)a->u.ints[i]); break;
    case TORT_ATTR_FLOAT: tort_snprintf(buffer, size, "%g", (double)a->u.f); break;
    case TORT_ATTR_FLOATS: tort_snprintf(buffer, size, "%g", (double)a->u.floats[i]); break;
    case TORT_ATTR_STRING: snprintf(buffer, size, "'%.80s'", a->u.s.data); break;
    case TORT_ATTR_STRINGS: snprintf(buffer, size, "'%.80s'", a->u.strings[i].data); break;
    case TORT_ATTR_TENSOR:
    case TORT_ATTR_TENSORS:
    case TORT_ATTR_SPARSE_TENSOR: return weight_text(w, a->u.weights[i], buffer, size);
    case TORT_ATTR_GRAPH:
    case TORT_ATTR_GRAPHS:
        graph = &w->session->model->graphs[a->u.graphs[i]];
        snprintf(buffer, size, "body '%.80s' of %d nodes", graph->path, (int)graph->node_count);
        break;
    default: break;
    }
    return buffer;
}

/* "kernel_shape = [3, 3]" */
static const char *attribute_text(const writer *w, const tort_attribute *a) {
    enum { SHOWN = 16 };
    char text[1000], one[200];
    const bool list = a->kind == TORT_ATTR_INTS || a->kind == TORT_ATTR_FLOATS || a->kind == TORT_ATTR_STRINGS ||
                      a->kind == TORT_ATTR_TENSORS || a->kind == TORT_ATTR_GRAPHS;
    const int32_t count = list ? a->count : 1;
    size_t used = (size_t)snprintf(text, sizeof text, "%.80s = %s", a->name, list ? "[" : "");
    for (int32_t i = 0; i < count && i < SHOWN && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? ", " : "",
                                 element_text(w, a, i, one, sizeof one));
    if (list && used < sizeof text)
        snprintf(text + used, sizeof text - used, count > SHOWN ? ", ... of %d]" : "]", (int)count);
    return tort_arena_text(w->arena, text, strlen(text));
}

/* Attributes that the file gives the node, or the fusion that made it; defaults are left out. */
static bool write_attributes(const writer *w, const tort_node *node, tort_description *d) {
    const char **list = tort_arena_array(w->arena, (size_t)node->attribute_count + 1, sizeof *list);
    d->attributes = list;
    for (int32_t i = 0; list && i < node->attribute_count; i++) {
        if (node->attributes[i].is_default) continue;
        list[d->attribute_count] = attribute_text(w, &node->attributes[i]);
        if (!list[d->attribute_count++]) return false;
    }
    return list;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static bool describe(const writer *w, int32_t unit, tort_description *d) {
    const tort_node *node = tort_unit_node(w->lowered, unit);
    d->input_count = node->input_count;
    d->output_count = node->output_count;
    return write_values(w, node->inputs, node->input_count, &d->inputs) &&
           write_values(w, node->outputs, node->output_count, &d->outputs) && write_attributes(w, node, d);
}

static const tort_lowered *graph_of(const tort_session *session, int32_t node) {
    for (int32_t g = 0; g < session->graph_count; g++) {
        const tort_lowered *lowered = &session->graphs[g];
        if (lowered->lowered && node >= lowered->graph.first && node < lowered->graph.first + lowered->graph.node_count)
            return lowered;
    }
    return NULL;
}

tort_status tort_session_describe(tort_session *session, int32_t node, size_t range_bytes,
                                  tort_description **description, tort_error *error) {
    if (description) *description = NULL;
    if (!session || !description)
        return tort_fail(error, TORT_E_USAGE, "tort_session_describe needs a session and a place for the description");
    const tort_lowered *lowered = graph_of(session, node);
    if (!lowered) return tort_fail(error, TORT_E_USAGE, "there is no node %d", (int)node);
    const tort_env outer = session->account.inner;
    store *s = tort_alloc_zero(&outer, 1, sizeof *s);
    if (!s) return tort_out_of_memory(error, sizeof *s);
    s->env = outer;
    tort_arena_init(&s->arena, &s->env);
    pthread_mutex_lock(&session->lock);
    const writer w = {session, lowered, &s->arena, range_bytes};
    const bool good = describe(&w, node - lowered->graph.first, &s->description);
    pthread_mutex_unlock(&session->lock);
    *description = &s->description;
    if (good) return TORT_OK;
    tort_description_free(*description);
    *description = NULL;
    return tort_out_of_memory(error, 0);
}

void tort_description_free(tort_description *description) {
    if (!description) return;
    store *s = (store *)description;
    tort_env env = s->env;
    tort_arena_free(&s->arena);
    tort_free(&env, s, sizeof *s);
}
