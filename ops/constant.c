/* constant.c - Constant in every form of its attribute, and ConstantOfShape.
 *
 * A Constant with a tensor attribute never runs: its output is that weight (TORT_OP_CONSTANT). The loader has made a
 * sparse_value dense. ConstantOfShape can make a large tensor of a small one, so it is folded only if the result is
 * small (TORT_OP_BULKY). */
#include "ops/constant.h"

#include "ops/numeric.h"
#include "ops/shapes.h"
#include "ops/strided.h"

#include <string.h>

/* ---- Constant ------------------------------------------------------------------------------------------------ */

typedef struct constant_params {
    tort_list elements; /* a list, or the characters of a string; a single number is in `one` */
    unsigned char one[sizeof(int64_t)];
} constant_params;

static const tort_attribute *constant_attribute(const tort_node_view *node, int32_t *given) {
    static const char *const names[] = {"value",       "sparse_value", "value_int",    "value_ints",
                                        "value_float", "value_floats", "value_string", "value_strings"};
    const tort_attribute *found = NULL;
    *given = 0;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const tort_attribute *attribute = tort_attr(node, names[k]);
        if (!attribute) continue;
        found = attribute;
        ++*given;
    }
    return found;
}

static tort_status constant_integers(const tort_infer *infer, const int64_t *list, int32_t count) {
    tort_scalar values[TORT_MAX_ELEMENTS];
    if (count > TORT_MAX_ELEMENTS) return TORT_OK;
    for (int32_t k = 0; k < count; k++) values[k] = tort_scalar_known(list[k]);
    return tort_infer_set_integers(infer, 0, values, count);
}

static tort_status constant_infer(tort_infer *infer) {
    int32_t given = 0;
    const tort_attribute *attribute = constant_attribute(infer->node, &given);
    if (given != 1) {
        return tort_fail(infer->error, TORT_E_MODEL, "has %d of the attributes value, sparse_value, value_*; needs one",
                         (int)given);
    }
    tort_dim count = attribute->count;
    switch (attribute->kind) {
    case TORT_ATTR_INT:
        tort_infer_shape(infer, 0, TORT_INT64, 0, NULL);
        return constant_integers(infer, &attribute->u.i, 1);
    case TORT_ATTR_INTS:
        tort_infer_shape(infer, 0, TORT_INT64, 1, &count);
        return constant_integers(infer, attribute->u.ints, attribute->count);
    case TORT_ATTR_FLOAT: tort_infer_shape(infer, 0, TORT_FLOAT, 0, NULL); return TORT_OK;
    case TORT_ATTR_FLOATS: tort_infer_shape(infer, 0, TORT_FLOAT, 1, &count); return TORT_OK;
    case TORT_ATTR_STRING: tort_infer_shape(infer, 0, TORT_STRING, 0, NULL); return TORT_OK;
    case TORT_ATTR_STRINGS: tort_infer_shape(infer, 0, TORT_STRING, 1, &count); return TORT_OK;
    default: break;
    }
    const tort_weight *weight = tort_weight_of(infer->node->model, attribute->u.weights[0]);
    tort_infer_shape(infer, 0, weight->type, weight->rank, weight->dims);
    return TORT_OK;
}

static tort_status constant_resolve(tort_resolve *resolve) {
    int32_t given = 0;
    constant_params *params = resolve->params;
    const tort_attribute *attribute = constant_attribute(resolve->node, &given);
    params->elements = tort_resolve_list(resolve, attribute->name);
    if (attribute->kind != TORT_ATTR_INT && attribute->kind != TORT_ATTR_FLOAT) return TORT_OK;
    params->elements = (tort_list){offsetof(constant_params, one), 1};
    if (attribute->kind == TORT_ATTR_INT) memcpy(params->one, &attribute->u.i, sizeof attribute->u.i);
    if (attribute->kind == TORT_ATTR_FLOAT) memcpy(params->one, &attribute->u.f, sizeof attribute->u.f);
    return TORT_OK;
}

/* Copies the strings of the params: the output may outlive them. */
static tort_status copy_strings(const tort_call *call, const constant_params *params) {
    const tort_list elements = params->elements;
    tort_string *out = call->outputs[0].data;
    tort_status status = TORT_OK;
    if (call->outputs[0].rank == 0)
        return tort_call_copy_text(call, (tort_string){tort_list_at(params, elements), (size_t)elements.count}, out);
    for (int64_t i = 0; i < elements.count && !status; i++)
        status = tort_call_copy_text(call, tort_list_string(params, elements, i), &out[i]);
    return status;
}

static tort_status constant_reference(const tort_call *call) {
    const constant_params *params = call->params;
    const tort_tensor *output = &call->outputs[0];
    const size_t element = (size_t)tort_type_bits(output->type) / 8, count = (size_t)params->elements.count;
    if (output->type == TORT_STRING) return copy_strings(call, params);
    if (params->elements.count != tort_count(output))
        return tort_fail(call->error, TORT_E_INTERNAL, "a Constant with a tensor attribute has no step");
    if (count) memcpy(output->data, tort_list_at(params, params->elements), count * element);
    return TORT_OK;
}

/* ---- ConstantOfShape ----------------------------------------------------------------------------------------- */

/* Reads the attribute `value`, a tensor of one element: its type and its bytes. */
static tort_status fill_value(const tort_node_view *node, tort_error *error, tort_type *type,
                              tort_fill_params *params) {
    const tort_attribute *attribute = tort_attr(node, "value");
    *type = TORT_FLOAT;
    if (!attribute) return TORT_OK; /* the default, 0.0f */
    int32_t index = attribute->u.weights[0];
    const tort_weight *weight = tort_weight_of(node->model, index);
    for (int32_t k = 0; k < weight->rank; k++) {
        if (weight->dims[k] != 1) return tort_fail(error, TORT_E_MODEL, "value must have one element");
    }
    *type = weight->type;
    if (*type == TORT_STRING) return tort_fail(error, TORT_E_MODEL, "value must be a number");
    const void *data = NULL;
    tort_status status = tort_weight_acquire(node->model, index, &data, error);
    if (status) return status;
    memcpy(params->value, data, weight->bytes < sizeof params->value ? weight->bytes : sizeof params->value);
    tort_weight_release(node->model, index);
    return TORT_OK;
}

static tort_status fill_infer(tort_infer *infer) {
    tort_symbols shape;
    tort_type type;
    tort_fill_params params = {{0}};
    tort_status status = fill_value(infer->node, infer->error, &type, &params);
    if (status) return status;
    tort_infer_unknown(infer, 0, type);
    status = tort_read_shape(infer, 0, "input", 0, &shape);
    if (status || shape.known != TORT_KNOWN) return status;
    tort_dim dims[TORT_MAX_RANK] = {1};
    for (int32_t k = 0; k < shape.count; k++) dims[k] = tort_scalar_to_dim(infer->dims, shape.values[k]);
    tort_infer_shape(infer, 0, type, shape.count, dims);

    bool integers = type == TORT_INT64 || type == TORT_INT32 || type == TORT_BOOL;
    int64_t count = dims[0], value;
    if (!integers || shape.count > 1 || !tort_dim_known(count) || count > TORT_MAX_ELEMENTS) return TORT_OK;
    tort_scalar elements[TORT_MAX_ELEMENTS];
    tort_load_integers(type, params.value, 0, 1, &value);
    for (int64_t k = 0; k < count; k++) elements[k] = tort_scalar_known(value);
    return tort_infer_set_integers(infer, 0, elements, (int32_t)count);
}

static tort_status fill_resolve(tort_resolve *resolve) {
    tort_type type;
    return fill_value(resolve->node, resolve->error, &type, resolve->params);
}

static tort_status fill_reference(const tort_call *call) {
    const tort_fill_params *params = call->params;
    const tort_tensor *output = &call->outputs[0];
    tort_fill_tensor(call, output, params->value, 0);
    return TORT_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

#define CONSTANT(SINCE, UNTIL, T, ATTRIBUTES)                                                                          \
    {                                                                                                                  \
        "", "Constant", SINCE, UNTIL, "", "output:T", "T=" T, ATTRIBUTES,                                              \
            .flags = TORT_OP_CONSTANT | TORT_OP_LISTS, .params_size = sizeof(constant_params), constant_infer,         \
            constant_resolve, constant_reference                                                                       \
    }
#define CONSTANT_FORMS                                                                                                 \
    "value:tensor sparse_value:sparse_tensor value_int:int value_ints:ints value_float:float value_floats:floats "     \
    "value_string:string value_strings:strings"
#define FILL(SINCE, UNTIL, T)                                                                                          \
    {                                                                                                                  \
        "", "ConstantOfShape", SINCE, UNTIL, "input:T1", "output:T2", "T1=int64 T2=" T "|-string|-complex",            \
            "value:tensor", .shape_inputs = 1u << 0, .flags = TORT_OP_BULKY, .params_size = sizeof(tort_fill_params),  \
                            fill_infer, fill_resolve, fill_reference                                                   \
    }

const tort_op tort_ops_constant[] = {
    CONSTANT(1, 8, "floats", "value:tensor!"),
    CONSTANT(9, 10, "all", "value:tensor!"),
    CONSTANT(11, 11, "all", "value:tensor sparse_value:sparse_tensor"),
    CONSTANT(12, 12, "all", CONSTANT_FORMS),
    CONSTANT(13, 18, "all13", CONSTANT_FORMS),
    CONSTANT(19, 20, "all19", CONSTANT_FORMS),
    CONSTANT(21, 22, "all21", CONSTANT_FORMS),
    CONSTANT(23, 23, "all23", CONSTANT_FORMS),
    CONSTANT(24, 24, "all24", CONSTANT_FORMS),
    CONSTANT(25, TORT_NEWEST_OPSET, "all25", CONSTANT_FORMS),
    FILL(9, 19, "all"),
    FILL(20, 20, "all19"),
    FILL(21, 22, "all21"),
    FILL(23, 23, "all23"),
    FILL(24, 24, "all24"),
    FILL(25, TORT_NEWEST_OPSET, "all25"),
    {0},
};
