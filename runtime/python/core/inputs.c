/* inputs.c - objects of Python as inputs of a run: contiguous buffers as they are, all else through the package.
 *
 * The quick way, of an array of the model's type, takes a view of its memory and nothing more. What has no buffer of
 * numbers, or not one of contiguous, aligned elements (lists, arrays of strings, transposed arrays), goes through a
 * function of the package, which makes a buffer, or a shape and a list of strings. */
#include <stdlib.h>
#include <string.h>

#include "runtime/core/graph/value.h"
#include "runtime/python/core/core.h"

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* A view as a tensor, with the shape that the object has. False: it is no tensor of ours, without an exception. */
static bool tensor_of_view(const Py_buffer *view, tort_tensor *tensor) {
    const tort_type type = core_type_of_format(view->format, view->itemsize);
    const uintptr_t alignment = (uintptr_t)(view->itemsize > 8 ? 8 : view->itemsize);
    if (type == TORT_UNDEFINED || view->ndim > TORT_MAX_RANK) return false;
    if (alignment && (uintptr_t)view->buf % alignment) return false;
    *tensor = (tort_tensor){.type = type, .rank = view->ndim, .data = view->buf};
    for (int i = 0; i < view->ndim; i++) tensor->dims[i] = view->shape ? view->shape[i] : view->len / view->itemsize;
    return true;
}

/* True if the object has a buffer of numbers that can be an input as it is; no exception. */
static bool open_buffer(PyObject *object, core_input *input) {
    if (!PyObject_CheckBuffer(object)) return false;
    if (PyObject_GetBuffer(object, &input->view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS)) {
        PyErr_Clear();
        input->view.obj = NULL;
        return false;
    }
    if (tensor_of_view(&input->view, &input->tensor)) return true;
    PyBuffer_Release(&input->view);
    input->view.obj = NULL;
    return false;
}

static void keep(core_input *input, PyObject *owner) {
    Py_INCREF(owner);
    Py_XDECREF(input->owner);
    input->owner = owner;
}

bool core_shape_of(PyObject *tuple, tort_tensor *tensor) {
    const Py_ssize_t rank = PyTuple_Size(tuple);
    if (rank < 0 || rank > TORT_MAX_RANK) {
        if (rank >= 0) PyErr_SetString(PyExc_ValueError, "a tensor has at most 8 dimensions");
        return false;
    }
    tensor->rank = (int32_t)rank;
    for (Py_ssize_t i = 0; i < rank; i++) {
        tensor->dims[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
        if (tensor->dims[i] == -1 && PyErr_Occurred()) return false;
    }
    return true;
}

/* A tensor of strings: a shape, and a list of str whose text it borrows; `owner` holds both. */
static bool open_strings(PyObject *owner, core_input *input) {
    PyObject *list = PyTuple_GetItem(owner, 1);
    const Py_ssize_t count = list ? PyList_Size(list) : -1;
    if (count < 0 || !core_shape_of(PyTuple_GetItem(owner, 0), &input->tensor)) return false;
    keep(input, owner);
    input->strings = calloc(count ? (size_t)count : 1, sizeof *input->strings);
    if (!input->strings) return PyErr_NoMemory() != NULL;
    input->tensor.type = TORT_STRING;
    input->tensor.data = input->strings;
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t length;
        char *bytes;
        if (PyBytes_AsStringAndSize(PyList_GetItem(list, i), &bytes, &length)) return false;
        input->strings[i] = (tort_string){.data = bytes, .length = (size_t)length};
    }
    return true;
}

/* The slow way, through the package's tensor(object, type, name). */
static bool open_converted(PyObject *module, PyObject *object, const tort_port *port, core_input *input) {
    const core_state *state = core_state_of(module);
    PyObject *made = PyObject_CallFunction(state->tensor, "Ois", object, (int)port->type, port->name);
    bool opened = false;
    if (!made) return false;
    const core_value *value = core_value_of(state, made);
    if (value) {
        input->tensor = value->tensor;
        keep(input, made);
        opened = true;
    } else if (PyTuple_Check(made)) {
        opened = open_strings(made, input);
    } else {
        opened = open_buffer(made, input); /* the view keeps what was made */
        if (!opened) core_raise(state, TORT_E_INPUT, "input \"%s\": cannot be made a tensor", port->name);
    }
    Py_DECREF(made);
    return opened;
}

static bool open_tensor(PyObject *module, PyObject *object, const tort_port *port, core_input *input) {
    const core_value *value = core_value_of(core_state_of(module), object);
    if (value && value->tensor.type != TORT_UNDEFINED) {
        input->tensor = value->tensor;
        keep(input, object);
        return true;
    }
    if (port->type != TORT_STRING && open_buffer(object, input)) return true;
    return open_converted(module, object, port, input);
}

/* ---- sequences, optionals, maps ---------------------------------------------------------------------------------- */

static const tort_value *make_value(PyObject *module, PyObject *object, tort_value_type type, const char *name);

/* A tensor as a value, which copies it. */
static const tort_value *make_tensor(PyObject *module, PyObject *object, tort_value_type type, const char *name) {
    const tort_port port = {.struct_size = sizeof port, .name = name, .type = type.type, .value_type = type};
    core_input input = {0};
    const tort_value *value = NULL;
    if (open_tensor(module, object, &port, &input)) {
        value = tort_value_tensor(NULL, &input.tensor);
        if (!value) PyErr_NoMemory();
    }
    core_input_close(&input);
    return value;
}

static const tort_value *make_sequence(PyObject *module, PyObject *object, tort_value_type type, const char *name) {
    const Py_ssize_t count = PyList_Check(object) || PyTuple_Check(object) ? PySequence_Size(object) : -1;
    if (count < 0) {
        char text[128];
        core_raise(core_state_of(module), TORT_E_INPUT, "input \"%s\": expected a list for %s", name,
                   tort_type_text(type, text, sizeof text));
        return NULL;
    }
    tort_value *sequence = tort_value_sequence(NULL, tort_type_element(type));
    if (!sequence) PyErr_NoMemory();
    for (Py_ssize_t i = 0; sequence && i < count; i++) {
        PyObject *item = PySequence_GetItem(object, i);
        const tort_value *element = item ? make_value(module, item, tort_type_element(type), name) : NULL;
        const bool appended = element && tort_value_append(sequence, element);
        if (element && !appended)
            core_raise(core_state_of(module), TORT_E_INPUT, "input \"%s\": element %d has another type", name, (int)i);
        Py_XDECREF(item);
        tort_value_release(element);
        if (appended) continue;
        tort_value_release(sequence);
        sequence = NULL;
    }
    return sequence;
}

/* Keys of a dict as a tensor that the caller closes. */
static bool open_keys(PyObject *module, PyObject *keys, tort_value_type type, const char *name, core_input *input) {
    const tort_port port = {.struct_size = sizeof port, .name = name, .type = tort_type_key(type)};
    return keys && open_converted(module, keys, &port, input);
}

static const tort_value *make_map(PyObject *module, PyObject *object, tort_value_type type, const char *name) {
    if (!PyDict_Check(object)) {
        core_raise(core_state_of(module), TORT_E_INPUT, "input \"%s\": expected a dict for a map", name);
        return NULL;
    }
    PyObject *keys = PyDict_Keys(object), *items = PyDict_Values(object);
    const Py_ssize_t count = PyDict_Size(object);
    core_input input = {0};
    const tort_value **values = calloc(count ? (size_t)count : 1, sizeof *values), *map = NULL;
    bool made = values && items && open_keys(module, keys, type, name, &input);
    for (Py_ssize_t i = 0; made && i < count; i++) {
        values[i] = make_value(module, PyList_GetItem(items, i), tort_type_element(type), name);
        made = values[i] != NULL;
    }
    if (made) map = tort_value_map(NULL, &input.tensor, tort_type_element(type), values);
    if (!map && !PyErr_Occurred())
        core_raise(core_state_of(module), TORT_E_INPUT, "input \"%s\": not a map of the model's type", name);
    for (Py_ssize_t i = 0; values && i < count; i++) tort_value_release(values[i]);
    free(values);
    core_input_close(&input);
    Py_XDECREF(keys);
    Py_XDECREF(items);
    return map;
}

/* Types nest to a bounded depth, so recursion is safe. */
static const tort_value *make_value(PyObject *module, PyObject *object, tort_value_type type, const char *name) {
    const core_value *given = core_value_of(core_state_of(module), object);
    if (given && given->value) return tort_value_retain(given->value);
    switch (tort_type_kind(type)) {
    case TORT_SEQUENCE: return make_sequence(module, object, type, name);
    case TORT_MAP: return make_map(module, object, type, name);
    case TORT_OPTIONAL: {
        const tort_value *element =
            object == Py_None ? NULL : make_value(module, object, tort_type_element(type), name);
        if (!element && object != Py_None) return NULL;
        const tort_value *optional = tort_value_optional(NULL, tort_type_element(type), element);
        tort_value_release(element);
        return optional ? optional : (PyErr_NoMemory(), NULL);
    }
    case TORT_TENSOR:
    case TORT_SPARSE: break;
    }
    return make_tensor(module, object, type, name);
}

/* ---- inputs of a run --------------------------------------------------------------------------------------------- */

bool core_input_open(PyObject *module, PyObject *object, const tort_port *port, core_input *input) {
    *input = (core_input){0};
    if (tort_type_kind(port->value_type) == TORT_TENSOR) return open_tensor(module, object, port, input);
    input->value = make_value(module, object, port->value_type, port->name);
    return input->value != NULL;
}

void core_input_close(core_input *input) {
    if (input->view.obj) PyBuffer_Release(&input->view);
    Py_XDECREF(input->owner);
    free(input->strings);
    tort_value_release(input->value);
    *input = (core_input){0};
}

/* ---- functions of the module ------------------------------------------------------------------------------------- */

/* from_buffer(buffer, type): type tells how to read it where its own codes cannot, as for bfloat16; 0: they can. */
PyObject *core_py_from_buffer(PyObject *module, PyObject *arguments) {
    PyObject *object, *shape = NULL;
    int type = 0;
    core_input input = {0};
    if (!PyArg_ParseTuple(arguments, "Oi|O!", &object, &type, &PyTuple_Type, &shape)) return NULL;
    if (!open_buffer(object, &input)) {
        PyErr_SetString(PyExc_BufferError, "not a buffer of contiguous numbers");
        return NULL;
    }
    size_t bytes = 0, held = (size_t)input.view.len;
    bool fits = true;
    if (type) input.tensor.type = (tort_type)type;
    if (shape) fits = core_shape_of(shape, &input.tensor);
    if (fits && (!tort_tensor_bytes(&input.tensor, &bytes) || bytes != held)) {
        PyErr_Format(PyExc_ValueError, "the buffer has %zu bytes, a tensor of this type and shape %zu", held, bytes);
        fits = false;
    }
    PyObject *view = fits ? PyMemoryView_FromObject(object) : NULL;
    PyObject *value = view ? core_value_borrow(module, &input.tensor, view) : NULL;
    Py_XDECREF(view);
    if (value) ((core_value *)value)->read_only = input.view.readonly != 0;
    core_input_close(&input);
    return value;
}

/* from_shape(shape, type): a tensor of zeros. */
PyObject *core_py_from_shape(PyObject *module, PyObject *arguments) {
    PyObject *shape;
    int type;
    tort_tensor tensor = {0};
    size_t bytes;
    if (!PyArg_ParseTuple(arguments, "O!i", &PyTuple_Type, &shape, &type) || !core_shape_of(shape, &tensor))
        return NULL;
    tensor.type = (tort_type)type;
    if (type <= 0 || type >= TORT_TYPE_COUNT || !tort_tensor_bytes(&tensor, &bytes)) {
        PyErr_SetString(PyExc_ValueError, "no tensor has such a type and shape");
        return NULL;
    }
    tort_value *value = tort_value_new(NULL, &tensor);
    if (value && type != TORT_STRING) memset(tort_value_data(value), 0, bytes);
    return core_value_new(module, value);
}

/* from_pointer(address, shape, type, provider, device_index): memory that the caller keeps. */
PyObject *core_py_from_pointer(PyObject *module, PyObject *arguments) {
    unsigned long long address;
    PyObject *shape;
    int type, index;
    const char *provider;
    tort_tensor tensor = {0};
    if (!PyArg_ParseTuple(arguments, "KO!izi", &address, &PyTuple_Type, &shape, &type, &provider, &index) ||
        !core_shape_of(shape, &tensor))
        return NULL;
    tensor.type = (tort_type)type;
    tensor.data = (void *)(uintptr_t)address;
    const char *known = provider ? core_provider_named(provider) : NULL;
    if (provider && !known)
        return core_raise(core_state_of(module), TORT_E_USAGE, "there is no provider \"%s\"", provider);
    PyObject *value = core_value_borrow(module, &tensor, NULL);
    if (value) ((core_value *)value)->provider = known;
    if (value) ((core_value *)value)->device_index = index;
    return value;
}

/* make(object, kind, type): a value, by the chain of kinds from the outside in, such as "s" for a sequence. */
PyObject *core_py_make(PyObject *module, PyObject *arguments) {
    PyObject *object;
    const char *kinds;
    int type;
    if (!PyArg_ParseTuple(arguments, "Osi", &object, &kinds, &type)) return NULL;
    tort_value_type made = tort_tensor_type((tort_type)type);
    for (size_t i = strlen(kinds); i > 0; i--)
        made = kinds[i - 1] == 'o'   ? tort_optional_type(made)
               : kinds[i - 1] == 's' ? tort_sequence_type(made)
               : kinds[i - 1] == 't' ? tort_map_type(TORT_STRING, made)
                                     : tort_map_type(TORT_INT64, made);
    const tort_value *value = make_value(module, object, made, "value");
    return value ? core_value_new(module, value) : NULL;
}
