/* rows.c - see rows.h. */
#include "ops/ml/rows.h"

#include "ops/extent.h"

tort_status tort_infer_rows(const tort_infer *infer, int32_t i, tort_dim *rows, tort_dim *features) {
    const tort_info *x = &infer->node->inputs[i];
    if (x->rank == 1 || x->rank == 2) {
        *rows = x->rank == 1 ? 1 : x->dims[0];
        *features = x->dims[x->rank - 1];
        return TORT_OK;
    }
    if (x->rank >= 0)
        return tort_fail(infer->error, TORT_E_MODEL,
                         "X has rank %d; expected rows of features, [N, C], or one row, [C]", x->rank);
    *rows = tort_dim_fresh(infer->dims, true);
    *features = tort_dim_fresh(infer->dims, true);
    return TORT_OK;
}

tort_status tort_check_features(tort_error *error, tort_dim features, int64_t wanted, const char *what) {
    if (!tort_dim_known(features) || features == wanted) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "X has %lld features, %s is for %lld", (long long)features, what,
                     (long long)wanted);
}

int64_t tort_row_count(const tort_tensor *x) {
    return x->rank == 1 ? 1 : x->dims[0];
}

int64_t tort_row_features(const tort_tensor *x) {
    return x->dims[x->rank - 1];
}

/* Up to TORT_BLOCK elements as floats: in place, or converted into `block`. */
static const float *row_block(const tort_tensor *x, int64_t first, int64_t count, float *block) {
    if (x->type == TORT_FLOAT) return (const float *)x->data + first;
    tort_load_floats(x->type, x->data, first, count, block);
    return block;
}

/* Sum of products, or of squared differences, in four partial sums so that the compiler can vectorize. */
static double block_sum(const float *a, const float *b, int64_t count, bool distance) {
    double sums[4] = {0};
    int64_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (int32_t k = 0; k < 4; k++) {
            const double x = (double)a[i + k], y = (double)b[i + k];
            sums[k] += distance ? (x - y) * (x - y) : x * y;
        }
    for (; i < count; i++) {
        const double x = (double)a[i], y = (double)b[i];
        sums[0] += distance ? (x - y) * (x - y) : x * y;
    }
    return sums[0] + sums[1] + (sums[2] + sums[3]);
}

static double row_sum(const tort_call *call, int64_t first, const float *with, int64_t count, bool distance) {
    const tort_tensor *x = &call->inputs[0];
    float block[TORT_BLOCK];
    double sum = 0;
    for (int64_t at = 0; at < count && tort_row_goes_on(call->watch, at); at += TORT_BLOCK) {
        const int64_t length = tort_block_count(count, at);
        sum += block_sum(row_block(x, first + at, length, block), with + at, length, distance);
    }
    return sum;
}

double tort_row_dot(const tort_call *call, int64_t first, const float *weights, int64_t count) {
    return row_sum(call, first, weights, count, false);
}

double tort_row_distance(const tort_call *call, int64_t first, const float *point, int64_t count) {
    return row_sum(call, first, point, count, true);
}
