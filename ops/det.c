/* det.c - Det: determinants of square matrices, by elimination with partial pivoting, in double. */
#include "ops/numeric.h"
#include "ops/shapes.h"

#include <math.h>

static tort_status infer_det(tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[0];
    infer->outputs[0].type = x->type;
    if (x->rank < 0) return TORT_OK;
    if (x->rank < 2) return tort_fail(infer->error, TORT_E_MODEL, "X has rank %d, expected 2 or more", x->rank);
    tort_dim size;
    tort_status status = tort_dim_unify(infer->error, x->rank - 1, x->dims[x->rank - 2], x->dims[x->rank - 1], &size);
    if (status != TORT_OK) return status;
    tort_infer_shape(infer, 0, x->type, x->rank - 2, x->dims);
    return TORT_OK;
}

/* Scratch: one matrix of doubles. */
static tort_status resolve_det(tort_resolve *resolve) {
    const tort_info *x = &resolve->node->inputs[0];
    if (x->rank < 2 || !tort_dim_known(x->dims[x->rank - 1])) return TORT_OK;
    size_t size = (size_t)x->dims[x->rank - 1];
    if (!tort_mul_size(size, size, &size) || !tort_mul_size(size, sizeof(double), &size))
        return tort_out_of_memory(resolve->error, SIZE_MAX);
    resolve->scratch_bytes = size;
    return TORT_OK;
}

/* Of a matrix of n rows, which is overwritten. */
static double determinant(int64_t n, double *a) {
    double product = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++) {
            if (fabs(a[i * n + k]) > fabs(a[pivot * n + k])) pivot = i;
        }
        if (a[pivot * n + k] == 0) return 0;
        for (int64_t j = k; pivot != k && j < n; j++) {
            double swapped = a[k * n + j];
            a[k * n + j] = a[pivot * n + j];
            a[pivot * n + j] = swapped;
        }
        product *= pivot != k ? -a[k * n + k] : a[k * n + k];
        for (int64_t i = k + 1; i < n; i++) {
            double factor = a[i * n + k] / a[k * n + k];
            for (int64_t j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
        }
    }
    return product;
}

static tort_status run_det(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *out = &call->outputs[0];
    int64_t n = x->dims[x->rank - 1], matrices = tort_count(out);
    for (int64_t m = 0; m < matrices; m++) {
        if (n > 0) tort_load_doubles(x->type, x->data, m * n * n, n * n, call->scratch);
        double value = determinant(n, call->scratch);
        tort_store_doubles(out->type, out->data, m, 1, &value);
    }
    return TORT_OK;
}

const tort_op tort_ops_det[] = {
    {"", "Det", 11, 21, "X:T", "Y:T", "T=floats", "", 0, 0, 0, infer_det, resolve_det, run_det},
    {"", "Det", 22, 28, "X:T", "Y:T", "T=floats13", "", 0, 0, 0, infer_det, resolve_det, run_det},
    {0},
};
