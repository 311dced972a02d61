/* statistics.c - summaries of tensors: minimum, maximum, mean, deviation, first elements, largest entries. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/outputs.h"
#include "runtime/cli/json.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/table.h"
#include "runtime/cli/text.h"
#include "runtime/core/base/locale.h"

static bool is_numeric(tort_type type) {
    return tort_type_is_float(type) || tort_type_is_integer(type) || type == TORT_BOOL;
}

#define FLOAT16_OVERFLOW 65520.0 /* rounds to infinity; the largest number is 65504 */
#define FLOAT16_VANISH 0x1p-25   /* half of the smallest number: rounds to 0 */

/* Mean and deviation by Welford's update, which keeps the small differences of large numbers. */
cli_statistics cli_statistics_of(const tort_tensor *tensor) {
    cli_statistics s = {.numeric = is_numeric(tensor->type), .count = tort_count(tensor)};
    if (!s.numeric) return s;
    double block[TORT_BLOCK], squares = 0;
    int64_t finite = 0;
    for (int64_t first = 0; first < s.count; first += TORT_BLOCK) {
        int64_t length = s.count - first < TORT_BLOCK ? s.count - first : TORT_BLOCK;
        tort_load_doubles(tensor->type, tensor->data, first, length, block);
        for (int64_t i = 0; i < length; i++) {
            double v = block[i];
            if (isnan(v))
                s.nan++;
            else if (isinf(v))
                s.infinite++;
            if (!isfinite(v)) continue;
            const double magnitude = fabs(v);
            s.zeros += magnitude == 0;
            s.overflows += magnitude >= FLOAT16_OVERFLOW;
            s.vanishes += magnitude > 0 && magnitude <= FLOAT16_VANISH;
            if (finite == 0 || v < s.minimum) s.minimum = v;
            if (finite == 0 || v > s.maximum) s.maximum = v;
            double step = v - s.mean;
            s.mean += step / (double)++finite;
            squares += step * (v - s.mean);
        }
    }
    if (finite)
        s.deviation = sqrt(squares / (double)finite);
    else
        s.minimum = s.maximum = s.mean = s.deviation = (double)NAN;
    return s;
}

/* Chan, Golub and LeVeque 1979, "Updating formulae and a pairwise algorithm for computing sample variances". */
void cli_statistics_join(cli_statistics *all, const cli_statistics *more) {
    const double n = (double)(all->count - all->nan - all->infinite),
                 m = (double)(more->count - more->nan - more->infinite), step = more->mean - all->mean;
    all->count += more->count;
    all->nan += more->nan;
    all->infinite += more->infinite;
    all->zeros += more->zeros;
    all->overflows += more->overflows;
    all->vanishes += more->vanishes;
    if (!all->numeric || m == 0) return;
    const double squares = all->deviation * all->deviation * n + more->deviation * more->deviation * m;
    all->minimum = n > 0 ? fmin(all->minimum, more->minimum) : more->minimum;
    all->maximum = n > 0 ? fmax(all->maximum, more->maximum) : more->maximum;
    all->deviation = n > 0 ? sqrt((squares + step * step * n * m / (n + m)) / (n + m)) : more->deviation;
    all->mean = n > 0 ? all->mean + step * m / (n + m) : more->mean;
}

/* ---- elements as text -------------------------------------------------------------------------------------------- */

static int print_element(const tort_tensor *tensor, int64_t index, char *buffer, size_t size) {
    if (tensor->type == TORT_STRING) {
        const tort_string *s = (const tort_string *)tensor->data + index;
        const bool cut = s->length > 40;
        char *shown = cli_escape(s->data, cut ? 40 : s->length); /* by length, as it may contain NUL */
        int length = snprintf(buffer, size, "\"%s\"%s", shown, cut ? "..." : "");
        free(shown);
        return length;
    }
    if (tensor->type == TORT_COMPLEX64) {
        const float *parts = (const float *)tensor->data + 2 * index;
        return tort_snprintf(buffer, size, "%g%+gi", (double)parts[0], (double)parts[1]);
    }
    if (tensor->type == TORT_COMPLEX128) {
        const double *parts = (const double *)tensor->data + 2 * index;
        return tort_snprintf(buffer, size, "%g%+gi", parts[0], parts[1]);
    }
    if (tensor->type == TORT_UINT64)
        return snprintf(buffer, size, "%llu", (unsigned long long)((const uint64_t *)tensor->data)[index]);
    if (!tort_type_is_float(tensor->type)) {
        int64_t integer;
        tort_load_integers(tensor->type, tensor->data, index, 1, &integer);
        if (tensor->type == TORT_BOOL) return snprintf(buffer, size, "%s", integer ? "true" : "false");
        return snprintf(buffer, size, "%lld", (long long)integer);
    }
    double value;
    tort_load_doubles(tensor->type, tensor->data, index, 1, &value);
    return tort_snprintf(buffer, size, "%.6g", isnan(value) ? (double)NAN : value); /* x86 makes NaN with a sign */
}

const char *cli_elements_text(const tort_tensor *tensor, int64_t max, char *buffer, size_t size) {
    int64_t count = tort_count(tensor);
    size_t used = 0;
    buffer[0] = 0;
    for (int64_t i = 0; i < count && used < size; i++) {
        int length;
        if (i == max)
            length = snprintf(buffer + used, size - used, " ...");
        else {
            if (i) used += (size_t)snprintf(buffer + used, size - used, ", ");
            length = used < size ? print_element(tensor, i, buffer + used, size - used) : 0;
        }
        used += length > 0 ? (size_t)length : 0;
        if (i == max) break;
    }
    return buffer;
}

/* ---- all outputs ------------------------------------------------------------------------------------------------- */

enum { SHOWN_ELEMENTS = 4 };

static void add_tensor(cli_table *table, const char *name, const tort_tensor *t) {
    char shape[200], elements[200];
    cli_statistics s = cli_statistics_of(t);
    cli_cell(table, CLI_BOLD, "%s", name);
    cli_cell(table, CLI_PLAIN, "%s", tort_type_name(t->type));
    cli_cell(table, CLI_PLAIN, "%s", cli_shape_text(t->rank, t->dims, NULL, shape, sizeof shape));
    const double numbers[] = {s.minimum, s.maximum, s.mean, s.deviation};
    for (size_t k = 0; k < 4; k++) {
        cli_cell_if(table, s.numeric && s.count, CLI_PLAIN, "%.5g", numbers[k]);
    }
    const int64_t bad[] = {s.nan, s.infinite};
    for (size_t k = 0; k < 2; k++) {
        cli_cell_if(table, bad[k], CLI_RED, "%lld", (long long)bad[k]);
    }
    cli_cell(table, CLI_DIM, "%s", cli_elements_text(t, SHOWN_ELEMENTS, elements, sizeof elements));
}

static tort_tensor key_of(const tort_value *map, int32_t i) {
    const tort_tensor *keys = tort_value_keys(map);
    tort_tensor key = {.type = keys->type};
    key.data = (char *)keys->data + (size_t)i * (size_t)tort_type_bits(keys->type) / 8;
    return key;
}

/* Name of an element: "boxes[3]", or "scores[key]" in a map. The caller frees. */
static char *element_name(const char *name, const tort_value *value, int32_t i) {
    char text[200];
    if (!tort_value_keys(value)) return cli_format("%s[%d]", name, i);
    const tort_tensor key = key_of(value, i);
    return cli_format("%s[%s]", name, cli_elements_text(&key, 1, text, sizeof text));
}

/* True for a map of single elements, as classifiers return: it fits into one row. */
static bool is_plain_map(const tort_value *value) {
    bool plain = tort_value_keys(value) != NULL;
    for (int32_t i = 0; plain && i < tort_value_count(value); i++) {
        const tort_tensor *element = tort_value_view(tort_value_at(value, i));
        plain = element && tort_count(element) == 1;
    }
    return plain;
}

/* The first entries of a map as text: "cat": 0.9, "dog": 0.1 */
static const char *map_text(const tort_value *map, char *text, size_t size) {
    char key_text[200], element[200];
    size_t used = 0;
    text[0] = 0;
    for (int32_t i = 0; i < tort_value_count(map) && i < SHOWN_ELEMENTS && used < size; i++) {
        const tort_tensor key = key_of(map, i);
        used += (size_t)snprintf(text + used, size - used, "%s%s: %s", i ? ", " : "",
                                 cli_elements_text(&key, 1, key_text, sizeof key_text),
                                 cli_elements_text(tort_value_view(tort_value_at(map, i)), 1, element, sizeof element));
    }
    if (tort_value_count(map) > SHOWN_ELEMENTS && used < size) snprintf(text + used, size - used, " ...");
    return text;
}

/* Adds the rows of a value. A sequence or map has a row with its number of elements, then one for each of the first. */
static void add_value(cli_table *table, const char *name, const tort_value *value) {
    const tort_tensor *tensor = tort_value_view(value);
    const int32_t count = tort_value_count(value);
    char type[80], entries[1024];
    if (tensor) {
        add_tensor(table, name, tensor);
        return;
    }
    cli_cell(table, CLI_BOLD, "%s", name);
    cli_cell(table, CLI_PLAIN, "%s", tort_type_text(tort_value_type_of(value), type, sizeof type));
    cli_cell(table, CLI_PLAIN, "%d element%s", count, count == 1 ? "" : "s");
    if (is_plain_map(value)) {
        for (int k = 0; k < 6; k++) cli_cell(table, CLI_PLAIN, "%s", "");
        cli_cell(table, CLI_DIM, "%s", map_text(value, entries, sizeof entries));
        return;
    }
    cli_row_end(table);
    for (int32_t i = 0; i < count && i < SHOWN_ELEMENTS; i++) {
        char *element = element_name(name, value, i);
        add_value(table, element, tort_value_at(value, i));
        free(element);
    }
    if (count <= SHOWN_ELEMENTS) return;
    cli_cell(table, CLI_DIM, "%s", "...");
    cli_row_end(table);
}

void cli_print_outputs(const tort_model *model, tort_value *const *outputs, int32_t count, int width) {
    cli_table *table = cli_table_new("output~|type|shape|min>|max>|mean>|std>?|nan>|inf>|first?", 0);
    for (int32_t i = 0; i < count; i++) add_value(table, cli_output(model, i).name, outputs[i]);
    cli_table_print(table, stdout, width);
}

static void fill_tensor_json(cJSON *item, const tort_tensor *t) {
    cli_statistics s = cli_statistics_of(t);
    cJSON *shape = cJSON_AddArrayToObject(item, "shape");
    cJSON_AddStringToObject(item, "type", tort_type_name(t->type));
    for (int32_t d = 0; d < t->rank; d++) cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)t->dims[d]));
    if (!s.numeric || !s.count) return;
    cJSON_AddNumberToObject(item, "min", s.minimum);
    cJSON_AddNumberToObject(item, "max", s.maximum);
    cJSON_AddNumberToObject(item, "mean", s.mean);
    cJSON_AddNumberToObject(item, "std", s.deviation);
    cJSON_AddNumberToObject(item, "nan", (double)s.nan);
    cJSON_AddNumberToObject(item, "inf", (double)s.infinite);
}

/* Adds the keys as strings, since a number of JSON (a double) does not hold every int64. */
static void fill_keys_json(cJSON *item, const tort_tensor *keys) {
    cJSON *list = cJSON_AddArrayToObject(item, "keys");
    const tort_string *strings = keys->data;
    const int64_t *numbers = keys->data;
    for (int64_t i = 0; i < keys->dims[0]; i++) {
        char *text = keys->type == TORT_STRING ? cli_copy_text(strings[i].data, strings[i].length)
                                               : cli_format("%lld", (long long)numbers[i]);
        cJSON_AddItemToArray(list, cJSON_CreateString(text));
        free(text);
    }
}

/* A single element: floats as numbers (null if not finite); integers as strings, since a number does not hold all of
 * them. */
static cJSON *element_json(const tort_tensor *tensor) {
    char text[64];
    double number;
    if (tensor->type == TORT_STRING) {
        const tort_string *string = tensor->data;
        char *copy = cli_copy_text(string->data, string->length);
        cJSON *item = cJSON_CreateString(copy);
        free(copy);
        return item;
    }
    if (!tort_type_is_float(tensor->type)) return cJSON_CreateString(cli_elements_text(tensor, 1, text, sizeof text));
    tort_load_doubles(tensor->type, tensor->data, 0, 1, &number);
    return isfinite(number) ? cJSON_CreateNumber(number) : cJSON_CreateNull();
}

static void fill_value_json(cJSON *item, const tort_value *value) {
    char type[80];
    if (tort_value_view(value)) {
        fill_tensor_json(item, tort_value_view(value));
        return;
    }
    const bool plain = is_plain_map(value);
    cJSON_AddStringToObject(item, "type", tort_type_text(tort_value_type_of(value), type, sizeof type));
    if (tort_value_keys(value)) fill_keys_json(item, tort_value_keys(value));
    cJSON *list = cJSON_AddArrayToObject(item, plain ? "values" : "elements");
    for (int32_t i = 0; i < tort_value_count(value); i++) {
        cJSON *element = plain ? element_json(tort_value_view(tort_value_at(value, i))) : cJSON_CreateObject();
        if (!plain) fill_value_json(element, tort_value_at(value, i));
        cJSON_AddItemToArray(list, element);
    }
}

cJSON *cli_outputs_json(const tort_model *model, tort_value *const *outputs, int32_t count) {
    cJSON *list = cJSON_CreateArray();
    for (int32_t i = 0; i < count; i++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "name", cli_output(model, i).name);
        fill_value_json(item, outputs[i]);
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

/* ---- labels and the largest entries ------------------------------------------------------------------------------ */

tort_status cli_labels_read(const char *path, cli_labels *labels, tort_error *error) {
    *labels = (cli_labels){0};
    uint8_t *bytes;
    size_t size;
    tort_status status = cli_read_file(path, CLI_MAX_LABEL_BYTES, &bytes, &size, error);
    if (status) return status;
    labels->text = (char *)bytes;
    size_t lines = 1;
    for (size_t i = 0; i < size; i++) lines += bytes[i] == '\n';
    labels->lines = cli_alloc(lines, sizeof *labels->lines);
    for (char *at = labels->text, *line; (line = cli_take_line(&at));) labels->lines[labels->count++] = line;
    return TORT_OK;
}

void cli_labels_free(cli_labels *labels) {
    free(labels->text);
    free(labels->lines);
}

tort_status cli_labels_fit(const cli_labels *labels, int32_t rank, const int64_t *dims, tort_error *error) {
    const int64_t row_length = rank ? dims[rank - 1] : 1;
    if (!labels->count || labels->count >= row_length) return TORT_OK;
    return tort_fail(error, TORT_E_USAGE, "--labels: %lld names for rows of %lld entries", (long long)labels->count,
                     (long long)row_length);
}

static int larger_first(const void *a, const void *b) {
    const cli_top *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

static tort_status check_top(const tort_value *value, const cli_labels *labels, tort_error *error) {
    const tort_tensor *tensor = tort_value_view(value);
    char type[80];
    if (!tensor || !is_numeric(tensor->type))
        return tort_fail(error, TORT_E_USAGE, "--top: the first output is %s, which has no largest entries",
                         tensor ? tort_type_name(tensor->type)
                                : tort_type_text(tort_value_type_of(value), type, sizeof type));
    return cli_labels_fit(labels, tensor->rank, tensor->dims, error);
}

tort_status cli_top_of(const tort_value *output, int32_t k, const cli_labels *labels, cli_top **tops, int64_t *count,
                       tort_error *error) {
    tort_status status = check_top(output, labels, error);
    if (status) return status;
    const tort_tensor *tensor = tort_value_view(output);
    int64_t total = tort_count(tensor), row_length = tensor->rank ? tensor->dims[tensor->rank - 1] : 1;
    int64_t kept = k < row_length ? k : row_length, rows = row_length ? total / row_length : 0;
    *tops = cli_alloc((size_t)(kept * rows), sizeof **tops);
    *count = 0;
    cli_top *row = cli_alloc((size_t)row_length, sizeof *row);
    for (int64_t r = 0; r < rows; r++) {
        int64_t filled = 0;
        for (int64_t i = 0; i < row_length; i++) {
            double value;
            tort_load_doubles(tensor->type, tensor->data, r * row_length + i, 1, &value);
            if (!isnan(value)) row[filled++] = (cli_top){r, i, value, i < labels->count ? labels->lines[i] : ""};
        }
        qsort(row, (size_t)filled, sizeof *row, larger_first);
        for (int64_t i = 0; i < kept && i < filled; i++) (*tops)[(*count)++] = row[i];
    }
    free(row);
    return TORT_OK;
}
