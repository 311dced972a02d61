/* equality.c - compares values element by element (equality.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/equality.h"
#include "runtime/cli/outputs.h"
#include "runtime/core/graph/value.h"
#include "runtime/core/base/locale.h"

cli_tolerance cli_tolerance_of(const cli_options *options, tort_type type, cli_tolerance otherwise) {
    cli_tolerance t =
        type == TORT_FLOAT16 || type == TORT_BFLOAT16 ? (cli_tolerance){.rtol = 1e-2, .atol = 1e-2} : otherwise;
    if (options->rtol >= 0) t.rtol = options->rtol;
    t.exact = options->atol >= 0;
    if (t.exact) t.atol = options->atol;
    return t;
}

bool cli_is_all_nan(const tort_tensor *tensor) {
    const int64_t count = tort_count(tensor);
    double x[TORT_BLOCK];
    bool all = count > 0 && tort_type_is_float(tensor->type);
    for (int64_t first = 0; all && first < count; first += TORT_BLOCK) {
        const int64_t length = count - first < TORT_BLOCK ? count - first : TORT_BLOCK;
        tort_load_doubles(tensor->type, tensor->data, first, length, x);
        for (int64_t i = 0; i < length; i++) all = all && isnan(x[i]);
    }
    return all;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

/* Result of comparing all elements. */
typedef struct tally {
    int64_t differing, at; /* number of differing elements; index of the worst of them */
    double off;            /* |a-b| of that element */
    double worst;          /* largest |a-b| of any element, within the tolerance or not */
} tally;

static void count_difference(tally *t, int64_t at, double off) {
    if (t->differing++ && !(off > t->off)) return;
    t->at = at;
    t->off = off;
}

static double distance(double found, double expected) {
    if (found == expected || (isnan(found) && isnan(expected))) return 0;
    double d = fabs(found - expected);
    return isnan(d) ? (double)INFINITY : d;
}

/* The type of the parts of an element: a complex number is two of them. */
static tort_type part_of(tort_type type, int64_t *parts) {
    *parts = type == TORT_COMPLEX64 || type == TORT_COMPLEX128 ? 2 : 1;
    return type == TORT_COMPLEX64 ? TORT_FLOAT : type == TORT_COMPLEX128 ? TORT_DOUBLE : type;
}

/* The scale of cli_tolerance. */
static double scale_of(const tort_tensor *tensor) {
    int64_t parts;
    const tort_type type = part_of(tensor->type, &parts);
    const int64_t count = tort_count(tensor) * parts;
    double x[TORT_BLOCK], scale = 1;
    for (int64_t first = 0; first < count; first += TORT_BLOCK) {
        const int64_t length = count - first < TORT_BLOCK ? count - first : TORT_BLOCK;
        tort_load_doubles(type, tensor->data, first, length, x);
        for (int64_t i = 0; i < length; i++)
            if (fabs(x[i]) > scale && fabs(x[i]) < 1e4) scale = fabs(x[i]);
    }
    return scale;
}

/* Compares elements as doubles, complex numbers by their parts. */
static void compare_numbers(const tort_tensor *found, const tort_tensor *expected, cli_tolerance tolerance, tally *t) {
    int64_t parts, last = -1;
    const tort_type type = part_of(found->type, &parts);
    const int64_t count = tort_count(found) * parts;
    double x[TORT_BLOCK], y[TORT_BLOCK];
    for (int64_t first = 0; first < count; first += TORT_BLOCK) {
        int64_t length = count - first < TORT_BLOCK ? count - first : TORT_BLOCK;
        tort_load_doubles(type, found->data, first, length, x);
        tort_load_doubles(type, expected->data, first, length, y);
        for (int64_t i = 0; i < length; i++) {
            double d = distance(x[i], y[i]);
            if (d > t->worst) t->worst = d;
            if (d == 0 || (isfinite(d) && d <= tolerance.atol + tolerance.rtol * fabs(y[i]))) continue;
            int64_t at = (first + i) / parts;
            count_difference(t, at, d);
            if (at == last) t->differing--; /* counted already for the real part */
            last = at;
        }
    }
}

/* Compares strings and 64-bit integers exactly: a double has only 53 bits for the latter. */
static void compare_exactly(const tort_tensor *found, const tort_tensor *expected, tally *t) {
    int64_t count = tort_count(found);
    const int64_t *x = found->data, *y = expected->data;
    const tort_string *s = found->data, *u = expected->data;
    const bool text = found->type == TORT_STRING;
    for (int64_t i = 0; i < count; i++) {
        bool same = text ? s[i].length == u[i].length && (!s[i].length || !memcmp(s[i].data, u[i].data, s[i].length))
                         : x[i] == y[i];
        if (same) continue;
        double off = text ? 1 : fabs((double)x[i] - (double)y[i]);
        count_difference(t, i, off);
        if (off > t->worst) t->worst = off;
    }
}

/* ---- in words ---------------------------------------------------------------------------------------------------- */

/* The multi-index of a flat index, as "[1, 0, 3]". */
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

/* The shortest decimal of six digits or more that reads back as the same number. */
static const char *exact_number(const tort_tensor *one, char *buffer, size_t size) {
    const bool single = one->type == TORT_FLOAT;
    double value;
    tort_load_doubles(one->type, one->data, 0, 1, &value);
    for (int digits = 6; digits <= (single ? 9 : 17); digits++) {
        tort_snprintf(buffer, size, "%.*g", digits, value);
        double read;
        tort_read_double((tort_string){buffer, strlen(buffer)}, &read);
        if (single ? (float)read == (float)value : read == value) break;
    }
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
    if (tensor->type == TORT_FLOAT || tensor->type == TORT_DOUBLE) return exact_number(&one, buffer, size);
    return cli_elements_text(&one, 1, buffer, size);
}

/* A tolerance as text: "1e-4", "2.5e-3", "0". */
static const char *small_number(double value, char *buffer, size_t size) {
    if (value == 0 || value >= 1) {
        tort_snprintf(buffer, size, "%g", value);
        return buffer;
    }
    int exponent = (int)floor(log10(value) + 1e-9);
    tort_snprintf(buffer, size, "%ge%d", round(value / pow(10, exponent) * 1e6) / 1e6, exponent);
    return buffer;
}

/* Counts the differing elements of each channel: of axis 1, where there are axes behind it. */
static void append_channels(char **text, const tort_tensor *found, const tort_tensor *expected,
                            cli_tolerance tolerance) {
    if (found->rank < 3 || found->dims[1] < 2 || !tort_type_is_float(found->type)) return;
    const int64_t channels = found->dims[1], count = tort_count(found), inner = count / found->dims[0] / channels;
    int64_t *differing = cli_alloc((size_t)channels, sizeof *differing), worst = 0, several = 0;
    double x, y;
    for (int64_t i = 0; i < count; i++) {
        tort_load_doubles(found->type, found->data, i, 1, &x);
        tort_load_doubles(found->type, expected->data, i, 1, &y);
        const double d = distance(x, y);
        differing[i / inner % channels] += d > 0 && !(isfinite(d) && d <= tolerance.atol + tolerance.rtol * fabs(y));
    }
    for (int64_t i = 0; i < channels; i++) {
        several += differing[i] > 0;
        if (differing[i] > differing[worst]) worst = i;
    }
    cli_append(text, "; in %lld of %lld channels, most of them in %lld: %lld", (long long)several, (long long)channels,
               (long long)worst, (long long)differing[worst]);
    free(differing);
}

static char *tell(const tort_tensor *found, const tort_tensor *expected, cli_tolerance tolerance, const tally *t) {
    char a[300], b[300], index[200], atol[32], rtol[32];
    int64_t count = tort_count(found);
    char *text = cli_format("%lld of %lld element%s differ%s", (long long)t->differing, (long long)count,
                            count == 1 ? "" : "s", t->differing == 1 ? "s" : "");
    if (tolerance.atol > 0 || tolerance.rtol > 0)
        cli_append(&text, " by more than %s + %s*|b|", small_number(tolerance.atol, atol, sizeof atol),
                   small_number(tolerance.rtol, rtol, sizeof rtol));
    cli_append(&text, "; the worst, at %s, is %s, expected %s", index_text(found, t->at, index, sizeof index),
               one_element(found, t->at, a, sizeof a), one_element(expected, t->at, b, sizeof b));
    if (found->type != TORT_STRING && found->type != TORT_BOOL) cli_append(&text, " (off by %.3g)", t->off);
    append_channels(&text, found, expected, tolerance);
    return text;
}

char *cli_difference(const tort_tensor *found, const tort_tensor *expected, cli_tolerance tolerance, double *worst) {
    char a[200], b[200];
    *worst = 0;
    if (found->type != expected->type)
        return cli_format("is %s, expected %s", tort_type_name(found->type), tort_type_name(expected->type));
    if (!tort_same_shape(found, expected))
        return cli_format("is %s, expected %s", cli_shape_text(found->rank, found->dims, NULL, a, sizeof a),
                          cli_shape_text(expected->rank, expected->dims, NULL, b, sizeof b));
    tally t = {0};
    if (!tort_type_is_float(found->type) && found->type != TORT_COMPLEX64 && found->type != TORT_COMPLEX128)
        tolerance =
            (cli_tolerance){.atol = (found->type == TORT_INT8 || found->type == TORT_UINT8) ? tolerance.steps : 0};
    else if (!tolerance.exact)
        tolerance.atol *= scale_of(expected);
    if (found->type == TORT_INT64 || found->type == TORT_UINT64 || found->type == TORT_STRING)
        compare_exactly(found, expected, &t);
    else
        compare_numbers(found, expected, tolerance, &t);
    *worst = t.worst;
    return t.differing ? tell(found, expected, tolerance, &t) : NULL;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Compares types and element counts of two values; an UNDEFINED element type matches any. NULL if they match. */
static char *type_difference(const tort_value *found, const tort_value *expected) {
    const tort_value_type a = tort_value_type_of(found), b = tort_value_type_of(expected);
    char x[80], y[80];
    if (!tort_type_fits(a, b))
        return cli_format("is %s, expected %s", tort_type_text(a, x, sizeof x), tort_type_text(b, y, sizeof y));
    const int32_t have = tort_value_count(found), want = tort_value_count(expected);
    if (have != want) return cli_format("has %d element%s, expected %d", have, have == 1 ? "" : "s", want);
    return NULL;
}

/* Prefixes a difference with the part of the value that it is in; frees `text`. NULL stays NULL. */
static char *within(char *text, const char *what, int32_t i) {
    if (!text) return NULL;
    char *longer = i < 0 ? cli_format("%s: %s", what, text) : cli_format("%s %d: %s", what, i, text);
    free(text);
    return longer;
}

static char *element_difference(const cli_options *options, const tort_value *found, const tort_value *expected,
                                cli_tolerance otherwise, double *worst) {
    char *text = type_difference(found, expected);
    double off;
    *worst = 0;
    if (!text && tort_value_keys(found))
        text = within(cli_difference(tort_value_keys(found), tort_value_keys(expected), (cli_tolerance){0}, &off),
                      "its keys", -1);
    for (int32_t i = 0; !text && i < tort_value_count(found); i++) {
        text =
            within(cli_value_difference(options, tort_value_at(found, i), tort_value_at(expected, i), otherwise, &off),
                   "element", i);
        if (off > *worst) *worst = off;
    }
    return text;
}

char *cli_value_difference(const cli_options *options, const tort_value *found, const tort_value *expected,
                           cli_tolerance otherwise, double *worst) {
    const tort_tensor *a = tort_value_view(found), *b = tort_value_view(expected);
    *worst = 0;
    if (!a || !b) return element_difference(options, found, expected, otherwise, worst);
    if (options->shapes_only && a->type == b->type && tort_same_shape(a, b)) return NULL;
    return cli_difference(a, b, cli_tolerance_of(options, b->type, otherwise), worst);
}
