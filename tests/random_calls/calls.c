/* calls.c - random calls that make, ask and free objects (world.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/random_calls/world.h"

#define SET(status) (1u << (status))
#define ANY(list, c) (list)[roll(c, sizeof(list) / sizeof *(list))]

static const unsigned of_loading = SET(TORT_E_USAGE) | SET(TORT_E_MODEL) | SET(TORT_E_MEMORY) | SET(TORT_E_IO) |
                                   SET(TORT_E_UNSUPPORTED),
                      of_planning = SET(TORT_E_USAGE) | SET(TORT_E_INPUT) | SET(TORT_E_MODEL) | SET(TORT_E_MEMORY) |
                                    SET(TORT_E_PLACEMENT) | SET(TORT_E_CANCELLED) | SET(TORT_E_UNSUPPORTED);

static tort_error *any_error(caller *c, tort_error *error) {
    memset(error, 0, sizeof *error);
    return one_in(c, 3) ? NULL : error;
}

static const tort_env *any_env(world *w) {
    return one_in(&w->driver, 8) ? NULL : &w->env;
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

static int read_part(void *ud, uint64_t offset, uint64_t length, void *dst) {
    const onnx_bytes *file = ud;
    memcpy(dst, file->data + offset, (size_t)length);
    return 0;
}

static void load_model(world *w) {
    caller *c = &w->driver;
    const int at = (int)roll(c, MODELS);
    const side which = (side)roll(c, SIDE_COUNT);
    const onnx_bytes *file = &w->files[which];
    const size_t size = one_in(c, 8) ? roll(c, (uint32_t)file->size) : file->size; /* some are cut */
    const char *const open[] = {"x", NULL};
    const tort_load_options options = {.struct_size = one_in(c, 20) ? 0 : sizeof options,
                                       .open_inputs = one_in(c, 4) ? open : NULL};
    const tort_reader reader = {
        .struct_size = sizeof reader, .size = size, .read = or_null(c, NULL) ? NULL : read_part, .ud = (void *)file};
    const tort_load_options *given = one_in(c, 2) ? &options : NULL;
    tort_error error, *place = any_error(c, &error);
    tort_model *model = NULL;
    c->refusable = false;
    free_model(w, at);
    tort_status status;
    if (one_in(c, 3))
        status = tort_model_load_reader(any_env(w), or_null(c, &reader), given, or_null(c, &model), place);
    else if (one_in(c, 8))
        status = tort_model_load(any_env(w), or_null(c, "/nowhere"), given, or_null(c, &model), place);
    else
        status = tort_model_load_buffer(any_env(w), size ? or_null(c, file->data) : NULL, size, given,
                                        or_null(c, &model), place);
    answered(c, "tort_model_load", status, place, of_loading);
    expect(c, !status == (model != NULL), "a model that did not load is returned, or one that did is not");
    w->models[at].model = model;
    w->models[at].which = which;
}

static void ask_model(world *w) {
    caller *c = &w->driver;
    const tort_model *model = w->models[roll(c, MODELS)].model; /* may be NULL */
    const int32_t index = (int32_t)roll(c, 5) - 1;
    tort_port port = {.struct_size = one_in(c, 9) ? 0 : sizeof port};
    tort_error error, *place = any_error(c, &error);
    c->refusable = !model;
    answered(c, "tort_model_input", tort_model_input(model, index, or_null(c, &port), place), place, SET(TORT_E_USAGE));
    c->refusable = !model;
    answered(c, "tort_model_output", tort_model_output(model, index, or_null(c, &port), place), place,
             SET(TORT_E_USAGE));
    expect(c, tort_model_input_count(model) >= 0 && tort_model_output_count(model) >= 0, "counts");
    expect(c, tort_model_input_index(model, "nope") == -1 && tort_model_output_index(model, NULL) == -1, "indices");
    expect(c, tort_model_graph_name(model) && tort_model_producer(model), "names");
    expect(c, tort_model_producer_version(model) && tort_model_metadata(model, index).key, "texts");
    expect(c, tort_model_ir_version(model) >= 0 && tort_model_opset(model, NULL) >= 0, "versions");
    expect(c, tort_model_opset_domain(model, index) || !model || index, "domains");
}

/* ---- sessions ---------------------------------------------------------------------------------------------------- */

static const char *const chains[] = {"cpu", "cpu:threads=1", "cpu:threads=2", "cpu:isa=plain",
                                     NULL,  "cpu:threads=3", "cpu:threads=2", "nope",
                                     "",    "cuda,cpu"};

/* Lists, of which the options name a part. */
typedef struct lists {
    const char *pins[2], *bindings[2], *outputs[1];
    tort_symbol_size symbol, bound;
    tort_input_shape shape;
} lists;

static tort_session_options any_options(caller *c, lists *l) {
    static const char *const words[] = {"x=cpu", "*=cpu", "#0=cpu", "add=cpu", "nope=cpu",
                                        "x",     "y",     "sum",    "where",   ""};
    *l = (lists){.pins = {ANY(words, c), ANY(words, c)}, .bindings = {ANY(words, c), ANY(words, c)}};
    l->outputs[0] = ANY(words, c);
    l->symbol = (tort_symbol_size){"N", (int64_t)roll(c, 9) - 1};
    l->bound = (tort_symbol_size){"N", (int64_t)roll(c, 9) - 1};
    l->shape = (tort_input_shape){"x", (int32_t)roll(c, 4) - 1, {(int64_t)roll(c, 9) - 1, 8}};
    tort_session_options o = {.struct_size = one_in(c, 40) ? 0 : sizeof o, .chain = ANY(chains, c)};
    if (one_in(c, 20)) o.disabled = "cpu";
    if (one_in(c, 20)) o.require = one_in(c, 2) ? "cpu" : "cuda";
    o.strict = one_in(c, 4);
    o.plan_only = one_in(c, 12);
    o.unfolded = one_in(c, 4);
    o.wait_steps = one_in(c, 8);
    if (one_in(c, 8)) o.fusions_off = "*";
    if (one_in(c, 3)) o.dynamic_limit = 1 + roll(c, 20000);
    if (one_in(c, 3)) o.trip_limit = 1 + roll(c, 20);
    if (one_in(c, 3)) o.time_limit = 1000u << roll(c, 20);
    o.pins = l->pins, o.pin_count = one_in(c, 12) ? (int32_t)roll(c, 4) - 1 : 0;
    o.bindings = l->bindings, o.binding_count = one_in(c, 12) ? (int32_t)roll(c, 4) - 1 : 0;
    o.outputs = l->outputs, o.output_count = one_in(c, 30);
    o.symbols = &l->symbol, o.symbol_count = one_in(c, 8);
    o.shapes = &l->shape, o.shape_count = one_in(c, 8);
    o.max_symbols = &l->bound, o.max_symbol_count = one_in(c, 8);
    if (o.pin_count > 2) o.pins = NULL;
    if (o.binding_count > 2) o.bindings = NULL;
    return o;
}

/* The place for a session; what was there is freed. */
static int place_session(world *w, tort_session *session, int model, int plan, side which) {
    int at = 0;
    while (at < SESSIONS - 1 && w->sessions[at].session) at++;
    free_session(w, at);
    w->sessions[at].session = session;
    w->sessions[at].model = model;
    w->sessions[at].plan = plan;
    w->sessions[at].which = which;
    return at;
}

static void create_session(world *w) {
    caller *c = &w->driver;
    const int from = (int)roll(c, MODELS);
    lists l;
    tort_error error, *place = any_error(c, &error);
    tort_session *session = NULL;
    const tort_session_options options = any_options(c, &l), *given = one_in(c, 3) ? NULL : &options;
    c->refusable = !w->models[from].model;
    const tort_model *model = or_null(c, w->models[from].model);
    if (one_in(c, 20)) {
        size_t bytes;
        answered(c, "tort_session_bytes",
                 tort_session_bytes(NULL, model, given, (int32_t)roll(c, 4) - 1, or_null(c, &bytes), place), place,
                 of_planning);
        return;
    }
    const tort_status status = tort_session_create(any_env(w), model, given, or_null(c, &session), place);
    answered(c, "tort_session_create", status, place, of_planning);
    expect(c, status || session, "no session is returned");
    expect(c, !session || !status || status == TORT_E_PLACEMENT || status == TORT_E_MEMORY, "a session is returned");
    if (session) place_session(w, session, from, -1, w->models[from].which);
}

static void load_session(world *w) {
    caller *c = &w->driver;
    const int from = (int)roll(c, PLANS);
    const saved_bytes *bytes = &w->plans[from].bytes;
    const size_t size = one_in(c, 8) && bytes->size ? roll(c, (uint32_t)bytes->size) : bytes->size; /* some are cut */
    tort_error error, *place = any_error(c, &error);
    tort_session *session = NULL;
    tort_plan_options options = {.struct_size = one_in(c, 40) ? 0 : sizeof options, .map = one_in(c, 2)};
    if (one_in(c, 3)) options.time_limit = 1000u << roll(c, 20);
    if (one_in(c, 3)) options.dynamic_limit = 1 + roll(c, 20000);
    if (one_in(c, 3)) options.trip_limit = 1 + roll(c, 20);
    if (one_in(c, 8)) options.chain = ANY(chains, c);
    if (one_in(c, 20)) options.disabled = "cpu";
    const tort_status status = tort_session_load_buffer(any_env(w), size ? or_null(c, bytes->data) : NULL, size,
                                                        one_in(c, 2) ? &options : NULL, or_null(c, &session), place);
    answered(c, "tort_session_load_buffer", status, place, of_planning);
    expect(c, !status == (session != NULL), "a session that did not load is returned, or one that did is not");
    if (session) place_session(w, session, -1, from, w->plans[from].which);
}

/* The bytes of a session's plan, which the caller frees. */
static saved_bytes write_plan(caller *c, tort_session *session) {
    saved_bytes bytes = {.data = NULL};
    tort_error error, *place = any_error(c, &error);
    const tort_writer writer = saved_writer(&bytes);
    c->refusable = !session;
    const tort_status status = tort_session_save_writer(or_null(c, session), or_null(c, &writer), place);
    answered(c, "tort_session_save_writer", status, place,
             SET(TORT_E_USAGE) | SET(TORT_E_MEMORY) | SET(TORT_E_UNSUPPORTED));
    if (!status) return bytes;
    free(bytes.data);
    return (saved_bytes){.data = NULL};
}

static void save_session(world *w) {
    const int from = (int)roll(&w->driver, SESSIONS), at = (int)roll(&w->driver, PLANS);
    const side which = w->sessions[from].which;
    const saved_bytes bytes = write_plan(&w->driver, w->sessions[from].session);
    if (!bytes.data) return;
    free_plan(w, at);
    w->plans[at].bytes = bytes;
    w->plans[at].which = which;
}

/* Calls that other threads may make with a session while its contexts run. */
static void ask_session(world *w, int at) {
    caller *c = &w->driver;
    tort_session *session = w->sessions[at].session; /* may be NULL */
    tort_error error, *place = any_error(c, &error);
    tort_input_shape shapes[SIDE_PORTS] = {{.name = NULL}};
    const int32_t index = (int32_t)roll(c, 5) - 1, count = side_input_count(w->sessions[at].which);
    for (int i = 0; i < SIDE_PORTS; i++)
        shapes[i] = (tort_input_shape){NULL, (int32_t)roll(c, 4), {(int64_t)roll(c, 9) - 1, 8, 1}};
    c->refusable = !session;
    answered(c, "tort_session_plan", tort_session_plan(or_null(c, session), or_null(c, shapes), count, place), place,
             of_planning);
    if (one_in(c, 4)) {
        const int to = (int)roll(c, REPORTS);
        tort_report_free(w->reports[to].report);
        w->reports[to].report = NULL;
        c->refusable = !session;
        answered(c, "tort_session_report", tort_session_report(or_null(c, session), &w->reports[to].report, place),
                 place, SET(TORT_E_MEMORY));
        w->reports[to].session = at;
    }
    expect(c, !tort_session_input_memory(session, index) && !tort_session_output_memory(session, index), "memories");
    expect(c, tort_session_output_bytes(session, index) < 100000, "bytes of an output");
    expect(c, tort_session_model(session) || !session, "the model of a session");
}

static void use_memory(world *w) {
    caller *c = &w->driver;
    tort_session *session = w->sessions[roll(c, SESSIONS)].session;
    void *memory = NULL;
    const size_t bytes = roll(c, 5000);
    tort_error error, *place = any_error(c, &error);
    c->refusable = !session;
    const char *provider = or_null(c, one_in(c, 4) ? "nope" : "cpu");
    const tort_status status = tort_memory_alloc(session, provider, bytes, or_null(c, &memory), place);
    answered(c, "tort_memory_alloc", status, place, SET(TORT_E_USAGE) | SET(TORT_E_MEMORY) | SET(TORT_E_PLACEMENT));
    if (memory) memset(memory, 1, bytes);
    tort_memory_free(session, provider, memory, bytes);
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

static void create_context(world *w) {
    caller *c = &w->driver;
    const int at = (int)roll(c, CONTEXTS), from = (int)roll(c, SESSIONS);
    tort_error error, *place = any_error(c, &error);
    tort_context *context = NULL;
    c->refusable = !w->sessions[from].session;
    const tort_status status = tort_context_create(or_null(c, w->sessions[from].session), or_null(c, &context), place);
    answered(c, "tort_context_create", status, place, SET(TORT_E_USAGE) | SET(TORT_E_MEMORY));
    expect(c, !status == (context != NULL), "a context that was not made is returned, or one that was is not");
    tort_context_free(w->contexts[at].context);
    w->contexts[at].context = context;
    w->contexts[at].session = from;
}

static void free_something(world *w) {
    caller *c = &w->driver;
    const int at = (int)roll(c, CONTEXTS);
    switch (roll(c, 6)) {
    case 0: free_model(w, at % MODELS); return;
    case 1: free_session(w, at % SESSIONS); return;
    case 2: free_plan(w, at % PLANS); return;
    default: tort_context_free(w->contexts[at].context); w->contexts[at].context = NULL;
    }
}

/* ---- values and the rest ----------------------------------------------------------------------------------------- */

static void use_values(world *w) {
    caller *c = &w->driver;
    tort_value **at = &w->values[roll(c, VALUES)], *other = w->values[roll(c, VALUES)];
    const tort_value_type types[] = {tort_tensor_type(TORT_FLOAT), tort_tensor_type(TORT_UNDEFINED),
                                     tort_sequence_type(tort_tensor_type(TORT_FLOAT)), tort_value_type_of(other)};
    int64_t numbers[2] = {1, 2};
    const tort_tensor tensor = {.type = (tort_type)roll(c, 9), /* types of at most 8 bytes, and strings of none */
                                .rank = (int32_t)roll(c, 4) - 1,
                                .dims = {(int64_t)roll(c, 4) - 1, 1},
                                .data = tensor.type == TORT_STRING || one_in(c, 8) ? NULL : numbers};
    const tort_value *const elements[2] = {other, w->values[roll(c, VALUES)]};
    tort_value *made = NULL;
    switch (roll(c, 7)) {
    case 0: made = tort_value_tensor(any_env(w), one_in(c, 9) ? NULL : &tensor); break;
    case 1: made = tort_value_sequence(any_env(w), ANY(types, c)); break;
    case 2: made = tort_value_optional(any_env(w), ANY(types, c), other); break;
    case 3: made = tort_value_map(any_env(w), one_in(c, 9) ? NULL : &tensor, ANY(types, c), elements); break;
    case 4: tort_value_append(*at, other); return;
    case 5: made = tort_value_retain(other); break;
    default: break;
    }
    expect(c, tort_value_count(made) >= 0 && !tort_value_at(made, -1), "elements of a value");
    expect(c, !tort_value_view(made) || !tort_value_count(made), "a tensor with elements");
    tort_value_release(*at);
    *at = made;
}

static void ask_library(world *w) {
    caller *c = &w->driver;
    char text[40];
    tort_provider_info info = {.struct_size = one_in(c, 9) ? 0 : sizeof info};
    tort_error error, *place = any_error(c, &error);
    answered(c, "tort_provider_at", tort_provider_at((int32_t)roll(c, 5) - 1, or_null(c, &info), place), place,
             SET(TORT_E_USAGE));
    tort_probe *probe = NULL;
    const tort_probe_options options = {.struct_size = one_in(c, 9) ? 0 : sizeof options, .chain = ANY(chains, c)};
    answered(c, "tort_probe_providers",
             tort_probe_providers(any_env(w), one_in(c, 3) ? NULL : &options, or_null(c, &probe), place), place,
             of_planning);
    tort_probe_free(probe);
    const tort_value_type any = {.type = (tort_type)roll(c, 40), .nest = (uint32_t)roll(c, UINT32_MAX)};
    expect(c, tort_type_text(any, text, roll(c, sizeof text + 1)) == text, "the text of a type");
    expect(c, tort_type_name((tort_type)roll(c, 99)) && tort_status_name((tort_status)roll(c, 99)), "a name");
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static void some_context(world *w) {
    const int at = (int)roll(&w->driver, CONTEXTS);
    if (w->contexts[at].context)
        call_context(&w->driver, &w->env, w->contexts[at].context, w->sessions[w->contexts[at].session].which);
}

static void some_session(world *w) {
    ask_session(w, (int)roll(&w->driver, SESSIONS));
}

void ask_beside(world *w, int session) {
    caller *c = &w->driver;
    for (int i = 0; i < CONTEXTS; i++)
        if (w->contexts[i].session == session && one_in(c, 4)) tort_context_cancel(w->contexts[i].context);
    ask_session(w, session);
    free(write_plan(c, w->sessions[session].session).data);
}

void call_at_random(world *w) {
    static const struct {
        void (*call)(world *w);
        uint32_t weight;
    } calls[] = {{load_model, 4},    {ask_model, 1},      {create_session, 6}, {load_session, 3},
                 {save_session, 3},  {some_session, 3},   {use_memory, 2},     {create_context, 8},
                 {some_context, 30}, {free_something, 2}, {use_values, 8},     {ask_library, 1}};
    uint32_t sum = 0, at = 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) sum += calls[i].weight;
    for (uint32_t rest = roll(&w->driver, sum); rest >= calls[at].weight; at++) rest -= calls[at].weight;
    calls[at].call(w);
}
