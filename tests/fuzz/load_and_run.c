/* load_and_run.c - libFuzzer's entry: any bytes are loaded as a model, prepared for the cpu and run on small inputs.
 *
 * Findings are those of load_and_plan.c. Memory and trips are limited, so that a run takes a moment; inputs are of one
 * or two elements where a shape is open, and of what the file's last bytes say. `make fuzz-runs SECONDS=600` runs it.
 */
#include <string.h>

#include "runtime/include/tinyort.h"
#include "tests/counting_env.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_PORTS = 8, MAX_ELEMENTS = 1024, LIMIT = 1 << 16 };

typedef struct attempt {
    tort_counting_env counting;
    tort_model *model;
    tort_session *session;
    tort_context *context;
    tort_value *inputs[MAX_PORTS], *outputs[MAX_PORTS];
    tort_error error;
} attempt;

/* Small whole numbers of either sign, which are indices, sizes and axes too. */
static void fill(tort_tensor *tensor, int64_t count, uint8_t seed) {
    for (int64_t i = 0; i < count; i++) {
        const int number = (int)((i * 7 + seed) % 5) - 1;
        if (tensor->type == TORT_FLOAT) ((float *)tensor->data)[i] = (float)number / 2.0f;
        if (tensor->type == TORT_INT64) ((int64_t *)tensor->data)[i] = number;
        if (tensor->type == TORT_INT32) ((int32_t *)tensor->data)[i] = number;
        if (tensor->type == TORT_BOOL) ((uint8_t *)tensor->data)[i] = number > 0;
    }
}

/* A tensor that the port takes; NULL: it is none, or not a small one. */
static tort_value *tensor_for(attempt *a, const tort_port *port, uint8_t seed) {
    static _Alignas(64) uint8_t data[MAX_ELEMENTS * 16];
    tort_tensor tensor = {.type = port->type, .rank = port->rank < 0 ? 1 : port->rank, .dims = {1}, .data = data};
    int64_t count;
    for (int32_t i = 0; i < port->rank; i++)
        tensor.dims[i] = port->dims[i] < 0 ? 1 + (seed >> (i % 8) & 1) : port->dims[i];
    if (tort_type_kind(port->value_type) != TORT_TENSOR || port->type == TORT_STRING) return NULL;
    if (!tort_tensor_count(&tensor, &count) || count > MAX_ELEMENTS) return NULL;
    memset(data, 0, sizeof data);
    fill(&tensor, count, seed);
    return tort_value_tensor(&a->counting.env, &tensor);
}

/* False: this model takes what cannot be made here. An empty sequence and an absent optional can. */
static bool make_inputs(attempt *a, uint8_t seed) {
    const int32_t count = tort_model_input_count(a->model);
    if (count > MAX_PORTS || tort_model_output_count(a->model) > MAX_PORTS) return false;
    for (int32_t i = 0; i < count; i++) {
        tort_port port = {.struct_size = sizeof port};
        if (tort_model_input(a->model, i, &port, NULL)) return false;
        const tort_kind kind = tort_type_kind(port.value_type);
        if (kind == TORT_OPTIONAL) continue;
        if (kind == TORT_SEQUENCE)
            a->inputs[i] = tort_value_sequence(&a->counting.env, tort_type_element(port.value_type));
        else
            a->inputs[i] = tensor_for(a, &port, (uint8_t)(seed + i));
        if (!a->inputs[i]) return false;
    }
    return true;
}

static tort_status load(attempt *a, const uint8_t *bytes, size_t size) {
    const tort_session_options options = {.struct_size = sizeof options,
                                          .chain = "cpu:threads=1:mem_limit=64k",
                                          .dynamic_limit = LIMIT,
                                          .trip_limit = 20};
    tort_status status = tort_model_load_buffer(&a->counting.env, bytes, size, NULL, &a->model, &a->error);
    if (!status) status = tort_session_create(&a->counting.env, a->model, &options, &a->session, &a->error);
    return status ? status : tort_context_create(a->session, &a->context, &a->error);
}

/* Twice: the second run finds what the first has left. */
static tort_status run(attempt *a) {
    const int32_t inputs = tort_model_input_count(a->model), outputs = tort_model_output_count(a->model);
    tort_status status = TORT_OK;
    for (int i = 0; i < 2 && !status; i++) {
        status = tort_context_run_values(a->context, (const tort_value *const *)a->inputs, inputs, a->outputs, outputs,
                                         &a->error);
        for (int32_t o = 0; o < outputs; o++) tort_value_release(a->outputs[o]);
    }
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    attempt a = {.model = NULL};
    tort_counting_env_init(&a.counting);
    tort_status status = load(&a, bytes, size);
    if (!status && make_inputs(&a, size ? bytes[size - 1] : 0)) status = run(&a);
    require(!status || a.error.msg[0], "a failure without a message", tort_status_name(status));
    require(status != TORT_E_INTERNAL, "an internal error", a.error.msg);
    tort_context_free(a.context);
    tort_session_free(a.session);
    for (int i = 0; i < MAX_PORTS; i++) tort_value_release(a.inputs[i]);
    tort_model_free(a.model);
    require(a.counting.live_blocks == 0, "memory is left", a.error.msg);
    require(a.counting.wrong_sizes == 0, "memory was handed back with a wrong size", a.error.msg);
    return 0;
}
