/* trial.c - see trial.h. A candidate is timed as runs will make it: recorded as a CUDA graph, so that the time that the
 * host takes for a call, which differs between libraries, does not count. */
#if defined(TORT_CUDA) || defined(TORT_CUDASIM)
#include "kernels/cuda/trial.h"

#include "runtime/core/base/locale.h"

enum { ROUNDS = 3, RUNS = 4 /* in a round, so that its begin and end weigh little */ };

/* ---- the call ---------------------------------------------------------------------------------------------------- */

/* Places tensors from `at` on, in `memory` if there is some; returns their end. */
static size_t place(const tort_info *infos, int32_t count, tort_tensor *tensors, char *memory, size_t at) {
    for (int32_t i = 0; i < count; i++) {
        size_t bytes = 0;
        tensors[i] = (tort_tensor){.type = infos[i].type, .rank = infos[i].rank};
        for (int32_t d = 0; d < infos[i].rank; d++) tensors[i].dims[d] = infos[i].dims[d];
        if (!tort_present(&tensors[i]) || !tort_tensor_bytes(&tensors[i], &bytes)) continue;
        if (memory) tensors[i].data = memory + at;
        at += (bytes + TORT_DEVICE_ALIGN - 1) / TORT_DEVICE_ALIGN * TORT_DEVICE_ALIGN;
    }
    return at;
}

static size_t place_all(cuda_trial *t, char *memory) {
    const tort_node_view *node = t->fit->node;
    const size_t end = place(node->inputs, node->input_count, t->inputs, memory, 0);
    return place(node->outputs, node->output_count, t->outputs, memory, end);
}

void cuda_trial_open(cuda_trial *t, tort_fit *fit) {
    const tort_node_view *node = fit->node;
    *t = (cuda_trial){.fit = fit};
    if (!fit->target->facts[CUDA_TUNE]) fit->choice = 0;
    if (fit->stream || node->input_count > CUDA_TRIAL_INPUTS || node->output_count > CUDA_TRIAL_OUTPUTS) return;
    const size_t scratch_at = place_all(t, NULL);
    t->bytes = scratch_at + fit->scratch;
    t->memory = cuda_alloc(fit->device, t->bytes);
    if (!t->memory) return;
    (void)place_all(t, t->memory);
    t->call = (tort_call){.op = node->op,
                          .params = node->params,
                          .inputs = t->inputs,
                          .outputs = t->outputs,
                          .input_count = node->input_count,
                          .output_count = node->output_count,
                          .scratch = t->memory + scratch_at,
                          .kernel = node->kernel,
                          .device = fit->device,
                          .env = fit->env,
                          .error = &t->error};
}

void cuda_trial_close(cuda_trial *t) {
    if (t->begin) cudaEventDestroy(t->begin);
    if (t->end) cudaEventDestroy(t->end);
    if (t->call.stream) cuda_stream_close(t->fit->device, t->call.stream);
    if (t->memory) cuda_free(t->fit->device, t->memory, t->bytes);
}

bool cuda_trial_pays(const cuda_trial *t) {
    return t->memory && !t->fit->choice && t->fit->target->facts[CUDA_TUNE];
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

static tort_status start(cuda_trial *t) {
    if (t->call.stream) return t->end ? TORT_OK : TORT_E_RUN;
    const tort_status status = cuda_stream_open(t->fit->device, &t->call.stream, &t->error);
    if (status) return status;
    cudaError_t code = cudaEventCreate(&t->begin);
    if (code == cudaSuccess) code = cudaEventCreate(&t->end);
    return cuda_status(&t->error, code, "an event");
}

/* Records the runs of a round. */
static tort_status record(cuda_trial *t, cuda_run *run, cudaGraphExec_t *graph) {
    const cuda_stream *stream = t->call.stream;
    cudaGraph_t recorded = NULL;
    cudaError_t code = cudaStreamBeginCapture(stream->stream, cudaStreamCaptureModeThreadLocal);
    tort_status status = cuda_status(&t->error, code, "a recording");
    if (status) return status;
    for (int i = 0; !status && i < RUNS; i++) status = run(&t->call);
    code = cudaStreamEndCapture(stream->stream, &recorded);
    if (!status && code == cudaSuccess) code = cudaGraphInstantiate(graph, recorded, 0);
    if (code != cudaSuccess) *graph = NULL;
    if (recorded) cudaGraphDestroy(recorded);
    return status ? status : cuda_status(&t->error, code, "a recording");
}

/* Times a round, in microseconds a run. */
static tort_status time_round(cuda_trial *t, cudaGraphExec_t graph, float *us) {
    const cuda_stream *stream = t->call.stream;
    float ms = 0;
    cudaError_t code = cudaEventRecord(t->begin, stream->stream);
    if (code == cudaSuccess) code = cudaGraphLaunch(graph, stream->stream);
    if (code == cudaSuccess) code = cudaEventRecord(t->end, stream->stream);
    if (code == cudaSuccess) code = cudaEventSynchronize(t->end);
    if (code == cudaSuccess) code = cudaEventElapsedTime(&ms, t->begin, t->end);
    *us = ms * 1000 / RUNS;
    return cuda_status(&t->error, code, "a trial");
}

static void note(cuda_trial *t, uint32_t choice, const float *us) {
    const float low = us[0] < us[1] ? us[0] : us[1], high = us[0] < us[1] ? us[1] : us[0];
    const float median = us[2] < low ? low : us[2] > high ? high : us[2];
    if (choice == CUDA_CHOSE_OWN) t->own = median;
    if (choice == CUDA_CHOSE_OWN || (t->choice && median >= t->library)) return;
    t->choice = choice;
    t->library = median;
}

tort_status cuda_trial_time(cuda_trial *t, uint32_t choice, cuda_run *run, void *fitted) {
    cudaGraphExec_t graph = NULL;
    float us[ROUNDS];
    t->call.fitted = fitted;
    tort_status status = start(t);
    if (!status) status = run(&t->call); /* libraries create what they need */
    if (!status) status = cuda_sync(t->fit->device, t->call.stream, &t->error);
    if (!status) status = record(t, run, &graph);
    for (int i = 0; !status && i < ROUNDS; i++) status = time_round(t, graph, &us[i]);
    if (graph) cudaGraphExecDestroy(graph);
    if (!status) note(t, choice, us);
    if (status != TORT_E_DEVICE_LOST) return TORT_OK;
    if (t->fit->error) *t->fit->error = t->error;
    return status;
}

void cuda_trial_choose(const cuda_trial *t, const char *own) {
    tort_fit *fit = t->fit;
    const bool is_own = t->own > 0 && (!t->choice || t->own < t->library);
    if (!t->choice && !is_own) return;
    fit->choice = is_own ? CUDA_CHOSE_OWN : t->choice;
    int used = tort_snprintf(fit->words, sizeof fit->words, "%.40s:", is_own ? own : fit->node->kernel->name);
    if (t->own > 0)
        used += tort_snprintf(fit->words + used, sizeof fit->words - (size_t)used, " own %.1f us%s", (double)t->own,
                              t->choice ? "," : "");
    if (t->choice)
        tort_snprintf(fit->words + used, sizeof fit->words - (size_t)used, " %.10s %.1f us", fit->node->kernel->needs,
                      (double)t->library);
}
#else
typedef int cuda_trials_are_in_builds_with_cuda; /* ISO C requires a declaration */
#endif
