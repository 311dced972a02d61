/* session.c - tinyort._core.Session: opening a model or a saved plan, what is known of it, and its contexts
 * (session.h). */
#include <stdlib.h>
#include <string.h>

#include "runtime/python/core/session.h"
#include "runtime/export/optimized.h"
#include "runtime/include/op.h"
#include "runtime/include/tinyort_plan.h"

/* ---- arguments --------------------------------------------------------------------------------------------------- */

const char **core_texts_of(PyObject *list, int32_t *count) {
    *count = 0;
    if (!list || list == Py_None) return NULL;
    const Py_ssize_t length = PyList_Size(list);
    const char **texts = length < 0 ? NULL : calloc((size_t)length + 1, sizeof *texts);
    if (!texts) return length < 0 ? NULL : (PyErr_NoMemory(), NULL);
    for (Py_ssize_t i = 0; i < length; i++)
        if (!PyArg_Parse(PyList_GetItem(list, i), "s", &texts[i])) {
            free(texts);
            return NULL;
        }
    *count = (int32_t)length;
    return texts;
}

/* A dict of sizes by symbol; as core_texts_of. */
static tort_symbol_size *sizes_of(PyObject *dict, int32_t *count) {
    PyObject *key, *item;
    Py_ssize_t at = 0;
    *count = 0;
    if (!dict || dict == Py_None) return NULL;
    tort_symbol_size *sizes = calloc((size_t)PyDict_Size(dict) + 1, sizeof *sizes);
    if (!sizes) return PyErr_NoMemory(), NULL;
    while (PyDict_Next(dict, &at, &key, &item)) {
        long long size;
        if (!PyArg_Parse(key, "s", &sizes[*count].name) || !PyArg_Parse(item, "L", &size)) {
            free(sizes);
            return NULL;
        }
        sizes[(*count)++].size = size;
    }
    return sizes;
}

/* A dict of shapes by input, with None for an open dimension; as core_texts_of. */
static tort_input_shape *shapes_of(PyObject *dict, int32_t *count) {
    PyObject *key, *item;
    Py_ssize_t at = 0;
    *count = 0;
    if (!dict || dict == Py_None) return NULL;
    tort_input_shape *shapes = calloc((size_t)PyDict_Size(dict) + 1, sizeof *shapes);
    bool good = shapes != NULL;
    if (!shapes) PyErr_NoMemory();
    while (good && PyDict_Next(dict, &at, &key, &item)) {
        tort_input_shape *shape = &shapes[(*count)++];
        const Py_ssize_t rank = PyTuple_Size(item);
        good = rank >= 0 && rank <= TORT_MAX_RANK && PyArg_Parse(key, "s", &shape->name);
        for (Py_ssize_t i = 0; good && i < rank; i++) {
            PyObject *dim = PyTuple_GetItem(item, i);
            shape->dims[i] = dim == Py_None ? -1 : PyLong_AsLongLong(dim);
            good = !PyErr_Occurred();
        }
        shape->rank = (int32_t)rank;
    }
    if (good) return shapes;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a shape is a tuple of at most 8 sizes");
    free(shapes);
    return NULL;
}

/* The options of a session, the arrays that they borrow, and the arguments that own their text. */
typedef struct core_opening {
    PyObject *source;
    int from_file;
    tort_load_options load;
    tort_session_options session;
    PyObject *pins, *symbols, *max_symbols, *shapes, *max_shapes, *bindings, *outputs, *open_inputs, *operators;
    PyObject *optimized; /* where the model is written as planning leaves it; None: nowhere */
    PyObject *arguments, *keywords;
} core_opening;

/* The time_limit of an option in seconds; 0: none. */
static uint64_t nanoseconds(double seconds) {
    return seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds * 1e9) : 0;
}

static bool parse(core_opening *o, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"source",     "from_file",   "chain",           "target",       "disabled",
                            "require",    "strict",      "allow",           "plan_only",    "fusions_off",
                            "unfolded",   "allow_links", "map_external",    "assume_opset", "dynamic_limit",
                            "trip_limit", "pins",        "symbols",         "max_symbols",  "shapes",
                            "max_shapes", "bindings",    "outputs",         "open_inputs",  "operators",
                            "stream",     "time_limit",  "strict_integers", "optimized",    NULL};
    int strict = 0, strict_integers = 0, plan_only = 0, unfolded = 0, allow_links = 0, map_external = 0,
        assume_opset = 0;
    unsigned long long dynamic_limit = 0, trip_limit = 0, stream = 0;
    double time_limit = 0;
    Py_XINCREF(arguments);
    Py_XINCREF(keywords);
    *o = (core_opening){.arguments = arguments,
                        .keywords = keywords,
                        .load.struct_size = sizeof o->load,
                        .session.struct_size = sizeof o->session};
    if (!PyArg_ParseTupleAndKeywords(
            arguments, keywords, "Op|zzzzpzpzpppiKKOOOOOOOOOKdpO", names, &o->source, &o->from_file, &o->session.chain,
            &o->session.target, &o->session.disabled, &o->session.require, &strict, &o->session.allow, &plan_only,
            &o->session.fusions_off, &unfolded, &allow_links, &map_external, &assume_opset, &dynamic_limit, &trip_limit,
            &o->pins, &o->symbols, &o->max_symbols, &o->shapes, &o->max_shapes, &o->bindings, &o->outputs,
            &o->open_inputs, &o->operators, &stream, &time_limit, &strict_integers, &o->optimized))
        return false;
    o->session.strict = strict;
    o->session.strict_integers = strict_integers;
    o->session.plan_only = plan_only;
    o->session.unfolded = unfolded;
    o->session.stream = (void *)(uintptr_t)stream;
    o->session.dynamic_limit = dynamic_limit;
    o->session.trip_limit = trip_limit;
    o->session.time_limit = nanoseconds(time_limit);
    o->load.allow_links = allow_links;
    o->load.map_external = map_external;
    o->load.assume_opset = assume_opset;
    o->session.pins = core_texts_of(o->pins, &o->session.pin_count);
    o->session.bindings = core_texts_of(o->bindings, &o->session.binding_count);
    o->session.outputs = core_texts_of(o->outputs, &o->session.output_count);
    o->session.symbols = sizes_of(o->symbols, &o->session.symbol_count);
    o->session.max_symbols = sizes_of(o->max_symbols, &o->session.max_symbol_count);
    o->session.shapes = shapes_of(o->shapes, &o->session.shape_count);
    o->session.max_shapes = shapes_of(o->max_shapes, &o->session.max_shape_count);
    if (o->operators && o->operators != Py_None) {
        o->load.operators = core_operators_of(o->operators);
        o->load.operator_abi = TORT_PROVIDER_ABI;
    }
    int32_t open_count;
    o->load.open_inputs = core_texts_of(o->open_inputs, &open_count);
    return !PyErr_Occurred();
}

static void opening_free(core_opening *o) {
    if (!o) return;
    free((void *)o->session.pins);
    free((void *)o->session.bindings);
    free((void *)o->session.outputs);
    free((void *)o->session.symbols);
    free((void *)o->session.max_symbols);
    free((void *)o->session.shapes);
    free((void *)o->session.max_shapes);
    free((void *)o->load.open_inputs);
    Py_XDECREF(o->arguments);
    Py_XDECREF(o->keywords);
    free(o);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static core_session *new_session(PyObject *module) {
    const core_state *state = core_state_of(module);
    allocfunc alloc = (allocfunc)PyType_GetSlot(state->session_type, Py_tp_alloc);
    core_session *self = (core_session *)alloc(state->session_type, 0);
    if (!self) return NULL;
    Py_INCREF(module);
    self->module = module;
    pthread_mutex_init(&self->lock, NULL);
    return self;
}

static PyObject *names_of(const tort_port *ports, int32_t count) {
    PyObject *names = PyTuple_New(count);
    for (int32_t i = 0; names && i < count; i++) {
        PyObject *name = PyUnicode_DecodeUTF8(ports[i].name, (Py_ssize_t)strlen(ports[i].name), "surrogateescape");
        if (name) PyUnicode_InternInPlace(&name);
        if (!name || PyTuple_SetItem(names, i, name)) Py_CLEAR(names);
    }
    return names;
}

/* Outputs that the session was asked for, in that order, else all of the model. */
static bool read_ports(core_session *self, const tort_session_options *options) {
    const int32_t asked = options ? options->output_count : 0;
    self->input_count = tort_model_input_count(self->model);
    self->output_count = asked ? asked : tort_model_output_count(self->model);
    self->inputs = calloc((size_t)self->input_count + 1, sizeof *self->inputs);
    self->outputs = calloc((size_t)self->output_count + 1, sizeof *self->outputs);
    if (!self->inputs || !self->outputs) return PyErr_NoMemory() != NULL;
    for (int32_t i = 0; i < self->input_count; i++) {
        self->inputs[i].struct_size = sizeof *self->inputs;
        tort_model_input(self->model, i, &self->inputs[i], NULL);
        self->values = self->values || tort_type_kind(self->inputs[i].value_type) != TORT_TENSOR;
    }
    for (int32_t i = 0; i < self->output_count; i++) {
        const int32_t at = asked ? tort_model_output_index(self->model, options->outputs[i]) : i;
        self->outputs[i].struct_size = sizeof *self->outputs;
        tort_model_output(self->model, at, &self->outputs[i], NULL);
        self->values = self->values || tort_type_kind(self->outputs[i].value_type) != TORT_TENSOR;
    }
    self->input_names = names_of(self->inputs, self->input_count);
    self->output_names = names_of(self->outputs, self->output_count);
    return self->input_names && self->output_names;
}

/* Holds the memory of a model in a buffer; false: an exception is set. */
static bool keep_bytes(core_session *self, PyObject *source, const void **bytes, size_t *size) {
    Py_buffer view;
    self->bytes = PyMemoryView_FromObject(source); /* keeps the buffer's memory in its place */
    if (!self->bytes || PyObject_GetBuffer(self->bytes, &view, PyBUF_C_CONTIGUOUS)) return false;
    *bytes = view.buf;
    *size = (size_t)view.len;
    PyBuffer_Release(&view);
    return true;
}

static tort_status write_optimized(const core_session *self, const core_opening *o, const char *path,
                                   tort_error *error) {
    tort_new_file file;
    tort_status status = tort_new_file_name(path, &file, error);
    if (!status) status = tort_new_file_open(&file, error);
    if (!status) status = tort_optimized_write(self->loaded, &o->session, &file, error);
    return tort_new_file_end(&file, status, error);
}

/* optimized: NULL, or a path. */
static tort_status load_model(core_session *self, const core_opening *o, const char *path, const void *bytes,
                              size_t size, const char *optimized, tort_error *error) {
    tort_status status;
    const core_stretch stretch = core_let_go();
    status = path ? tort_model_load(NULL, path, &o->load, &self->loaded, error)
                  : tort_model_load_buffer(NULL, bytes, size, &o->load, &self->loaded, error);
    if (!status) status = tort_session_create(NULL, self->loaded, &o->session, &self->session, error);
    if (!status && optimized) status = write_optimized(self, o, optimized, error);
    core_take_back(stretch);
    return status;
}

static bool open_model(core_session *self, const core_opening *o) {
    PyObject *path = NULL, *optimized = NULL;
    const void *bytes = NULL;
    size_t size = 0;
    tort_error error = {.node = -1};
    if (o->optimized && o->optimized != Py_None && !PyUnicode_FSConverter(o->optimized, &optimized)) return false;
    if (o->from_file ? !PyUnicode_FSConverter(o->source, &path) : !keep_bytes(self, o->source, &bytes, &size))
        return Py_XDECREF(optimized), false;
    const tort_status status = load_model(self, o, path ? PyBytes_AsString(path) : NULL, bytes, size,
                                          optimized ? PyBytes_AsString(optimized) : NULL, &error);
    Py_XDECREF(path);
    Py_XDECREF(optimized);
    /* A session whose placement was refused has a report all the same. */
    if (status && !(o->session.plan_only && status == TORT_E_PLACEMENT && self->session))
        return core_fail(core_state_of(self->module), &error) != NULL;
    self->model = self->loaded;
    Py_XINCREF(o->operators);
    self->operators = o->operators;
    return read_ports(self, &o->session);
}

PyObject *core_py_open(PyObject *module, PyObject *arguments, PyObject *keywords) {
    core_opening *o = calloc(1, sizeof *o);
    if (!o) return PyErr_NoMemory();
    core_session *self = parse(o, arguments, keywords) ? new_session(module) : NULL;
    if (!self) return opening_free(o), NULL;
    self->opening = o;
    if (!open_model(self, o)) Py_CLEAR(self);
    return (PyObject *)self;
}

const tort_session_options *core_session_options(const core_session *self) {
    return self->opening ? &self->opening->session : NULL;
}

PyObject *core_py_load_plan(PyObject *module, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"path", "map", "disabled", "operators", "time_limit", NULL};
    tort_plan_options options = {.struct_size = sizeof options};
    PyObject *path, *operators = Py_None;
    int map = 0;
    double time_limit = 0;
    tort_error error = {.node = -1};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O&|pzOd", names, PyUnicode_FSConverter, &path, &map,
                                     &options.disabled, &operators, &time_limit))
        return NULL;
    options.map = map;
    options.time_limit = nanoseconds(time_limit);
    options.operators = operators == Py_None ? NULL : core_operators_of(operators);
    options.operator_abi = TORT_PROVIDER_ABI;
    core_session *self = new_session(module);
    tort_status status = TORT_OK;
    if (self) {
        const core_stretch stretch = core_let_go();
        status = tort_session_load(NULL, PyBytes_AsString(path), &options, &self->session, &error);
        core_take_back(stretch);
        Py_INCREF(operators);
        self->operators = operators;
        if (!status) self->model = tort_session_model(self->session);
        if (status || !read_ports(self, NULL)) Py_CLEAR(self);
    }
    Py_DECREF(path);
    return status ? core_fail(core_state_of(module), &error) : (PyObject *)self;
}

static void session_dealloc(PyObject *object) {
    core_session *self = (core_session *)object;
    PyTypeObject *type = Py_TYPE(object);
    const core_stretch stretch = core_let_go();
    for (int32_t i = 0; i < self->context_count; i++) tort_context_free(self->contexts[i].context);
    tort_session_free(self->session);
    tort_model_free(self->loaded);
    core_take_back(stretch);
    pthread_mutex_destroy(&self->lock);
    free(self->contexts);
    free(self->inputs);
    free(self->outputs);
    opening_free(self->opening);
    Py_XDECREF(self->bytes);
    Py_XDECREF(self->operators);
    Py_XDECREF(self->input_names);
    Py_XDECREF(self->output_names);
    Py_XDECREF(self->module);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

/* A place for one more context, under the lock; NULL: no memory. */
static core_context *new_place(core_session *self) {
    if (self->context_count == self->context_capacity) {
        const int32_t capacity = 2 * self->context_capacity + 4;
        core_context *contexts = realloc(self->contexts, (size_t)capacity * sizeof *contexts);
        if (!contexts) return NULL;
        self->contexts = contexts;
        self->context_capacity = capacity;
    }
    self->contexts[self->context_count] = (core_context){0};
    return &self->contexts[self->context_count++];
}

tort_context *core_context_take(core_session *self, const void *token, tort_error *error) {
    tort_context *context = NULL;
    pthread_mutex_lock(&self->lock);
    for (int32_t i = self->context_count - 1; !context && i >= 0; i--) {
        core_context *place = &self->contexts[i];
        if (place->taken) continue;
        *place = (core_context){.context = place->context, .token = token, .taken = true};
        context = place->context;
    }
    pthread_mutex_unlock(&self->lock);
    if (context || tort_context_create(self->session, &context, error)) return context;
    pthread_mutex_lock(&self->lock);
    core_context *place = new_place(self);
    if (place) *place = (core_context){.context = context, .token = token, .taken = true};
    pthread_mutex_unlock(&self->lock);
    if (place) return context;
    tort_context_free(context);
    *error = (tort_error){.code = TORT_E_MEMORY, .node = -1, .msg = "out of memory for one more context"};
    return NULL;
}

void core_context_give(core_session *self, const tort_context *context) {
    pthread_mutex_lock(&self->lock);
    for (int32_t i = 0; i < self->context_count; i++)
        if (self->contexts[i].context == context) self->contexts[i].taken = false;
    pthread_mutex_unlock(&self->lock);
}

/* cancel(token): ends the runs that have this token. */
static PyObject *session_cancel(PyObject *object, PyObject *arguments) {
    core_session *self = (core_session *)object;
    PyObject *token;
    if (!PyArg_ParseTuple(arguments, "O", &token)) return NULL;
    pthread_mutex_lock(&self->lock);
    for (int32_t i = 0; i < self->context_count; i++)
        if (self->contexts[i].taken && self->contexts[i].token == token) tort_context_cancel(self->contexts[i].context);
    pthread_mutex_unlock(&self->lock);
    Py_RETURN_NONE;
}

/* ---- what is known of a session ---------------------------------------------------------------------------------- */

/* (name, type, shape) of a port; a shape has numbers, names, and None for dimensions without either; None: unknown. */
static PyObject *port_of(const tort_port *port, PyObject *name) {
    char text[128];
    PyObject *shape = port->rank < 0 ? NULL : PyTuple_New(port->rank);
    for (int32_t i = 0; i < port->rank; i++) {
        PyObject *dim = port->dims[i] >= 0    ? PyLong_FromLongLong(port->dims[i])
                        : *port->dim_names[i] ? PyUnicode_FromString(port->dim_names[i])
                                              : Py_BuildValue("");
        if (!dim || PyTuple_SetItem(shape, i, dim)) Py_CLEAR(shape);
        if (!shape) return NULL;
    }
    tort_type_text(port->value_type, text, sizeof text);
    return shape ? Py_BuildValue("OsiN", name, text, (int)port->type, shape)
                 : Py_BuildValue("Osiz", name, text, (int)port->type, NULL);
}

static PyObject *ports_of(const tort_port *ports, int32_t count, PyObject *names) {
    PyObject *list = PyList_New(count);
    for (int32_t i = 0; list && i < count; i++) {
        PyObject *port = port_of(&ports[i], PyTuple_GetItem(names, i));
        if (!port || PyList_SetItem(list, i, port)) Py_CLEAR(list);
    }
    return list;
}

static PyObject *session_inputs(PyObject *object, PyObject *none) {
    const core_session *self = (core_session *)object;
    (void)none;
    return ports_of(self->inputs, self->input_count, self->input_names);
}

static PyObject *session_outputs(PyObject *object, PyObject *none) {
    const core_session *self = (core_session *)object;
    (void)none;
    return ports_of(self->outputs, self->output_count, self->output_names);
}

static PyObject *session_metadata(PyObject *object, PyObject *none) {
    const tort_model *model = ((core_session *)object)->model;
    PyObject *map = PyDict_New(), *opsets = PyDict_New();
    (void)none;
    for (int32_t i = 0; map && i < tort_model_metadata_count(model); i++) {
        const tort_metadata entry = tort_model_metadata(model, i);
        PyObject *text = PyUnicode_DecodeUTF8(entry.value, (Py_ssize_t)strlen(entry.value), "replace");
        if (!text || PyDict_SetItemString(map, entry.key, text)) Py_CLEAR(map);
        Py_XDECREF(text);
    }
    for (int32_t i = 0; opsets && i < tort_model_opset_count(model); i++) {
        const char *domain = tort_model_opset_domain(model, i);
        PyObject *version = PyLong_FromLongLong(tort_model_opset(model, domain));
        if (!version || PyDict_SetItemString(opsets, domain, version)) Py_CLEAR(opsets);
        Py_XDECREF(version);
    }
    if (map && opsets)
        return Py_BuildValue("{s:s,s:s,s:s,s:L,s:N,s:N}", "graph_name", tort_model_graph_name(model), "producer_name",
                             tort_model_producer(model), "producer_version", tort_model_producer_version(model),
                             "ir_version", (long long)tort_model_ir_version(model), "opsets", opsets,
                             "custom_metadata_map", map);
    Py_XDECREF(map);
    Py_XDECREF(opsets);
    return NULL;
}

/* report(described=False): with what each node is, which may read weights. */
static PyObject *session_report(PyObject *object, PyObject *arguments) {
    const core_session *self = (core_session *)object;
    int described = 0;
    if (!PyArg_ParseTuple(arguments, "|p", &described)) return NULL;
    return core_report(self->session, core_state_of(self->module), described ? CORE_DESCRIBED : CORE_WHOLE);
}

static PyObject *session_chain(PyObject *object, PyObject *none) {
    const core_session *self = (core_session *)object;
    (void)none;
    return core_report(self->session, core_state_of(self->module), CORE_CHAIN);
}

static PyObject *session_save(PyObject *object, PyObject *arguments) {
    const core_session *self = (core_session *)object;
    PyObject *path;
    tort_error error = {.node = -1};
    tort_status status;
    if (!PyArg_ParseTuple(arguments, "O&", PyUnicode_FSConverter, &path)) return NULL;
    const char *name = PyBytes_AsString(path);
    const core_stretch stretch = core_let_go();
    status = tort_session_save(self->session, name, &error);
    core_take_back(stretch);
    Py_DECREF(path);
    if (status) return core_fail(core_state_of(self->module), &error);
    Py_RETURN_NONE;
}

static PyMethodDef session_methods[] = {
    {"run", core_session_run, METH_VARARGS, "run(output_names, feed): a list of results."},
    {"run_bound", core_session_run_bound, METH_VARARGS, "run_bound(inputs, outputs): runs on values that are bound."},
    {"inputs", session_inputs, METH_NOARGS, "(name, type, element type, shape) of each input."},
    {"outputs", session_outputs, METH_NOARGS, "(name, type, element type, shape) of each output."},
    {"metadata", session_metadata, METH_NOARGS, "What the file says of itself."},
    {"report", session_report, METH_VARARGS, "Where every node runs, and why: a dict as of `tinyort plan --json`."},
    {"cancel", session_cancel, METH_VARARGS, "cancel(token): ends runs that were given this token."},
    {"chain", session_chain, METH_NOARGS, "The part of report that is about providers, without a dict for each node."},
    {"save", session_save, METH_VARARGS, "save(path): writes a plan."},
    {"profile", core_session_profile, METH_VARARGS, "profile(feed, work): (results, steps)."},
    {"observe", core_session_observe, METH_VARARGS, "observe(feed): (node, value, Value) of all that nodes write."},
    {"memory", core_session_memory, METH_VARARGS, "memory(shape, type, provider): a value in a provider's memory."},
    {"copy", core_session_copy, METH_VARARGS, "copy(to, from): between memories."},
    {"quantize", (PyCFunction)(void (*)(void))core_session_quantize, METH_VARARGS | METH_KEYWORDS,
     "quantize(read, count, progress, output, ...): (bytes or None, report)."},
    {"convert", (PyCFunction)(void (*)(void))core_session_convert, METH_VARARGS | METH_KEYWORDS,
     "convert(read, count, progress, output, ...): (bytes or None, report)."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot session_slots[] = {
    {Py_tp_dealloc, (void *)session_dealloc},
    {Py_tp_methods, session_methods},
    {Py_tp_doc, (void *)"A planned model."},
    {0, NULL},
};

PyType_Spec core_session_spec = {
    .name = "tinyort._core.Session",
    .basicsize = sizeof(core_session),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = session_slots,
};
