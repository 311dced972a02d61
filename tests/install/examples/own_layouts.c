/* own_layouts.c - an application that brings a provider whose kernels read and write a layout of their own. */
#include "tests/layouts/channels_provider.h"
#include "tests/onnx_bytes.h"
#include <stdio.h>

static const int64_t image[] = {1, 2, 1, 2}, filter[] = {2, 2, 1, 1};
static const float weights[] = {0, 1, 1, 0}; /* exchanges two channels */

/* y = conv(relu(conv(x))) */
static void write_model(onnx_bytes *b) {
    onnx_begin_model(b, 21);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 4, image);
    onnx_tensor(b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 4, filter, weights, sizeof weights);
    onnx_node(b, "Conv", "first", "x w", "a");
    onnx_node(b, "Relu", "relu", "a", "r");
    onnx_node(b, "Conv", "second", "r w", "y");
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 4, image);
    onnx_end(b);
}

int main(void) {
    onnx_bytes bytes = {0};
    tort_error error;
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_report *report = NULL;
    float x[] = {1, -2, 3, 4};
    const tort_provider *const providers[] = {&channels_provider, NULL};
    const tort_session_options options = {.struct_size = sizeof options, .chain = "channels", .providers = providers};
    const tort_tensor input = {.type = TORT_FLOAT, .rank = 4, .dims = {1, 2, 1, 2}, .data = x};
    tort_tensor output = {.data = NULL};
    write_model(&bytes);
    tort_status status = tort_model_load_buffer(NULL, bytes.data, bytes.size, NULL, &model, &error);
    if (!status) status = tort_session_create(NULL, model, &options, &session, &error);
    if (!status) status = tort_session_report(session, &report, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    if (!status) status = tort_context_run(context, &input, 1, &output, 1, &error);
    if (status) printf("%s\n", error.msg);
    const float *y = output.data;
    const bool right = !status && report->conversion_count == 2 && y[0] == 1 && y[1] == 0 && y[2] == 3 && y[3] == 4;
    tort_report_free(report);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&bytes);
    return !right;
}
