/* outputs.c - writing output files, and telling whether two tensors are equal. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "loader/tensor_file.h"
#include "ops/numeric.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/outputs.h"

tort_status cli_save_outputs(const cli_options *options, const tort_model *model, const tort_tensor *outputs,
                             int32_t count, tort_error *error) {
    if (mkdir(options->save, 0777) != 0 && errno != EEXIST)
        return tort_fail(error, TORT_E_RUN, "--save: the folder '%s' cannot be made: %s", options->save,
                         strerror(errno));
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < count; i++) {
        char *path = cli_format("%s/output_%d.%s", options->save, i, options->save_pb ? "pb" : "npy");
        cli_progress("writing %s", path);
        status = tort_tensor_file_write(path, tort_model_output(model, i).name, &outputs[i], error);
        if (status == TORT_E_IO) error->code = TORT_E_RUN;
        free(path);
    }
    cli_progress_end();
    return status;
}

/* ---- equality -------------------------------------------------------------------------------------------------- */

cli_tolerance cli_tolerance_of(const cli_options *options, tort_type type, cli_tolerance otherwise) {
    cli_tolerance t = type == TORT_FLOAT16 || type == TORT_BFLOAT16 ? (cli_tolerance){1e-2, 1e-2} : otherwise;
    if (options->rtol >= 0) t.rtol = options->rtol;
    if (options->atol >= 0) t.atol = options->atol;
    return t;
}

static bool same_shape(const tort_tensor *a, const tort_tensor *b) {
    bool same = a->rank == b->rank;
    for (int32_t i = 0; same && i < a->rank; i++) same = a->dims[i] == b->dims[i];
    return same;
}

bool cli_same_form(const tort_tensor *a, const tort_tensor *b) {
    return a->type == b->type && same_shape(a, b);
}

static double distance(double found, double expected) {
    if (isnan(found) && isnan(expected)) return 0;
    if (found == expected) return 0;
    double d = fabs(found - expected);
    return isnan(d) ? (double)INFINITY : d;
}

/* The first element that differs; -1: none. Elements are doubles, two a complex number. */
static int64_t first_difference(const tort_tensor *found, const tort_tensor *expected, cli_tolerance tolerance,
                                double *worst) {
    bool complex = found->type == TORT_COMPLEX64 || found->type == TORT_COMPLEX128;
    tort_type type = !complex ? found->type : found->type == TORT_COMPLEX64 ? TORT_FLOAT : TORT_DOUBLE;
    int64_t count = tort_count(found) * (complex ? 2 : 1), at = -1;
    double x[TORT_BLOCK], y[TORT_BLOCK];
    for (int64_t first = 0; first < count; first += TORT_BLOCK) {
        int64_t length = count - first < TORT_BLOCK ? count - first : TORT_BLOCK;
        tort_load_doubles(type, found->data, first, length, x);
        tort_load_doubles(type, expected->data, first, length, y);
        for (int64_t i = 0; i < length; i++) {
            double d = distance(x[i], y[i]);
            if (d > *worst) *worst = d;
            if (at < 0 && d > 0 && (isinf(d) || d > tolerance.atol + tolerance.rtol * fabs(y[i]))) at = first + i;
        }
    }
    return complex && at >= 0 ? at / 2 : at;
}

/* int64 and uint64 do not fit in a double: their bytes are compared. */
static int64_t first_unequal(const tort_tensor *found, const tort_tensor *expected, double *worst) {
    int64_t count = tort_count(found);
    const int64_t *x = found->data, *y = expected->data;
    const tort_string *s = found->data, *t = expected->data;
    for (int64_t i = 0; i < count; i++) {
        bool same = found->type == TORT_STRING
                        ? s[i].length == t[i].length && (!s[i].length || !memcmp(s[i].data, t[i].data, s[i].length))
                        : x[i] == y[i];
        if (same) continue;
        *worst = found->type == TORT_STRING ? 1 : fabs((double)x[i] - (double)y[i]);
        return i;
    }
    return -1;
}

/* "[1, 0, 3]" of a flat index. */
static const char *index_text(const tort_tensor *tensor, int64_t flat, char *buffer, size_t size) {
    int64_t index[TORT_MAX_RANK] = {0};
    for (int32_t i = tensor->rank - 1; i >= 0; i--) {
        index[i] = flat % tensor->dims[i];
        flat /= tensor->dims[i];
    }
    size_t used = (size_t)snprintf(buffer, size, "[");
    for (int32_t i = 0; i < tensor->rank && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%lld", i ? ", " : "", (long long)index[i]);
    if (used < size) snprintf(buffer + used, size - used, "]");
    return buffer;
}

static const char *one_element(const tort_tensor *tensor, int64_t index, char *buffer, size_t size) {
    tort_tensor one = {.type = tensor->type};
    char held[16];
    one.data = held;
    if (tensor->type == TORT_COMPLEX64 || tensor->type == TORT_COMPLEX128 || tensor->type == TORT_STRING)
        memcpy(held, (const char *)tensor->data + (size_t)index * (size_t)tort_type_bits(tensor->type) / 8,
               (size_t)tort_type_bits(tensor->type) / 8);
    else
        tort_copy_elements(tensor->type, held, 0, tensor->data, index, 1);
    return cli_elements_text(&one, 1, buffer, size);
}

bool cli_tensors_equal(const tort_tensor *found, const tort_tensor *expected, cli_tolerance tolerance, double *worst,
                       char *text, size_t size) {
    char a[200], b[200], index[200];
    *worst = 0;
    if (found->type != expected->type) {
        snprintf(text, size, "is %s, expected %s", tort_type_name(found->type), tort_type_name(expected->type));
        return false;
    }
    if (!same_shape(found, expected)) {
        snprintf(text, size, "is %s, expected %s", cli_shape_text(found->rank, found->dims, NULL, a, sizeof a),
                 cli_shape_text(expected->rank, expected->dims, NULL, b, sizeof b));
        return false;
    }
    bool exact = found->type == TORT_INT64 || found->type == TORT_UINT64 || found->type == TORT_STRING;
    if (!tort_type_is_float(found->type) && found->type != TORT_COMPLEX64 && found->type != TORT_COMPLEX128)
        tolerance = (cli_tolerance){0, 0};
    int64_t at = exact ? first_unequal(found, expected, worst) : first_difference(found, expected, tolerance, worst);
    if (at < 0) return true;
    snprintf(text, size, "at %s is %s, expected %s (largest difference %g)", index_text(found, at, index, sizeof index),
             one_element(found, at, a, sizeof a), one_element(expected, at, b, sizeof b), *worst);
    return false;
}
