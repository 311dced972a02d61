/* compile.c - has the plugin compile a segment, and runs it (run.h, tort_engine). */
#include <unistd.h>

#include "kernels/plugin/run.h"

/* ---- compiling --------------------------------------------------------------------------------------------------- */

/* The node in whose place the segment stands. Its lists are numbers of the graph's values. */
static ort_node fused_node(const ort_graph *graph, const tort_host_compiled *made, const int32_t *inputs) {
    const tort_segment_view *s = graph->view;
    return (ort_node){.graph = graph,
                      .name = made->name,
                      .op = made->name,
                      .domain = graph->host->name,
                      .inputs = inputs,
                      .outputs = s->outputs,
                      .input_count = made->input_count + made->constant_count,
                      .output_count = s->output_count,
                      .opset = 1};
}

/* Constants are only lent: where the plugin reads them in runs, they are kept. */
static bool keep_constants(tort_host_compiled *made, const ort_graph *graph, uint64_t *held) {
    made->constants = tort_alloc_zero(graph->env, (size_t)made->constant_count + 1, sizeof *made->constants);
    for (int32_t i = 0; made->constants && i < made->constant_count; i++) {
        ort_value *constant = &made->constants[i];
        *constant = graph->values[made->input_count + i].value;
        const void *from = constant->data;
        constant->data = tort_alloc_aligned(graph->env, constant->bytes);
        if (!constant->data) return false;
        memset(constant->type.tensor.names, 0, sizeof constant->type.tensor.names);
        if (constant->bytes) memcpy(constant->data, from, constant->bytes);
        *held += constant->bytes;
    }
    return made->constants != NULL;
}

/* ONNX Runtime asks for all nodes once and has all compiled at once; here a segment is compiled after the other. Some
 * plugins keep notes between the two, of which only the last are there: so each segment is asked for again. */
static ort_status *ask_again(tort_host *host, const ort_graph *graph, int32_t *numbers) {
    bool has_kernels;
    int32_t taken = 0;
    const int32_t count = graph->view->node_count;
    ort_status *status = tort_host_ask(host, graph, numbers, &has_kernels);
    for (int32_t i = 0; i < count; i++) taken += numbers[i] == 0;
    if (!status && taken < count)
        TORT_HOST_FAIL(ORT_FAIL, "asked for these %d nodes alone, it takes %d of them", (int)count, (int)taken);
    return status;
}

/* Bytes of the process in memory, without those of files; 0: not known. */
static uint64_t resident(void) {
    char line[128] = "", *rest = line;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return 0;
    const bool read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    strtoull(line, &rest, 10); /* pages of all that is mapped; then those in memory, and those of files among them */
    const uint64_t all = strtoull(rest, &rest, 10), files = strtoull(rest, &rest, 10);
    return read && all > files ? (all - files) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Calls Compile; NULL: done. `numbers`: room for one a value or node. */
static ort_status *call_compile(tort_host *host, const ort_graph *graph, tort_host_compiled *made, int32_t *numbers) {
    ort_status *status = ask_again(host, graph, numbers);
    if (status) return status;
    for (int32_t i = 0; i < made->input_count + made->constant_count; i++) numbers[i] = i;
    const ort_node fused = fused_node(graph, made, numbers);
    const ort_graph *graphs[] = {graph};
    const ort_node *nodes[] = {&fused};
    ort_compute *computes[] = {NULL};
    ort_node *contexts[] = {NULL}; /* for models that a plugin writes: none is asked for */
    status = host->ep->compile(host->ep, graphs, nodes, 1, computes, contexts);
    made->compute = status ? NULL : computes[0];
    if (!status && !made->compute) return tort_host_create_status(ORT_FAIL, "it succeeds, and gives nothing that runs");
    if (!status && (!made->compute->create_state || !made->compute->run || !made->compute->release_state))
        return tort_host_create_status(ORT_FAIL, "what it gives lacks CreateState, Compute or ReleaseState");
    return status;
}

/* A refusal is a verdict; an error is one of the host's memory. */
static tort_status compile(tort_compiling *compiling, tort_host_compiled *made, const ort_graph *graph) {
    tort_host *host = compiling->device;
    const tort_segment_view *s = graph->view;
    const size_t bytes = (size_t)(s->value_count + s->node_count) * sizeof(int32_t);
    int32_t *numbers = tort_alloc(compiling->env, bytes);
    char words[400];
    snprintf(made->name, sizeof made->name, "tinyort_%s_%d", host->name, (int)host->compiled++);
    made->context.name = made->name;
    made->input_count = s->input_count;
    made->constant_count = host->drops ? 0 : s->constant_count;
    made->output_count = s->output_count;
    const bool fits = numbers && keep_constants(made, graph, &compiling->held);
    const uint64_t before = resident();
    ort_status *said = fits ? call_compile(host, graph, made, numbers) : NULL;
    const uint64_t after = resident();
    if (after > before)
        compiling->held += after - before; /* no plugin says what it holds: by how much the process grew */
    const bool refused = said != NULL;
    tort_free(compiling->env, numbers, bytes);
    tort_host_words(host, said, words, sizeof words);
    if (!fits) return tort_fail(compiling->error, TORT_E_MEMORY, "no memory for a segment of %s", host->name);
    if (refused) *compiling->verdict = tort_no(TORT_NO_CAPABILITY, "", "%s: Compile: %.300s", host->name, words);
    return TORT_OK;
}

tort_status tort_host_compile(tort_compiling *compiling) {
    tort_host *host = compiling->device;
    tort_host_compiled *made = tort_alloc_zero(compiling->env, 1, sizeof *made);
    if (!made) return tort_out_of_memory(compiling->error, sizeof *made);
    ort_graph graph;
    tort_status status = tort_host_read_graph(host, compiling->env, compiling->node, &graph, compiling->error);
    if (!status) status = compile(compiling, made, &graph);
    tort_host_free_graph(&graph);
    snprintf(compiling->words, sizeof compiling->words, "%s", host->name);
    if (!status && compiling->verdict->code == TORT_YES)
        compiling->compiled = made;
    else
        tort_host_release(host, compiling->env, made);
    return status;
}

void tort_host_release(void *device, const tort_env *env, void *compiled) {
    tort_host *host = device;
    tort_host_compiled *made = compiled;
    if (made->compute) host->ep->release(host->ep, &made->compute, 1);
    for (int32_t i = 0; made->constants && i < made->constant_count; i++)
        if (made->constants[i].data) tort_free_aligned(env, made->constants[i].data, made->constants[i].bytes);
    tort_free(env, made->constants, ((size_t)made->constant_count + 1) * sizeof *made->constants);
    tort_free(env, made, sizeof *made);
}

/* ---- what a context has ------------------------------------------------------------------------------------------ */

tort_status tort_host_begin(void *device, const tort_env *env, void *compiled, void **state, tort_error *error) {
    tort_host *host = device;
    tort_host_compiled *made = compiled;
    const int32_t inputs = made->input_count + made->constant_count;
    const size_t values = (size_t)(inputs + made->output_count);
    const size_t bytes = sizeof(ort_run) + values * sizeof(ort_value) + (size_t)made->output_count;
    ort_run *run = tort_alloc_zero(env, 1, bytes);
    char words[400];
    if (!run) return tort_out_of_memory(error, bytes);
    *run = (ort_run){.host = host, .bytes = bytes, .input_count = inputs, .output_count = made->output_count};
    run->asked = (bool *)(void *)&run->values[values];
    for (int32_t i = 0; i < made->constant_count; i++) run->values[made->input_count + i] = made->constants[i];
    ort_status *status = made->compute->create_state(made->compute, &made->context, &run->state);
    const bool failed = status != NULL;
    tort_host_words(host, status, words, sizeof words);
    if (!failed) {
        *state = run;
        return TORT_OK;
    }
    tort_free(env, run, bytes);
    return tort_fail(error, TORT_E_RUN, "%s: CreateState: %s", host->name, words);
}

void tort_host_end(void *device, const tort_env *env, void *compiled, void *state) {
    tort_host_compiled *made = compiled;
    ort_run *run = state;
    (void)device;
    made->compute->release_state(made->compute, run->state);
    tort_free(env, run, run->bytes);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

tort_status tort_host_run(const tort_call *call) {
    tort_host *host = call->device;
    const tort_host_compiled *made = call->prepared;
    ort_run *run = call->state;
    char words[400];
    run->call = call;
    for (int32_t i = 0; i < made->input_count; i++) tort_host_fill(&run->values[i], &call->inputs[i]);
    for (int32_t o = 0; o < run->output_count; o++) {
        tort_host_fill(&run->values[run->input_count + o], &call->outputs[o]);
        run->asked[o] = false;
    }
    if (!host->runs_at_once) pthread_mutex_lock(&host->one_run);
    ort_status *status = made->compute->run(made->compute, run->state, run);
    if (!host->runs_at_once) pthread_mutex_unlock(&host->one_run);
    run->call = NULL;
    if (status) {
        tort_host_words(host, status, words, sizeof words);
        return tort_fail(call->error, TORT_E_RUN, "%s: Compute: %s", host->name, words);
    }
    for (int32_t o = 0; o < run->output_count; o++)
        if (!run->asked[o])
            return tort_fail(call->error, TORT_E_RUN, "%s: Compute succeeds, and has not written output %d", host->name,
                             (int)o);
    return TORT_OK;
}
