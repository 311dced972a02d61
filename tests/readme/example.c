#include <stdio.h>
#include <tinyort.h>

int main(void) {
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error;
    float pixels[64] = {0}; /* a picture of 8x8, 0..1 */
    tort_tensor input = {.type = TORT_FLOAT, .rank = 4, .dims = {1, 1, 8, 8}, .data = pixels}, output = {.data = NULL};
    tort_session_options options = {.struct_size = sizeof options, .chain = "cuda,cpu"};

    tort_status status = tort_model_load(NULL, "models/digits.onnx", NULL, &model, &error);
    if (!status) status = tort_session_create(NULL, model, &options, &session, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    if (!status) status = tort_context_run(context, &input, 1, &output, 1, &error);
    if (status) printf("%s: %s\n", tort_status_name(status), error.msg);
    for (int i = 0; !status && i < 10; i++) printf("%d: %.3f\n", i, ((const float *)output.data)[i]);

    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    return status;
}
