/* contents.c - see contents.h. Read next: slice.c, which reads lists of every kind. */
#include "ops/contents.h"

#include <inttypes.h>
#include <string.h>

#include "ops/numeric.h"
#include "ops/shapes.h"

/* ---- one entry --------------------------------------------------------------------------------------------------- */

/* Number of elements of a tensor of rank 0 or 1 and known size; otherwise -1. */
static int64_t vector_count(const tort_info *info) {
    if (info->kind != TORT_TENSOR || info->rank < 0 || info->rank > 1) return -1;
    if (info->rank == 0) return 1;
    return tort_dim_known(info->dims[0]) ? info->dims[0] : -1;
}

/* Reads element i of known contents, truncated to an integer: Tile-1 and OneHot have parameters of float types. */
static bool entry_at(const tort_info *info, int64_t i, tort_scalar *out) {
    if (info->elements) {
        if (i >= info->element_count) return false;
        *out = info->elements[i];
        return true;
    }
    if (!info->data) return false;
    out->symbolic = false;
    tort_load_integers(info->type, info->data, i, 1, &out->value);
    return true;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

tort_status tort_check_entries(tort_error *error, const char *name, int32_t count, int32_t wanted) {
    if (count < 0 || count == wanted) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "%s has %d entries, expected %d", name, (int)count, (int)wanted);
}

static tort_status check_max(tort_error *error, const char *name, int64_t count, int32_t max) {
    if (count <= max) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "%s has %" PRId64 " entries, expected at most %d", name, count, (int)max);
}

/* Number of entries of a list that an input gives; -1: not known yet. */
static tort_status list_length(const tort_info *info, const char *name, int32_t max, int32_t *count,
                               tort_error *error) {
    *count = -1;
    if (info->rank > 1)
        return tort_fail(error, TORT_E_MODEL, "%s has rank %d, expected a list (rank 1)", name, (int)info->rank);
    int64_t length = vector_count(info);
    tort_status status = check_max(error, name, length, max);
    if (!status) *count = (int32_t)length;
    return status;
}

tort_status tort_read_long_list(const tort_node_view *node, tort_dims *dims, int32_t input, const char *name,
                                int32_t max, tort_scalar *values, int32_t *count, tort_known *known,
                                tort_error *error) {
    tort_status status;
    *known = TORT_ABSENT;
    *count = 0;
    if (input < 0 || !tort_has_input(node, input)) {
        if (!tort_attr(node, name)) return TORT_OK;
        const int64_t *list = tort_attr_ints(node, name, count);
        status = check_max(error, name, *count, max);
        for (int32_t k = 0; !status && k < *count; k++) values[k] = tort_scalar_known(list[k]);
        *known = TORT_KNOWN;
        return status;
    }
    const tort_info *info = &node->inputs[input];
    status = list_length(info, name, max, count, error);
    *known = *count < 0 ? TORT_UNKNOWN : TORT_KNOWN;
    for (int32_t k = 0; !status && k < *count; k++) {
        bool there = entry_at(info, k, &values[k]);
        if (there && (dims || !values[k].symbolic)) continue;
        if (dims)
            values[k] = tort_scalar_unknown(dims, true);
        else
            *known = TORT_UNKNOWN;
    }
    return status;
}

tort_status tort_read_symbols(const tort_node_view *node, tort_dims *dims, int32_t input, const char *name,
                              tort_symbols *out, tort_error *error) {
    return tort_read_long_list(node, dims, input, name, TORT_MAX_ENTRIES, out->values, &out->count, &out->known, error);
}

tort_status tort_read_numbers(const tort_node_view *node, int32_t input, const char *name, tort_numbers *out,
                              tort_error *error) {
    tort_symbols symbols;
    tort_status status = tort_read_symbols(node, NULL, input, name, &symbols, error);
    out->known = symbols.known;
    out->count = symbols.count;
    for (int32_t k = 0; !status && symbols.known == TORT_KNOWN && k < symbols.count; k++)
        out->values[k] = symbols.values[k].value;
    return status;
}

tort_status tort_read_floats(const tort_node_view *node, int32_t input, const char *name, tort_floats *out,
                             tort_error *error) {
    tort_status status;
    out->known = TORT_ABSENT;
    out->count = 0;
    if (input < 0 || !tort_has_input(node, input)) {
        if (!tort_attr(node, name)) return TORT_OK;
        const float *list = tort_attr_floats(node, name, &out->count);
        status = check_max(error, name, out->count, TORT_MAX_ENTRIES);
        if (!status && out->count > 0) memcpy(out->values, list, (size_t)out->count * sizeof *list);
        out->known = TORT_KNOWN;
        return status;
    }
    const tort_info *info = &node->inputs[input];
    status = list_length(info, name, TORT_MAX_ENTRIES, &out->count, error);
    out->known = out->count == 0 || (out->count > 0 && info->data) ? TORT_KNOWN : TORT_UNKNOWN;
    if (!status && out->known == TORT_KNOWN && out->count > 0)
        tort_load_floats(info->type, info->data, 0, out->count, out->values);
    return status;
}

tort_status tort_read_shape(const tort_infer *infer, int32_t input, const char *name, int64_t min, tort_symbols *out) {
    const tort_info *inputs = infer->node->inputs;
    tort_status status = TORT_OK;
    if (input >= 0 && inputs[input].rank == 1) status = tort_check_rank(infer->error, inputs[input].dims[0]);
    if (!status) status = tort_read_symbols(infer->node, infer->dims, input, name, out, infer->error);
    if (!status) status = tort_check_rank(infer->error, out->count);
    for (int32_t k = 0; !status && k < out->count; k++) {
        if (out->values[k].symbolic || out->values[k].value >= min) continue;
        status = tort_fail(infer->error, TORT_E_MODEL, "%s has %" PRId64 " at place %d, expected %" PRId64 " or more",
                           name, out->values[k].value, (int)k, min);
    }
    return status;
}

/* ---- single numbers ---------------------------------------------------------------------------------------------- */

tort_status tort_check_single(const tort_node_view *node, int32_t input, const char *name, tort_error *error) {
    if (!tort_has_input(node, input)) return TORT_OK;
    const tort_info *info = &node->inputs[input];
    for (int32_t d = 0; d < info->rank; d++) {
        if (tort_dim_known(info->dims[d]) && info->dims[d] != 1)
            return tort_fail(error, TORT_E_MODEL,
                             "%s has %" PRId64 " elements along dimension %d, expected a single element", name,
                             info->dims[d], (int)d);
    }
    return TORT_OK;
}

tort_status tort_read_symbol(const tort_infer *infer, int32_t input, const char *name, tort_scalar *out) {
    tort_status status = tort_check_single(infer->node, input, name, infer->error);
    if (status || !entry_at(&infer->node->inputs[input], 0, out)) *out = tort_scalar_unknown(infer->dims, true);
    return status;
}

tort_status tort_read_number(const tort_node_view *node, int32_t input, const char *name, int64_t *out, bool *known,
                             tort_error *error) {
    tort_scalar value = {.symbolic = true};
    tort_status status = tort_check_single(node, input, name, error);
    *known = !status && entry_at(&node->inputs[input], 0, &value) && !value.symbolic;
    *out = *known ? value.value : 0;
    return status;
}

/* ---- attributes with a number an axis ---------------------------------------------------------------------------- */

tort_status tort_read_sizes(const tort_node_view *node, const char *name, int32_t count, int64_t min, int64_t absent,
                            int64_t *out, tort_error *error) {
    int32_t given;
    const int64_t *values = tort_attr_ints(node, name, &given);
    if (given && given != count)
        return tort_fail(error, TORT_E_MODEL, "attribute %s has %d entries, expected %d", name, (int)given, (int)count);
    for (int32_t i = 0; i < count; i++) {
        out[i] = given ? values[i] : absent;
        if (given && (out[i] < min || out[i] > INT32_MAX))
            return tort_fail(error, TORT_E_MODEL, "attribute %s[%d] is %" PRId64 ", expected %" PRId64 " to 2147483647",
                             name, (int)i, out[i], min);
    }
    return TORT_OK;
}

/* ---- contents of data -------------------------------------------------------------------------------------------- */

static bool is_shape_number(tort_type type) {
    return type == TORT_BOOL || (tort_type_is_integer(type) && tort_type_bits(type) >= 8 && type != TORT_UINT64);
}

bool tort_infer_integers(const tort_infer *infer, int32_t i, tort_scalar *values, int32_t *count) {
    if (!tort_has_input(infer->node, i)) return false;
    const tort_info *info = &infer->node->inputs[i];
    int64_t length = info->elements ? info->element_count : vector_count(info);
    if (!is_shape_number(info->type) || info->rank > 1 || length < 0 || length > TORT_MAX_ELEMENTS) return false;
    for (int32_t k = 0; k < length; k++)
        if (!entry_at(info, k, &values[k])) return false;
    *count = (int32_t)length;
    return info->elements || info->data;
}

tort_status tort_infer_set_integers(const tort_infer *infer, int32_t o, const tort_scalar *values, int32_t count) {
    if (count > TORT_MAX_ELEMENTS || o >= infer->node->output_count) return TORT_OK;
    tort_scalar *copy = tort_arena_array(infer->arena, (size_t)count + 1, sizeof *copy);
    if (!copy) return tort_out_of_memory(infer->error, (size_t)count * sizeof *copy);
    const tort_type type = infer->outputs[o].type;
    for (int32_t k = 0; k < count; k++) {
        int64_t element = 0; /* known numbers wrap to the output's type */
        copy[k] = values[k];
        if (values[k].symbolic) continue;
        tort_store_integers(type, &element, 0, 1, &values[k].value);
        tort_load_integers(type, &element, 0, 1, &copy[k].value);
    }
    infer->outputs[o].elements = copy;
    infer->outputs[o].element_count = count;
    return TORT_OK;
}

tort_status tort_infer_forward_elements(const tort_infer *infer, int32_t o, int32_t i) {
    tort_scalar values[TORT_MAX_ELEMENTS];
    int32_t count = 0;
    if (!tort_infer_integers(infer, i, values, &count)) return TORT_OK;
    return tort_infer_set_integers(infer, o, values, count);
}
