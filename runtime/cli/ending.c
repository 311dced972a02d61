/* ending.c - errors, exit statuses, and the placement line that ends every command (ending.h). */
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/reasons.h"
#include "runtime/cli/report_json.h"
#include "runtime/cli/table.h"
#include "runtime/cli/text.h"
#include "runtime/include/tinyort_plan.h"

int cli_exit_status(tort_status status) {
    switch (status) {
    case TORT_OK: return CLI_OK;
    case TORT_E_USAGE: return CLI_USAGE;
    case TORT_E_MODEL:
    case TORT_E_INPUT:
    case TORT_E_IO: return CLI_BAD_INPUT;
    case TORT_E_PLACEMENT:
    case TORT_E_UNSUPPORTED:
    case TORT_E_MEMORY: return CLI_REFUSED;
    case TORT_E_RUN:
    case TORT_E_CANCELLED:
    case TORT_E_DEVICE_LOST: return CLI_FAILED;
    case TORT_E_INTERNAL: break;
    }
    return CLI_INTERNAL;
}

tort_report *cli_report(tort_session *session) {
    tort_report *report;
    tort_session_report(session, &report, NULL);
    return cli_check_memory(report);
}

/* ---- the placement line ------------------------------------------------------------------------------------------ */

char *cli_counts_text(const tort_report *report) {
    char *text = cli_copy_text("", 0);
    for (int32_t i = 0; i < report->provider_count; i++)
        cli_append(&text, "%s%d %s", i ? ", " : "", report->providers[i]->nodes, report->providers[i]->name);
    if (report->host) cli_append(&text, ", %d host", report->host);
    return text;
}

/* Groups of nodes that the placement line names. */
typedef enum mention { FELL_BACK, WITHOUT_PROVIDER, PINNED, IN_FLOAT32 } mention;

static bool is_mentioned(const tort_report_node *node, mention kind) {
    const tort_report_verdict *refusal = cli_refusal_elsewhere(node);
    switch (kind) {
    case FELL_BACK: return node->provider && node->fell_back && refusal && !cli_is_down(refusal);
    case WITHOUT_PROVIDER: return !node->provider;
    case PINNED: return node->pinned;
    case IN_FLOAT32: break;
    }
    return cli_widened(node) != NULL;
}

/* Appends " - 3 nodes fell back: Resize_31 NO_ATTR, ...". Nodes that fell back because their provider is down are left
 * out, as the line names the provider. Unplaced nodes that only follow from another one are counted, not named. */
static void append_nodes(char **line, const tort_report *report, mention kind, const char *text) {
    enum { MAX_NAMED = 3, LONGEST_NAME = 80 };
    int32_t count = 0, named = 0, behind = 0, products = kind == IN_FLOAT32 ? report->products : 0;
    char *names = cli_copy_text("", 0);
    for (int32_t i = 0; i < report->node_count; i++) {
        const tort_report_node *node = report->nodes[i];
        if (!is_mentioned(node, kind)) continue;
        count++;
        const bool follows = kind == WITHOUT_PROVIDER && cli_root_of(node) >= 0;
        behind += follows;
        if (follows || ++named > MAX_NAMED) continue;
        char *name = cli_short_name(node->path, LONGEST_NAME);
        cli_append(&names, "%s%s", named > 1 ? ", " : " ", name);
        free(name);
        const tort_report_verdict *refusal = cli_refusal_elsewhere(node);
        if (kind != PINNED && kind != IN_FLOAT32 && refusal)
            cli_append(&names, " %s", tort_verdict_name(refusal->code));
    }
    if (count) {
        if (products)
            cli_append(line, " - %d of %d %s:%s", count, products, text, names);
        else
            cli_append(line, " - %d node%s %s:%s", count, count == 1 ? "" : "s", text, names);
        if (named > MAX_NAMED) cli_append(line, " ...");
        if (behind) cli_append(line, " and %d behind %s", behind, named == 1 ? "it" : "them");
    }
    free(names);
}

static bool all_ready(const tort_report *report) {
    bool ready = true;
    for (int32_t i = 0; i < report->provider_count; i++) ready = ready && report->providers[i]->ready;
    return ready;
}

static char *placement_text(const tort_report *report) {
    char *counts = cli_counts_text(report), *line = cli_format("%s", counts);
    int32_t total = report->host + report->unplaced;
    for (int32_t i = 0; i < report->provider_count; i++) total += report->providers[i]->nodes;
    cli_append(&line, " (of %d; %d folded", total, report->folded);
    if (report->fused) cli_append(&line, "; %d fused into others", report->fused);
    cli_append(&line, ")");
    append_nodes(&line, report, FELL_BACK, "fell back");
    if (!report->nodes && report->fallen_back && all_ready(report))
        cli_append(&line, " - %d node%s fell back", report->fallen_back, report->fallen_back == 1 ? "" : "s");
    append_nodes(&line, report, WITHOUT_PROVIDER, "without a provider");
    append_nodes(&line, report, PINNED, "pinned");
    append_nodes(&line, report, IN_FLOAT32, "products of 8-bit numbers in float32");
    for (int32_t i = 0; i < report->provider_count; i++) {
        const tort_report_provider *provider = report->providers[i];
        if (provider->ready) {
            if (*provider->message) cli_append(&line, " - %s: %s", provider->name, provider->message);
            continue;
        }
        cli_append(&line, " - %s did not open: %s, %s", provider->name, provider->code, provider->message);
        if (*provider->cure) cli_append(&line, "; %s", provider->cure);
    }
    if (report->fallen_back || report->unplaced || report->widened)
        cli_append(&line, cli_is_for_firmware(report) ? " (tinyort plan --ep firmware shows all)"
                                                      : " (tinyort plan shows all)");
    free(counts);
    return line;
}

/* chain: names one of several sessions; NULL if there is only one. */
static void print_placement(const tort_report *report, const char *chain) {
    char *line = placement_text(report);
    if (chain)
        cli_print_line(stderr, "placement: --ep %s: %s", chain, line);
    else
        cli_print_line(stderr, "placement: %s", line);
    free(line);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

/* "  Resize_31, Resize_40 (2 Resize-13)  cuda: NO_ATTR ... -> cure; + 7 nodes behind them" */
static void add_reason(cli_table *table, const cli_reason *reason) {
    const tort_report_node *node = reason->examples[0];
    char *names = cli_copy_text("", 0), *why = cli_group_text(reason, CLI_LOSSES);
    for (int32_t i = 0; i < CLI_EXAMPLES && i < reason->nodes; i++)
        cli_append(&names, "%s%s", i ? ", " : "", reason->examples[i]->path);
    cli_append(&names, "%s (", reason->nodes > CLI_EXAMPLES ? " ..." : "");
    if (reason->nodes > 1) cli_append(&names, "%d ", reason->nodes);
    cli_append(&names, "%s%s%s-%d)", node->domain, *node->domain ? "." : "", node->op, node->since);
    cli_cell(table, CLI_BOLD, "%s", names);
    cli_cell(table, CLI_PLAIN, "%s", why);
    free(names);
    free(why);
}

static void print_unplaced(const cli_options *options, const tort_report *report) {
    enum { MAX_LISTED = 20 };
    cli_reasons reasons = cli_reasons_of(report, CLI_LOSSES);
    cli_table *table = cli_table_new("~|", 2);
    int32_t listed = 0;
    while (listed < reasons.count && !reasons.list[listed].examples[0]->provider) listed++;
    cli_print(stderr, "tinyort %s: %d node%s no provider%s\n", options->command, report->unplaced,
              report->unplaced == 1 ? " has" : "s have",
              listed ? ":" : ": nothing that could take them has opened; cause and cure are in the last line");
    for (int32_t i = 0; i < listed && i < MAX_LISTED; i++) add_reason(table, &reasons.list[i]);
    cli_table_print(table, stderr, cli_width(stderr, 0));
    if (listed > MAX_LISTED)
        cli_print(stderr, "  ... and %d more operators and reasons (tinyort plan shows all)\n", listed - MAX_LISTED);
    cli_reasons_free(&reasons);
}

static void print_failure(const cli_options *options, const tort_error *error, const tort_report *report) {
    cli_progress_end();
    if (error->code == TORT_E_PLACEMENT && report && report->unplaced)
        print_unplaced(options, report);
    else
        cli_print_line(stderr, "tinyort %s: %s", options->command, error->msg);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

const char *cli_model_path(const cli_options *options) {
    return options->plan ? options->plan : options->operands[0];
}

cJSON *cli_json_of(const cli_options *options) {
    return options->json ? cli_json_new(options->command) : NULL;
}

static void add_sessions(cJSON *json, const cli_options *options, const cli_ending *ending,
                         tort_report *const *reports) {
    const int32_t count = ending->session_count;
    for (int32_t i = 0; i < count; i++)
        if (reports[i] && !cJSON_HasObjectItem(json, "model"))
            cli_json_model(json, tort_session_model(ending->sessions[i]), cli_model_path(options));
    if (count == 1 && reports[0] && !cJSON_HasObjectItem(json, "providers")) cli_json_placement(json, reports[0]);
    if (count < 2) return;
    cJSON *list = cJSON_AddArrayToObject(json, "sessions");
    for (int32_t i = 0; i < count; i++) {
        if (!reports[i]) continue;
        cJSON *item = cJSON_CreateObject();
        cli_json_text(item, "ep", options->chains.items[i]);
        cli_json_placement(item, reports[i]);
        cJSON_AddItemToArray(list, item);
    }
}

int cli_end(const cli_options *options, const cli_ending *ending) {
    const int32_t count = ending->session_count;
    const tort_error *error = ending->error;
    const int result = ending->exit_status ? ending->exit_status : cli_exit_status(error->code);
    tort_report **reports = cli_alloc((size_t)count, sizeof *reports), *last = NULL;
    fflush(stdout);
    for (int32_t i = 0; i < count; i++) {
        if (!ending->sessions[i]) continue;
        reports[i] = last = cli_report(ending->sessions[i]);
    }
    if (options->json) {
        cJSON *json = ending->json ? ending->json : cli_json_new(options->command);
        if (ending->total) cli_json_placement(json, ending->total);
        add_sessions(json, options, ending, reports);
        if (error->code) cli_json_error(json, error, result, last);
        cli_json_print(json, options->json_lines);
    }
    if (error->code) print_failure(options, error, last);
    fflush(stdout);
    cli_progress_end();
    for (int32_t i = 0; i < count; i++) {
        if (reports[i]) print_placement(reports[i], count > 1 ? options->chains.items[i] : NULL);
        tort_report_free(reports[i]);
    }
    if (ending->total) print_placement(ending->total, NULL);
    free(reports);
    return result;
}

int cli_end_plain(const cli_options *options, const tort_error *error, cJSON *json) {
    return cli_end(options, &(cli_ending){.error = error, .json = json});
}
