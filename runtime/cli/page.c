/* page.c - writes a plan as an HTML page (page.h): page.html, which the build turns into the lines below, with the plan
 * as JSON in the place of one of them.
 *
 * The page holds what plan --json holds, and the edges between nodes, the groups of reasons, and the bytes that each
 * memory holds at each step. Everything is drawn in the browser. */
#include "runtime/cli/page.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/files/new_file.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/lock.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/reasons.h"
#include "runtime/cli/report_json.h"
#include "runtime/core/graph/graph.h"
#include "runtime/core/plan/planned.h"
#include "runtime/include/tinyort_plan.h"

static const char *const lines[] = {
#include "runtime/cli/page.html.inc"
};

/* ---- edges ------------------------------------------------------------------------------------------------------- */

static cJSON *edge_json(const tort_report_node *from, const tort_report_node *to, const char *value) {
    cJSON *edge = cJSON_CreateArray();
    cJSON_AddItemToArray(edge, cJSON_CreateNumber(from->index));
    cJSON_AddItemToArray(edge, cJSON_CreateNumber(to->index));
    cJSON_AddItemToArray(edge, cJSON_CreateString(value));
    return edge;
}

/* The node of the report that owns a body: the longest part of its path that is a node's. */
static const tort_report_node *owner_of(const cli_lock *placed, const tort_graph *graph) {
    char *path = cli_copy_text(graph->path, strlen(graph->path));
    const tort_report_node *found = NULL;
    for (char *slash = strrchr(path, '/'); !found && slash; slash = strrchr(path, '/')) {
        *slash = 0;
        found = cli_placed_at(placed, path);
    }
    free(path);
    return found;
}

static void add_node_edges(cJSON *edges, const cli_lock *placed, const tort_graph *graph, const tort_node *node,
                           const tort_report_node *owner) {
    const tort_report_node *to = cli_placed_node(placed, graph, node);
    bool fed = false;
    for (int32_t i = 0; to && i < node->input_count; i++) {
        const tort_graph_value *value = node->inputs[i] < 0 ? NULL : &graph->values[node->inputs[i]];
        if (!value || value->producer < 0) continue;
        const tort_report_node *from = cli_placed_node(placed, graph, &graph->nodes[value->producer]);
        fed = true;
        if (from && from != to) cJSON_AddItemToArray(edges, edge_json(from, to, value->name));
    }
    if (to && owner && !fed) cJSON_AddItemToArray(edges, edge_json(owner, to, "")); /* a body begins here */
}

static cJSON *edges_json(const tort_model *model, const tort_report *report) {
    cJSON *edges = cJSON_CreateArray();
    cli_lock placed = cli_lock_of(report, NULL);
    for (int32_t g = 0; g < model->graph_count; g++) {
        const tort_graph *graph = &model->graphs[g];
        const tort_report_node *owner = g ? owner_of(&placed, graph) : NULL;
        for (int32_t i = 0; i < graph->node_count; i++) add_node_edges(edges, &placed, graph, &graph->nodes[i], owner);
    }
    cli_lock_free(&placed);
    return edges;
}

/* ---- reasons ----------------------------------------------------------------------------------------------------- */

static cJSON *reasons_json(const tort_report *report) {
    cJSON *list = cJSON_CreateArray();
    cli_reasons reasons = cli_reasons_of(report, CLI_LOSSES);
    for (int32_t i = 0; i < reasons.count; i++) {
        const cli_reason *reason = &reasons.list[i];
        const tort_report_node *node = reason->examples[0];
        cJSON *item = cJSON_CreateObject(), *examples = cJSON_AddArrayToObject(item, "examples");
        char *why = cli_group_text(reason, CLI_LOSSES);
        cli_json_number(item, "nodes", reason->nodes);
        cli_json_text(item, "op", node->op);
        cli_json_text(item, "provider", node->provider);
        cli_json_text(item, "why", why);
        for (int32_t k = 0; k < CLI_EXAMPLES && k < reason->nodes; k++)
            cJSON_AddItemToArray(examples, cJSON_CreateString(reason->examples[k]->path));
        cJSON_AddItemToArray(list, item);
        free(why);
    }
    cli_reasons_free(&reasons);
    return list;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static const char *memory_name(const tort_session *session, int32_t memory) {
    const tort_link *owner = session->memories[memory].owner;
    if (owner) return owner->provider->name;
    for (int32_t i = 0; i < session->chain_count; i++)
        if (!session->chain[i].memory && session->chain[i].condition.ready) return session->chain[i].provider->name;
    return "host";
}

/* Bytes that a memory holds at each step of the main graph: of values that live, and scratch. */
static cJSON *live_of(const tort_plan *plan, int32_t first, int32_t memory) {
    cJSON *list = cJSON_CreateArray();
    double *change = cli_alloc((size_t)plan->step_count + 1, sizeof *change), live = 0;
    for (int32_t i = 0; i < plan->slot_count; i++) {
        const tort_slot *slot = &plan->slots[i];
        if (slot->memory != memory || !tort_in_arena(slot) || slot->within >= 0 || slot->bytes < 0) continue;
        if (slot->first_step < 0 || slot->last_step >= plan->step_count) continue;
        change[slot->first_step] += (double)tort_placed_bytes(slot);
        change[slot->last_step + 1] -= (double)tort_placed_bytes(slot);
    }
    for (int32_t i = 0; i < plan->step_count; i++) {
        const tort_step *step = &plan->steps[i];
        cJSON *item = cJSON_CreateObject();
        live += change[i];
        cli_json_number(item, "node", step->node < 0 ? -1 : first + step->node);
        cJSON_AddNumberToObject(item, "bytes", live + (step->memory == memory ? (double)step->scratch_bytes : 0));
        cJSON_AddItemToArray(list, item);
    }
    free(change);
    return list;
}

static cJSON *live_json(const tort_session *session) {
    cJSON *live = cJSON_CreateObject();
    const tort_lowered *lowered = &session->graphs[0];
    const tort_planned *planned = lowered->bound   ? lowered->bound
                                  : lowered->plans ? lowered->plans
                                                   : lowered->symbolic_plan;
    for (int32_t i = 0; planned && i < session->memory_count; i++)
        cJSON_AddItemToObject(live, memory_name(session, i), live_of(&planned->plan, lowered->graph.first, i));
    return live;
}

/* ---- what it was made for ---------------------------------------------------------------------------------------- */

static void add_port(cJSON *list, const tort_port *port) {
    char shape[200], type[80];
    char *text =
        cli_format("%s: %s %s", port->name, tort_type_text(port->value_type, type, sizeof type),
                   port->rank < 0 ? "" : cli_shape_text(port->rank, port->dims, port->dim_names, shape, sizeof shape));
    cJSON_AddItemToArray(list, cJSON_CreateString(text));
    free(text);
}

/* The origin of the page, for whoever finds it later: the chain and sizes as typed, ports, version and time. */
static void add_origin(cJSON *data, const cli_options *options, tort_session *session) {
    const tort_model *model = tort_session_model(session);
    cJSON *origin = cJSON_AddObjectToObject(data, "origin");
    char date[40], shape[200];
    const time_t now = time(NULL);
    struct tm broken;
    gmtime_r(&now, &broken);
    snprintf(date, sizeof date, "%04d-%02d-%02d %02d:%02d UTC", broken.tm_year + 1900, broken.tm_mon + 1,
             broken.tm_mday, broken.tm_hour, broken.tm_min);
    cli_json_text(origin, "date", date);
    cli_json_text(origin, "version", tort_version());
    cli_json_text(origin, "commit", cli_commit());
    cli_json_text(origin, "chain", options->plan ? NULL : options->chains.count ? options->chains.items[0] : "cpu");
    cli_json_text(origin, "target", options->target);
    cJSON *sizes = cJSON_AddArrayToObject(origin, "sizes"), *inputs = cJSON_AddArrayToObject(origin, "inputs"),
          *outputs = cJSON_AddArrayToObject(origin, "outputs");
    for (int32_t i = 0; i < options->fixed.shape_count; i++) {
        const tort_input_shape *fixed = &options->fixed.shapes[i];
        char *text =
            cli_format("%s=%s", fixed->name, cli_shape_text(fixed->rank, fixed->dims, NULL, shape, sizeof shape));
        cJSON_AddItemToArray(sizes, cJSON_CreateString(text));
        free(text);
    }
    for (int32_t i = 0; i < options->fixed.symbol_count; i++) {
        char *text = cli_format("%s=%lld", options->fixed.symbols[i].name, (long long)options->fixed.symbols[i].size);
        cJSON_AddItemToArray(sizes, cJSON_CreateString(text));
        free(text);
    }
    for (int32_t i = 0; i < tort_model_input_count(model); i++) {
        const tort_port port = cli_input(model, i);
        add_port(inputs, &port);
    }
    for (int32_t i = 0; i < tort_model_output_count(model); i++) {
        const tort_port port = cli_output(model, i);
        add_port(outputs, &port);
    }
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

tort_status cli_page_of(const char *path, const char *const *page, size_t count, cJSON *data, tort_error *error) {
    tort_new_file file;
    tort_status status = cli_new_file_open(path, &file, error);
    if (status) {
        cJSON_Delete(data);
        return cli_failed_write(status, error);
    }
    for (size_t i = 0; i < count; i++) {
        const bool holds_data = !strcmp(page[i], "@DATA@");
        if (holds_data) cli_json_write(file.stream, data, true);
        cli_print(file.stream, "%s\n", holds_data ? "" : page[i]);
    }
    return cli_failed_write(cli_new_file_end(&file, TORT_OK, error), error);
}

tort_status cli_page_write(const char *path, const cli_options *options, tort_session *session,
                           const tort_report *report, const cli_profile *profile, tort_error *error) {
    const tort_model *model = tort_session_model(session);
    cJSON *data = cJSON_CreateObject();
    cli_json_model(data, model, cli_model_path(options));
    cli_json_plan(data, session, report);
    add_origin(data, options, session);
    cJSON_AddItemToObject(data, "edges", edges_json(model, report));
    cJSON_AddItemToObject(data, "reasons", reasons_json(report));
    cJSON_AddItemToObject(data, "live", live_json(session));
    if (profile) cli_profile_json(profile, data);
    return cli_page_of(path, lines, sizeof lines / sizeof *lines, data, error);
}
