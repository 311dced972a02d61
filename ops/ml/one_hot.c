/* one_hot.c - OneHotEncoder: appends an axis with a 1 at the index of each element's category. */
#include "ops/extent.h"
#include "ops/ml/lists.h"
#include "ops/ml/lookup.h"
#include "ops/shapes.h"

#include <string.h>

typedef struct encoder_params {
    tort_list categories;
    tort_type type; /* of the categories: INT64 or STRING */
    bool zeros;     /* true: an element without category becomes zeros; false: an error */
} encoder_params;

static tort_status encoder_infer(tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[0];
    const bool strings = x->type == TORT_STRING;
    const int64_t texts = tort_attr_count(infer->node, "cats_strings"),
                  numbers = tort_attr_count(infer->node, "cats_int64s");
    if (texts && numbers)
        return tort_fail(infer->error, TORT_E_MODEL, "has both cats_int64s and cats_strings; expected one of them");
    if ((strings ? texts : numbers) == 0)
        return tort_fail(infer->error, TORT_E_MODEL, "has no %s, which X of type %s needs",
                         strings ? "cats_strings" : "cats_int64s", tort_type_name(x->type));
    tort_infer_unknown(infer, 0, TORT_FLOAT);
    if (x->rank < 0) return TORT_OK;
    tort_dim dims[TORT_MAX_RANK];
    tort_status status = tort_check_rank(infer->error, x->rank + 1);
    if (status) return status;
    for (int32_t k = 0; k < x->rank; k++) dims[k] = x->dims[k];
    dims[x->rank] = strings ? texts : numbers;
    tort_infer_shape(infer, 0, TORT_FLOAT, x->rank + 1, dims);
    return TORT_OK;
}

static tort_status encoder_resolve(tort_resolve *resolve) {
    encoder_params *params = resolve->params;
    const bool strings = resolve->node->inputs[0].type == TORT_STRING;
    params->type = strings ? TORT_STRING : TORT_INT64;
    params->categories = tort_resolve_list(resolve, strings ? "cats_strings" : "cats_int64s");
    params->zeros = tort_attr_int(resolve->node, "zeros") != 0;
    resolve->scratch_bytes = tort_lookup_bytes(params->categories.count);
    return TORT_OK;
}

/* Index of the category of element i; -1: none. Floats are truncated; NaN and values out of range have no category. */
static int64_t category_of(const tort_lookup *lookup, const tort_tensor *x, int64_t i) {
    if (x->type == TORT_STRING) return tort_lookup_element(lookup, x->data, i);
    int64_t integer;
    if (tort_type_is_float(x->type)) {
        const double number = tort_element_at(x, i);
        if (!(number >= -0x1p63 && number < 0x1p63)) return -1;
        integer = tort_double_to_int64(number);
    } else
        tort_load_integers(x->type, x->data, i, 1, &integer);
    return tort_lookup_integer(lookup, integer);
}

static tort_status encoder_reference(const tort_call *call) {
    const encoder_params *params = call->params;
    const tort_tensor *x = &call->inputs[0];
    const int64_t count = tort_count(x), width = params->categories.count;
    const tort_lookup lookup = tort_lookup_build(call, params->categories, params->type, false, call->scratch);
    float *y = call->outputs[0].data;
    int64_t done = 0;
    for (int64_t i = 0; i < count && tort_work_goes_on(call->watch, &done, 16 + width); i++, y += width) {
        const int64_t category = category_of(&lookup, x, i);
        memset(y, 0, (size_t)width * sizeof *y);
        if (category >= 0)
            y[category] = 1;
        else if (!params->zeros)
            return tort_fail(call->error, TORT_E_RUN, "element %lld of X is in no category, and zeros is 0",
                             (long long)i);
    }
    return TORT_OK;
}

const tort_op tort_ops_ml_one_hot[] = {
    {"ai.onnx.ml", "OneHotEncoder", 1, 5, "X:T", "Y:float", "T=string|int64|int32|float|double",
     "cats_int64s:ints cats_strings:strings zeros:int=1", .flags = TORT_OP_LISTS, .params_size = sizeof(encoder_params),
     encoder_infer, encoder_resolve, encoder_reference},
    {0},
};
