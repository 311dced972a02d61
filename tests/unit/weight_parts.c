/* weight_parts.c - tests of weights that are packed in parts out of their file, and side by side: the same bits as
 * from a weight that is read whole, and an error where the file became shorter. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/include/tinyort.h"
#include "tests/onnx_bytes.h"

enum { IN = 1031, MIDDLE = 1039, OUT = 1033 }; /* no multiples of panels or blocks; each weight has more than 4 MiB */

static float *random_floats(size_t count, uint32_t state) {
    float *values = malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(state >> 8) * 0x1p-24f - 0.5f;
    }
    return values;
}

static void add_weight(onnx_bytes *b, const char *name, int64_t rows, int64_t columns) {
    const size_t count = (size_t)(rows * columns);
    float *values = random_floats(count, (uint32_t)rows);
    onnx_tensor(b, GRAPH_INITIALIZER, name, TORT_FLOAT, 2, (const int64_t[]){rows, columns}, values,
                count * sizeof *values);
    free(values);
}

/* y = x * v * transposed w: one weight is read in blocks of its rows, the other in panels. */
static void write_model(onnx_bytes *b) {
    onnx_begin_model(b, 21);
    add_weight(b, "v", IN, MIDDLE);
    add_weight(b, "w", OUT, MIDDLE);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 2, (const int64_t[]){3, IN});
    onnx_node(b, "MatMul", "product", "x v", "between");
    onnx_begin_node(b, GRAPH_NODE, "Gemm", "transposed", "between w", "y");
    onnx_int_attribute(b, "transB", 1);
    onnx_end(b);
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 2, (const int64_t[]){3, OUT});
    onnx_end(b);
}

static int read_bytes(void *ud, uint64_t offset, uint64_t length, void *dst) {
    memcpy(dst, ((const onnx_bytes *)ud)->data + offset, (size_t)length);
    return 0;
}

/* A weight that an application's function reads is always read whole. */
static tort_model *load_whole(onnx_bytes *b) {
    const tort_reader reader = {.struct_size = sizeof reader, .size = b->size, .read = read_bytes, .ud = b};
    tort_error error;
    tort_model *model = NULL;
    cr_assert_eq(tort_model_load_reader(NULL, &reader, NULL, &model, &error), TORT_OK, "%s", error.msg);
    return model;
}

static void run(const tort_model *model, const char *chain, float *y) {
    float *x = random_floats(3 * IN, 1);
    tort_error error;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_session_options options = {.struct_size = sizeof options, .chain = chain};
    tort_tensor input = {.type = TORT_FLOAT, .rank = 2, .dims = {3, IN}, .data = x};
    tort_tensor output = {.type = TORT_FLOAT, .rank = 2, .dims = {3, OUT}, .data = y};
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_run(context, &input, 1, &output, 1, &error), TORT_OK, "%s", error.msg);
    tort_context_free(context);
    tort_session_free(session);
    free(x);
}

static void same_on(const char *chain, const tort_model *whole, const tort_model *parts) {
    static float expected[3 * OUT], y[3 * OUT];
    run(whole, chain, expected);
    run(parts, chain, y);
    cr_expect(!memcmp(expected, y, sizeof y), "%s", chain);
}

Test(weight_parts, give_the_bits_of_a_whole_weight) {
    static float plain[3 * OUT], fast[3 * OUT];
    onnx_bytes b = {0};
    write_model(&b);
    tort_error error;
    tort_model *parts = NULL, *whole = load_whole(&b);
    cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, NULL, &parts, &error), TORT_OK, "%s", error.msg);
    same_on("cpu:threads=1", whole, parts);
    same_on("cpu:threads=3", whole, parts);
    same_on("cpu:threads=1:isa=plain", whole, parts);
    run(whole, "cpu:isa=plain", plain);
    run(parts, "cpu:threads=2", fast);
    for (int i = 0; i < 3 * OUT; i++)
        cr_assert_lt((plain[i] - fast[i]) * (plain[i] - fast[i]), 1e-4, "%g, the plain loop makes %g", (double)fast[i],
                     (double)plain[i]);
    tort_model_free(whole);
    tort_model_free(parts);
    onnx_free(&b);
}

Test(weight_parts, of_a_file_that_became_shorter_are_an_error) {
    onnx_bytes b = {0};
    char path[] = "/tmp/weight_parts.XXXXXX";
    tort_error error;
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_session_options options = {.struct_size = sizeof options, .chain = "cpu:threads=3"};
    write_model(&b);
    const int file = mkstemp(path);
    cr_assert_eq(write(file, b.data, b.size), (ssize_t)b.size);
    cr_assert_eq(tort_model_load(NULL, path, NULL, &model, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(ftruncate(file, (off_t)b.size / 2), 0);
    cr_expect_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_E_IO);
    cr_expect(strstr(error.msg, "became shorter"), "%s", error.msg);
    cr_expect_neq(error.node, -1);
    cr_expect_null(session);
    tort_model_free(model);
    close(file);
    unlink(path);
    onnx_free(&b);
}
