/* place.c - the only function that decides where a node runs.
 *
 * Every node is offered to the providers in the order of the chain; in a provider, to its kernel rows in the order of
 * the table; the first YES serves. Every answer is kept: refusals of providers before the one that serves, and of
 * better rows of that one. All nodes are asked before an unplaced one is an error, so that one run lists every problem.
 * It must not know operators or providers by name. Read next: plan.c. */
#include <stdio.h>
#include <string.h>

#include "runtime/check.h"
#include "runtime/session_state.h"

#define MAX_SAID 64 /* refusals kept of one node */

/* One node while it is being placed. */
typedef struct candidate {
    tort_session *session;
    tort_lowered *lowered;
    const tort_op_table *rows; /* of the application and of this build */
    int32_t index;
    const tort_node *node;
    const tort_node_view *view;
    tort_unit *unit;
    tort_said said[MAX_SAID];
    int32_t said_count;
} candidate;

/* An input without a type comes from a node that could not be understood: its index, the node's own where the value is
 * made by none; -1: there is no such input. */
static int32_t unknown_source(const candidate *c) {
    for (int32_t i = 0; i < c->node->input_count; i++) {
        int32_t value = c->node->inputs[i];
        if (value < 0 || c->lowered->infos[value].type != TORT_UNDEFINED) continue;
        int32_t producer = c->lowered->graph.values[value].producer;
        return producer >= 0 ? producer : c->index;
    }
    return -1;
}

/* The first of the nodes that were not understood, one because of the other. */
static int32_t root_of(const candidate *c) {
    int32_t source = unknown_source(c);
    const tort_unit *before = source >= 0 ? &c->lowered->units[source] : NULL;
    for (int32_t i = 0; before && i < before->said_count; i++)
        if (before->said[i].root >= 0) return before->said[i].root;
    return source;
}

static tort_status keep(candidate *c, int32_t provider, const tort_kernel *kernel, const tort_verdict *verdict,
                        tort_error *error) {
    if (c->said_count == MAX_SAID) return TORT_OK;
    tort_arena *arena = &c->session->arena;
    tort_said *said = &c->said[c->said_count++];
    *said = (tort_said){.provider = provider,
                        .kernel = kernel ? kernel->name : "",
                        .code = verdict->code,
                        .root = verdict->code == TORT_UPSTREAM ? root_of(c) : -1};
    said->message = tort_arena_text(arena, verdict->message, strlen(verdict->message));
    said->cure = tort_arena_text(arena, verdict->cure, strlen(verdict->cure));
    return said->message && said->cure ? TORT_OK : tort_out_of_memory(error, 0);
}

/* ---- what the core itself must refuse ---------------------------------------------------------------------------- */

static tort_verdict missing_row(const candidate *c) {
    const tort_node *node = c->node;
    const tort_op *const *family;
    int32_t count;
    const char *dot = *node->domain ? "::" : "";
    tort_op_find(c->rows, node->domain, node->op_type, node->opset, &family, &count);
    if (!count)
        return tort_no(TORT_NO_OP, "tinyort ops lists what this build has",
                       "operator %s%s%s (opset %d) is not in this build", node->domain, dot, node->op_type,
                       node->opset);
    if (node->opset < family[0]->since)
        return tort_no(TORT_NO_OPSET, "export the model again with that opset: the file is not valid ONNX",
                       "%s%s%s exists since opset %d, but the model imports opset %d", node->domain, dot, node->op_type,
                       family[0]->since, node->opset);
    return tort_no(TORT_NO_OPSET, "export the model with an opset that has it",
                   "%s%s%s is known up to opset %d, but the model imports opset %d", node->domain, dot, node->op_type,
                   family[count - 1]->until, node->opset);
}

static bool only_tensors(const tort_node_view *view) {
    for (int32_t i = 0; i < view->input_count; i++)
        if (tort_has_input(view, i) && view->inputs[i].kind != TORT_TENSOR) return false;
    for (int32_t i = 0; i < view->output_count; i++)
        if (tort_has_output(view, i) && view->outputs[i].kind != TORT_TENSOR) return false;
    return true;
}

/* Bytes of the tensors of this node alone, as far as they are known. */
static uint64_t node_bytes(const tort_node_view *view, bool weights) {
    uint64_t total = 0;
    for (int32_t i = 0; i < view->input_count + view->output_count; i++) {
        const tort_info *info = i < view->input_count ? &view->inputs[i] : &view->outputs[i - view->input_count];
        tort_tensor tensor;
        size_t bytes = 0;
        if ((info->constant && !weights) || !tort_info_tensor(info, &tensor)) continue;
        if (!tort_tensor_bytes(&tensor, &bytes)) return UINT64_MAX; /* more than there is of anything */
        total += bytes;
    }
    return total;
}

/* ---- one provider ------------------------------------------------------------------------------------------------ */

static bool kernel_matches(const tort_kernel *kernel, const tort_node *node) {
    if (!strcmp(kernel->op, "*")) return true;
    return !strcmp(kernel->op, node->op_type) && !strcmp(kernel->domain ? kernel->domain : "", node->domain);
}

static tort_verdict ask_kernel(candidate *c, tort_link *link, const tort_kernel *kernel) {
    if (!kernel->run && !c->node->op->reference)
        return tort_no(TORT_NO_OP, "", "no plain loop for %s in this build", c->node->op_type);
    tort_verdict verdict = kernel->claim ? kernel->claim(&link->target, c->view) : tort_yes();
    if (verdict.code != TORT_YES || kernel->needs == TORT_LIBRARY_NONE) return verdict;
    const tort_library_state *library = tort_link_library(link, kernel->needs);
    if (library->found) return verdict;
    return tort_no(TORT_NO_LIBRARY, library->cure, "%s", library->message);
}

/* Offers the node to the rows of one provider. Keeps its refusals; true when a row took the node. */
static bool ask_rows(candidate *c, int32_t provider, tort_error *error, tort_status *status) {
    tort_link *link = &c->session->chain[provider];
    tort_verdict furthest = tort_no(TORT_NO_OP, "", "%s has no kernel for %s", link->provider->name, c->node->op_type);
    const tort_kernel *furthest_kernel = NULL;
    int32_t before = c->said_count;
    for (const tort_kernel *const *table = link->provider->kernels; *table; table++) {
        for (const tort_kernel *kernel = *table; kernel->op; kernel++) {
            if (!kernel_matches(kernel, c->node)) continue;
            tort_verdict verdict = ask_kernel(c, link, kernel);
            if (verdict.code == TORT_YES) {
                c->unit->provider = provider;
                c->unit->kernel = kernel;
                c->unit->label = kernel->name;
                return true;
            }
            *status = keep(c, provider, kernel, &verdict, error);
            if (*status) return false;
            if (verdict.code >= furthest.code) furthest = verdict, furthest_kernel = kernel;
        }
    }
    c->said_count = before; /* the whole provider refuses: only the row that got furthest speaks */
    *status = keep(c, provider, furthest_kernel, &furthest, error);
    return false;
}

/* Refusals that need no kernel to be asked; YES: go on and ask. */
static tort_verdict precheck(const candidate *c, const tort_link *link) {
    const tort_condition *condition = &link->condition;
    if (!condition->ready)
        return tort_no(!strcmp(condition->code, "DISABLED") ? TORT_DISABLED : TORT_PROVIDER_DOWN, condition->cure,
                       "%s: %s", condition->code, condition->message);
    if (c->unit->pinned && link != &c->session->chain[c->unit->pin])
        return tort_no(TORT_PINNED, "remove the pin", "pinned to %s", c->session->chain[c->unit->pin].provider->name);
    if (!c->node->op) return missing_row(c);
    if (unknown_source(c) >= 0) {
        const tort_node *root = &c->lowered->graph.nodes[root_of(c)];
        return tort_no(TORT_UPSTREAM, "", "an input has no type, because node \"%s\" (%s) was not understood",
                       root->name, root->op_type);
    }
    if (!link->provider->host_memory && !only_tensors(c->view))
        return tort_no(TORT_NO_KIND, "", "only tensors can be on %s", link->provider->name);
    const uint64_t bytes = node_bytes(c->view, !link->target.values_only), limit = link->target.memory;
    if (limit && bytes > limit)
        return tort_no(TORT_NO_MEMORY,
                       link->target.values_only ? "allow more with the option mem_limit, as in cpu:mem_limit=32G"
                                                : "raise mem_limit, or lower the batch",
                       "its %s %llu bytes, %s may use %llu%s",
                       link->target.values_only ? "values need" : "tensors need", (unsigned long long)bytes,
                       link->provider->name, (unsigned long long)limit,
                       link->target.values_only ? " where no mem_limit says otherwise" : "");
    return tort_yes();
}

/* ---- one node ---------------------------------------------------------------------------------------------------- */

static bool is_host_step(const candidate *c) {
    if (!c->node->op || unknown_source(c) >= 0) return false;
    uint32_t flags = c->node->op->flags;
    if (flags & TORT_OP_CONTROL) return true;
    return (flags & (TORT_OP_ALIAS | TORT_OP_METADATA)) && only_tensors(c->view);
}

static tort_status resolve_for_claims(candidate *c, tort_node_view *view, tort_error *error) {
    if (!c->node->op || unknown_source(c) >= 0) return TORT_OK;
    size_t size = tort_params_bytes(c->node);
    c->unit->params = tort_arena_alloc(&c->session->arena, size + 1);
    if (!c->unit->params) return tort_out_of_memory(error, size);
    tort_status status = tort_resolve_node(view, c->unit->params, &c->unit->scratch_bytes, error);
    view->params = c->unit->params;
    return status;
}

/* A provider of this build that runs the plain loops of operators, if none of the chain does. */
static const tort_provider *provider_of_loops(const tort_session *session) {
    for (int32_t i = 0; i < session->chain_count; i++)
        if (session->chain[i].provider->host_memory) return NULL;
    for (const tort_provider *const *p = tort_providers; *p; p++)
        if ((*p)->host_memory) return *p;
    return NULL;
}

/* "..., or BEFORE PROVIDER AFTER". */
static tort_status append_cure(const candidate *c, tort_said *said, const char *before, const char *provider,
                               const char *after, tort_error *error) {
    said->cure = tort_arena_format(&c->session->arena, "%s%s%s %s %s", said->cure, *said->cure ? ", or " : "", before,
                                   provider, after);
    return said->cure ? TORT_OK : tort_out_of_memory(error, 0);
}

/* Kernels say what would let them have the node. What else can be done: a node that nobody has can go to a provider
 * that runs anything, and where it went because nothing helps, the user can say that it may. */
static tort_status add_cures(candidate *c, tort_error *error) {
    const tort_unit *unit = c->unit;
    const tort_provider *other = provider_of_loops(c->session);
    const bool runs = c->node->op && c->node->op->reference;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < c->said_count; i++) {
        tort_said *said = &c->said[i];
        if (unit->provider == TORT_AT_NOWHERE && other && runs)
            status = append_cure(c, said, "add", other->name, "to the chain", error);
        else if (unit->provider > 0 && said->provider != unit->provider && !*said->cure)
            status = append_cure(c, said, "pin the node to", c->session->chain[unit->provider].provider->name,
                                 "if it may be there", error);
    }
    return status;
}

/* What the kernel will pack of the node's weights: told now, done when they are prepared. */
static tort_status size_packing(candidate *c, tort_error *error) {
    tort_unit *unit = c->unit;
    if (unit->provider < 0 || !unit->kernel->pack_size) return TORT_OK;
    const tort_target *target = &c->session->chain[unit->provider].target;
    return unit->kernel->pack_size(target, c->view, &unit->packed_bytes, &unit->consumed, error);
}

static tort_status place_node(candidate *c, tort_error *error) {
    c->unit->provider = TORT_AT_NOWHERE;
    if (is_host_step(c)) {
        c->unit->provider = TORT_AT_HOST;
        const uint32_t flags = c->node->op->flags;
        c->unit->label = flags & TORT_OP_CONTROL ? "bodies" : flags & TORT_OP_ALIAS ? "alias" : "metadata";
        return TORT_OK;
    }
    tort_status status = TORT_OK;
    for (int32_t p = 0; !status && p < c->session->chain_count; p++) {
        tort_verdict verdict = precheck(c, &c->session->chain[p]);
        if (verdict.code != TORT_YES)
            status = keep(c, p, NULL, &verdict, error);
        else if (ask_rows(c, p, error, &status))
            break;
    }
    if (!status) status = add_cures(c, error);
    return status ? status : size_packing(c, error);
}

static tort_status store_said(candidate *c, tort_error *error) {
    size_t bytes = (size_t)c->said_count * sizeof *c->said;
    tort_said *copy = tort_arena_alloc(&c->session->arena, bytes + 1);
    if (!copy) return tort_out_of_memory(error, bytes);
    memcpy(copy, c->said, bytes);
    c->unit->said = copy;
    c->unit->said_count = c->said_count;
    return TORT_OK;
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

/* A list of nodes for an error, that ends in "and N more" when it is full. */
typedef struct node_list {
    const tort_session *session;
    char text[420];
    int32_t count, left_out, first; /* first: number of the first node, -1 */
} node_list;

/* Adds "Resize_31 (Resize-13) cuda: NO_ATTR ...". */
static void list_node(node_list *list, const tort_lowered *lowered, int32_t index) {
    const tort_node *node = &lowered->graph.nodes[index];
    const tort_unit *unit = &lowered->units[index];
    const char *path = lowered->graph.path;
    char line[256];
    int used = snprintf(line, sizeof line, "%s\"%s%s%s\" (%s%s%s-%d)", list->count ? "; " : "", path, *path ? "/" : "",
                        node->name, node->domain, *node->domain ? "::" : "", node->op_type,
                        node->op ? node->op->since : node->opset);
    for (int32_t i = 0; i < unit->said_count && used > 0 && (size_t)used < sizeof line; i++) {
        const tort_said *said = &unit->said[i];
        used +=
            snprintf(line + used, sizeof line - (size_t)used, " %s: %s %s",
                     list->session->chain[said->provider].provider->name, tort_verdict_name(said->code), said->message);
    }
    if (!list->count++) list->first = lowered->graph.first + index;
    if (strlen(list->text) + strlen(line) + 1 < sizeof list->text)
        strcat(list->text, line);
    else
        list->left_out++;
}

/* The units of all graphs for which `wanted` holds. */
static node_list list_nodes(const tort_session *session, bool (*wanted)(const tort_lowered *, int32_t)) {
    node_list list = {.session = session, .first = -1};
    for (int32_t g = 0; g < session->graph_count; g++) {
        const tort_lowered *lowered = &session->graphs[g];
        for (int32_t i = 0; lowered->lowered && i < lowered->graph.node_count; i++)
            if (wanted(lowered, i)) list_node(&list, lowered, i);
    }
    return list;
}

static tort_status list_error(const node_list *list, const char *what, tort_error *error) {
    char more[32] = "";
    if (list->left_out) snprintf(more, sizeof more, "; and %d more", list->left_out);
    tort_fail(error, TORT_E_PLACEMENT, "%s: %s%s", what, list->text, more);
    if (error) error->node = list->first;
    return TORT_E_PLACEMENT;
}

static bool is_unplaced(const tort_lowered *lowered, int32_t index) {
    return lowered->units[index].provider == TORT_AT_NOWHERE;
}

static tort_status report_unplaced(const tort_session *session, tort_error *error) {
    const node_list list = list_nodes(session, is_unplaced);
    char what[64];
    if (!list.count) return TORT_OK;
    snprintf(what, sizeof what, "%d node%s with no provider", list.count, list.count == 1 ? "" : "s");
    return list_error(&list, what, error);
}

static tort_status place_all(candidate *c, tort_pass *pass, tort_error *error) {
    tort_lowered *lowered = c->lowered;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < lowered->graph.node_count; i++) {
        c->unit = &lowered->units[i];
        c->node = &lowered->graph.nodes[i];
        c->index = i;
        c->said_count = 0;
        if (c->unit->folded) {
            c->unit->provider = TORT_AT_FOLDED;
            continue;
        }
        tort_node_view view = tort_pass_view(pass, i);
        c->view = &view;
        status = tort_pass_acquire(pass, i, error);
        if (!status) status = resolve_for_claims(c, &view, error);
        if (!status) status = place_node(c, error);
        if (!status) status = store_said(c, error);
        if (status) tort_error_at_node(error, &lowered->graph, i);
        tort_pass_release(pass, i);
    }
    return status;
}

static tort_status place_graph(tort_lowered *lowered, const tort_op_table *rows, tort_error *error) {
    tort_session *session = lowered->session;
    tort_pass pass;
    tort_status status = tort_lowered_pass(lowered, &pass, lowered->infos, &session->dims, &session->arena, error);
    if (status) return status;
    status = place_all(&(candidate){.session = session, .lowered = lowered, .rows = rows}, &pass, error);
    tort_pass_free(&pass);
    return status;
}

tort_status tort_place(tort_session *session, tort_error *error) {
    tort_op_table rows;
    tort_status status = tort_read_pins(session, error);
    if (status) return status;
    if (!tort_op_table_build(&rows, session->model->operators, &session->env)) return tort_out_of_memory(error, 0);
    for (int32_t g = 0; !status && g < session->graph_count; g++)
        if (session->graphs[g].lowered) status = place_graph(&session->graphs[g], &rows, error);
    tort_op_table_free(&rows, &session->env);
    if (!status) status = tort_check_pins(session, error);
    return status ? status : report_unplaced(session, error);
}

/* ---- --strict ---------------------------------------------------------------------------------------------------- */

static bool fell_back(const tort_lowered *lowered, int32_t index) {
    const tort_unit *unit = &lowered->units[index];
    if (unit->provider <= 0 || unit->pinned) return false;
    return !tort_listed(lowered->session->options.allow, lowered->graph.nodes[index].op_type);
}

tort_status tort_place_strict(const tort_session *session, tort_error *error) {
    if (!session->options.strict) return TORT_OK;
    const node_list list = list_nodes(session, fell_back);
    char what[160];
    if (!list.count) return TORT_OK;
    snprintf(what, sizeof what, "strict: %d node%s not on %s", list.count, list.count == 1 ? " is" : "s are",
             session->chain[0].provider->name);
    return list_error(&list, what, error);
}
