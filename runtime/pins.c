/* pins.c - reads "NODE=provider" and "#12=provider": which node the user wants where. place.c asks only that provider.
 *
 * A pin is never lost: an unknown node or provider, two pins that disagree, and a pin on a node that no provider runs
 * are errors. It must not decide where a node runs. Read next: place.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/session_state.h"

typedef struct named_node {
    const char *name;
    int32_t index;
} named_node;

static int compare_names(const void *a, const void *b) {
    return strcmp(((const named_node *)a)->name, ((const named_node *)b)->name);
}

/* The node that is called so, or whose index "#12" tells; -1: there is none. A name wins over an index. */
static int32_t node_named(const tort_session *session, const named_node *sorted, const char *text) {
    const size_t count = (size_t)session->graph->node_count;
    const named_node *found = bsearch(&(named_node){text, 0}, sorted, count, sizeof *sorted, compare_names);
    if (found) return found->index;
    int index, length = -1;
    if (sscanf(text, "#%d%n", &index, &length) != 1 || length < 0 || text[length]) return -1;
    return index >= 0 && index < session->graph->node_count ? index : -1;
}

static tort_status read_pin(tort_session *session, const named_node *sorted, const char *pin, tort_error *error) {
    const char *equals = strrchr(pin, '=');
    if (!equals) return tort_fail(error, TORT_E_USAGE, "pin \"%s\" is not of the form NODE=provider", pin);
    const char *name = tort_arena_text(&session->arena, pin, (size_t)(equals - pin));
    if (!name) return tort_out_of_memory(error, 0);
    const tort_link *link = tort_link_named(session, equals + 1);
    const int32_t index = node_named(session, sorted, name);
    if (index < 0)
        return tort_fail(error, TORT_E_USAGE,
                         "pin \"%s\": the model has no node \"%s\" (tinyort plan lists names; #12 pins by index)", pin,
                         name);
    if (!link) return tort_fail(error, TORT_E_USAGE, "pin \"%s\": provider %s is not in the chain", pin, equals + 1);
    tort_placement *placement = &session->placements[index];
    const int32_t to = (int32_t)(link - session->chain);
    if (placement->pinned && placement->pin != to)
        return tort_fail(error, TORT_E_USAGE, "pin \"%s\": node \"%s\" is pinned to %s already", pin,
                         session->graph->nodes[index].name, session->chain[placement->pin].provider->name);
    placement->pinned = true;
    placement->pin = to;
    return TORT_OK;
}

tort_status tort_read_pins(tort_session *session, tort_error *error) {
    const size_t count = (size_t)session->graph->node_count;
    if (!session->options.pin_count) return TORT_OK;
    named_node *sorted = tort_alloc_zero(&session->env, count + 1, sizeof *sorted);
    if (!sorted) return tort_out_of_memory(error, count * sizeof *sorted);
    for (size_t i = 0; i < count; i++) sorted[i] = (named_node){session->graph->nodes[i].name, (int32_t)i};
    qsort(sorted, count, sizeof *sorted, compare_names);
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < session->options.pin_count; i++)
        status = read_pin(session, sorted, session->options.pins[i], error);
    tort_free(&session->env, sorted, (count + 1) * sizeof *sorted);
    return status;
}

tort_status tort_check_pins(const tort_session *session, tort_error *error) {
    for (int32_t i = 0; i < session->graph->node_count; i++) {
        const tort_placement *placement = &session->placements[i];
        const bool host = placement->provider == TORT_AT_HOST, folded = placement->provider == TORT_AT_FOLDED;
        if (!placement->pinned || (!host && !folded)) continue;
        tort_fail(error, TORT_E_USAGE, "is pinned to %s, but runs on no provider: %s; drop the pin",
                  session->chain[placement->pin].provider->name,
                  host ? "it is done by the executor, wherever its input is (host)"
                       : "it is computed while planning (folded)");
        tort_error_at_node(error, session->graph, i);
        return TORT_E_USAGE;
    }
    return TORT_OK;
}
