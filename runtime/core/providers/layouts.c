/* layouts.c - the layouts of the providers of a chain: assigns their numbers, checks the rows that name them, and
 * calls their functions.
 *
 * This file must not decide which value is in which layout: passes/layout.c does. Read next: provider.h, layout.c. */
#include <string.h>

#include "runtime/core/graph/check.h"
#include "runtime/core/lowered/lowered.h"
#include "runtime/core/providers/layouts.h"
#include "runtime/core/providers/link.h"

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Bit i: an operator with these formals can have input, or output, number i. */
static uint32_t bits_of(const char *formals) {
    tort_formal formal;
    uint32_t bits = 0;
    for (int32_t i = 0; i < 32 && tort_formal_next(&formals, &formal); i++)
        bits |= formal.mode == '*' || formal.mode == '+' ? UINT32_MAX << i : 1u << i;
    return bits;
}

/* True if some version of the row's operator has all operands that the row puts in a layout,
 * or if no version is known. */
static bool has_operands(const tort_session *session, const tort_kernel *row) {
    const char *domain = row->domain ? row->domain : "";
    const tort_op_table *table = session->model->op_table;
    uint32_t inputs = 0, outputs = 0;
    for (int32_t own = 0; own < 2; own++) {
        const tort_op *const *family;
        const int32_t count = tort_op_versions(table, own, domain, row->op, &family);
        for (int32_t i = 0; i < count; i++) {
            inputs |= bits_of(family[i]->inputs);
            outputs |= bits_of(family[i]->outputs);
        }
    }
    return (!inputs && !outputs) || !((row->layout.inputs & ~inputs) | (row->layout.outputs & ~outputs));
}

/* The mistake in a row; NULL: none. */
static const char *find_mistake(const tort_session *session, const tort_link *link, const tort_kernel *row) {
    const bool any = row->layout.id == TORT_ANY_LAYOUT;
    if (row->layout.id < TORT_ANY_LAYOUT || row->layout.id > link->layout_count)
        return "names a layout that does not exist";
    if (!row->layout.id) return row->layout.inputs | row->layout.outputs ? "has operands in no layout" : NULL;
    if (!(row->layout.inputs | row->layout.outputs)) return "names a layout, but no input or output that is in it";
    if (!has_operands(session, row)) return "names inputs or outputs that its operator has not";
    if (row->layout.inputs & row->host_inputs) return "reads an input in host memory and in a layout";
    if (!row->run && link->opened) return "has a layout, but no run";
    if (any && !(row->layout.inputs && row->layout.outputs & 1))
        return "is for any layout, but not of an input and output 0";
    if (any && (row->size || row->pack.size || row->fit)) return "is for any layout, but depends on shapes";
    return NULL;
}

static tort_status check_row(const tort_session *session, const tort_link *link, const tort_kernel *row,
                             tort_error *error) {
    const char *mistake = find_mistake(session, link, row);
    if (!mistake) return TORT_OK;
    tort_fail(error, TORT_E_INTERNAL, "provider %s: kernel %s %s (layout %d of %d)", link->provider->name, row->name,
              mistake, (int)row->layout.id, (int)link->layout_count);
    if (error) error->provider = link->provider->name;
    return TORT_E_INTERNAL;
}

/* Converters may be missing if the provider is only described: its code need not be in this build. */
static tort_status check_layouts(const tort_link *link, tort_error *error) {
    for (int32_t i = 0; i < link->layout_count; i++) {
        const tort_layout *layout = &link->provider->layouts[i];
        const bool converts = layout->from_plain && layout->to_plain;
        if (layout->fits && layout->bytes && (converts || !link->opened)) continue;
        return tort_fail(error, TORT_E_INTERNAL, "provider %s: layout %s lacks one of its functions",
                         link->provider->name, layout->name);
    }
    return TORT_OK;
}

static tort_status check_rows(const tort_session *session, const tort_link *link, tort_error *error) {
    const tort_kernel *segments = link->provider->segments;
    tort_status status = check_layouts(link, error);
    for (const tort_kernel *const *table = link->provider->kernels; table && *table; table++)
        for (const tort_kernel *row = *table; !status && row->op; row++) status = check_row(session, link, row, error);
    if (!status && segments && (segments->layout.id || segments->layout.inputs || segments->layout.outputs))
        status = tort_fail(error, TORT_E_INTERNAL, "provider %s: segments have no layout", link->provider->name);
    return status;
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static int32_t count_layouts(const tort_link *link) {
    int32_t count = 0;
    const tort_layout *row = link->condition.ready ? link->provider->layouts : NULL;
    while (row && row[count].name) count++;
    return count;
}

tort_status tort_layouts_open(tort_session *session, tort_error *error) {
    tort_status status = TORT_OK;
    session->layout_count = 1;
    for (int32_t i = 0; i < session->chain_count; i++) {
        tort_link *link = &session->chain[i];
        link->first_layout = session->layout_count;
        link->layout_count = count_layouts(link);
        session->layout_count += link->layout_count;
    }
    session->layouts = tort_arena_array(&session->arena, (size_t)session->layout_count, sizeof *session->layouts);
    if (!session->layouts) return tort_out_of_memory(error, 0);
    for (int32_t i = 0; !status && i < session->chain_count; i++) {
        tort_link *link = &session->chain[i];
        for (int32_t l = 0; l < link->layout_count; l++)
            session->layouts[link->first_layout + l] = (tort_chain_layout){&link->provider->layouts[l], link};
        if (link->condition.ready) status = check_rows(session, link, error);
    }
    return status;
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

tort_verdict tort_layout_claim(const tort_session *session, const tort_link *link, const tort_kernel *row,
                               const tort_node_view *view) {
    if (row->layout.id <= 0) return tort_yes();
    const int32_t layout = link->first_layout + row->layout.id - 1;
    const char *name = session->layouts[layout].layout->name;
    for (int32_t i = 0; i < view->input_count && i < 32; i++)
        if (row->layout.inputs >> i & 1 && tort_has_input(view, i) &&
            !tort_layout_fits(session, layout, &view->inputs[i]))
            return tort_no(TORT_NO_SHAPE, "", "input %d cannot be in layout %s", (int)i, name);
    for (int32_t i = 0; i < view->output_count && i < 32; i++)
        if (row->layout.outputs >> i & 1 && tort_has_output(view, i) &&
            !tort_layout_fits(session, layout, &view->outputs[i]))
            return tort_no(TORT_NO_SHAPE, "", "output %d cannot be in layout %s", (int)i, name);
    return tort_yes();
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

bool tort_layout_fits(const tort_session *session, int32_t layout, const tort_info *info) {
    const bool bytes = tort_type_bits(info->type) >= 8 && info->type != TORT_STRING;
    return info->kind == TORT_TENSOR && info->rank >= 0 && bytes && session->layouts[layout].layout->fits(info);
}

bool tort_layout_bytes(const tort_session *session, int32_t layout, const tort_tensor *tensor, size_t *bytes) {
    size_t plain;
    tort_info info = {.type = tensor->type, .nest = -1, .rank = tensor->rank};
    if (!tort_tensor_bytes(tensor, &plain)) return false;
    *bytes = plain;
    if (!layout) return true;
    memcpy(info.dims, tensor->dims, sizeof info.dims);
    const bool fits = tort_layout_fits(session, layout, &info);
    return fits && session->layouts[layout].layout->bytes(tensor, bytes) && *bytes >= plain;
}

tort_status tort_layout_convert(const tort_session *session, int32_t layout, bool to_plain, const tort_tensor *from,
                                const tort_tensor *to, tort_call *call) {
    const tort_chain_layout *its = &session->layouts[layout];
    if (!tort_count(from)) return TORT_OK;
    call->inputs = from;
    call->outputs = to;
    call->input_count = call->output_count = 1;
    return tort_link_noted(its->link, to_plain ? its->layout->to_plain(call) : its->layout->from_plain(call));
}
