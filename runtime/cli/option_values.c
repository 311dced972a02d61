/* option_values.c - parses the values of options: numbers, sizes, shapes, ranges, words. Errors say what is expected.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/option_table.h"
#include "runtime/provider.h"
#include "runtime/base/suggest.h"

static tort_status wrong_value(cli_option id, const char *text, const char *wanted, tort_error *error) {
    return tort_fail(error, TORT_E_USAGE, "--%s wants %s, not '%s'", cli_option_table[id].name, wanted, text);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

tort_status cli_read_integer(cli_option id, const char *text, int64_t min, int64_t max, int64_t *out,
                             tort_error *error) {
    char *end, wanted[80];
    errno = 0;
    long long value = strtoll(text, &end, 10);
    snprintf(wanted, sizeof wanted, "a whole number from %lld to %lld", (long long)min, (long long)max);
    if (end == text || *end || errno || value < min || value > max) return wrong_value(id, text, wanted, error);
    *out = value;
    return TORT_OK;
}

tort_status cli_read_int32(cli_option id, const char *text, int32_t min, int32_t *out, tort_error *error) {
    int64_t value = 0;
    tort_status status = cli_read_integer(id, text, min, INT32_MAX, &value, error);
    if (!status) *out = (int32_t)value;
    return status;
}

tort_status cli_read_number(cli_option id, const char *text, double min, double *out, tort_error *error) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < min)
        return wrong_value(id, text, min > 0 ? "a number above 0" : "a number that is not negative", error);
    *out = value;
    return TORT_OK;
}

tort_status cli_read_bytes(cli_option id, const char *text, uint64_t *out, tort_error *error) {
    if (tort_read_size(text, out) && *out) return TORT_OK;
    return wrong_value(id, text, "bytes such as 64k, 512M or 2G", error);
}

tort_status cli_read_word(cli_option id, const char *text, const char *const *words, size_t count, size_t *chosen,
                          tort_error *error) {
    for (*chosen = 0; *chosen < count; ++*chosen)
        if (!strcasecmp(text, words[*chosen])) return TORT_OK;
    char hint[80];
    return tort_fail(error, TORT_E_USAGE, "--%s wants %s, not '%s'%s", cli_option_table[id].name,
                     cli_option_table[id].value, text, tort_did_you_mean(text, words, count, hint, sizeof hint));
}

/* ---- shapes and ranges ------------------------------------------------------------------------------------------- */

/* Parses "NAME=1x3x224x224"; "NAME=" is a scalar. The name is copied, so that argv stays as it is. */
tort_status cli_read_shape(cli_option id, const char *text, tort_input_shape *shape, tort_error *error) {
    static const char wanted[] = "NAME=1x3x224x224, or the size of a dimension as in batch=1";
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text) return wrong_value(id, text, wanted, error);
    *shape = (tort_input_shape){0};
    for (const char *p = equals + 1; *p;) {
        char *end;
        errno = 0;
        long long dim = strtoll(p, &end, 10);
        if (end == p || dim < 0 || errno || (*end && *end != 'x') || (*end == 'x' && !end[1]))
            return wrong_value(id, text, wanted, error);
        if (shape->rank == TORT_MAX_RANK)
            return tort_fail(error, TORT_E_USAGE, "--%s %s: more than %d dimensions", cli_option_table[id].name, text,
                             TORT_MAX_RANK);
        shape->dims[shape->rank++] = dim;
        p = *end ? end + 1 : end;
    }
    shape->name = cli_copy_text(text, (size_t)(equals - text));
    return TORT_OK;
}

/* Parses "NAME=LOW..HIGH" or "NAME=ONE". */
tort_status cli_read_range(const char *text, cli_random_range *range, tort_error *error) {
    const char *equals = strrchr(text, '='), *dots = strstr(equals, "..");
    char *end = NULL;
    range->low = range->high = strtod(equals + 1, &end);
    bool good = equals != text && end != equals + 1 && isfinite(range->low);
    /* strtod reads "0." of "0..9": the number ends before the dots */
    if (good && dots && end > dots) end = (char *)(uintptr_t)dots;
    if (good && dots && end == dots) {
        range->high = strtod(dots + 2, &end);
        good = end != dots + 2 && isfinite(range->high) && range->low <= range->high;
    }
    if (!good || *end) return wrong_value(OPTION_RANDOM, text, "a seed, or a range as in NAME=0..9", error);
    range->name = cli_copy_text(text, (size_t)(equals - text));
    return TORT_OK;
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/* Parses "WxH", or "N" with a height of 0. */
static tort_status read_extent(cli_option id, const char *text, int32_t *width, int32_t *height, tort_error *error) {
    enum { MAX = 1 << 16 };
    char *end;
    long w = strtol(text, &end, 10), h = 0;
    bool good = end != text && w >= 1 && w <= MAX;
    if (good && *end == 'x') {
        const char *second = end + 1;
        h = strtol(second, &end, 10);
        good = end != second && h >= 1 && h <= MAX;
    }
    if (!good || *end) return wrong_value(id, text, "WIDTHxHEIGHT or one number", error);
    *width = (int32_t)w;
    *height = (int32_t)h;
    return TORT_OK;
}

static tort_status read_channels(cli_option id, const char *text, float *values, int32_t *count, tort_error *error) {
    *count = 0;
    for (const char *p = text;; p++) {
        char *end;
        float value = strtof(p, &end);
        if (end == p || *count == 4)
            return wrong_value(id, text, "one number a channel, as in 0.485,0.456,0.406", error);
        values[(*count)++] = value;
        p = end;
        if (!*p) break;
        if (*p != ',') return wrong_value(id, text, "one number a channel, as in 0.485,0.456,0.406", error);
    }
    for (int32_t i = 0; id == OPTION_STD && i < *count; i++)
        if (values[i] == 0) return wrong_value(id, text, "numbers other than 0", error);
    return TORT_OK;
}

tort_status cli_read_picture(cli_option id, const char *value, cli_image_options *image, tort_error *error) {
    static const char *const layouts[] = {"nchw", "nhwc"};
    size_t chosen;
    double number = 0;
    tort_status status = TORT_OK;
    if (!image->first) image->first = cli_option_table[id].name;
    switch (id) {
    case OPTION_RESIZE: return read_extent(id, value, &image->resize_width, &image->resize_height, error);
    case OPTION_CROP:
        status = read_extent(id, value, &image->crop_width, &image->crop_height, error);
        if (!status && !image->crop_height) image->crop_height = image->crop_width;
        return status;
    case OPTION_SCALE:
        status = cli_read_number(id, value, 0, &number, error);
        image->scale = (float)number;
        image->levels = true;
        return status;
    case OPTION_MEAN: return read_channels(id, value, image->mean, &image->mean_count, error);
    case OPTION_STD: return read_channels(id, value, image->std, &image->std_count, error);
    case OPTION_LAYOUT:
        status = cli_read_word(id, value, layouts, 2, &chosen, error);
        image->layout = chosen == 0 ? CLI_NCHW : CLI_NHWC;
        return status;
    default: image->bgr = true; return TORT_OK;
    }
}
