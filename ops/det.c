/* det.c - Det and com.microsoft's Inverse: determinants and inverses of square matrices, by elimination with partial
 * pivoting, in double. The inverse of a singular matrix has infinities and NaN. */
#include "ops/numeric.h"
#include "ops/shapes.h"

#include <math.h>

/* Checks that the last two axes of X are square matrices; Y lacks as many axes as the row's variant says. */
static tort_status infer_square(tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[0];
    infer->outputs[0].type = x->type;
    if (x->rank < 0) return TORT_OK;
    if (x->rank < 2) return tort_fail(infer->error, TORT_E_MODEL, "X has rank %d, expected 2 or more", x->rank);
    tort_dim size;
    tort_status status = tort_dim_unify(infer->error, x->rank - 1, x->dims[x->rank - 2], x->dims[x->rank - 1], &size);
    if (status != TORT_OK) return status;
    tort_infer_shape(infer, 0, x->type, x->rank - infer->node->op->variant, x->dims);
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

static void swap_rows(int64_t n, double *a, int64_t i, int64_t k) {
    for (int64_t j = 0; i != k && j < n; j++) {
        const double swapped = a[k * n + j];
        a[k * n + j] = a[i * n + j];
        a[i * n + j] = swapped;
    }
}

/* Determinant of an n x n matrix, which is overwritten. */
static double determinant(const tort_call *call, int64_t n, double *a) {
    double product = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++) {
            if (fabs(a[i * n + k]) > fabs(a[pivot * n + k])) pivot = i;
        }
        if (a[pivot * n + k] == 0) return 0;
        swap_rows(n, a, pivot, k);
        product *= pivot != k ? -a[k * n + k] : a[k * n + k];
        for (int64_t i = k + 1; i < n; i++) {
            if (!tort_call_goes_on(call, n - k)) return 0;
            double factor = a[i * n + k] / a[k * n + k];
            for (int64_t j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
        }
    }
    return product;
}

static tort_status run_det(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *out = &call->outputs[0];
    int64_t n = x->dims[x->rank - 1], matrices = tort_count(out);
    for (int64_t m = 0; m < matrices && tort_call_goes_on(call, 0); m++) {
        if (n > 0) tort_load_doubles(x->type, x->data, m * n * n, n * n, call->scratch);
        double value = determinant(call, n, call->scratch);
        tort_store_doubles(out->type, out->data, m, 1, &value);
    }
    return TORT_OK;
}

/* ---- Inverse ----------------------------------------------------------------------------------------------------- */

/* Scratch: two matrices of doubles, the input and its inverse. */
static tort_status resolve_inverse(tort_resolve *resolve) {
    tort_status status = resolve_det(resolve);
    if (status || tort_mul_size(resolve->scratch_bytes, 2, &resolve->scratch_bytes)) return status;
    return tort_out_of_memory(resolve->error, SIZE_MAX);
}

/* row += factor * other, of a matrix of n columns. */
static void add_row(int64_t n, double *a, int64_t row, double factor, int64_t other) {
    for (int64_t j = 0; j < n; j++) a[row * n + j] += factor * a[other * n + j];
}

/* Gauss-Jordan elimination: the row operations that turn `a` into the identity turn the identity into the inverse. */
static void invert(const tort_call *call, int64_t n, double *a, double *inverse) {
    for (int64_t i = 0; i < n * n; i++) inverse[i] = i % (n + 1) == 0;
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[pivot * n + k])) pivot = i;
        swap_rows(n, a, pivot, k);
        swap_rows(n, inverse, pivot, k);
        const double divisor = a[k * n + k];
        for (int64_t j = 0; j < n; j++) {
            a[k * n + j] /= divisor;
            inverse[k * n + j] /= divisor;
        }
        for (int64_t i = 0; i < n; i++) {
            const double factor = -a[i * n + k];
            if (i == k) continue;
            if (!tort_call_goes_on(call, 2 * n)) return;
            add_row(n, a, i, factor, k);
            add_row(n, inverse, i, factor, k);
        }
    }
}

static tort_status run_inverse(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const int64_t n = x->dims[x->rank - 1], count = tort_count(y);
    double *a = call->scratch, *inverse = a + n * n;
    for (int64_t first = 0; first < count && tort_call_goes_on(call, 0); first += n * n) {
        tort_load_doubles(x->type, x->data, first, n * n, a);
        invert(call, n, a, inverse);
        tort_store_doubles(y->type, y->data, first, n * n, inverse);
    }
    return TORT_OK;
}

const tort_op tort_ops_det[] = {
    {"com.microsoft", "Inverse", 1, 1, "X:T", "Y:T", "T=floats", "", .infer = infer_square, resolve_inverse,
     run_inverse},
    {"", "Det", 11, 21, "X:T", "Y:T", "T=floats", "", .variant = 2, 0, infer_square, resolve_det, run_det},
    {"", "Det", 22, TORT_NEWEST_OPSET, "X:T", "Y:T", "T=floats13", "", .variant = 2, 0, infer_square, resolve_det,
     run_det},
    {0},
};
