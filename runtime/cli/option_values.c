/* option_values.c - parses the values of options: numbers, sizes, shapes, ranges, words. Errors say what is expected.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/option_table.h"
#include "runtime/include/provider.h"
#include "runtime/core/base/suggest.h"
#include "runtime/core/base/locale.h"
#include "runtime/core/base/ascii.h"

static tort_status wrong_value(const cli_option_row *row, const char *text, const char *wanted, tort_error *error) {
    return tort_fail(error, TORT_E_USAGE, "--%s wants %s, not '%s'", row->name, wanted, text);
}

/* Stores which of the row's words, such as "npy|pb", the text is, from 1; 0 for "[=all]" that is left out. */
tort_status cli_read_word(const cli_option_row *row, const char *text, void *out, tort_error *error) {
    const char *all = row->value;
    char list[32], hint[80], *rest = NULL;
    const char *words[sizeof list];
    size_t count = 0;
    *(int32_t *)out = 0;
    if (!text) return TORT_OK;
    snprintf(list, sizeof list, "%s", all);
    for (char *word = strtok_r(list, "[=|]", &rest); word; word = strtok_r(NULL, "[=|]", &rest)) {
        words[count++] = word;
        if (!tort_same_word(text, word)) continue;
        *(int32_t *)out = (int32_t)count;
        return TORT_OK;
    }
    if (*all == '[')
        return tort_fail(error, TORT_E_USAGE, "--%s takes no value but '%s', not '%s'%s", row->name, words[0], text,
                         strpbrk(text, "./") ? "; a file of every step is written by --trace FILE" : "");
    return tort_fail(error, TORT_E_USAGE, "--%s wants %s, not '%s'%s", row->name, all, text,
                     tort_did_you_mean(text, words, count, hint, sizeof hint));
}

/* The words of `quantize --scheme` and of `convert --to`, which would be too wide for the help. */
tort_status cli_read_scheme(const cli_option_row *row, const char *text, void *out, tort_error *error) {
    const cli_option_row words = {.name = row->name, .value = "ort|firmware|tensorrt"};
    return cli_read_word(&words, text, out, error);
}

tort_status cli_read_float_type(const cli_option_row *row, const char *text, void *out, tort_error *error) {
    const cli_option_row words = {.name = row->name, .value = "float16|bfloat16|float32"};
    return cli_read_word(&words, text, out, error);
}

/* Sets the bit of the row's word that the text is: 1 for the first, 2 for the second. */
tort_status cli_read_words(const cli_option_row *row, const char *text, void *out, tort_error *error) {
    int32_t word = 0;
    const tort_status status = cli_read_word(row, text, &word, error);
    if (word) *(int32_t *)out |= 1 << (word - 1);
    return status;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static tort_status read_integer(const cli_option_row *row, const char *text, int64_t max, int64_t *out,
                                tort_error *error) {
    char *end, wanted[80];
    const long long min = (long long)row->min;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    snprintf(wanted, sizeof wanted, "a whole number from %lld to %lld", min, (long long)max);
    if (end == text || *end || errno || value < min || value > max) return wrong_value(row, text, wanted, error);
    *out = value;
    return TORT_OK;
}

tort_status cli_read_int32(const cli_option_row *row, const char *text, void *out, tort_error *error) {
    int64_t value = 0;
    tort_status status = read_integer(row, text, INT32_MAX, &value, error);
    if (!status) *(int32_t *)out = (int32_t)value;
    return status;
}

tort_status cli_read_int64(const cli_option_row *row, const char *text, void *out, tort_error *error) {
    return read_integer(row, text, INT64_MAX, out, error);
}

tort_status cli_read_number(const cli_option_row *row, const char *text, void *out, tort_error *error) {
    double value;
    if (!tort_read_double((tort_string){text, strlen(text)}, &value) || !isfinite(value) || value < row->min)
        return wrong_value(row, text, row->min > 0 ? "a number above 0" : "a number that is not negative", error);
    *(double *)out = value;
    return TORT_OK;
}

tort_status cli_read_bytes(const cli_option_row *row, const char *text, void *out, tort_error *error) {
    if (tort_read_size(text, out) && *(uint64_t *)out) return TORT_OK;
    return wrong_value(row, text, "bytes such as 64k, 512M or 2G", error);
}

/* Parses "fast=64K,slow=1M". */
tort_status cli_read_arena(const cli_option_row *row, const char *text, void *out, tort_error *error) {
    static const char wanted[] = "the sizes of two memories, as in fast=64K,slow=1M";
    cli_arena *arena = out;
    const char *comma = strchr(text, ',');
    if (strncmp(text, "fast=", 5) != 0 || !comma || strncmp(comma, ",slow=", 6) != 0)
        return wrong_value(row, text, wanted, error);
    char *fast = cli_format("%.*s", (int)(comma - text - 5), text + 5);
    const bool right =
        tort_read_size(fast, &arena->fast) && tort_read_size(comma + 6, &arena->slow) && arena->fast >= 64;
    free(fast);
    return right ? TORT_OK : wrong_value(row, text, wanted, error);
}

/* ---- shapes and ranges ------------------------------------------------------------------------------------------- */

/* Parses "NAME=1x3x224x224"; "NAME=" is a scalar. The name is copied, so that argv stays as it is. */
tort_status cli_read_shapes(const cli_option_row *row, const char *text, void *out, tort_error *error) {
    static const char wanted[] = "NAME=1x3x224x224, or the size of a dimension as in batch=1";
    cli_shapes *all = out;
    const size_t count = (size_t)all->shape_count + 1;
    all->option = row->name;
    all->shapes = cli_realloc(all->shapes, count, sizeof *all->shapes);
    all->symbols = cli_realloc(all->symbols, count, sizeof *all->symbols); /* cli_check_names moves shapes there */
    tort_input_shape *shape = &all->shapes[all->shape_count];
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text) return wrong_value(row, text, wanted, error);
    *shape = (tort_input_shape){0};
    for (const char *p = equals + 1; *p;) {
        char *end;
        errno = 0;
        long long dim = strtoll(p, &end, 10);
        if (end == p || dim < 0 || errno || (*end && *end != 'x') || (*end == 'x' && !end[1]))
            return wrong_value(row, text, wanted, error);
        if (shape->rank == TORT_MAX_RANK)
            return tort_fail(error, TORT_E_USAGE, "--%s %s: more than %d dimensions", row->name, text, TORT_MAX_RANK);
        shape->dims[shape->rank++] = dim;
        p = *end ? end + 1 : end;
    }
    shape->name = cli_copy_text(text, (size_t)(equals - text));
    all->shape_count++;
    return TORT_OK;
}

/* Parses "NAME=LOW..HIGH" or "NAME=ONE". */
static tort_status read_range(const cli_option_row *row, const char *text, cli_random_range *range, tort_error *error) {
    const char *equals = strrchr(text, '='), *dots = strstr(equals, "..");
    const char *low = equals + 1, *high = dots ? dots + 2 : low;
    const bool good = equals != text &&
                      tort_read_double((tort_string){low, dots ? (size_t)(dots - low) : strlen(low)}, &range->low) &&
                      tort_read_double((tort_string){high, strlen(high)}, &range->high) && isfinite(range->low) &&
                      isfinite(range->high) && range->low <= range->high;
    if (!good) return wrong_value(row, text, "a seed, or a range as in NAME=0..9", error);
    range->name = cli_copy_text(text, (size_t)(equals - text));
    return TORT_OK;
}

/* Reads the seed, or the range of an input. */
tort_status cli_read_random(const cli_option_row *row, const char *text, void *out, tort_error *error) {
    cli_options *options = out;
    int64_t seed = 0;
    options->random = true;
    if (strchr(text, '=')) {
        const size_t count = (size_t)options->range_count + 1;
        options->ranges = cli_realloc(options->ranges, count, sizeof *options->ranges);
        cli_random_range *range = &options->ranges[options->range_count];
        tort_status status = read_range(row, text, range, error);
        if (!status) options->range_count++;
        for (int32_t i = 0; !status && i < options->range_count - 1; i++)
            if (!strcmp(options->ranges[i].name, range->name))
                status = tort_fail(error, TORT_E_USAGE, "--random gives '%s' two ranges; the second is '%s'",
                                   range->name, text);
        return status;
    }
    tort_status status = read_integer(row, text, INT64_MAX, &seed, error);
    if (!status && options->seeded)
        return tort_fail(error, TORT_E_USAGE, "--random has two seeds, %llu and '%s': give one",
                         (unsigned long long)options->seed, text);
    options->seeded = true;
    if (status) tort_fail(error, status, "--random wants a seed from 0 up, or a range as in NAME=0..9, not '%s'", text);
    options->seed = (uint64_t)seed;
    return status;
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/* Parses "WxH", or "N" with a height of 0. */
tort_status cli_read_extent(const cli_option_row *row, const char *text, void *out, tort_error *error) {
    enum { MAX = 1 << 16 };
    char *end;
    long w = strtol(text, &end, 10), h = 0;
    bool good = end != text && w >= 1 && w <= MAX;
    if (good && *end == 'x') {
        const char *second = end + 1;
        h = strtol(second, &end, 10);
        good = end != second && h >= 1 && h <= MAX;
    }
    if (!good || *end) return wrong_value(row, text, "WIDTHxHEIGHT or one number", error);
    *(cli_extent *)out = (cli_extent){(int32_t)w, (int32_t)h};
    return TORT_OK;
}

tort_status cli_read_channels(const cli_option_row *row, const char *text, void *out, tort_error *error) {
    cli_channels *channels = out;
    channels->count = 0;
    for (const char *p = text;; p++) {
        const size_t length = strcspn(p, ",");
        if (channels->count == 4 || !tort_read_float((tort_string){p, length}, &channels->values[channels->count++]))
            return wrong_value(row, text, "one number a channel, as in 0.485,0.456,0.406", error);
        p += length;
        if (!*p) break;
    }
    for (int32_t i = 0; row == &cli_option_table[OPTION_STD] && i < channels->count; i++)
        if (channels->values[i] == 0) return wrong_value(row, text, "numbers other than 0", error);
    return TORT_OK;
}
