/* dlpack.h - the structs of DLPack 0.8, which every library of tensors exchanges in capsules named "dltensor", and the
 * two directions (https://dmlc.github.io/dlpack, "Python Specification"). */
#ifndef TORT_PYTHON_DLPACK_H
#define TORT_PYTHON_DLPACK_H

#include "runtime/python/core/core.h"

enum { DLPACK_CPU = 1, DLPACK_CUDA = 2 };
enum { DLPACK_INT = 0, DLPACK_UINT = 1, DLPACK_FLOAT = 2, DLPACK_BFLOAT = 4, DLPACK_COMPLEX = 5, DLPACK_BOOL = 6 };

typedef struct dlpack_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t rank;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides; /* strides in elements; NULL: row-major */
    uint64_t byte_offset;
} dlpack_tensor;

typedef struct dlpack_managed {
    dlpack_tensor tensor;
    void *context;
    void (*deleter)(struct dlpack_managed *self);
} dlpack_managed;

/* Value.dlpack(): a capsule that keeps the Value. */
PyObject *core_value_dlpack(PyObject *object, PyObject *none);

#endif
