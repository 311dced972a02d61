/* module.c - the module tinyort._core: its state, its functions, and how errors become exceptions (core.h). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/python/core/core.h"
#include "runtime/core/base/locale.h"

/* ---- errors ------------------------------------------------------------------------------------------------------ */

core_state *core_state_of(PyObject *module) {
    return PyModule_GetState(module);
}

PyObject *core_fail(const core_state *state, const tort_error *error) {
    if (!state->fail) {
        PyErr_SetString(PyExc_RuntimeError, error->msg);
        return NULL;
    }
    PyObject *message = PyUnicode_DecodeUTF8(error->msg, (Py_ssize_t)strlen(error->msg), "replace");
    PyObject *exception = message ? PyObject_CallFunction(state->fail, "sOiz", tort_status_name(error->code), message,
                                                          (int)error->node, error->provider)
                                  : NULL;
    if (exception) PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_XDECREF(exception);
    Py_XDECREF(message);
    return NULL;
}

PyObject *core_raise(const core_state *state, tort_status code, const char *format, ...) {
    tort_error error = {.code = code, .node = -1};
    va_list arguments;
    va_start(arguments, format);
    tort_vsnprintf(error.msg, sizeof error.msg, format, arguments);
    va_end(arguments);
    return core_fail(state, &error);
}

/* ---- the interpreter's lock -------------------------------------------------------------------------------------- */

/* The state of this thread, while it is without the lock. */
static _Thread_local PyThreadState *without_lock;

core_stretch core_let_go(void) {
    const core_stretch stretch = {.outer = without_lock}; /* an operator may run another model */
    without_lock = PyEval_SaveThread();
    return stretch;
}

void core_take_back(core_stretch stretch) {
    PyEval_RestoreThread(without_lock);
    without_lock = stretch.outer;
}

void core_enter(void) {
    PyEval_RestoreThread(without_lock);
}

void core_leave(void) {
    without_lock = PyEval_SaveThread();
}

/* ---- functions of the module ------------------------------------------------------------------------------------- */

static PyObject *py_connect(PyObject *module, PyObject *arguments) {
    core_state *state = core_state_of(module);
    PyObject *fail, *tensor, *array;
    if (!PyArg_ParseTuple(arguments, "OOO", &fail, &tensor, &array)) return NULL;
    PyObject *const old[] = {state->fail, state->tensor, state->array};
    Py_INCREF(fail);
    Py_INCREF(tensor);
    Py_INCREF(array);
    state->fail = fail;
    state->tensor = tensor;
    state->array = array;
    for (int i = 0; i < 3; i++) Py_XDECREF(old[i]);
    Py_RETURN_NONE;
}

static PyObject *py_use_numpy(PyObject *module, PyObject *arguments) {
    core_state *state = core_state_of(module);
    PyObject *ndarray, *dtypes;
    if (!PyArg_ParseTuple(arguments, "OO!", &ndarray, &PyList_Type, &dtypes)) return NULL;
    if (PyList_Size(dtypes) != TORT_TYPE_COUNT) {
        PyErr_SetString(PyExc_ValueError, "a dtype for each type of tinyort.h");
        return NULL;
    }
    Py_INCREF(ndarray);
    Py_INCREF(dtypes);
    Py_XDECREF(state->ndarray);
    Py_XDECREF(state->dtypes);
    state->ndarray = ndarray;
    state->dtypes = dtypes;
    Py_RETURN_NONE;
}

static PyObject *py_version(PyObject *module, PyObject *arguments) {
    (void)module;
    (void)arguments;
    return Py_BuildValue("si", tort_version(), (int)tort_interface());
}

static PyObject *py_type_names(PyObject *module, PyObject *arguments) {
    (void)module;
    (void)arguments;
    PyObject *names = PyList_New(TORT_TYPE_COUNT);
    for (int i = 0; names && i < TORT_TYPE_COUNT; i++) {
        PyObject *name = PyUnicode_FromString(tort_type_name((tort_type)i));
        if (!name || PyList_SetItem(names, i, name)) Py_CLEAR(names);
    }
    return names;
}

/* The functions take their arguments as the casts say; METH_KEYWORDS tells Python how to call them. */
static PyMethodDef methods[] = {
    {"connect", py_connect, METH_VARARGS, "connect(fail, tensor, array): what the module calls of the package."},
    {"use_numpy", py_use_numpy, METH_VARARGS, "use_numpy(ndarray, dtypes): arrays are what runs return from now on."},
    {"version", py_version, METH_NOARGS, "(version, interface) of the library."},
    {"type_names", py_type_names, METH_NOARGS, "Names of the element types, by their number in ONNX."},
    {"open", (PyCFunction)(void (*)(void))core_py_open, METH_VARARGS | METH_KEYWORDS, "A session of a model."},
    {"load_plan", (PyCFunction)(void (*)(void))core_py_load_plan, METH_VARARGS | METH_KEYWORDS,
     "A session of a saved plan."},
    {"operators", core_py_operators, METH_VARARGS, "Operators whose functions are Python's, for `open`."},
    {"providers", core_py_providers, METH_NOARGS, "The providers of this build, as dicts."},
    {"probe", (PyCFunction)(void (*)(void))core_py_probe, METH_VARARGS | METH_KEYWORDS,
     "What opens here, as `tinyort providers --json` tells."},
    {"from_buffer", core_py_from_buffer, METH_VARARGS, "A value that shares the memory of a buffer."},
    {"from_shape", core_py_from_shape, METH_VARARGS, "A new tensor of zeros."},
    {"from_pointer", core_py_from_pointer, METH_VARARGS, "A value at an address."},
    {"from_dlpack", core_py_from_dlpack, METH_VARARGS, "A value that shares the memory of a DLPack capsule."},
    {"make", core_py_make, METH_VARARGS, "A value of any object, of a type as ONNX writes it."},
    {NULL, NULL, 0, NULL},
};

/* ---- the module -------------------------------------------------------------------------------------------------- */

static int execute(PyObject *module) {
    core_state *state = core_state_of(module);
    state->session_type = (PyTypeObject *)PyType_FromSpec(&core_session_spec);
    state->value_type = (PyTypeObject *)PyType_FromSpec(&core_value_spec);
    if (!state->session_type || !state->value_type) return -1;
    Py_INCREF(state->session_type);
    Py_INCREF(state->value_type);
    if (PyModule_AddObject(module, "Session", (PyObject *)state->session_type)) return -1;
    return PyModule_AddObject(module, "Value", (PyObject *)state->value_type);
}

static int traverse(PyObject *module, visitproc visit, void *arg) {
    const core_state *state = core_state_of(module);
    PyObject *const owned[] = {(PyObject *)state->session_type,
                               (PyObject *)state->value_type,
                               state->fail,
                               state->tensor,
                               state->array,
                               state->ndarray,
                               state->dtypes};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) Py_VISIT(owned[i]);
    return 0;
}

static int clear(PyObject *module) {
    core_state *state = core_state_of(module);
    Py_CLEAR(state->session_type);
    Py_CLEAR(state->value_type);
    Py_CLEAR(state->fail);
    Py_CLEAR(state->tensor);
    Py_CLEAR(state->array);
    Py_CLEAR(state->ndarray);
    Py_CLEAR(state->dtypes);
    return 0;
}

static void release(void *module) {
    clear(module);
}

/* A slot that a version of Python does not know is an error there, so each version is told what it knows: since 3.12
 * that interpreters with locks of their own may have a module each, since 3.13 that it does without the lock. The
 * numbers are those of the stable ABI. */
enum { PER_INTERPRETER = 3, NO_LOCK = 4 };

static PyModuleDef_Slot old_slots[] = {{Py_mod_exec, (void *)execute}, {0, NULL}};
static PyModuleDef_Slot slots_312[] = {{Py_mod_exec, (void *)execute}, {PER_INTERPRETER, (void *)2}, {0, NULL}};
static PyModuleDef_Slot slots_313[] = {
    {Py_mod_exec, (void *)execute}, {PER_INTERPRETER, (void *)2}, {NO_LOCK, (void *)1}, {0, NULL}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "tinyort._core",
    .m_doc = "Models, sessions and values of tinyort; the package tinyort is the interface.",
    .m_size = sizeof(core_state),
    .m_methods = methods,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = release,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) {
    int minor = 0;
    sscanf(Py_GetVersion(), "3.%d", &minor);
    definition.m_slots = minor >= 13 ? slots_313 : minor == 12 ? slots_312 : old_slots;
    return PyModuleDef_Init(&definition);
}
