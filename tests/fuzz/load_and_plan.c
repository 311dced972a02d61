/* load_and_plan.c - libFuzzer's entry: any bytes are loaded as a model and planned for the cpu.
 *
 * A crash, a sanitizer's report, memory that is left or handed back with a wrong size, and an error without a message
 * are findings. `make fuzz SECONDS=600` runs it; what it finds is put into build/fuzz/findings. */
#include "runtime/include/tinyort.h"
#include "tests/counting_env.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    tort_counting_env counting;
    tort_counting_env_init(&counting);
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_error error = {0};
    tort_status status = tort_model_load_buffer(&counting.env, bytes, size, NULL, &model, &error);
    if (!status) {
        tort_session_options options = {.struct_size = sizeof options, .plan_only = true};
        status = tort_session_create(&counting.env, model, &options, &session, &error);
    }
    require(!status || error.msg[0], "a failure without a message", tort_status_name(status));
    require(status != TORT_E_INTERNAL, "an internal error", error.msg);
    tort_session_free(session);
    tort_model_free(model);
    require(counting.live_blocks == 0, "memory is left", error.msg);
    require(counting.wrong_sizes == 0, "memory was handed back with a wrong size", error.msg);
    return 0;
}
