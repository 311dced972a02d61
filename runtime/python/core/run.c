/* run.c - runs of a session: inputs from a dict, results as a list (session.h).
 *
 * A run opens its inputs (views of the caller's memory), takes a context, and lets go of the interpreter's lock until
 * its outputs lie in values of their own. */
#include <stdlib.h>
#include <string.h>

#include "runtime/core/graph/value.h"
#include "runtime/python/core/session.h"
#include "runtime/include/tinyort_profile.h"

enum { FEW = 8 }; /* ports without a call of malloc */

/* Inputs and outputs of a run while it lasts. */
typedef struct core_run {
    core_session *session;
    core_input *inputs;
    tort_tensor *input_tensors, *output_tensors;
    tort_value **input_values, **outputs; /* outputs: references, NULL if not wanted */
    bool *wanted;
    PyObject *token;       /* names the run for cancel; NULL: none */
    struct seen *observed; /* takes what nodes write; NULL: nobody looks */
    tort_error error;
    char storage[FEW * (sizeof(core_input) + 2 * sizeof(tort_tensor) + 2 * sizeof(tort_value *) + sizeof(bool))];
    void *allocated;
} core_run;

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static bool run_open(core_run *run, core_session *session) {
    const size_t ins = (size_t)session->input_count, outs = (size_t)session->output_count;
    const size_t bytes = ins * (sizeof(core_input) + sizeof(tort_tensor) + sizeof(tort_value *)) +
                         outs * (sizeof(tort_tensor) + sizeof(tort_value *) + sizeof(bool));
    run->session = session;
    run->allocated = NULL;
    run->token = NULL;
    run->observed = NULL;
    run->error = (tort_error){.node = -1};
    char *at = run->storage;
    if (bytes > sizeof run->storage) at = run->allocated = malloc(bytes);
    if (!at) return PyErr_NoMemory() != NULL;
    memset(at, 0, bytes);
    run->inputs = (core_input *)(void *)at;
    run->input_tensors = (tort_tensor *)(void *)(run->inputs + ins);
    run->output_tensors = run->input_tensors + ins;
    run->input_values = (tort_value **)(void *)(run->output_tensors + outs);
    run->outputs = run->input_values + ins;
    run->wanted = (bool *)(run->outputs + outs);
    return true;
}

static void run_close(core_run *run) {
    for (int32_t i = 0; i < run->session->input_count; i++) {
        core_input_close(&run->inputs[i]);
        tort_value_release(run->input_values[i]);
    }
    for (int32_t i = 0; i < run->session->output_count; i++) tort_value_release(run->outputs[i]);
    free(run->allocated);
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

/* Raises the reason why a feed does not have each input once. */
static bool refuse_feed(const core_session *self, PyObject *feed) {
    PyObject *key, *item, *missing = PyList_New(0);
    Py_ssize_t at = 0;
    const core_state *state = core_state_of(self->module);
    for (int32_t i = 0; missing && i < self->input_count; i++) {
        PyObject *name = PyTuple_GetItem(self->input_names, i);
        if (!PyDict_Contains(feed, name)) PyList_Append(missing, name);
    }
    if (missing && PyList_Size(missing)) {
        PyObject *given = PyDict_Keys(feed);
        PyErr_Format(PyExc_ValueError, "Required inputs (%R) are missing from input feed (%R).", missing, given);
        Py_XDECREF(given);
    }
    while (!PyErr_Occurred() && PyDict_Next(feed, &at, &key, &item)) {
        const int known = PySequence_Contains(self->input_names, key);
        PyObject *text = known ? NULL : PyObject_Str(key), *bytes = text ? PyUnicode_AsUTF8String(text) : NULL;
        if (bytes) core_raise(state, TORT_E_USAGE, "Invalid input name: %s", PyBytes_AsString(bytes));
        Py_XDECREF(text);
        Py_XDECREF(bytes);
    }
    Py_XDECREF(missing);
    return false;
}

static bool open_inputs(core_run *run, PyObject *feed) {
    const core_session *self = run->session;
    for (int32_t i = 0; i < self->input_count; i++) {
        PyObject *object = PyDict_GetItemWithError(feed, PyTuple_GetItem(self->input_names, i));
        if (!object) return PyErr_Occurred() ? false : refuse_feed(self, feed);
        if (object == Py_None && tort_type_kind(self->inputs[i].value_type) == TORT_OPTIONAL) continue;
        if (!core_input_open(self->module, object, &self->inputs[i], &run->inputs[i])) return false;
        run->input_tensors[i] = run->inputs[i].tensor;
    }
    return PyDict_Size(feed) == self->input_count || refuse_feed(self, feed);
}

static void refuse_output(const core_session *self, PyObject *name) {
    PyObject *text = PyUnicode_FromFormat("Invalid output name:%U; the model has %R", name, self->output_names),
             *bytes = text ? PyUnicode_AsUTF8String(text) : NULL;
    if (bytes) core_raise(core_state_of(self->module), TORT_E_USAGE, "%s", PyBytes_AsString(bytes));
    Py_XDECREF(text);
    Py_XDECREF(bytes);
}

/* Marks the outputs that are wanted; None: all. */
static bool choose_outputs(core_run *run, PyObject *names, Py_ssize_t *count) {
    const core_session *self = run->session;
    *count = names == Py_None ? 0 : PySequence_Size(names);
    if (*count < 0) return false;
    if (!*count) memset(run->wanted, 1, (size_t)self->output_count);
    for (Py_ssize_t i = 0; i < *count; i++) {
        PyObject *name = PySequence_GetItem(names, i);
        const Py_ssize_t at = name ? PySequence_Index(self->output_names, name) : -1;
        if (name && at < 0 && PyUnicode_Check(name)) {
            PyErr_Clear();
            refuse_output(self, name);
        }
        Py_XDECREF(name);
        if (at < 0) return false;
        run->wanted[at] = true;
    }
    return true;
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* Tensors alone: outputs are copied from the context's memory into values, for the next run writes it. */
static tort_status run_tensors(core_run *run, tort_context *context) {
    const core_session *self = run->session;
    tort_status status = tort_context_run(context, run->input_tensors, self->input_count, run->output_tensors,
                                          self->output_count, &run->error);
    for (int32_t i = 0; !status && i < self->output_count; i++) {
        if (!run->wanted[i]) continue;
        run->outputs[i] = tort_value_tensor(NULL, &run->output_tensors[i]);
        if (run->outputs[i]) continue;
        status = run->error.code = TORT_E_MEMORY;
        snprintf(run->error.msg, sizeof run->error.msg, "out of memory for output \"%s\"", self->outputs[i].name);
    }
    return status;
}

static tort_status run_values(core_run *run, tort_context *context) {
    const core_session *self = run->session;
    for (int32_t i = 0; i < self->input_count; i++) {
        if (run->inputs[i].value)
            run->input_values[i] = tort_value_retain(run->inputs[i].value);
        else if (run->input_tensors[i].type != TORT_UNDEFINED)
            run->input_values[i] = tort_value_tensor(NULL, &run->input_tensors[i]);
    }
    return tort_context_run_values(context, (const tort_value *const *)run->input_values, self->input_count,
                                   run->outputs, self->output_count, &run->error);
}

/* Steps as a profiler tells them, for after the run. */
typedef struct steps {
    tort_profile_step *list;
    size_t count, capacity;
} steps;

static void take_step(void *ud, const tort_profile_step *step) {
    steps *all = ud;
    if (all->count == all->capacity) {
        const size_t capacity = 2 * all->capacity + 256;
        tort_profile_step *list = realloc(all->list, capacity * sizeof *list);
        if (!list) return;
        all->list = list;
        all->capacity = capacity;
    }
    all->list[all->count++] = *step;
}

/* Values as the observer sees them, each a copy. */
typedef struct seen {
    struct {
        int32_t node;
        char *name;
        tort_value *value;
    } * list;
    size_t count, capacity;
    bool failed;
} seen;

static void see(void *ud, int32_t node, const char *name, const tort_tensor *tensor) {
    seen *all = ud;
    if (all->count == all->capacity) {
        const size_t capacity = 2 * all->capacity + 64;
        void *list = realloc(all->list, capacity * sizeof *all->list);
        all->failed = all->failed || !list;
        if (!list) return;
        all->list = list;
        all->capacity = capacity;
    }
    all->list[all->count].node = node;
    all->list[all->count].name = strdup(name);
    all->list[all->count++].value = tort_value_tensor(NULL, tensor);
}

/* Runs without the interpreter's lock. `profile`: takes the steps, `work` with FLOPs and bytes; NULL: no profile. */
static bool run_now(core_run *run, steps *profile, bool work) {
    core_session *session = run->session;
    tort_status status;
    const core_stretch stretch = core_let_go();
    tort_context *context = core_context_take(session, run->token, &run->error);
    if (context && profile) tort_context_profile(context, work, take_step, profile);
    if (context && run->observed) tort_context_observe(context, see, run->observed);
    status = !context ? run->error.code : session->values ? run_values(run, context) : run_tensors(run, context);
    if (context && profile) tort_context_profile(context, false, NULL, NULL);
    if (context && run->observed) tort_context_observe(context, NULL, NULL);
    if (context) core_context_give(session, context);
    core_take_back(stretch);
    return !status || core_fail(core_state_of(session->module), &run->error);
}

static PyObject *result_of(const core_run *run, Py_ssize_t at) {
    const tort_value *value = tort_value_retain(run->outputs[at]);
    if (value) return core_result(run->session->module, value);
    Py_RETURN_NONE;
}

static PyObject *results_of(const core_run *run, PyObject *names, Py_ssize_t count) {
    const core_session *self = run->session;
    const Py_ssize_t length = count ? count : self->output_count;
    PyObject *results = PyList_New(length);
    for (Py_ssize_t i = 0; results && i < length; i++) {
        PyObject *name = count ? PySequence_GetItem(names, i) : NULL;
        PyObject *result = result_of(run, name ? PySequence_Index(self->output_names, name) : i);
        Py_XDECREF(name);
        if (!result || PyList_SetItem(results, i, result)) Py_CLEAR(results);
    }
    return results;
}

/* Names of outputs as a list, tuple or None, a new reference; any iterable of names will do. */
static PyObject *names_of(PyObject *names) {
    if (PyUnicode_Check(names)) {
        PyErr_SetString(PyExc_TypeError, "output_names: expected a list of names or None, found one str");
        return NULL;
    }
    if (names != Py_None && !PyList_Check(names) && !PyTuple_Check(names)) return PySequence_List(names);
    Py_INCREF(names);
    return names;
}

/* A feed as a dict, a new reference; any mapping will do. */
static PyObject *feed_of(PyObject *feed) {
    if (PyDict_Check(feed)) {
        Py_INCREF(feed);
        return feed;
    }
    PyObject *dict = PyDict_New();
    if (dict && PyDict_Update(dict, feed)) Py_CLEAR(dict);
    return dict;
}

/* run(names, feed, token=None): token names the run for cancel(token). */
PyObject *core_session_run(PyObject *object, PyObject *arguments) {
    PyObject *names, *feed, *token = NULL, *results = NULL;
    Py_ssize_t count = 0;
    core_run run;
    if (!PyArg_ParseTuple(arguments, "OO|O", &names, &feed, &token)) return NULL;
    names = names_of(names);
    feed = names ? feed_of(feed) : NULL;
    if (feed && run_open(&run, (core_session *)object)) {
        run.token = token;
        if (choose_outputs(&run, names, &count) && open_inputs(&run, feed) && run_now(&run, NULL, false))
            results = results_of(&run, names, count);
        run_close(&run);
    }
    Py_XDECREF(names);
    Py_XDECREF(feed);
    return results;
}

/* ---- bound values ------------------------------------------------------------------------------------------------ */

/* Takes inputs from a dict by name; outputs from a dict of values whose memory is written, None where there is none. */
static bool open_bound(core_run *run, PyObject *inputs, PyObject *outputs) {
    const core_session *self = run->session;
    const core_state *state = core_state_of(self->module);
    if (!open_inputs(run, inputs)) return false;
    for (int32_t i = 0; i < self->output_count; i++) {
        PyObject *given = PyDict_GetItemWithError(outputs, PyTuple_GetItem(self->output_names, i));
        const core_value *value = given && given != Py_None ? core_value_of(state, given) : NULL;
        if (!given && PyErr_Occurred()) return false;
        run->wanted[i] = given != NULL && !value;
        if (value && !core_value_check_writable(state, value, self->outputs[i].name)) return false;
        if (value) run->output_tensors[i] = value->tensor;
        if (value && self->values)
            return core_raise(state, TORT_E_USAGE,
                              "output \"%s\": a model with sequences or maps makes its outputs itself",
                              self->outputs[i].name) != NULL;
    }
    return true;
}

/* run_bound(inputs, outputs): a dict of Values by name, of the outputs in `outputs` that were None. */
PyObject *core_session_run_bound(PyObject *object, PyObject *arguments) {
    core_session *self = (core_session *)object;
    PyObject *inputs, *outputs, *results = NULL;
    core_run run;
    if (!PyArg_ParseTuple(arguments, "O!O!", &PyDict_Type, &inputs, &PyDict_Type, &outputs)) return NULL;
    if (!run_open(&run, self)) return NULL;
    if (open_bound(&run, inputs, outputs) && run_now(&run, NULL, false)) results = PyDict_New();
    for (int32_t i = 0; results && i < self->output_count; i++) {
        if (!run.wanted[i] || !run.outputs[i]) continue;
        PyObject *value = core_value_new(self->module, tort_value_retain(run.outputs[i]));
        if (!value || PyDict_SetItem(results, PyTuple_GetItem(self->output_names, i), value)) Py_CLEAR(results);
        Py_XDECREF(value);
    }
    run_close(&run);
    return results;
}

/* ---- memory of providers ----------------------------------------------------------------------------------------- */

/* Memory of a provider, freed when the last value in it goes. */
typedef struct loan {
    core_session *session;
    const char *provider;
    void *memory;
    size_t bytes;
} loan;

static void end_loan(PyObject *capsule) {
    loan *it = PyCapsule_GetPointer(capsule, "tinyort.memory");
    tort_memory_free(it->session->session, it->provider, it->memory, it->bytes);
    Py_DECREF((PyObject *)it->session);
    free(it);
}

/* memory(shape, type, provider) */
PyObject *core_session_memory(PyObject *object, PyObject *arguments) {
    core_session *self = (core_session *)object;
    const core_state *state = core_state_of(self->module);
    PyObject *shape;
    int type;
    const char *provider;
    tort_tensor tensor = {0};
    tort_error error = {.node = -1};
    if (!PyArg_ParseTuple(arguments, "O!is", &PyTuple_Type, &shape, &type, &provider)) return NULL;
    if (!core_shape_of(shape, &tensor)) return NULL;
    tensor.type = (tort_type)type;
    loan *it = calloc(1, sizeof *it);
    if (!it) return PyErr_NoMemory();
    it->provider = core_provider_named(provider);
    if (!it->provider || !tort_tensor_bytes(&tensor, &it->bytes)) {
        free(it);
        return core_raise(state, TORT_E_USAGE, "no tensor of this type and shape in memory of \"%s\"", provider);
    }
    if (tort_memory_alloc(self->session, it->provider, it->bytes ? it->bytes : 1, &it->memory, &error)) {
        free(it);
        return core_fail(state, &error);
    }
    Py_INCREF(object);
    it->session = self;
    tensor.data = it->memory;
    PyObject *capsule = PyCapsule_New(it, "tinyort.memory", end_loan);
    PyObject *value = capsule ? core_value_borrow(self->module, &tensor, capsule) : NULL;
    if (value) ((core_value *)value)->provider = it->provider;
    Py_XDECREF(capsule);
    return value;
}

/* copy(to, from): values of equal size, one of them in memory of a provider of the chain. */
PyObject *core_session_copy(PyObject *object, PyObject *arguments) {
    core_session *self = (core_session *)object;
    const core_state *state = core_state_of(self->module);
    PyObject *first, *second;
    tort_error error = {.node = -1};
    if (!PyArg_ParseTuple(arguments, "OO", &first, &second)) return NULL;
    const core_value *to = core_value_of(state, first), *from = core_value_of(state, second);
    size_t bytes, other;
    if (!to || !from || !tort_tensor_bytes(&to->tensor, &bytes) || !tort_tensor_bytes(&from->tensor, &other) ||
        bytes != other || (!to->provider && !from->provider))
        return core_raise(state, TORT_E_USAGE, "copy: expected two values of one size, one in a provider's memory");
    if (!core_value_check_writable(state, to, "to")) return NULL;
    tort_context *context = core_context_take(self, NULL, &error);
    tort_status status = context ? TORT_OK : error.code;
    const tort_direction direction = !from->provider ? TORT_TO_DEVICE : !to->provider ? TORT_TO_HOST : TORT_ON_DEVICE;
    const core_stretch stretch = core_let_go();
    if (context)
        status = tort_memory_copy(context, to->provider ? to->provider : from->provider, to->tensor.data,
                                  from->tensor.data, bytes, direction, &error);
    if (context) core_context_give(self, context);
    core_take_back(stretch);
    if (status) return core_fail(state, &error);
    Py_RETURN_NONE;
}

/* ---- values between the nodes ------------------------------------------------------------------------------------ */

static PyObject *seen_list(core_session *self, seen *all) {
    PyObject *list = PyList_New((Py_ssize_t)all->count);
    for (size_t i = 0; list && i < all->count; i++) {
        const char *name = all->list[i].name;
        PyObject *value = core_value_new(self->module, tort_value_retain(all->list[i].value));
        PyObject *text = value && name ? PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace") : NULL;
        PyObject *item = text ? Py_BuildValue("iNN", (int)all->list[i].node, text, value) : NULL;
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item)) Py_CLEAR(list);
    }
    return list;
}

/* observe(feed): (node, name of the value, Value) of everything that the nodes of a run write. */
PyObject *core_session_observe(PyObject *object, PyObject *arguments) {
    core_session *self = (core_session *)object;
    PyObject *feed, *list = NULL;
    Py_ssize_t count = 0;
    core_run run;
    seen all = {0};
    if (!PyArg_ParseTuple(arguments, "O!", &PyDict_Type, &feed) || !run_open(&run, self)) return NULL;
    run.observed = &all;
    if (choose_outputs(&run, Py_None, &count) && open_inputs(&run, feed) && run_now(&run, NULL, false))
        list = all.failed ? PyErr_NoMemory() : seen_list(self, &all);
    run_close(&run);
    for (size_t i = 0; i < all.count; i++) {
        free(all.list[i].name);
        tort_value_release(all.list[i].value);
    }
    free(all.list);
    return list;
}

/* ---- profile ----------------------------------------------------------------------------------------------------- */

static PyObject *step_dict(const tort_profile_step *step) {
    static const char *const kinds[] = {"node", "copy", "conversion"};
    return Py_BuildValue("{s:s,s:i,s:z,s:L,s:L,s:L,s:d,s:d}", "kind", kinds[step->what], "node", (int)step->node,
                         "provider", step->provider, "begin", (long long)step->begin, "end", (long long)step->end,
                         "inside", (long long)step->inside, "bytes", step->bytes, "flops", step->flops);
}

/* profile(names, feed, work): (results, list of steps). */
PyObject *core_session_profile(PyObject *object, PyObject *arguments) {
    PyObject *names, *feed, *results = NULL, *list = NULL;
    Py_ssize_t count = 0;
    int work;
    core_run run;
    steps all = {0};
    if (!PyArg_ParseTuple(arguments, "OOp", &names, &feed, &work)) return NULL;
    if (!run_open(&run, (core_session *)object)) return NULL;
    if (choose_outputs(&run, names, &count) && open_inputs(&run, feed) && run_now(&run, &all, work)) {
        results = results_of(&run, names, count);
        list = PyList_New((Py_ssize_t)all.count);
        for (size_t i = 0; list && i < all.count; i++) {
            PyObject *step = step_dict(&all.list[i]);
            if (!step || PyList_SetItem(list, (Py_ssize_t)i, step)) Py_CLEAR(list);
        }
    }
    run_close(&run);
    free(all.list);
    if (results && list) return Py_BuildValue("NN", results, list);
    Py_XDECREF(results);
    Py_XDECREF(list);
    return NULL;
}
