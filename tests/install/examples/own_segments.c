/* own_segments.c - an application that brings an engine: a provider that compiles several nodes into one. */
#include "tests/segments/engine_provider.h"
#include "tests/onnx_bytes.h"
#include <stdio.h>
#include <string.h>

static const int64_t dims[] = {1, 4};

/* y = relu(x + x) * x */
static void write_model(onnx_bytes *b) {
    onnx_begin_model(b, 21);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 2, dims);
    onnx_node(b, "Add", "double", "x x", "d");
    onnx_node(b, "Relu", "relu", "d", "r");
    onnx_node(b, "Mul", "scaled", "r x", "y");
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 2, dims);
    onnx_end(b);
}

/* One node, made of three. */
static bool is_compiled(const tort_report *report) {
    const tort_report_node *node = report->node_count ? report->nodes[0] : NULL;
    return node && report->node_count == 1 && !strcmp(node->kernel, "compiled") && node->from_count == 3;
}

int main(void) {
    onnx_bytes bytes = {0};
    tort_error error;
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_report *report = NULL;
    float x[] = {1, -2, 3, -4};
    const tort_session_options options = {
        .struct_size = sizeof options, .chain = "engine", .providers = engine_providers};
    const tort_tensor input = {.type = TORT_FLOAT, .rank = 2, .dims = {1, 4}, .data = x};
    tort_tensor output = {.data = NULL};
    write_model(&bytes);
    tort_status status = tort_model_load_buffer(NULL, bytes.data, bytes.size, NULL, &model, &error);
    if (!status) status = tort_session_create(NULL, model, &options, &session, &error);
    if (!status) status = tort_session_report(session, &report, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    if (!status) status = tort_context_run(context, &input, 1, &output, 1, &error);
    if (status) printf("%s\n", error.msg);
    const bool right = !status && is_compiled(report) && ((const float *)output.data)[2] == 18;
    tort_report_free(report);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&bytes);
    return !right;
}
