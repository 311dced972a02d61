/* report.c - where parts run, for the host's log, and what the provider of a session took and what it declined, as the
 * JSON of its option `report` (plugin.h); the keys are in `tinyort schema`.
 *
 * The host compiles the parts of a graph after it has asked for all of them, and graphs in bodies before the graph
 * around them; so the file is written anew whenever something is added. Everything beyond ASCII is escaped: names of a
 * model are untrusted, and a report is shown on terminals. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/locale.h"
#include "runtime/core/base/utf8.h"
#include "runtime/plugin/plugin.h"

bool plugin_text_open(plugin_text *text) {
    text->out = open_memstream(&text->text, &text->size);
    return text->out;
}

void plugin_text_free(plugin_text *text) {
    if (text->out) fclose(text->out);
    free(text->text);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void put_string(FILE *out, const char *text) {
    const size_t length = strlen(text);
    fputc('"', out);
    for (size_t i = 0, step; i < length; i += step) {
        uint32_t c = 0xfffd;
        step = tort_utf8_decode(text + i, length - i, &c);
        if (!step) step = 1; /* a byte that is not UTF-8 */
        if (c > 0xffff)
            fprintf(out, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
        else if (c < 0x20 || c > 0x7e)
            fprintf(out, "\\u%04" PRIx32, c);
        else
            fprintf(out, "%s%c", c == '"' || c == '\\' ? "\\" : "", (char)c);
    }
    fputc('"', out);
}

void plugin_put(FILE *out, ...) {
    va_list pairs;
    bool first = true;
    va_start(pairs, out);
    for (const char *key = va_arg(pairs, const char *); key; key = va_arg(pairs, const char *), first = false) {
        const char *text = va_arg(pairs, const char *);
        fprintf(out, "%s\"%s\": ", first ? "" : ", ", key);
        if (text)
            put_string(out, text);
        else
            fputs("null", out);
    }
    va_end(pairs);
}

/* Writes a further member. */
static void put_number(FILE *out, const char *key, int64_t number) {
    fprintf(out, ", \"%s\": %" PRId64, key, number);
}

/* ---- a part ------------------------------------------------------------------------------------------------------ */

static void put_provider(FILE *out, const tort_report_provider *provider) {
    fputs("{", out);
    plugin_put(out, "name", provider->name, "status", provider->ready ? "ready" : "down", "code", provider->code,
               "description", provider->description, "message", provider->message, "cure", provider->cure, NULL);
    put_number(out, "threads", provider->threads);
    fputs("}", out);
}

static void put_verdict(FILE *out, const tort_report_verdict *verdict) {
    fputs("{", out);
    plugin_put(out, "provider", verdict->provider, "kernel", verdict->kernel, "code", tort_verdict_name(verdict->code),
               "message", verdict->message, "cure", verdict->cure, NULL);
    if (verdict->root < 0)
        fputs(", \"root\": null", out);
    else
        put_number(out, "root", verdict->root);
    fputs("}", out);
}

static void put_node(FILE *out, const tort_report_node *node) {
    fputs("{", out);
    plugin_put(out, "path", node->path, "op", node->op, "domain", node->domain, "provider", node->provider, "kernel",
               node->kernel, NULL);
    put_number(out, "index", node->index);
    put_number(out, "since", node->since);
    fprintf(out, ", \"fell_back\": %s, \"from\": [", node->fell_back ? "true" : "false");
    for (int32_t i = 0; i < node->from_count; i++) {
        fputs(i ? ", " : "", out);
        put_string(out, node->from[i]);
    }
    fputs("], \"verdicts\": [", out);
    for (int32_t i = 0; i < node->verdict_count; i++) {
        fputs(i ? ", " : "", out);
        put_verdict(out, node->verdicts[i]);
    }
    fputs("]}", out);
}

/* How many nodes run where, as by `tinyort plan`. */
static void put_summary(FILE *out, const tort_report *report) {
    fprintf(out, "{\"host\": %d", (int)report->host);
    for (int32_t i = 0; i < report->provider_count; i++)
        put_number(out, report->providers[i]->name, report->providers[i]->nodes);
    put_number(out, "folded", report->folded);
    put_number(out, "fused", report->fused);
    put_number(out, "unplaced", report->unplaced);
    put_number(out, "fallen_back", report->fallen_back);
    fputs("}", out);
}

/* Adds a part to the file. */
static void add_part(plugin_ep *ep, const tort_report *report) {
    FILE *out = ep->parts.out;
    fprintf(out, "%s\n  {\"summary\": ", ep->part_count++ ? "," : "");
    put_summary(out, report);
    fputs(",\n  \"providers\": [", out);
    for (int32_t i = 0; i < report->provider_count; i++) {
        fputs(i ? ", " : "", out);
        put_provider(out, report->providers[i]);
    }
    fprintf(out, "],\n  \"copies\": %d,\n  \"nodes\": [", (int)report->copy_count);
    for (int32_t i = 0; i < report->node_count; i++) {
        fputs(i ? ",\n    " : "\n    ", out);
        put_node(out, report->nodes[i]);
    }
    fputs("]}", out);
}

/* Writes where the nodes of a part run, as text; true if a provider of the chain did not open, or a node is not on the
 * first that could have been. */
static bool write_placement(FILE *out, const tort_report *report) {
    bool lost = false;
    fputs("tinyort: a part runs on", out);
    for (int32_t i = 0; i < report->provider_count; i++)
        fprintf(out, "%s %s: %d nodes, %d copies in", i ? "," : "", report->providers[i]->name,
                (int)report->providers[i]->nodes, (int)report->providers[i]->copies_in);
    for (int32_t i = 0; i < report->provider_count; i++) {
        const tort_report_provider *provider = report->providers[i];
        lost = lost || !provider->ready;
        if (!provider->ready)
            fprintf(out, "\n%s did not open: %s, %s; %s", provider->name, provider->code, provider->message,
                    provider->cure);
    }
    for (int32_t i = 0; i < report->node_count; i++) {
        const tort_report_node *node = report->nodes[i];
        const tort_report_verdict *why = node->fell_back && node->verdict_count ? node->verdicts[0] : NULL;
        lost = lost || node->fell_back;
        if (why && why->code != TORT_PROVIDER_DOWN)
            fprintf(out, "\n%s (%s) is on %s: %s %s", node->path, node->op, node->provider,
                    tort_verdict_name(why->code), why->message);
    }
    return lost;
}

void plugin_tell_part(plugin_ep *ep, tort_session *session) {
    tort_report *report = NULL;
    plugin_text text = {0};
    if (plugin_text_open(&text) && !tort_session_report(session, &report, NULL)) {
        const bool lost = write_placement(text.out, report);
        fflush(text.out);
        plugin_log(ep, lost ? ORT_LOG_WARNING : ORT_LOG_INFO, text.text);
        add_part(ep, report);
    }
    tort_report_free(report);
    plugin_text_free(&text);
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

void plugin_report_write(plugin_ep *ep) {
    if (!ep->report) return;
    fflush(ep->declined.out);
    fflush(ep->parts.out);
    FILE *file = fopen(ep->report, "w");
    bool good = file;
    if (file) {
        fputs("{\"schema\": 1, ", file);
        plugin_put(file, "command", "onnxruntime", "version", tort_version(), "host", ep->host->version, "chain",
                   ep->chain, "refused", ep->refusal, NULL);
        put_number(file, "taken", ep->taken_count);
        fprintf(file, ",\n\"declined\": [%s],\n\"parts\": [%s]}\n", ep->declined.text, ep->parts.text);
        good = !ferror(file);
        good = !fclose(file) && good;
    }
    char text[300];
    if (!good) tort_snprintf(text, sizeof text, "tinyort: option report: %.200s: %s", ep->report, tort_strerror(errno));
    if (!good) plugin_log(ep, ORT_LOG_WARNING, text);
}
