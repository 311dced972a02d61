/* provider_model.c - see provider_model.h. */
#include "tests/cuda/provider_model.h"

#include <stdio.h>
#include <string.h>

#include "runtime/core/graph/graph.h"

/* Small, of either sign, never the same in a row of weights. */
static float value_at(int i) {
    return (float)((i * 37 + 11) % 23 - 11) / 16.0f;
}

static void weight(onnx_bytes *b, const char *name, int rank, const int64_t *dims, float offset) {
    float values[400];
    int count = 1;
    for (int i = 0; i < rank; i++) count *= (int)dims[i];
    for (int i = 0; i < count; i++) values[i] = value_at(i) + offset;
    onnx_tensor(b, GRAPH_INITIALIZER, name, TORT_FLOAT, rank, dims, values, (size_t)count * sizeof *values);
}

static void integers(onnx_bytes *b, const char *name, int count, const int64_t *values) {
    const int64_t dims[] = {count};
    onnx_tensor(b, GRAPH_INITIALIZER, name, TORT_INT64, 1, dims, values, (size_t)count * sizeof *values);
}

/* Of the nodes behind "tanh". */
static void more_weights(onnx_bytes *b) {
    const int64_t one[] = {1}, depth[] = {6}, rows[] = {1, 0}, sizes[] = {2, 3}, repeats[] = {1, 2};
    const float low[] = {-0.5f}, high[] = {0.75f};
    weight(b, "values", 1, (const int64_t[]){2}, 0.0f);
    weight(b, "updates", 2, (const int64_t[]){2, 6}, 0.0f);
    onnx_tensor(b, GRAPH_INITIALIZER, "low", TORT_FLOAT, 0, NULL, low, sizeof low);
    onnx_tensor(b, GRAPH_INITIALIZER, "high", TORT_FLOAT, 0, NULL, high, sizeof high);
    onnx_tensor(b, GRAPH_INITIALIZER, "axis", TORT_INT64, 0, NULL, one, sizeof one);
    onnx_tensor(b, GRAPH_INITIALIZER, "depth", TORT_INT64, 0, NULL, depth, sizeof depth);
    onnx_tensor(b, GRAPH_INITIALIZER, "rows", TORT_INT64, 2, (const int64_t[]){2, 1}, rows, sizeof rows);
    integers(b, "sizes", 2, sizes);
    integers(b, "repeats", 2, repeats);
    integers(b, "most", 1, depth);
}

static void weights(onnx_bytes *b) {
    const int64_t starts[] = {0}, ends[] = {2}, axes[] = {2}, last[] = {1}, wide[] = {2, 4}, pads[] = {0, 1, 0, 1};
    weight(b, "conv_w", 4, (const int64_t[]){4, 3, 3, 3}, 0.0f);
    weight(b, "conv_b", 1, (const int64_t[]){4}, 0.0f);
    weight(b, "mix_w", 4, (const int64_t[]){4, 4, 1, 1}, 0.0f);
    weight(b, "norm_scale", 1, (const int64_t[]){4}, 1.0f);
    weight(b, "norm_var", 1, (const int64_t[]){4}, 1.0f);
    weight(b, "matmul_w", 2, (const int64_t[]){2, 5}, 0.0f);
    weight(b, "row", 1, (const int64_t[]){5}, 0.5f);
    weight(b, "gemm_w", 2, (const int64_t[]){80, 4}, 0.0f);
    weight(b, "gemm_c", 1, (const int64_t[]){4}, 0.0f);
    weight(b, "square", 2, (const int64_t[]){4, 4}, 0.0f);
    integers(b, "starts", 1, starts);
    integers(b, "ends", 1, ends);
    integers(b, "axes", 1, axes);
    integers(b, "last", 1, last);
    integers(b, "wide", 2, wide);
    integers(b, "pads", 4, pads);
    more_weights(b);
    weight(b, "angles", 3, (const int64_t[]){1, 3, 1}, 0.0f);
    integers(b, "by_head", 4, (const int64_t[]){1, 1, 3, 2});
    integers(b, "by_row", 2, (const int64_t[]){2, 3});
}

static void nodes(onnx_bytes *b) {
    onnx_node(b, "Conv", "conv", "image conv_w conv_b", "v0");                                /* 2 4 4 3 */
    onnx_node(b, "Conv", "mix", "v0 mix_w conv_b", "m0");                                     /* 2 4 4 3 */
    onnx_node(b, "BatchNormalization", "norm", "m0 norm_scale conv_b conv_b norm_var", "v1"); /* 2 4 4 3 */
    onnx_node(b, "Relu", "relu", "v1", "v2");
    onnx_begin_node(b, GRAPH_NODE, "MaxPool", "pool", "v2", "p"); /* 2 4 4 3 */
    onnx_begin_attribute(b, "kernel_shape", TORT_ATTR_INTS);
    onnx_int(b, ATTR_INTS, 1);
    onnx_int(b, ATTR_INTS, 1);
    onnx_end(b);
    onnx_end(b);
    onnx_node(b, "Transpose", "transpose", "p", "v3");     /* 3 4 4 2 */
    onnx_node(b, "MatMul", "matmul", "v3 matmul_w", "v4"); /* 3 4 4 5 */
    onnx_node(b, "Add", "add", "v4 row", "v5");
    onnx_node(b, "LayerNormalization", "layer", "v5 row row", "v6");
    onnx_node(b, "Softmax", "softmax", "v6", "v7");
    onnx_node(b, "Mul", "mul", "v7 v5", "v8"); /* not v6, of which the norm took nearly all that depends on the image */
    onnx_node(b, "Slice", "slice", "v8 starts ends axes", "v9");        /* 3 4 2 5 */
    onnx_begin_node(b, GRAPH_NODE, "Concat", "concat", "v9 v9", "v10"); /* 3 8 2 5 */
    onnx_int_attribute(b, "axis", 1);
    onnx_end(b);
    onnx_node(b, "Gather", "gather", "v10 ids", "v11"); /* 2 8 2 5 */
    onnx_node(b, "Flatten", "flatten", "v11", "v12");   /* 2 80 */
    onnx_node(b, "Gemm", "gemm", "v12 gemm_w gemm_c", "v13");
    onnx_node(b, "Sigmoid", "sigmoid", "v13", "v14");
    onnx_node(b, "Gemm", "square_gemm", "v14 square", "v15"); /* 2 4 */
    onnx_node(b, "ReduceMean", "mean", "v15 last", "v16");    /* 2 1 */
    onnx_node(b, "Expand", "expand", "v16 wide", "v17");      /* 2 4 */
    onnx_node(b, "Sub", "sub", "v17 v15", "v18");
    onnx_node(b, "Pad", "pad", "v18 pads", "v19"); /* 2 6 */
    onnx_node(b, "Tanh", "tanh", "v19", "v20");
}

/* [2, 6] each, but where said. */
static void more_nodes(onnx_bytes *b) {
    onnx_node(b, "Clip", "clip", "v20 low high", "w0");
    onnx_node(b, "CumSum", "cumulative", "w0 axis", "w1");
    onnx_node(b, "Less", "less", "w1 w0", "w2");
    onnx_node(b, "Where", "where", "w2 w0 w1", "w3");
    onnx_begin_node(b, GRAPH_NODE, "Cast", "cast", "w2", "w4");
    onnx_int_attribute(b, "to", TORT_FLOAT);
    onnx_end(b);
    onnx_node(b, "OneHot", "one_hot", "ids depth values", "w5");
    onnx_node(b, "Sum", "sum", "w3 w4 w5", "w6");
    onnx_node(b, "ScatterND", "scatter", "w6 rows updates", "w7");
    onnx_node(b, "Add", "add_scattered", "w7 w6", "w8");
    onnx_begin_node(b, GRAPH_NODE, "Resize", "resize", "w8 - - sizes", "w9"); /* 2 3 */
    onnx_begin_attribute(b, "mode", TORT_ATTR_STRING);
    onnx_text(b, ATTR_S, "linear");
    onnx_end(b);
    onnx_end(b);
    onnx_node(b, "Reshape", "heads", "w9 by_head", "h0"); /* 1 1 3 2 */
    onnx_node(b, "Attention", "attention", "h0 h0 h0", "h1");
    onnx_node(b, "RotaryEmbedding", "rotary", "h1 angles angles", "h2");
    onnx_node(b, "Reshape", "rows", "h2 by_row", "h3"); /* 2 3 */
    onnx_node(b, "Tile", "tile", "h3 repeats", "w10");
    onnx_node(b, "Trilu", "triangle", "w10", "w11");
    onnx_node(b, "TopK", "topk", "w11 most", "w12 -");
    onnx_node(b, "Dropout", "dropout", "w12", "w13 mask");
    onnx_node(b, "Where", "where_kept", "mask w13 w11", "y");
}

bool provider_model_make(provider_model *model) {
    onnx_bytes *b = &model->bytes;
    tort_error error;
    for (int i = 0; i < 2 * 3 * 6 * 5; i++) model->image[i] = value_at(i + 5);
    model->ids[1] = PROVIDER_MODEL_ID;
    onnx_begin_model(b, 23);
    weights(b);
    onnx_value(b, GRAPH_INPUT, "image", TORT_FLOAT, 4, (const int64_t[]){2, 3, 6, 5});
    onnx_value(b, GRAPH_INPUT, "ids", TORT_INT64, 1, (const int64_t[]){2});
    nodes(b);
    more_nodes(b);
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 2, (const int64_t[]){2, 6});
    onnx_end(b);
    if (!tort_model_load_buffer(NULL, b->data, b->size, NULL, &model->model, &error)) return true;
    printf("the model of this test: %s\n", error.msg);
    return false;
}

void provider_model_free(provider_model *model) {
    tort_model_free(model->model);
    onnx_free(&model->bytes);
}

tort_status provider_model_run(provider_model *model, tort_context *context, float *output, tort_error *error) {
    const tort_tensor inputs[] = {{TORT_FLOAT, 4, {2, 3, 6, 5}, model->image}, {TORT_INT64, 1, {2}, model->ids}};
    tort_tensor outputs[] = {{TORT_FLOAT, 2, {2, 6}, output}};
    return tort_context_run(context, inputs, 2, outputs, 1, error);
}
