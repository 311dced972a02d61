/* operators.c - operators whose meaning is a function of Python: rows (runtime/include/op.h) whose functions call it.
 *
 * A row lies at the start of its entry, so that node->op leads to the function. Inputs are given as copies, because
 * Python may keep what it was given longer than the run keeps its memory. Attributes are in the params, in the order of
 * the row's list. Without a shape function, the function itself is called when the shapes are to be known, and what it
 * made waits for the call of the kernel that follows in the same thread (operators.py). */
#include <stdlib.h>
#include <string.h>

#include "runtime/include/op.h"
#include "runtime/python/core/core.h"

enum { ATTRIBUTES = 16, PORTS = 8 };

/* An attribute's value: a number, or where the text or list is in the params. */
typedef union value_at {
    int64_t integer;
    float real;
    tort_list list;
} value_at;

typedef struct python_params {
    value_at values[ATTRIBUTES];
} python_params;

/* An operator of Python. */
typedef struct entry {
    tort_op rows[2]; /* the row, and the end of its table */
    PyObject *module;
    PyObject *strings; /* keeps the texts of the row */
    PyObject *call;    /* call(values, attributes): a list of results */
    PyObject *shapes;  /* shapes(list of shapes, attributes): a list of shapes */
    bool known;        /* `shapes` tells shapes without the contents of inputs */
    const char *names[ATTRIBUTES], *kinds[ATTRIBUTES];
    int32_t attribute_count, output_count;
    int32_t same_as[PORTS]; /* the input whose type output i has; -1: types[i] */
    tort_type types[PORTS];
} entry;

typedef struct table {
    const tort_op **families; /* ends with NULL */
    entry **entries;
    int32_t count;
} table;

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* Turns Python's exception into an error of the library. */
static tort_status fail_of_python(tort_status code, const tort_op *op, tort_error *error) {
    PyObject *type = NULL, *exception = NULL, *trace = NULL;
    PyErr_Fetch(&type, &exception, &trace);
    PyErr_NormalizeException(&type, &exception, &trace);
    PyObject *text = exception ? PyObject_Str(exception) : NULL,
             *name = type ? PyObject_GetAttrString(type, "__name__") : NULL;
    PyObject *all = text && name ? PyUnicode_FromFormat("%U: %U", name, text) : NULL;
    PyObject *bytes = all ? PyUnicode_AsUTF8String(all) : NULL;
    if (error) {
        *error = (tort_error){.code = code, .node = -1};
        snprintf(error->msg, sizeof error->msg, "%s of Python: %s", op->name,
                 bytes ? PyBytes_AsString(bytes) : "failed");
    }
    PyObject *const made[] = {bytes, all, name, text, trace, exception, type};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) Py_XDECREF(made[i]);
    PyErr_Clear();
    return code;
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static tort_status resolve(tort_resolve *resolve) {
    const entry *it = (const entry *)(const void *)resolve->node->op;
    python_params *params = resolve->params;
    for (int32_t i = 0; i < it->attribute_count; i++) {
        const char *name = it->names[i], *kind = it->kinds[i];
        if (!strcmp(kind, "int"))
            params->values[i].integer = tort_attr_int(resolve->node, name);
        else if (!strcmp(kind, "float"))
            params->values[i].real = tort_attr_float(resolve->node, name);
        else
            params->values[i].list = tort_resolve_list(resolve, name);
    }
    return TORT_OK;
}

static PyObject *list_item(const void *params, const char *kind, tort_list list, int64_t i) {
    if (!strcmp(kind, "ints")) return PyLong_FromLongLong(((const int64_t *)tort_list_at(params, list))[i]);
    if (!strcmp(kind, "floats")) return PyFloat_FromDouble(((const float *)tort_list_at(params, list))[i]);
    const tort_string text = tort_list_string(params, list, i);
    return PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.length, "replace");
}

static PyObject *attribute_of(const python_params *params, const char *kind, value_at value) {
    if (!strcmp(kind, "int")) return PyLong_FromLongLong(value.integer);
    if (!strcmp(kind, "float")) return PyFloat_FromDouble(value.real);
    if (!strcmp(kind, "string"))
        return PyUnicode_DecodeUTF8(tort_list_at(params, value.list), (Py_ssize_t)value.list.count, "replace");
    PyObject *list = PyList_New((Py_ssize_t)value.list.count);
    for (int64_t i = 0; list && i < value.list.count; i++) {
        PyObject *item = list_item(params, kind, value.list, i);
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item)) Py_CLEAR(list);
    }
    return list;
}

/* A dict by name. */
static PyObject *attributes_of(const entry *it, const python_params *params) {
    PyObject *dict = PyDict_New();
    for (int32_t i = 0; dict && i < it->attribute_count; i++) {
        PyObject *value = attribute_of(params, it->kinds[i], params->values[i]);
        if (!value || PyDict_SetItemString(dict, it->names[i], value)) Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

/* Attributes while shapes are inferred, when there are no params yet. */
static PyObject *attributes_of_node(const entry *it, const tort_node_view *node) {
    PyObject *dict = PyDict_New();
    for (int32_t i = 0; dict && i < it->attribute_count; i++) {
        const char *name = it->names[i], *kind = it->kinds[i];
        int32_t count = 0;
        PyObject *value = NULL;
        if (!strcmp(kind, "int")) {
            value = PyLong_FromLongLong(tort_attr_int(node, name));
        } else if (!strcmp(kind, "float")) {
            value = PyFloat_FromDouble(tort_attr_float(node, name));
        } else if (!strcmp(kind, "string")) {
            value = PyUnicode_DecodeUTF8(tort_attr_string(node, name), (Py_ssize_t)strlen(tort_attr_string(node, name)),
                                         "replace");
        } else if (!strcmp(kind, "ints")) {
            const int64_t *ints = tort_attr_ints(node, name, &count);
            value = PyList_New(count);
            for (int32_t k = 0; value && k < count; k++) PyList_SetItem(value, k, PyLong_FromLongLong(ints[k]));
        } else {
            const float *floats = tort_attr_floats(node, name, &count);
            value = PyList_New(count);
            for (int32_t k = 0; value && k < count; k++) PyList_SetItem(value, k, PyFloat_FromDouble(floats[k]));
        }
        if (!value || PyDict_SetItemString(dict, name, value)) Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* A shape as a tuple: sizes, and ids below 0 of symbols; None: unknown rank, or no such input. */
static PyObject *shape_of(const tort_info *info) {
    if (info->type == TORT_UNDEFINED || info->rank < 0) Py_RETURN_NONE;
    PyObject *shape = PyTuple_New(info->rank);
    for (int32_t i = 0; shape && i < info->rank; i++) PyTuple_SetItem(shape, i, PyLong_FromLongLong(info->dims[i]));
    return shape;
}

/* Takes a shape from a tuple; None, for it or a dimension: unknown. */
static bool take_shape(const tort_infer *infer, PyObject *shape, bool dynamic, tort_info *out) {
    out->rank = -1;
    if (shape == Py_None) return true;
    const Py_ssize_t rank = PyTuple_Size(shape);
    if (rank < 0 || rank > TORT_MAX_RANK) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a shape has at most 8 dimensions");
        return false;
    }
    for (Py_ssize_t i = 0; i < rank; i++) {
        PyObject *dim = PyTuple_GetItem(shape, i);
        out->dims[i] = dim == Py_None ? tort_dim_fresh(infer->dims, dynamic) : PyLong_AsLongLong(dim);
        if (PyErr_Occurred()) return false;
    }
    out->rank = (int32_t)rank;
    return true;
}

/* True if every input that is there has a known shape and contents. */
static bool has_contents(const tort_node_view *node) {
    for (int32_t i = 0; i < node->input_count; i++)
        if (tort_has_input(node, i) && (!tort_shape_known(&node->inputs[i]) || !node->inputs[i].data)) return false;
    return true;
}

static PyObject *copy_of(PyObject *module, const tort_tensor *tensor) {
    if (tensor->type == TORT_UNDEFINED) Py_RETURN_NONE;
    return core_value_new(module, tort_value_tensor(NULL, tensor));
}

static PyObject *inputs_of_infer(const entry *it, const tort_node_view *node, bool contents) {
    PyObject *list = PyList_New(node->input_count);
    for (int32_t i = 0; list && i < node->input_count; i++) {
        const tort_info *info = &node->inputs[i];
        tort_tensor tensor = {.type = info->type, .rank = info->rank, .data = (void *)info->data};
        for (int32_t k = 0; k < info->rank; k++) tensor.dims[k] = info->dims[k];
        PyObject *item = contents ? copy_of(it->module, &tensor) : shape_of(info);
        if (!item || PyList_SetItem(list, i, item)) Py_CLEAR(list);
    }
    return list;
}

static bool infer_outputs(const entry *it, const tort_infer *infer) {
    const bool contents = !it->known && has_contents(infer->node);
    if (!it->known && !contents) return true;
    PyObject *inputs = inputs_of_infer(it, infer->node, contents), *attributes = attributes_of_node(it, infer->node);
    PyObject *shapes = inputs && attributes ? PyObject_CallFunctionObjArgs(it->shapes, inputs, attributes, NULL) : NULL;
    bool good = shapes != NULL;
    for (int32_t o = 0; good && o < it->output_count; o++) {
        PyObject *shape = PyList_GetItem(shapes, o);
        good = shape && take_shape(infer, shape, !it->known, &infer->outputs[o]);
    }
    Py_XDECREF(inputs);
    Py_XDECREF(attributes);
    Py_XDECREF(shapes);
    return good;
}

static tort_status infer(tort_infer *infer) {
    const entry *it = (const entry *)(const void *)infer->node->op;
    for (int32_t o = 0; o < it->output_count; o++) {
        const int32_t same = it->same_as[o];
        infer->outputs[o].type =
            same >= 0 && same < infer->node->input_count ? infer->node->inputs[same].type : it->types[o];
    }
    core_enter();
    tort_status status = TORT_OK;
    if (!infer_outputs(it, infer)) status = fail_of_python(TORT_E_MODEL, infer->node->op, infer->error);
    core_leave();
    return status;
}

/* ---- the kernel -------------------------------------------------------------------------------------------------- */

/* Copies a result into an output of the run. */
static bool take_result(const entry *it, PyObject *result, const tort_call *call, int32_t o) {
    const tort_tensor *to = &call->outputs[o];
    const tort_port port = {.struct_size = sizeof port,
                            .name = it->rows[0].name,
                            .type = to->type,
                            .value_type = tort_tensor_type(to->type)};
    core_input from = {0};
    size_t bytes = 0, wanted = 0;
    bool good = core_input_open(it->module, result, &port, &from);
    if (good && (from.tensor.type != to->type || !tort_same_shape(&from.tensor, to) ||
                 !tort_tensor_bytes(&from.tensor, &bytes) || !tort_tensor_bytes(to, &wanted) || bytes != wanted)) {
        PyErr_Format(PyExc_ValueError,
                     "result %d is of type %s and rank %d; its type or shape is not what was declared", (int)o,
                     tort_type_name(from.tensor.type), (int)from.tensor.rank);
        good = false;
    }
    if (good && to->type == TORT_STRING) {
        tort_string *texts = to->data;
        const tort_string *given = from.tensor.data;
        for (int64_t i = 0; good && i < tort_count(to); i++)
            if (tort_call_copy_text(call, given[i], &texts[i])) good = PyErr_NoMemory() != NULL;
    } else if (good && bytes) {
        memcpy(to->data, from.tensor.data, bytes);
    }
    core_input_close(&from);
    return good;
}

static bool run_in_python(const entry *it, const tort_call *call) {
    PyObject *inputs = PyList_New(call->input_count), *attributes = attributes_of(it, call->params);
    for (int32_t i = 0; inputs && i < call->input_count; i++) {
        PyObject *item = copy_of(it->module, &call->inputs[i]);
        if (!item || PyList_SetItem(inputs, i, item)) Py_CLEAR(inputs);
    }
    PyObject *results = inputs && attributes ? PyObject_CallFunctionObjArgs(it->call, inputs, attributes, NULL) : NULL;
    bool good = results != NULL;
    for (int32_t o = 0; good && o < call->output_count; o++) {
        PyObject *result = tort_present(&call->outputs[o]) ? PyList_GetItem(results, o) : NULL;
        if (tort_present(&call->outputs[o])) good = result && take_result(it, result, call, o);
    }
    Py_XDECREF(inputs);
    Py_XDECREF(attributes);
    Py_XDECREF(results);
    return good;
}

static tort_status reference(const tort_call *call) {
    const entry *it = (const entry *)(const void *)call->op;
    core_enter();
    tort_status status = TORT_OK;
    if (!run_in_python(it, call)) status = fail_of_python(TORT_E_RUN, call->op, call->error);
    core_leave();
    return status;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static void entry_free(entry *it) {
    if (!it) return;
    Py_XDECREF(it->module);
    Py_XDECREF(it->strings);
    Py_XDECREF(it->call);
    Py_XDECREF(it->shapes);
    free(it);
}

static void table_free(table *all) {
    for (int32_t i = 0; all && i < all->count; i++) entry_free(all->entries[i]);
    if (all) free(all->entries);
    if (all) free(all->families);
    free(all);
}

static void drop_table(PyObject *capsule) {
    table_free(PyCapsule_GetPointer(capsule, "tinyort.operators"));
}

/* Reads [(name, kind)] of attributes and [input or -1, type] of outputs. */
static bool read_lists(entry *it, PyObject *attributes, PyObject *outputs) {
    it->attribute_count = (int32_t)PyList_Size(attributes);
    it->output_count = (int32_t)PyList_Size(outputs);
    if (it->attribute_count > ATTRIBUTES || it->output_count > PORTS) {
        PyErr_SetString(PyExc_ValueError, "an operator has at most 16 attributes and 8 outputs");
        return false;
    }
    for (int32_t i = 0; i < it->attribute_count; i++)
        if (!PyArg_ParseTuple(PyList_GetItem(attributes, i), "ss", &it->names[i], &it->kinds[i])) return false;
    for (int32_t i = 0; i < it->output_count; i++) {
        int same, type;
        if (!PyArg_ParseTuple(PyList_GetItem(outputs, i), "ii", &same, &type)) return false;
        it->same_as[i] = same;
        it->types[i] = (tort_type)type;
    }
    return true;
}

/* An operator of (domain, name, since, until, number of inputs, inputs, outputs, types, attributes as ONNX's row,
 * [(name, kind)], [(input, type)], call, shapes, known); NULL: an exception is set. */
static entry *entry_of(PyObject *module, PyObject *tuple) {
    entry *it = calloc(1, sizeof *it);
    PyObject *attributes, *outputs;
    int since, until, inputs, known;
    if (!it) return (void *)PyErr_NoMemory();
    tort_op *row = &it->rows[0];
    if (!PyArg_ParseTuple(tuple, "ssiiissssO!O!OOp", &row->domain, &row->name, &since, &until, &inputs, &row->inputs,
                          &row->outputs, &row->types, &row->attributes, &PyList_Type, &attributes, &PyList_Type,
                          &outputs, &it->call, &it->shapes, &known)) {
        free(it);
        return NULL;
    }
    Py_INCREF(it->call);
    Py_INCREF(it->shapes);
    Py_INCREF(module);
    Py_INCREF(tuple);
    it->module = module;
    it->strings = tuple;
    it->known = known;
    row->since = (int16_t)since;
    row->until = (int16_t)until;
    row->flags = TORT_OP_LISTS;
    row->shape_inputs = known || inputs <= 0 ? 0 : UINT32_MAX >> (inputs > 32 ? 0 : 32 - inputs);
    row->params_size = sizeof(python_params);
    row->infer = infer;
    row->resolve = resolve;
    row->reference = reference;
    if (read_lists(it, attributes, outputs)) return it;
    entry_free(it);
    return NULL;
}

PyObject *core_py_operators(PyObject *module, PyObject *arguments) {
    PyObject *list;
    if (!PyArg_ParseTuple(arguments, "O!", &PyList_Type, &list)) return NULL;
    const Py_ssize_t count = PyList_Size(list);
    table *all = calloc(1, sizeof *all);
    if (all) all->families = calloc((size_t)count + 1, sizeof *all->families);
    if (all) all->entries = calloc((size_t)count + 1, sizeof *all->entries);
    bool good = all && all->families && all->entries;
    if (!good) PyErr_NoMemory();
    for (Py_ssize_t i = 0; good && i < count; i++) {
        entry *it = entry_of(module, PyList_GetItem(list, i));
        good = it != NULL;
        if (!good) break;
        all->entries[all->count++] = it;
        all->families[i] = it->rows;
    }
    PyObject *capsule = good ? PyCapsule_New(all, "tinyort.operators", drop_table) : NULL;
    if (!capsule) table_free(all);
    return capsule;
}

const tort_op *const *core_operators_of(PyObject *capsule) {
    const table *all = PyCapsule_GetPointer(capsule, "tinyort.operators");
    return all ? all->families : NULL;
}
