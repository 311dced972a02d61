/* in_a_block.c - an application that sets memory aside once: it asks how much a session takes, and makes it there. */
#include <stdio.h>
#include <stdlib.h>
#include <tinyort.h>

static tort_status run(tort_context *context, tort_error *error) {
    float pixels[64] = {0}, scores[10];
    tort_tensor input = {.type = TORT_FLOAT, .rank = 4, .dims = {1, 1, 8, 8}, .data = pixels};
    tort_tensor output = {.type = TORT_FLOAT, .rank = 2, .dims = {1, 10}, .data = scores};
    return tort_context_run(context, &input, 1, &output, 1, error);
}

/* A session and a context in a block of so many bytes. */
static tort_status use(const tort_model *model, const tort_session_options *options, void *memory, size_t bytes,
                       tort_error *error) {
    tort_env env = {.struct_size = sizeof env};
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_status status = tort_env_in_block(&env, memory, bytes, error);
    if (!status) status = tort_session_create(&env, model, options, &session, error);
    if (!status) status = tort_context_create(session, &context, error);
    if (!status) status = run(context, error);
    tort_context_free(context);
    tort_session_free(session);
    return status;
}

int main(void) {
    tort_error error = {.msg = ""};
    tort_model *model = NULL;
    size_t bytes = 0;
    const tort_symbol_size one = {"N", 1}; /* what is not known before the run would take more memory then */
    const tort_session_options options = {.struct_size = sizeof options, .symbols = &one, .symbol_count = 1};
    tort_status status = tort_model_load(NULL, "models/digits.onnx", NULL, &model, &error);
    if (!status) status = tort_session_bytes(NULL, model, &options, 1, &bytes, &error);
    void *memory = aligned_alloc(16, (bytes + 15) / 16 * 16); /* a real one has it from its linker script */
    if (!status) status = use(model, &options, memory, bytes, &error);
    if (status) printf("%s: %s\n", tort_status_name(status), error.msg);
    const bool smaller_fails = !status && use(model, &options, memory, bytes - 1, &error) == TORT_E_MEMORY;
    tort_model_free(model);
    free(memory);
    return !smaller_fails;
}
