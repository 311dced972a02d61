/* part.c - a part of a graph that the host fused into one node: compiled into a session, and run (plugin.h).
 *
 * A run reads the host's inputs where they are, writes outputs of known shape into the host's buffers, and gives its
 * loops to the host's threads. The host calls one part from several threads at once, so that each run takes a context
 * of its own, and leaves it for the next. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/locale.h"
#include "runtime/core/plan/inputs.h"
#include "runtime/core/run/context.h"
#include "runtime/core/session/session.h"
#include "runtime/plugin/plugin.h"

enum { FEW = 32 }; /* tensors of a run that need no memory of their own */

/* A context, and the host's run that it serves. */
typedef struct runner {
    struct runner *next; /* idle */
    const plugin_host *host;
    const ort_run *run; /* NULL: there is none, and loops run on the calling thread */
    int64_t threads;    /* that loops are split for: of the chain, as the host does not tell how many it has */
    int32_t alone;      /* loops that no other thread took part in; -1: one did */
    const plugin_ep *ep;
    tort_context *context;
} runner;

typedef struct part {
    ort_compute base;
    const plugin_host *host;
    const plugin_ep *ep; /* outlives its parts */
    tort_model *model;
    tort_session *session;
    int32_t *place; /* by input of the model: its place among the inputs of the fused node */
    int32_t input_count, output_count, fused_count;
    pthread_mutex_t lock; /* of the idle contexts */
    runner *idle;
    runner nobody; /* loops before the first run are not the host's */
} part;

/* ---- loops ------------------------------------------------------------------------------------------------------- */

typedef struct loop {
    void (*body)(void *arg, int64_t begin, int64_t end);
    void *arg;
    int64_t count, pieces;
    pthread_t caller;
    atomic_bool shared; /* another thread has run a piece */
} loop;

static void run_piece(void *arg, size_t piece) {
    loop *l = arg;
    const int64_t i = (int64_t)piece;
    if (!pthread_equal(pthread_self(), l->caller)) atomic_store_explicit(&l->shared, true, memory_order_relaxed);
    l->body(l->arg, l->count / l->pieces * i + l->count % l->pieces * i / l->pieces,
            l->count / l->pieces * (i + 1) + l->count % l->pieces * (i + 1) / l->pieces);
}

/* Counts loops of a runner that no other thread took part in, and tells the host's log if there were only such: work
 * that is split for threads that there are not takes longer. */
static void count_loop(runner *r, bool shared) {
    enum { ENOUGH = 1000 };
    char text[250];
    if (r->alone >= 0) r->alone = shared ? -1 : r->alone + 1;
    if (r->alone != ENOUGH) return;
    r->alone = -1;
    tort_snprintf(text, sizeof text,
                  "tinyort splits its loops for %d threads, but onnxruntime ran the first %d of them on one: give the "
                  "provider the option threads, as many as intra_op_num_threads",
                  (int)r->threads, ENOUGH);
    plugin_log(r->ep, ORT_LOG_WARNING, text);
}

/* tort_env.parallel_for by the threads of the host, which has as many as its session was given. */
static void parallel_for(void *ud, int64_t count, int64_t grain, void (*body)(void *arg, int64_t begin, int64_t end),
                         void *arg) {
    runner *r = ud;
    const int64_t wanted = count / (grain < 1 ? 1 : grain), pieces = wanted < r->threads ? wanted : r->threads;
    loop l = {.body = body, .arg = arg, .count = count, .pieces = pieces, .caller = pthread_self()};
    if (r->run && pieces > 1) {
        ort_status *status = r->host->api->parallel_for(r->run, run_piece, (size_t)pieces, 0, &l);
        if (!status) count_loop(r, atomic_load_explicit(&l.shared, memory_order_relaxed));
        if (!status) return;
        r->host->api->release_status(status); /* it has not begun: there is no thread pool */
    }
    body(arg, 0, count);
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

static runner *take_runner(part *p, tort_error *error) {
    pthread_mutex_lock(&p->lock);
    runner *r = p->idle;
    if (r) p->idle = r->next;
    pthread_mutex_unlock(&p->lock);
    if (r) return r;
    r = calloc(1, sizeof *r);
    if (!r) {
        tort_out_of_memory(error, sizeof *r);
        return NULL;
    }
    r->host = p->host;
    r->ep = p->ep;
    r->threads = tort_session_threads(p->session);
    if (tort_context_create(p->session, &r->context, error)) {
        free(r);
        return NULL;
    }
    r->context->env.parallel_ud = r;
    return r;
}

static void leave_runner(part *p, runner *r) {
    r->run = NULL;
    pthread_mutex_lock(&p->lock);
    r->next = p->idle;
    p->idle = r;
    pthread_mutex_unlock(&p->lock);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static ort_status *create_state(ort_compute *compute, ort_context *context, void **state) {
    (void)context;
    *state = compute;
    return NULL;
}

static void release_state(ort_compute *compute, void *state) {
    (void)compute, (void)state;
}

static ort_status *read_inputs(const part *p, const ort_run *run, tort_tensor *inputs) {
    const ort_api *api = p->host->api;
    size_t given = 0;
    ort_status *status = api->input_count(run, &given);
    const bool all = given == (size_t)p->fused_count; /* constants too, of which the host may drop those it gave up */
    for (int32_t i = 0; !status && i < p->input_count; i++) {
        const ort_value *value;
        status = api->input(run, (size_t)(all ? p->place[i] : i), &value);
        if (!status) status = plugin_input(api, value, &inputs[i]);
    }
    return status;
}

static ort_status *run_tensors(const part *p, const runner *r, ort_run *run, tort_tensor *inputs,
                               tort_tensor *outputs) {
    const ort_api *api = p->host->api;
    tort_frame *frame = &r->context->frames[0];
    tort_error error = {.node = -1};
    ort_status *status = read_inputs(p, run, inputs);
    if (status) return status;
    if (tort_check_inputs(p->session, inputs, p->input_count, &error) || tort_frame_choose_plan(frame, inputs, &error))
        return plugin_fail(p->host, &error);
    const tort_plan *plan = &frame->planned->plan;
    for (int32_t i = 0; !status && i < p->output_count; i++)
        status = plugin_place(api, run, (size_t)i, &plan->slots[plan->output_slots[i]], &outputs[i]);
    if (status) return status;
    if (tort_context_run(r->context, inputs, p->input_count, outputs, p->output_count, &error))
        return plugin_fail(p->host, &error);
    for (int32_t i = 0; !status && i < p->output_count; i++)
        status = plugin_copy(api, run, (size_t)i, &plan->slots[plan->output_slots[i]], &outputs[i]);
    return status;
}

static ort_status *run_part(ort_compute *compute, void *state, ort_run *run) {
    part *p = (part *)compute;
    tort_error error = {.node = -1};
    tort_tensor few[FEW] = {{.rank = 0}}, *tensors = few;
    const size_t count = (size_t)p->input_count + (size_t)p->output_count;
    (void)state;
    if (count > FEW) tensors = calloc(count, sizeof *tensors);
    if (!tensors) return p->host->api->create_status(ORT_FAIL, "tinyort: no memory for the tensors of a run");
    runner *r = take_runner(p, &error);
    if (r) r->run = run;
    ort_status *status = r ? run_tensors(p, r, run, tensors, tensors + p->input_count) : plugin_fail(p->host, &error);
    if (r) leave_runner(p, r);
    for (int32_t i = 0; i < p->input_count; i++)
        if (tensors[i].type == TORT_STRING) free(tensors[i].data);
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

static tort_status compile(part *p, plugin_ep *ep, const ort_graph *graph, const ort_node *fused, tort_error *error) {
    const tort_session_options options = {
        .struct_size = sizeof options, .chain = ep->chain, .max_symbols = ep->max, .max_symbol_count = ep->max_count};
    const tort_env env = {.struct_size = sizeof env, .parallel_for = parallel_for, .parallel_ud = &p->nobody};
    plugin_values inputs, outputs = {0};
    tort_status status = plugin_ports(p->host, fused, false, &inputs, error);
    if (!status) status = plugin_ports(p->host, fused, true, &outputs, error);
    if (!status) status = choose_inputs(p, &inputs, error);
    if (!status) status = plugin_read(p->host, graph, NULL, &inputs, &outputs, NULL, &p->model, error);
    if (!status) status = tort_session_create(&env, p->model, &options, &p->session, error);
    if (!status) plugin_tell_part(ep, p->session);
    if (!status) status = plugin_let_go(p->model, error);
    p->output_count = outputs.count;
    free((void *)inputs.items);
    free((void *)outputs.items);
    return status;
}

static void free_part(part *p) {
    for (runner *r = p->idle, *next; r; r = next) {
        next = r->next;
        tort_context_free(r->context);
        free(r);
    }
    pthread_mutex_destroy(&p->lock);
    tort_session_free(p->session);
    tort_model_free(p->model);
    free(p->place);
    free(p);
}

ort_status *plugin_compile(ort_ep *base, const ort_graph **graphs, const ort_node **fused, size_t count,
                           ort_compute **computes, ort_node **contexts) {
    plugin_ep *ep = (plugin_ep *)base;
    (void)contexts;
    if (ep->refusal) return ep->host->api->create_status(ORT_FAIL, ep->refusal);
    for (size_t i = 0; i < count; i++) {
        tort_error error = {.node = -1};
        part *p = calloc(1, sizeof *p);
        if (!p) return ep->host->api->create_status(ORT_FAIL, "tinyort: no memory for a part of the graph");
        p->base = (ort_compute){ORT_VERSION, create_state, run_part, release_state};
        p->host = ep->host;
        p->ep = ep;
        pthread_mutex_init(&p->lock, NULL);
        if (compile(p, ep, graphs[i], fused[i], &error)) {
            free_part(p);
            return plugin_fail(ep->host, &error);
        }
        computes[i] = &p->base;
    }
    plugin_report_write(ep);
    return NULL;
}

void plugin_release(ort_ep *ep, ort_compute **computes, size_t count) {
    (void)ep;
    for (size_t i = 0; i < count; i++)
        if (computes[i]) free_part((part *)computes[i]);
}
