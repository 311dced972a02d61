/* statistics.c - summaries of tensors: minimum, maximum, mean, deviation, first elements, largest entries. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/files.h"
#include "runtime/cli/outputs.h"
#include "runtime/cli/json.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/table.h"
#include "runtime/cli/text.h"

static bool is_numeric(tort_type type) {
    return tort_type_is_float(type) || tort_type_is_integer(type) || type == TORT_BOOL;
}

/* Mean and deviation by Welford's update, which does not lose the small differences of large numbers. */
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

/* ---- elements as text -------------------------------------------------------------------------------------------- */

static int print_element(const tort_tensor *tensor, int64_t index, char *buffer, size_t size) {
    if (tensor->type == TORT_STRING) {
        const tort_string *s = (const tort_string *)tensor->data + index;
        const bool cut = s->length > 40;
        char *shown = cli_escape(s->data, cut ? 40 : s->length); /* with its NULs */
        int length = snprintf(buffer, size, "\"%s\"%s", shown, cut ? "..." : "");
        free(shown);
        return length;
    }
    if (tensor->type == TORT_COMPLEX64) {
        const float *parts = (const float *)tensor->data + 2 * index;
        return snprintf(buffer, size, "%g%+gi", (double)parts[0], (double)parts[1]);
    }
    if (tensor->type == TORT_COMPLEX128) {
        const double *parts = (const double *)tensor->data + 2 * index;
        return snprintf(buffer, size, "%g%+gi", parts[0], parts[1]);
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
    return snprintf(buffer, size, "%.6g", value);
}

const char *cli_elements_text(const tort_tensor *tensor, int64_t most, char *buffer, size_t size) {
    int64_t count = tort_count(tensor);
    size_t used = 0;
    buffer[0] = 0;
    for (int64_t i = 0; i < count && used < size; i++) {
        int length;
        if (i == most)
            length = snprintf(buffer + used, size - used, " ...");
        else {
            if (i) used += (size_t)snprintf(buffer + used, size - used, ", ");
            length = used < size ? print_element(tensor, i, buffer + used, size - used) : 0;
        }
        used += length > 0 ? (size_t)length : 0;
        if (i == most) break;
    }
    return buffer;
}

/* ---- all outputs ------------------------------------------------------------------------------------------------- */

void cli_print_outputs(const tort_model *model, const tort_tensor *outputs, int32_t count, int width) {
    cli_table *table = cli_table_new("output~|type|shape|min>|max>|mean>|std>|nan>|inf>|first", 0);
    for (int32_t i = 0; i < count; i++) {
        char shape[200], elements[200];
        const tort_tensor *t = &outputs[i];
        cli_statistics s = cli_statistics_of(t);
        cli_cell(table, CLI_BOLD, "%s", cli_output(model, i).name);
        cli_cell(table, CLI_PLAIN, "%s", tort_type_name(t->type));
        cli_cell(table, CLI_PLAIN, "%s", cli_shape_text(t->rank, t->dims, NULL, shape, sizeof shape));
        const double numbers[] = {s.minimum, s.maximum, s.mean, s.deviation};
        for (size_t k = 0; k < 4; k++) {
            if (s.numeric && s.count)
                cli_cell(table, CLI_PLAIN, "%.5g", numbers[k]);
            else
                cli_cell(table, CLI_PLAIN, "%s", "");
        }
        const int64_t bad[] = {s.nan, s.infinite};
        for (size_t k = 0; k < 2; k++) {
            if (bad[k])
                cli_cell(table, CLI_RED, "%lld", (long long)bad[k]);
            else
                cli_cell(table, CLI_PLAIN, "%s", "");
        }
        cli_cell(table, CLI_DIM, "%s", cli_elements_text(t, 4, elements, sizeof elements));
    }
    cli_table_print(table, stdout, width);
}

cJSON *cli_outputs_json(const tort_model *model, const tort_tensor *outputs, int32_t count) {
    cJSON *list = cJSON_CreateArray();
    for (int32_t i = 0; i < count; i++) {
        const tort_tensor *t = &outputs[i];
        cli_statistics s = cli_statistics_of(t);
        cJSON *item = cJSON_CreateObject(), *shape = cJSON_AddArrayToObject(item, "shape");
        cJSON_AddStringToObject(item, "name", cli_output(model, i).name);
        cJSON_AddStringToObject(item, "type", tort_type_name(t->type));
        for (int32_t d = 0; d < t->rank; d++) cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)t->dims[d]));
        if (s.numeric && s.count) {
            cJSON_AddNumberToObject(item, "min", s.minimum);
            cJSON_AddNumberToObject(item, "max", s.maximum);
            cJSON_AddNumberToObject(item, "mean", s.mean);
            cJSON_AddNumberToObject(item, "std", s.deviation);
            cJSON_AddNumberToObject(item, "nan", (double)s.nan);
            cJSON_AddNumberToObject(item, "inf", (double)s.infinite);
        }
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

/* ---- labels and the largest entries ------------------------------------------------------------------------------ */

tort_status cli_labels_read(const char *path, cli_labels *labels, tort_error *error) {
    *labels = (cli_labels){0};
    uint8_t *bytes;
    size_t size;
    tort_status status = cli_read_file(path, &bytes, &size, error);
    if (status) return status;
    labels->text = (char *)bytes;
    size_t lines = 1;
    for (size_t i = 0; i < size; i++) lines += bytes[i] == '\n';
    labels->lines = cli_alloc(lines, sizeof *labels->lines);
    for (char *line = labels->text, *end = line + size; line < end;) {
        char *newline = memchr(line, '\n', (size_t)(end - line)), *last = newline ? newline : end;
        if (last > line && last[-1] == '\r') last[-1] = 0;
        *last = 0;
        labels->lines[labels->count++] = line;
        line = last + 1;
    }
    return TORT_OK;
}

void cli_labels_free(cli_labels *labels) {
    free(labels->text);
    free(labels->lines);
}

static int larger_first(const void *a, const void *b) {
    const cli_top *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

tort_status cli_top_of(const tort_tensor *tensor, int32_t k, const cli_labels *labels, cli_top **tops, int64_t *count,
                       tort_error *error) {
    int64_t total = tort_count(tensor), row_length = tensor->rank ? tensor->dims[tensor->rank - 1] : 1;
    if (!is_numeric(tensor->type))
        return tort_fail(error, TORT_E_USAGE, "--top: the first output is %s, which has no largest entries",
                         tort_type_name(tensor->type));
    if (labels->count && labels->count < row_length)
        return tort_fail(error, TORT_E_USAGE, "--labels: %lld names for rows of %lld entries", (long long)labels->count,
                         (long long)row_length);
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
