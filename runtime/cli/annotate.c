/* annotate.c - copies a model's bytes, and puts into each node where it runs (annotate.h).
 *
 * Messages are copied field by field in the wire format of protobuf, so that whatever else is in the file stays as it
 * is; only the messages that enclose nodes get new lengths. The nodes of the file and those of the loaded model are
 * paired by graph and by their index there. */
#include "runtime/cli/annotate.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/files/fields.h"
#include "runtime/cli/files/new_file.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/lock.h"
#include "runtime/cli/reasons.h"
#include "runtime/core/graph/graph.h"

#define OURS "tinyort."

enum { MAX_DEPTH = 100 }; /* of graphs, as in loader/wire.c */

static void put_entry(cli_message *out, const char *key, const char *value) {
    cli_message entry = {0};
    cli_put_text(&entry, CLI_ENTRY_KEY, key);
    cli_put_text(&entry, CLI_ENTRY_VALUE, value);
    cli_put_message(out, CLI_NODE_METADATA, &entry);
}

/* ---- what is put in ---------------------------------------------------------------------------------------------- */

typedef struct writer {
    const tort_model *model;
    cli_lock placed; /* the nodes of the report, by name */
    int32_t **nodes; /* by graph and file_index: the first node of the model's graph; -1: none */
    int32_t *counts; /* of these lists */
} writer;

static void add_once(char **list, const char *text) {
    if (!strstr(*list, text)) cli_append(list, "%s%s", **list ? ", " : "", text);
}

/* Puts in what the report says of the model's nodes that are this one of the file: several if it calls a function. */
static void put_places(const writer *w, int32_t g, int32_t first, cli_message *out) {
    const tort_graph *graph = &w->model->graphs[g];
    char *provider = cli_copy_text("", 0), *kernel = cli_copy_text("", 0), *why = cli_copy_text("", 0);
    for (int32_t i = first; i < graph->node_count; i++) {
        if (graph->nodes[i].file_index != graph->nodes[first].file_index) continue;
        const tort_report_node *node = cli_placed_node(&w->placed, graph, &graph->nodes[i]);
        if (!node) continue;
        char *reason = cli_reason_text(node, CLI_LOSSES, true);
        add_once(&provider, node->provider ? node->provider : "nowhere");
        add_once(&kernel, node->kernel);
        add_once(&why, reason);
        free(reason);
    }
    if (*provider) put_entry(out, OURS "provider", provider);
    if (*kernel) put_entry(out, OURS "kernel", kernel);
    if (*why) put_entry(out, OURS "why", why);
    free(provider);
    free(kernel);
    free(why);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static bool copy_graph(const writer *w, int32_t g, const uint8_t *at, size_t size, int depth, cli_message *out);

/* The model's graph that is this attribute's; -1: not known. */
static int32_t body_of(const writer *w, int32_t g, int32_t node, const cli_field *attribute, int32_t place) {
    const uint8_t *at = attribute->contents, *end = at + attribute->size;
    const tort_node *owner = node < 0 ? NULL : &w->model->graphs[g].nodes[node];
    for (cli_field f; owner && at < end && cli_take_field(&at, end, &f);)
        for (int32_t i = 0; f.number == CLI_ATTRIBUTE_NAME && i < owner->attribute_count; i++) {
            const tort_attribute *known = &owner->attributes[i];
            const bool graphs = known->kind == TORT_ATTR_GRAPH || known->kind == TORT_ATTR_GRAPHS;
            if (strlen(known->name) == f.size && cli_field_begins(&f, known->name, f.size) && graphs &&
                place < known->count)
                return known->u.graphs[place];
        }
    return -1;
}

static bool copy_attribute(const writer *w, int32_t g, int32_t node, const cli_field *attribute, int depth,
                           cli_message *out) {
    const uint8_t *at = attribute->contents, *end = at + attribute->size;
    int32_t place = 0;
    for (cli_field f; at < end;) {
        if (!cli_take_field(&at, end, &f)) return false;
        if (f.kind != CLI_WIRE_BYTES || (f.number != CLI_ATTRIBUTE_GRAPH && f.number != CLI_ATTRIBUTE_GRAPHS)) {
            cli_put_bytes(out, f.whole, f.whole_size);
            continue;
        }
        cli_message made = {0};
        const bool good = copy_graph(w, body_of(w, g, node, attribute, place++), f.contents, f.size, depth + 1, &made);
        cli_put_message(out, f.number, &made);
        if (!good) return false;
    }
    return true;
}

/* An entry of ours, from an earlier copy. */
static bool is_ours(const cli_field *entry) {
    const uint8_t *at = entry->contents, *end = at + entry->size;
    for (cli_field f; at < end && cli_take_field(&at, end, &f);)
        if (f.number == CLI_ENTRY_KEY && cli_field_begins(&f, OURS, strlen(OURS))) return true;
    return false;
}

/* node: the first in the model's graph g that is this one; -1: none. */
static bool copy_node(const writer *w, int32_t g, int32_t node, const cli_field *from, int depth, cli_message *out) {
    const uint8_t *at = from->contents, *end = at + from->size;
    for (cli_field f; at < end;) {
        if (!cli_take_field(&at, end, &f)) return false;
        if (f.number == CLI_NODE_METADATA && is_ours(&f)) continue;
        if (f.number != CLI_NODE_ATTRIBUTE || f.kind != CLI_WIRE_BYTES) {
            cli_put_bytes(out, f.whole, f.whole_size);
            continue;
        }
        cli_message made = {0};
        const bool good = copy_attribute(w, g, node, &f, depth, &made);
        cli_put_message(out, CLI_NODE_ATTRIBUTE, &made);
        if (!good) return false;
    }
    if (node >= 0) put_places(w, g, node, out);
    return true;
}

static bool copy_graph(const writer *w, int32_t g, const uint8_t *at, size_t size, int depth, cli_message *out) {
    const uint8_t *end = at + size;
    int32_t index = 0;
    if (depth > MAX_DEPTH) return false;
    for (cli_field f; at < end;) {
        if (!cli_take_field(&at, end, &f)) return false;
        if (f.number != CLI_GRAPH_NODE || f.kind != CLI_WIRE_BYTES) {
            cli_put_bytes(out, f.whole, f.whole_size);
            continue;
        }
        cli_message made = {0};
        const int32_t node = g >= 0 && index < w->counts[g] ? w->nodes[g][index] : -1;
        const bool good = copy_node(w, g, node, &f, depth, &made);
        cli_put_message(out, CLI_GRAPH_NODE, &made);
        if (!good) return false;
        index++;
    }
    return true;
}

static bool copy_model(const writer *w, const uint8_t *at, size_t size, cli_message *out) {
    const uint8_t *end = at + size;
    for (cli_field f; at < end;) {
        if (!cli_take_field(&at, end, &f)) return false;
        if (f.number != CLI_MODEL_GRAPH || f.kind != CLI_WIRE_BYTES) {
            cli_put_bytes(out, f.whole, f.whole_size);
            continue;
        }
        cli_message graph = {0};
        const bool good = copy_graph(w, 0, f.contents, f.size, 0, &graph);
        cli_put_message(out, CLI_MODEL_GRAPH, &graph);
        if (!good) return false;
    }
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static writer open_writer(const tort_model *model, const tort_report *report) {
    const size_t graphs = (size_t)model->graph_count;
    writer w = {.model = model,
                .placed = cli_lock_of(report),
                .nodes = cli_alloc(graphs, sizeof *w.nodes),
                .counts = cli_alloc(graphs, sizeof *w.counts)};
    for (int32_t g = 0; g < model->graph_count; g++) {
        const tort_graph *graph = &model->graphs[g];
        for (int32_t i = 0; i < graph->node_count; i++)
            if (graph->nodes[i].file_index >= w.counts[g]) w.counts[g] = graph->nodes[i].file_index + 1;
        w.nodes[g] = cli_alloc((size_t)w.counts[g], sizeof *w.nodes[g]);
        memset(w.nodes[g], -1, (size_t)w.counts[g] * sizeof *w.nodes[g]);
        for (int32_t i = graph->node_count - 1; i >= 0; i--)
            if (graph->nodes[i].file_index >= 0) w.nodes[g][graph->nodes[i].file_index] = i;
    }
    return w;
}

static void close_writer(writer *w) {
    for (int32_t g = 0; g < w->model->graph_count; g++) free(w->nodes[g]);
    free(w->nodes);
    free(w->counts);
    cli_lock_free(&w->placed);
}

tort_status cli_annotate(const char *from, const char *to, const tort_model *model, const tort_report *report,
                         tort_error *error) {
    uint8_t *bytes;
    size_t size;
    cli_message out = {0};
    tort_status status = cli_read_file(from, CLI_MAX_MESSAGE, &bytes, &size, error);
    if (status) return status;
    writer w = open_writer(model, report);
    if (!copy_model(&w, bytes, size, &out))
        status = tort_fail(error, TORT_E_INPUT, "'%s' is not the file any more that was loaded", from);
    else if (out.size > CLI_MAX_MESSAGE)
        status = tort_fail(error, TORT_E_UNSUPPORTED, "the copy of '%s' would have more than 2 GiB", from);
    if (!status) status = cli_failed_write(cli_new_file_of(to, out.bytes, out.size, error), error);
    close_writer(&w);
    free(out.bytes);
    free(bytes);
    return status;
}
