/* loading.c - see loading.h. */
#include "tests/unit/loading.h"

#include <criterion/criterion.h>
#include <string.h>

tort_model *load_model(onnx_bytes *b) {
    tort_model *model = NULL;
    tort_error error = {0};
    tort_status status = tort_model_load_buffer(NULL, b->data, b->size, NULL, &model, &error);
    cr_assert_eq(status, TORT_OK, "%s", error.msg);
    return model;
}

void free_model(tort_model *model, onnx_bytes *b) {
    tort_model_free(model);
    onnx_free(b);
}

void refuse_model(onnx_bytes *b, tort_status expected, const char *const *words) {
    tort_model *model = NULL;
    tort_error error = {0};
    tort_status status = tort_model_load_buffer(NULL, b->data, b->size, NULL, &model, &error);
    cr_assert_eq(status, expected, "status %s: %s", tort_status_name(status), error.msg);
    cr_assert_null(model);
    for (; *words; words++) cr_assert(strstr(error.msg, *words), "\"%s\" is not in: %s", *words, error.msg);
    onnx_free(b);
}

const tort_node *node_named(const tort_model *model, const char *name) {
    for (int32_t g = 0; g < model->graph_count; g++)
        for (int32_t i = 0; i < model->graphs[g].node_count; i++)
            if (strcmp(model->graphs[g].nodes[i].name, name) == 0) return &model->graphs[g].nodes[i];
    cr_assert_fail("no node \"%s\"", name);
    return NULL;
}

const char *input_name(const tort_model *model, int32_t graph, const tort_node *node, int32_t i) {
    return node->inputs[i] < 0 ? "-" : model->graphs[graph].values[node->inputs[i]].name;
}

void input_and_output(onnx_bytes *b, const char *in, const char *out) {
    onnx_value(b, GRAPH_INPUT, in, TORT_FLOAT, 1, three);
    onnx_value(b, GRAPH_OUTPUT, out, TORT_FLOAT, 1, three);
}
