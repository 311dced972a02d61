/* dlpack.c - tensors from and for other libraries without a copy (dlpack.h). */
#include <stdlib.h>
#include <string.h>

#include "runtime/python/core/dlpack.h"

/* DLPack's code of each type that it has, and the bits of an element. */
static const struct {
    tort_type type;
    uint8_t code, bits;
} types[] = {
    {TORT_FLOAT, DLPACK_FLOAT, 32},       {TORT_DOUBLE, DLPACK_FLOAT, 64},
    {TORT_FLOAT16, DLPACK_FLOAT, 16},     {TORT_BFLOAT16, DLPACK_BFLOAT, 16},
    {TORT_INT8, DLPACK_INT, 8},           {TORT_INT16, DLPACK_INT, 16},
    {TORT_INT32, DLPACK_INT, 32},         {TORT_INT64, DLPACK_INT, 64},
    {TORT_UINT8, DLPACK_UINT, 8},         {TORT_UINT16, DLPACK_UINT, 16},
    {TORT_UINT32, DLPACK_UINT, 32},       {TORT_UINT64, DLPACK_UINT, 64},
    {TORT_COMPLEX64, DLPACK_COMPLEX, 64}, {TORT_COMPLEX128, DLPACK_COMPLEX, 128},
    {TORT_BOOL, DLPACK_BOOL, 8},
};
enum { TYPES = sizeof types / sizeof *types };

/* ---- to others --------------------------------------------------------------------------------------------------- */

/* A tensor that was handed out, with its shape behind it. */
typedef struct handed_out {
    dlpack_managed managed;
    int64_t shape[TORT_MAX_RANK];
} handed_out;

/* These may be called from any thread, without the interpreter's lock. */
static void hand_back_value(dlpack_managed *managed) {
    tort_value_release(managed->context);
    free(managed);
}

static void hand_back_object(dlpack_managed *managed) {
    PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF((PyObject *)managed->context);
    PyGILState_Release(state);
    free(managed);
}

/* The destructor of a capsule; one that somebody took has another name, and is theirs. */
static void drop_capsule(PyObject *capsule) {
    if (!PyCapsule_IsValid(capsule, "dltensor")) return;
    dlpack_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
    managed->deleter(managed);
}

PyObject *core_value_dlpack(PyObject *object, PyObject *none) {
    const core_value *self = (core_value *)object;
    int at = 0;
    (void)none;
    while (at < TYPES && types[at].type != self->tensor.type) at++;
    if (at == TYPES) {
        PyErr_Format(PyExc_BufferError, "DLPack has no type %s", tort_type_name(self->tensor.type));
        return NULL;
    }
    handed_out *out = calloc(1, sizeof *out);
    if (!out) return PyErr_NoMemory();
    dlpack_tensor *tensor = &out->managed.tensor;
    memcpy(out->shape, self->tensor.dims, sizeof out->shape);
    tensor->data = self->tensor.data;
    tensor->device.type = self->provider ? DLPACK_CUDA : DLPACK_CPU;
    tensor->device.id = self->device_index;
    tensor->rank = self->tensor.rank;
    tensor->dtype.code = types[at].code;
    tensor->dtype.bits = types[at].bits;
    tensor->dtype.lanes = 1;
    tensor->shape = out->shape;
    if (self->value) {
        out->managed.context = tort_value_retain(self->value);
        out->managed.deleter = hand_back_value;
    } else {
        Py_INCREF(object);
        out->managed.context = object;
        out->managed.deleter = hand_back_object;
    }
    PyObject *capsule = PyCapsule_New(&out->managed, "dltensor", drop_capsule);
    if (!capsule) out->managed.deleter(&out->managed);
    return capsule;
}

/* ---- from others ------------------------------------------------------------------------------------------------- */

static void return_taken(PyObject *capsule) {
    dlpack_managed *managed = PyCapsule_GetPointer(capsule, "tinyort.dltensor");
    if (managed && managed->deleter) managed->deleter(managed);
}

static bool is_row_major(const dlpack_tensor *tensor) {
    int64_t stride = 1;
    for (int32_t i = tensor->rank - 1; tensor->strides && i >= 0; i--) {
        if (tensor->shape[i] != 1 && tensor->strides[i] != stride) return false;
        stride *= tensor->shape[i];
    }
    return true;
}

/* False: not a tensor of ours, for which message is set. */
static bool read_tensor(const dlpack_tensor *from, tort_tensor *to, const char **message) {
    int at = 0;
    while (at < TYPES && (types[at].code != from->dtype.code || types[at].bits != from->dtype.bits)) at++;
    *message = at == TYPES || from->dtype.lanes != 1                                 ? "an element type of ONNX"
               : from->rank < 0 || from->rank > TORT_MAX_RANK                        ? "at most 8 dimensions"
               : from->device.type != DLPACK_CPU && from->device.type != DLPACK_CUDA ? "a tensor of a CPU or of CUDA"
               : !is_row_major(from) ? "contiguous elements; make a contiguous copy first"
                                     : NULL;
    if (*message) return false;
    *to = (tort_tensor){.type = types[at].type, .rank = from->rank};
    memcpy(to->dims, from->shape, (size_t)from->rank * sizeof *to->dims);
    to->data = (char *)from->data + from->byte_offset;
    return true;
}

PyObject *core_py_from_dlpack(PyObject *module, PyObject *arguments) {
    PyObject *capsule;
    const char *message;
    tort_tensor tensor;
    if (!PyArg_ParseTuple(arguments, "O", &capsule)) return NULL;
    dlpack_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
    if (!managed) return NULL;
    if (!read_tensor(&managed->tensor, &tensor, &message)) {
        PyErr_Format(PyExc_BufferError, "DLPack: expected %s", message);
        return NULL;
    }
    PyObject *owner = PyCapsule_New(managed, "tinyort.dltensor", return_taken);
    if (!owner) return NULL;
    PyCapsule_SetName(capsule, "used_dltensor"); /* from here on it is ours */
    PyObject *value = core_value_borrow(module, &tensor, owner);
    Py_DECREF(owner);
    if (value && managed->tensor.device.type == DLPACK_CUDA) {
        ((core_value *)value)->provider = "cuda";
        ((core_value *)value)->device_index = managed->tensor.device.id;
    }
    return value;
}
