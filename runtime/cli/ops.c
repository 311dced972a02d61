/* ops.c - `tinyort ops`: the operator rows of this build; as JSON with everything that a row states, its named sets
 * of types written out, so that a test can hold it against ONNX's own schemas. */
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/check.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/table.h"
#include "runtime/pattern.h"

static cJSON *text_json(const char *text, size_t length) {
    char *copy = cli_copy_text(text, length);
    cJSON *item = cJSON_CreateString(copy);
    free(copy);
    return item;
}

/* As a schema writes it, "seq(map(string, float))": the name of a tensor's elements is enough in a map. The caller
 * frees.
 */
static char *schema_text(tort_value_type type) {
    const tort_value_type element = tort_type_element(type);
    const char *name = tort_type_name(type.type);
    if (tort_type_kind(type) == TORT_TENSOR) return cli_format("tensor(%s)", name);
    if (tort_type_kind(type) == TORT_SPARSE) return cli_format("sparse_tensor(%s)", name);
    const char *key = tort_type_name(tort_type_key(type));
    if (tort_type_kind(type) == TORT_MAP && tort_type_kind(element) == TORT_TENSOR)
        return cli_format("map(%s, %s)", key, name);
    char *inner = schema_text(element);
    char *text = tort_type_kind(type) == TORT_MAP        ? cli_format("map(%s, %s)", key, inner)
                 : tort_type_kind(type) == TORT_SEQUENCE ? cli_format("seq(%s)", inner)
                                                         : cli_format("optional(%s)", inner);
    free(inner);
    return text;
}

static void add_types(cJSON *list, uint32_t nest, uint64_t elements) {
    for (int type = 0; type < TORT_TYPE_COUNT; type++) {
        if (!(elements >> type & 1)) continue;
        char *text = schema_text((tort_value_type){.type = (tort_type)type, .nest = nest});
        cJSON_AddItemToArray(list, cJSON_CreateString(text));
        free(text);
    }
}

/* null where the row is malformed. */
static cJSON *types_json(const tort_formal *formal, const char *types) {
    tort_type_set set;
    if (!tort_formal_types(formal, types, &set)) return cJSON_CreateNull();
    cJSON *list = cJSON_CreateArray();
    add_types(list, TORT_TENSOR, set.tensor);
    for (int32_t i = 0; i < set.count; i++) add_types(list, set.nests[i], set.elements[i]);
    return list;
}

static cJSON *formals_json(const char *formals, const char *types) {
    cJSON *list = cJSON_CreateArray();
    tort_formal formal;
    for (const char *cursor = formals; tort_formal_next(&cursor, &formal);) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddItemToObject(item, "name", text_json(formal.name, formal.name_length));
        cJSON_AddItemToObject(item, "type", text_json(formal.type, formal.type_length));
        cJSON_AddBoolToObject(item, "optional", formal.mode == '?');
        cJSON_AddBoolToObject(item, "variadic", formal.mode == '*' || formal.mode == '+');
        cJSON_AddBoolToObject(item, "mixed", formal.mode == '+');
        cJSON_AddItemToObject(item, "types", types_json(&formal, types));
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static cJSON *attributes_json(const char *attributes) {
    cJSON *list = cJSON_CreateArray();
    tort_attribute_formal formal;
    for (const char *cursor = attributes; tort_attribute_formal_next(&cursor, &formal);) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddItemToObject(item, "name", text_json(formal.name, formal.name_length));
        cJSON_AddNumberToObject(item, "kind", formal.kind);
        cJSON_AddBoolToObject(item, "required", formal.required);
        if (formal.fallback)
            cJSON_AddItemToObject(item, "default", text_json(formal.fallback, formal.fallback_length));
        else
            cJSON_AddNullToObject(item, "default");
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static void fill_json(const tort_op_table *table, cJSON *root) {
    cJSON *list = cJSON_AddArrayToObject(root, "operators");
    for (int32_t i = 0; i < table->count; i++) {
        const tort_op *op = table->rows[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "domain", op->domain);
        cJSON_AddStringToObject(item, "name", op->name);
        cJSON_AddNumberToObject(item, "since", op->since);
        cJSON_AddNumberToObject(item, "until", op->until);
        if (op->flags & TORT_OP_EARLY) cJSON_AddTrueToObject(item, "early"); /* older files have it too */
        cJSON_AddItemToObject(item, "inputs", formals_json(op->inputs, op->types));
        cJSON_AddItemToObject(item, "outputs", formals_json(op->outputs, op->types));
        cJSON_AddItemToObject(item, "attributes", attributes_json(op->attributes));
        cJSON_AddItemToArray(list, item);
    }
}

/* One line an operator: the versions at which it changed, and how far the last of them reaches. */
static void print_table(const tort_op_table *ops, int width) {
    cli_table *table = cli_table_new("operator|versions|up to opset>", 0);
    int32_t operators = 0;
    for (int32_t i = 0; i < ops->count;) {
        const tort_op *first = ops->rows[i];
        char versions[200] = "";
        int32_t until = 0;
        for (;
             i < ops->count && !strcmp(ops->rows[i]->name, first->name) && !strcmp(ops->rows[i]->domain, first->domain);
             i++) {
            size_t used = strlen(versions);
            snprintf(versions + used, sizeof versions - used, "%s%d", used ? " " : "", ops->rows[i]->since);
            until = ops->rows[i]->until;
        }
        cli_cell(table, CLI_BOLD, "%s%s%s", first->domain, *first->domain ? "." : "", first->name);
        cli_cell(table, CLI_PLAIN, "%s", versions);
        cli_cell(table, CLI_PLAIN, "%d", until);
        operators++;
    }
    cli_table_print(table, stdout, width);
    cli_print(stdout, "\n%d operators, %d versions\n", operators, ops->count);
}

/* ---- fusions ----------------------------------------------------------------------------------------------------- */

static void add_fusions(cJSON *root) {
    cJSON *list = cJSON_AddArrayToObject(root, "fusions");
    for (const tort_pattern *const *rows = tort_pattern_tables; *rows; rows++)
        for (const tort_pattern *row = *rows; row->name; row++) {
            cJSON *item = cJSON_CreateObject();
            cJSON_AddStringToObject(item, "name", row->name);
            cJSON_AddStringToObject(item, "nodes", row->nodes);
            cJSON_AddStringToObject(item, "makes", row->makes);
            cJSON_AddItemToArray(list, item);
        }
}

static void print_fusions(int width) {
    cli_table *table = cli_table_new("fusion|of|makes", 0);
    for (const tort_pattern *const *rows = tort_pattern_tables; *rows; rows++)
        for (const tort_pattern *row = *rows; row->name; row++) {
            cli_cell(table, CLI_BOLD, "%s", row->name);
            cli_cell(table, CLI_PLAIN, "%s", row->nodes);
            cli_cell(table, CLI_PLAIN, "%s", row->makes);
        }
    cli_table_print(table, stdout, width);
}

int cli_ops(cli_options *options) {
    tort_env env = tort_env_complete(NULL);
    tort_op_table table;
    tort_error error = {0};
    cJSON *json = cli_json_of(options);
    if (!tort_op_table_build(&table, NULL, &env)) {
        tort_out_of_memory(&error, 0);
        return cli_end_plain(options, &error, json);
    }
    if (json) {
        fill_json(&table, json);
        add_fusions(json);
    } else if (options->fusions)
        print_fusions(cli_width(stdout, options->width));
    else
        print_table(&table, cli_width(stdout, options->width));
    tort_op_table_free(&table, &env);
    return cli_end_plain(options, &error, json);
}
