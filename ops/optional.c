/* optional.c - Optional, OptionalHasElement, OptionalGetElement: a value that may be absent.
 *
 * The last two also take tensors and sequences, which always count as present; OptionalGetElement of a tensor is an
 * alias. */
#include "ops/values.h"

#include "ops/shapes.h"

#include <string.h>

/* ---- shared by operators over values ----------------------------------------------------------------------------- */

tort_status tort_give_value(const tort_call *call, tort_value *value) {
    call->output_values[0] = value;
    return value ? TORT_OK : tort_out_of_memory(call->error, sizeof value);
}

tort_status tort_give_input(const tort_call *call) {
    if (call->output_values) return tort_give_value(call, tort_call_element(call, 0));
    size_t bytes = 0;
    if (tort_tensor_bytes(&call->inputs[0], &bytes))
        tort_copy_bytes(call->watch, call->outputs[0].data, call->inputs[0].data, bytes);
    return TORT_OK;
}

static bool is_given(const tort_call *call, int32_t i) {
    return tort_call_value(call, i) || tort_call_input(call, i);
}

/* ---- Optional ---------------------------------------------------------------------------------------------------- */

typedef struct optional_params {
    tort_value_type type; /* of the element */
} optional_params;

static tort_value_type optional_element(const tort_node_view *node) {
    const tort_attribute *type = tort_attr(node, "type");
    if (tort_has_input(node, 0)) return tort_info_type(&node->inputs[0]);
    return type ? type->u.types[0] : tort_tensor_type(TORT_UNDEFINED);
}

static tort_status optional_infer(tort_infer *infer) {
    const tort_value_type element = optional_element(infer->node);
    tort_infer_value(infer, 0, tort_optional_type(element));
    if (element.type != TORT_UNDEFINED) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "has neither an input nor the attribute type; needs one");
}

static tort_status optional_resolve(tort_resolve *resolve) {
    ((optional_params *)resolve->params)->type = optional_element(resolve->node);
    return TORT_OK;
}

static tort_status optional_reference(const tort_call *call) {
    const optional_params *params = call->params;
    tort_value *element = is_given(call, 0) ? tort_call_element(call, 0) : NULL;
    if (is_given(call, 0) && !element) return tort_out_of_memory(call->error, sizeof element);
    tort_value *optional = tort_value_optional(call->env, params->type, element);
    tort_value_release(element);
    return tort_give_value(call, optional);
}

/* ---- OptionalHasElement ------------------------------------------------------------------------------------------ */

static tort_status has_infer(tort_infer *infer) {
    tort_infer_shape(infer, 0, TORT_BOOL, 0, NULL);
    return TORT_OK;
}

static tort_status has_reference(const tort_call *call) {
    const tort_value *value = tort_call_value(call, 0);
    const bool empty = value && tort_value_kind(value) == TORT_OPTIONAL && tort_value_count(value) == 0;
    bool has = is_given(call, 0) && !empty;
    const tort_tensor tensor = {.type = TORT_BOOL, .data = &has};
    if (call->output_values) return tort_give_value(call, tort_value_tensor(call->env, &tensor));
    memcpy(call->outputs[0].data, &has, sizeof has);
    return TORT_OK;
}

/* ---- OptionalGetElement ------------------------------------------------------------------------------------------ */

static tort_status get_infer(tort_infer *infer) {
    const tort_info *input = &infer->node->inputs[0];
    if (input->kind == TORT_OPTIONAL) {
        tort_infer_value(infer, 0, tort_type_element(tort_info_type(input)));
        return TORT_OK;
    }
    tort_infer_same(infer, 0, 0);
    return input->kind == TORT_TENSOR ? tort_infer_forward_elements(infer, 0, 0) : TORT_OK;
}

static tort_status get_reference(const tort_call *call) {
    const tort_value *value = tort_call_value(call, 0);
    if (!value || tort_value_kind(value) != TORT_OPTIONAL) return tort_give_input(call);
    if (tort_value_count(value) == 1) return tort_give_value(call, tort_value_retain(tort_value_at(value, 0)));
    return tort_fail(call->error, TORT_E_RUN, "the optional has no element: ask OptionalHasElement first");
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define OPTIONALS(ALL) "optional(" ALL ")|optional(seq(" ALL "))"
#define OPTIONAL(SINCE, UNTIL, ALL)                                                                                    \
    {                                                                                                                  \
        "", "Optional", SINCE, UNTIL, "input?:V", "output:O", "V=" ALL "|seq(" ALL ") O=" OPTIONALS(ALL), "type:type", \
            .flags = TORT_OP_VALUES, .params_size = sizeof(optional_params), optional_infer, optional_resolve,         \
            optional_reference                                                                                         \
    }
#define HAS(SINCE, UNTIL, INPUTS, TYPES)                                                                               \
    {                                                                                                                  \
        "", "OptionalHasElement", SINCE, UNTIL, INPUTS, "output:B", "O=" TYPES " B=bool", "",                          \
            .flags = TORT_OP_VALUES, .infer = has_infer, .reference = has_reference                                    \
    }
#define GET(SINCE, UNTIL, ALL, TYPES)                                                                                  \
    {                                                                                                                  \
        "", "OptionalGetElement", SINCE, UNTIL, "input:O", "output:V", "O=" TYPES " V=" ALL "|seq(" ALL ")", "",       \
            .flags = TORT_OP_ALIAS | TORT_OP_VALUES, .infer = get_infer, .reference = get_reference                    \
    }
#define ANYTHING(ALL) ALL "|seq(" ALL ")|" OPTIONALS(ALL)

const tort_op tort_ops_optional[] = {
    OPTIONAL(15, 27, "all"),
    OPTIONAL(28, TORT_NEWEST_OPSET, "all28"),
    HAS(15, 17, "input:O", OPTIONALS("all")),
    HAS(18, 27, "input?:O", ANYTHING("all")),
    HAS(28, TORT_NEWEST_OPSET, "input?:O", ANYTHING("all28")),
    GET(15, 17, "all", OPTIONALS("all")),
    GET(18, 27, "all", ANYTHING("all")),
    GET(28, TORT_NEWEST_OPSET, "all28", ANYTHING("all28")),
    {0},
};
