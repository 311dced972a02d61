/* described.c - see described.h. */
#include "runtime/cli/described.h"

#include <math.h>
#include <stdlib.h>

#include "runtime/cli/cli.h"

/* Constants up to these sizes are read for their range: where nodes are asked for, and where all are listed. */
#define ASKED_BYTES ((size_t)64 << 20)
#define LISTED_BYTES ((size_t)64 << 10)

static tort_description *description_of(tort_session *session, int32_t node, size_t range_bytes) {
    tort_description *made;
    tort_session_describe(session, node, range_bytes, &made, NULL);
    return cli_check_memory(made);
}

static void add_row(cli_table *table, const char *text) {
    cli_cell(table, CLI_PLAIN, "%s", "");
    cli_cell(table, CLI_DIM, "%s", text);
    cli_row_widen(table);
}

/* "in x: float 1x3x224x224; w: float 8x3x3x3, constant, -0.5 to 0.5" */
static void add_values(cli_table *table, const char *word, const tort_described_value *values, int32_t count) {
    char *text = cli_format("%s ", word);
    for (int32_t i = 0; i < count; i++) {
        const tort_described_value *value = &values[i];
        cli_append(&text, "%s%s", i ? "; " : "", *value->name ? value->name : "(absent)");
        if (*value->type) cli_append(&text, ": %s%s%s", value->type, *value->shape ? " " : "", value->shape);
        if (value->constant) cli_append(&text, ", constant");
        if (!isnan(value->low)) cli_append(&text, ", %g to %g", value->low, value->high);
    }
    if (count) add_row(table, text);
    free(text);
}

void cli_describe(tort_session *session, int32_t node, cli_table *table) {
    tort_description *d = description_of(session, node, ASKED_BYTES);
    char *attributes = cli_copy_text("", 0);
    add_values(table, "in", d->inputs, d->input_count);
    add_values(table, "out", d->outputs, d->output_count);
    for (int32_t i = 0; i < d->attribute_count; i++) cli_append(&attributes, "%s%s", i ? "; " : "", d->attributes[i]);
    if (*attributes) add_row(table, attributes);
    free(attributes);
    tort_description_free(d);
}

static void add_values_json(cJSON *object, const char *key, const tort_described_value *values, int32_t count) {
    cJSON *list = cJSON_AddArrayToObject(object, key);
    for (int32_t i = 0; i < count; i++) {
        const tort_described_value *value = &values[i];
        cJSON *item = cJSON_CreateObject();
        cli_json_text(item, "name", value->name);
        cli_json_text(item, "type", value->type);
        cli_json_text(item, "shape", value->shape);
        cli_json_number(item, "bytes", value->bytes);
        cJSON_AddBoolToObject(item, "constant", value->constant);
        if (!isnan(value->low)) {
            cJSON_AddNumberToObject(item, "min", value->low);
            cJSON_AddNumberToObject(item, "max", value->high);
        }
        cJSON_AddItemToArray(list, item);
    }
}

void cli_describe_json(tort_session *session, int32_t node, cJSON *object) {
    tort_description *d = description_of(session, node, LISTED_BYTES);
    add_values_json(object, "inputs", d->inputs, d->input_count);
    add_values_json(object, "outputs", d->outputs, d->output_count);
    cli_json_texts(object, "attributes", d->attributes, d->attribute_count);
    tort_description_free(d);
}
