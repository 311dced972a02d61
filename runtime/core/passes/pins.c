/* pins.c - reads pins "NODE=provider" and "#12=provider". place.c offers a pinned node to that provider only.
 *
 * No pin is ignored: an unknown node or provider, contradicting pins, and a pin on a node that runs on no provider are
 * errors. This file must not decide where a node runs. Read next: place.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/lowered/lowered.h"
#include "runtime/core/passes/passes.h"
#include "runtime/core/providers/chain.h"

typedef struct named_node {
    const char *name; /* the node's path: "Loop_3/body/Add_1" inside a body */
    tort_unit *unit;
    int32_t number; /* counted through the nodes of all graphs */
} named_node;

typedef struct named_nodes {
    named_node *sorted;
    size_t count;
} named_nodes;

static int compare_names(const void *a, const void *b) {
    return strcmp(((const named_node *)a)->name, ((const named_node *)b)->name);
}

/* Finds a node by name, or by its number "#12"; NULL: there is none. Names take precedence. */
static const named_node *node_named(const named_nodes *nodes, const char *text) {
    const named_node *found =
        bsearch(&(named_node){.name = text}, nodes->sorted, nodes->count, sizeof *nodes->sorted, compare_names);
    int number, length = -1;
    if (found || sscanf(text, "#%d%n", &number, &length) != 1 || length < 0 || text[length]) return found;
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->sorted[i].number == number) return &nodes->sorted[i];
    return NULL;
}

static tort_status read_pin(tort_session *session, const named_nodes *nodes, const char *pin, tort_error *error) {
    const char *equals = strrchr(pin, '=');
    if (!equals) return tort_fail(error, TORT_E_USAGE, "pin \"%s\" is not of the form NODE=provider", pin);
    const char *name = tort_arena_text(&session->arena, pin, (size_t)(equals - pin));
    if (!name) return tort_out_of_memory(error, 0);
    const tort_link *link = tort_link_named(session, equals + 1);
    const named_node *node = node_named(nodes, name);
    if (!node)
        return tort_fail(error, TORT_E_USAGE,
                         "pin \"%s\": the model has no node \"%s\" (tinyort plan lists names; #12 pins by index)", pin,
                         name);
    if (!link) return tort_fail(error, TORT_E_USAGE, "pin \"%s\": provider %s is not in the chain", pin, equals + 1);
    tort_unit *unit = node->unit;
    const int32_t to = (int32_t)(link - session->chain);
    if (unit->pinned && unit->pin != to)
        return tort_fail(error, TORT_E_USAGE, "pin \"%s\": node \"%s\" is pinned to %s already", pin, node->name,
                         session->chain[unit->pin].provider->name);
    unit->pinned = true;
    unit->pin = to;
    return TORT_OK;
}

/* False: out of memory. */
static bool name_nodes(tort_session *session, named_nodes *nodes) {
    for (int32_t g = 0; g < session->graph_count; g++) {
        tort_lowered *lowered = &session->graphs[g];
        const tort_graph *graph = &lowered->graph;
        for (int32_t i = 0; lowered->lowered && i < graph->node_count; i++) {
            const char *name = graph->nodes[i].name;
            if (*graph->path) name = tort_arena_format(&session->arena, "%s/%s", graph->path, name);
            if (!name) return false;
            nodes->sorted[nodes->count++] = (named_node){name, &lowered->units[i], graph->first + i};
        }
    }
    qsort(nodes->sorted, nodes->count, sizeof *nodes->sorted, compare_names);
    return true;
}

tort_status tort_read_pins(tort_session *session, tort_error *error) {
    const tort_graph *last = &session->graphs[session->graph_count - 1].graph;
    const size_t room = (size_t)last->first + (size_t)last->node_count + 1;
    if (!session->options.pin_count) return TORT_OK;
    named_nodes nodes = {.sorted = tort_alloc_zero(&session->env, room, sizeof *nodes.sorted)};
    tort_status status =
        nodes.sorted && name_nodes(session, &nodes) ? TORT_OK : tort_out_of_memory(error, room * sizeof *nodes.sorted);
    for (int32_t i = 0; !status && i < session->options.pin_count; i++)
        status = read_pin(session, &nodes, session->options.pins[i], error);
    tort_free(&session->env, nodes.sorted, room * sizeof *nodes.sorted);
    return status;
}

static tort_status check_pin(const tort_lowered *lowered, int32_t index, tort_error *error) {
    const tort_unit *unit = &lowered->units[index];
    const bool host = unit->provider == TORT_AT_HOST, folded = unit->provider == TORT_AT_FOLDED;
    const bool unread = folded && tort_is_unread(unit);
    if (!unit->pinned || (!host && !folded)) return TORT_OK;
    tort_fail(error, TORT_E_USAGE, "is pinned to %s, but runs on no provider: %s; drop the pin",
              lowered->session->chain[unit->pin].provider->name,
              host     ? "it is done by the executor, wherever its input is (host)"
              : unread ? "no output of the model needs it (folded, unread)"
                       : "it is computed while planning (folded)");
    tort_error_at_node(error, &lowered->graph, index);
    return TORT_E_USAGE;
}

tort_status tort_check_pins(const tort_session *session, tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t g = 0; g < session->graph_count; g++) {
        const tort_lowered *lowered = &session->graphs[g];
        for (int32_t i = 0; !status && lowered->lowered && i < lowered->graph.node_count; i++)
            status = check_pin(lowered, i, error);
    }
    return status;
}
