/* opening.c - opens models and sessions, and checks names that the user typed against the model (opening.h). */
#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/build.h"
#include "runtime/core/graph/check.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/compiling.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/opening.h"
#include "runtime/core/base/hash.h"
#include "runtime/core/base/memory.h"
#include "runtime/core/base/names.h"
#include "runtime/core/graph/graph.h"
#include "runtime/include/provider.h"
#include "runtime/core/base/suggest.h"
#include "runtime/include/tinyort_plan.h"

/* ---- ports ------------------------------------------------------------------------------------------------------- */

tort_port cli_input(const tort_model *model, int32_t index) {
    tort_port port = {.struct_size = sizeof port};
    tort_model_input(model, index, &port, NULL);
    return port;
}

tort_port cli_output(const tort_model *model, int32_t index) {
    tort_port port = {.struct_size = sizeof port};
    tort_model_output(model, index, &port, NULL);
    return port;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static bool has_name(const cli_texts *list, const char *name) {
    for (int32_t i = 0; i < list->count; i++)
        if (!strcmp(list->items[i], name)) return true;
    return false;
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* Names of the symbolic dimensions of the model's inputs, each once. */
static cli_texts symbols_of(const tort_model *model) {
    cli_texts symbols = {0};
    tort_env env = tort_env_complete(NULL);
    tort_names known;
    int32_t number;
    tort_env_choose_key(&env);
    tort_names_init(&known, &env);
    for (int32_t i = 0; i < tort_model_input_count(model); i++) {
        tort_port port = cli_input(model, i);
        for (int32_t d = 0; d < port.rank; d++) {
            if (port.dims[d] >= 0 || !*port.dim_names[d] || tort_names_find(&known, port.dim_names[d], &number))
                continue;
            cli_check_memory(tort_names_add(&known, port.dim_names[d], 0) ? &known : NULL);
            cli_texts_add(&symbols, port.dim_names[d]);
        }
    }
    tort_names_free(&known);
    return symbols;
}

/* Error for an unknown name, with the nearest one or a list of the dimensions. */
static tort_status unknown_shape(const tort_model *model, const char *option, const cli_texts *symbols,
                                 const char *name, tort_error *error) {
    cli_texts all = {0};
    char hint[300];
    for (int32_t i = 0; i < tort_model_input_count(model); i++) cli_texts_add(&all, cli_input(model, i).name);
    for (int32_t i = 0; i < symbols->count; i++) cli_texts_add(&all, symbols->items[i]);
    tort_did_you_mean(name, all.items, (size_t)all.count, hint, sizeof hint);
    size_t used = strlen(hint);
    for (int32_t i = 0; !*hint || (i && used < sizeof hint); i++) {
        if (i == symbols->count) break;
        used += (size_t)snprintf(hint + used, sizeof hint - used, "%s'%s'",
                                 i ? ", " : "; dimensions are: ", symbols->items[i]);
    }
    free(all.items);
    return tort_fail(error, TORT_E_USAGE, "--%s: the model has no input and no dimension '%s'%s", option, name, hint);
}

static tort_status check_shape(const tort_port *port, const cli_shapes *all, const tort_input_shape *shape,
                               tort_error *error) {
    char given[200], declared[200];
    bool fits = port->rank < 0 || port->rank == shape->rank;
    for (int32_t i = 0; fits && i < port->rank; i++)
        fits = port->dims[i] < 0 || port->dims[i] == shape->dims[i] || (all->bounds && port->dims[i] < shape->dims[i]);
    if (fits) return TORT_OK;
    return tort_fail(error, TORT_E_USAGE, "--%s: input '%s' is %s in the model, which %s does not fit", all->option,
                     port->name, cli_shape_text(port->rank, port->dims, port->dim_names, declared, sizeof declared),
                     cli_shape_text(shape->rank, shape->dims, NULL, given, sizeof given));
}

static tort_status given_twice(const cli_shapes *all, const char *name, tort_error *error) {
    bool found = false;
    for (int32_t i = 0; i < all->shape_count; i++) found = found || !strcmp(all->shapes[i].name, name);
    for (int32_t i = 0; i < all->symbol_count; i++) found = found || !strcmp(all->symbols[i].name, name);
    return found ? tort_fail(error, TORT_E_USAGE, "--%s: '%s' is given twice", all->option, name) : TORT_OK;
}

/* Sorts one --shape or --max: the shape of an input or, if no input has the name, the size of a symbolic dimension. */
static tort_status sort_shape(cli_shapes *all, const tort_model *model, const cli_texts *symbols,
                              const tort_input_shape *shape, tort_error *error) {
    const int32_t input = tort_model_input_index(model, shape->name);
    tort_status status = given_twice(all, shape->name, error);
    if (status) return status;
    if (input >= 0) {
        tort_port port = cli_input(model, input);
        all->shapes[all->shape_count++] = *shape;
        return check_shape(&port, all, shape, error);
    }
    if (!has_name(symbols, shape->name)) return unknown_shape(model, all->option, symbols, shape->name, error);
    all->symbols[all->symbol_count++] = (tort_symbol_size){shape->name, shape->dims[0]};
    if (shape->rank == 1) return TORT_OK;
    return tort_fail(error, TORT_E_USAGE, "--%s: '%s' is a dimension: it takes one number, as in --%s %s=1",
                     all->option, shape->name, all->option, shape->name);
}

static tort_status check_shapes(cli_shapes *all, const tort_model *model, tort_error *error) {
    if (!all->shape_count) return TORT_OK;
    cli_texts symbols = symbols_of(model);
    const int32_t count = all->shape_count;
    tort_status status = TORT_OK;
    all->shape_count = 0; /* refilled in place: the write index never passes the read index */
    for (int32_t i = 0; i < count; i++) {
        const tort_input_shape shape = all->shapes[i];
        const int32_t kept = all->shape_count + all->symbol_count;
        if (!status) status = sort_shape(all, model, &symbols, &shape, error);
        if (all->shape_count + all->symbol_count == kept) free((char *)(uintptr_t)shape.name);
    }
    free(symbols.items);
    return status;
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* Operator names of this build, and those of the model that it lacks. The lists are short enough for linear search. */
static cli_texts operators_of(const tort_model *model) {
    cli_texts list = {0};
    for (const tort_op *const *family = tort_build.families; *family; family++)
        for (const tort_op *row = *family; row->name; row++)
            if (!list.count || strcmp(list.items[list.count - 1], row->name)) cli_texts_add(&list, row->name);
    for (int32_t g = 0; model && g < model->graph_count; g++)
        for (int32_t n = 0; n < model->graphs[g].node_count; n++)
            if (!model->graphs[g].nodes[n].op) cli_texts_add(&list, model->graphs[g].nodes[n].op_type);
    return list;
}

static tort_status check_operator(const char *option, const cli_texts *operators, const char *name, tort_error *error) {
    char hint[200];
    if (has_name(operators, name)) return TORT_OK;
    return tort_fail(error, TORT_E_USAGE, "--%s: there is no operator '%s' in this build or in the model%s", option,
                     name, tort_did_you_mean(name, operators->items, (size_t)operators->count, hint, sizeof hint));
}

/* The next name of a list "a,b", which the caller frees; NULL: there is none. */
static char *take_name(const char **list) {
    if (!*list) return NULL;
    *list += strspn(*list, ",");
    const size_t length = strcspn(*list, ",");
    char *name = length ? cli_copy_text(*list, length) : NULL;
    *list += length;
    return name;
}

static tort_status check_allow(const cli_options *options, const cli_texts *operators, tort_error *error) {
    const char *rest = options->allow;
    tort_status status = TORT_OK;
    for (char *name; !status && (name = take_name(&rest)); free(name))
        status = check_operator("allow", operators, name, error);
    return status;
}

/* True if a node's name contains the word; of a path into a body only the last part counts. */
static bool is_part_of_a_name(const tort_model *model, const char *word) {
    const char *last = strrchr(word, '/') && strrchr(word, '/')[1] ? strrchr(word, '/') + 1 : word;
    for (int32_t g = 0; model && g < model->graph_count; g++)
        for (int32_t i = 0; i < model->graphs[g].node_count; i++)
            if (strstr(model->graphs[g].nodes[i].name, last)) return true;
    return false;
}

static tort_status check_only(const cli_options *options, const cli_texts *operators, const tort_model *model,
                              tort_error *error) {
    static const char *const groups[] = {"fallback", "unplaced", "copies"};
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < options->only.count; i++) {
        const char *only = options->only.items[i];
        bool known = (*only == '#' && only[1] && !only[1 + strspn(only + 1, "0123456789")]);
        const tort_graph *last = &model->graphs[model->graph_count - 1];
        if (known && strtoll(only + 1, NULL, 10) >= last->first + last->node_count)
            return tort_fail(error, TORT_E_USAGE, "--only %s: the model has the nodes #0 to #%d", only,
                             (int)(last->first + last->node_count - 1));
        for (size_t k = 0; k < sizeof groups / sizeof *groups; k++) known = known || !strcmp(only, groups[k]);
        if (!known && !is_part_of_a_name(model, only)) status = check_operator("only", operators, only, error);
    }
    return status;
}

/* --open names inputs. */
static tort_status check_open(const cli_options *options, const tort_model *model, tort_error *error) {
    cli_texts names = {0};
    tort_status status = TORT_OK;
    char hint[200];
    for (int32_t i = 0; i < tort_model_input_count(model); i++) cli_texts_add(&names, cli_input(model, i).name);
    for (int32_t i = 0; !status && i < options->open.count; i++)
        if (strcmp(options->open.items[i], "*") != 0 && !has_name(&names, options->open.items[i]))
            status = tort_fail(
                error, TORT_E_USAGE, "--open: the model has no input '%s'%s", options->open.items[i],
                tort_did_you_mean(options->open.items[i], names.items, (size_t)names.count, hint, sizeof hint));
    free(names.items);
    return status;
}

tort_status cli_check_names(cli_options *options, const tort_model *model, tort_error *error) {
    tort_status status = model ? check_shapes(&options->fixed, model, error) : TORT_OK;
    if (!status && model) status = check_shapes(&options->max, model, error);
    if (!status && model) status = check_open(options, model, error);
    if (status || (!options->allow && !options->only.count)) return status;
    cli_texts operators = operators_of(model);
    status = check_allow(options, &operators, error);
    if (!status) status = check_only(options, &operators, model, error);
    free(operators.items);
    return status;
}

tort_status cli_check_environment(tort_error *error) {
    const char *rest = getenv("TINYORT_DISABLE");
    cli_texts providers = {0};
    tort_status status = TORT_OK;
    char hint[200];
    for (const tort_provider *const *row = tort_build.providers; *row; row++) cli_texts_add(&providers, (*row)->name);
    for (char *name; !status && (name = take_name(&rest)); free(name))
        if (!has_name(&providers, name))
            status = tort_fail(error, TORT_E_USAGE, "TINYORT_DISABLE: this build has no provider '%s'%s", name,
                               tort_did_you_mean(name, providers.items, (size_t)providers.count, hint, sizeof hint));
    free(providers.items);
    return status;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* Input names in --input, --random, --shape and --open: an input with a default that the user names must be loaded as
 * an input. The caller frees the list, which ends with NULL, and its names. */
static char **named_inputs(const cli_options *options) {
    size_t count = (size_t)options->range_count + (size_t)options->fixed.shape_count, used = 0;
    count += (size_t)options->open.count;
    for (int32_t i = 0; i < options->inputs.count; i++)
        for (const char *at = options->inputs.items[i]; (at = strchr(at, '=')); at++) count++;
    char **names = cli_alloc(count + 1, sizeof *names);
    for (int32_t i = 0; i < options->inputs.count; i++) /* "a=b=FILE": the name is a or a=b */
        for (const char *text = options->inputs.items[i], *at = text; (at = strchr(at, '=')); at++)
            names[used++] = cli_copy_text(text, (size_t)(at - text));
    for (int32_t i = 0; i < options->range_count; i++) names[used++] = cli_format("%s", options->ranges[i].name);
    for (int32_t i = 0; i < options->fixed.shape_count; i++)
        names[used++] = cli_format("%s", options->fixed.shapes[i].name);
    for (int32_t i = 0; i < options->open.count; i++) names[used++] = cli_format("%s", options->open.items[i]);
    return names;
}

tort_status cli_open_model(const cli_options *options, const char *path, tort_model **model, tort_error *error) {
    *model = NULL;
    tort_status status = cli_check_file(path, error);
    if (status) return status;
    char **names = named_inputs(options);
    tort_load_options load = options->load;
    load.open_inputs = (const char *const *)names;
    cli_progress("loading %s", path);
    status = tort_model_load(NULL, path, &load, model, error);
    cli_progress_end();
    for (char **name = names; *name; name++) free(*name);
    free(names);
    return status;
}

/* Seconds, positive, as nanoseconds; 0: no limit. */
static uint64_t nanoseconds(double seconds) {
    return seconds <= 0 ? 0 : seconds < 1e9 ? (uint64_t)(seconds * 1e9 + 0.5) : UINT64_MAX;
}

tort_session_options cli_session_options(const cli_options *options, const char *chain) {
    return (tort_session_options){
        .struct_size = sizeof(tort_session_options),
        .chain = chain,
        .target = options->target,
        .disabled = getenv("TINYORT_DISABLE"),
        .require = options->require,
        .strict = options->strict,
        .strict_integers = options->strict_integers,
        .allow = options->allow,
        .fusions_off = options->no_fusion,
        .pins = options->pins.items,
        .pin_count = options->pins.count,
        .bindings = options->bindings.items,
        .binding_count = options->bindings.count,
        .shapes = options->fixed.shapes,
        .shape_count = options->fixed.shape_count,
        .symbols = options->fixed.symbols,
        .symbol_count = options->fixed.symbol_count,
        .max_shapes = options->max.shapes,
        .max_shape_count = options->max.shape_count,
        .max_symbols = options->max.symbols,
        .max_symbol_count = options->max.symbol_count,
        .wait_steps = options->step_by_step,
        .dynamic_limit = options->dynamic_limit,
        .trip_limit = (uint64_t)options->trip_limit,
        .time_limit = nanoseconds(options->time_limit),
    };
}

tort_status cli_open_session(const tort_model *model, const tort_session_options *session_options,
                             tort_session **session, tort_error *error) {
    tort_session_options told = *session_options;
    cli_compiling compiling;
    *session = NULL;
    told.compiling = cli_tell_compiling;
    told.compiling_ud = &compiling;
    cli_progress(told.plan_only ? "planning" : "planning, and preparing weights");
    tort_status status = tort_session_create(NULL, model, &told, session, error);
    cli_progress_end();
    return status;
}

static tort_status open_plan(const cli_options *options, tort_session **session, tort_error *error) {
    const tort_plan_options plan_options = {.struct_size = sizeof plan_options,
                                            .chain = options->chains.items[0],
                                            .map = options->load.map_external,
                                            .operators = options->load.operators,
                                            .operator_abi = options->load.operator_abi,
                                            .disabled = getenv("TINYORT_DISABLE"),
                                            .wait_steps = options->step_by_step,
                                            .dynamic_limit = options->dynamic_limit,
                                            .trip_limit = (uint64_t)options->trip_limit,
                                            .time_limit = nanoseconds(options->time_limit)};
    *session = NULL;
    tort_status status = cli_check_file(options->plan, error);
    if (status) return status;
    cli_progress("loading %s", options->plan);
    status = tort_session_load(NULL, options->plan, &plan_options, session, error);
    cli_progress_end();
    return status;
}

tort_status cli_open_either(const cli_options *options, tort_model **loaded, tort_session **session,
                            const tort_model **model, tort_error *error) {
    tort_status status = options->plan ? open_plan(options, session, error)
                                       : cli_open_model(options, options->operands[0], loaded, error);
    if (!status) *model = options->plan ? tort_session_model(*session) : *loaded;
    return status;
}

/* ---- inputs as --shape has them ---------------------------------------------------------------------------------- */

/* Size of a symbolic dimension in the shape given for `port`; -1 if the port does not have it. */
static int64_t size_of_symbol(const tort_port *port, const char *symbol, const tort_input_shape *shape) {
    for (int32_t i = 0; i < port->rank && i < shape->rank; i++)
        if (port->dims[i] < 0 && !strcmp(port->dim_names[i], symbol)) return shape->dims[i];
    return -1;
}

/* Size that --shape gives a symbolic dimension, by its name or through the shape of an input; -1 if none. */
static int64_t given_size(const cli_options *options, const tort_model *model, const char *symbol) {
    for (int32_t i = 0; i < options->fixed.symbol_count; i++)
        if (!strcmp(options->fixed.symbols[i].name, symbol)) return options->fixed.symbols[i].size;
    int64_t size = -1;
    for (int32_t i = 0; size < 0 && i < options->fixed.shape_count; i++) {
        tort_port port = cli_input(model, tort_model_input_index(model, options->fixed.shapes[i].name));
        size = size_of_symbol(&port, symbol, &options->fixed.shapes[i]);
    }
    return size;
}

tort_port cli_input_port(const cli_options *options, const tort_model *model, int32_t index) {
    tort_port port = cli_input(model, index);
    for (int32_t i = 0; i < options->fixed.shape_count; i++) {
        const tort_input_shape *shape = &options->fixed.shapes[i];
        if (strcmp(shape->name, port.name) != 0) continue;
        port.rank = shape->rank;
        memcpy(port.dims, shape->dims, sizeof port.dims);
    }
    for (int32_t i = 0; i < port.rank; i++)
        if (port.dims[i] < 0 && port.dim_names[i] && *port.dim_names[i])
            port.dims[i] = given_size(options, model, port.dim_names[i]);
    return port;
}
