/* values.c - tinyort._core.Value: a tensor, sequence, map or optional as an object, in the buffer protocol and DLPack.
 *
 * A tensor keeps its memory where it is: in a tort_value, in the object whose buffer it is, or at an address. Views of
 * it hold a reference to the Value, so the memory stays as long as any array over it. */
#include <string.h>

#include "runtime/core/graph/value.h"
#include "runtime/python/core/core.h"
#include "runtime/python/core/dlpack.h"

/* ---- making ------------------------------------------------------------------------------------------------------ */

static core_value *new_value(PyObject *module) {
    const core_state *state = core_state_of(module);
    allocfunc alloc = (allocfunc)PyType_GetSlot(state->value_type, Py_tp_alloc);
    core_value *self = (core_value *)alloc(state->value_type, 0);
    if (!self) return NULL;
    Py_INCREF(module);
    self->module = module;
    return self;
}

/* Shape and strides of views, which need their own arrays. */
static void set_tensor(core_value *self, const tort_tensor *tensor) {
    Py_ssize_t stride = (Py_ssize_t)((tort_type_bits(tensor->type) + 7) / 8);
    self->tensor = *tensor;
    for (int32_t i = tensor->rank - 1; i >= 0; i--) {
        self->shape[i] = (Py_ssize_t)tensor->dims[i];
        self->strides[i] = stride;
        stride *= tensor->dims[i] ? (Py_ssize_t)tensor->dims[i] : 1;
    }
}

PyObject *core_value_new(PyObject *module, const tort_value *value) {
    core_value *self = value ? new_value(module) : NULL;
    if (!self) {
        tort_value_release(value);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    self->value = value;
    if (tort_value_kind(value) == TORT_TENSOR) set_tensor(self, tort_value_view(value));
    return (PyObject *)self;
}

PyObject *core_value_borrow(PyObject *module, const tort_tensor *tensor, PyObject *owner) {
    core_value *self = new_value(module);
    if (!self) return NULL;
    set_tensor(self, tensor);
    Py_XINCREF(owner);
    self->owner = owner;
    return (PyObject *)self;
}

core_value *core_value_of(const core_state *state, PyObject *object) {
    return Py_TYPE(object) == state->value_type ? (core_value *)object : NULL;
}

bool core_value_check_writable(const core_state *state, const core_value *value, const char *name) {
    if (!value->read_only) return true;
    return core_raise(state, TORT_E_USAGE,
                      "output \"%s\": its memory is read-only: bind an array that may be written, as array.copy() is",
                      name) != NULL;
}

static void value_dealloc(PyObject *object) {
    core_value *self = (core_value *)object;
    PyTypeObject *type = Py_TYPE(object);
    tort_value_release(self->value);
    Py_XDECREF(self->owner);
    Py_XDECREF(self->module);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* ---- the buffer protocol ----------------------------------------------------------------------------------------- */

/* Codes of the module struct, by type. Types that Python has no code for are exported as the bytes that they are. */
static const char *const codes[TORT_TYPE_COUNT] = {
    [TORT_FLOAT] = "f",  [TORT_UINT8] = "B",  [TORT_INT8] = "b",       [TORT_UINT16] = "H",      [TORT_INT16] = "h",
    [TORT_INT32] = "i",  [TORT_INT64] = "q",  [TORT_BOOL] = "?",       [TORT_FLOAT16] = "e",     [TORT_DOUBLE] = "d",
    [TORT_UINT32] = "I", [TORT_UINT64] = "Q", [TORT_COMPLEX64] = "Zf", [TORT_COMPLEX128] = "Zd", [TORT_BFLOAT16] = "H",
};

tort_type core_type_of_format(const char *format, Py_ssize_t itemsize) {
    if (!format) format = "B";
    if (*format == '@' || *format == '=' || (*format == '<' && PY_LITTLE_ENDIAN)) format++;
    for (int i = 0; i < TORT_TYPE_COUNT; i++)
        if (codes[i] && i != TORT_BFLOAT16 && !strcmp(codes[i], format)) return (tort_type)i;
    if (strlen(format) != 1) return TORT_UNDEFINED;
    if (strchr("lqn", *format)) return itemsize == 8 ? TORT_INT64 : itemsize == 4 ? TORT_INT32 : TORT_UNDEFINED;
    if (strchr("LQN", *format)) return itemsize == 8 ? TORT_UINT64 : itemsize == 4 ? TORT_UINT32 : TORT_UNDEFINED;
    return TORT_UNDEFINED;
}

static int value_getbuffer(PyObject *object, Py_buffer *view, int flags) {
    core_value *self = (core_value *)object;
    const tort_tensor *tensor = &self->tensor;
    size_t bytes = 0;
    view->obj = NULL;
    if (tensor->type == TORT_UNDEFINED || tensor->type == TORT_STRING || self->provider) {
        PyErr_Format(PyExc_BufferError, "%s has no buffer",
                     self->provider                ? "a tensor in memory of a device"
                     : tensor->type == TORT_STRING ? "a tensor of strings"
                                                   : "a sequence, map or optional");
        return -1;
    }
    if (self->read_only && (flags & PyBUF_WRITABLE)) {
        PyErr_SetString(PyExc_BufferError, "the memory of this tensor is read-only");
        return -1;
    }
    const bool whole = tort_type_bits(tensor->type) % 8 == 0;
    if (!tort_tensor_bytes(tensor, &bytes)) bytes = 0;
    Py_INCREF(object);
    *view = (Py_buffer){.buf = tensor->data, .obj = object, .len = (Py_ssize_t)bytes, .readonly = self->read_only};
    view->itemsize = whole ? tort_type_bits(tensor->type) / 8 : 1;
    view->ndim = 1;
    if (flags & PyBUF_FORMAT) view->format = (char *)(whole && codes[tensor->type] ? codes[tensor->type] : "B");
    if ((flags & PyBUF_ND) && whole) {
        view->ndim = tensor->rank;
        view->shape = self->shape;
    } else if (flags & PyBUF_ND) { /* packed elements, as bytes in a row */
        self->shape[TORT_MAX_RANK - 1] = view->len;
        self->strides[TORT_MAX_RANK - 1] = 1;
        view->shape = &self->shape[TORT_MAX_RANK - 1];
    }
    if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES)
        view->strides = whole ? self->strides : &self->strides[TORT_MAX_RANK - 1];
    return 0;
}

/* ---- numpy, or what stands for it -------------------------------------------------------------------------------- */

static PyObject *shape_tuple(const tort_tensor *tensor) {
    PyObject *shape = PyTuple_New(tensor->rank);
    for (int32_t i = 0; shape && i < tensor->rank; i++) {
        PyObject *dim = PyLong_FromLongLong(tensor->dims[i]);
        if (!dim || PyTuple_SetItem(shape, i, dim)) Py_CLEAR(shape);
    }
    return shape;
}

/* An array over the value's memory. Where numpy has no such type, the package makes one. */
static PyObject *array_of(const core_state *state, PyObject *value) {
    core_value *self = (core_value *)value;
    PyObject *dtype = state->dtypes ? PyList_GetItem(state->dtypes, self->tensor.type) : Py_None;
    if (dtype == Py_None || self->provider) return PyObject_CallFunctionObjArgs(state->array, value, NULL);
    PyObject *shape = shape_tuple(&self->tensor), *array = NULL;
    if (shape) array = PyObject_CallFunctionObjArgs(state->ndarray, shape, dtype, value, NULL);
    Py_XDECREF(shape);
    return array;
}

static PyObject *string_of(tort_string text) {
    return PyUnicode_DecodeUTF8(text.length ? text.data : "", (Py_ssize_t)text.length, "surrogateescape");
}

/* The only element of a tensor, as a number or string of Python. */
static PyObject *scalar_of(PyObject *module, const tort_value *value) {
    const tort_tensor *tensor = tort_value_view(value);
    if (tensor && tensor->rank == 0 && tensor->type == TORT_FLOAT) return PyFloat_FromDouble(*(float *)tensor->data);
    if (tensor && tensor->rank == 0 && tensor->type == TORT_DOUBLE) return PyFloat_FromDouble(*(double *)tensor->data);
    if (tensor && tensor->rank == 0 && tensor->type == TORT_INT64) return PyLong_FromLongLong(*(int64_t *)tensor->data);
    if (tensor && tensor->rank == 0 && tensor->type == TORT_STRING) return string_of(*(tort_string *)tensor->data);
    return core_result(module, tort_value_retain(value));
}

static PyObject *key_of(const tort_tensor *keys, int32_t i) {
    if (keys->type == TORT_STRING) return string_of(((tort_string *)keys->data)[i]);
    return PyLong_FromLongLong(((int64_t *)keys->data)[i]);
}

static PyObject *dict_of(PyObject *module, const tort_value *map) {
    PyObject *dict = PyDict_New();
    for (int32_t i = 0; dict && i < tort_value_count(map); i++) {
        PyObject *key = key_of(tort_value_keys(map), i), *item = scalar_of(module, tort_value_at(map, i));
        if (!key || !item || PyDict_SetItem(dict, key, item)) Py_CLEAR(dict);
        Py_XDECREF(key);
        Py_XDECREF(item);
    }
    return dict;
}

static PyObject *list_of(PyObject *module, const tort_value *sequence) {
    const int32_t count = tort_value_count(sequence);
    PyObject *list = PyList_New(count);
    for (int32_t i = 0; list && i < count; i++) {
        PyObject *item = core_result(module, tort_value_retain(tort_value_at(sequence, i)));
        if (!item || PyList_SetItem(list, i, item)) Py_CLEAR(list);
    }
    return list;
}

PyObject *core_result(PyObject *module, const tort_value *value) {
    const core_state *state = core_state_of(module);
    PyObject *result = NULL;
    if (!value) return PyErr_NoMemory();
    switch (tort_value_kind(value)) {
    case TORT_TENSOR: {
        PyObject *tensor = core_value_new(module, value);
        if (!tensor) return NULL;
        result = array_of(state, tensor);
        Py_DECREF(tensor);
        return result;
    }
    case TORT_MAP: result = dict_of(module, value); break;
    case TORT_OPTIONAL:
        if (tort_value_count(value)) {
            result = core_result(module, tort_value_retain(tort_value_at(value, 0)));
        } else {
            Py_INCREF(Py_None);
            result = Py_None;
        }
        break;
    case TORT_SEQUENCE:
    case TORT_SPARSE: result = list_of(module, value); break;
    }
    tort_value_release(value);
    return result;
}

/* ---- methods ----------------------------------------------------------------------------------------------------- */

static PyObject *value_result(PyObject *object, PyObject *none) {
    core_value *self = (core_value *)object;
    (void)none;
    if (self->tensor.type != TORT_UNDEFINED) return array_of(core_state_of(self->module), object);
    return core_result(self->module, tort_value_retain(self->value));
}

/* Strings of a tensor, in a flat list. */
static PyObject *value_strings(PyObject *object, PyObject *none) {
    const core_value *self = (core_value *)object;
    int64_t count = 0;
    (void)none;
    if (self->tensor.type != TORT_STRING || !tort_tensor_count(&self->tensor, &count)) count = 0;
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (int64_t i = 0; list && i < count; i++) {
        PyObject *text = string_of(((tort_string *)self->tensor.data)[i]);
        if (!text || PyList_SetItem(list, (Py_ssize_t)i, text)) Py_CLEAR(list);
    }
    return list;
}

static PyObject *get_shape(PyObject *object, void *unused) {
    (void)unused;
    return shape_tuple(&((core_value *)object)->tensor);
}

static PyObject *get_type(PyObject *object, void *unused) {
    const core_value *self = (core_value *)object;
    char text[128];
    (void)unused;
    const tort_value_type type = self->value ? tort_value_type_of(self->value) : tort_tensor_type(self->tensor.type);
    return PyUnicode_FromString(tort_type_text(type, text, sizeof text));
}

static PyObject *get_element_type(PyObject *object, void *unused) {
    (void)unused;
    return PyLong_FromLong(((core_value *)object)->tensor.type);
}

static PyObject *get_pointer(PyObject *object, void *unused) {
    (void)unused;
    return PyLong_FromVoidPtr(((core_value *)object)->tensor.data);
}

static PyObject *get_bytes(PyObject *object, void *unused) {
    size_t bytes = 0;
    (void)unused;
    if (!tort_tensor_bytes(&((core_value *)object)->tensor, &bytes)) bytes = 0;
    return PyLong_FromSize_t(bytes);
}

static PyObject *get_count(PyObject *object, void *unused) {
    const core_value *self = (core_value *)object;
    (void)unused;
    return PyLong_FromLong(self->value ? tort_value_count(self->value) : 0);
}

static PyObject *get_provider(PyObject *object, void *unused) {
    const core_value *self = (core_value *)object;
    (void)unused;
    return Py_BuildValue("z", self->provider);
}

static PyMethodDef value_methods[] = {
    {"result", value_result, METH_NOARGS, "What a run returns of this value: an array, a list, a dict, None."},
    {"strings", value_strings, METH_NOARGS, "The strings of a tensor, in a row."},
    {"dlpack", core_value_dlpack, METH_NOARGS, "A DLPack capsule over the tensor's memory."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef value_members[] = {
    {"shape", get_shape, NULL, "The shape of a tensor.", NULL},
    {"type", get_type, NULL, "The type as ONNX writes it.", NULL},
    {"element_type", get_element_type, NULL, "ONNX's number of the element type; 0: not a tensor.", NULL},
    {"pointer", get_pointer, NULL, "The address of a tensor's memory.", NULL},
    {"nbytes", get_bytes, NULL, "Bytes of a tensor.", NULL},
    {"count", get_count, NULL, "Elements of a sequence, map or optional.", NULL},
    {"provider", get_provider, NULL, "The provider whose memory it is; None: host memory.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot value_slots[] = {
    {Py_tp_dealloc, (void *)value_dealloc},
    {Py_tp_methods, value_methods},
    {Py_tp_getset, value_members},
    {Py_bf_getbuffer, (void *)value_getbuffer},
    {Py_tp_doc, (void *)"A tensor, sequence, map or optional."},
    {0, NULL},
};

PyType_Spec core_value_spec = {
    .name = "tinyort._core.Value",
    .basicsize = sizeof(core_value),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = value_slots,
};
