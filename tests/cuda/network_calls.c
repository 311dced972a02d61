/* network_calls.c - what a run of a whole network asks of the simulated device: launches, copies, waits, allocations;
 * and calls of CUDA, where it is recorded as a graph.
 *
 * The provider's own counts (tort_context_calls) are held against what the device saw. The first run of a context is
 * left out: there libraries try what they offer, which is not a part of a run. Read next: launches.c. */
#include "tests/cuda/network_calls.h"

#include <stdio.h>
#include <string.h>

#include "tests/cuda/simulator.h"

enum { RUNS = 3, MAX_INPUTS = 2 };

/* Pictures are square; the other networks take sentences of six words. */
typedef struct network {
    const char *name;
    int64_t picture;       /* 0: none */
    uint64_t max_launches; /* of a run, in either form; who makes it fewer writes the new number here */
} network;

static const network networks[] = {{"resnet50", 64, 56}, {"mobilenet_v2", 64, 54}, {"vit", 32, 102},
                                   {"swin", 32, 56},     {"bert", 0, 107},         {"optimized_bert", 0, 90}};

static void print_calls(const char *what, const char *chain, const tort_device_calls *calls) {
    printf("%s on %s: %llu launches, %llu copies, %llu waits, %llu allocations\n", what, chain,
           (unsigned long long)calls->launches, (unsigned long long)calls->copies, (unsigned long long)calls->waits,
           (unsigned long long)calls->allocations);
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

/* What the device saw of a run; false: it failed, or the provider tells something else. */
static bool run_counted(const cudasim_control *control, tort_context *context, const tort_tensor *inputs, int32_t count,
                        bool first, tort_device_calls *seen, tort_error *error) {
    tort_tensor output = {.data = NULL};
    tort_device_calls told;
    const tort_device_calls before = simulator_saw(control);
    if (tort_context_run(context, inputs, count, &output, 1, error)) return false;
    *seen = simulator_saw_since(control, &before);
    if (tort_context_calls(context, "cudasim", &told, error)) return false;
    if (first || !memcmp(&told, seen, sizeof told)) return true;
    print_calls("FAILED: as the provider tells, a run", "it", &told);
    print_calls("        as the device saw, it", "it", seen);
    return false;
}

/* Runs on the same shapes ask for the same, and allocate nothing; the host waits once. Each input and the output are a
 * copy, the word of bad values may be one. */
static bool check_runs(const cudasim_control *control, tort_context *context, const tort_tensor *inputs, int32_t count,
                       uint64_t max, const char *what, const char *chain, tort_error *error) {
    tort_device_calls seen[RUNS];
    for (int run = 0; run < RUNS; run++)
        if (!run_counted(control, context, inputs, count, !run, &seen[run], error)) return false;
    print_calls(what, chain, &seen[RUNS - 1]);
    const bool steady = !memcmp(&seen[1], &seen[RUNS - 1], sizeof *seen) && !seen[1].allocations;
    const bool launches = seen[1].launches <= max;
    const bool few = seen[1].waits == 1 && seen[1].copies <= (uint64_t)count + 2;
    if (!steady) printf("FAILED: %s on %s: runs on the same shapes differ, or allocate\n", what, chain);
    if (!launches)
        printf("FAILED: %s on %s: at most %llu launches were expected\n", what, chain, (unsigned long long)max);
    if (!few) printf("FAILED: %s on %s: more copies or waits than its inputs and output ask for\n", what, chain);
    return steady && launches && few;
}

static int32_t make_inputs(int64_t picture, tort_tensor *inputs) {
    static float pixels[3 * 64 * 64];
    static int64_t ids[6] = {1, 2, 3, 4, 5, 6}, mask[6] = {1, 1, 1, 1, 1, 0};
    for (size_t i = 0; i < sizeof pixels / sizeof *pixels; i++) pixels[i] = (float)(i * 37 % 23) / 23.0f;
    if (picture) {
        inputs[0] = (tort_tensor){.type = TORT_FLOAT, .rank = 4, .dims = {1, 3, picture, picture}, .data = pixels};
        return 1;
    }
    inputs[0] = (tort_tensor){.type = TORT_INT64, .rank = 2, .dims = {1, 6}, .data = ids};
    inputs[1] = (tort_tensor){.type = TORT_INT64, .rank = 2, .dims = {1, 6}, .data = mask};
    return 2;
}

static bool check_network(const tort_provider *provider, const cudasim_control *control, const char *path,
                          const char *what, const network *tested, const char *chain) {
    const tort_provider *const providers[] = {provider, NULL};
    const tort_session_options options = {.struct_size = sizeof options, .chain = chain, .providers = providers};
    tort_tensor inputs[MAX_INPUTS];
    const int32_t count = make_inputs(tested->picture, inputs);
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error = {.node = -1};
    tort_status status = tort_model_load(NULL, path, NULL, &model, &error);
    if (!status) status = tort_session_create(NULL, model, &options, &session, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    const bool good = !status && check_runs(control, context, inputs, count, tested->max_launches, what, chain, &error);
    if (*error.msg) printf("FAILED: %s on %s: %s\n", what, chain, error.msg);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    return good;
}

/* ---- recorded runs ----------------------------------------------------------------------------------------------- */

enum { STEADY = 4 }; /* the context made current and given back, the graph, the wait */

/* Buffers of the device for inputs and the output, whose shape a first run tells. */
static tort_status bind_all(tort_session *session, tort_context *context, tort_tensor *inputs, int32_t count,
                            tort_tensor *output, tort_error *error) {
    size_t bytes;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < count; i++) {
        const void *values = inputs[i].data;
        tort_tensor_bytes(&inputs[i], &bytes);
        status = tort_memory_alloc(session, "cudasim", bytes, &inputs[i].data, error);
        if (!status)
            status = tort_memory_copy(context, "cudasim", inputs[i].data, values, bytes, TORT_TO_DEVICE, error);
    }
    if (!status) status = tort_context_run(context, inputs, count, output, 1, error);
    if (!status && tort_tensor_bytes(output, &bytes))
        status = tort_memory_alloc(session, "cudasim", bytes, &output->data, error);
    return status;
}

/* The runs behind the second with the same buffers ask for no more than this. */
static bool check_steady(const cudasim_control *control, tort_context *context, const tort_tensor *inputs,
                         int32_t count, tort_tensor *output, const char *what, const char *chain, tort_error *error) {
    int calls = 0;
    for (int run = 0; run < RUNS + 1; run++) {
        const int before = control->calls(NULL);
        if (tort_context_run(context, inputs, count, output, 1, error)) return false;
        calls = control->calls(NULL) - before;
    }
    printf("%s on %s, bound: %d calls of CUDA in a run\n", what, chain, calls);
    if (calls > STEADY) printf("FAILED: %s on %s: at most %d calls were expected\n", what, chain, STEADY);
    return calls <= STEADY;
}

static bool check_recorded(const tort_provider *provider, const cudasim_control *control, const char *path,
                           const char *what, const network *tested, const char *chain) {
    const tort_provider *const providers[] = {provider, NULL};
    const char *const binding = "*=cudasim";
    const tort_session_options options = {.struct_size = sizeof options,
                                          .chain = chain,
                                          .providers = providers,
                                          .bindings = &binding,
                                          .binding_count = 1};
    tort_tensor inputs[MAX_INPUTS], output = {.data = NULL};
    const int32_t count = make_inputs(tested->picture, inputs);
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error = {.node = -1};
    tort_status status = tort_model_load(NULL, path, NULL, &model, &error);
    if (!status) status = tort_session_create(NULL, model, &options, &session, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    if (!status) status = bind_all(session, context, inputs, count, &output, &error);
    const bool good = !status && check_steady(control, context, inputs, count, &output, what, chain, &error);
    if (*error.msg) printf("FAILED: %s on %s: %s\n", what, chain, error.msg);
    tort_context_free(context);
    tort_session_free(session); /* and the buffers with it */
    tort_model_free(model);
    return good;
}

/* ---- shapes in turns --------------------------------------------------------------------------------------------- */

enum { TURNS = 10, SWITCHED = STEADY + 2 }; /* another plan asks for staging memory: the device is made current */

/* Two lengths of sentences in turns: both are recorded, and values are those of plain runs. */
static bool check_turns(const tort_provider *provider, const cudasim_control *control, const char *path,
                        const char *what) {
    const tort_provider *const providers[] = {provider, NULL};
    const tort_session_options recorded = {.struct_size = sizeof recorded, .chain = "cudasim", .providers = providers},
                               plain = {
                                   .struct_size = sizeof plain, .chain = "cudasim:graph=off", .providers = providers};
    tort_model *model = NULL;
    tort_session *sessions[2] = {NULL};
    tort_context *contexts[2] = {NULL};
    tort_error error = {.node = -1};
    bool same = true;
    int calls = 0;
    tort_status status = tort_model_load(NULL, path, NULL, &model, &error);
    for (int i = 0; !status && i < 2; i++) {
        status = tort_session_create(NULL, model, i ? &plain : &recorded, &sessions[i], &error);
        if (!status) status = tort_context_create(sessions[i], &contexts[i], &error);
    }
    for (int turn = 0; !status && turn < TURNS; turn++) {
        tort_tensor inputs[MAX_INPUTS], outputs[2] = {{.data = NULL}};
        const int32_t count = make_inputs(0, inputs);
        size_t bytes;
        for (int32_t i = 0; i < count; i++) inputs[i].dims[1] -= turn % 2;
        const int before = control->calls(NULL);
        status = tort_context_run(contexts[0], inputs, count, &outputs[0], 1, &error);
        calls = control->calls(NULL) - before;
        if (!status) status = tort_context_run(contexts[1], inputs, count, &outputs[1], 1, &error);
        same = same && !status && tort_tensor_bytes(&outputs[0], &bytes) &&
               !memcmp(outputs[0].data, outputs[1].data, bytes);
    }
    printf("%s on cudasim, two lengths in turns: %d calls of CUDA in a run\n", what, calls);
    if (status) printf("FAILED: %s: %s\n", what, error.msg);
    if (!same || calls > SWITCHED)
        printf("FAILED: %s: expected at most %d, and the bits of plain runs\n", what, SWITCHED);
    for (int i = 0; i < 2; i++) {
        tort_context_free(contexts[i]);
        tort_session_free(sessions[i]);
    }
    tort_model_free(model);
    return !status && same && calls <= SWITCHED;
}

void network_calls_check(const tort_provider *provider, const cudasim_control *control, const char *folder, int *passed,
                         int *failed) {
    static const char *const forms[] = {"older", "newer"},
                             *const chains[] = {"cudasim:graph=off", "cudasim:libraries=off:graph=off"},
                             *const recorded[] = {"cudasim", "cudasim:libraries=off"};
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        for (int k = 0; k < 4; k++) {
            char what[40], path[400];
            snprintf(what, sizeof what, "%s-%s", networks[i].name, forms[k / 2]);
            snprintf(path, sizeof path, "%s/%s.onnx", folder, what);
            const bool good = check_network(provider, control, path, what, &networks[i], chains[k % 2]) &&
                              check_recorded(provider, control, path, what, &networks[i], recorded[k % 2]);
            *passed += good;
            *failed += !good;
            if (k % 2 || networks[i].picture) continue;
            const bool turns = check_turns(provider, control, path, what);
            *passed += turns;
            *failed += !turns;
        }
}
