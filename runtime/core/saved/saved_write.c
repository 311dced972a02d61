/* saved_write.c - saves a session: constants that are still read, packed weights, then the decisions
 * (saved_format.h).
 *
 * Bytes are written once, in order, so any stream will do. It must not change the session, nor decide anything. Read
 * next: saved_graphs.c, saved_read.c. */
#include <string.h>

#include "runtime/core/base/new_file.h"
#include "runtime/core/saved/saved_format.h"
#include "runtime/core/lowered/constants.h"
#include "runtime/core/lowered/unit_view.h"
#include "runtime/core/providers/link.h"

/* A constant in WGHT. */
typedef struct entry {
    int32_t constant; /* index in the session; -1: a tensor of an attribute */
    int32_t weight;   /* of the model, for a tensor of an attribute */
    tort_tensor shape;
    uint32_t flags;
    int32_t same;
    uint64_t at, length; /* place in DATA */
} entry;

typedef struct section {
    uint64_t at, size, sum;
} section;

typedef struct saver {
    tort_session *session;
    const tort_writer *writer;
    tort_env env; /* not counted in the session's account */
    tort_arena arena;
    uint64_t at; /* bytes written so far */
    tort_sum sum;
    section sections[TORT_SECTION_COUNT];
    entry *entries;
    int32_t entry_count, entry_capacity;
    bool *with_contents;        /* by constant: its contents are written */
    int32_t *first;             /* by constant: its first entry; -1 */
    int32_t *attribute_entries; /* by weight of the model: its entry; -1 */
    tort_saved_offsets *places; /* by graph */
    tort_error *error;
} saver;

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static tort_status emit(saver *s, const void *bytes, size_t size) {
    if (!size) return TORT_OK;
    tort_sum_add(&s->sum, bytes, size);
    s->at += size;
    if (s->writer->write(s->writer->ud, bytes, size) == 0) return TORT_OK;
    return tort_fail(s->error, TORT_E_IO, "the plan could not be written: the writer failed at byte %llu",
                     (unsigned long long)(s->at - size));
}

/* Emits bytes of a device's memory. */
static tort_status emit_from(saver *s, const tort_link *link, const void *bytes, size_t size) {
    void *copy = tort_alloc(&s->env, size);
    if (!copy) return tort_out_of_memory(s->error, size);
    tort_status status = tort_link_copy(link, NULL, copy, bytes, size, TORT_TO_HOST, s->error);
    if (!status) status = emit(s, copy, size);
    tort_free(&s->env, copy, size);
    return status;
}

static tort_status pad(saver *s) {
    static const uint8_t zeros[TORT_SAVED_ALIGN];
    return emit(s, zeros, (size_t)((TORT_SAVED_ALIGN - s->at % TORT_SAVED_ALIGN) % TORT_SAVED_ALIGN));
}

static tort_status begin_section(saver *s, tort_section which) {
    tort_status status = pad(s);
    s->sum = (tort_sum){0};
    s->sections[which].at = s->at;
    return status;
}

static void end_section(saver *s, tort_section which) {
    s->sections[which].size = s->at - s->sections[which].at;
    s->sections[which].sum = tort_sum_end(&s->sum);
}

/* Writes a section that `fill` makes in memory, as it is small. */
static tort_status write_section(saver *s, tort_section which, void (*fill)(const saver *, tort_saved_out *)) {
    tort_saved_out out = {.env = &s->env};
    tort_status status = begin_section(s, which);
    if (status) return status;
    fill(s, &out);
    status = out.failed ? tort_out_of_memory(s->error, (size_t)out.used) : emit(s, out.bytes, (size_t)out.used);
    tort_free(&s->env, out.bytes, (size_t)out.capacity);
    end_section(s, which);
    return status;
}

/* ---- which constants --------------------------------------------------------------------------------------------- */

/* The memory of a device that alone has a constant: folded contents are dropped once they are uploaded. 0: none. */
static int32_t only_memory(const tort_session *session, const tort_constant *constant) {
    int32_t m = session->memory_count - 1;
    if (constant->weight >= 0 || constant->folded || constant->derive || !constant->device) return 0;
    while (m > 0 && !constant->device[m]) m--;
    return m;
}

/* True if the session has the contents, or can compute them. */
static bool has_contents(const tort_session *session, const tort_constant *constant) {
    if (constant->weight < 0) return constant->folded || constant->derive || only_memory(session, constant);
    return session->model->weights[constant->weight].encoding != TORT_ENCODING_LEFT_OUT;
}

static void keep(const saver *s, int32_t constant, bool wanted) {
    if (constant >= 0 && wanted && has_contents(s->session, &s->session->constants[constant]))
        s->with_contents[constant] = true;
}

/* Keeps constants that kernels read unpacked, or that shape rules and claims look at. */
static void mark_node(const saver *s, const tort_lowered *lowered, int32_t index) {
    const tort_node *node = &lowered->graph.nodes[index];
    const bool compiled = lowered->units[index].segment; /* anew when the plan is loaded */
    for (int32_t i = 0; i < node->input_count; i++) {
        const int32_t constant = node->inputs[i] < 0 ? -1 : lowered->constant_of[node->inputs[i]];
        if (constant >= 0 && compiled) keep(s, constant, true);
        if (constant < 0 || compiled) continue;
        const tort_reads reads = tort_constant_reads(lowered, index, i);
        const tort_constant *its = &s->session->constants[constant];
        const bool looked_at = its->uniform || its->bytes <= tort_weight_limit(node, i);
        keep(s, constant, reads.host || reads.memory || looked_at);
    }
}

static void mark_graph(const saver *s, const tort_lowered *lowered) {
    for (int32_t i = 0; i < lowered->graph.node_count; i++)
        if (!tort_saved_is_ghost(lowered, i)) mark_node(s, lowered, i);
    for (int32_t i = 0; i < lowered->graph.output_count; i++)
        keep(s, lowered->constant_of[lowered->graph.outputs[i]], true);
}

static void mark_kept(const saver *s) {
    const tort_session *session = s->session;
    for (int32_t g = 0; g < session->graph_count; g++)
        if (session->graphs[g].lowered) mark_graph(s, &session->graphs[g]);
    for (int32_t i = 0; i < session->constant_count; i++)
        keep(s, i, session->constants[i].held || session->constants[i].folded);
}

/* -1: out of memory. */
static int32_t add_entry(saver *s, const entry *made) {
    if (!tort_grow(&s->env, (void **)&s->entries, &s->entry_capacity, s->entry_count + 1, sizeof *s->entries))
        return -1;
    s->entries[s->entry_count] = *made;
    return s->entry_count++;
}

/* Makes an entry for a value's constant with the value's shape; false: out of memory. */
static bool enter_value(saver *s, const tort_lowered *lowered, int32_t value) {
    int32_t *out = &s->places[lowered - s->session->graphs].entry_of[value];
    const int32_t constant = lowered->constant_of[value], first = constant < 0 ? -1 : s->first[constant];
    entry made = {.constant = constant, .weight = -1, .same = first};
    if (constant < 0 || *out >= 0) return true;
    tort_info_tensor(&lowered->infos[value], &made.shape);
    if (first >= 0 && made.shape.type == s->entries[first].shape.type &&
        tort_same_shape(&made.shape, &s->entries[first].shape)) {
        *out = first;
        return true;
    }
    if (s->with_contents[constant]) made.flags |= TORT_SAVED_CONTENTS;
    if (s->with_contents[constant] && lowered->infos[value].data) made.flags |= TORT_SAVED_RESIDENT;
    if (first >= 0 && made.shape.type != TORT_STRING) made.flags |= TORT_SAVED_ALIAS;
    *out = add_entry(s, &made);
    if (first < 0) s->first[constant] = *out;
    return *out >= 0;
}

static bool enter_attributes(saver *s, const tort_node *node) {
    bool done = true;
    for (int32_t a = 0; a < node->attribute_count; a++) {
        const tort_attribute *attribute = &node->attributes[a];
        const bool tensors = attribute->kind == TORT_ATTR_TENSOR || attribute->kind == TORT_ATTR_TENSORS ||
                             attribute->kind == TORT_ATTR_SPARSE_TENSOR;
        for (int32_t i = 0; tensors && done && i < attribute->count; i++) {
            const int32_t weight = attribute->u.weights[i];
            const tort_weight *its = &s->session->model->weights[weight];
            if (s->attribute_entries[weight] >= 0) continue;
            entry made = {.constant = -1, .weight = weight, .same = -1, .flags = TORT_SAVED_CONTENTS};
            made.shape = (tort_tensor){.type = its->type, .rank = its->rank};
            memcpy(made.shape.dims, its->dims, sizeof made.shape.dims);
            s->attribute_entries[weight] = add_entry(s, &made);
            done = s->attribute_entries[weight] >= 0;
        }
    }
    return done;
}

/* A captured value of a body is a constant of the node, which has the entry. */
static bool enter_graph(saver *s, const tort_lowered *lowered) {
    const tort_graph *graph = &lowered->graph;
    bool done = true;
    for (int32_t n = 0; done && n < graph->node_count; n++) {
        const tort_node *node = &graph->nodes[n];
        if (tort_saved_is_ghost(lowered, n)) continue;
        done = enter_attributes(s, node);
        for (int32_t i = 0; done && i < node->input_count; i++)
            if (node->inputs[i] >= 0 && !graph->values[node->inputs[i]].is_input)
                done = enter_value(s, lowered, node->inputs[i]);
    }
    for (int32_t i = 0; done && i < graph->output_count; i++)
        if (!graph->values[graph->outputs[i]].is_input) done = enter_value(s, lowered, graph->outputs[i]);
    return done;
}

static bool enter_all(saver *s) {
    bool done = true;
    for (int32_t g = 0; done && g < s->session->graph_count; g++)
        if (s->session->graphs[g].lowered) done = enter_graph(s, &s->session->graphs[g]);
    return done;
}

static bool fill(int32_t *list, size_t count) {
    for (size_t i = 0; list && i < count; i++) list[i] = -1;
    return list != NULL;
}

static bool allocate(saver *s) {
    const tort_session *session = s->session;
    const size_t constants = (size_t)session->constant_count, weights = (size_t)session->model->weight_count;
    s->with_contents = tort_arena_array(&s->arena, constants + 1, sizeof *s->with_contents);
    s->first = tort_arena_array(&s->arena, constants + 1, sizeof *s->first);
    s->attribute_entries = tort_arena_array(&s->arena, weights + 1, sizeof *s->attribute_entries);
    s->places = tort_arena_array(&s->arena, (size_t)session->graph_count, sizeof *s->places);
    bool there = s->with_contents && s->places && fill(s->first, constants) && fill(s->attribute_entries, weights);
    for (int32_t g = 0; there && g < session->graph_count; g++) {
        const tort_graph *graph = &session->graphs[g].graph;
        tort_saved_offsets *place = &s->places[g];
        place->entry_of = tort_arena_array(&s->arena, (size_t)graph->value_count + 1, sizeof *place->entry_of);
        place->packed_at = tort_arena_array(&s->arena, (size_t)graph->node_count + 1, sizeof *place->packed_at);
        place->stored = tort_arena_array(&s->arena, (size_t)graph->node_count + 1, sizeof *place->stored);
        there = place->packed_at && place->stored && fill(place->entry_of, (size_t)graph->value_count);
    }
    return there;
}

/* ---- DATA -------------------------------------------------------------------------------------------------------- */

/* Writes all lengths, then the bytes of all strings. */
static tort_status write_strings(saver *s, const tort_string *strings, int64_t count) {
    tort_status status = TORT_OK;
    for (int64_t i = 0; !status && i < count; i++) {
        const uint64_t length = strings[i].length;
        status = emit(s, &length, sizeof length);
    }
    for (int64_t i = 0; !status && i < count; i++) status = emit(s, strings[i].data, strings[i].length);
    return status;
}

static tort_status write_contents(saver *s, entry *e) {
    tort_session *session = s->session;
    const void *data;
    int64_t count;
    size_t bytes;
    if (!(e->flags & TORT_SAVED_CONTENTS) || e->flags & TORT_SAVED_ALIAS) return TORT_OK;
    tort_tensor_count(&e->shape, &count);
    tort_tensor_bytes(&e->shape, &bytes);
    const tort_constant *constant = e->constant >= 0 ? &session->constants[e->constant] : NULL;
    const int32_t memory = constant ? only_memory(session, constant) : 0;
    tort_status status = pad(s);
    e->at = s->at;
    e->length = bytes;
    if (status || memory)
        return status ? status : emit_from(s, session->memories[memory].owner, constant->device[memory], bytes);
    status = constant ? tort_constant_acquire(session, e->constant, &data, s->error)
                      : tort_weight_acquire(session->model, e->weight, &data, s->error);
    if (status) return status;
    status = e->shape.type == TORT_STRING ? write_strings(s, data, count) : emit(s, data, bytes);
    e->length = s->at - e->at;
    if (constant)
        tort_constant_release(session, e->constant);
    else
        tort_weight_release(session->model, e->weight);
    return status;
}

static uint64_t packed_place(const saver *s, const tort_unit *unit) {
    for (int32_t g = 0; g < s->session->graph_count; g++) {
        const tort_lowered *lowered = &s->session->graphs[g];
        if (lowered->lowered && unit >= lowered->units && unit < lowered->units + lowered->graph.node_count)
            return s->places[g].packed_at[unit - lowered->units];
    }
    return 0;
}

static tort_status write_packed(saver *s, const tort_unit *unit, uint64_t *at) {
    const tort_link *link = &s->session->chain[unit->provider];
    if (unit->twin) { /* units come in the order in which sharing looked at them: its own place is known */
        *at = packed_place(s, unit->twin);
        return TORT_OK;
    }
    tort_status status = pad(s);
    *at = s->at;
    if (status) return status;
    return link->memory ? emit_from(s, link, unit->packed, unit->packed_bytes)
                        : emit(s, unit->packed, unit->packed_bytes);
}

/* Writes what the engine of a segment stores for it, if it does. */
static tort_status write_stored(saver *s, const tort_unit *unit, uint64_t *at, uint64_t *length) {
    const tort_link *link = &s->session->chain[unit->provider];
    const tort_engine *engine = link->provider->engine;
    void *data = NULL;
    size_t bytes = 0;
    if (!engine || !engine->store || !unit->prepared) return TORT_OK;
    const int32_t before = tort_link_enter(link);
    tort_status status = engine->store(link->device, &s->env, unit->prepared, &data, &bytes, s->error);
    tort_link_leave(link, before);
    if (!status && bytes) status = pad(s);
    *at = s->at;
    if (!status && bytes) status = emit(s, data, bytes);
    *length = bytes;
    tort_free(&s->env, data, bytes);
    return status;
}

static tort_status write_units(saver *s, int32_t g) {
    const tort_lowered *lowered = &s->session->graphs[g];
    const tort_saved_offsets *places = &s->places[g];
    tort_status status = TORT_OK;
    for (int32_t n = 0; !status && lowered->lowered && n < lowered->graph.node_count; n++) {
        const tort_unit *unit = &lowered->units[n];
        if (unit->segment && unit->provider >= 0)
            status = write_stored(s, unit, &places->packed_at[n], &places->stored[n]);
        else if (unit->packed)
            status = write_packed(s, unit, &places->packed_at[n]);
    }
    return status;
}

static tort_status write_data(saver *s) {
    const tort_session *session = s->session;
    tort_status status = begin_section(s, TORT_SECTION_DATA);
    for (int32_t i = 0; !status && i < s->entry_count; i++) status = write_contents(s, &s->entries[i]);
    for (int32_t g = 0; !status && g < session->graph_count; g++) status = write_units(s, g);
    end_section(s, TORT_SECTION_DATA);
    return status;
}

/* ---- the other sections ------------------------------------------------------------------------------------------ */

static void put_chain(const saver *s, tort_saved_out *out) {
    const tort_session *session = s->session;
    tort_put_text(out, session->options.chain);
    tort_put_i32(out, session->chain_count);
    for (int32_t i = 0; i < session->chain_count; i++) {
        const tort_link *link = &session->chain[i];
        tort_put_text(out, link->config.provider);
        tort_put_text(out, link->condition.ready ? link->target.description : link->condition.code);
        tort_put_u8(out, link->condition.ready);
        tort_put_u32(out, link->target.instructions);
        tort_put_u64(out, tort_saved_kernels(link->provider));
    }
}

/* Writes sizes and upper bounds that options gave to open dimensions of the inputs. */
static void put_shapes(const saver *s, tort_saved_out *out) {
    const tort_lowered *lowered = tort_main_graph(s->session);
    const int64_t *max = lowered->max;
    tort_put_u8(out, max != NULL);
    tort_put_i32(out, lowered->graph.input_count);
    for (int32_t i = 0; i < lowered->graph.input_count; i++) {
        const tort_info *info = &lowered->infos[lowered->graph.inputs[i]];
        const int32_t rank = info->kind == TORT_TENSOR ? info->rank : -1;
        tort_put_i32(out, rank);
        for (int32_t d = 0; d < rank; d++) tort_put_i64(out, tort_dim_known(info->dims[d]) ? info->dims[d] : -1);
        for (int32_t d = 0; max && d < rank; d++) tort_put_i64(out, max[i * TORT_MAX_RANK + d]);
    }
}

static void put_tried(tort_saved_out *out, const tort_tried *tried) {
    for (; tried; tried = tried->next) {
        tort_put_u32(out, tried->choice);
        tort_put_u64(out, tried->key);
        tort_put_text(out, tried->words);
    }
    tort_put_u32(out, 0); /* no choice: the end */
}

static void fill_made(const saver *s, tort_saved_out *out) {
    const tort_session_options *options = &s->session->options;
    tort_put_text(out, tort_version());
    tort_put_u64(out, tort_saved_operators());
    put_chain(s, out);
    tort_put_u8(out, options->wait_steps);
    tort_put_u64(out, options->dynamic_limit);
    tort_put_u64(out, options->trip_limit);
    tort_put_i32(out, options->binding_count);
    for (int32_t i = 0; i < options->binding_count; i++) tort_put_text(out, options->bindings[i]);
    put_shapes(s, out);
    put_tried(out, s->session->tried);
}

static void fill_facts(const saver *s, tort_saved_out *out) {
    const tort_model *model = s->session->model;
    tort_put_text(out, model->path);
    tort_put_text(out, model->producer);
    tort_put_text(out, model->producer_version);
    tort_put_text(out, model->graph_name);
    tort_put_i64(out, model->ir_version);
    tort_put_i32(out, model->opset_count);
    for (int32_t i = 0; i < model->opset_count; i++) {
        tort_put_text(out, model->opsets[i].domain);
        tort_put_i64(out, model->opsets[i].version);
    }
    tort_put_i32(out, model->metadata_count);
    for (int32_t i = 0; i < model->metadata_count; i++) {
        tort_put_text(out, model->metadata[i].key);
        tort_put_text(out, model->metadata[i].value);
    }
}

static void fill_weights(const saver *s, tort_saved_out *out) {
    tort_put_i32(out, s->entry_count);
    for (int32_t i = 0; i < s->entry_count; i++) {
        const entry *e = &s->entries[i];
        tort_put_i32(out, (int32_t)e->shape.type);
        tort_put_i32(out, e->shape.rank);
        for (int32_t d = 0; d < e->shape.rank; d++) tort_put_i64(out, e->shape.dims[d]);
        tort_put_u32(out, e->flags);
        tort_put_i32(out, e->same);
        tort_put_u64(out, e->at);
        tort_put_u64(out, e->length);
    }
}

static void fill_graphs(const saver *s, tort_saved_out *out) {
    tort_saved_put_graphs(out, s->session, s->places, s->attribute_entries);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static tort_status write_header(saver *s) {
    const uint32_t words[2] = {TORT_SAVED_VERSION, 0};
    tort_status status = emit(s, TORT_SAVED_MAGIC, 8);
    return status ? status : emit(s, words, sizeof words);
}

static tort_status write_table(saver *s) {
    tort_status status = pad(s);
    uint64_t trailer[2] = {s->at, 0};
    s->sum = (tort_sum){0};
    for (int32_t i = 0; !status && i < TORT_SECTION_COUNT; i++) {
        const uint32_t nothing = 0;
        status = emit(s, tort_section_names[i], 4);
        if (!status) status = emit(s, &nothing, sizeof nothing);
        if (!status) status = emit(s, &s->sections[i], sizeof s->sections[i]);
    }
    trailer[1] = tort_sum_end(&s->sum);
    if (!status) status = emit(s, trailer, sizeof trailer);
    return status ? status : emit(s, TORT_SAVED_MAGIC, 8);
}

static tort_status write_all(saver *s) {
    if (!allocate(s)) return tort_out_of_memory(s->error, 0);
    mark_kept(s);
    if (!enter_all(s)) return tort_out_of_memory(s->error, 0);
    tort_status status = write_header(s);
    if (!status) status = write_data(s);
    if (!status) status = write_section(s, TORT_SECTION_MADE, fill_made);
    if (!status) status = write_section(s, TORT_SECTION_FACT, fill_facts);
    if (!status) status = write_section(s, TORT_SECTION_WGHT, fill_weights);
    if (!status) status = write_section(s, TORT_SECTION_GRPH, fill_graphs);
    return status ? status : write_table(s);
}

/* True if a part of the unit's segment is folded: of a saved plan, which has only the result, it could not be made. */
static bool has_folded(const tort_lowered *lowered, const tort_unit *unit) {
    for (int32_t k = 0; unit->provider >= 0 && unit->segment && k < unit->segment->part_count; k++)
        if (lowered->units[unit->segment->parts[k]].folded) return true;
    return false;
}

/* Refuses what cannot be saved: state that a kernel prepared besides packed weights. */
static tort_status check_unit(const tort_lowered *lowered, const tort_unit *unit, tort_error *error) {
    if (has_folded(lowered, unit))
        return tort_fail(error, TORT_E_UNSUPPORTED,
                         "the engine multiplies integers of which a saved plan has only the floats: save a session "
                         "without the provider that takes segments");
    if (!unit->packed || !unit->prepared) return TORT_OK;
    return tort_fail(error, TORT_E_UNSUPPORTED,
                     "kernel %s packs weights and makes something else of them that no file holds: pin the node to "
                     "another provider",
                     unit->kernel->name);
}

static tort_status check_units(const tort_session *session, tort_error *error) {
    for (int32_t g = 0; g < session->graph_count; g++) {
        const tort_lowered *lowered = &session->graphs[g];
        for (int32_t n = 0; lowered->lowered && n < lowered->graph.node_count; n++) {
            const tort_status status = check_unit(lowered, &lowered->units[n], error);
            if (!status) continue;
            tort_error_at_unit(error, lowered, n);
            return status;
        }
    }
    return TORT_OK;
}

static tort_status check_session(tort_session *session, const tort_writer *writer, tort_error *error) {
    if (!session || !writer) return tort_fail(error, TORT_E_USAGE, "saving needs a session and a tort_writer");
    if (error) *error = (tort_error){.node = -1};
    if (session->lost) return tort_session_lost(error);
    tort_status status = tort_check_struct_size(writer->struct_size, "tort_writer", error);
    if (status) return status;
    if (!writer->write) return tort_fail(error, TORT_E_USAGE, "tort_writer has no function `write`");
    if (!session->runnable)
        return tort_fail(error, TORT_E_USAGE,
                         "this session cannot run (it is only planned, or was refused): there is nothing to save");
    return check_units(session, error);
}

tort_status tort_session_save_writer(tort_session *session, const tort_writer *writer, tort_error *error) {
    tort_status status = check_session(session, writer, error);
    if (status) return status;
    saver s = {.session = session, .writer = writer, .env = session->account.inner, .error = error};
    tort_arena_init(&s.arena, &s.env);
    pthread_mutex_lock(&session->fitting); /* hold counts of constants are not atomic */
    status = write_all(&s);
    pthread_mutex_unlock(&session->fitting);
    tort_free(&s.env, s.entries, (size_t)s.entry_capacity * sizeof *s.entries);
    tort_arena_free(&s.arena);
    return status;
}

/* ---- to a file --------------------------------------------------------------------------------------------------- */

static int write_file(void *ud, const void *bytes, size_t size) {
    return tort_new_file_write(ud, bytes, size) ? 0 : -1;
}

tort_status tort_session_save(tort_session *session, const char *path, tort_error *error) {
    tort_new_file file;
    const tort_writer writer = {.struct_size = sizeof writer, .write = write_file, .ud = &file};
    if (!session || !path) return tort_fail(error, TORT_E_USAGE, "tort_session_save needs a session and a path");
    if (error) *error = (tort_error){.node = -1};
    tort_status status = tort_model_check_target(session->model, path, error);
    if (status) return status;
    status = tort_new_file_name(path, &file, error);
    if (!status) status = tort_new_file_open(&file, error);
    if (!status) status = tort_session_save_writer(session, &writer, error);
    return tort_new_file_end(&file, status, error);
}
