/* bounds.c - upper bounds of input shapes: reads the options, makes the plan for the bounds, checks runs
 * against them.
 *
 * The plan for the bounds never runs. It has an offset for every value at its largest: a context makes its own plan for
 * the shapes of each run, in memory allocated once, and takes the offsets over (plan_layout.c). Read next: frame.c. */
#include <string.h>

#include "runtime/core/plan/plan_parts.h"
#include "runtime/core/plan/bounds.h"
#include "runtime/core/plan/planned.h"

/* The dimension of an input; at = input * TORT_MAX_RANK + dimension. */
static tort_dim dim_at(const tort_lowered *lowered, int32_t at) {
    return lowered->infos[lowered->graph.inputs[at / TORT_MAX_RANK]].dims[at % TORT_MAX_RANK];
}

static const char *input_name(const tort_lowered *lowered, int32_t input) {
    return lowered->graph.values[lowered->graph.inputs[input]].name;
}

static int32_t rank_of(const tort_lowered *lowered, int32_t input) {
    return lowered->infos[lowered->graph.inputs[input]].rank;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* Sets the bound wherever the symbol occurs; the smaller bound counts. False: no input has the symbol. */
static bool bind_bound(const tort_lowered *lowered, tort_dim symbol, int64_t size) {
    bool met = false;
    for (int32_t i = 0; i < lowered->graph.input_count; i++)
        for (int32_t d = 0; d < rank_of(lowered, i); d++) {
            int64_t *max = &lowered->max[i * TORT_MAX_RANK + d];
            if (dim_at(lowered, i * TORT_MAX_RANK + d) != symbol) continue;
            met = true;
            if (*max < 0 || size < *max) *max = size;
        }
    return met;
}

static tort_status bound_symbol(const tort_lowered *lowered, const tort_symbol_size *symbol, tort_error *error) {
    tort_session *session = lowered->session;
    if (symbol->size < 0)
        return tort_fail(error, TORT_E_USAGE, "dimension \"%s\" cannot be at most %lld", symbol->name,
                         (long long)symbol->size);
    const tort_dim dim = tort_dim_symbol(&session->dims, symbol->name);
    if (session->dims.failed) return tort_out_of_memory(error, 0);
    if (bind_bound(lowered, dim, symbol->size)) return TORT_OK;
    return tort_fail(
        error, TORT_E_USAGE,
        "no input of the model has a dimension called \"%s\" that is still open: one that is fixed needs no "
        "upper bound",
        symbol->name);
}

static tort_status bound_shape(const tort_lowered *lowered, const tort_input_shape *shape, tort_error *error) {
    int32_t input = 0;
    while (input < lowered->graph.input_count && strcmp(input_name(lowered, input), shape->name) != 0) input++;
    char known[300];
    if (input == lowered->graph.input_count)
        return tort_fail(
            error, TORT_E_USAGE, "the model has no input \"%s\" (it has: %s)", shape->name,
            tort_list_values(&lowered->graph, lowered->graph.inputs, lowered->graph.input_count, known, sizeof known));
    if (rank_of(lowered, input) != shape->rank)
        return tort_fail(error, TORT_E_USAGE, "the upper bounds of input \"%s\" are %d, it has %d dimensions",
                         shape->name, shape->rank, rank_of(lowered, input));
    for (int32_t d = 0; d < shape->rank; d++) {
        const tort_dim dim = dim_at(lowered, input * TORT_MAX_RANK + d);
        if (shape->dims[d] < 0) continue;
        if (dim < 0)
            bind_bound(lowered, dim, shape->dims[d]);
        else if (dim > shape->dims[d])
            return tort_fail(error, TORT_E_USAGE,
                             "dimension %d of input \"%s\" is %lld, which is more than its upper bound %lld", d,
                             shape->name, (long long)dim, (long long)shape->dims[d]);
    }
    return TORT_OK;
}

/* Memory can be allocated once only if all open dimensions are bounded. */
static tort_status check_complete(const tort_lowered *lowered, tort_error *error) {
    char symbol[80];
    for (int32_t i = 0; i < lowered->graph.input_count; i++) {
        const tort_info *info = &lowered->infos[lowered->graph.inputs[i]];
        if (info->kind != TORT_TENSOR) continue;
        if (info->rank < 0)
            return tort_fail(error, TORT_E_USAGE,
                             "input \"%s\" has no rank, so that it cannot have upper bounds: fix its shape "
                             "(option shapes, --shape)",
                             input_name(lowered, i));
        for (int32_t d = 0; d < info->rank; d++) {
            if (info->dims[d] >= 0 || lowered->max[i * TORT_MAX_RANK + d] >= 0) continue;
            return tort_fail(error, TORT_E_USAGE,
                             "dimension %d of input \"%s\", \"%s\", has no upper bound, while others have: give it "
                             "one (option max_symbols, --max), or fix it (option symbols, --shape)",
                             d, input_name(lowered, i),
                             tort_dim_text(&lowered->session->dims, info->dims[d], symbol, sizeof symbol));
        }
    }
    return TORT_OK;
}

tort_status tort_read_bounds(tort_session *session, tort_error *error) {
    const tort_session_options *options = &session->options;
    tort_lowered *lowered = tort_main_graph(session);
    const size_t count = (size_t)lowered->graph.input_count * TORT_MAX_RANK;
    tort_status status = TORT_OK;
    if (!options->max_symbol_count && !options->max_shape_count) return TORT_OK;
    lowered->max = tort_arena_array(&session->arena, count + 1, sizeof *lowered->max);
    if (!lowered->max) return tort_out_of_memory(error, count * sizeof *lowered->max);
    for (size_t at = 0; at < count; at++) lowered->max[at] = -1;
    for (int32_t i = 0; !status && i < options->max_shape_count; i++)
        status = bound_shape(lowered, &options->max_shapes[i], error);
    for (int32_t i = 0; !status && i < options->max_symbol_count; i++)
        status = bound_symbol(lowered, &options->max_symbols[i], error);
    return status ? status : check_complete(lowered, error);
}

/* ---- the plan for the bounds ------------------------------------------------------------------------------------- */

static void largest_inputs(const tort_lowered *lowered, tort_tensor *inputs) {
    for (int32_t i = 0; i < lowered->graph.input_count; i++) {
        const tort_info *info = &lowered->infos[lowered->graph.inputs[i]];
        inputs[i] = (tort_tensor){.type = info->type, .rank = info->rank};
        for (int32_t d = 0; d < info->rank; d++)
            inputs[i].dims[d] = info->dims[d] < 0 ? lowered->max[i * TORT_MAX_RANK + d] : info->dims[d];
    }
}

tort_status tort_plan_bounds(tort_lowered *lowered, const tort_env *env, tort_planned **planned, tort_error *error) {
    const size_t count = (size_t)lowered->graph.input_count + 1;
    tort_tensor *inputs = tort_alloc_zero(env, count, sizeof *inputs);
    tort_status status = inputs ? TORT_OK : tort_out_of_memory(error, count * sizeof *inputs);
    *planned = NULL;
    if (!status) status = tort_planned_open(lowered, env, planned, error);
    if (!status) {
        largest_inputs(lowered, inputs);
        status = tort_planned_reserve(*planned, inputs, error);
        if (status) tort_error_prefix(error, "at the upper bounds of the inputs");
    }
    tort_free(env, inputs, count * sizeof *inputs);
    if (!status) return TORT_OK;
    tort_planned_free(*planned);
    *planned = NULL;
    return status;
}

int32_t tort_find_shrinking(const tort_lowered *lowered, int32_t *dimension) {
    for (int32_t v = 0; v < lowered->graph.value_count; v++) {
        const tort_info *info = &lowered->infos[v];
        for (*dimension = 0; *dimension < info->rank; ++*dimension)
            if (!tort_dim_grows(&lowered->session->dims, info->dims[*dimension])) return v;
    }
    return -1;
}

size_t tort_session_output_bytes(const tort_session *session, int32_t index) {
    const tort_planned *bound = session && session->graph_count ? tort_main_graph(session)->bound : NULL;
    if (!bound || index < 0 || index >= bound->plan.output_count) return 0;
    const int64_t bytes = bound->plan.slots[bound->plan.output_slots[index]].bytes;
    return bytes > 0 ? (size_t)bytes : 0;
}

/* ---- inputs of a run --------------------------------------------------------------------------------------------- */

tort_status tort_check_bounds(const tort_session *session, const tort_tensor *inputs, tort_error *error) {
    const tort_lowered *lowered = tort_main_graph(session);
    char symbol[80];
    for (int32_t i = 0; lowered->max && i < lowered->graph.input_count; i++)
        for (int32_t d = 0; d < rank_of(lowered, i); d++) {
            const int64_t size = inputs[i].dims[d], max = lowered->max[i * TORT_MAX_RANK + d];
            if (max < 0 || size <= max) continue;
            tort_dim_text(&session->dims, dim_at(lowered, i * TORT_MAX_RANK + d), symbol, sizeof symbol);
            return tort_fail(error, TORT_E_INPUT,
                             "dimension %d of input \"%s\", \"%s\", is %lld, but at most %lld was planned for: give "
                             "the session a larger bound (option max_symbols, --max %s=%lld)",
                             d, input_name(lowered, i), symbol, (long long)size, (long long)max, symbol,
                             (long long)size);
        }
    return TORT_OK;
}
