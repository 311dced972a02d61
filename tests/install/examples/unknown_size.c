/* unknown_size.c - an application that wants one of a model's outputs, of a size that only the run tells, in a buffer
 * of its own. */
#include <stdio.h>
#include <string.h>

#include "tests/onnx_bytes.h"

/* where: the indices of what is not zero; e: exp(x), which nobody here wants. */
static void write_model(onnx_bytes *b) {
    const int64_t six = 6;
    onnx_begin_model(b, 21);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 1, &six);
    onnx_node(b, "Exp", "exp", "x", "e");
    onnx_node(b, "NonZero", "find", "x", "where");
    onnx_value(b, GRAPH_OUTPUT, "e", TORT_FLOAT, 1, &six);
    onnx_value(b, GRAPH_OUTPUT, "where", TORT_INT64, -1, NULL);
    onnx_end(b);
}

int main(void) {
    static const char *const wanted[] = {"where"};
    onnx_bytes b = {0};
    tort_error error = {.msg = ""};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    float x[6] = {0, 5, 0, 0, 7, 9};
    int64_t found[6] = {0};
    const tort_session_options options = {.struct_size = sizeof options, .outputs = wanted, .output_count = 1};
    tort_tensor input = {.type = TORT_FLOAT, .rank = 1, .dims = {6}, .data = x}, output = {.data = found};
    write_model(&b);
    tort_status status = tort_model_load_buffer(NULL, b.data, b.size, NULL, &model, &error);
    if (!status) status = tort_session_create(NULL, model, &options, &session, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    if (!status) status = tort_context_output_capacity(context, 0, sizeof found, &error);
    if (!status) status = tort_context_run(context, &input, 1, &output, 1, &error);
    if (status) printf("%s: %s\n", tort_status_name(status), error.msg);
    const bool right = !status && output.dims[1] == 3 && found[0] == 1 && found[1] == 4 && found[2] == 5;
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&b);
    return !right;
}
