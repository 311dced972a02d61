/* ops_json.c - `tinyort ops --json`: all data of the rows, with named sets of types written out, so that a test can
 * compare it with ONNX's own schemas. */
#include <stdlib.h>

#include "runtime/cli/ops.h"

static cJSON *text_json(const char *text, size_t length) {
    char *copy = cli_copy_text(text, length);
    cJSON *item = cJSON_CreateString(copy);
    free(copy);
    return item;
}

static void add_types(cJSON *list, uint32_t nest, uint64_t elements) {
    char text[80];
    for (int type = 0; type < TORT_TYPE_COUNT; type++) {
        const tort_value_type value_type = {.type = (tort_type)type, .nest = nest};
        if (elements >> type & 1)
            cJSON_AddItemToArray(list, cJSON_CreateString(tort_type_text(value_type, text, sizeof text)));
    }
}

/* A list of types; null if the row is malformed. */
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

/* Kernels of each provider for an operator: {"cpu": {"kernels": [{"name", "library"}], "plain": true}}. */
static cJSON *services_json(const cli_ops_rows *ops, const cli_operator *op) {
    cJSON *all = cJSON_CreateObject();
    for (int32_t p = 0; p < ops->provider_count; p++) {
        const tort_provider *provider = ops->providers[p];
        cJSON *item = cJSON_AddObjectToObject(all, provider->name), *list = cJSON_AddArrayToObject(item, "kernels");
        for (const tort_kernel *row = NULL; (row = cli_kernel_next(provider, op, row));) {
            cJSON *kernel = cJSON_CreateObject();
            cli_json_text(kernel, "name", row->name);
            cli_json_text(kernel, "library", row->needs);
            cJSON_AddItemToArray(list, kernel);
        }
        cJSON_AddBoolToObject(item, "plain", cli_has_loop(provider, op));
        const cli_service service = cli_service_of(provider, op);
        cJSON_AddBoolToObject(item, "host", service == CLI_SERVICE_HOST);
        cJSON_AddBoolToObject(item, "folded", service == CLI_SERVICE_FOLDED);
    }
    return all;
}

static cJSON *row_json(const tort_op *op) {
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "domain", op->domain);
    cJSON_AddStringToObject(item, "name", op->name);
    cJSON_AddNumberToObject(item, "since", op->since);
    cJSON_AddNumberToObject(item, "until", op->until);
    if (op->flags & TORT_OP_EARLY) cJSON_AddTrueToObject(item, "early"); /* valid in files of older opsets, too */
    cJSON_AddItemToObject(item, "inputs", formals_json(op->inputs, op->types));
    cJSON_AddItemToObject(item, "outputs", formals_json(op->outputs, op->types));
    cJSON_AddItemToObject(item, "attributes", attributes_json(op->attributes));
    return item;
}

static void add_refusals(const cli_ops_rows *ops, cJSON *root) {
    cJSON *list = cJSON_AddArrayToObject(root, "refused");
    for (const tort_refusal *row = NULL; (row = cli_refusal_next(ops, row));) {
        cJSON *item = cJSON_CreateObject();
        cli_json_text(item, "domain", row->domain);
        cli_json_text(item, "name", row->name);
        cli_json_text(item, "why", row->why);
        cli_json_text(item, "cure", row->cure);
        cJSON_AddItemToArray(list, item);
    }
}

void cli_ops_json(const cli_ops_rows *ops, const char *word, cJSON *root) {
    cJSON *list = cJSON_AddArrayToObject(root, "operators");
    for (cli_operator op = {0}; cli_operator_next(ops, &op);) {
        if (word && !cli_is_meant(op.rows[0]->domain, op.rows[0]->name, word)) continue;
        for (int32_t i = 0; i < op.count; i++) {
            cJSON *item = row_json(op.rows[i]);
            cJSON_AddItemToObject(item, "providers", services_json(ops, &op));
            cJSON_AddItemToArray(list, item);
        }
    }
    if (!word) add_refusals(ops, root);
}
