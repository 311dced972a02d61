/* annotate.c - copies a model's bytes, and puts into each node where it runs (annotate.h).
 *
 * Messages are copied field by field in the wire format of protobuf, so that whatever else is in the file stays as it
 * is; only the messages that enclose nodes get new lengths. The nodes of the file and those of the loaded model are
 * paired by graph and by their index there. Field numbers are those of loader/onnx.proto. */
#include "runtime/cli/annotate.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/files/new_file.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/lock.h"
#include "runtime/cli/reasons.h"
#include "runtime/graph/graph.h"

#define MAX_FILE ((size_t)INT32_MAX) /* of a protobuf message */
#define OURS "tinyort."

enum { MODEL_GRAPH = 7, GRAPH_NODE = 1, NODE_ATTRIBUTE = 5, NODE_METADATA = 9 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_GRAPH = 6, ATTRIBUTE_GRAPHS = 11, ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
enum { MAX_DEPTH = 100 }; /* of graphs, as in loader/wire.c */

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

typedef struct buffer {
    uint8_t *bytes;
    size_t size, capacity;
} buffer;

static void put(buffer *out, const void *bytes, size_t size) {
    if (size > out->capacity - out->size) {
        out->capacity = 2 * out->capacity + size + 64;
        out->bytes = cli_realloc(out->bytes, out->capacity, 1);
    }
    if (size) memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

static void put_varint(buffer *out, uint64_t value) {
    uint8_t bytes[10];
    size_t size = 0;
    do {
        bytes[size++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    put(out, bytes, size);
}

static void put_field(buffer *out, uint32_t number, const void *bytes, size_t size) {
    put_varint(out, number << 3 | BYTES);
    put_varint(out, size);
    put(out, bytes, size);
}

static void put_entry(buffer *out, const char *key, const char *value) {
    buffer entry = {0};
    put_field(&entry, ENTRY_KEY, key, strlen(key));
    put_field(&entry, ENTRY_VALUE, value, strlen(value));
    put_field(out, NODE_METADATA, entry.bytes, entry.size);
    free(entry.bytes);
}

/* A field: all of it, tag included, and its contents if they are bytes. */
typedef struct field {
    uint32_t number, kind;
    const uint8_t *whole, *contents;
    size_t whole_size, size;
} field;

static bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    *value = 0;
    for (int shift = 0; shift < 64 && *at < end; shift += 7) {
        const uint8_t byte = *(*at)++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

/* False: the bytes are no message. */
static bool take_field(const uint8_t **at, const uint8_t *end, field *out) {
    uint64_t tag, value, skipped = 0;
    out->whole = *at;
    if (!take_varint(at, end, &tag)) return false;
    out->kind = tag & 7;
    out->number = (uint32_t)(tag >> 3);
    if (out->kind == VARINT && !take_varint(at, end, &value)) return false;
    if (out->kind == BYTES && !take_varint(at, end, &skipped)) return false;
    if (out->kind == FIXED32) skipped = 4;
    if (out->kind == FIXED64) skipped = 8;
    if ((out->kind > BYTES && out->kind != FIXED32) || skipped > (uint64_t)(end - *at)) return false;
    out->contents = *at;
    out->size = (size_t)skipped;
    *at += skipped;
    out->whole_size = (size_t)(*at - out->whole);
    return true;
}

static bool is_text(const field *f, const char *text, size_t length) {
    return f->size >= length && !memcmp(f->contents, text, length);
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
static void put_places(const writer *w, int32_t g, int32_t first, buffer *out) {
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

static bool copy_graph(const writer *w, int32_t g, const uint8_t *at, size_t size, int depth, buffer *out);

/* The model's graph that is this attribute's; -1: not known. */
static int32_t body_of(const writer *w, int32_t g, int32_t node, const field *attribute, int32_t place) {
    const uint8_t *at = attribute->contents, *end = at + attribute->size;
    const tort_node *owner = node < 0 ? NULL : &w->model->graphs[g].nodes[node];
    for (field f; owner && at < end && take_field(&at, end, &f);)
        for (int32_t i = 0; f.number == ATTRIBUTE_NAME && i < owner->attribute_count; i++) {
            const tort_attribute *known = &owner->attributes[i];
            const bool graphs = known->kind == TORT_ATTR_GRAPH || known->kind == TORT_ATTR_GRAPHS;
            if (strlen(known->name) == f.size && is_text(&f, known->name, f.size) && graphs && place < known->count)
                return known->u.graphs[place];
        }
    return -1;
}

static bool copy_attribute(const writer *w, int32_t g, int32_t node, const field *attribute, int depth, buffer *out) {
    const uint8_t *at = attribute->contents, *end = at + attribute->size;
    int32_t place = 0;
    for (field f; at < end;) {
        if (!take_field(&at, end, &f)) return false;
        if (f.kind != BYTES || (f.number != ATTRIBUTE_GRAPH && f.number != ATTRIBUTE_GRAPHS)) {
            put(out, f.whole, f.whole_size);
            continue;
        }
        buffer made = {0};
        const bool good = copy_graph(w, body_of(w, g, node, attribute, place++), f.contents, f.size, depth + 1, &made);
        put_field(out, f.number, made.bytes, made.size);
        free(made.bytes);
        if (!good) return false;
    }
    return true;
}

/* An entry of ours, from an earlier copy. */
static bool is_ours(const field *entry) {
    const uint8_t *at = entry->contents, *end = at + entry->size;
    for (field f; at < end && take_field(&at, end, &f);)
        if (f.number == ENTRY_KEY && is_text(&f, OURS, strlen(OURS))) return true;
    return false;
}

/* node: the first in the model's graph g that is this one; -1: none. */
static bool copy_node(const writer *w, int32_t g, int32_t node, const field *from, int depth, buffer *out) {
    const uint8_t *at = from->contents, *end = at + from->size;
    for (field f; at < end;) {
        if (!take_field(&at, end, &f)) return false;
        if (f.number == NODE_METADATA && is_ours(&f)) continue;
        if (f.number != NODE_ATTRIBUTE || f.kind != BYTES) {
            put(out, f.whole, f.whole_size);
            continue;
        }
        buffer made = {0};
        const bool good = copy_attribute(w, g, node, &f, depth, &made);
        put_field(out, NODE_ATTRIBUTE, made.bytes, made.size);
        free(made.bytes);
        if (!good) return false;
    }
    if (node >= 0) put_places(w, g, node, out);
    return true;
}

static bool copy_graph(const writer *w, int32_t g, const uint8_t *at, size_t size, int depth, buffer *out) {
    const uint8_t *end = at + size;
    int32_t index = 0;
    if (depth > MAX_DEPTH) return false;
    for (field f; at < end;) {
        if (!take_field(&at, end, &f)) return false;
        if (f.number != GRAPH_NODE || f.kind != BYTES) {
            put(out, f.whole, f.whole_size);
            continue;
        }
        buffer made = {0};
        const int32_t node = g >= 0 && index < w->counts[g] ? w->nodes[g][index] : -1;
        const bool good = copy_node(w, g, node, &f, depth, &made);
        put_field(out, GRAPH_NODE, made.bytes, made.size);
        free(made.bytes);
        if (!good) return false;
        index++;
    }
    return true;
}

static bool copy_model(const writer *w, const uint8_t *at, size_t size, buffer *out) {
    const uint8_t *end = at + size;
    for (field f; at < end;) {
        if (!take_field(&at, end, &f)) return false;
        if (f.number != MODEL_GRAPH || f.kind != BYTES) {
            put(out, f.whole, f.whole_size);
            continue;
        }
        buffer graph = {0};
        const bool good = copy_graph(w, 0, f.contents, f.size, 0, &graph);
        put_field(out, MODEL_GRAPH, graph.bytes, graph.size);
        free(graph.bytes);
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
    buffer out = {0};
    tort_status status = cli_read_file(from, MAX_FILE, &bytes, &size, error);
    if (status) return status;
    writer w = open_writer(model, report);
    if (!copy_model(&w, bytes, size, &out))
        status = tort_fail(error, TORT_E_INPUT, "'%s' is not the file any more that was loaded", from);
    else if (out.size > MAX_FILE)
        status = tort_fail(error, TORT_E_UNSUPPORTED, "the copy of '%s' would have more than 2 GiB", from);
    if (!status) status = cli_failed_write(cli_new_file_of(to, out.bytes, out.size, error), error);
    close_writer(&w);
    free(out.bytes);
    free(bytes);
    return status;
}
