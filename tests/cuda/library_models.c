/* library_models.c - see library_models.h. */
#include "tests/cuda/library_models.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/include/op.h"

float library_value(int i) {
    return (float)((i * 37 + 11) % 23 - 11) / 16.0f;
}

void library_weight(onnx_bytes *b, const char *name, int rank, const int64_t *dims) {
    float values[512];
    int count = 1;
    for (int i = 0; i < rank; i++) count *= (int)dims[i];
    for (int i = 0; i < count; i++) values[i] = library_value(i);
    onnx_tensor(b, GRAPH_INITIALIZER, name, TORT_FLOAT, rank, dims, values, (size_t)count * sizeof *values);
}

/* The graph's output is y. */
static tort_model *finish(onnx_bytes *b) {
    tort_model *model = NULL;
    tort_error error;
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_UNDEFINED, 0, NULL);
    onnx_end(b);
    onnx_opset(b, MODEL_OPSET, "tinyort", 1);
    if (tort_model_load_buffer(NULL, b->data, b->size, NULL, &model, &error)) {
        printf("the model of this test: %s\n", error.msg);
        exit(2);
    }
    return model;
}

tort_model *library_model(bool reshaped, onnx_bytes *b) {
    onnx_begin_model(b, 18);
    library_weight(b, "w1", 4, (const int64_t[]){4, 3, 3, 3});
    library_weight(b, "w2", 4, (const int64_t[]){5, 4, 1, 1});
    library_weight(b, "b2", 1, (const int64_t[]){5});
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, reshaped ? 1 : 4, (const int64_t[]){-1, 3, 9, 9});
    if (reshaped) {
        onnx_value(b, GRAPH_INPUT, "shape", TORT_INT64, 1, (const int64_t[]){4});
        onnx_node(b, "Reshape", "reshape", "x shape", "r");
    }
    onnx_node(b, "Conv", "first", reshaped ? "r w1" : "x w1", "c");
    onnx_node(b, "Conv", "second", "c w2 b2", "y");
    return finish(b);
}

static void fused_node(onnx_bytes *b, const char *op, const char *activation, int64_t padding, const char *inputs,
                       const char *output) {
    onnx_begin_node(b, GRAPH_NODE, op, output, inputs, output);
    onnx_text(b, NODE_DOMAIN, "tinyort");
    onnx_begin_attribute(b, "activation", TORT_ATTR_STRING);
    onnx_text(b, ATTR_S, activation);
    onnx_end(b);
    if (padding) onnx_begin_attribute(b, "pads", TORT_ATTR_INTS);
    for (int i = 0; padding && i < 4; i++) onnx_int(b, ATTR_INTS, padding);
    if (padding) onnx_end(b);
    onnx_end(b);
}

tort_model *library_fused_model(onnx_bytes *b) {
    onnx_begin_model(b, 18);
    library_weight(b, "w1", 4, (const int64_t[]){16, 3, 1, 1});
    library_weight(b, "w2", 4, (const int64_t[]){3, 16, 3, 3});
    library_weight(b, "w3", 4, (const int64_t[]){3, 3, 1, 1});
    library_weight(b, "w4", 2, (const int64_t[]){243, 2});
    library_weight(b, "b3", 1, (const int64_t[]){3});
    library_weight(b, "b4", 1, (const int64_t[]){2});
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 4, (const int64_t[]){-1, 3, 9, 9});
    onnx_node(b, "Conv", "wide", "x w1", "wide");
    fused_node(b, "FusedConv", "silu", 1, "wide w2 b3 x", "narrow"); /* sums of 144 products */
    fused_node(b, "FusedConv", "relu", 0, "narrow w3 b3 x", "positive");
    onnx_node(b, "Flatten", "flat", "positive", "flat");
    onnx_node(b, "Gemm", "gemm", "flat w4 b4", "both"); /* sums of 243 */
    fused_node(b, "FusedMatMul", "sigmoid", 0, "flat w4 b4 both", "y");
    return finish(b);
}
