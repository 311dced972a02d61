/* inputs.c - the shapes that the inputs of a session may have: those fixed by options before planning, and checks of
 * those that a run brings.
 *
 * A symbol has one size wherever it occurs: planning relies on it (n - n is folded to 0), so a run that gives it two
 * sizes is refused. This file must not know what reads an input. Read next: session.c, bind.c. */
#include <stdio.h>
#include <string.h>

#include "runtime/core/lowered/lowered.h"
#include "runtime/core/graph/value.h"
#include "runtime/core/plan/bounds.h"
#include "runtime/core/plan/inputs.h"

static const char *input_name(const tort_session *session, int32_t input) {
    return tort_main_graph(session)->graph.values[tort_main_graph(session)->graph.inputs[input]].name;
}

static tort_info *input_info(const tort_session *session, int32_t input) {
    return &tort_main_graph(session)->infos[tort_main_graph(session)->graph.inputs[input]];
}

/* ---- fixed by options -------------------------------------------------------------------------------------------- */

/* Fixes a symbol in all inputs. False: no input has it. */
static bool bind_symbol(tort_session *session, tort_dim symbol, int64_t size) {
    bool met = false;
    for (int32_t i = 0; i < tort_main_graph(session)->graph.input_count; i++) {
        tort_info *info = input_info(session, i);
        for (int32_t d = 0; d < info->rank; d++) {
            if (info->dims[d] != symbol) continue;
            info->dims[d] = size;
            met = true;
        }
    }
    return met;
}

static int32_t find_input(const tort_session *session, const char *name) {
    for (int32_t i = 0; i < tort_main_graph(session)->graph.input_count; i++)
        if (!strcmp(input_name(session, i), name)) return i;
    return -1;
}

static tort_status fix_shape(tort_session *session, const tort_input_shape *shape, tort_error *error) {
    const int32_t input = find_input(session, shape->name);
    const tort_graph *graph = &tort_main_graph(session)->graph;
    char type[80], known[300];
    if (input < 0)
        return tort_fail(error, TORT_E_INPUT, "the model has no input \"%s\" (it has: %s)", shape->name,
                         tort_list_values(graph, graph->inputs, graph->input_count, known, sizeof known));
    if (input_info(session, input)->kind != TORT_TENSOR)
        return tort_fail(error, TORT_E_USAGE, "input \"%s\" is %s, which has no shape to fix", shape->name,
                         tort_type_text(tort_info_type(input_info(session, input)), type, sizeof type));
    if (shape->rank < 0 || shape->rank > TORT_MAX_RANK)
        return tort_fail(error, TORT_E_USAGE, "shape of input \"%s\" has rank %d, it must be 0 to %d", shape->name,
                         shape->rank, TORT_MAX_RANK);
    tort_info *info = input_info(session, input);
    if (info->rank >= 0 && info->rank != shape->rank)
        return tort_fail(error, TORT_E_INPUT, "shape of input \"%s\" has rank %d, the model says %d", shape->name,
                         shape->rank, info->rank);
    if (info->rank < 0)
        for (int32_t d = 0; d < shape->rank; d++) info->dims[d] = tort_dim_fresh(&session->dims, false);
    info->rank = shape->rank;
    for (int32_t d = 0; d < shape->rank; d++) {
        tort_dim before = info->dims[d];
        if (shape->dims[d] < 0) continue; /* left open */
        if (!tort_dim_known(before))
            bind_symbol(session, before, shape->dims[d]);
        else if (before != shape->dims[d])
            return tort_fail(error, TORT_E_INPUT,
                             "dimension %d of input \"%s\" is %lld, but the model, or another fixed shape, says %lld",
                             d, shape->name, (long long)shape->dims[d], (long long)before);
    }
    return session->dims.failed ? tort_out_of_memory(error, 0) : TORT_OK;
}

/* Writes the names of dimensions that are still open, for a message, into the buffer, and returns it. */
static const char *list_symbols(const tort_session *session, char *buffer, size_t size) {
    size_t used = (size_t)snprintf(buffer, size, "none is");
    const tort_dims *dims = &session->dims;
    for (int32_t i = 0, told = 0; i < tort_main_graph(session)->graph.input_count; i++) {
        const tort_info *info = input_info(session, i);
        for (int32_t d = 0; d < info->rank && used < size; d++) {
            char text[64];
            if (tort_dim_known(info->dims[d]) || strchr(tort_dim_text(dims, info->dims[d], text, sizeof text), '?'))
                continue;
            if (!told) used = (size_t)snprintf(buffer, size, "open: ");
            used += (size_t)snprintf(buffer + used, size - used, "%s%s", told++ ? ", " : "", text);
        }
    }
    return buffer;
}

static tort_status fix_symbol(tort_session *session, const tort_symbol_size *symbol, tort_error *error) {
    if (symbol->size < 0)
        return tort_fail(error, TORT_E_USAGE, "dimension \"%s\" cannot be %lld", symbol->name, (long long)symbol->size);
    const tort_dim dim = tort_dim_symbol(&session->dims, symbol->name);
    if (session->dims.failed) return tort_out_of_memory(error, 0);
    if (bind_symbol(session, dim, symbol->size)) return TORT_OK;
    char known[300];
    return tort_fail(error, TORT_E_USAGE, "no input of the model has a dimension called \"%s\" that is still open (%s)",
                     symbol->name, list_symbols(session, known, sizeof known));
}

/* Sets same_dim for each dimension of an input (input * TORT_MAX_RANK + dimension): the first dimension with the same
 * symbol, or itself. first[symbol]: that dimension plus one; 0: not met yet. */
static void link_symbols(const tort_session *session, int32_t *first) {
    const int32_t count = tort_main_graph(session)->graph.input_count * TORT_MAX_RANK;
    for (int32_t at = 0; at < count; at++) tort_main_graph(session)->same_dim[at] = at;
    for (int32_t i = 0; i < tort_main_graph(session)->graph.input_count; i++) {
        const tort_info *info = input_info(session, i);
        for (int32_t d = 0; d < info->rank; d++) {
            if (tort_dim_known(info->dims[d])) continue;
            int32_t at = i * TORT_MAX_RANK + d, *met = &first[~info->dims[d]];
            if (!*met) *met = at + 1;
            tort_main_graph(session)->same_dim[at] = *met - 1;
        }
    }
}

tort_status tort_fix_inputs(tort_session *session, tort_error *error) {
    const tort_session_options *options = &session->options;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < options->shape_count; i++)
        status = fix_shape(session, &options->shapes[i], error);
    for (int32_t i = 0; !status && i < options->symbol_count; i++)
        status = fix_symbol(session, &options->symbols[i], error);
    if (status) return status;
    const size_t symbols = (size_t)session->dims.count + 1,
                 dims = (size_t)tort_main_graph(session)->graph.input_count * TORT_MAX_RANK;
    int32_t *first = tort_alloc_zero(&session->env, symbols, sizeof *first);
    tort_main_graph(session)->same_dim =
        tort_arena_array(&session->arena, dims + 1, sizeof *tort_main_graph(session)->same_dim);
    if (first && tort_main_graph(session)->same_dim)
        link_symbols(session, first);
    else
        status = tort_out_of_memory(error, symbols * sizeof *first);
    tort_free(&session->env, first, symbols * sizeof *first);
    return status;
}

/* ---- inputs of a run --------------------------------------------------------------------------------------------- */

static tort_status check_type(const tort_session *session, const tort_tensor *tensor, int32_t input,
                              tort_error *error) {
    const tort_info *info = input_info(session, input);
    const char *name = input_name(session, input);
    size_t bytes;
    if (info->kind != TORT_TENSOR) return TORT_OK;
    if (tensor->type != info->type)
        return tort_fail(error, TORT_E_INPUT, "input \"%s\" is of type %s, the model wants %s", name,
                         tort_type_name(tensor->type), tort_type_name(info->type));
    if (tensor->rank < 0 || tensor->rank > TORT_MAX_RANK || !tort_tensor_bytes(tensor, &bytes))
        return tort_fail(error, TORT_E_INPUT, "input \"%s\" has no valid shape", name);
    if (bytes && !tensor->data) return tort_fail(error, TORT_E_INPUT, "input \"%s\" has no data", name);
    if (info->rank >= 0 && info->rank != tensor->rank)
        return tort_fail(error, TORT_E_INPUT, "input \"%s\" has rank %d, the model wants %d", name, tensor->rank,
                         info->rank);
    return TORT_OK;
}

static tort_status symbol_clash(const tort_session *session, const tort_tensor *inputs, int32_t at, tort_error *error) {
    const int32_t i = at / TORT_MAX_RANK, d = at % TORT_MAX_RANK, same = tort_main_graph(session)->same_dim[at];
    const int32_t j = same / TORT_MAX_RANK, e = same % TORT_MAX_RANK;
    char symbol[80];
    tort_dim_text(&session->dims, input_info(session, i)->dims[d], symbol, sizeof symbol);
    return tort_fail(
        error, TORT_E_INPUT,
        "dimension %d of input \"%s\" is %lld, but the model calls it \"%s\", which is %lld by dimension %d "
        "of input \"%s\": give both one size, or export the model with two names",
        d, input_name(session, i), (long long)inputs[i].dims[d], symbol, (long long)inputs[j].dims[e], e,
        input_name(session, j));
}

const char *tort_channels_hint(const tort_tensor *tensor, const int64_t *wanted, int32_t rank, char *buffer,
                               size_t size) {
    bool fits = rank == tensor->rank && rank >= 3;
    size_t used = (size_t)snprintf(buffer, size, ": its channels seem to be last; transpose it to ");
    for (int32_t i = 0; fits && i < rank; i++) {
        const int64_t moved = tensor->dims[i == 0 ? 0 : i == 1 ? rank - 1 : i - 1];
        fits = wanted[i] < 0 || wanted[i] == moved;
        if (used < size) used += (size_t)snprintf(buffer + used, size - used, "%s%lld", i ? "x" : "", (long long)moved);
    }
    if (!fits) *buffer = 0;
    return buffer;
}

static tort_status check_dims(const tort_session *session, const tort_tensor *inputs, int32_t i, tort_error *error) {
    const tort_info *info = input_info(session, i);
    char hint[160];
    for (int32_t d = 0; d < info->rank; d++) {
        const int32_t at = i * TORT_MAX_RANK + d, same = tort_main_graph(session)->same_dim[at];
        const int64_t size = inputs[i].dims[d];
        if (tort_dim_known(info->dims[d]) && info->dims[d] != size)
            return tort_fail(error, TORT_E_INPUT, "dimension %d of input \"%s\" is %lld, the model wants %lld%s", d,
                             input_name(session, i), (long long)size, (long long)info->dims[d],
                             tort_channels_hint(&inputs[i], info->dims, info->rank, hint, sizeof hint));
        if (inputs[same / TORT_MAX_RANK].dims[same % TORT_MAX_RANK] != size)
            return symbol_clash(session, inputs, at, error);
    }
    return TORT_OK;
}

static tort_status check_count(const tort_session *session, int32_t count, tort_error *error) {
    const int32_t wanted = tort_main_graph(session)->graph.input_count;
    if (count == wanted) return TORT_OK;
    return tort_fail(error, TORT_E_INPUT, "%d input%s given, the model has %d", count, count == 1 ? "" : "s", wanted);
}

tort_status tort_check_inputs(const tort_session *session, const tort_tensor *inputs, int32_t count,
                              tort_error *error) {
    tort_status status = check_count(session, count, error);
    for (int32_t i = 0; !status && i < count; i++) status = check_type(session, &inputs[i], i, error);
    for (int32_t i = 0; !status && i < count; i++) status = check_dims(session, inputs, i, error);
    return status ? status : tort_check_bounds(session, inputs, error);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static tort_status check_tensor_ports(const tort_session *session, const char *role, const int32_t *values,
                                      int32_t count, tort_error *error) {
    const tort_lowered *lowered = tort_main_graph(session);
    char type[80];
    for (int32_t i = 0; i < count; i++)
        if (lowered->infos[values[i]].kind != TORT_TENSOR)
            return tort_fail(error, TORT_E_USAGE,
                             "%s \"%s\" is %s; tort_context_run has tensors alone, tort_context_run_values runs this "
                             "model",
                             role, lowered->graph.values[values[i]].name,
                             tort_type_text(tort_info_type(&lowered->infos[values[i]]), type, sizeof type));
    return TORT_OK;
}

tort_status tort_check_tensors_alone(const tort_session *session, tort_error *error) {
    const tort_graph *graph = &tort_main_graph(session)->graph;
    tort_status status = check_tensor_ports(session, "input", graph->inputs, graph->input_count, error);
    return status ? status : check_tensor_ports(session, "output", graph->outputs, graph->output_count, error);
}

static tort_status check_value(const tort_session *session, const tort_value *value, int32_t input, tort_error *error) {
    const tort_value_type wanted = tort_info_type(input_info(session, input));
    char given[80], want[80];
    if (!value && tort_type_kind(wanted) == TORT_OPTIONAL) return TORT_OK;
    if (!value)
        return tort_fail(error, TORT_E_INPUT, "input \"%s\" is NULL, the model wants %s", input_name(session, input),
                         tort_type_text(wanted, want, sizeof want));
    if (tort_type_fits(tort_value_type_of(value), wanted)) return TORT_OK;
    return tort_fail(error, TORT_E_INPUT, "input \"%s\" is %s, the model wants %s", input_name(session, input),
                     tort_type_text(tort_value_type_of(value), given, sizeof given),
                     tort_type_text(wanted, want, sizeof want));
}

tort_status tort_check_values(const tort_session *session, const tort_value *const *inputs, int32_t count,
                              tort_error *error) {
    tort_status status = check_count(session, count, error);
    for (int32_t i = 0; !status && i < count; i++) status = check_value(session, inputs[i], i, error);
    return status;
}
