/* report.c - reports and probes as dicts, with the keys that `tinyort plan --json` and `tinyort providers --json` have
 * (tests/python holds them against the program). Text from files is decoded with U+FFFD for what is not UTF-8. */
#include <math.h>

#include <string.h>

#include "runtime/python/core/core.h"
#include "runtime/include/tinyort_profile.h"

static PyObject *text(const char *bytes) {
    if (!bytes) Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)strlen(bytes), "replace");
}

PyObject *core_text(const char *bytes) {
    return text(bytes);
}

/* Unknown numbers, which are negative, are None. */
static PyObject *number(int64_t value) {
    if (value < 0) Py_RETURN_NONE;
    return PyLong_FromLongLong(value);
}

static PyObject *truth(bool value) {
    return PyBool_FromLong(value);
}

static PyObject *texts(const char *const *list, int32_t count) {
    PyObject *made = PyList_New(count);
    for (int32_t i = 0; made && i < count; i++) {
        PyObject *item = text(list[i]);
        if (!item || PyList_SetItem(made, i, item)) Py_CLEAR(made);
    }
    return made;
}

/* A list of what `make` makes of each entry of a list of pointers. */
static PyObject *list_of(const void *const *entries, int32_t count, PyObject *(*make)(const void *entry)) {
    PyObject *made = PyList_New(count);
    for (int32_t i = 0; made && i < count; i++) {
        PyObject *item = make(entries[i]);
        if (!item || PyList_SetItem(made, i, item)) Py_CLEAR(made);
    }
    return made;
}

/* ---- a report ---------------------------------------------------------------------------------------------------- */

static PyObject *provider_dict(const void *entry) {
    const tort_report_provider *p = entry;
    PyObject *made =
        Py_BuildValue("{s:N,s:s,s:N,s:N,s:N,s:N,s:N}", "name", text(p->name), "status", p->ready ? "ready" : "down",
                      "code", text(p->code), "description", text(p->description), "message", text(p->message), "cure",
                      text(p->cure), "threads", number(p->threads > 0 ? p->threads : -1));
    PyObject *shares = made && p->shares ? text(p->shares) : NULL;
    if (shares) PyDict_SetItemString(made, "shares", shares);
    Py_XDECREF(shares);
    return made;
}

static PyObject *verdict_dict(const void *entry) {
    const tort_report_verdict *v = entry;
    PyObject *made = Py_BuildValue("{s:N,s:N,s:s,s:N,s:N,s:N}", "provider", text(v->provider), "kernel",
                                   text(v->kernel ? v->kernel : ""), "code", tort_verdict_name(v->code), "message",
                                   text(v->message), "cure", text(v->cure), "root", number(v->root));
    PyObject *fusion = made && v->fusion ? text(v->fusion) : NULL;
    if (fusion) PyDict_SetItemString(made, "fusion", fusion);
    Py_XDECREF(fusion);
    if (made && v->segment) PyDict_SetItemString(made, "segment", Py_True);
    PyObject *bytes = made && v->precision ? number(v->bytes) : NULL;
    if (bytes) {
        PyDict_SetItemString(made, "precision", Py_True);
        PyDict_SetItemString(made, "bytes", bytes);
    }
    Py_XDECREF(bytes);
    return made;
}

static PyObject *node_dict(const void *entry) {
    const tort_report_node *n = entry;
    return Py_BuildValue("{s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N}", "index", number(n->index),
                         "file_index", number(n->file_index), "path", text(n->path), "name", text(n->name), "op",
                         text(n->op), "domain", text(n->domain), "since", number(n->since), "provider",
                         text(n->provider), "kernel", text(n->kernel), "family", text(n->family), "pinned",
                         truth(n->pinned), "fell_back", truth(n->fell_back), "from", texts(n->from, n->from_count),
                         "verdicts", list_of((const void *const *)n->verdicts, n->verdict_count, verdict_dict));
}

static PyObject *copy_dict(const void *entry) {
    const tort_report_copy *c = entry;
    return Py_BuildValue("{s:N,s:N,s:N,s:N,s:N,s:N}", "value", text(c->value), "bytes", number(c->bytes), "from",
                         text(c->from), "to", text(c->to), "before", text(c->before), "node", number(c->node));
}

static PyObject *summary_dict(const tort_report *report) {
    PyObject *made = PyDict_New();
    const struct {
        const char *key;
        int32_t count;
    } counts[] = {{"host", report->host},
                  {"folded", report->folded},
                  {"fused", report->fused},
                  {"unplaced", report->unplaced},
                  {"fallen_back", report->fallen_back}};
    for (int32_t i = 0; made && i < report->provider_count + 5; i++) {
        const tort_report_provider *p = i < report->provider_count ? report->providers[i] : NULL;
        PyObject *count = number(p ? p->nodes : counts[i - report->provider_count].count);
        if (!count || PyDict_SetItemString(made, p ? p->name : counts[i - report->provider_count].key, count))
            Py_CLEAR(made);
        Py_XDECREF(count);
    }
    return made;
}

static PyObject *memory_dict(const tort_report *report) {
    PyObject *made = PyDict_New();
    for (int32_t i = 0; made && i < report->provider_count; i++) {
        const tort_report_provider *p = report->providers[i];
        PyObject *item = Py_BuildValue("{s:N,s:N,s:N}", "weights", number(p->weight_bytes), "peak",
                                       number(p->peak_bytes), "naive", number(p->naive_bytes));
        PyObject *held = p->engine_bytes ? number(p->engine_bytes) : NULL;
        if (!item || (held && PyDict_SetItemString(item, "engine", held)) || PyDict_SetItemString(made, p->name, item))
            Py_CLEAR(made);
        Py_XDECREF(held);
        Py_XDECREF(item);
    }
    return made;
}

static PyObject *host_memory_dict(const tort_report_memory *m) {
    return Py_BuildValue("{s:N,s:N,s:N,s:N,s:N,s:N,s:N}", "model", number(m->model), "weights", number(m->weights),
                         "session", number(m->session), "context", number(m->context), "arena", number(m->arena),
                         "total", number(m->total), "grows", truth(m->grows));
}

static PyObject *chain_list(const tort_report *report) {
    PyObject *made = PyList_New(report->provider_count);
    for (int32_t i = 0; made && i < report->provider_count; i++) {
        PyObject *name = text(report->providers[i]->name);
        if (!name || PyList_SetItem(made, i, name)) Py_CLEAR(made);
    }
    return made;
}

static PyObject *chain_dict(const tort_report *report) {
    return Py_BuildValue("{s:N,s:N}", "chain", chain_list(report), "providers",
                         list_of((const void *const *)report->providers, report->provider_count, provider_dict));
}

static PyObject *whole_dict(const tort_report *report) {
    PyObject *made = chain_dict(report);
    PyObject *rest =
        Py_BuildValue("{s:i,s:N,s:N,s:N,s:N,s:N}", "products", (int)report->products, "summary", summary_dict(report),
                      "nodes", list_of((const void *const *)report->nodes, report->node_count, node_dict), "copies",
                      list_of((const void *const *)report->copies, report->copy_count, copy_dict), "memory",
                      memory_dict(report), "host_memory", host_memory_dict(report->memory));
    if (made && (!rest || PyDict_Update(made, rest))) Py_CLEAR(made);
    Py_XDECREF(rest);
    return made;
}

static PyObject *operand_dict(const tort_described_value *v) {
    PyObject *made = Py_BuildValue("{s:N,s:N,s:N,s:N,s:N}", "name", text(v->name), "type", text(v->type), "shape",
                                   text(v->shape), "bytes", number(v->bytes), "constant", truth(v->constant));
    if (!made || isnan(v->low)) return made;
    PyObject *range = Py_BuildValue("{s:d,s:d}", "min", v->low, "max", v->high);
    if (!range || PyDict_Update(made, range)) Py_CLEAR(made);
    Py_XDECREF(range);
    return made;
}

static PyObject *operands(const tort_described_value *values, int32_t count) {
    PyObject *made = PyList_New(count);
    for (int32_t i = 0; made && i < count; i++) {
        PyObject *item = operand_dict(&values[i]);
        if (!item || PyList_SetItem(made, i, item)) Py_CLEAR(made);
    }
    return made;
}

/* Adds what each node is: "inputs", "outputs", "attributes". */
static bool add_descriptions(tort_session *session, const tort_report *report, PyObject *made) {
    PyObject *nodes = PyDict_GetItemString(made, "nodes");
    for (int32_t i = 0; nodes && i < report->node_count; i++) {
        tort_description *d = NULL;
        tort_error error;
        if (tort_session_describe(session, report->nodes[i]->index, 64 << 10, &d, &error))
            return PyErr_NoMemory() != NULL;
        PyObject *more = Py_BuildValue("{s:N,s:N,s:N}", "inputs", operands(d->inputs, d->input_count), "outputs",
                                       operands(d->outputs, d->output_count), "attributes",
                                       texts(d->attributes, d->attribute_count));
        tort_description_free(d);
        const bool added = more && !PyDict_Update(PyList_GetItem(nodes, i), more);
        Py_XDECREF(more);
        if (!added) return false;
    }
    return nodes;
}

PyObject *core_report(tort_session *session, const core_state *state, core_extent extent) {
    tort_report *report = NULL;
    tort_error error = {.node = -1};
    if (tort_session_report(session, &report, &error)) return core_fail(state, &error);
    PyObject *made = extent == CORE_CHAIN ? chain_dict(report) : whole_dict(report);
    if (extent == CORE_DESCRIBED && made && !add_descriptions(session, report, made)) Py_CLEAR(made);
    tort_report_free(report);
    return made;
}

/* ---- providers --------------------------------------------------------------------------------------------------- */

const char *core_provider_named(const char *name) {
    for (int32_t i = 0; i < tort_provider_count(); i++) {
        tort_provider_info info = {.struct_size = sizeof info};
        if (!tort_provider_at(i, &info, NULL) && !strcmp(info.name, name)) return info.name;
    }
    return NULL;
}

static PyObject *keys_of(const tort_option_help *options) {
    const char *keys[32];
    int32_t count = 0;
    for (; options->key && count < 32; options++) keys[count++] = options->key;
    return texts(keys, count);
}

PyObject *core_py_providers(PyObject *module, PyObject *arguments) {
    PyObject *made = PyList_New(tort_provider_count());
    (void)module;
    (void)arguments;
    for (int32_t i = 0; made && i < tort_provider_count(); i++) {
        tort_provider_info info = {.struct_size = sizeof info};
        tort_provider_at(i, &info, NULL);
        PyObject *item =
            Py_BuildValue("{s:s,s:s,s:N,s:z,s:N}", "name", info.name, "summary", info.summary, "present",
                          truth(info.present), "built_for", info.built_for, "options", keys_of(info.options));
        if (!item || PyList_SetItem(made, i, item)) Py_CLEAR(made);
    }
    return made;
}

static PyObject *probed_dict(const void *entry) {
    const tort_probe_provider *p = entry;
    return Py_BuildValue("{s:s,s:s,s:s,s:N,s:N,s:N,s:N,s:N,s:z,s:N}", "name", p->name, "summary", p->summary, "status",
                         p->ready ? "ready" : "down", "code", text(p->code), "description", text(p->description),
                         "message", text(p->message), "cure", text(p->cure), "note", text(p->note), "built_for",
                         p->built_for, "options", keys_of(p->options));
}

PyObject *core_py_probe(PyObject *module, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"chain", "disabled", NULL};
    tort_probe_options options = {.struct_size = sizeof options};
    tort_probe *probe = NULL;
    tort_error error = {.node = -1};
    tort_status status;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|zz", names, &options.chain, &options.disabled)) return NULL;
    const core_stretch stretch = core_let_go();
    status = tort_probe_providers(NULL, &options, &probe, &error);
    core_take_back(stretch);
    if (status) {
        tort_probe_free(probe);
        return core_fail(core_state_of(module), &error);
    }
    PyObject *made = list_of((const void *const *)probe->providers, probe->provider_count, probed_dict);
    tort_probe_free(probe);
    return made;
}
