/* extra_operators.c - an application with the operators of libtinyort_extra: RegexFullMatch of two strings. */
#include <stdio.h>
#include <tinyort_extra.h>

#include "tests/onnx_bytes.h"

static void write_model(onnx_bytes *b) {
    const int64_t two = 2;
    onnx_begin_model(b, 20);
    onnx_value(b, GRAPH_INPUT, "x", TORT_STRING, 1, &two);
    onnx_begin_node(b, GRAPH_NODE, "RegexFullMatch", "match", "x", "y");
    onnx_begin_attribute(b, "pattern", 3);
    onnx_text(b, ATTR_S, "[a-z]+");
    onnx_end(b);
    onnx_end(b);
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_BOOL, 1, &two);
    onnx_end(b);
}

int main(void) {
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error = {.msg = ""};
    onnx_bytes b = {0};
    tort_string words[2] = {{"word", 4}, {"two words", 9}};
    uint8_t matches[2] = {0, 1};
    tort_tensor x = {.type = TORT_STRING, .rank = 1, .dims = {2}, .data = words};
    tort_tensor y = {.type = TORT_BOOL, .rank = 1, .dims = {2}, .data = matches};
    const tort_load_options load = {
        .struct_size = sizeof load, .operators = tort_extra_operators, .operator_abi = tort_extra_abi};
    write_model(&b);
    tort_status status = tort_model_load_buffer(NULL, b.data, b.size, &load, &model, &error);
    if (!status) status = tort_session_create(NULL, model, NULL, &session, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    if (!status) status = tort_context_run(context, &x, 1, &y, 1, &error);
    if (status) printf("%s: %s\n", tort_status_name(status), error.msg);
    if (!status && (matches[0] != 1 || matches[1] != 0)) {
        printf("matches are %d and %d\n", matches[0], matches[1]);
        status = TORT_E_RUN;
    }
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&b);
    return status;
}
