/* saved_plan.c - libFuzzer's entry: any bytes are loaded as a saved plan, once their checksums are right, and run where
 * that takes little memory.
 *
 * A crash, a sanitizer's report, memory that is left or handed back with a wrong size, and an error without a message
 * are findings. `make fuzz-plans SECONDS=600` runs it on plans of ONNX's node cases. */
#include "tests/saved_plan.h"

#include <string.h>

#include "tests/counting_env.h"
#include "tests/fuzz/fuzz.h"

#define LARGEST_ARENA (1 << 20) /* bytes of a plan that is run */

static bool is_small(tort_session *session) {
    tort_report *report = NULL;
    tort_error error;
    if (tort_session_report(session, &report, &error)) return false;
    const bool small = report->memory->arena >= 0 && report->memory->arena <= LARGEST_ARENA;
    tort_report_free(report);
    return small;
}

/* Tensors of zeros; an input that is not a tensor, or of open shape, ends it. */
static bool make_inputs(const tort_model *model, tort_tensor *inputs, int32_t count) {
    static _Alignas(64) char zeros[LARGEST_ARENA];
    for (int32_t i = 0; i < count; i++) {
        tort_port port = {.struct_size = sizeof port};
        size_t used;
        tort_model_input(model, i, &port, NULL);
        if (tort_type_kind(port.value_type) != TORT_TENSOR || port.rank < 0 || port.type == TORT_STRING) return false;
        inputs[i] = (tort_tensor){.type = port.type, .rank = port.rank, .data = zeros};
        memcpy(inputs[i].dims, port.dims, sizeof port.dims);
        if (!tort_tensor_bytes(&inputs[i], &used) || used > sizeof zeros) return false;
    }
    return true;
}

static tort_status run(tort_session *session, tort_error *error) {
    enum { MAX = 16 };
    const tort_model *model = tort_session_model(session);
    const int32_t inputs = tort_model_input_count(model), outputs = tort_model_output_count(model);
    tort_tensor given[MAX], made[MAX] = {{.data = NULL}};
    tort_context *context = NULL;
    if (inputs > MAX || outputs > MAX || !is_small(session) || !make_inputs(model, given, inputs)) return TORT_OK;
    tort_status status = tort_context_create(session, &context, error);
    if (!status) status = tort_context_run(context, given, inputs, made, outputs, error);
    tort_context_free(context);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    const tort_plan_options options = {
        .struct_size = sizeof options, .dynamic_limit = LARGEST_ARENA, .trip_limit = 100};
    tort_counting_env counting;
    tort_session *session = NULL;
    tort_error error = {.msg = ""};
    uint8_t *copy = malloc(size + 1);
    if (!copy) return 0;
    memcpy(copy, bytes, size);
    saved_reseal(copy, size);
    tort_counting_env_init(&counting);
    tort_status status = tort_session_load_buffer(&counting.env, copy, size, &options, &session, &error);
    if (!status) status = run(session, &error);
    require(!status || error.msg[0], "a failure without a message", tort_status_name(status));
    require(status != TORT_E_INTERNAL, "an internal error", error.msg);
    tort_session_free(session);
    require(counting.live_blocks == 0, "memory is left", error.msg);
    require(counting.wrong_sizes == 0, "memory was handed back with a wrong size", error.msg);
    free(copy);
    return 0;
}
