/* plan.c - `tinyort plan`: the placement of every node and its reasons, as a table or as JSON. Nothing is run. */
#include <string.h>

#include <cjson/cJSON.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/table.h"
#include "runtime/graph.h"

/* ---- table ----------------------------------------------------------------------------------------------------- */

static const char *known_bytes(int64_t bytes, char *buffer, size_t size) {
    if (bytes < 0) return "?";
    return cli_bytes_text((double)bytes, buffer, size);
}

static void print_providers(const tort_report *report) {
    cli_table *table = cli_table_new("provider|nodes>|copies in>|weights>|arena>|", 0);
    for (int32_t i = 0; i < report->provider_count; i++) {
        const tort_report_provider *provider = &report->providers[i];
        char buffer[32];
        cli_cell(table, provider->ready ? CLI_BOLD : CLI_RED, "%s", provider->name);
        cli_cell(table, CLI_PLAIN, "%d", provider->nodes);
        if (!provider->ready) {
            for (int blank = 0; blank < 3; blank++) cli_cell(table, CLI_PLAIN, "%s", "");
            cli_cell(table, CLI_YELLOW, "did not open: %s, %s%s%s", provider->code, provider->message,
                     *provider->cure ? "; " : "", provider->cure);
            continue;
        }
        cli_cell(table, CLI_PLAIN, "%d", provider->copies_in);
        cli_cell(table, CLI_PLAIN, "%s", known_bytes(provider->weight_bytes, buffer, sizeof buffer));
        cli_cell(table, CLI_PLAIN, "%s", known_bytes(provider->peak_bytes, buffer, sizeof buffer));
        cli_cell(table, CLI_DIM, "%s%s%s", provider->description, *provider->message ? "; " : "", provider->message);
    }
    const struct {
        const char *name;
        int32_t nodes;
    } others[] = {{"host", report->host}, {"folded", report->folded}, {"nowhere", report->unplaced}};
    for (size_t i = 0; i < 3; i++) {
        if (!others[i].nodes) continue;
        cli_cell(table, i == 2 ? CLI_RED : CLI_PLAIN, "%s", others[i].name);
        cli_cell(table, CLI_PLAIN, "%d", others[i].nodes);
        cli_row_end(table);
    }
    cli_table_print(table, stdout);
}

/* Text that is put together piece by piece; pieces that do not fit are cut. */
typedef struct sentence {
    char text[600];
    size_t used;
} sentence;

static void add(sentence *s, const char *between, const char *piece) {
    if (!*piece || s->used + 1 >= sizeof s->text) return;
    int length = snprintf(s->text + s->used, sizeof s->text - s->used, "%s%s", s->used ? between : "", piece);
    s->used += length > 0 ? (size_t)length : 0;
}

/* Why a node is where it is: who refused it before. A provider that is down says so once, above. */
static void explain(const tort_report_node *node, sentence *why) {
    for (int32_t i = 0; i < node->verdict_count; i++) {
        const tort_report_verdict *verdict = &node->verdicts[i];
        bool down = verdict->code == TORT_PROVIDER_DOWN || verdict->code == TORT_DISABLED;
        if (verdict->code == TORT_YES || (down && node->provider)) continue;
        bool better_row = node->provider && strcmp(verdict->provider, node->provider) == 0;
        char piece[500];
        snprintf(piece, sizeof piece, "%s: %s%s%s", better_row ? verdict->kernel : verdict->provider,
                 tort_verdict_name(verdict->code), *verdict->message ? " " : "", verdict->message);
        add(why, "; ", piece);
    }
    for (int32_t i = 0; i < node->from_count; i++) add(why, i ? " + " : "; fused from ", node->from[i]);
}

/* before: path of a node; "" for the outputs, which are copied at the end. */
static void print_copies(const tort_report *report, const char *before, cli_table *table) {
    sentence copies = {0};
    for (int32_t i = 0; i < report->copy_count; i++) {
        const tort_report_copy *copy = &report->copies[i];
        if (strcmp(copy->before, before) != 0) continue;
        char buffer[32], piece[300];
        snprintf(piece, sizeof piece, "%s of '%s' %s->%s", known_bytes(copy->bytes, buffer, sizeof buffer), copy->value,
                 copy->from, copy->to);
        add(&copies, ", ", piece);
    }
    if (!copies.used) return;
    for (int column = 0; column < 5; column++) cli_cell(table, CLI_PLAIN, "%s", "");
    cli_cell(table, CLI_CYAN, "copy %s", copies.text);
}

static void print_nodes(const tort_report *report) {
    cli_table *table = cli_table_new("#>|node|op|runs on|kernel|why", 0);
    for (int32_t i = 0; i < report->node_count; i++) {
        const tort_report_node *node = &report->nodes[i];
        if (node->provider && !strcmp(node->provider, "folded")) continue;
        print_copies(report, node->path, table);
        sentence why = {0};
        explain(node, &why);
        bool first = node->provider && !strcmp(node->provider, report->providers[0].name);
        bool host = node->provider && !strcmp(node->provider, "host");
        cli_cell(table, CLI_DIM, "%d", node->index);
        cli_cell(table, CLI_PLAIN, "%s", node->path);
        cli_cell(table, CLI_PLAIN, "%s%s%s-%d", node->domain, *node->domain ? "." : "", node->op, node->since);
        cli_cell(table,
                 !node->provider ? CLI_RED
                 : first         ? CLI_GREEN
                 : host          ? CLI_DIM
                                 : CLI_YELLOW,
                 "%s", node->provider ? node->provider : "nowhere");
        cli_cell(table, CLI_PLAIN, "%s", node->kernel);
        cli_cell(table, node->provider ? CLI_DIM : CLI_RED, "%s", why.text);
    }
    print_copies(report, "", table);
    cli_table_print(table, stdout);
}

/* ---- JSON ------------------------------------------------------------------------------------------------------ */

static void add_bytes(cJSON *object, const char *key, int64_t bytes) {
    if (bytes < 0)
        cJSON_AddNullToObject(object, key);
    else
        cJSON_AddNumberToObject(object, key, (double)bytes);
}

static cJSON *model_json(const tort_model *model, const char *path) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "path", path);
    cJSON_AddNumberToObject(object, "ir_version", (double)model->ir_version);
    cJSON *opsets = cJSON_AddObjectToObject(object, "opsets");
    for (int32_t i = 0; i < model->opset_count; i++)
        cJSON_AddNumberToObject(opsets, model->opsets[i].domain, (double)model->opsets[i].version);
    return object;
}

static cJSON *node_json(const tort_report_node *node) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "index", node->index);
    cJSON_AddStringToObject(object, "path", node->path);
    cJSON_AddStringToObject(object, "name", node->name);
    cJSON_AddStringToObject(object, "op", node->op);
    cJSON_AddStringToObject(object, "domain", node->domain);
    cJSON_AddNumberToObject(object, "since", node->since);
    if (node->provider)
        cJSON_AddStringToObject(object, "provider", node->provider);
    else
        cJSON_AddNullToObject(object, "provider");
    cJSON_AddStringToObject(object, "kernel", node->kernel);
    cJSON *from = cJSON_AddArrayToObject(object, "from");
    for (int32_t i = 0; i < node->from_count; i++) cJSON_AddItemToArray(from, cJSON_CreateString(node->from[i]));
    cJSON *verdicts = cJSON_AddArrayToObject(object, "verdicts");
    for (int32_t i = 0; i < node->verdict_count; i++) {
        const tort_report_verdict *verdict = &node->verdicts[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "provider", verdict->provider);
        cJSON_AddStringToObject(item, "kernel", verdict->kernel ? verdict->kernel : "");
        cJSON_AddStringToObject(item, "code", tort_verdict_name(verdict->code));
        cJSON_AddStringToObject(item, "message", verdict->message);
        cJSON_AddStringToObject(item, "cure", verdict->cure);
        cJSON_AddItemToArray(verdicts, item);
    }
    return object;
}

static void add_nodes(cJSON *root, const tort_report *report) {
    cJSON *nodes = cJSON_AddArrayToObject(root, "nodes"), *copies = cJSON_AddArrayToObject(root, "copies");
    cJSON *folded = cJSON_AddArrayToObject(root, "folded");
    for (int32_t i = 0; i < report->node_count; i++) {
        const tort_report_node *node = &report->nodes[i];
        cJSON_AddItemToArray(nodes, node_json(node));
        if (node->provider && !strcmp(node->provider, "folded"))
            cJSON_AddItemToArray(folded, cJSON_CreateString(node->path));
    }
    for (int32_t i = 0; i < report->copy_count; i++) {
        const tort_report_copy *copy = &report->copies[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "value", copy->value);
        add_bytes(item, "bytes", copy->bytes);
        cJSON_AddStringToObject(item, "from", copy->from);
        cJSON_AddStringToObject(item, "to", copy->to);
        cJSON_AddStringToObject(item, "before", copy->before);
        cJSON_AddItemToArray(copies, item);
    }
}

static void add_providers(cJSON *root, const tort_report *report) {
    cJSON *chain = cJSON_AddArrayToObject(root, "chain"), *providers = cJSON_AddArrayToObject(root, "providers");
    for (int32_t i = 0; i < report->provider_count; i++) {
        const tort_report_provider *provider = &report->providers[i];
        cJSON_AddItemToArray(chain, cJSON_CreateString(provider->name));
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "name", provider->name);
        cJSON_AddStringToObject(item, "status", provider->ready ? "ready" : "down");
        cJSON_AddStringToObject(item, "code", provider->code);
        cJSON_AddStringToObject(item, "description", provider->description);
        cJSON_AddStringToObject(item, "message", provider->message);
        cJSON_AddStringToObject(item, "cure", provider->cure);
        cJSON_AddItemToArray(providers, item);
    }
}

static void add_memory(cJSON *root, const tort_report *report) {
    cJSON *memory = cJSON_AddObjectToObject(root, "memory"), *summary = cJSON_AddObjectToObject(root, "summary");
    for (int32_t i = 0; i < report->provider_count; i++) {
        const tort_report_provider *provider = &report->providers[i];
        cJSON *item = cJSON_AddObjectToObject(memory, provider->name);
        add_bytes(item, "weights", provider->weight_bytes);
        add_bytes(item, "peak", provider->peak_bytes);
        add_bytes(item, "naive", provider->naive_bytes);
        cJSON_AddNumberToObject(summary, provider->name, provider->nodes);
    }
    cJSON_AddNumberToObject(summary, "host", report->host);
    cJSON_AddNumberToObject(summary, "folded", report->folded);
    cJSON_AddNumberToObject(summary, "unplaced", report->unplaced);
}

static void print_json(const tort_model *model, const char *path, const tort_report *report) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "schema", 1);
    cJSON_AddItemToObject(root, "model", model_json(model, path));
    add_providers(root, report);
    add_nodes(root, report);
    add_memory(root, report);
    cli_print_json(root);
}

int cli_plan(const cli_options *options) {
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_error error = {0};
    tort_status status = cli_open_model(options, options->operands[0], &model, &error);
    if (!status) {
        tort_session_options session_options = cli_session_options(options, options->chains[0]);
        session_options.plan_only = true;
        status = cli_open_session(options, model, &session_options, &session, &error);
    }
    tort_report *report = session ? cli_report(session) : NULL;
    if (session && options->json)
        print_json(model, options->operands[0], report);
    else if (session) {
        print_providers(report);
        print_nodes(report);
    }
    tort_report_free(report);
    fflush(stdout);
    int result = status ? cli_fail(options->command, &error) : CLI_OK;
    tort_session_free(session);
    tort_model_free(model);
    return result;
}
