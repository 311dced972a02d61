/* report_json.c - a report as JSON (report_json.h). Scripts rely on the keys: they are added, never changed. */
#include <string.h>

#include "runtime/cli/described.h"
#include "runtime/cli/reasons.h"
#include "runtime/cli/report_json.h"
#include "runtime/core/graph/graph.h"

/* ---- placement --------------------------------------------------------------------------------------------------- */

static cJSON *provider_json(const tort_report_provider *provider) {
    cJSON *item = cJSON_CreateObject();
    cli_json_text(item, "name", provider->name);
    cli_json_text(item, "status", provider->ready ? "ready" : "down");
    cli_json_text(item, "code", provider->code);
    cli_json_text(item, "description", provider->description);
    cli_json_text(item, "message", provider->message);
    cli_json_text(item, "cure", provider->cure);
    cli_json_number(item, "threads", provider->threads > 0 ? provider->threads : -1);
    if (provider->shares) cli_json_text(item, "shares", provider->shares);
    return item;
}

static void add_providers(cJSON *object, const tort_report *report) {
    cJSON *chain = cJSON_AddArrayToObject(object, "chain"), *providers = cJSON_AddArrayToObject(object, "providers");
    for (int32_t i = 0; i < report->provider_count; i++) {
        cJSON_AddItemToArray(chain, cJSON_CreateString(report->providers[i]->name));
        cJSON_AddItemToArray(providers, provider_json(report->providers[i]));
    }
}

static void add_summary(cJSON *object, const tort_report *report) {
    cJSON *summary = cJSON_AddObjectToObject(object, "summary");
    for (int32_t i = 0; i < report->provider_count; i++)
        cli_json_number(summary, report->providers[i]->name, report->providers[i]->nodes);
    cli_json_number(summary, "host", report->host);
    cli_json_number(summary, "folded", report->folded);
    cli_json_number(summary, "fused", report->fused);
    cli_json_number(summary, "unplaced", report->unplaced);
    cli_json_number(summary, "fallen_back", report->fallen_back);
}

/* Reports the refusal of the earliest provider that did open, else of the earliest one. */
static cJSON *fallback_json(const tort_report_node *node) {
    const tort_report_verdict *refusal = cli_refusal_elsewhere(node);
    cJSON *item = cJSON_CreateObject();
    cli_json_text(item, "node", node->path);
    cli_json_number(item, "index", node->index);
    cli_json_text(item, "op", node->op);
    cli_json_text(item, "runs_on", node->provider);
    cli_json_text(item, "provider", refusal ? refusal->provider : NULL);
    cli_json_text(item, "code", refusal ? tort_verdict_name(refusal->code) : NULL);
    cli_json_text(item, "message", refusal ? refusal->message : "");
    cli_json_text(item, "cure", refusal ? refusal->cure : "");
    return item;
}

/* Skipped for a sum of reports, which lists no nodes: each report has its own. */
static void add_fallbacks(cJSON *object, const tort_report *report) {
    if (!report->nodes) return;
    cJSON *fallbacks = cJSON_AddArrayToObject(object, "fallbacks");
    for (int32_t i = 0; i < report->node_count; i++)
        if (report->nodes[i]->fell_back && report->nodes[i]->provider)
            cJSON_AddItemToArray(fallbacks, fallback_json(report->nodes[i]));
}

static cJSON *widened_json(const tort_report_node *node, const tort_report_verdict *why) {
    cJSON *item = cJSON_CreateObject();
    cli_json_text(item, "node", node->path);
    cli_json_number(item, "index", node->index);
    cli_json_text(item, "op", node->op);
    cli_json_text(item, "code", tort_verdict_name(why->code));
    cli_json_text(item, "message", why->message);
    cli_json_text(item, "cure", why->cure);
    cli_json_number(item, "bytes", why->bytes);
    return item;
}

static void add_precision(cJSON *object, const tort_report *report) {
    cJSON *precision = cJSON_AddObjectToObject(object, "precision"), *nodes;
    cli_json_number(precision, "products", report->products);
    nodes = cJSON_AddArrayToObject(precision, "float32");
    for (int32_t i = 0; i < report->node_count && report->nodes; i++) {
        const tort_report_verdict *why = cli_widened(report->nodes[i]);
        if (why) cJSON_AddItemToArray(nodes, widened_json(report->nodes[i], why));
    }
}

void cli_json_placement(cJSON *object, const tort_report *report) {
    add_providers(object, report);
    add_summary(object, report);
    add_precision(object, report);
    add_fallbacks(object, report);
}

void cli_json_model(cJSON *object, const tort_model *model, const char *path) {
    cJSON *item = cJSON_AddObjectToObject(object, "model"), *opsets;
    cli_json_text(item, "path", path);
    cli_json_number(item, "ir_version", model->ir_version);
    opsets = cJSON_AddObjectToObject(item, "opsets");
    for (int32_t i = 0; i < model->opset_count; i++)
        cli_json_number(opsets, model->opsets[i].domain, model->opsets[i].version);
}

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

static cJSON *verdict_json(const tort_report_verdict *verdict) {
    cJSON *item = cJSON_CreateObject();
    cli_json_text(item, "provider", verdict->provider);
    cli_json_text(item, "kernel", verdict->kernel ? verdict->kernel : "");
    cli_json_text(item, "code", tort_verdict_name(verdict->code));
    cli_json_text(item, "message", verdict->message);
    cli_json_text(item, "cure", verdict->cure);
    if (verdict->fusion) cli_json_text(item, "fusion", verdict->fusion);
    if (verdict->segment) cJSON_AddBoolToObject(item, "segment", true);
    if (verdict->precision) cJSON_AddBoolToObject(item, "precision", true);
    if (verdict->precision) cli_json_number(item, "bytes", verdict->bytes);
    cli_json_number(item, "root", verdict->root);
    return item;
}

static cJSON *node_json(const tort_report_node *node) {
    cJSON *item = cJSON_CreateObject();
    cli_json_number(item, "index", node->index);
    cli_json_number(item, "file_index", node->file_index);
    cli_json_text(item, "path", node->path);
    cli_json_text(item, "name", node->name);
    cli_json_text(item, "op", node->op);
    cli_json_text(item, "domain", node->domain);
    cli_json_number(item, "since", node->since);
    cli_json_text(item, "provider", node->provider);
    cli_json_text(item, "kernel", node->kernel);
    cli_json_text(item, "family", node->family);
    cJSON_AddBoolToObject(item, "pinned", node->pinned);
    cJSON_AddBoolToObject(item, "fell_back", node->fell_back);
    cli_json_texts(item, "from", node->from, node->from_count);
    cJSON *verdicts = cJSON_AddArrayToObject(item, "verdicts");
    for (int32_t i = 0; i < node->verdict_count; i++) cJSON_AddItemToArray(verdicts, verdict_json(node->verdicts[i]));
    return item;
}

static cJSON *copy_json(const tort_report_copy *copy) {
    cJSON *item = cJSON_CreateObject();
    cli_json_text(item, "value", copy->value);
    cli_json_number(item, "bytes", copy->bytes);
    cli_json_text(item, "from", copy->from);
    cli_json_text(item, "to", copy->to);
    cli_json_text(item, "before", copy->before);
    cli_json_number(item, "node", copy->node);
    return item;
}

static void add_conversions(cJSON *object, const tort_report *report) {
    cJSON *conversions = cJSON_AddArrayToObject(object, "conversions");
    for (int32_t i = 0; i < report->conversion_count; i++) {
        cJSON *item = copy_json(report->conversions[i]);
        cli_json_text(item, "provider", report->conversions[i]->provider);
        cJSON_AddItemToArray(conversions, item);
    }
}

static void add_memory(cJSON *object, const tort_report *report) {
    cJSON *memory = cJSON_AddObjectToObject(object, "memory");
    for (int32_t i = 0; i < report->provider_count; i++) {
        const tort_report_provider *provider = report->providers[i];
        cJSON *item = cJSON_AddObjectToObject(memory, provider->name);
        cli_json_number(item, "weights", provider->weight_bytes);
        cli_json_number(item, "peak", provider->peak_bytes);
        cli_json_number(item, "naive", provider->naive_bytes);
        if (provider->engine_bytes) cli_json_number(item, "engine", provider->engine_bytes);
    }
    cJSON *host = cJSON_AddObjectToObject(object, "host_memory");
    cli_json_number(host, "model", report->memory->model);
    cli_json_number(host, "weights", report->memory->weights);
    cli_json_number(host, "session", report->memory->session);
    cli_json_number(host, "context", report->memory->context);
    cli_json_number(host, "arena", report->memory->arena);
    cli_json_number(host, "total", report->memory->total);
    cJSON_AddBoolToObject(host, "grows", report->memory->grows);
}

/* Upper bounds of dimensions, for which the memory is computed. */
static void add_bounds(cJSON *object, const tort_report *report) {
    cJSON *bounds = cJSON_AddObjectToObject(object, "bounds");
    for (int32_t i = 0; i < report->bound_count; i++)
        cli_json_number(bounds, report->bounds[i].name, report->bounds[i].size);
    cli_json_text(object, "bounds_note", report->bounds_note);
}

static const char *recording_state(tort_recording recording) {
    switch (recording) {
    case TORT_RECORDING_NONE: break;
    case TORT_RECORDING_UNKNOWN: return "unknown";
    case TORT_RECORDING_WHOLE: return "whole";
    case TORT_RECORDING_ELSEWHERE: return "elsewhere";
    case TORT_RECORDING_BODIES: return "bodies";
    case TORT_RECORDING_DYNAMIC: return "dynamic";
    case TORT_RECORDING_HOST_VALUES: return "host_values";
    case TORT_RECORDING_RANDOM: return "random";
    }
    return NULL;
}

const tort_report_node *cli_recording_node(const tort_report *report) {
    for (int32_t i = 0; i < report->node_count; i++)
        if (report->nodes[i]->index == report->recording_node) return report->nodes[i];
    return NULL;
}

static void add_recording(cJSON *object, const tort_report *report) {
    const tort_report_node *node = cli_recording_node(report);
    cJSON *recording = cJSON_AddObjectToObject(object, "recording");
    cli_json_text(recording, "state", recording_state((tort_recording)report->recording));
    cJSON_AddNumberToObject(recording, "recorded", report->recorded);
    cli_json_text(recording, "node", node ? node->path : NULL);
    cli_json_text(recording, "note", report->recording_note);
}

void cli_json_plan(cJSON *object, tort_session *session, const tort_report *report) {
    cli_json_placement(object, report);
    cJSON *nodes = cJSON_AddArrayToObject(object, "nodes");
    cJSON *copies = cJSON_AddArrayToObject(object, "copies"), *folded = cJSON_AddArrayToObject(object, "folded");
    for (int32_t i = 0; i < report->node_count; i++) {
        const tort_report_node *node = report->nodes[i];
        cJSON *item = node_json(node);
        cli_describe_json(session, node->index, item);
        cJSON_AddItemToArray(nodes, item);
        if (node->provider && !strcmp(node->provider, "folded"))
            cJSON_AddItemToArray(folded, cJSON_CreateString(node->path));
    }
    for (int32_t i = 0; i < report->copy_count; i++) cJSON_AddItemToArray(copies, copy_json(report->copies[i]));
    if (report->conversion_count) add_conversions(object, report);
    add_memory(object, report);
    if (report->bound_count) add_bounds(object, report);
    if (report->recording) add_recording(object, report);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* Advice for a failure that has no cure of its own. */
static const char *general_cure(tort_status status, const tort_report *report) {
    switch (status) {
    case TORT_OK: break;
    case TORT_E_USAGE: return "'tinyort COMMAND --help' lists the options";
    case TORT_E_MODEL: return "check the file with onnx.checker.check_model, or export it again";
    case TORT_E_INPUT: return "'tinyort inspect MODEL' lists the inputs with their types and shapes";
    case TORT_E_IO: return "check that the path is right and may be read";
    case TORT_E_PLACEMENT:
        return report && cli_is_for_firmware(report)
                   ? "'tinyort plan MODEL --ep firmware' shows every refusal with its cure"
                   : "'tinyort plan MODEL' shows every refusal with its cure";
    case TORT_E_UNSUPPORTED: return "'tinyort ops' lists what this build has";
    case TORT_E_MEMORY:
        return "raise mem_limit= of the provider or --dynamic-limit, or give smaller sizes with --shape";
    case TORT_E_RUN: return "'tinyort compare MODEL --ep A --ep B' finds the first node that differs";
    case TORT_E_CANCELLED: return "run it again";
    case TORT_E_DEVICE_LOST: return "look at nvidia-smi and the kernel's log, then start the process again";
    case TORT_E_INTERNAL: return "a bug of tinyort: report it with the model and the command";
    }
    return "";
}

/* Advice for an error: the report's cure for the provider at fault, else for the node, else a general one. */
static const char *cure_of(const tort_error *error, const tort_report *report) {
    for (int32_t i = 0; report && error->provider && i < report->provider_count; i++)
        if (!strcmp(report->providers[i]->name, error->provider) && !report->providers[i]->ready)
            return *report->providers[i]->cure ? report->providers[i]->cure : general_cure(error->code, report);
    const int32_t place = report && error->code == TORT_E_PLACEMENT ? cli_place_of(report, error->node) : -1;
    const tort_report_node *node = place >= 0 ? report->nodes[place] : NULL;
    for (int32_t i = 0; node && i < node->verdict_count; i++)
        if (*node->verdicts[i]->cure) return node->verdicts[i]->cure;
    return general_cure(error->code, report);
}

void cli_json_error(cJSON *object, const tort_error *error, int exit_status, const tort_report *report) {
    cJSON *item = cJSON_AddObjectToObject(object, "error");
    cli_json_text(item, "code", tort_status_name(error->code));
    cli_json_number(item, "exit", exit_status);
    cli_json_text(item, "message", error->msg);
    cli_json_number(item, "node", error->node);
    cli_json_text(item, "provider", error->provider);
    cli_json_text(item, "cure", cure_of(error, report));
}
