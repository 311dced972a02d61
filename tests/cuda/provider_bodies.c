/* provider_bodies.c - a model with bodies, nodes that fusions join in and outside of them, and a sequence, which only
 * cpu holds: each on a way of its own through copies, calls and what they leave when one fails. Same inputs and output
 * as provider_model.c. */
#include <stdio.h>

#include "runtime/core/graph/graph.h"
#include "tests/cuda/provider_model.h"

static const int64_t shape[] = {2, 6};

static void weight(onnx_bytes *b, const char *name, int rank, const int64_t *dims, float offset) {
    float values[108];
    int count = 1;
    for (int i = 0; i < rank; i++) count *= (int)dims[i];
    for (int i = 0; i < count; i++) values[i] = (float)((i * 29 + 7) % 19 - 9) / 16.0f + offset;
    onnx_tensor(b, GRAPH_INITIALIZER, name, TORT_FLOAT, rank, dims, values, (size_t)count * sizeof *values);
}

static void number(onnx_bytes *b, const char *name, int rank, int64_t value) {
    const int64_t one[] = {1};
    onnx_tensor(b, GRAPH_INITIALIZER, name, TORT_INT64, rank, one, &value, sizeof value);
}

static void weights(onnx_bytes *b) {
    weight(b, "conv_w", 4, (const int64_t[]){4, 3, 3, 3}, 0.0f);
    weight(b, "conv_b", 1, (const int64_t[]){4}, 0.0f);
    weight(b, "norm_scale", 1, (const int64_t[]){4}, 1.0f);
    weight(b, "norm_var", 1, (const int64_t[]){4}, 1.0f);
    weight(b, "gemm_w", 2, (const int64_t[]){4, 6}, 0.0f);
    weight(b, "row", 1, (const int64_t[]){6}, 0.25f);
    weight(b, "square", 2, (const int64_t[]){6, 6}, 0.0f);
    weight(b, "limit", 0, NULL, 0.0f);
    number(b, "trips", 0, 3);
    number(b, "last", 0, 1);
    number(b, "first_axis", 1, 0);
}

/* v = relu(v square + row) three times, and every v. */
static void loop(onnx_bytes *b) {
    onnx_begin_loop(b, "loop", "trips - x", "looped parts", 2, shape);
    onnx_node(b, "MatMul", "step", "v square", "s0");
    onnx_node(b, "Add", "step_bias", "s0 row", "s1");
    onnx_node(b, "Relu", "step_relu", "s1", "w");
    onnx_node(b, "Neg", "part", "w", "p");
    onnx_value(b, GRAPH_OUTPUT, "still", TORT_BOOL, 0, NULL);
    onnx_value(b, GRAPH_OUTPUT, "w", TORT_FLOAT, 2, shape);
    onnx_value(b, GRAPH_OUTPUT, "p", TORT_FLOAT, 2, shape);
    onnx_end_loop(b);
}

/* One branch computes, the other hands on what is outside. */
static void condition(onnx_bytes *b) {
    onnx_begin_node(b, GRAPH_NODE, "ReduceMean", "mean", "looped", "m");
    onnx_int_attribute(b, "keepdims", 0);
    onnx_end(b);
    onnx_node(b, "Greater", "above", "m limit", "is");
    onnx_begin_node(b, GRAPH_NODE, "If", "if", "is", "chosen");
    onnx_begin_body(b, "then_branch");
    onnx_node(b, "Tanh", "then_tanh", "looped", "t");
    onnx_value(b, GRAPH_OUTPUT, "t", TORT_FLOAT, 2, shape);
    onnx_end_body(b);
    onnx_begin_body(b, "else_branch");
    onnx_node(b, "Identity", "else_same", "looped", "e");
    onnx_value(b, GRAPH_OUTPUT, "e", TORT_FLOAT, 2, shape);
    onnx_end_body(b);
    onnx_end(b);
}

static void nodes(onnx_bytes *b) {
    onnx_node(b, "Conv", "conv", "image conv_w conv_b", "c0"); /* 2 4 4 3 */
    onnx_node(b, "BatchNormalization", "norm", "c0 norm_scale conv_b conv_b norm_var", "c1");
    onnx_node(b, "Relu", "relu", "c1", "c2");
    onnx_node(b, "GlobalAveragePool", "pool", "c2", "c3");
    onnx_node(b, "Flatten", "flatten", "c3", "c4"); /* 2 4 */
    onnx_node(b, "Gemm", "gemm", "c4 gemm_w row", "g");
    onnx_node(b, "Sigmoid", "sigmoid", "g", "x"); /* 2 6, as all that follows */
    loop(b);
    condition(b);
    onnx_node(b, "SplitToSequence", "rows", "chosen", "parted"); /* 2 of 1 6 */
    onnx_node(b, "SequenceAt", "row_at", "parted last", "second");
    onnx_node(b, "SequenceInsert", "insert", "parted second", "longer");
    onnx_node(b, "SequenceErase", "erase", "longer last", "shorter");
    onnx_begin_node(b, GRAPH_NODE, "ConcatFromSequence", "join", "shorter", "joined");
    onnx_int_attribute(b, "axis", 0);
    onnx_end(b);
    onnx_begin_node(b, GRAPH_NODE, "ReduceMean", "parts_mean", "parts first_axis", "r");
    onnx_int_attribute(b, "keepdims", 0);
    onnx_end(b);
    onnx_node(b, "Gather", "gather", "square ids", "rows_of");
    onnx_node(b, "Sum", "sum", "joined r rows_of", "y");
}

bool provider_bodies_make(provider_model *model) {
    onnx_bytes *b = &model->bytes;
    tort_error error;
    for (int i = 0; i < 2 * 3 * 6 * 5; i++) model->image[i] = (float)(i % 13 - 6) / 8.0f;
    model->ids[1] = PROVIDER_MODEL_ID;
    model->folded = true;
    onnx_begin_model(b, 23);
    weights(b);
    onnx_value(b, GRAPH_INPUT, "image", TORT_FLOAT, 4, (const int64_t[]){2, 3, 6, 5});
    onnx_value(b, GRAPH_INPUT, "ids", TORT_INT64, 1, (const int64_t[]){2});
    nodes(b);
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 2, shape);
    onnx_end(b);
    if (!tort_model_load_buffer(NULL, b->data, b->size, NULL, &model->model, &error)) return true;
    printf("the model of bodies: %s\n", error.msg);
    return false;
}
