/* onnx_load.c - tort_model_load: makes a checked model of untrusted bytes.
 *
 * The steps: open the source; parse it (parse.h); load header, imports, functions, and the main graph with all its
 * bodies; free the parsed structs; tort_model_finish. Weights are not read. Memory is limited (limits.h). After any
 * failure everything is freed, and the error says where it was. Read next: parse.h, graph.c. */
#include <string.h>

#include "loader/loader.h"
#include "runtime/core/graph/check.h"

/* ---- the header ------------------------------------------------------------------------------------------------- */

/* Keeps a text of the file in the model; false: out of memory. */
static bool keep(tort_loader *loader, const char *text, const char **kept) {
    *kept = tort_keep_text(loader, text);
    return *kept;
}

static tort_status load_header(tort_loader *loader, const char *path) {
    tort_model *model = loader->model;
    const TortOnnx__ModelProto *proto = loader->proto;
    model->ir_version = proto->ir_version;
    if (model->ir_version > TORT_NEWEST_IR)
        return tort_fail(
            loader->error, TORT_E_MODEL,
            "ir_version is %lld; tinyort reads 1 to %d: where the model uses nothing that is newer, set its "
            "ir_version to %d (in Python: model.ir_version = %d, then onnx.save)",
            (long long)model->ir_version, TORT_NEWEST_IR, TORT_NEWEST_IR, TORT_NEWEST_IR);
    if (model->ir_version < 1)
        return tort_fail(loader->error, TORT_E_MODEL, "ir_version is %lld; tinyort reads 1 to %d",
                         (long long)model->ir_version, TORT_NEWEST_IR);
    bool ok = keep(loader, proto->producer_name, &model->producer) &&
              keep(loader, proto->producer_version, &model->producer_version) && keep(loader, path, &model->path);
    return ok ? TORT_OK : tort_no_memory(loader);
}

static tort_status load_metadata(tort_loader *loader) {
    const TortOnnx__ModelProto *proto = loader->proto;
    tort_metadata *metadata = tort_arena_array(&loader->model->arena, proto->n_metadata_props, sizeof *metadata);
    if (!metadata) return tort_no_memory(loader);
    for (size_t i = 0; i < proto->n_metadata_props; i++) {
        const TortOnnx__StringStringEntryProto *entry = proto->metadata_props[i];
        if (!keep(loader, entry->key, &metadata[i].key) || !keep(loader, entry->value, &metadata[i].value))
            return tort_no_memory(loader);
    }
    loader->model->metadata = metadata;
    loader->model->metadata_count = (int32_t)proto->n_metadata_props;
    return TORT_OK;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static tort_status load_main_graph(tort_loader *loader) {
    tort_scope scope = {0};
    int32_t graph;
    tort_status status = tort_load_graph(loader, loader->proto->graph, &scope, &graph);
    tort_scope_free(loader, &scope);
    if (!status) loader->model->graph_name = loader->model->graphs[graph].name;
    return status;
}

static tort_status parse(tort_loader *loader, tort_parsed *parsed) {
    tort_status status =
        tort_parse(loader->env, loader->source, &tort_onnx__model_proto__descriptor, parsed, loader->error);
    loader->proto = parsed->root;
    if (!status && !loader->proto->graph)
        status = tort_fail(loader->error, TORT_E_MODEL, "there is no graph in it; is it an ONNX model?");
    if (status == TORT_E_MODEL) tort_explain_file(loader->source, loader->error);
    return status;
}

static tort_status load_parts(tort_loader *loader, const char *path) {
    const TortOnnx__ModelProto *proto = loader->proto;
    tort_status status = load_header(loader, path);
    if (!status) status = load_metadata(loader);
    if (!status) status = tort_load_opsets(loader, proto->opset_import, proto->n_opset_import, &loader->opsets);
    if (!status) status = tort_load_functions(loader);
    if (!status) status = load_main_graph(loader);
    return status;
}

/* Fills `model` from its source. */
static tort_status load(tort_model *model, const char *path, tort_error *error) {
    tort_loader loader = {.env = &model->env, .model = model, .source = model->source_ud, .error = error};
    tort_names *const tables[] = {&loader.kept, &loader.opsets, &loader.function_numbers, &loader.prefixes};
    tort_parsed parsed;
    tort_arena_init(&loader.scratch, loader.env);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) tort_names_init(tables[i], loader.env);
    tort_status status = parse(&loader, &parsed);
    if (!status) status = load_parts(&loader, path);
    tort_functions_free(&loader);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) tort_names_free(tables[i]);
    tort_arena_free(&loader.scratch);
    tort_parsed_free(&parsed);
    return status;
}

static void set_source(tort_model *model, tort_source *source) {
    model->source_ud = source;
    model->source_read = tort_source_read;
    model->source_view = tort_source_view;
    model->source_reads = tort_source_reads;
    model->source_close = tort_source_close;
    model->source_is_ours = tort_source_is_ours(source);
}

/* Fills `model` from its source within the memory limit for its size; later allocations are not limited. */
static tort_status load_limited(tort_model *model, tort_source *source, const char *path, tort_error *error) {
    tort_account_limit(&model->account, tort_load_limit(tort_source_size(source)));
    tort_status status = load(model, path, error);
    if (!status) status = tort_model_finish(model, tort_source_options(source)->assume_opset, error);
    if (status && model->account.refused) status = tort_over_limit(source, model->account.limit, error);
    tort_account_limit(&model->account, SIZE_MAX);
    return status;
}

/* Checks the application's operators, before the file is opened. */
static tort_status check_operators(const tort_load_options *options, tort_error *error) {
    if (!options->operators) return TORT_OK;
    if (options->operator_abi != TORT_PROVIDER_ABI)
        return tort_fail(error, TORT_E_USAGE,
                         "tort_load_options.operators were compiled with an op.h of version %u (operator_abi), this "
                         "library has %u: set operator_abi to TORT_PROVIDER_ABI and compile them anew",
                         options->operator_abi, TORT_PROVIDER_ABI);
    return tort_check_rows(options->operators, error);
}

/* Copies the caller's options, which may have been compiled with a shorter struct. */
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

static tort_status load_model(const tort_env *env, const tort_origin *from, const tort_load_options *options,
                              tort_model **out, tort_error *error) {
    if (error) *error = (tort_error){.node = -1};
    tort_status status = env ? tort_check_struct_size(env->struct_size, "tort_env", error) : TORT_OK;
    tort_load_options complete;
    if (!status) status = complete_options(options, &complete, error);
    if (status) return status;
    tort_model *model = tort_model_new(env);
    if (!model) return tort_out_of_memory(error, sizeof *model);
    tort_source *source = NULL;
    model->operators = complete.operators;
    model->open_inputs = complete.open_inputs;
    status = tort_source_open(&model->env, from, &complete, &source, error);
    if (!status) {
        set_source(model, source);
        status = load_limited(model, source, from->path ? from->path : "", error);
        if (status && from->path) tort_error_prefix(error, "%.150s", from->path);
    }
    model->open_inputs = NULL;
    if (status)
        tort_model_free(model);
    else
        *out = model;
    return status;
}

tort_status tort_model_load(const tort_env *env, const char *path, const tort_load_options *options, tort_model **model,
                            tort_error *error) {
    if (model) *model = NULL;
    if (!path || !model)
        return tort_fail(error, TORT_E_USAGE, "tort_model_load needs a path and a place for the model");
    return load_model(env, &(tort_origin){.path = path}, options, model, error);
}

tort_status tort_model_load_buffer(const tort_env *env, const void *bytes, size_t size,
                                   const tort_load_options *options, tort_model **model, tort_error *error) {
    if (model) *model = NULL;
    if (!model || (!bytes && size))
        return tort_fail(error, TORT_E_USAGE, "tort_model_load_buffer needs bytes and a place for the model");
    return load_model(env, &(tort_origin){.bytes = bytes, .size = size}, options, model, error);
}

tort_status tort_model_load_reader(const tort_env *env, const tort_reader *reader, const tort_load_options *options,
                                   tort_model **model, tort_error *error) {
    tort_reader complete = {0};
    if (model) *model = NULL;
    if (!reader || !model)
        return tort_fail(error, TORT_E_USAGE, "tort_model_load_reader needs a reader and a place for the model");
    tort_status status = tort_check_struct_size(reader->struct_size, "tort_reader", error);
    if (status) return status;
    memcpy(&complete, reader, reader->struct_size < sizeof complete ? reader->struct_size : sizeof complete);
    if (!complete.read) return tort_fail(error, TORT_E_USAGE, "tort_reader has no function `read`");
    return load_model(env, &(tort_origin){.reader = &complete}, options, model, error);
}
