/* core.h - the extension module tinyort._core: models, sessions and values for Python, in the stable ABI.
 *
 * What is in C is what each run goes through; the rest of the package is Python. The module knows nothing of numpy
 * until a program brings it: values export and accept the buffer protocol and DLPack. State lies in the module (several
 * interpreters may have one each), and every object holds a reference to its module. A run holds no lock: each takes a
 * context of the session, so that threads run side by side. Read next: session.c, then values.c. */
#ifndef TORT_PYTHON_CORE_H
#define TORT_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "runtime/include/tinyort.h"

/* The limited API has buffers since 3.11. CPython has had them, with this struct and these functions, since 3.3, so a
 * module of the stable ABI of 3.9 can use them in every version. */
#if defined(Py_LIMITED_API) && Py_LIMITED_API + 0 < 0x030b0000
typedef struct bufferinfo {
    void *buf;
    PyObject *obj;
    Py_ssize_t len, itemsize;
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void *internal;
} Py_buffer;
#define PyBUF_WRITABLE 0x0001
#define PyBUF_FORMAT 0x0004
#define PyBUF_ND 0x0008
#define PyBUF_STRIDES (0x0010 | PyBUF_ND)
#define PyBUF_C_CONTIGUOUS (0x0020 | PyBUF_STRIDES)
#define Py_bf_getbuffer 1
PyAPI_FUNC(int) PyObject_GetBuffer(PyObject *object, Py_buffer *view, int flags);
PyAPI_FUNC(int) PyObject_CheckBuffer(PyObject *object);
PyAPI_FUNC(void) PyBuffer_Release(Py_buffer *view);
#endif

/* ---- state of the module ----------------------------------------------------------------------------------------- */

typedef struct core_state {
    PyTypeObject *session_type, *value_type;
    /* Functions of the package, set by _core.connect: fail(code, message, node, provider) makes an exception;
     * tensor(object, type, name) makes a buffer, or (shape, strings), of what is not one; array(value) makes what a run
     * returns of a tensor that numpy's constructor alone cannot. */
    PyObject *fail, *tensor, *array;
    PyObject *ndarray, *dtypes; /* numpy.ndarray, and a list of dtypes by tort_type, None: not one of numpy; NULL: not
                                   known yet, or no numpy here */
} core_state;

/* The state of the module that an object's `module` is. */
core_state *core_state_of(PyObject *module);

/* Raises the exception for an error; returns NULL, so that `return core_fail(...)` ends a function. */
PyObject *core_fail(const core_state *state, const tort_error *error);
/* The same with a message of the module's own. */
PyObject *core_raise(const core_state *state, tort_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- the interpreter's lock -------------------------------------------------------------------------------------- */

/* A stretch of work without the lock, within which operators of Python take it back in the same thread: for the state
 * of the thread in its own interpreter, where PyGILState_Ensure knows the main one alone. */
typedef struct core_stretch {
    void *outer;
} core_stretch;

core_stretch core_let_go(void);
void core_take_back(core_stretch stretch);
/* In a function that the library calls within a stretch: around what needs Python. */
void core_enter(void);
void core_leave(void);

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* A tensor in host memory or on a device, or a sequence, map or optional, as Python sees it: tinyort._core.Value. */
typedef struct core_value {
    PyObject_HEAD PyObject *module; /* owned */
    const tort_value *value;        /* a reference; NULL: a tensor in memory of somebody else */
    PyObject *owner;                /* keeps that memory; NULL: none */
    tort_tensor tensor;             /* type UNDEFINED: not a tensor */
    const char *provider;           /* whose memory it is; NULL: host memory */
    int device_index;
    bool read_only; /* the memory is an object's that must not change: frozen, mapped for reading, bytes */
    Py_ssize_t shape[TORT_MAX_RANK], strides[TORT_MAX_RANK]; /* for views */
} core_value;

extern PyType_Spec core_value_spec;

/* A new object that takes over the reference to `value`, also after a failure. */
PyObject *core_value_new(PyObject *module, const tort_value *value);
/* A new object for a tensor in memory that `owner` keeps. */
PyObject *core_value_borrow(PyObject *module, const tort_tensor *tensor, PyObject *owner);
/* Raises where the memory of a value must not be written; `name` is that of the output. */
bool core_value_check_writable(const core_state *state, const core_value *value, const char *name);
/* The object as a value of ours; NULL: it is something else. No exception. */
core_value *core_value_of(const core_state *state, PyObject *object);

/* The result of a run for `value`, whose reference it takes over: an array of numpy where numpy is, else a Value; a
 * list of a sequence, a dict of a map, None of an empty optional. */
PyObject *core_result(PyObject *module, const tort_value *value);

/* Reads a tuple of sizes into rank and dims; false: an exception is set. */
bool core_shape_of(PyObject *tuple, tort_tensor *tensor);
/* The library's own text for a provider's name, which lives as long as the library; NULL: there is none. */
const char *core_provider_named(const char *name);

/* _core's functions on values. */
PyObject *core_py_from_buffer(PyObject *module, PyObject *arguments);
PyObject *core_py_from_shape(PyObject *module, PyObject *arguments);
PyObject *core_py_from_pointer(PyObject *module, PyObject *arguments);
PyObject *core_py_from_dlpack(PyObject *module, PyObject *arguments);
PyObject *core_py_make(PyObject *module, PyObject *arguments);

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

/* An input of a run while it lasts: a view of the caller's memory, or a value made of an object. */
typedef struct core_input {
    tort_tensor tensor;
    Py_buffer view;          /* obj NULL: none */
    PyObject *owner;         /* keeps the memory; NULL: nothing to keep */
    tort_string *strings;    /* owned */
    const tort_value *value; /* a reference; only of what is not a tensor */
} core_input;

/* Fills `input` from an object, for a port of this type; `name` is for messages. A tensor keeps the type and shape that
 * the object has: the run compares them with the model's. False: an exception is set. core_input_close frees what it
 * holds, also after a failure. */
bool core_input_open(PyObject *module, PyObject *object, const tort_port *port, core_input *input);
void core_input_close(core_input *input);

/* The type of a buffer's elements: native byte order and one code of struct; UNDEFINED: none of ours. */
tort_type core_type_of_format(const char *format, Py_ssize_t itemsize);

/* ---- operators of Python ----------------------------------------------------------------------------------------- */

struct tort_op;
/* _core.operators(list): a capsule with tables of rows. */
PyObject *core_py_operators(PyObject *module, PyObject *arguments);
/* The tables of such a capsule, as tort_load_options has them; NULL: an exception is set. */
const struct tort_op *const *core_operators_of(PyObject *capsule);

/* ---- sessions ---------------------------------------------------------------------------------------------------- */

extern PyType_Spec core_session_spec;

PyObject *core_py_open(PyObject *module, PyObject *arguments, PyObject *keywords);
PyObject *core_py_load_plan(PyObject *module, PyObject *arguments, PyObject *keywords);
/* Parts of a report: its providers alone, which is quick; with its nodes; with what each node is, which may read
 * weights.
 */
typedef enum core_extent { CORE_CHAIN, CORE_WHOLE, CORE_DESCRIBED } core_extent;
/* Text of a file, with U+FFFD for what is not UTF-8; None for NULL. */
PyObject *core_text(const char *bytes);
/* A report as the dict that `tinyort plan --json` prints. */
PyObject *core_report(tort_session *session, const core_state *state, core_extent extent);
PyObject *core_py_providers(PyObject *module, PyObject *arguments);
PyObject *core_py_probe(PyObject *module, PyObject *arguments, PyObject *keywords);

#endif
