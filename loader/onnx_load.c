/* onnx_load.c - tort_model_load: untrusted bytes become a checked model.
 *
 * The steps: open the source; slim copy (wire.c), which becomes the model's; header, imports, functions, the main graph
 * with all below it; tort_model_finish. Weights are not read. Memory has a limit (limits.h). Whatever
 * fails, everything is freed and the error says where. Read next: wire.h, graph.c. */
#include <string.h>

#include "loader/file_kind.h"
#include "loader/loader.h"
#include "runtime/graph/check.h"

/* ---- the header ------------------------------------------------------------------------------------------------- */

static tort_message find_message(tort_message message, uint32_t number) {
    tort_field field;
    return tort_next_of(&message, number, &field) ? field.message : (tort_message){NULL, NULL};
}

static tort_status load_header(tort_loader *loader, const char *path) {
    tort_model *model = loader->model;
    tort_message message = loader->message;
    model->ir_version = 0;
    for (tort_field field; tort_next_of(&message, MODEL_IR_VERSION, &field);)
        model->ir_version = (int64_t)field.integer;
    message = loader->message;
    if (model->ir_version < 1 || model->ir_version > TORT_NEWEST_IR)
        return tort_fail(loader->error, TORT_E_MODEL, "ir_version is %lld; tinyort reads 1 to %d",
                         (long long)model->ir_version, TORT_NEWEST_IR);
    model->producer = tort_text_in(message, MODEL_PRODUCER_NAME);
    model->producer_version = tort_text_in(message, MODEL_PRODUCER_VERSION);
    model->graph_name = tort_text_in(find_message(message, MODEL_GRAPH), GRAPH_NAME);
    model->path = tort_arena_text(&model->arena, path, strlen(path));
    return model->path ? TORT_OK : tort_no_memory(loader);
}

static tort_status load_metadata(tort_loader *loader) {
    tort_message rest = loader->message;
    size_t count = (size_t)tort_count_of(rest, MODEL_METADATA_PROPS);
    tort_metadata *metadata = tort_arena_array(&loader->model->arena, count, sizeof *metadata);
    if (!metadata) return tort_no_memory(loader);
    tort_field field;
    for (size_t i = 0; tort_next_of(&rest, MODEL_METADATA_PROPS, &field); i++)
        metadata[i] =
            (tort_metadata){tort_text_in(field.message, PROPERTY_KEY), tort_text_in(field.message, PROPERTY_VALUE)};
    loader->model->metadata = metadata;
    loader->model->metadata_count = (int32_t)count;
    return TORT_OK;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

/* The slim copy moves into the model, whose names it holds. */
static tort_status take_slim_copy(tort_loader *loader) {
    tort_slim slim;
    tort_status status = tort_wire_slim(loader->env, loader->source, &tort_wire_model, &slim, loader->error);
    uint8_t *bytes = status ? NULL : tort_arena_alloc(&loader->model->arena, slim.size);
    if (bytes) {
        if (slim.size) memcpy(bytes, slim.bytes, slim.size);
        loader->message = (tort_message){bytes, bytes + slim.size};
    } else if (!status) {
        status = tort_no_memory(loader);
    }
    tort_slim_free(loader->env, &slim);
    return status;
}

static tort_status load_main_graph(tort_loader *loader) {
    tort_scope scope = {0};
    int32_t graph;
    tort_status status = tort_load_graph(loader, find_message(loader->message, MODEL_GRAPH), &scope, &graph);
    tort_scope_free(loader, &scope);
    return status;
}

static tort_status load_parts(tort_loader *loader, const char *path) {
    tort_status status = take_slim_copy(loader);
    if (!status && !find_message(loader->message, MODEL_GRAPH).at)
        status = tort_fail(loader->error, TORT_E_MODEL, "there is no graph in it; is it an ONNX model?");
    if (status == TORT_E_MODEL) tort_explain_file(loader->source, loader->error);
    if (!status) status = load_header(loader, path);
    if (!status) status = load_metadata(loader);
    if (!status) status = tort_load_opsets(loader, loader->message, MODEL_OPSET_IMPORT, &loader->opsets);
    if (!status) status = tort_list_opsets(loader);
    if (!status) status = tort_load_functions(loader);
    if (!status) status = load_main_graph(loader);
    return status;
}

/* Fills `model` from its source. */
static tort_status load(tort_model *model, const char *path, tort_error *error) {
    tort_loader loader = {.env = &model->env, .model = model, .source = model->source_ud, .error = error};
    tort_arena_init(&loader.scratch, loader.env);
    tort_names_init(&loader.opsets, loader.env);
    tort_names_init(&loader.function_numbers, loader.env);
    tort_names_init(&loader.prefixes, loader.env);
    tort_status status = load_parts(&loader, path);
    tort_functions_free(&loader);
    tort_names_free(&loader.opsets);
    tort_names_free(&loader.function_numbers);
    tort_names_free(&loader.prefixes);
    tort_arena_free(&loader.scratch);
    return status;
}

static void set_source(tort_model *model, tort_source *source) {
    model->source_ud = source;
    model->source_read = tort_source_read;
    model->source_view = tort_source_view;
    model->source_close = tort_source_close;
    model->source_is_ours = tort_source_is_ours(source);
}

static tort_status over_limit(const tort_source *source, const tort_model *model, tort_error *error) {
    return tort_fail(
        error, TORT_E_MODEL,
        "loading takes more than %zu MiB of memory, the limit for a file of %llu bytes (%d for each and %zu "
        "MiB): a part of it describes far more than it holds",
        model->account.limit >> 20, (unsigned long long)tort_source_size(source), TORT_LOAD_FACTOR,
        TORT_LOAD_BASE >> 20);
}

/* Fills `model` from its source within the limit for its size, which ends with the loading. */
static tort_status load_limited(tort_model *model, tort_source *source, const char *path, tort_error *error) {
    tort_account_limit(&model->account, tort_load_limit(tort_source_size(source)));
    tort_status status = load(model, path, error);
    if (!status) status = tort_model_finish(model, tort_source_options(source)->assume_opset, error);
    if (status && model->account.refused) status = over_limit(source, model, error);
    tort_account_limit(&model->account, SIZE_MAX);
    return status;
}

/* Operators of the application are looked at before the file is. */
static tort_status check_operators(const tort_load_options *options, tort_error *error) {
    if (!options->operators) return TORT_OK;
    if (options->operator_abi != TORT_PROVIDER_ABI)
        return tort_fail(error, TORT_E_USAGE,
                         "tort_load_options.operators were compiled with an op.h of version %u (operator_abi), this "
                         "library has %u: set operator_abi to TORT_PROVIDER_ABI and compile them anew",
                         options->operator_abi, TORT_PROVIDER_ABI);
    return tort_check_rows(options->operators, error);
}

/* The caller's, which may have been compiled with a shorter struct. */
static tort_status complete_options(const tort_load_options *options, tort_load_options *complete, tort_error *error) {
    *complete = (tort_load_options){.struct_size = sizeof *complete};
    if (!options) return TORT_OK;
    const size_t size = options->struct_size;
    tort_status status = tort_check_struct_size(size, "tort_load_options", error);
    if (status) return status;
    memcpy(complete, options, size < sizeof *complete ? size : sizeof *complete);
    complete->struct_size = sizeof *complete;
    return check_operators(complete, error);
}

/* Where a model comes from: a path, a reader or, where both are NULL, bytes in memory. */
typedef struct origin {
    const char *path;
    const tort_reader *reader;
    const void *bytes;
    size_t size;
} origin;

static tort_status open_origin(const tort_env *env, const origin *from, const tort_load_options *options,
                               tort_source **source, tort_error *error) {
    if (from->path) return tort_source_open_file(env, from->path, options, source, error);
    if (from->reader) return tort_source_open_reader(env, from->reader, options, source, error);
    return tort_source_open_buffer(env, from->bytes, from->size, options, source, error);
}

static tort_status load_model(const tort_env *env, const origin *from, const tort_load_options *options,
                              tort_model **out, tort_error *error) {
    *out = NULL;
    if (error) *error = (tort_error){.node = -1};
    tort_status status = env ? tort_check_struct_size(env->struct_size, "tort_env", error) : TORT_OK;
    tort_load_options complete;
    if (!status) status = complete_options(options, &complete, error);
    if (status) return status;
    tort_model *model = tort_model_new(env);
    if (!model) return tort_out_of_memory(error, sizeof *model);
    tort_source *source = NULL;
    model->operators = complete.operators;
    status = open_origin(&model->env, from, &complete, &source, error);
    if (!status) {
        set_source(model, source);
        status = load_limited(model, source, from->path ? from->path : "", error);
        if (status && from->path) tort_error_prefix(error, "%.150s", from->path);
    }
    if (status)
        tort_model_free(model);
    else
        *out = model;
    return status;
}

tort_status tort_model_load(const tort_env *env, const char *path, const tort_load_options *options, tort_model **model,
                            tort_error *error) {
    if (!path || !model)
        return tort_fail(error, TORT_E_USAGE, "tort_model_load needs a path and a place for the model");
    return load_model(env, &(origin){.path = path}, options, model, error);
}

tort_status tort_model_load_buffer(const tort_env *env, const void *bytes, size_t size,
                                   const tort_load_options *options, tort_model **model, tort_error *error) {
    if (!model || (!bytes && size))
        return tort_fail(error, TORT_E_USAGE, "tort_model_load_buffer needs bytes and a place for the model");
    return load_model(env, &(origin){.bytes = bytes, .size = size}, options, model, error);
}

tort_status tort_model_load_reader(const tort_env *env, const tort_reader *reader, const tort_load_options *options,
                                   tort_model **model, tort_error *error) {
    tort_reader complete = {0};
    if (!reader || !model)
        return tort_fail(error, TORT_E_USAGE, "tort_model_load_reader needs a reader and a place for the model");
    tort_status status = tort_check_struct_size(reader->struct_size, "tort_reader", error);
    if (status) return status;
    memcpy(&complete, reader, reader->struct_size < sizeof complete ? reader->struct_size : sizeof complete);
    if (!complete.read) return tort_fail(error, TORT_E_USAGE, "tort_reader has no function `read`");
    return load_model(env, &(origin){.reader = &complete}, options, model, error);
}
