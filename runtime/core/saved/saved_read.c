/* saved_read.c - reads a saved plan: sections, maker, constants; then the graphs, whose nodes are checked against their
 * operators' rows like those of a model file (saved_format.h).
 *
 * It opens no provider. On failure the model is freed with all that was read into it. Read next:
 * saved_read_graphs.c, saved_load.c. */
#include <string.h>

#include "runtime/core/base/build.h"
#include "runtime/core/graph/check.h"
#include "runtime/core/saved/saved_format.h"
#include "runtime/core/graph/weights.h"

/* Memory that reading may take: bytes for each byte of the file, plus a minimum. */
enum { MEMORY_FACTOR = 64, MEMORY_MIN = 1 << 20 };

typedef struct reader {
    tort_model *model;
    tort_saved *saved;
    const tort_saved_source *source;
    const tort_plan_options *options;
    tort_saved_in sections[TORT_SECTION_COUNT]; /* DATA stays in the file: empty here */
    uint64_t data_at, data_end;
    tort_error *error;
} reader;

/* ---- checksums of tables ----------------------------------------------------------------------------------------- */

static void add_text(tort_sum *sum, const char *text) {
    if (text) tort_sum_add(sum, text, strlen(text) + 1);
}

uint64_t tort_saved_operators(void) {
    tort_sum sum = {0};
    for (const tort_op *const *family = tort_build.families; *family; family++) {
        for (const tort_op *row = *family; row->name; row++) {
            const uint64_t numbers[] = {(uint64_t)row->since, (uint64_t)row->until, row->shape_inputs, row->flags,
                                        row->params_size};
            const char *const texts[] = {row->domain,  row->name,  row->inputs,
                                         row->outputs, row->types, row->attributes};
            tort_sum_add(&sum, numbers, sizeof numbers);
            for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) add_text(&sum, texts[i]);
        }
    }
    return tort_sum_end(&sum);
}

uint64_t tort_saved_kernels(const tort_provider *provider) {
    tort_sum sum = {0};
    for (const tort_kernel *const *table = provider->kernels; table && *table; table++) {
        for (const tort_kernel *row = *table; row->op; row++) {
            const uint32_t numbers[] = {row->host_inputs, row->pack.size != NULL, (uint32_t)row->layout.id,
                                        row->layout.inputs, row->layout.outputs};
            tort_sum_add(&sum, numbers, sizeof numbers);
            add_text(&sum, row->domain);
            add_text(&sum, row->op);
            add_text(&sum, row->name);
            add_text(&sum, row->needs);
        }
    }
    for (const tort_layout *layout = provider->layouts; layout && layout->name; layout++) add_text(&sum, layout->name);
    return tort_sum_end(&sum);
}

/* ---- the frame --------------------------------------------------------------------------------------------------- */

static tort_status read_at(const reader *r, uint64_t at, void *out, size_t size) {
    return tort_saved_source_read((void *)(uintptr_t)r->source, 0, at, size, out, r->error);
}

static tort_status check_header(const reader *r) {
    char magic[8];
    uint32_t version;
    if (r->source->size < TORT_SAVED_HEADER + TORT_SAVED_TRAILER)
        return tort_fail(r->error, TORT_E_MODEL, "this is not a saved plan: it has %llu bytes",
                         (unsigned long long)r->source->size);
    tort_status status = read_at(r, 0, magic, sizeof magic);
    if (!status) status = read_at(r, sizeof magic, &version, sizeof version);
    if (status) return status;
    if (memcmp(magic, TORT_SAVED_MAGIC, sizeof magic) != 0)
        return tort_fail(r->error, TORT_E_MODEL, "this is not a saved plan: make one with tinyort plan MODEL -o FILE");
    if (version == TORT_SAVED_VERSION) return TORT_OK;
    return tort_fail(r->error, TORT_E_UNSUPPORTED,
                     "the saved plan is of version %u, this tinyort has %u: make it again with tinyort plan MODEL "
                     "-o FILE",
                     version, TORT_SAVED_VERSION);
}

static tort_status check_sum(const reader *r, uint64_t at, uint64_t size, uint64_t expected, const char *what) {
    uint8_t window[1 << 14];
    tort_sum sum = {0};
    tort_status status = TORT_OK;
    for (uint64_t done = 0, part; !status && done < size; done += part) {
        part = size - done < sizeof window ? size - done : sizeof window;
        status = read_at(r, at + done, window, (size_t)part);
        if (!status) tort_sum_add(&sum, window, (size_t)part);
    }
    if (status || tort_sum_end(&sum) == expected) return status;
    return tort_saved_damaged(r->error, what);
}

/* Reads a section, except DATA, which stays in the file. */
static tort_status open_section(reader *r, int32_t which, const uint8_t *entry, uint64_t end) {
    uint64_t at, size, sum;
    memcpy(&at, entry + 8, sizeof at);
    memcpy(&size, entry + 16, sizeof size);
    memcpy(&sum, entry + 24, sizeof sum);
    if (memcmp(entry, tort_section_names[which], 4) != 0 || at < TORT_SAVED_HEADER || at > end || size > end - at)
        return tort_saved_damaged(r->error, "its table of sections is wrong");
    if (which == TORT_SECTION_DATA) {
        r->data_at = at;
        r->data_end = at + size;
        return r->source->mapped ? TORT_OK : check_sum(r, at, size, sum, "checksum of the weights");
    }
    uint8_t *bytes = tort_arena_alloc(&r->model->arena, (size_t)size + 1);
    if (!bytes) return tort_out_of_memory(r->error, (size_t)size);
    tort_status status = read_at(r, at, bytes, (size_t)size);
    r->sections[which] = (tort_saved_in){.at = bytes, .end = bytes + size};
    return status ? status : check_sum(r, at, size, sum, "checksum of a section");
}

static tort_status open_sections(reader *r) {
    uint8_t table[TORT_SECTION_COUNT * TORT_SAVED_ENTRY], trailer[TORT_SAVED_TRAILER];
    uint64_t at, sum, end = r->source->size - TORT_SAVED_TRAILER;
    tort_status status = read_at(r, end, trailer, sizeof trailer);
    if (status) return status;
    memcpy(&at, trailer, sizeof at);
    memcpy(&sum, trailer + 8, sizeof sum);
    if (memcmp(trailer + 16, TORT_SAVED_MAGIC, 8) != 0 || at > end || end - at != sizeof table)
        return tort_saved_damaged(r->error, "its end is not where it should be");
    status = check_sum(r, at, sizeof table, sum, "checksum of the table of sections");
    if (!status) status = read_at(r, at, table, sizeof table);
    for (int32_t i = 0; !status && i < TORT_SECTION_COUNT; i++)
        status = open_section(r, i, table + i * TORT_SAVED_ENTRY, at);
    return status;
}

/* ---- MADE -------------------------------------------------------------------------------------------------------- */

static void *array(const reader *r, int32_t count, size_t size) {
    return tort_arena_array(&r->model->arena, (size_t)count + 1, size);
}

static tort_status read_links(reader *r, tort_saved_in *in) {
    tort_saved *saved = r->saved;
    saved->link_count = tort_get_count(in, 27);
    saved->links = array(r, saved->link_count, sizeof *saved->links);
    if (!saved->links) return tort_out_of_memory(r->error, 0);
    for (int32_t i = 0; i < saved->link_count; i++) {
        tort_saved_link *link = &saved->links[i];
        link->provider = tort_get_text(in);
        link->description = tort_get_text(in);
        link->ready = tort_get_u8(in);
        link->instructions = tort_get_u32(in);
        link->kernels = tort_get_u64(in);
    }
    return saved->link_count ? TORT_OK : tort_saved_damaged(r->error, "it has no chain");
}

/* What the caller says; otherwise what the file says, which may lower the default limit but not lift it. */
static uint64_t limit_of(uint64_t in_file, uint64_t given, uint64_t usual) {
    return given ? given : in_file && in_file < usual ? in_file : usual;
}

static tort_status read_options(reader *r, tort_saved_in *in) {
    tort_session_options *options = &r->saved->options;
    options->wait_steps = tort_get_u8(in);
    options->dynamic_limit = limit_of(tort_get_u64(in), r->options->dynamic_limit, TORT_DYNAMIC_LIMIT);
    options->trip_limit = limit_of(tort_get_u64(in), r->options->trip_limit, TORT_TRIP_LIMIT);
    options->time_limit = r->options->time_limit;
    options->wait_steps |= r->options->wait_steps;
    options->binding_count = tort_get_count(in, 5);
    const char **bindings = array(r, options->binding_count, sizeof *bindings);
    if (!bindings) return tort_out_of_memory(r->error, 0);
    for (int32_t i = 0; i < options->binding_count; i++) bindings[i] = tort_get_text(in);
    options->bindings = bindings;
    return TORT_OK;
}

/* Their names are set when the inputs have been read, see name_shapes. */
static tort_status read_shapes(reader *r, tort_saved_in *in) {
    tort_session_options *options = &r->saved->options;
    const bool bounded = tort_get_u8(in);
    options->shape_count = tort_get_count(in, 4);
    options->max_shape_count = bounded ? options->shape_count : 0;
    tort_input_shape *shapes = array(r, options->shape_count, sizeof *shapes);
    tort_input_shape *max = array(r, options->max_shape_count, sizeof *max);
    if (!shapes || !max) return tort_out_of_memory(r->error, 0);
    for (int32_t i = 0; i < options->shape_count; i++) {
        shapes[i].rank = tort_get_within(in, -1, TORT_MAX_RANK);
        for (int32_t d = 0; d < shapes[i].rank; d++) shapes[i].dims[d] = tort_get_i64(in);
        if (bounded) max[i].rank = shapes[i].rank;
        for (int32_t d = 0; bounded && d < shapes[i].rank; d++) max[i].dims[d] = tort_get_i64(in);
    }
    options->shapes = shapes;
    options->max_shapes = max;
    return in->bad ? tort_saved_damaged(r->error, "the record of the build that made it") : TORT_OK;
}

static tort_status read_tried(reader *r, tort_saved_in *in) {
    tort_tried **end = &r->saved->tried;
    int32_t count = 0;
    for (uint32_t choice; (choice = tort_get_u32(in)) != 0; end = &(*end)->next) {
        if (++count > TORT_MAX_TRIED) return tort_saved_damaged(r->error, "what its kernels found by trying");
        *end = tort_arena_alloc(&r->model->arena, sizeof **end);
        if (!*end) return tort_out_of_memory(r->error, sizeof **end);
        **end = (tort_tried){.key = tort_get_u64(in), .choice = choice};
        (*end)->words = tort_get_text(in);
    }
    return in->bad ? tort_saved_damaged(r->error, "what its kernels found by trying") : TORT_OK;
}

static tort_status read_made(reader *r) {
    tort_saved_in *in = &r->sections[TORT_SECTION_MADE];
    tort_session_options *options = &r->saved->options;
    const char *version = tort_get_text(in);
    const uint64_t operators = tort_get_u64(in);
    if (in->bad) return tort_saved_damaged(r->error, "the record of the build that made it");
    if (strcmp(version, tort_version()) != 0 || operators != tort_saved_operators())
        return tort_fail(r->error, TORT_E_UNSUPPORTED,
                         "the saved plan was made by tinyort %.40s (operators %016llx), this is %s (%016llx): make it "
                         "again with tinyort plan MODEL -o FILE",
                         version, (unsigned long long)operators, tort_version(),
                         (unsigned long long)tort_saved_operators());
    *options = (tort_session_options){.struct_size = sizeof *options};
    options->chain = tort_get_text(in);
    r->saved->chain_given = r->options->chain;
    if (r->options->chain) options->chain = r->options->chain;
    options->disabled = r->options->disabled;
    options->providers = r->options->providers;
    tort_status status = read_links(r, in);
    if (!status) status = read_options(r, in);
    if (!status) status = read_shapes(r, in);
    return status ? status : read_tried(r, in);
}

/* ---- FACT -------------------------------------------------------------------------------------------------------- */

static tort_status read_facts(reader *r) {
    tort_saved_in *in = &r->sections[TORT_SECTION_FACT];
    tort_model *model = r->model;
    model->path = tort_get_text(in);
    model->producer = tort_get_text(in);
    model->producer_version = tort_get_text(in);
    model->graph_name = tort_get_text(in);
    model->ir_version = tort_get_i64(in);
    model->opset_count = tort_get_count(in, 13);
    model->opsets = array(r, model->opset_count, sizeof *model->opsets);
    if (!model->opsets) return tort_out_of_memory(r->error, 0);
    for (int32_t i = 0; i < model->opset_count; i++) {
        model->opsets[i].domain = tort_get_text(in);
        model->opsets[i].version = tort_get_i64(in);
    }
    model->metadata_count = tort_get_count(in, 10);
    model->metadata = array(r, model->metadata_count, sizeof *model->metadata);
    if (!model->metadata) return tort_out_of_memory(r->error, 0);
    for (int32_t i = 0; i < model->metadata_count; i++) {
        model->metadata[i].key = tort_get_text(in);
        model->metadata[i].value = tort_get_text(in);
    }
    return in->bad ? tort_saved_damaged(r->error, "the description of the model") : TORT_OK;
}

/* ---- WGHT -------------------------------------------------------------------------------------------------------- */

/* Reads the lengths of all strings, then their bytes, into memory of the model. */
static tort_status read_strings(reader *r, const tort_weight *weight, int32_t index, int64_t count) {
    tort_string *strings = tort_weight_store_put(r->model->store, index, weight->bytes);
    uint8_t *bytes = tort_arena_alloc(&r->model->arena, (size_t)weight->length + 1);
    if (!strings || !bytes) return tort_out_of_memory(r->error, (size_t)weight->length);
    tort_status status = read_at(r, weight->offset, bytes, (size_t)weight->length);
    if (status) return status;
    uint64_t used = (uint64_t)count * sizeof(uint64_t), length;
    for (int64_t i = 0; i < count; i++) {
        memcpy(&length, bytes + (size_t)i * sizeof length, sizeof length);
        if (length > weight->length - used) return tort_saved_damaged(r->error, "strings of a constant");
        strings[i] = (tort_string){(const char *)bytes + used, (size_t)length};
        used += length;
    }
    return TORT_OK;
}

/* Checks the place of a constant in DATA: behind all earlier ones, so none overlap. */
static bool take_contents(reader *r, tort_weight *weight, int64_t count, uint64_t at, uint64_t length) {
    const bool strings = weight->type == TORT_STRING;
    if (at < r->data_at || at % TORT_SAVED_ALIGN || at > r->data_end || length > r->data_end - at) return false;
    if (strings ? (uint64_t)count > length / sizeof(uint64_t) : length != weight->bytes) return false;
    weight->encoding = strings ? TORT_ENCODING_MEMORY : TORT_ENCODING_RAW;
    weight->offset = at;
    weight->length = length;
    r->data_at = at + length;
    return true;
}

static bool take_alias(const reader *r, tort_weight *weight, int32_t same) {
    const int32_t before = r->model->weight_count;
    if (same < 0 || same >= before || r->saved->same[same] != same) return false;
    const tort_weight *first = &r->model->weights[same];
    if (first->type != weight->type || first->bytes != weight->bytes || weight->type == TORT_STRING) return false;
    weight->encoding = first->encoding;
    weight->offset = first->offset;
    weight->length = first->length;
    return true;
}

static tort_status read_weight(reader *r, tort_saved_in *in, int32_t index) {
    tort_weight weight = {.encoding = TORT_ENCODING_LEFT_OUT};
    tort_tensor shape = {.data = NULL};
    int64_t count;
    shape.type = (tort_type)tort_get_within(in, TORT_FLOAT, TORT_TYPE_COUNT - 1);
    shape.rank = tort_get_within(in, 0, TORT_MAX_RANK);
    for (int32_t d = 0; d < shape.rank; d++) shape.dims[d] = tort_get_i64(in);
    const uint32_t flags = tort_get_u32(in);
    const int32_t same = tort_get_i32(in);
    const uint64_t at = tort_get_u64(in), length = tort_get_u64(in);
    weight.type = shape.type;
    weight.rank = shape.rank;
    memcpy(weight.dims, shape.dims, sizeof weight.dims);
    bool good = !in->bad && tort_tensor_count(&shape, &count) && tort_tensor_bytes(&shape, &weight.bytes) &&
                weight.bytes <= PTRDIFF_MAX;
    if (good && flags & TORT_SAVED_ALIAS)
        good = take_alias(r, &weight, same);
    else if (good && flags & TORT_SAVED_CONTENTS)
        good = take_contents(r, &weight, count, at, length);
    if (good && weight.encoding == TORT_ENCODING_LEFT_OUT) good = !(flags & TORT_SAVED_RESIDENT);
    if (!good) return tort_saved_damaged(r->error, "a constant");
    r->saved->flags[index] = (uint8_t)flags;
    r->saved->same[index] = flags & TORT_SAVED_ALIAS ? same : index;
    if (tort_model_add_weight(r->model, &weight) < 0) return tort_out_of_memory(r->error, sizeof weight);
    return weight.encoding == TORT_ENCODING_MEMORY ? read_strings(r, &weight, index, count) : TORT_OK;
}

static tort_status read_weights(reader *r) {
    tort_saved_in *in = &r->sections[TORT_SECTION_WGHT];
    const int32_t count = tort_get_count(in, 32);
    r->saved->same = array(r, count, sizeof *r->saved->same);
    r->saved->flags = array(r, count, sizeof *r->saved->flags);
    if (!r->saved->same || !r->saved->flags || !tort_model_reserve_weights(r->model, count))
        return tort_out_of_memory(r->error, 0);
    tort_status status = in->bad ? tort_saved_damaged(r->error, "its constants") : TORT_OK;
    for (int32_t i = 0; !status && i < count; i++) status = read_weight(r, in, i);
    return status;
}

/* ---- the graphs as a model's ------------------------------------------------------------------------------------- */

static tort_status check_row(const reader *r, const tort_node *node, const tort_saved_unit *unit) {
    if (node->op && node->op->since == unit->since) return TORT_OK;
    return tort_fail(
        r->error, TORT_E_UNSUPPORTED,
        "the saved plan has node \"%.100s\" (%.60s-%d), of which this build has no row: make it again with "
        "tinyort plan MODEL -o FILE, or give the application's operators",
        node->name, node->op_type, unit->since);
}

/* Captured values are the last inputs of a body, so a body must have at least so many. */
static tort_status check_bodies(const reader *r, const tort_node *node) {
    bool good = true;
    for (int32_t a = 0; a < node->attribute_count; a++) {
        const tort_attribute *attribute = &node->attributes[a];
        const bool bodies = attribute->kind == TORT_ATTR_GRAPH || attribute->kind == TORT_ATTR_GRAPHS;
        for (int32_t i = 0; bodies && i < attribute->count; i++)
            good = good && r->model->graphs[attribute->u.graphs[i]].input_count >= node->captured;
    }
    return good ? TORT_OK : tort_saved_damaged(r->error, "a body");
}

/* Ghosts have no operands to be checked against a row. */
static tort_status bind_graph(reader *r, int32_t g) {
    tort_graph *graph = &r->model->graphs[g];
    const tort_saved_graph *decisions = &r->saved->graphs[g];
    if (!decisions->lowered) return TORT_OK;
    tort_status status = tort_model_link_graph(r->model, g, r->error);
    for (int32_t i = 0; !status && i < graph->node_count; i++) {
        if (decisions->units[i].ghost) continue;
        status = tort_model_bind_node(r->model, graph, i, 0, r->error);
        if (!status) status = check_row(r, &graph->nodes[i], &decisions->units[i]);
        if (!status) status = check_bodies(r, &graph->nodes[i]);
    }
    return status;
}

static tort_status bind_graphs(reader *r) {
    tort_status status = tort_check_rows(r->model->operators, r->error);
    if (!status) status = tort_model_look_up(r->model, r->error);
    if (status) return status;
    tort_model_number_nodes(r->model);
    for (int32_t g = 0; !status && g < r->model->graph_count; g++) status = bind_graph(r, g);
    return status;
}

/* Sets the names of shapes to those of the inputs; keeps those of tensors, and returns their number. */
static int32_t name_inputs(const tort_graph *graph, const tort_input_shape *list, int32_t count) {
    tort_input_shape *shapes = (tort_input_shape *)(uintptr_t)list;
    int32_t kept = 0;
    for (int32_t i = 0; i < count; i++) {
        shapes[i].name = graph->values[graph->inputs[i]].name;
        if (shapes[i].rank >= 0) shapes[kept++] = shapes[i];
    }
    return kept;
}

/* Turns the shapes and upper bounds of the file into options. */
static tort_status name_shapes(const reader *r) {
    tort_session_options *options = &r->saved->options;
    const tort_graph *graph = &r->model->graphs[0];
    if (options->shape_count != graph->input_count) return tort_saved_damaged(r->error, "the shapes of its inputs");
    options->shape_count = name_inputs(graph, options->shapes, options->shape_count);
    options->max_shape_count = name_inputs(graph, options->max_shapes, options->max_shape_count);
    return TORT_OK;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static tort_status read_all(reader *r) {
    tort_status status = check_header(r);
    if (!status) status = open_sections(r);
    if (!status) status = read_made(r);
    if (!status) status = read_facts(r);
    if (!status) status = read_weights(r);
    if (!status)
        status = tort_saved_read_graphs(r->saved, &r->sections[TORT_SECTION_GRPH], r->data_at, r->data_end, r->error);
    if (!status) status = bind_graphs(r);
    return status ? status : name_shapes(r);
}

static tort_status check_operators(const tort_plan_options *options, tort_error *error) {
    if (!options->operators || options->operator_abi == TORT_PROVIDER_ABI) return TORT_OK;
    return tort_fail(error, TORT_E_USAGE,
                     "tort_plan_options.operators were compiled with an op.h of version %u (operator_abi), this "
                     "library has %u: set operator_abi to TORT_PROVIDER_ABI and compile them anew",
                     options->operator_abi, TORT_PROVIDER_ABI);
}

/* From here on the model owns the source. */
static void own_source(tort_model *model, tort_saved_source *source, const tort_plan_options *options) {
    model->source_ud = source;
    model->source_read = tort_saved_source_read;
    model->source_view = tort_saved_source_view;
    model->source_reads = tort_saved_source_reads;
    model->source_close = tort_saved_source_close;
    model->operators = options->operators;
}

tort_status tort_saved_read(const tort_env *env, tort_saved_source *source, const tort_plan_options *options,
                            tort_saved **saved, tort_error *error) {
    tort_model *model = tort_model_new(env);
    if (!model) {
        tort_saved_source_close(source);
        return tort_out_of_memory(error, sizeof *model);
    }
    own_source(model, source, options);
    reader r = {.model = model, .source = source, .options = options, .error = error};
    const uint64_t size = source->size < SIZE_MAX / MEMORY_FACTOR / 2 ? source->size : SIZE_MAX / MEMORY_FACTOR / 2;
    tort_account_limit(&model->account, (size_t)size * MEMORY_FACTOR + MEMORY_MIN);
    r.saved = tort_arena_alloc(&model->arena, sizeof *r.saved);
    tort_status status = r.saved ? check_operators(options, error) : tort_out_of_memory(error, sizeof *r.saved);
    if (r.saved) r.saved->model = model;
    if (!status) status = read_all(&r);
    tort_account_limit(&model->account, SIZE_MAX);
    *saved = r.saved;
    if (status) tort_model_free(model);
    return status;
}
