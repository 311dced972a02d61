/* onnx_load.c - tort_model_load: untrusted bytes become a checked model.
 *
 * The steps: open the source; slim copy (wire.c); the generated parser; header, imports, functions, the main graph with
 * all below it; tort_model_finish. Weights are not read. Whatever fails, everything is freed and the error says where.
 * Read next: wire.h, graph.c. */
#include <string.h>

#include "loader/loader.h"
#include "loader/wire.h"

#define NEWEST_IR TORT_NEWEST_IR
#define DEEPEST_NESTING 64

/* ---- shared by the files of loader/ ----------------------------------------------------------------------------- */

const char *tort_text_of(const char *text) {
    return text ? text : "";
}

const char *tort_domain_of(const char *domain) {
    return !domain || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

tort_status tort_no_memory(tort_loader *loader) {
    return tort_fail(loader->error, TORT_E_MEMORY, "out of memory while loading the model");
}

tort_status tort_enter(tort_loader *loader) {
    if (++loader->depth <= DEEPEST_NESTING) return TORT_OK;
    return tort_fail(loader->error, TORT_E_MODEL, "bodies and calls of functions are nested more than %d deep",
                     DEEPEST_NESTING);
}

void tort_leave(tort_loader *loader) {
    loader->depth--;
}

tort_status tort_load_opsets(tort_loader *loader, TortOnnx__OperatorSetIdProto **imports, size_t count,
                             tort_names *opsets) {
    for (size_t i = 0; i < count; i++) {
        const char *domain = tort_domain_of(imports[i]->domain);
        int64_t version = imports[i]->version;
        int32_t known = 0;
        if (version < 1 || version > INT32_MAX)
            return tort_fail(loader->error, TORT_E_MODEL, "opset_import %zu: domain \"%.100s\" has version %lld", i,
                             domain, (long long)version);
        if (!tort_names_find(opsets, domain, &known)) {
            if (!tort_names_add(opsets, domain, (int32_t)version)) return tort_no_memory(loader);
        } else if (known != version) {
            return tort_fail(loader->error, TORT_E_MODEL,
                             "opset_import %zu: domain \"%.100s\" has versions %d and %lld", i, domain, known,
                             (long long)version);
        }
    }
    return TORT_OK;
}

/* ---- the parser ------------------------------------------------------------------------------------------------- */

/* The parser's memory comes from the scratch arena and goes with it. */
typedef struct parser_memory {
    tort_arena *arena;
    bool failed;
} parser_memory;

static void *parser_alloc(void *ud, size_t size) {
    parser_memory *memory = ud;
    void *ptr = tort_arena_alloc(memory->arena, size);
    memory->failed |= !ptr;
    return ptr;
}

static void parser_free(void *ud, void *ptr) {
    (void)ud;
    (void)ptr;
}

tort_status tort_parse(tort_loader *loader, const tort_wire_message *table,
                       const ProtobufCMessageDescriptor *descriptor, ProtobufCMessage **message) {
    tort_slim slim;
    tort_status status = tort_wire_slim(loader->env, loader->source, table, &slim, loader->error);
    if (!status) {
        parser_memory memory = {&loader->scratch, false};
        ProtobufCAllocator allocator = {parser_alloc, parser_free, &memory};
        *message = protobuf_c_message_unpack(descriptor, &allocator, slim.size, slim.bytes);
        if (!*message && memory.failed)
            status = tort_no_memory(loader);
        else if (!*message)
            status = tort_fail(loader->error, TORT_E_MODEL, "a field that the protobuf parser refuses");
    }
    tort_slim_free(loader->env, &slim);
    return status;
}

/* ---- the header ------------------------------------------------------------------------------------------------- */

static const char *keep_text(tort_loader *loader, const char *text) {
    return tort_arena_text(&loader->model->arena, tort_text_of(text), strlen(tort_text_of(text)));
}

static tort_status load_header(tort_loader *loader, const char *path) {
    const TortOnnx__ModelProto *proto = loader->proto;
    tort_model *model = loader->model;
    if (!proto->graph) return tort_fail(loader->error, TORT_E_MODEL, "there is no graph in it; is it an ONNX model?");
    if (proto->ir_version < 1 || proto->ir_version > NEWEST_IR)
        return tort_fail(loader->error, TORT_E_MODEL, "ir_version is %lld; tinyort reads 1 to %d",
                         (long long)proto->ir_version, NEWEST_IR);
    model->ir_version = proto->ir_version;
    model->path = keep_text(loader, path);
    model->producer = keep_text(loader, proto->producer_name);
    model->producer_version = keep_text(loader, proto->producer_version);
    model->graph_name = keep_text(loader, proto->graph->name);
    if (!model->path || !model->producer || !model->producer_version || !model->graph_name)
        return tort_no_memory(loader);
    return TORT_OK;
}

static tort_status load_metadata(tort_loader *loader) {
    const TortOnnx__ModelProto *proto = loader->proto;
    tort_property *metadata = tort_arena_array(&loader->model->arena, proto->n_metadata_props, sizeof *metadata);
    if (!metadata) return tort_no_memory(loader);
    for (size_t i = 0; i < proto->n_metadata_props; i++) {
        metadata[i].key = keep_text(loader, proto->metadata_props[i]->key);
        metadata[i].text = keep_text(loader, proto->metadata_props[i]->value);
        if (!metadata[i].key || !metadata[i].text) return tort_no_memory(loader);
    }
    loader->model->metadata = metadata;
    loader->model->metadata_count = (int32_t)proto->n_metadata_props;
    return TORT_OK;
}

/* Every domain once, in the order of the file. */
static tort_status list_opsets(tort_loader *loader) {
    const TortOnnx__ModelProto *proto = loader->proto;
    tort_model *model = loader->model;
    model->opsets = tort_arena_array(&model->arena, proto->n_opset_import, sizeof *model->opsets);
    if (!model->opsets) return tort_no_memory(loader);
    tort_names listed;
    tort_names_init(&listed, loader->env);
    tort_status status = TORT_OK;
    for (size_t i = 0; !status && i < proto->n_opset_import; i++) {
        const char *domain = tort_domain_of(proto->opset_import[i]->domain);
        int32_t number;
        if (tort_names_find(&listed, domain, &number)) continue;
        tort_opset *opset = &model->opsets[model->opset_count];
        *opset = (tort_opset){keep_text(loader, domain), proto->opset_import[i]->version};
        if (!opset->domain || !tort_names_add(&listed, domain, model->opset_count)) status = tort_no_memory(loader);
        model->opset_count++;
    }
    tort_names_free(&listed);
    return status;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static tort_status load_main_graph(tort_loader *loader) {
    tort_scope scope = {0};
    int32_t graph;
    tort_status status = tort_load_graph(loader, loader->proto->graph, "", &scope, &graph);
    tort_scope_free(loader, &scope);
    return status;
}

static tort_status load_proto(tort_loader *loader, const char *path) {
    ProtobufCMessage *message = NULL;
    tort_status status = tort_parse(loader, &tort_wire_model, &tort_onnx__model_proto__descriptor, &message);
    if (status) return status;
    loader->proto = (TortOnnx__ModelProto *)message;
    status = load_header(loader, path);
    if (!status) status = load_metadata(loader);
    if (!status)
        status = tort_load_opsets(loader, loader->proto->opset_import, loader->proto->n_opset_import, &loader->opsets);
    if (!status) status = list_opsets(loader);
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
    tort_status status = load_proto(&loader, path);
    tort_functions_free(&loader);
    tort_names_free(&loader.opsets);
    tort_names_free(&loader.function_numbers);
    tort_arena_free(&loader.scratch);
    return status;
}

static void set_source(tort_model *model, tort_source *source) {
    model->source_ud = source;
    model->source_read = tort_source_read;
    model->source_view = tort_source_view;
    model->source_close = tort_source_close;
}

/* path NULL: the model is in memory. */
static tort_status load_model(const tort_env *env, const char *path, const void *bytes, size_t size,
                              const tort_load_options *options, tort_model **out, tort_error *error) {
    *out = NULL;
    if (error) *error = (tort_error){.node = -1};
    tort_status status = env ? tort_check_struct_size(env->struct_size, "tort_env", error) : TORT_OK;
    if (!status && options) status = tort_check_struct_size(options->struct_size, "tort_load_options", error);
    if (status) return status;
    tort_model *model = tort_model_new(env);
    if (!model) return tort_out_of_memory(error, sizeof *model);
    tort_source *source = NULL;
    status = path ? tort_source_open_file(&model->env, path, options, &source, error)
                  : tort_source_open_buffer(&model->env, bytes, size, options, &source, error);
    if (!status) {
        set_source(model, source);
        status = load(model, path ? path : "", error);
        if (!status) status = tort_model_finish(model, tort_source_options(source)->assume_opset, error);
        if (status && path) tort_error_prefix(error, "%.150s", path);
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
    return load_model(env, path, NULL, 0, options, model, error);
}

tort_status tort_model_load_buffer(const tort_env *env, const void *bytes, size_t size,
                                   const tort_load_options *options, tort_model **model, tort_error *error) {
    if (!model || (!bytes && size))
        return tort_fail(error, TORT_E_USAGE, "tort_model_load_buffer needs bytes and a place for the model");
    return load_model(env, NULL, bytes, size, options, model, error);
}
