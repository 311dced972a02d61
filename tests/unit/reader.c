/* Tests of tort_model_load_reader: a model whose bytes the application reads. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/include/tinyort.h"
#include "tests/counting_env.h"
#include "tests/onnx_bytes.h"

enum { COUNT = 1 << 18 }; /* elements of the weight: far more bytes than the loader looks at */

/* What the application has, and what was asked of it. */
typedef struct storage {
    const onnx_bytes *bytes;
    uint64_t asked; /* bytes in all */
    int calls, fail_at;
    bool outside; /* a byte was asked for that is not there */
} storage;

static int read_storage(void *ud, uint64_t offset, uint64_t length, void *dst) {
    storage *from = ud;
    from->outside |= offset > from->bytes->size || length > from->bytes->size - offset;
    if (from->outside || ++from->calls == from->fail_at) return 7;
    from->asked += length;
    memcpy(dst, from->bytes->data + offset, (size_t)length);
    return 0;
}

static tort_reader reader_of(storage *from) {
    return (tort_reader){
        .struct_size = sizeof(tort_reader), .size = from->bytes->size, .read = read_storage, .ud = from};
}

/* y = x + w, w as raw data in the file. */
static void write_model(onnx_bytes *b) {
    static float weight[COUNT];
    const int64_t count = COUNT;
    for (int i = 0; i < COUNT; i++) weight[i] = (float)i;
    onnx_begin_model(b, 21);
    onnx_tensor(b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, &count, weight, sizeof weight);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 1, &count);
    onnx_node(b, "Add", "add", "x w", "y");
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 1, &count);
    onnx_end(b);
}

static tort_status run(const tort_env *env, const tort_model *model, tort_error *error) {
    static float x[COUNT], y[COUNT];
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_session_options options = {.struct_size = sizeof options, .chain = "cpu:threads=1"};
    tort_tensor input = {.type = TORT_FLOAT, .rank = 1, .dims = {COUNT}, .data = x}, output = input;
    output.data = y;
    tort_status status = tort_session_create(env, model, &options, &session, error);
    if (!status) status = tort_context_create(session, &context, error);
    if (!status) status = tort_context_run(context, &input, 1, &output, 1, error);
    for (int i = 0; !status && i < COUNT; i += COUNT / 64 - 1) cr_expect_eq(y[i], (float)i);
    tort_context_free(context);
    tort_session_free(session);
    return status;
}

Test(reader, weights_are_read_when_a_session_needs_them) {
    onnx_bytes b = {0};
    tort_model *model = NULL;
    tort_error error;
    write_model(&b);
    storage from = {.bytes = &b};
    tort_reader reader = reader_of(&from);
    cr_assert_eq(tort_model_load_reader(NULL, &reader, NULL, &model, &error), TORT_OK, "%s", error.msg);
    reader = (tort_reader){.struct_size = 0}; /* the model has its own copy */
    cr_expect_lt(from.asked, b.size / 4, "loading asked for %llu bytes", (unsigned long long)from.asked);
    cr_expect_eq(run(NULL, model, &error), TORT_OK, "%s", error.msg);
    cr_expect_geq(from.asked, COUNT * sizeof(float));
    cr_expect_not(from.outside);
    tort_model_free(model);
    onnx_free(&b);
}

Test(reader, the_nth_read_fails) {
    onnx_bytes b = {0};
    write_model(&b);
    bool done = false;
    for (int n = 1; !done; n++) {
        tort_counting_env counting;
        tort_model *model = NULL;
        tort_error error = {.msg = ""};
        storage from = {.bytes = &b, .fail_at = n};
        const tort_reader reader = reader_of(&from);
        tort_counting_env_init(&counting);
        tort_status status = tort_model_load_reader(&counting.env, &reader, NULL, &model, &error);
        if (!status) status = run(&counting.env, model, &error);
        tort_model_free(model);
        done = from.calls < n;
        cr_expect_eq(status, done ? TORT_OK : TORT_E_IO, "read %d: %s: %s", n, tort_status_name(status), error.msg);
        if (!done) cr_expect(strstr(error.msg, "the application's reader gave no "), "%s", error.msg);
        cr_expect_eq(counting.live_blocks, 0);
        cr_expect_eq(counting.wrong_sizes, 0);
        cr_assert_lt(n, 100);
    }
    onnx_free(&b);
}

Test(reader, what_is_missing_is_named) {
    onnx_bytes b = {0};
    tort_model *model = NULL;
    tort_error error;
    write_model(&b);
    storage from = {.bytes = &b};
    tort_reader reader = reader_of(&from);
    cr_expect_eq(tort_model_load_reader(NULL, NULL, NULL, &model, &error), TORT_E_USAGE);
    reader.read = NULL;
    cr_expect_eq(tort_model_load_reader(NULL, &reader, NULL, &model, &error), TORT_E_USAGE);
    cr_expect(strstr(error.msg, "tort_reader has no function"), "%s", error.msg);
    reader = reader_of(&from);
    reader.struct_size = 0;
    cr_expect_eq(tort_model_load_reader(NULL, &reader, NULL, &model, &error), TORT_E_USAGE);
    cr_expect(strstr(error.msg, "tort_reader has struct_size 0"), "%s", error.msg);
    reader = reader_of(&from);
    reader.size /= 2;
    cr_expect_eq(tort_model_load_reader(NULL, &reader, NULL, &model, &error), TORT_E_MODEL);
    reader.size = 0;
    cr_expect_eq(tort_model_load_reader(NULL, &reader, NULL, &model, &error), TORT_E_MODEL);
    cr_expect_null(model);
    onnx_free(&b);
}

/* ---- external data ----------------------------------------------------------------------------------------------- */

static int give_ones(void *ud, const char *location, uint64_t offset, uint64_t length, void *dst) {
    const float one = 1;
    (void)ud;
    if (strcmp(location, "w.bin") != 0 || offset != 0 || length != 2 * sizeof one) return -1;
    memcpy(dst, &one, sizeof one);
    memcpy((char *)dst + sizeof one, &one, sizeof one);
    return 0;
}

Test(reader, external_data_comes_from_the_other_callback) {
    const int64_t two = 2;
    onnx_bytes b = {0};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_error error;
    onnx_begin_model(&b, 21);
    onnx_begin_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, &two);
    onnx_int(&b, TENSOR_LOCATION, 1);
    onnx_begin(&b, TENSOR_EXTERNAL);
    onnx_text(&b, 1, "location");
    onnx_text(&b, 2, "w.bin");
    onnx_end(&b);
    onnx_end(&b);
    onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 1, &two);
    onnx_node(&b, "Add", "add", "x w", "y");
    onnx_value(&b, GRAPH_OUTPUT, "y", TORT_FLOAT, 1, &two);
    onnx_end(&b);
    storage from = {.bytes = &b};
    const tort_reader reader = reader_of(&from);
    tort_load_options options = {.struct_size = sizeof options};
    cr_expect_eq(tort_model_load_reader(NULL, &reader, &options, &model, &error), TORT_E_MODEL);
    cr_expect(strstr(error.msg, "a model that is not a file needs tort_load_options.external"), "%s", error.msg);
    options.external = give_ones;
    cr_assert_eq(tort_model_load_reader(NULL, &reader, &options, &model, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(tort_session_create(NULL, model, NULL, &session, &error), TORT_OK, "%s", error.msg);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&b);
}
