/* maps.c - CastMap and DictVectorizer: turn a map into a row of a matrix, [1, C].
 *
 * The specification of DictVectorizer says 1-D; existing models expect the row that ONNX Runtime returns. */
#include "ops/ml/lists.h"
#include "ops/ml/lookup.h"
#include "runtime/core/base/locale.h"
#include "ops/numeric.h"
#include "ops/shapes.h"
#include "ops/values.h"
#include "runtime/core/base/memory.h"

#include <stdio.h>
#include <string.h>

/* The only element of the tensor at key i; NULL, with an error, if the tensor has another number of elements. */
static const void *element_at(const tort_call *call, int32_t i) {
    const tort_tensor *tensor = tort_value_view(tort_value_at(tort_call_value(call, 0), i));
    if (tort_count(tensor) == 1) return tensor->data;
    tort_fail(call->error, TORT_E_RUN, "element %d of the map has %lld elements, expected a single one", i,
              (long long)tort_count(tensor));
    return NULL;
}

/* Sets the output to a new row, whose strings are still borrowed. */
static tort_status give_row(const tort_call *call, tort_type type, int64_t count, tort_value **row) {
    const tort_tensor shape = {.type = type, .rank = 2, .dims = {1, count}};
    *row = tort_value_new(call->env, &shape);
    return tort_give_value(call, *row);
}

static tort_status own_text(const tort_call *call, tort_value *row) {
    return tort_value_own_text(row) ? TORT_OK : tort_out_of_memory(call->error, sizeof row);
}

/* ---- DictVectorizer ---------------------------------------------------------------------------------------------- */

typedef struct vectorizer_params {
    tort_list vocabulary;
    tort_type key_type, type;
} vectorizer_params;

static tort_status vectorizer_infer(tort_infer *infer) {
    const tort_value_type type = tort_info_type(&infer->node->inputs[0]);
    const bool strings = tort_type_key(type) == TORT_STRING;
    const char *name = strings ? "string_vocabulary" : "int64_vocabulary";
    const int64_t words = tort_attr_count(infer->node, name),
                  others = tort_attr_count(infer->node, strings ? "int64_vocabulary" : "string_vocabulary");
    if (words == 0 || others)
        return tort_fail(infer->error, TORT_E_MODEL, "%s %s; a map with keys of %s needs that, and no other vocabulary",
                         words ? "does not have only" : "has no", name, tort_type_name(tort_type_key(type)));
    const tort_dim dims[] = {1, words};
    tort_infer_shape(infer, 0, type.type, 2, dims);
    return TORT_OK;
}

static tort_status vectorizer_resolve(tort_resolve *resolve) {
    vectorizer_params *params = resolve->params;
    const tort_value_type type = tort_info_type(&resolve->node->inputs[0]);
    params->key_type = tort_type_key(type);
    params->type = type.type;
    params->vocabulary =
        tort_resolve_list(resolve, params->key_type == TORT_STRING ? "string_vocabulary" : "int64_vocabulary");
    resolve->scratch_bytes = tort_lookup_bytes(params->vocabulary.count);
    return TORT_OK;
}

/* The index at which lookups find the word at i: that of its last occurrence. */
static int64_t place_of(const vectorizer_params *params, const tort_lookup *lookup, int64_t i) {
    if (params->key_type == TORT_STRING)
        return tort_lookup_text(lookup, tort_list_string(params, params->vocabulary, i));
    return tort_lookup_integer(lookup, ((const int64_t *)tort_list_at(params, params->vocabulary))[i]);
}

/* Skips keys that are not in the vocabulary; words without a key become 0, or empty strings. */
static tort_status vectorizer_reference(const tort_call *call) {
    const vectorizer_params *params = call->params;
    const tort_value *map = tort_call_value(call, 0);
    const int64_t count = params->vocabulary.count;
    const size_t size = (size_t)tort_type_bits(params->type) / 8;
    const tort_lookup lookup = tort_lookup_build(call, params->vocabulary, params->key_type, false, call->scratch);
    tort_value *row;
    tort_status status = give_row(call, params->type, count, &row);
    if (status) return status;
    char *y = tort_value_data(row);
    memset(y, 0, (size_t)count * size);
    for (int32_t i = 0; i < tort_value_count(map) && tort_row_goes_on(call->watch, i); i++) {
        const int64_t at = tort_lookup_element(&lookup, tort_value_keys(map)->data, i);
        const void *element = element_at(call, i);
        if (!element) return TORT_E_RUN;
        if (at >= 0) memcpy(y + (size_t)at * size, element, size);
    }
    for (int64_t i = 0; i < count && tort_row_goes_on(call->watch, i); i++) {
        const int64_t at = place_of(params, &lookup, i);
        if (at >= 0 && at != i) memcpy(y + (size_t)i * size, y + (size_t)at * size, size);
    }
    return own_text(call, row);
}

/* ---- CastMap ----------------------------------------------------------------------------------------------------- */

typedef struct cast_params {
    bool sparse; /* true: keys are the indices of values; false: values are in the order of their keys */
    int64_t length;
    tort_type type;
} cast_params;

static tort_status read_cast(const tort_node_view *node, cast_params *params, tort_error *error) {
    static const struct {
        const char *name;
        tort_type type;
    } types[] = {{"TO_FLOAT", TORT_FLOAT}, {"TO_STRING", TORT_STRING}, {"TO_INT64", TORT_INT64}};
    const char *to = tort_attr_string(node, "cast_to"), *form = tort_attr_string(node, "map_form");
    params->type = TORT_UNDEFINED;
    params->sparse = !strcmp(form, "SPARSE");
    params->length = tort_attr_int(node, "max_map");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(to, types[i].name)) params->type = types[i].type;
    if (params->type == TORT_UNDEFINED)
        return tort_fail(error, TORT_E_MODEL, "cast_to is \"%.40s\"; expected TO_FLOAT, TO_STRING or TO_INT64", to);
    if (!params->sparse && strcmp(form, "DENSE"))
        return tort_fail(error, TORT_E_MODEL, "map_form is \"%.40s\"; expected DENSE or SPARSE", form);
    if (!params->sparse || params->length > 0) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "max_map is %lld; a map_form of SPARSE needs a length above 0",
                     (long long)params->length);
}

static tort_status cast_infer(tort_infer *infer) {
    cast_params params;
    tort_status status = read_cast(infer->node, &params, infer->error);
    if (status) return status;
    const tort_dim dims[] = {1, params.sparse ? params.length : tort_dim_fresh(infer->dims, true)};
    tort_infer_shape(infer, 0, params.type, 2, dims);
    return TORT_OK;
}

static tort_status cast_resolve(tort_resolve *resolve) {
    return read_cast(resolve->node, resolve->params, resolve->error);
}

/* Formats a float with six decimals, as ONNX Runtime does. */
static tort_status float_to_string(const tort_call *call, float number, tort_string *out) {
    char text[64];
    const size_t length = (size_t)tort_snprintf(text, sizeof text, "%f", (double)number);
    return tort_call_copy_text(call, (tort_string){text, length}, out);
}

static tort_status string_to_number(const tort_call *call, tort_string text, tort_type type, void *out) {
    int64_t integer;
    double number;
    if (type == TORT_INT64 && tort_read_int64(text, &integer)) {
        *(int64_t *)out = integer;
        return TORT_OK;
    }
    if (!tort_read_double(text, &number))
        return tort_fail(call->error, TORT_E_RUN, "\"%.*s\" in the map is not a number",
                         text.length < 40 ? (int)text.length : 40, text.data);
    if (type == TORT_INT64)
        *(int64_t *)out = tort_double_to_int64(number);
    else
        *(float *)out = (float)number;
    return TORT_OK;
}

static tort_status cast_element(const tort_call *call, tort_type from, const void *element, tort_type to, void *out) {
    if (from == TORT_STRING && to != TORT_STRING) return string_to_number(call, *(const tort_string *)element, to, out);
    if (from == TORT_STRING)
        *(tort_string *)out = *(const tort_string *)element;
    else if (to == TORT_STRING)
        return float_to_string(call, *(const float *)element, out);
    else if (to == TORT_FLOAT)
        *(float *)out = *(const float *)element;
    else
        *(int64_t *)out = tort_double_to_int64((double)*(const float *)element);
    return TORT_OK;
}

/* Casts element i of the map into element `at` of the row. */
static tort_status cast_to_place(const tort_call *call, tort_value *row, int32_t i, int64_t at) {
    const cast_params *params = call->params;
    const tort_value *map = tort_call_value(call, 0);
    const void *element = element_at(call, i);
    if (!element) return TORT_E_RUN;
    char *out = (char *)tort_value_data(row) + (size_t)at * (size_t)tort_type_bits(params->type) / 8;
    return cast_element(call, tort_value_type_of(map).type, element, params->type, out);
}

static tort_status cast_sparse(const tort_call *call, tort_value *row) {
    static const tort_string nothing = {"0.f", 3}; /* as in ONNX Runtime */
    const cast_params *params = call->params;
    const tort_value *map = tort_call_value(call, 0);
    const int64_t *keys = tort_value_keys(map)->data;
    tort_status status = TORT_OK;
    if (params->type == TORT_STRING)
        for (int64_t i = 0; i < params->length; i++) ((tort_string *)tort_value_data(row))[i] = nothing;
    else
        memset(tort_value_data(row), 0, (size_t)params->length * (size_t)tort_type_bits(params->type) / 8);
    for (int32_t i = 0; i < tort_value_count(map) && !status && tort_row_goes_on(call->watch, i); i++) {
        if (keys[i] < 0 || keys[i] >= params->length)
            return tort_fail(call->error, TORT_E_RUN, "key %lld of the map is not in 0 to %lld, that is max_map - 1",
                             (long long)keys[i], (long long)params->length - 1);
        status = cast_to_place(call, row, i, keys[i]);
    }
    return status;
}

/* ---- the order of keys: a heap, whose largest key is at 0 */

static void sink(const int64_t *keys, int32_t *heap, int32_t count, int32_t at) {
    const int32_t entry = heap[at];
    for (;;) {
        int32_t child = at <= (count - 2) / 2 ? 2 * at + 1 : count;
        if (child >= count) break;
        if (child + 1 < count && keys[heap[child + 1]] > keys[heap[child]]) child++;
        if (keys[heap[child]] <= keys[entry]) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = entry;
}

/* If the run is over, the order is another one. */
static void sort_by_key(struct tort_watch *watch, const int64_t *keys, int32_t *order, int32_t count) {
    for (int32_t i = 0; i < count; i++) order[i] = i;
    for (int32_t i = count / 2; i-- > 0 && tort_row_goes_on(watch, i);) sink(keys, order, count, i);
    for (int32_t last = count - 1; last > 0 && tort_row_goes_on(watch, last); last--) {
        const int32_t largest = order[0];
        order[0] = order[last];
        order[last] = largest;
        sink(keys, order, last, 0);
    }
}

static tort_status cast_dense(const tort_call *call, tort_value *row) {
    const tort_value *map = tort_call_value(call, 0);
    const int32_t count = tort_value_count(map);
    const size_t bytes = (size_t)count * sizeof(int32_t);
    int32_t *order = tort_alloc(call->env, bytes);
    if (!order) return tort_out_of_memory(call->error, bytes);
    sort_by_key(call->watch, tort_value_keys(map)->data, order, count);
    tort_status status = TORT_OK;
    for (int32_t i = 0; i < count && !status && tort_row_goes_on(call->watch, i); i++)
        status = cast_to_place(call, row, order[i], i);
    tort_free(call->env, order, bytes);
    return status;
}

static tort_status cast_reference(const tort_call *call) {
    const cast_params *params = call->params;
    const int64_t count = params->sparse ? params->length : tort_value_count(tort_call_value(call, 0));
    tort_value *row;
    tort_status status = give_row(call, params->type, count, &row);
    if (!status) status = params->sparse ? cast_sparse(call, row) : cast_dense(call, row);
    return status ? status : own_text(call, row);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_op tort_ops_ml_maps[] = {
    {"ai.onnx.ml", "CastMap", 1, 5, "X:T1", "Y:T2", "T1=map(int64,string)|map(int64,float) T2=string|float|int64",
     "cast_to:string=TO_FLOAT map_form:string=DENSE max_map:int=1", .flags = TORT_OP_VALUES,
     .params_size = sizeof(cast_params), cast_infer, cast_resolve, cast_reference},
    {"ai.onnx.ml", "DictVectorizer", 1, 5, "X:T1", "Y:T2",
     "T1=map(string,int64)|map(int64,string)|map(int64,float)|map(int64,double)|map(string,float)|map(string,double) T2=int64|float|double|string",
     "int64_vocabulary:ints string_vocabulary:strings", .flags = TORT_OP_LISTS | TORT_OP_VALUES,
     .params_size = sizeof(vectorizer_params), vectorizer_infer, vectorizer_resolve, vectorizer_reference},
    {0},
};
