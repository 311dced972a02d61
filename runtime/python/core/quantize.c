/* quantize.c - models that are made of a session's model: quantize and convert, with the report that `tinyort quantize
 * --json` prints, as a dict (tests/python holds it against the program).
 *
 * The work goes on without the interpreter's lock. It takes the lock for a sample, which is a function's of Python, and
 * for progress, which also looks for signals: so Ctrl+C ends it. What either raises ends the work, and is raised again
 * unchanged behind it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/new_file.h"
#include "runtime/python/core/session.h"
#include "runtime/quantize/convert.h"

/* One call of quantize or convert, while it lasts. */
typedef struct job {
    core_session *session;
    PyObject *read, *progress;          /* borrowed */
    int count;                          /* of samples */
    PyObject *output;                   /* the path as bytes; NULL: the model is returned */
    PyObject *keep, *keep_ops;          /* lists of str, borrowed */
    core_input *inputs;                 /* of the last sample */
    PyObject *type, *value, *traceback; /* what Python raised; NULL: nothing */
    const char **keep_nodes, **keep_operators;
    int32_t keep_node_count, keep_operator_count;
    tort_session_options options;
} job;

/* ---- what the work asks of Python -------------------------------------------------------------------------------- */

/* Keeps the exception for the end of the work, which gets an error for it. */
static tort_status keep_exception(job *j, tort_error *error) {
    PyErr_Fetch(&j->type, &j->value, &j->traceback);
    return tort_fail(error, TORT_E_CANCELLED, "Python raised an exception");
}

static void close_inputs(const job *j) {
    for (int32_t i = 0; i < j->session->input_count; i++) core_input_close(&j->inputs[i]);
}

/* An object as an input: a tensor that the host can read, as the library compares its values. */
static bool open_input(const job *j, int32_t i, PyObject *object, tort_tensor *tensor) {
    const core_state *state = core_state_of(j->session->module);
    const tort_port *port = &j->session->inputs[i];
    const core_value *value = object ? core_value_of(state, object) : NULL;
    if (value && value->provider)
        return core_raise(state, TORT_E_INPUT, "input \"%s\": it is in memory of %s; give it as .numpy()", port->name,
                          value->provider) != NULL;
    if (!object || !core_input_open(j->session->module, object, port, &j->inputs[i])) return false;
    *tensor = j->inputs[i].tensor;
    if (!j->inputs[i].value) return true;
    core_raise(state, TORT_E_UNSUPPORTED, "input \"%s\" is no tensor: samples have tensors alone", port->name);
    return false;
}

/* tort_samples.read: a tuple of objects, one for each input. */
static tort_status read_sample(void *ud, int32_t index, tort_tensor *inputs, tort_error *error) {
    job *j = ud;
    core_enter();
    close_inputs(j);
    PyObject *sample = PyObject_CallFunction(j->read, "i", (int)index);
    bool good = sample != NULL;
    for (int32_t i = 0; good && i < j->session->input_count; i++)
        good = open_input(j, i, PyTuple_GetItem(sample, i), &inputs[i]);
    const tort_status status = good ? TORT_OK : keep_exception(j, error);
    Py_XDECREF(sample);
    core_leave();
    return status;
}

static bool tell(void *ud, const char *phase, int32_t done, int32_t of) {
    job *j = ud;
    core_enter();
    int goes_on = !PyErr_CheckSignals();
    if (goes_on && j->progress != Py_None) {
        PyObject *answer = PyObject_CallFunction(j->progress, "sii", phase, (int)done, (int)of);
        goes_on = answer == Py_None || (answer && PyObject_IsTrue(answer) > 0);
        Py_XDECREF(answer);
    }
    if (PyErr_Occurred()) {
        tort_error error;
        keep_exception(j, &error);
    }
    core_leave();
    return goes_on;
}

/* ---- the beginning and the end ----------------------------------------------------------------------------------- */

/* Prepares the buffers that the arguments borrow from. False: an exception is set. */
static bool job_open(job *j, PyObject *session, PyObject *output) {
    j->session = (core_session *)session;
    const core_state *state = core_state_of(j->session->module);
    const tort_session_options *options = core_session_options(j->session);
    if (!options) return core_raise(state, TORT_E_USAGE, "a saved plan is no model: give the model's file") != NULL;
    j->options = *options;
    j->options.plan_only = false;
    if (output != Py_None && !PyUnicode_FSConverter(output, &j->output)) return false;
    j->keep_nodes = core_texts_of(j->keep, &j->keep_node_count);
    if (!PyErr_Occurred()) j->keep_operators = core_texts_of(j->keep_ops, &j->keep_operator_count);
    if (PyErr_Occurred()) return false;
    j->inputs = calloc((size_t)j->session->input_count + 1, sizeof *j->inputs);
    return j->inputs || PyErr_NoMemory();
}

static void job_close(job *j) {
    if (j->inputs) close_inputs(j);
    free(j->inputs);
    free((void *)j->keep_nodes);
    free((void *)j->keep_operators);
    Py_XDECREF(j->output);
}

static tort_status check_output(const job *j, tort_error *error) {
    return j->output ? tort_new_file_check(PyBytes_AsString(j->output), error) : TORT_OK;
}

/* Result of the library, and the function that writes it to a file. */
typedef struct product {
    const void *made;
    bool (*write)(const void *made, FILE *file);
    char *bytes; /* of a model that is returned; the job's end frees them */
    size_t size;
} product;

static tort_status write_file(const char *path, const product *p, tort_error *error) {
    tort_new_file file;
    tort_status status = tort_new_file_name(path, &file, error);
    if (!status) status = tort_new_file_open(&file, error);
    errno = 0;
    if (!status && !p->write(p->made, file.stream)) file.cause = errno;
    return tort_new_file_end(&file, status, error);
}

static tort_status write_memory(product *p, tort_error *error) {
    FILE *stream = open_memstream(&p->bytes, &p->size);
    errno = 0;
    const bool written = stream && p->write(p->made, stream);
    const int cause = errno;
    const bool closed = stream && !fclose(stream);
    if (written && closed) return TORT_OK;
    if (cause == EFBIG) return tort_fail(error, TORT_E_UNSUPPORTED, "the model would have more than 2 GiB");
    return tort_fail(error, TORT_E_MEMORY, "out of memory for the model's bytes: give a path as output");
}

static tort_status write_product(const job *j, product *p, tort_error *error) {
    return j->output ? write_file(PyBytes_AsString(j->output), p, error) : write_memory(p, error);
}

/* (bytes or None, report), or the exception of Python's part or of the library's. Takes the report over. */
static PyObject *result_of(const job *j, const product *p, tort_status status, const tort_error *error,
                           PyObject *report) {
    PyObject *result = NULL;
    if (j->type)
        PyErr_Restore(j->type, j->value, j->traceback);
    else if (status)
        core_fail(core_state_of(j->session->module), error);
    else if (report && j->output)
        result = Py_BuildValue("zO", NULL, report);
    else if (report)
        result = Py_BuildValue("y#O", p->bytes, (Py_ssize_t)p->size, report);
    Py_XDECREF(report);
    free(p->bytes);
    return result;
}

/* ---- reports ----------------------------------------------------------------------------------------------------- */

static PyObject *real(double number) {
    if (!isfinite(number)) Py_RETURN_NONE;
    return PyFloat_FromDouble(number);
}

/* A list of what `make` makes of each entry of an array. */
static PyObject *list_of(const void *entries, int32_t count, size_t size, PyObject *(*make)(const void *entry)) {
    PyObject *made = PyList_New(count);
    for (int32_t i = 0; made && i < count; i++) {
        PyObject *item = make((const char *)entries + (size_t)i * size);
        if (!item || PyList_SetItem(made, i, item)) Py_CLEAR(made);
    }
    return made;
}

static PyObject *rule_dict(const void *entry) {
    const tort_quantized_rule *r = entry;
    return Py_BuildValue("{s:s,s:N,s:N,s:N}", "ranges", tort_range_names[r->rule], "margin", PyBool_FromLong(r->margin),
                         "bias", PyBool_FromLong(r->bias), "db", real(r->db));
}

static PyObject *unit_dict(const void *entry) {
    const tort_quantized_unit *u = entry;
    return Py_BuildValue("{s:N,s:N,s:L,s:i,s:N,s:N,s:N,s:N,s:N,s:N}", "name", core_text(u->name), "nodes",
                         core_text(u->nodes), "weights", (long long)u->weights, "bits", (int)u->bits, "low",
                         real((double)u->low), "high", real((double)u->high), "saturated", real(u->saturated), "alone",
                         real(u->alone), "grouped", PyBool_FromLong(u->grouped), "why", core_text(u->why));
}

static PyObject *node_dict(const void *entry) {
    const tort_quantized_node *n = entry;
    return Py_BuildValue("{s:N,s:N,s:N}", "name", core_text(n->name), "op", core_text(n->op), "why", core_text(n->why));
}

static PyObject *quantized_dict(const tort_quantized_report *r) {
    return Py_BuildValue("{s:N,s:N,s:N,s:i,s:i,s:i,s:N,s:N,s:N,s:N,s:N,s:i,s:N,s:K,s:K}", "rules",
                         list_of(r->rules, r->rule_count, sizeof *r->rules, rule_dict), "units",
                         list_of(r->units, r->unit_count, sizeof *r->units, unit_dict), "float32",
                         list_of(r->floats, r->float_count, sizeof *r->floats, node_dict), "samples", (int)r->samples,
                         "held_out", (int)r->held_out, "evaluations", (int)r->evaluations, "db_all", real(r->db_all),
                         "db", real(r->db), "agreement_all", real(r->agreement_all), "agreement", real(r->agreement),
                         "float_accuracy", real(r->float_accuracy), "kept", (int)r->kept, "met",
                         PyBool_FromLong(r->met), "float_bytes", (unsigned long long)r->float_bytes, "bytes",
                         (unsigned long long)r->bytes);
}

static PyObject *converted_dict(const tort_converted_report *r) {
    return Py_BuildValue("{s:N,s:i,s:i,s:i,s:i,s:i,s:N,s:N,s:N,s:N,s:K,s:K}", "kept",
                         list_of(r->kept, r->kept_count, sizeof *r->kept, node_dict), "changed", (int)r->changed,
                         "casts", (int)r->casts, "port_casts", (int)r->port_casts, "samples", (int)r->samples,
                         "evaluations", (int)r->evaluations, "db_rules", real(r->db_rules), "db", real(r->db), "finite",
                         PyBool_FromLong(r->finite), "met", PyBool_FromLong(r->met), "before",
                         (unsigned long long)r->before, "bytes", (unsigned long long)r->bytes);
}

/* ---- quantize ---------------------------------------------------------------------------------------------------- */

static bool write_quantized(const void *made, FILE *file) {
    return tort_quantized_write(made, file);
}

static PyObject *quantize(job *j, tort_quantize_options *options) {
    tort_quantized *made = NULL;
    product p = {.write = write_quantized};
    tort_error error = {.node = -1};
    const tort_samples samples = {j->count, read_sample, j};
    options->session = j->options;
    options->keep_nodes = j->keep_nodes;
    options->keep_node_count = j->keep_node_count;
    options->keep_ops = j->keep_operators;
    options->keep_op_count = j->keep_operator_count;
    options->progress = tell;
    options->progress_ud = j;
    const core_stretch stretch = core_let_go();
    tort_status status = check_output(j, &error);
    if (!status) status = tort_quantize(j->session->model, j->count ? &samples : NULL, options, &made, &error);
    p.made = made;
    if (!status) status = write_product(j, &p, &error);
    core_take_back(stretch);
    PyObject *report = status ? NULL : quantized_dict(tort_quantized_report_of(made));
    tort_quantized_free(made);
    return result_of(j, &p, status, &error, report);
}

PyObject *core_session_quantize(PyObject *object, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"read",        "count",     "progress",      "output", "scheme",    "keep",
                            "keep_ops",    "max_error", "min_agreement", "truth",  "max_bytes", "sensitivity",
                            "weight_type", "block",     "dynamic",       NULL};
    job j = {0};
    tort_quantize_options options = {.block = 32};
    PyObject *output, *result = NULL;
    int scheme = TORT_SCHEME_ORT, sensitivity = 1, dynamic = 0;
    unsigned long long max_bytes = 0;
    const char *truth = NULL; /* of an array of int64_t */
    Py_ssize_t truth_bytes = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OiOO|iOOddz#Kpiip", names, &j.read, &j.count, &j.progress,
                                     &output, &scheme, &j.keep, &j.keep_ops, &options.max_error, &options.min_agreement,
                                     &truth, &truth_bytes, &max_bytes, &sensitivity, &options.weight_bits,
                                     &options.block, &dynamic))
        return NULL;
    options.scheme = (tort_scheme)scheme;
    options.max_bytes = max_bytes;
    options.sensitivity = sensitivity;
    options.dynamic = dynamic;
    options.truth = (const int64_t *)(const void *)truth;
    if (job_open(&j, object, output)) result = quantize(&j, &options);
    job_close(&j);
    return result;
}

/* ---- convert ----------------------------------------------------------------------------------------------------- */

static bool write_converted(const void *made, FILE *file) {
    return tort_converted_write(made, file);
}

static PyObject *convert(job *j, tort_convert_options *options) {
    tort_converted *made = NULL;
    product p = {.write = write_converted};
    tort_error error = {.node = -1};
    const tort_samples samples = {j->count, read_sample, j};
    options->session = j->options;
    options->keep_nodes = j->keep_nodes;
    options->keep_node_count = j->keep_node_count;
    options->keep_ops = j->keep_operators;
    options->keep_op_count = j->keep_operator_count;
    options->progress = tell;
    options->progress_ud = j;
    const core_stretch stretch = core_let_go();
    tort_status status = check_output(j, &error);
    if (!status) status = tort_convert(j->session->model, &samples, options, &made, &error);
    p.made = made;
    if (!status) status = write_product(j, &p, &error);
    core_take_back(stretch);
    PyObject *report = status ? NULL : converted_dict(tort_converted_report_of(made));
    tort_converted_free(made);
    return result_of(j, &p, status, &error, report);
}

PyObject *core_session_convert(PyObject *object, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"read", "count", "progress", "output", "to", "io", "keep", "keep_ops", "min_db", NULL};
    job j = {0};
    tort_convert_options options = {.min_db = 40};
    PyObject *output, *result = NULL;
    int to = TORT_FLOAT16, ports = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OiOO|iiOOd", names, &j.read, &j.count, &j.progress, &output,
                                     &to, &ports, &j.keep, &j.keep_ops, &options.min_db))
        return NULL;
    options.to = (tort_type)to;
    options.ports = ports;
    if (job_open(&j, object, output)) result = convert(&j, &options);
    job_close(&j);
    return result;
}
