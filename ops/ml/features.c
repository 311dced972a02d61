/* features.c - Binarizer, Imputer, Normalizer, Scaler: map features one by one, or by rows.
 *
 * Features lie along the last axis. Lists with one number for all features, or one for each, are checked as soon as the
 * number of features is known. */
#include "ops/extent.h"
#include "ops/ml/features.h"
#include "ops/ml/lists.h"
#include "ops/ml/rows.h"

#include <math.h>

#define NUMBERS "float|double|int64|int32"

/* Checks that a list has one number, or one per feature if their number is known. */
static tort_status check_list(const tort_infer *infer, const char *name, int64_t count) {
    const tort_info *x = &infer->node->inputs[0];
    const tort_dim features = x->rank > 0 ? x->dims[x->rank - 1] : 1;
    if (count == 1 || x->rank < 0 || !tort_dim_known(features) || features == count) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "%s has %lld numbers for %lld features; expected one, or one for each",
                     name, (long long)count, (long long)features);
}

static void infer_floats(const tort_infer *infer) {
    tort_infer_same(infer, 0, 0);
    infer->outputs[0].type = TORT_FLOAT;
}

/* ---- Binarizer --------------------------------------------------------------------------------------------------- */

static tort_status binarizer_resolve(tort_resolve *resolve) {
    ((tort_binarizer_params *)resolve->params)->threshold = (double)tort_attr_float(resolve->node, "threshold");
    return TORT_OK;
}

static void binarize(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_binarizer_params *params = call->params;
    const tort_tensor *x = &call->inputs[0];
    double block[TORT_BLOCK];
    for (int64_t first = begin; first < end; first += TORT_BLOCK) {
        const int64_t count = tort_block_count(end, first);
        tort_load_doubles(x->type, x->data, first, count, block);
        for (int64_t i = 0; i < count; i++) block[i] = block[i] > params->threshold ? 1 : 0;
        tort_store_doubles(x->type, call->outputs[0].data, first, count, block);
    }
}

static tort_status binarizer_reference(const tort_call *call) {
    tort_parallel(call, tort_count(&call->inputs[0]), 2, binarize, (void *)call);
    return TORT_OK;
}

/* ---- Scaler ------------------------------------------------------------------------------------------------------ */

static tort_status scaler_infer(tort_infer *infer) {
    const int64_t offset = tort_attr_count(infer->node, "offset"), scale = tort_attr_count(infer->node, "scale");
    if (offset && scale && offset != scale)
        return tort_fail(infer->error, TORT_E_MODEL, "offset has %lld numbers and scale %lld; expected as many",
                         (long long)offset, (long long)scale);
    tort_status status = offset ? check_list(infer, "offset", offset) : TORT_OK;
    if (!status && scale) status = check_list(infer, "scale", scale);
    infer_floats(infer);
    return status;
}

static tort_status scaler_resolve(tort_resolve *resolve) {
    tort_scaler_params *params = resolve->params;
    params->offset = tort_resolve_list(resolve, "offset");
    params->scale = tort_resolve_list(resolve, "scale");
    return TORT_OK;
}

static double list_number(const float *list, int64_t count, int64_t i, double absent) {
    return count == 0 ? absent : (double)list[count == 1 ? 0 : i % count];
}

static void scale_elements(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_scaler_params *params = call->params;
    const float *offset = tort_list_at(params, params->offset), *scale = tort_list_at(params, params->scale);
    const tort_tensor *x = &call->inputs[0];
    float *y = call->outputs[0].data;
    double block[TORT_BLOCK];
    for (int64_t first = begin; first < end; first += TORT_BLOCK) {
        const int64_t count = tort_block_count(end, first);
        tort_load_doubles(x->type, x->data, first, count, block);
        for (int64_t i = 0; i < count; i++)
            y[first + i] = (float)((block[i] - list_number(offset, params->offset.count, first + i, 0)) *
                                   list_number(scale, params->scale.count, first + i, 1));
    }
}

static tort_status scaler_reference(const tort_call *call) {
    tort_parallel(call, tort_count(&call->inputs[0]), 5, scale_elements, (void *)call);
    return TORT_OK;
}

/* ---- Imputer ----------------------------------------------------------------------------------------------------- */

static const char *imputed_name(tort_type type) {
    return tort_type_is_float(type) ? "imputed_value_floats" : "imputed_value_int64s";
}

/* Checks that the imputed values fit the type of X. */
static tort_status check_integers(const tort_infer *infer) {
    int32_t count = 0;
    const int64_t *list = tort_attr_ints(infer->node, "imputed_value_int64s", &count);
    for (int32_t i = 0; i < count && infer->node->inputs[0].type == TORT_INT32; i++)
        if (list[i] < INT32_MIN || list[i] > INT32_MAX)
            return tort_fail(infer->error, TORT_E_MODEL, "imputed_value_int64s[%d] is %lld, which is not an int32", i,
                             (long long)list[i]);
    return TORT_OK;
}

static tort_status imputer_infer(tort_infer *infer) {
    const tort_type type = infer->node->inputs[0].type;
    const char *name = imputed_name(type), *other = imputed_name(tort_type_is_float(type) ? TORT_INT64 : TORT_FLOAT);
    if (tort_attr_count(infer->node, name) == 0)
        return tort_fail(infer->error, TORT_E_MODEL, "has no %s, which X of type %s needs", name, tort_type_name(type));
    if (tort_attr_count(infer->node, other))
        return tort_fail(infer->error, TORT_E_MODEL, "has both %s and %s; expected %s alone for X of type %s", name,
                         other, name, tort_type_name(type));
    tort_status status = check_list(infer, name, tort_attr_count(infer->node, name));
    if (!status) status = check_integers(infer);
    tort_infer_same(infer, 0, 0);
    return status;
}

static tort_status imputer_resolve(tort_resolve *resolve) {
    tort_imputer_params *params = resolve->params;
    params->imputed = tort_resolve_list(resolve, imputed_name(resolve->node->inputs[0].type));
    params->replaced_float = (double)tort_attr_float(resolve->node, "replaced_value_float");
    params->replaced_integer = tort_attr_int(resolve->node, "replaced_value_int64");
    return TORT_OK;
}

static void impute_floats(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_imputer_params *params = call->params;
    const tort_tensor *x = &call->inputs[0];
    const float *imputed = tort_list_at(params, params->imputed);
    const double replaced = params->replaced_float;
    double block[TORT_BLOCK];
    for (int64_t first = begin; first < end; first += TORT_BLOCK) {
        const int64_t count = tort_block_count(end, first);
        tort_load_doubles(x->type, x->data, first, count, block);
        for (int64_t i = 0; i < count; i++)
            if (block[i] == replaced || (isnan(block[i]) && isnan(replaced)))
                block[i] = (double)imputed[(first + i) % params->imputed.count];
        tort_store_doubles(x->type, call->outputs[0].data, first, count, block);
    }
}

static void impute_integers(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_imputer_params *params = call->params;
    const tort_tensor *x = &call->inputs[0];
    const int64_t *imputed = tort_list_at(params, params->imputed);
    int64_t block[TORT_BLOCK];
    for (int64_t first = begin; first < end; first += TORT_BLOCK) {
        const int64_t count = tort_block_count(end, first);
        tort_load_integers(x->type, x->data, first, count, block);
        for (int64_t i = 0; i < count; i++)
            if (block[i] == params->replaced_integer) block[i] = imputed[(first + i) % params->imputed.count];
        tort_store_integers(x->type, call->outputs[0].data, first, count, block);
    }
}

static tort_status imputer_reference(const tort_call *call) {
    const bool real = tort_type_is_float(call->inputs[0].type);
    tort_parallel(call, tort_count(&call->inputs[0]), 5, real ? impute_floats : impute_integers, (void *)call);
    return TORT_OK;
}

/* ---- Normalizer -------------------------------------------------------------------------------------------------- */

static bool read_norm(const tort_node_view *node, tort_norm_kind *norm) {
    static const char *const names[] = {[TORT_NORM_MAX] = "MAX", [TORT_NORM_L1] = "L1", [TORT_NORM_L2] = "L2"};
    for (int k = TORT_NORM_MAX; k <= TORT_NORM_L2; k++)
        if (!strcmp(tort_attr_string(node, "norm"), names[k])) {
            *norm = (tort_norm_kind)k;
            return true;
        }
    return false;
}

static tort_status normalizer_infer(tort_infer *infer) {
    tort_norm_kind norm;
    tort_dim rows, features;
    if (!read_norm(infer->node, &norm))
        return tort_fail(infer->error, TORT_E_MODEL, "norm is \"%.40s\"; expected MAX, L1 or L2",
                         tort_attr_string(infer->node, "norm"));
    infer_floats(infer);
    return tort_infer_rows(infer, 0, &rows, &features);
}

static tort_status normalizer_resolve(tort_resolve *resolve) {
    read_norm(resolve->node, &((tort_normalizer_params *)resolve->params)->norm);
    return TORT_OK;
}

/* Divisor of a row's elements; 0: they stay. fmax ignores NaN, sums do not. */
static double row_norm(const tort_call *call, tort_norm_kind norm, int64_t first, int64_t count) {
    const tort_tensor *x = &call->inputs[0];
    double block[TORT_BLOCK], max = -INFINITY, sum = 0;
    for (int64_t at = 0; at < count && tort_row_goes_on(call->watch, at); at += TORT_BLOCK) {
        const int64_t length = tort_block_count(count, at);
        tort_load_doubles(x->type, x->data, first + at, length, block);
        for (int64_t i = 0; i < length; i++) {
            max = fmax(max, block[i]);
            sum += norm == TORT_NORM_L1 ? fabs(block[i]) : block[i] * block[i];
        }
    }
    if (norm == TORT_NORM_MAX) return max;
    return norm == TORT_NORM_L1 ? sum : sqrt(sum);
}

static void normalize_rows(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_normalizer_params *params = call->params;
    const tort_tensor *x = &call->inputs[0];
    const int64_t features = tort_row_features(x);
    float *y = call->outputs[0].data;
    double block[TORT_BLOCK];
    for (int64_t row = begin; row < end; row++) {
        const int64_t start = row * features;
        const double norm = row_norm(call, params->norm, start, features), divisor = norm != 0 ? norm : 1;
        for (int64_t at = 0; at < features && tort_row_goes_on(call->watch, at); at += TORT_BLOCK) {
            const int64_t length = tort_block_count(features, at);
            tort_load_doubles(x->type, x->data, start + at, length, block);
            for (int64_t i = 0; i < length; i++) y[start + at + i] = (float)(block[i] / divisor);
        }
    }
}

static tort_status normalizer_reference(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0];
    tort_parallel(call, tort_row_count(x), 4 * tort_row_features(x), normalize_rows, (void *)call);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const tort_op tort_ops_ml_features[] = {
    {"ai.onnx.ml", "Binarizer", 1, 5, "X:T", "Y:T", "T=" NUMBERS, "threshold:float=0",
     .params_size = sizeof(tort_binarizer_params), tort_infer_elementwise, binarizer_resolve, binarizer_reference},
    {"ai.onnx.ml", "Imputer", 1, 5, "X:T", "Y:T", "T=" NUMBERS,
     "imputed_value_floats:floats imputed_value_int64s:ints replaced_value_float:float=0 replaced_value_int64:int=0",
     .flags = TORT_OP_LISTS, .params_size = sizeof(tort_imputer_params), imputer_infer, imputer_resolve,
     imputer_reference},
    {"ai.onnx.ml", "Normalizer", 1, 5, "X:T", "Y:float", "T=" NUMBERS, "norm:string=MAX",
     .params_size = sizeof(tort_normalizer_params), normalizer_infer, normalizer_resolve, normalizer_reference},
    {"ai.onnx.ml", "Scaler", 1, 5, "X:T", "Y:float", "T=" NUMBERS, "offset:floats scale:floats", .flags = TORT_OP_LISTS,
     .params_size = sizeof(tort_scaler_params), scaler_infer, scaler_resolve, scaler_reference},
    {0},
};
