/* part.c - a part of a graph that the host fused into one node: compiled into a session, and run (plugin.h). */
#include <stdlib.h>
#include <string.h>

#include "runtime/plugin/plugin.h"

enum { FEW = 32 }; /* tensors of a run that need no memory of their own */

typedef struct part {
    ort_compute base;
    const plugin_host *host;
    tort_model *model;
    tort_session *session;
    int32_t *place; /* by input of the model: its place among the inputs of the fused node */
    int32_t input_count, output_count, fused_count;
} part;

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static ort_status *create_state(ort_compute *compute, void *context, void **state) {
    const part *p = (const part *)compute;
    tort_error error;
    tort_context *made;
    (void)context;
    if (tort_context_create(p->session, &made, &error)) return plugin_fail(p->host, &error);
    *state = made;
    return NULL;
}

static void release_state(ort_compute *compute, void *state) {
    (void)compute;
    tort_context_free(state);
}

static ort_status *read_input(const ort_api *api, const ort_value *value, tort_tensor *tensor) {
    ort_shape_info *shape;
    const void *data = NULL;
    size_t rank = 0;
    int type = 0;
    ort_status *status = api->shape_of(value, &shape);
    if (status) return status;
    status = api->element_type(shape, &type);
    if (!status) status = api->rank(shape, &rank);
    if (!status && rank > TORT_MAX_RANK)
        status = api->create_status(ORT_FAIL, "tinyort: an input has over 8 dimensions");
    if (!status) status = api->dims(shape, tensor->dims, rank);
    api->release_shape(shape);
    if (!status) status = api->data(value, &data);
    tensor->type = (tort_type)type;
    tensor->rank = (int32_t)rank;
    memcpy(&tensor->data, &data, sizeof data); /* drops const: inputs are only read */
    return status;
}

static ort_status *write_output(const ort_api *api, ort_run *run, size_t index, const tort_tensor *tensor) {
    ort_value *value;
    void *data = NULL;
    size_t bytes = 0;
    ort_status *status = api->output(run, index, tensor->dims, (size_t)tensor->rank, &value);
    if (!status) status = api->mutable_data(value, &data);
    if (!status && tort_tensor_bytes(tensor, &bytes) && bytes) memcpy(data, tensor->data, bytes);
    return status;
}

static ort_status *run_tensors(const part *p, tort_context *context, ort_run *run, tort_tensor *inputs,
                               tort_tensor *outputs) {
    const ort_api *api = p->host->api;
    size_t given = 0;
    tort_error error = {.node = -1};
    ort_status *status = api->input_count(run, &given);
    const bool all = given == (size_t)p->fused_count; /* constants too, of which the host may drop those it gave up */
    for (int32_t i = 0; !status && i < p->input_count; i++) {
        const ort_value *value;
        status = api->input(run, (size_t)(all ? p->place[i] : i), &value);
        if (!status) status = read_input(api, value, &inputs[i]);
    }
    if (status) return status;
    if (tort_context_run(context, inputs, p->input_count, outputs, p->output_count, &error))
        return plugin_fail(p->host, &error);
    for (int32_t i = 0; !status && i < p->output_count; i++) status = write_output(api, run, (size_t)i, &outputs[i]);
    return status;
}

static ort_status *run_part(ort_compute *compute, void *state, ort_run *run) {
    const part *p = (const part *)compute;
    tort_tensor few[FEW] = {{.rank = 0}}, *tensors = few;
    const size_t count = (size_t)p->input_count + (size_t)p->output_count;
    if (count > FEW) tensors = calloc(count, sizeof *tensors);
    if (!tensors) return p->host->api->create_status(ORT_FAIL, "tinyort: no memory for the tensors of a run");
    ort_status *status = run_tensors(p, state, run, tensors, tensors + p->input_count);
    if (tensors != few) free(tensors);
    return status;
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

/* The inputs of the fused node that are not constant, with their places. */
static tort_status choose_inputs(part *p, plugin_values *inputs, tort_error *error) {
    int32_t kept = 0;
    p->fused_count = inputs->count;
    p->place = calloc((size_t)inputs->count + 1, sizeof *p->place);
    if (!p->place) return tort_out_of_memory(error, (size_t)inputs->count * sizeof *p->place);
    for (int32_t i = 0; i < inputs->count; i++) {
        bool constant = false;
        const tort_status status = plugin_check(p->host, p->host->api->is_constant(inputs->items[i], &constant), error);
        if (status) return status;
        if (constant) continue;
        p->place[kept] = i;
        inputs->items[kept++] = inputs->items[i];
    }
    p->input_count = inputs->count = kept;
    return TORT_OK;
}

static tort_status compile(part *p, const plugin_ep *ep, const ort_graph *graph, const ort_node *fused,
                           tort_error *error) {
    const tort_session_options options = {.struct_size = sizeof options, .chain = ep->chain};
    plugin_values inputs, outputs = {0};
    tort_status status = plugin_ports(p->host, fused, false, &inputs, error);
    if (!status) status = plugin_ports(p->host, fused, true, &outputs, error);
    if (!status) status = choose_inputs(p, &inputs, error);
    if (!status) status = plugin_read(p->host, graph, NULL, &inputs, &outputs, NULL, &p->model, error);
    if (!status) status = tort_session_create(NULL, p->model, &options, &p->session, error);
    p->output_count = outputs.count;
    free((void *)inputs.items);
    free((void *)outputs.items);
    return status;
}

static void free_part(part *p) {
    tort_session_free(p->session);
    tort_model_free(p->model);
    free(p->place);
    free(p);
}

ort_status *plugin_compile(ort_ep *base, const ort_graph **graphs, const ort_node **fused, size_t count,
                           ort_compute **computes, ort_node **contexts) {
    const plugin_ep *ep = (const plugin_ep *)base;
    (void)contexts;
    for (size_t i = 0; i < count; i++) {
        tort_error error = {.node = -1};
        part *p = calloc(1, sizeof *p);
        if (!p) return ep->host->api->create_status(ORT_FAIL, "tinyort: no memory for a part of the graph");
        p->base = (ort_compute){ORT_VERSION, create_state, run_part, release_state};
        p->host = ep->host;
        if (compile(p, ep, graphs[i], fused[i], &error)) {
            free_part(p);
            return plugin_fail(ep->host, &error);
        }
        computes[i] = &p->base;
    }
    return NULL;
}

void plugin_release(ort_ep *ep, ort_compute **computes, size_t count) {
    (void)ep;
    for (size_t i = 0; i < count; i++)
        if (computes[i]) free_part((part *)computes[i]);
}
