/* claim.c - asks a provider whether it takes a node: first the core's own checks, then the kernel rows in the order of
 * the table; all verdicts are kept (claim.h).
 *
 * This file must not decide which provider is asked, nor know operators or providers by name. Read next:
 * place.c, fuse.c. */
#include "runtime/core/base/build.h"
#include "runtime/core/providers/claim.h"
#include "runtime/core/providers/chain.h"
#include "runtime/core/providers/layouts.h"

#include <string.h>

/* The index of the node that makes an input of unknown type, which was not understood; the node's own index if no node
 * makes that input; -1: all types are known. */
static int32_t unknown_source(const tort_candidate *c) {
    for (int32_t i = 0; i < c->node->input_count; i++) {
        int32_t value = c->node->inputs[i];
        if (value < 0 || c->lowered->infos[value].type != TORT_UNDEFINED) continue;
        int32_t producer = c->lowered->graph.values[value].producer;
        return producer >= 0 ? producer : c->index;
    }
    return -1;
}

/* The first node that was not understood, in a chain of nodes of which each made the next one's input unknown. */
static int32_t root_of(const tort_candidate *c) {
    int32_t source = unknown_source(c);
    const tort_unit *before = source >= 0 ? &c->lowered->units[source] : NULL;
    for (int32_t i = 0; before && i < before->reason_count; i++)
        if (before->reasons[i].root >= 0) return before->reasons[i].root;
    return source;
}

static tort_status keep(tort_candidate *c, int32_t provider, const char *kernel, const tort_verdict *verdict,
                        tort_error *error) {
    if (c->reason_count == TORT_MAX_REASONS) return TORT_OK;
    tort_arena *arena = &c->session->arena;
    tort_reason *reason = &c->reasons[c->reason_count++];
    *reason = (tort_reason){.provider = provider,
                            .kernel = kernel,
                            .code = verdict->code,
                            .root = verdict->code == TORT_UPSTREAM ? root_of(c) : -1};
    reason->message = tort_arena_text(arena, verdict->message, strlen(verdict->message));
    reason->cure = tort_arena_text(arena, verdict->cure, strlen(verdict->cure));
    return reason->message && reason->cure ? TORT_OK : tort_out_of_memory(error, 0);
}

tort_status tort_candidate_keep_out(tort_candidate *c, int32_t provider, const tort_verdict *verdict,
                                    tort_error *error) {
    const tort_kernel *segments = c->session->chain[provider].provider->segments;
    c->reason_count = c->unit->reason_count;
    if (c->reason_count) memcpy(c->reasons, c->unit->reasons, (size_t)c->reason_count * sizeof *c->reasons);
    const tort_status status = keep(c, provider, segments ? segments->name : "", verdict, error);
    if (c->reason_count > c->unit->reason_count) c->reasons[c->reason_count - 1].segment = true;
    return status;
}

/* ---- refusals of the core ---------------------------------------------------------------------------------------- */

/* The row of the node's operator in a table of the build, or of a provider; NULL: none. */
static const tort_refusal *refusal_of(const tort_node *node, const tort_refusal *table) {
    for (const tort_refusal *row = table; row && row->domain; row++)
        if (!strcmp(row->domain, node->domain) && (!row->name || !strcmp(row->name, node->op_type))) return row;
    return NULL;
}

/* True if no operator of the build has this domain. */
static bool is_own_domain(const tort_op_table *table, const char *domain) {
    bool own = true;
    for (int32_t i = 0; own && i < table->count; i++) own = strcmp(table->rows[i]->domain, domain) != 0;
    return own;
}

static tort_verdict missing_row(const tort_candidate *c) {
    const tort_node *node = c->node;
    const tort_op *const *family;
    int32_t count;
    const char *dot = *node->domain ? "::" : "";
    tort_op_find(c->session->model->op_table, node->domain, node->op_type, node->opset, &family, &count);
    const tort_refusal *refusal = count ? NULL : refusal_of(node, tort_build.refusals);
    if (refusal) return tort_no(TORT_NO_OP, refusal->cure, "%s%s%s %s", node->domain, dot, node->op_type, refusal->why);
    if (!count)
        return tort_no(
            TORT_NO_OP,
            is_own_domain(c->session->model->op_table, node->domain)
                ? "an operator of your own is brought by tort_load_options.operators in C, by @tinyort.op in Python"
                : "tinyort ops lists what this build has",
            "operator %s%s%s (opset %d) is not in this build", node->domain, dot, node->op_type, node->opset);
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

/* Bytes of the tensors of this node alone, as far as known: a lower bound of the memory it needs. */
static uint64_t node_bytes(const tort_node_view *view, bool weights) {
    uint64_t total = 0;
    for (int32_t i = 0; i < view->input_count + view->output_count; i++) {
        const tort_info *info = i < view->input_count ? &view->inputs[i] : &view->outputs[i - view->input_count];
        tort_tensor tensor;
        size_t bytes = 0;
        if ((info->constant && !weights) || !tort_info_tensor(info, &tensor)) continue;
        if (!tort_tensor_bytes(&tensor, &bytes)) return UINT64_MAX; /* overflow: larger than any memory */
        total += bytes;
    }
    return total;
}

/* ---- one provider ------------------------------------------------------------------------------------------------ */

static bool is_of_application(const tort_session *session, const tort_provider *provider) {
    for (const tort_provider *const *own = session->options.providers; own && *own; own++)
        if (!strcmp((*own)->name, provider->name)) return true;
    return false;
}

/* A kernel of the build expects the params of the build's operator, not of an application's operator of that name. */
static bool kernel_matches(const tort_candidate *c, const tort_link *link, const tort_kernel *kernel) {
    const tort_node *node = c->node;
    if (kernel->asked & ~link->target.instructions) return false;
    if (!strcmp(kernel->op, "*")) return true;
    if (strcmp(kernel->op, node->op_type) || strcmp(kernel->domain ? kernel->domain : "", node->domain)) return false;
    return !tort_op_is_own(c->session->model->operators, node->op) || is_of_application(c->session, link->provider);
}

/* A kernel runs on a stream of the provider that owns the memory, so the owner must open the library too. */
static const tort_library_state *find_library(const tort_candidate *c, tort_link *link, const char *name) {
    tort_link *owner = c->session->memories[link->memory].owner;
    const tort_library_state *state = tort_link_library(link, name);
    return state && state->found && link->memory && owner != link ? tort_link_library(owner, name) : state;
}

tort_verdict tort_candidate_ask(tort_candidate *c, tort_link *link, const tort_kernel *kernel) {
    const bool alone = kernel->segment != TORT_SEGMENT_ONLY;
    if (c->alone && !alone)
        return tort_no(TORT_NO_OP, "", "%s runs %s in segments only", link->provider->name, c->node->op_type);
    if (alone && !kernel->run && !c->node->op->reference)
        return tort_no(TORT_NO_OP, "", "no plain loop for %s in this build", c->node->op_type);
    if (c->no_loops && tort_runs_reference(link->provider, kernel))
        return tort_no(TORT_NO_OP, "", "%s would run %s by its plain loop", link->provider->name, c->node->op_type);
    tort_node_view view = *c->view;
    view.kernel = kernel;
    tort_verdict verdict = kernel->claim ? kernel->claim(&link->target, &view) : tort_yes();
    if (verdict.code == TORT_YES) verdict = tort_layout_claim(c->session, link, kernel, c->view);
    if (verdict.code != TORT_YES || !kernel->needs) return verdict;
    const tort_library_state *library = find_library(c, link, kernel->needs);
    if (!library)
        return tort_no(TORT_NO_LIBRARY, "add it to the provider's libraries", "%s needs %s, which %s does not list",
                       kernel->name, kernel->needs, link->provider->name);
    if (library->found) return verdict;
    return tort_no(TORT_NO_LIBRARY, library->cure, "%s", library->message);
}

bool tort_widen_row(const tort_provider *provider, const tort_kernel *row, tort_kernel *widened) {
    const tort_kernel *widening = provider->widening;
    if (!widening || !row->run || row->fit || (row->prepare && !row->pack.size)) return false;
    *widened = *row;
    widened->of = row;
    widened->claim = widening->claim;
    widened->size = widening->size;
    widened->pack.size = widening->pack.size;
    widened->prepare = widening->prepare;
    widened->pack.in_parts = 0; /* widening needs the weight in memory */
    widened->pack.writes_all = false;
    widened->run = widening->run;
    widened->fit = widening->fit;
    widened->unfit = widening->unfit;
    return true;
}

/* The verdict of a row; if that is NO_TYPE, the verdict of the row through its provider's widening, and then
 * *kernel becomes c->widened. */
static tort_verdict ask_row(tort_candidate *c, tort_link *link, const tort_kernel **kernel) {
    const tort_verdict verdict = tort_candidate_ask(c, link, *kernel);
    if (verdict.code != TORT_NO_TYPE || !tort_widen_row(link->provider, *kernel, &c->widened)) return verdict;
    const tort_verdict again = tort_candidate_ask(c, link, &c->widened);
    if (again.code == TORT_NO_TYPE) return verdict;
    *kernel = &c->widened;
    return again;
}

static tort_status take(tort_candidate *c, int32_t provider, const tort_kernel *kernel, tort_error *error) {
    tort_arena *arena = &c->session->arena;
    c->unit->provider = provider;
    c->unit->kernel = kernel;
    c->unit->label = kernel->name;
    if (!kernel->of) return TORT_OK;
    tort_kernel *kept = tort_arena_alloc(arena, sizeof *kept);
    c->unit->label =
        tort_arena_format(arena, "%s_%s", kernel->name, c->session->chain[provider].provider->widening->name);
    if (!kept || !c->unit->label) return tort_out_of_memory(error, sizeof *kept);
    *kept = *kernel;
    c->unit->kernel = kept;
    return TORT_OK;
}

/* Offers the node to the rows of one provider. True if a row took it; otherwise keeps the refusals. */
static bool ask_rows(tort_candidate *c, int32_t provider, tort_error *error, tort_status *status) {
    tort_link *link = &c->session->chain[provider];
    const tort_refusal *known = refusal_of(c->node, link->provider->refusals);
    tort_verdict furthest =
        tort_no(TORT_NO_OP, known ? known->cure : "", "%s has no kernel for %s%s%s", link->provider->name,
                c->node->op_type, known ? ", which " : "", known ? known->why : "");
    const tort_kernel *furthest_kernel = NULL;
    int32_t before = c->reason_count;
    for (const tort_kernel *const *table = link->provider->kernels; *table; table++) {
        for (const tort_kernel *row = *table; row->op; row++) {
            if (!kernel_matches(c, link, row)) continue;
            const tort_kernel *kernel = row;
            tort_verdict verdict = ask_row(c, link, &kernel);
            if (verdict.code == TORT_YES) {
                *status = take(c, provider, kernel, error);
                return true;
            }
            /* A layout row that refuses the type is not reported: the node would gain nothing by it. */
            const bool lost = row->layout.id <= 0 || verdict.code != TORT_NO_TYPE;
            *status = lost ? keep(c, provider, row->name, &verdict, error) : TORT_OK;
            if (*status) return false;
            if (verdict.code >= furthest.code) furthest = verdict, furthest_kernel = row;
        }
    }
    c->reason_count = before; /* all rows refuse: only the furthest one is reported */
    *status = keep(c, provider, furthest_kernel ? furthest_kernel->name : "", &furthest, error);
    return false;
}

/* The first row behind the unit's row that claims the node; NULL: none. */
static const tort_kernel *find_behind(tort_candidate *c, tort_link *link) {
    const tort_kernel *now = c->unit->kernel->of ? c->unit->kernel->of : c->unit->kernel;
    bool behind = false;
    for (const tort_kernel *const *table = link->provider->kernels; *table; table++)
        for (const tort_kernel *row = *table; row->op; row++) {
            const tort_kernel *kernel = row;
            if (behind && kernel_matches(c, link, row) && ask_row(c, link, &kernel).code == TORT_YES) return kernel;
            behind = behind || row == now;
        }
    return NULL;
}

tort_status tort_candidate_move_on(tort_candidate *c, const tort_verdict *verdict, bool *moved, tort_error *error) {
    tort_unit *unit = c->unit;
    tort_link *link = &c->session->chain[unit->provider];
    /* A row that only follows others into their layout gives nothing up for the plain loop, which for Concat is all
     * that there is. */
    c->no_loops = !tort_runs_reference(link->provider, unit->kernel) && !unit->kernel->layout.follows;
    c->alone = true;
    const tort_kernel *next = find_behind(c, link);
    *moved = next != NULL;
    if (!next) return TORT_OK;
    c->reason_count = unit->reason_count;
    if (c->reason_count) memcpy(c->reasons, unit->reasons, (size_t)c->reason_count * sizeof *c->reasons);
    tort_status status = keep(c, unit->provider, unit->kernel->name, verdict, error);
    if (!status) status = take(c, unit->provider, next, error);
    unit->packed_bytes = 0;
    unit->consumed = 0;
    if (!status) status = tort_candidate_size_packing(c, error);
    return status ? status : tort_candidate_store(c, error);
}

/* Refusals that no kernel need be asked for; YES: ask the kernels. */
static tort_verdict precheck(const tort_candidate *c, const tort_link *link) {
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
                       link->target.values_only ? " unless mem_limit is set" : "");
    return tort_yes();
}

tort_status tort_candidate_offer(tort_candidate *c, int32_t provider, bool *taken, tort_error *error) {
    tort_status status = TORT_OK;
    tort_verdict verdict = precheck(c, &c->session->chain[provider]);
    *taken = false;
    if (verdict.code != TORT_YES) return keep(c, provider, "", &verdict, error);
    *taken = ask_rows(c, provider, error, &status);
    return status;
}

static tort_status refused(const tort_candidate *c, int32_t provider, const char *kernel, const tort_verdict *verdict,
                           tort_error *error) {
    const char *name = c->session->chain[provider].config.provider;
    return tort_fail(
        error, TORT_E_PLACEMENT,
        "the saved plan has it on %s by kernel %.60s, which does not take it here: %s %s; make the plan again "
        "with tinyort plan MODEL -o FILE",
        name, kernel, tort_verdict_name(verdict->code), verdict->message);
}

tort_status tort_candidate_claim(tort_candidate *c, int32_t provider, const char *name, tort_error *error) {
    tort_link *link = &c->session->chain[provider];
    tort_verdict verdict = precheck(c, link);
    if (verdict.code != TORT_YES) return refused(c, provider, name, &verdict, error);
    verdict = tort_no(TORT_NO_OP, "", "there is no kernel of this name for %s", c->node->op_type);
    c->alone = true;
    for (const tort_kernel *const *table = link->provider->kernels; *table; table++) {
        for (const tort_kernel *row = *table; row->op; row++) {
            const tort_kernel *kernel = row;
            if (strcmp(row->name, name) != 0 || !kernel_matches(c, link, row)) continue;
            verdict = ask_row(c, link, &kernel);
            if (verdict.code == TORT_YES) return take(c, provider, kernel, error);
        }
    }
    return refused(c, provider, name, &verdict, error);
}

/* ---- the executor ------------------------------------------------------------------------------------------------ */

const char *tort_candidate_host_label(const tort_candidate *c) {
    if (!c->node->op || unknown_source(c) >= 0) return NULL;
    const uint32_t flags = c->node->op->flags;
    if (flags & TORT_OP_CONTROL) return "bodies";
    if (!(flags & (TORT_OP_ALIAS | TORT_OP_METADATA)) || !only_tensors(c->view)) return NULL;
    return flags & TORT_OP_ALIAS ? "alias" : "metadata";
}

/* ---- after a row took the node ----------------------------------------------------------------------------------- */

tort_status tort_candidate_resolve(tort_candidate *c, tort_node_view *view, tort_error *error) {
    if (!c->node->op || unknown_source(c) >= 0) return TORT_OK;
    size_t size = 0;
    tort_status status = tort_params_measure(view, c->node, &size, error);
    if (status) return status;
    c->unit->params = tort_arena_alloc(&c->session->arena, size + 1);
    if (!c->unit->params) return tort_out_of_memory(error, size);
    status = tort_resolve_node(view, c->unit->params, &c->unit->scratch_bytes, error);
    view->params = c->unit->params;
    return status;
}

tort_status tort_candidate_size_packing(tort_candidate *c, tort_error *error) {
    tort_unit *unit = c->unit;
    if (unit->provider < 0 || !unit->kernel->pack.size) return TORT_OK;
    const tort_target *target = &c->session->chain[unit->provider].target;
    tort_node_view view = *c->view;
    view.kernel = unit->kernel;
    return unit->kernel->pack.size(target, &view, &unit->packed_bytes, &unit->consumed, error);
}

tort_status tort_candidate_store(tort_candidate *c, tort_error *error) {
    size_t bytes = (size_t)c->reason_count * sizeof *c->reasons;
    tort_reason *copy = tort_arena_alloc(&c->session->arena, bytes + 1);
    if (!copy) return tort_out_of_memory(error, bytes);
    memcpy(copy, c->reasons, bytes);
    c->unit->reasons = copy;
    c->unit->reason_count = c->reason_count;
    return TORT_OK;
}

bool tort_unit_add_reason(tort_session *session, tort_unit *unit, const tort_reason *reason) {
    if (unit->reason_count == TORT_MAX_REASONS) return true;
    tort_reason *all = tort_arena_array(&session->arena, (size_t)unit->reason_count + 1, sizeof *all);
    if (!all) return false;
    if (unit->reason_count) memcpy(all, unit->reasons, (size_t)unit->reason_count * sizeof *all);
    all[unit->reason_count++] = *reason;
    unit->reasons = all;
    return true;
}
