/* side_models.c - see side_models.h. */
#include "tests/side_models.h"

#include <stdlib.h>

enum { COLUMNS = 8, CLASSES = 4, IMPORTED = 21 };

static const int64_t open_rows[] = {-1, COLUMNS}, open_list[] = {-1};

/* ---- models ------------------------------------------------------------------------------------------------------ */

static void output_named(onnx_bytes *b, const char *name) {
    onnx_value(b, GRAPH_OUTPUT, name, TORT_UNDEFINED, -1, NULL);
}

static void symbols(onnx_bytes *b) {
    float weights[COLUMNS * CLASSES];
    for (int i = 0; i < COLUMNS * CLASSES; i++) weights[i] = (float)(i % 5) - 2;
    const int64_t dims[] = {COLUMNS, CLASSES};
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 2, open_rows);
    onnx_value(b, GRAPH_INPUT, "z", TORT_FLOAT, 2, open_rows);
    onnx_tensor(b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 2, dims, weights, sizeof weights);
    onnx_node(b, "Add", "add", "x z", "sum");
    onnx_node(b, "Relu", "relu", "sum", "positive");
    onnx_node(b, "MatMul", "product", "positive w", "scores");
    onnx_node(b, "Softmax", "softmax", "scores", "y");
    output_named(b, "y");
}

static void dynamic(onnx_bytes *b) {
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 1, open_list);
    onnx_node(b, "NonZero", "nonzero", "x", "where");
    onnx_node(b, "Unique", "distinct", "x", "unique");
    output_named(b, "where");
    output_named(b, "unique");
}

static void sequence_input(onnx_bytes *b, const char *name, tort_type type) {
    onnx_begin(b, GRAPH_INPUT);
    onnx_text(b, 1, name);
    onnx_begin(b, 2); /* type */
    onnx_begin(b, 4); /* sequence_type */
    onnx_begin(b, 1); /* elem_type */
    onnx_begin(b, 1); /* tensor_type */
    onnx_int(b, 1, type);
    for (int i = 0; i < 5; i++) onnx_end(b);
}

static void sequences(onnx_bytes *b) {
    onnx_value(b, GRAPH_INPUT, "s", TORT_STRING, 1, open_list);
    sequence_input(b, "q", TORT_FLOAT);
    onnx_node(b, "StringConcat", "concat", "s s", "twice");
    onnx_node(b, "SplitToSequence", "split", "twice", "list");
    onnx_node(b, "Shape", "shape", "s", "length");
    onnx_begin_node(b, GRAPH_NODE, "Cast", "cast", "length", "number");
    onnx_int_attribute(b, "to", TORT_FLOAT);
    onnx_end(b);
    onnx_node(b, "SequenceInsert", "insert", "q number", "longer");
    output_named(b, "twice");
    output_named(b, "list");
    output_named(b, "longer");
}

static void loop(onnx_bytes *b) {
    onnx_value(b, GRAPH_INPUT, "n", TORT_INT64, 0, NULL);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 1, open_list);
    onnx_begin_loop(b, "loop", "n - x", "sum steps", 1, open_list);
    onnx_node(b, "Add", "step", "v x", "next");
    onnx_node(b, "Identity", "keep", "next", "kept");
    output_named(b, "still");
    onnx_value(b, GRAPH_OUTPUT, "next", TORT_FLOAT, 1, open_list);
    onnx_value(b, GRAPH_OUTPUT, "kept", TORT_FLOAT, 1, open_list);
    onnx_end_loop(b);
    output_named(b, "sum");
    output_named(b, "steps");
}

static const struct {
    void (*write)(onnx_bytes *b);
    int32_t inputs, outputs;
} sides[SIDE_COUNT] = {
    [SIDE_SYMBOLS] = {symbols, 2, 1},
    [SIDE_DYNAMIC] = {dynamic, 1, 2},
    [SIDE_SEQUENCES] = {sequences, 2, 3},
    [SIDE_LOOP] = {loop, 2, 2},
};

void side_model(onnx_bytes *b, side which) {
    *b = (onnx_bytes){.data = NULL};
    onnx_begin_model(b, IMPORTED);
    sides[which].write(b);
    onnx_end(b);
}

int32_t side_input_count(side which) {
    return sides[which].inputs;
}

int32_t side_output_count(side which) {
    return sides[which].outputs;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

static tort_value *floats(const tort_env *env, int32_t rank, int64_t rows) {
    tort_tensor tensor = {.type = TORT_FLOAT, .rank = rank, .dims = {rows, COLUMNS}};
    const int64_t count = rank == 2 ? rows * COLUMNS : rows;
    float *numbers = calloc((size_t)count + 1, sizeof *numbers);
    for (int64_t i = 0; numbers && i < count; i++) numbers[i] = (float)(i % 7) - 2;
    tensor.data = numbers;
    tort_value *value = tort_value_tensor(env, &tensor);
    free(numbers);
    return value;
}

static tort_value *words(const tort_env *env, int64_t count) {
    static const tort_string known[] = {{"a", 1}, {NULL, 0}, {"three", 5}};
    tort_string *list = calloc((size_t)count + 1, sizeof *list);
    for (int64_t i = 0; list && i < count; i++) list[i] = known[i % 3];
    const tort_tensor tensor = {.type = TORT_STRING, .rank = 1, .dims = {count}, .data = list};
    tort_value *value = tort_value_tensor(env, &tensor);
    free(list);
    return value;
}

static tort_value *list_of_floats(const tort_env *env, int64_t count) {
    tort_value *list = tort_value_sequence(env, tort_tensor_type(TORT_FLOAT));
    for (int64_t i = 0; list && i < count; i++) {
        tort_value *element = floats(env, 1, i);
        if (element) tort_value_append(list, element);
        tort_value_release(element);
    }
    return list;
}

void side_inputs(const tort_env *env, side which, int64_t size, const tort_value **inputs) {
    const tort_tensor trips = {.type = TORT_INT64, .data = &size};
    switch (which) {
    case SIDE_SYMBOLS:
        inputs[0] = floats(env, 2, size);
        inputs[1] = floats(env, 2, size);
        return;
    case SIDE_DYNAMIC: inputs[0] = floats(env, 1, size); return;
    case SIDE_SEQUENCES:
        inputs[0] = words(env, size);
        inputs[1] = list_of_floats(env, size);
        return;
    case SIDE_LOOP:
        inputs[0] = tort_value_tensor(env, &trips);
        inputs[1] = floats(env, 1, size);
        return;
    case SIDE_COUNT: return;
    }
}
