/* placement.c - the one line that ends every run, and the list of nodes that nobody takes. */
#include <string.h>

#include "runtime/cli/cli.h"

#define NODES_NAMED 3

/* The refusal that sent a node away from the first provider of the chain; NULL if none did. */
static const tort_report_verdict *refusal(const tort_report_node *node) {
    for (int32_t i = 0; i < node->verdict_count; i++) {
        const tort_report_verdict *verdict = &node->verdicts[i];
        bool elsewhere = !node->provider || strcmp(verdict->provider, node->provider) != 0;
        if (verdict->code != TORT_YES && elsewhere) return verdict;
    }
    return NULL;
}

static bool provider_is_down(const tort_report_verdict *verdict) {
    return verdict->code == TORT_PROVIDER_DOWN || verdict->code == TORT_DISABLED;
}

/* " - 3 nodes fell back: Resize_31 NO_ATTR, ...". Nodes that left because their provider is down are not listed: the
 * provider is. */
static void print_nodes(const tort_report *report, bool placed, const char *text, FILE *file) {
    int32_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        int32_t named = 0;
        for (int32_t i = 0; i < report->node_count; i++) {
            const tort_report_node *node = &report->nodes[i];
            const tort_report_verdict *verdict = refusal(node);
            if ((node->provider != NULL) != placed || (placed && (!verdict || provider_is_down(verdict)))) continue;
            if (pass == 0)
                count++;
            else if (named++ < NODES_NAMED)
                fprintf(file, "%s%s %s", named > 1 ? ", " : " ", node->path,
                        verdict ? tort_verdict_name(verdict->code) : "");
        }
        if (pass == 0 && count == 0) return;
        if (pass == 0)
            fprintf(file, " - %d node%s %s:", count, count == 1 ? "" : "s", text);
        else if (named > NODES_NAMED)
            fprintf(file, " ...");
    }
}

tort_report *cli_report(tort_session *session) {
    tort_report *report;
    tort_session_report(session, &report, NULL);
    return cli_check_memory(report);
}

void cli_print_placement(tort_session *session, FILE *file) {
    tort_report *report = cli_report(session);
    cli_progress_end();
    fprintf(file, "placement:");
    int32_t total = report->host + report->unplaced;
    bool first = true;
    for (int32_t i = 0; i < report->provider_count; i++) {
        const tort_report_provider *provider = &report->providers[i];
        total += provider->nodes;
        fprintf(file, "%s%d %s", first ? " " : ", ", provider->nodes, provider->name);
        first = false;
    }
    if (report->host) fprintf(file, ", %d host", report->host);
    fprintf(file, " (of %d; %d folded)", total, report->folded);
    print_nodes(report, true, "fell back", file);
    print_nodes(report, false, "without a provider", file);
    for (int32_t i = 0; i < report->provider_count; i++) {
        const tort_report_provider *provider = &report->providers[i];
        if (provider->ready) continue;
        fprintf(file, " - %s did not open: %s, %s", provider->name, provider->code, provider->message);
        if (*provider->cure) fprintf(file, "; %s", provider->cure);
    }
    if (report->fallen_back || report->unplaced) fprintf(file, " (tinyort plan shows all)");
    fputc('\n', file);
    tort_report_free(report);
}

static bool only_down(const tort_report_node *node) {
    bool down = true;
    for (int32_t k = 0; k < node->verdict_count; k++) down = down && provider_is_down(&node->verdicts[k]);
    return down;
}

static void print_unplaced(const tort_report_node *node) {
    fprintf(stderr, "  %s (%s%s%s-%d):", node->path, node->domain, *node->domain ? "." : "", node->op, node->since);
    for (int32_t k = 0; k < node->verdict_count; k++) {
        const tort_report_verdict *verdict = &node->verdicts[k];
        if (verdict->code == TORT_YES) continue;
        fprintf(stderr, "%s %s %s", k ? ";" : "", verdict->provider, tort_verdict_name(verdict->code));
        if (*verdict->message) fprintf(stderr, ", %s", verdict->message);
        if (*verdict->cure) fprintf(stderr, " (%s)", verdict->cure);
    }
    fputc('\n', stderr);
}

static int fail_unplaced(const char *command, const tort_error *error, const tort_report *report) {
    int32_t listed = 0;
    for (int32_t i = 0; i < report->node_count; i++)
        listed += !report->nodes[i].provider && !only_down(&report->nodes[i]);
    tort_error brief = *error;
    snprintf(brief.msg, sizeof brief.msg, "%d node%s no provider%s", report->unplaced,
             report->unplaced == 1 ? " has" : "s have",
             listed ? ":" : ": nothing that could take them has opened; cause and cure are in the last line");
    int result = cli_fail(command, &brief);
    for (int32_t i = 0; i < report->node_count; i++)
        if (!report->nodes[i].provider && !only_down(&report->nodes[i])) print_unplaced(&report->nodes[i]);
    return result;
}

int cli_fail_session(const char *command, const tort_error *error, tort_session *session) {
    if (error->code != TORT_E_PLACEMENT || !session) return cli_fail(command, error);
    tort_report *report = cli_report(session);
    int result = report->unplaced ? fail_unplaced(command, error, report) : cli_fail(command, error);
    tort_report_free(report);
    return result;
}
