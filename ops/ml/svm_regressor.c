/* svm_regressor.c - SVMRegressor: one score per row; with one_class 1 if the row belongs to the class, else -1. */
#include "ops/ml/lists.h"
#include "ops/ml/rows.h"
#include "ops/ml/svm.h"

static tort_status regressor_infer(tort_infer *infer) {
    const int64_t vectors = tort_attr_int(infer->node, "n_supports"),
                  coefficients = tort_attr_count(infer->node, "coefficients");
    tort_dim dims[2] = {0, 1}, features;
    if (vectors < 0)
        return tort_fail(infer->error, TORT_E_MODEL, "n_supports is %lld, expected 0 or more", (long long)vectors);
    if (coefficients == 0 || coefficients < vectors)
        return tort_fail(infer->error, TORT_E_MODEL, "coefficients has %lld numbers for %lld support vectors",
                         (long long)coefficients, (long long)vectors);
    if (tort_attr_count(infer->node, "rho") == 0)
        return tort_fail(infer->error, TORT_E_MODEL, "rho has no number, expected one");
    tort_status status = tort_infer_rows(infer, 0, &dims[0], &features);
    if (!status) status = tort_check_svm(infer, vectors, coefficients, features);
    if (!status) tort_infer_shape(infer, 0, TORT_FLOAT, 2, dims);
    return status;
}

static tort_status regressor_resolve(tort_resolve *resolve) {
    tort_svm_regressor_params *params = resolve->params;
    int32_t count;
    params->coefficients = tort_resolve_list(resolve, "coefficients");
    params->rho = (double)tort_attr_floats(resolve->node, "rho", &count)[0];
    params->one_class = tort_attr_int(resolve->node, "one_class") != 0;
    tort_resolve_svm(resolve, tort_attr_int(resolve->node, "n_supports"), params->coefficients.count, &params->svm);
    tort_status status = tort_post_transform_attr(resolve, &params->transform);
    return status ? status : tort_svm_scratch(&params->svm, resolve->error, &resolve->scratch_bytes);
}

static void put_score(const tort_call *call, int64_t row, double sum) {
    const tort_svm_regressor_params *params = call->params;
    float *score = (float *)call->outputs[0].data + row;
    *score = (float)(sum + params->rho);
    if (params->one_class)
        *score = *score > 0 ? 1 : -1;
    else
        tort_post_transform_floats(params->transform, score, 1);
}

static void linear_rows(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_svm_regressor_params *params = call->params;
    const int64_t features = params->svm.features;
    const float *coefficients = tort_list_at(params, params->coefficients);
    for (int64_t row = begin; row < end; row++)
        put_score(call, row, tort_row_dot(call, row * features, coefficients, features));
}

static tort_status regressor_reference(const tort_call *call) {
    const tort_svm_regressor_params *params = call->params;
    const tort_svm *svm = &params->svm;
    const int64_t rows = tort_row_count(&call->inputs[0]);
    const float *coefficients = tort_list_at(params, params->coefficients);
    double *values = call->scratch;
    if (svm->vectors == 0) {
        tort_parallel(call, rows, svm->features, linear_rows, (void *)call);
        return TORT_OK;
    }
    int64_t done = 0;
    for (int64_t first = 0; first < rows; first += TORT_SVM_ROWS) {
        const int64_t count = rows - first < TORT_SVM_ROWS ? rows - first : TORT_SVM_ROWS;
        tort_svm_kernels(call, svm, first, count, values);
        for (int64_t r = 0; r < count; r++) {
            double sum = 0;
            if (!tort_work_goes_on(call->watch, &done, 16 + svm->vectors)) return TORT_OK;
            for (int64_t v = 0; v < svm->vectors; v++) sum += values[r * svm->vectors + v] * (double)coefficients[v];
            put_score(call, first + r, sum);
        }
    }
    return TORT_OK;
}

const tort_op tort_ops_ml_svm_regressor[] = {
    {"ai.onnx.ml", "SVMRegressor", 1, 5, "X:T", "Y:float", "T=float|double|int64|int32",
     "coefficients:floats kernel_params:floats kernel_type:string=LINEAR n_supports:int=0 one_class:int=0 "
     "post_transform:string=NONE rho:floats support_vectors:floats",
     .flags = TORT_OP_LISTS, .params_size = sizeof(tort_svm_regressor_params), regressor_infer, regressor_resolve,
     regressor_reference},
    {0},
};
