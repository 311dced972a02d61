/* hostile.c - an execution provider plugin for tests of the host (kernels/plugin): without faults it compiles chains of
 * Relu, Neg and Mul by a constant; the environment variable HOSTILE names the one fault that it has.
 *
 * It needs nothing but the declarations of runtime/include/ort.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/include/ort.h"

#define EXPORTED __attribute__((visibility("default")))
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        ort_status *status_ = (call);                                                                                  \
        if (status_) return status_;                                                                                   \
    } while (0)

static const ort_api *api;
static int runs_now; /* of a plugin that runs once at a time */

static bool has(const char *fault) {
    const char *named = getenv("HOSTILE");
    return named && !strcmp(named, fault);
}

static ort_status *fail(const char *words) {
    return api->create_status(ORT_FAIL, words);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

enum { STEPS = 8, WIDTH = 4 };

typedef struct chain {
    ort_compute base;
    char name[64];
    int count;
    struct {
        char op;
        float k[WIDTH]; /* of Mul */
        size_t input;   /* of Mul whose constant is an input of a run; 0: it is in k */
    } steps[STEPS];
} chain;

static ort_status *create_state(ort_compute *base, ort_context *context, void **state) {
    (void)base;
    if (has("state_fails")) return fail("no state today");
    *state = strdup(api->ep_api()->context_name(context));
    return NULL;
}

static void release_state(ort_compute *base, void *state) {
    (void)base;
    free(state);
}

static ort_status *take_output(ort_run *run, const int64_t *dims, size_t rank, ort_value **value) {
    const int64_t lie[2] = {dims[0] + 1, dims[1]};
    if (has("wrong_shape")) return api->output(run, 0, lie, rank, value);
    if (has("wrong_rank")) return api->output(run, 0, dims, 1, value);
    if (has("no_dims")) return api->output(run, 0, NULL, rank, value);
    if (has("wrong_output")) return api->output(run, 7, dims, rank, value);
    return has("planned") ? api->preallocated(run, 0, value) : api->output(run, 0, dims, rank, value);
}

static ort_status *apply(const chain *c, const ort_run *run, float *y, size_t count) {
    for (int s = 0; s < c->count; s++) {
        const float *k = c->steps[s].k;
        const ort_value *value;
        const void *data = NULL;
        if (c->steps[s].input) {
            TRY(api->input(run, c->steps[s].input, &value));
            TRY(api->data(value, &data));
            k = data;
        }
        for (size_t i = 0; i < count; i++)
            y[i] = c->steps[s].op == 'R' ? (y[i] > 0 ? y[i] : 0) : c->steps[s].op == 'N' ? -y[i] : y[i] * k[i % WIDTH];
    }
    return NULL;
}

static ort_status *run_chain(ort_compute *base, void *state, ort_run *run) {
    const chain *c = (const chain *)(void *)base;
    const ort_value *input;
    ort_value *output;
    ort_shape_info *shape;
    const void *x = NULL;
    void *y = NULL;
    size_t rank = 0, count = 0;
    int64_t dims[2] = {0, 0};
    if (has("run_fails")) return fail("no run today");
    if (strcmp(state, c->name) != 0) return fail("the state is not this node's");
    if (__atomic_fetch_add(&runs_now, 1, __ATOMIC_SEQ_CST) && has("serial")) return fail("two runs at a time");
    TRY(api->input(run, has("wrong_input") ? 99 : 0, &input));
    TRY(api->shape_of(input, &shape));
    TRY(api->rank(shape, &rank));
    TRY(api->dims(shape, dims, 2));
    TRY(api->element_count(shape, &count));
    api->release_shape(shape);
    TRY(api->data(input, &x));
    if (!has("no_output")) {
        TRY(take_output(run, dims, rank, &output));
        TRY(api->mutable_data(output, &y));
        memcpy(y, x, count * sizeof(float));
        TRY(apply(c, run, y, count));
    }
    __atomic_fetch_sub(&runs_now, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

static ort_status *read_step(chain *c, const ort_node *node, const ort_node *fused) {
    const ort_value_info *inputs[2] = {NULL, NULL}, *all[8];
    const ort_value *constant;
    const char *op;
    const void *data;
    size_t count = 0, fused_count = 0;
    bool is = false;
    TRY(api->node_op(node, &op));
    TRY(api->node_input_count(node, &count));
    if (c->count == STEPS || count > 2) return fail("too much of it");
    TRY(api->node_inputs(node, inputs, count));
    c->steps[c->count].op = *op;
    if (*op == 'M') {
        TRY(api->is_constant(inputs[1], &is));
        if (!is) return fail("it multiplies by constants only");
        TRY(api->node_input_count(fused, &fused_count));
        TRY(api->node_inputs(fused, all, 8));
        for (size_t i = 0; i < fused_count; i++)
            if (all[i] == inputs[1]) c->steps[c->count].input = i;
        TRY(api->initializer(inputs[1], &constant));
        TRY(api->data(constant, &data));
        memcpy(c->steps[c->count].k, data, sizeof c->steps[c->count].k);
    }
    c->count++;
    return NULL;
}

static ort_status *compile(ort_ep *ep, const ort_graph **graphs, const ort_node **fused, size_t count,
                           ort_compute **computes, ort_node **contexts) {
    const ort_node *nodes[STEPS];
    const char *name;
    size_t node_count = 0;
    (void)ep, (void)contexts;
    if (has("compile_fails")) return fail("two lines:\nno code today");
    if (has("compile_nothing") || count != 1) return NULL;
    chain *c = calloc(1, sizeof *c);
    c->base = (ort_compute){24, create_state, has("no_compute") ? NULL : run_chain, release_state};
    TRY(api->node_name(fused[0], &name));
    snprintf(c->name, sizeof c->name, "%s", name);
    TRY(api->node_count(graphs[0], &node_count));
    TRY(api->nodes(graphs[0], nodes, STEPS));
    for (size_t i = 0; i < node_count; i++) TRY(read_step(c, nodes[i], fused[0]));
    computes[0] = &c->base;
    return NULL;
}

static void release(ort_ep *ep, ort_compute **computes, size_t count) {
    (void)ep;
    for (size_t i = 0; i < count; i++) free(computes[i]);
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

/* Everything that can be read of a graph, as words of an error. */
static ort_status *tell(const ort_graph *graph) {
    char text[300], *at = text;
    const ort_value_info *inputs[4], *constants[4], *outputs[4];
    const ort_node *nodes[STEPS], *producer = NULL;
    const ort_type_info *type;
    const ort_shape_info *shape;
    const char *name, *op, *names[2], *domains[4];
    const ort_value *tensor;
    int64_t dims[2], versions[4];
    size_t count = 0, port = 0;
    TRY(api->graph_inputs(graph, inputs, 4));
    TRY(api->initializers(graph, constants, 4));
    TRY(api->graph_outputs(graph, outputs, 4));
    TRY(api->nodes(graph, nodes, STEPS));
    TRY(api->value_name(inputs[0], &name));
    TRY(api->value_type(inputs[0], &type));
    TRY(api->tensor_info_of(type, &shape));
    TRY(api->dims(shape, dims, 2));
    TRY(api->dim_names(shape, names, 2));
    at += sprintf(at, "%s[%d:%s,%d:%s]", name, (int)dims[0], names[0], (int)dims[1], names[1]);
    TRY(api->value_name(constants[0], &name));
    ort_status *absent = api->initializer(constants[0], &tensor);
    at += sprintf(at, " %s(%s)", name, absent ? api->error_message(absent) : "loaded");
    api->release_status(absent);
    TRY(api->producer(outputs[0], &producer, &port));
    TRY(api->node_op(producer, &op));
    TRY(api->consumer_count(inputs[0], &count));
    at += sprintf(at, " by %s, %d reader", op, (int)count);
    TRY(api->opset_count(graph, &count));
    TRY(api->opsets(graph, domains, versions, 4));
    at += sprintf(at, ", opset %d of '%s'", (int)versions[0], domains[0]);
    absent = api->nodes(graph, nodes, 1);
    sprintf(at, "; %s", absent ? api->error_message(absent) : "?");
    api->release_status(absent);
    return fail(text);
}

/* A function of a slot that is not hosted. */
static ort_status *call_slot(const void *table, size_t slot) {
    ort_status *(*function)(void *, void *, void *, void *);
    memcpy(&function, (const char *)table + slot * sizeof function, sizeof function);
    return function ? function(NULL, NULL, NULL, NULL) : fail("a slot is NULL");
}

static ort_status *check_slots(void) {
    const void *tables[] = {api, api->ep_api(), api->model_editor(), api->compile_api()};
    const size_t counts[] = {426, 74, 20, 16};
    for (size_t t = 0; t < 4; t++)
        for (size_t i = 0; i < counts[t]; i++)
            if (!((void *const *)tables[t])[i]) return fail("a slot is NULL");
    return NULL;
}

static ort_status *add(ort_support *support, const ort_node **nodes, size_t count, bool drop) {
    const ort_fusion fusion = {24, drop};
    return api->ep_api()->add_nodes(support, nodes, count, &fusion);
}

static ort_status *misuse(const ort_graph *graph, ort_support *support, const ort_node **nodes, size_t count) {
    const ort_node *twice[] = {nodes[0], nodes[0]}, *foreign[] = {(const ort_node *)(const void *)support};
    if (has("capability_fails")) return fail("no choice today");
    if (has("tells")) return tell(graph);
    if (has("slot")) return call_slot(api, 7);
    if (has("ep_slot")) return call_slot(api->ep_api(), 18);
    if (has("editor_slot")) return call_slot(api->model_editor(), 7);
    if (has("slots")) return check_slots();
    if (has("twice")) return add(support, twice, 2, true);
    if (has("foreign")) return add(support, foreign, 1, true);
    if (has("empty")) return add(support, nodes, 0, true);
    if (has("mixed")) return add(support, nodes, 1, false);
    if (has("alone"))
        for (size_t i = 0; i < count; i++) TRY(api->ep_api()->add_node(support, nodes[i]));
    return NULL;
}

static ort_status *capability(ort_ep *ep, const ort_graph *graph, ort_support *support) {
    const ort_node *nodes[STEPS], *taken[STEPS];
    size_t count = 0, taken_count = 0;
    const char *op;
    (void)ep;
    TRY(api->node_count(graph, &count));
    if (count > STEPS) return fail("the graph is too large for it");
    TRY(api->nodes(graph, nodes, STEPS));
    TRY(misuse(graph, support, nodes, count));
    if (has("alone")) return NULL;
    for (size_t i = 0; i < count; i++) {
        TRY(api->node_op(nodes[i], &op));
        if (!strcmp(op, "Relu") || !strcmp(op, "Neg") || !strcmp(op, "Mul")) taken[taken_count++] = nodes[i];
    }
    return taken_count ? add(support, taken, taken_count, !has("constants")) : NULL;
}

/* ---- the factory ------------------------------------------------------------------------------------------------- */

static const char *name_of_ep(const ort_ep *ep) {
    (void)ep;
    return has("no_name") ? NULL : "HostileExecutionProvider";
}

static ort_status *runs_at_once(ort_ep *ep, bool *may) {
    (void)ep;
    *may = !has("serial");
    return NULL;
}

static ort_ep the_ep;

static ort_status *create_ep(ort_factory *factory, const ort_hardware *const *hardware,
                             const ort_pairs *const *metadata, size_t count, const ort_options *options,
                             const ort_logger *logger, ort_ep **ep) {
    char mode[64] = "";
    size_t size = sizeof mode;
    int is = 0;
    (void)factory, (void)hardware, (void)metadata, (void)count;
    if (has("warns")) TRY(api->log(logger, ORT_LOG_WARNING, "beware", "", 0, ""));
    if (has("create_fails")) {
        TRY(api->log(logger, ORT_LOG_ERROR, "the log knows more", "", 0, ""));
        return fail("no provider today");
    }
    TRY(api->has_entry(options, "ep.hostileexecutionprovider.mode", &is));
    if (is) TRY(api->entry(options, "ep.hostileexecutionprovider.mode", mode, &size));
    if (has("options")) return fail(mode);
    the_ep = (ort_ep){has("old_ep") ? 22 : 29, name_of_ep, capability, compile, release, .runs_at_once = runs_at_once};
    if (has("no_compile")) the_ep.compile = NULL;
    if (!has("no_ep")) *ep = &the_ep;
    return NULL;
}

static void release_ep(ort_factory *factory, ort_ep *ep) {
    (void)factory, (void)ep;
}

static const char *name_of(const ort_factory *factory) {
    (void)factory;
    return "HostileExecutionProvider";
}

static const char *number_of(const ort_factory *factory) {
    (void)factory;
    return has("no_name") ? NULL : "6.6.6";
}

static ort_status *add_device(ort_factory *factory, const ort_hardware *hardware, const char *kind,
                              ort_device **device) {
    ort_pairs *metadata;
    ort_memory *memory;
    api->create_pairs(&metadata);
    api->add_pair(metadata, "kind", "none");
    api->add_pair(metadata, "kind", kind);
    ort_status *status = api->ep_api()->create_device(factory, hardware, metadata, NULL, device);
    api->release_pairs(metadata);
    if (status || !has("far")) return status;
    TRY(api->create_memory("far", 1, 0x10de, 0, ORT_MEMORY_DEFAULT, 0, 0, &memory));
    status = api->ep_api()->add_memory(*device, memory);
    api->release_memory(memory);
    return status;
}

static ort_status *find_devices(ort_factory *factory, const ort_hardware *const *hardware, size_t hardware_count,
                                ort_device **devices, size_t max, size_t *count) {
    (void)max;
    *count = 0;
    if (has("devices_fail")) return fail("no devices today");
    if (has("no_devices") || !hardware_count || api->hardware_type(hardware[0]) != ORT_HARDWARE_CPU) return NULL;
    TRY(add_device(factory, hardware[0], "first", &devices[0]));
    TRY(add_device(factory, hardware[0], "second", &devices[1]));
    if (has("foreign_device")) devices[0] = devices[1] = (ort_device *)(void *)factory;
    *count = has("many_devices") ? 1000000 : 2;
    return NULL;
}

static ort_factory the_factory;

EXPORTED ort_status *CreateEpFactories(const char *name, const ort_api_base *base, const ort_logger *logger,
                                       ort_factory **factories, size_t max, size_t *count);
EXPORTED ort_status *CreateEpFactories(const char *name, const ort_api_base *base, const ort_logger *logger,
                                       ort_factory **factories, size_t max, size_t *count) {
    (void)name, (void)logger, (void)max;
    api = base->get(has("new") ? 99 : 30);
    if (!api) return base->get(1)->create_status(ORT_FAIL, "the host is too old");
    if (has("factories_fail")) return fail("no factories today");
    the_factory = (ort_factory){.version = has("old_factory") ? 20 : 29,
                                .name = name_of,
                                .vendor = name_of,
                                .devices = has("no_function") ? NULL : find_devices,
                                .create = create_ep,
                                .release = release_ep,
                                .release_number = number_of};
    *count = has("no_factories") ? 0 : has("many_factories") ? 1000000 : 1;
    if (!has("no_factory")) factories[0] = &the_factory;
    return NULL;
}

EXPORTED ort_status *ReleaseEpFactory(ort_factory *factory);
EXPORTED ort_status *ReleaseEpFactory(ort_factory *factory) {
    (void)factory;
    return has("release_fails") ? fail("not released") : NULL;
}
