/* placed.c - what is said of nodes that were placed: the cures of refusals, and the errors that name all nodes without
 * a provider, off the first one (--strict) or in float32 (--strict-integers).
 *
 * It must not decide where a node runs: place.c has. */
#include <stdio.h>
#include <string.h>

#include "runtime/core/base/build.h"
#include "runtime/core/passes/passes.h"
#include "runtime/core/providers/chain.h"
#include "runtime/core/providers/claim.h"

/* ---- cures ------------------------------------------------------------------------------------------------------- */

/* A provider of this build that runs the operators' reference loops, unless the chain has one. */
static const tort_provider *provider_of_loops(const tort_session *session) {
    for (int32_t i = 0; i < session->chain_count; i++)
        if (session->chain[i].provider->host_memory && !session->chain[i].provider->segments) return NULL;
    for (const tort_provider *const *p = tort_build.providers; *p; p++)
        if ((*p)->host_memory && !(*p)->segments) return *p;
    return NULL;
}

/* Appends "..., or BEFORE PROVIDER AFTER" to a cure. */
static tort_status append_cure(const tort_candidate *c, tort_reason *reason, const char *before, const char *provider,
                               const char *after, tort_error *error) {
    reason->cure = tort_arena_format(&c->session->arena, "%s%s%s %s %s", reason->cure, *reason->cure ? ", or " : "",
                                     before, provider, after);
    return reason->cure ? TORT_OK : tort_out_of_memory(error, 0);
}

tort_status tort_add_cures(tort_candidate *c, tort_error *error) {
    const tort_unit *unit = c->unit;
    const tort_provider *other = provider_of_loops(c->session);
    const bool runs = c->node->op && c->node->op->reference;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < c->reason_count; i++) {
        tort_reason *reason = &c->reasons[i];
        if (unit->provider == TORT_AT_NOWHERE && other && runs)
            status = append_cure(c, reason, "add", other->name, "to the chain", error);
        else if (unit->provider > 0 && reason->provider != unit->provider && !*reason->cure)
            status = append_cure(c, reason, "pin the node to", c->session->chain[unit->provider].provider->name,
                                 "if it may be there", error);
    }
    return status;
}

/* ---- lists of nodes ---------------------------------------------------------------------------------------------- */

/* The units of all graphs for which `wanted` is true. */
typedef struct node_list {
    const tort_session *session;
    bool (*wanted)(const tort_lowered *lowered, int32_t index);
    int32_t count, first; /* first: number of the first node; -1 */
} node_list;

/* Cuts a truncated text at its last whole word, and appends "...". */
static void end_cut_text(char *text) {
    char *end = text + strlen(text), *space = end;
    while (space > text && *space != ' ') space--;
    end = space > text && space + 5 < end ? space : end - 4;
    memcpy(end, " ...", 5);
}

/* True for the first verdict of each provider that the node is not on, unless the provider is down, and for why it is
 * in float32. */
static bool is_told(const tort_unit *unit, int32_t i) {
    const tort_reason *reason = &unit->reasons[i];
    if (reason->precision) return true;
    if (reason->provider == unit->provider || reason->code == TORT_PROVIDER_DOWN || reason->code == TORT_DISABLED)
        return false;
    return i == 0 || unit->reasons[i - 1].provider != reason->provider;
}

/* Appends "Resize_31 (Resize-13) cuda: NO_ATTR ...": the node with the first verdict of each provider that it is not
 * on. False: `text` is full. */
static bool append_node(char *text, size_t size, const tort_lowered *lowered, int32_t index) {
    const tort_node *node = tort_unit_node(lowered, index);
    const tort_unit *unit = &lowered->units[index];
    const char *path = lowered->graph.path;
    char line[256];
    int used =
        snprintf(line, sizeof line, "%s\"%s%s%s\" (%s%s%s-%d)", *text ? "; " : "", path, *path ? "/" : "", node->name,
                 node->domain, *node->domain ? "::" : "", node->op_type, node->op ? node->op->since : node->opset);
    const char *before = "";
    for (int32_t i = 0; i < unit->reason_count && used > 0 && (size_t)used < sizeof line; i++) {
        const tort_reason *reason = &unit->reasons[i];
        if (!is_told(unit, i)) continue;
        used += snprintf(line + used, sizeof line - (size_t)used, "%s %s: %s %s", before,
                         lowered->session->chain[reason->provider].provider->name, tort_verdict_name(reason->code),
                         reason->message);
        before = ",";
    }
    if (used > 0 && (size_t)used >= sizeof line) end_cut_text(line);
    const bool fits = strlen(text) + strlen(line) + 1 < size;
    if (fits) strcat(text, line);
    return fits;
}

/* Appends the nodes to `text`, or only counts them (NULL). Returns how many found no room. */
static int32_t go_through(node_list *list, char *text, size_t size) {
    int32_t left_out = 0;
    for (int32_t g = 0; g < list->session->graph_count; g++) {
        const tort_lowered *lowered = &list->session->graphs[g];
        for (int32_t i = 0; lowered->lowered && i < lowered->graph.node_count; i++) {
            if (!list->wanted(lowered, i)) continue;
            if (text)
                left_out += !append_node(text, size, lowered, i);
            else if (!list->count++)
                list->first = lowered->graph.first + i;
        }
    }
    return left_out;
}

static node_list list_nodes(const tort_session *session, bool (*wanted)(const tort_lowered *, int32_t)) {
    node_list list = {.session = session, .wanted = wanted, .first = -1};
    go_through(&list, NULL, 0);
    return list;
}

/* Makes the words of the error. A provider that is down is named once, as it is the same reason for all nodes. */
static tort_status word_error(node_list *list, const char *what, tort_error *error) {
    enum { BESIDE_CURES = 200 };
    char text[300] = "", more[32] = "", down[400] = "";
    size_t used = 0;
    for (int32_t i = 0; i < list->session->chain_count && used < sizeof down; i++) {
        const tort_link *link = &list->session->chain[i];
        if (!link->condition.ready)
            used += (size_t)snprintf(down + used, sizeof down - used, "%s%s did not open: %s, %s%s%s",
                                     used ? "; " : " (", link->provider->name, link->condition.code,
                                     link->condition.message, *link->condition.cure ? "; " : "", link->condition.cure);
    }
    if (used >= sizeof down - 1) end_cut_text(down);
    const int32_t left_out = go_through(list, text, used ? BESIDE_CURES : sizeof text);
    if (left_out) snprintf(more, sizeof more, "; and %d more", left_out);
    return tort_fail(error, TORT_E_PLACEMENT, "%s%s%s: %s%s", what, down, *down ? ")" : "", text, more);
}

static tort_status list_error(node_list *list, const char *what, tort_error *error) {
    const tort_status status = TORT_WORDED(error, TORT_E_PLACEMENT, word_error(list, what, error));
    if (error) error->node = list->first;
    return status;
}

static bool is_unplaced(const tort_lowered *lowered, int32_t index) {
    return lowered->units[index].provider == TORT_AT_NOWHERE;
}

tort_status tort_check_placed(const tort_session *session, tort_error *error) {
    node_list list = list_nodes(session, is_unplaced);
    char what[64];
    if (!list.count) return TORT_OK;
    snprintf(what, sizeof what, "%d node%s with no provider", list.count, list.count == 1 ? "" : "s");
    return list_error(&list, what, error);
}

/* ---- --strict ---------------------------------------------------------------------------------------------------- */

bool tort_unit_fell_back(const tort_lowered *lowered, int32_t index, const char *allow) {
    const tort_unit *unit = &lowered->units[index];
    const tort_segment *segment = unit->segment;
    const tort_node *nodes = lowered->graph.nodes;
    bool excused = true;
    if (unit->provider <= 0) return false;
    if (!segment) return !unit->pinned && !tort_listed(allow, nodes[index].op_type);
    for (int32_t i = 0; excused && i < segment->part_count; i++) {
        const int32_t part = segment->parts[i];
        excused = part == index ? segment->last_pinned : lowered->units[part].pinned;
        excused = excused || nodes[part].op->flags & TORT_OP_ALIAS || tort_listed(allow, nodes[part].op_type);
    }
    return !excused;
}

static bool is_not_allowed(const tort_lowered *lowered, int32_t index) {
    return tort_unit_fell_back(lowered, index, lowered->session->options.allow);
}

tort_status tort_place_strict(const tort_session *session, tort_error *error) {
    if (!session->options.strict) return TORT_OK;
    node_list list = list_nodes(session, is_not_allowed);
    char what[160];
    if (!list.count) return TORT_OK;
    snprintf(what, sizeof what, "strict: %d node%s not on %s", list.count, list.count == 1 ? " is" : "s are",
             session->chain[0].provider->name);
    return list_error(&list, what, error);
}

static bool is_in_float32(const tort_lowered *lowered, int32_t index) {
    const tort_unit *unit = &lowered->units[index];
    bool found = false;
    for (int32_t i = 0; i < unit->reason_count; i++) found = found || unit->reasons[i].precision;
    return found;
}

tort_status tort_place_integers(const tort_session *session, tort_error *error) {
    if (!session->options.strict_integers) return TORT_OK;
    node_list list = list_nodes(session, is_in_float32);
    if (!list.count) return TORT_OK;
    char what[80];
    snprintf(what, sizeof what, "strict integers: %d product%s of 8-bit numbers in float32", list.count,
             list.count == 1 ? "" : "s");
    return list_error(&list, what, error);
}
