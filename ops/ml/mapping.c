/* mapping.c - LabelEncoder and CategoryMapper: map each element to the value of its key, or to the default.
 *
 * A mapping is two lists and a default, from whichever attributes; LabelEncoder-1 has one list, and maps to or from
 * indices into it. */
#include "ops/ml/lists.h"
#include "ops/ml/lookup.h"
#include "ops/ml/mapping.h"
#include "ops/numeric.h"
#include "ops/shapes.h"

#include <string.h>

/* ---- attributes -------------------------------------------------------------------------------------------------- */

/* The keys or the values of a node: a list or a tensor. */
typedef struct side {
    const tort_attribute *attribute; /* NULL: absent */
    tort_type type;
    int64_t count;
    bool several;
} side;

static void side_add(side *s, const tort_node_view *node, const char *name, tort_type type) {
    const tort_attribute *attribute = tort_attr(node, name);
    const bool tensor = attribute && attribute->kind == TORT_ATTR_TENSOR;
    if (!attribute || (attribute->count == 0 && !tensor)) return;
    s->several = s->attribute != NULL;
    *s = (side){.attribute = attribute, .type = type, .count = attribute->count, .several = s->several};
    if (!tensor) return;
    const tort_weight *weight = tort_weight_of(node->model, attribute->u.weights[0]);
    s->type = weight->type;
    for (int32_t k = 0; k < weight->rank; k++) s->count *= weight->dims[k]; /* checked at load */
}

static side side_of(const tort_node_view *node, bool keys) {
    side s = {0};
    side_add(&s, node, keys ? "keys_strings" : "values_strings", TORT_STRING);
    side_add(&s, node, keys ? "keys_int64s" : "values_int64s", TORT_INT64);
    side_add(&s, node, keys ? "keys_floats" : "values_floats", TORT_FLOAT);
    side_add(&s, node, keys ? "keys_tensor" : "values_tensor", TORT_UNDEFINED);
    return s;
}

static tort_status check_side(const tort_infer *infer, const side *s, const char *what) {
    if (!s->attribute) return tort_fail(infer->error, TORT_E_MODEL, "has no %s_* with elements", what);
    if (s->several)
        return tort_fail(infer->error, TORT_E_MODEL, "has several of the attributes %s_*; expected one", what);
    if (s->count <= TORT_MAX_KEYS) return TORT_OK;
    return tort_fail(infer->error, TORT_E_UNSUPPORTED, "%s has %lld elements; tinyort handles at most %d",
                     s->attribute->name, (long long)s->count, TORT_MAX_KEYS);
}

/* ---- LabelEncoder, from version 2 on ----------------------------------------------------------------------------- */

/* Checks that default_tensor, if present, is one element of the values' type. */
static tort_status check_default(const tort_infer *infer, const side *values) {
    const tort_attribute *given = tort_attr(infer->node, "default_tensor");
    if (!given) return TORT_OK;
    const tort_weight *weight = tort_weight_of(infer->node->model, given->u.weights[0]);
    int64_t count = 1;
    for (int32_t k = 0; k < weight->rank; k++) count *= weight->dims[k];
    if (weight->type == values->type && count == 1) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "default_tensor has %lld elements of %s; expected one of %s",
                     (long long)count, tort_type_name(weight->type), tort_type_name(values->type));
}

static tort_status encoder_infer(tort_infer *infer) {
    const side keys = side_of(infer->node, true), values = side_of(infer->node, false);
    const tort_type type = infer->node->inputs[0].type;
    tort_status status = check_side(infer, &keys, "keys");
    if (!status) status = check_side(infer, &values, "values");
    if (status) return status;
    if (keys.count != values.count)
        return tort_fail(infer->error, TORT_E_MODEL, "%s has %lld elements, %s %lld; expected as many",
                         keys.attribute->name, (long long)keys.count, values.attribute->name, (long long)values.count);
    if (keys.type != type)
        return tort_fail(infer->error, TORT_E_MODEL, "X is of type %s, but %s holds %s", tort_type_name(type),
                         keys.attribute->name, tort_type_name(keys.type));
    tort_infer_same(infer, 0, 0);
    infer->outputs[0].type = values.type;
    return check_default(infer, &values);
}

static tort_status resolve_side(const tort_resolve *resolve, const side *s, tort_list *list) {
    if (s->attribute->kind == TORT_ATTR_TENSOR) return tort_resolve_tensor(resolve, s->attribute->name, list);
    *list = tort_resolve_list(resolve, s->attribute->name);
    return TORT_OK;
}

static tort_status resolve_default(tort_resolve *resolve, tort_mapping_params *params) {
    tort_list given;
    const double real = (double)tort_attr_float(resolve->node, "default_float");
    const int64_t integer = tort_attr_int(resolve->node, "default_int64");
    tort_status status = tort_resolve_tensor(resolve, "default_tensor", &given);
    const bool text = params->value_type == TORT_STRING;
    if (text) params->text = tort_resolve_list(resolve, "default_string");
    if (text && given.count) memcpy(&params->text, tort_list_at(params, given), sizeof params->text);
    if (status || text) return status;
    if (given.count)
        memcpy(params->number, tort_list_at(params, given), (size_t)tort_type_bits(params->value_type) / 8);
    else if (tort_type_is_float(params->value_type))
        tort_store_doubles(params->value_type, params->number, 0, 1, &real);
    else
        tort_store_integers(params->value_type, params->number, 0, 1, &integer);
    return TORT_OK;
}

/* Versions 2 and 3 do not define duplicate keys: as in ONNX Runtime, the first wins. */
static tort_status resolve_encoder(tort_resolve *resolve) {
    tort_mapping_params *params = resolve->params;
    const side keys = side_of(resolve->node, true), values = side_of(resolve->node, false);
    params->kind = TORT_KEYS_TO_VALUES;
    params->first = resolve->node->op->since < 4;
    params->key_type = keys.type;
    params->value_type = values.type;
    tort_status status = resolve_side(resolve, &keys, &params->keys);
    if (!status) status = resolve_side(resolve, &values, &params->values);
    resolve->scratch_bytes = tort_lookup_bytes(keys.count);
    return status ? status : resolve_default(resolve, params);
}

/* ---- strings to integers or back: LabelEncoder-1 and CategoryMapper ---------------------------------------------- */

static void infer_other(const tort_infer *infer) {
    tort_infer_same(infer, 0, 0);
    infer->outputs[0].type = infer->node->inputs[0].type == TORT_STRING ? TORT_INT64 : TORT_STRING;
}

static void resolve_other(tort_resolve *resolve, tort_mapping_params *params) {
    const int64_t integer = tort_attr_int(resolve->node, "default_int64");
    params->key_type = resolve->node->inputs[0].type;
    params->value_type = params->key_type == TORT_STRING ? TORT_INT64 : TORT_STRING;
    params->text = tort_resolve_list(resolve, "default_string");
    memcpy(params->number, &integer, sizeof integer);
    resolve->scratch_bytes = tort_lookup_bytes(params->keys.count);
}

static tort_status encoder1_infer(tort_infer *infer) {
    infer_other(infer);
    if (tort_attr_count(infer->node, "classes_strings")) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "has no classes_strings with elements");
}

static tort_status encoder1_resolve(tort_resolve *resolve) {
    tort_mapping_params *params = resolve->params;
    const tort_list classes = tort_resolve_list(resolve, "classes_strings");
    const bool strings = resolve->node->inputs[0].type == TORT_STRING;
    params->kind = strings ? TORT_KEYS_TO_INDEX : TORT_INDEX_TO_VALUES;
    if (strings)
        params->keys = classes;
    else
        params->values = classes;
    resolve_other(resolve, params);
    return TORT_OK;
}

static tort_status mapper_infer(tort_infer *infer) {
    const int64_t integers = tort_attr_count(infer->node, "cats_int64s"),
                  strings = tort_attr_count(infer->node, "cats_strings");
    infer_other(infer);
    if (integers == strings && integers > 0) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL,
                     "cats_int64s has %lld elements, cats_strings %lld; expected as many, one at least",
                     (long long)integers, (long long)strings);
}

static tort_status mapper_resolve(tort_resolve *resolve) {
    tort_mapping_params *params = resolve->params;
    const bool strings = resolve->node->inputs[0].type == TORT_STRING;
    params->kind = TORT_KEYS_TO_VALUES;
    params->keys = tort_resolve_list(resolve, strings ? "cats_strings" : "cats_int64s");
    params->values = tort_resolve_list(resolve, strings ? "cats_int64s" : "cats_strings");
    resolve_other(resolve, params);
    return TORT_OK;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

typedef struct mapping_job {
    const tort_call *call;
    tort_lookup lookup;
} mapping_job;

/* Index of the key that equals element i; -1: none. */
static int64_t find(const mapping_job *job, int64_t i) {
    const tort_mapping_params *params = job->call->params;
    const void *x = job->call->inputs[0].data;
    if (params->kind != TORT_INDEX_TO_VALUES) return tort_lookup_element(&job->lookup, x, i);
    const int64_t index = ((const int64_t *)x)[i];
    return index >= 0 && index < params->values.count ? index : -1;
}

static void map_to_numbers(void *arg, int64_t begin, int64_t end) {
    const mapping_job *job = arg;
    const tort_mapping_params *params = job->call->params;
    const size_t size = (size_t)tort_type_bits(params->value_type) / 8;
    const unsigned char *values = tort_list_at(params, params->values);
    unsigned char *y = job->call->outputs[0].data;
    for (int64_t i = begin; i < end; i++) {
        const int64_t at = find(job, i);
        const void *value = at < 0 ? params->number : values + (size_t)at * size;
        if (at >= 0 && params->kind == TORT_KEYS_TO_INDEX) value = &at;
        memcpy(y + (size_t)i * size, value, size);
    }
}

/* Maps to strings, which are copied: outputs outlive params. */
static tort_status map_to_strings(const mapping_job *job) {
    const tort_call *call = job->call;
    const tort_mapping_params *params = call->params;
    const int64_t count = tort_count(&call->inputs[0]);
    tort_string *y = call->outputs[0].data;
    tort_status status = TORT_OK;
    for (int64_t i = 0; i < count && !status && tort_row_goes_on(call->watch, i); i++) {
        const int64_t at = find(job, i);
        const tort_string value = at < 0 ? (tort_string){tort_list_at(params, params->text), (size_t)params->text.count}
                                         : tort_list_string(params, params->values, at);
        status = tort_call_copy_text(call, value, &y[i]);
    }
    return status;
}

static tort_status mapping_reference(const tort_call *call) {
    const tort_mapping_params *params = call->params;
    mapping_job job = {.call = call};
    if (params->kind != TORT_INDEX_TO_VALUES)
        job.lookup = tort_lookup_build(call, params->keys, params->key_type, params->first, call->scratch);
    if (params->value_type == TORT_STRING) return map_to_strings(&job);
    tort_parallel(call, tort_count(&call->inputs[0]), 20, map_to_numbers, &job);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define DEFAULTS "default_float:float=-0 default_int64:int=-1 default_string:string=_Unused "
#define LISTS                                                                                                          \
    "keys_floats:floats keys_int64s:ints keys_strings:strings values_floats:floats values_int64s:ints "                \
    "values_strings:strings"
#define PARAMS .flags = TORT_OP_LISTS, .params_size = sizeof(tort_mapping_params)

const tort_op tort_ops_ml_mapping[] = {
    {"ai.onnx.ml", "CategoryMapper", 1, 5, "X:T1", "Y:T2", "T1=string|int64 T2=string|int64",
     "cats_int64s:ints cats_strings:strings default_int64:int=-1 default_string:string=_Unused", 0, PARAMS,
     mapper_infer, mapper_resolve, mapping_reference},
    {"ai.onnx.ml", "LabelEncoder", 1, 1, "X:T1", "Y:T2", "T1=string|int64 T2=string|int64",
     "classes_strings:strings default_int64:int=-1 default_string:string=_Unused", 0, PARAMS, encoder1_infer,
     encoder1_resolve, mapping_reference},
    {"ai.onnx.ml", "LabelEncoder", 2, 3, "X:T1", "Y:T2", "T1=string|int64|float T2=string|int64|float", DEFAULTS LISTS,
     0, PARAMS, encoder_infer, resolve_encoder, mapping_reference},
    {"ai.onnx.ml", "LabelEncoder", 4, 5, "X:T1", "Y:T2",
     "T1=string|int64|float|int32|int16|double T2=string|int64|float|int32|int16|double",
     DEFAULTS "default_tensor:tensor keys_tensor:tensor values_tensor:tensor " LISTS, 0, PARAMS, encoder_infer,
     resolve_encoder, mapping_reference},
    {0},
};
