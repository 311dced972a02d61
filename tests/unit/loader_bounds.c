/* What loading may cost: of every model that is made to cost much, at each of three sizes, the most memory that is held
 * at once is within what loader/limits.h states, and grows as the file does. That the larger ones end at all, within
 * the time that a test may take, is part of it: no path may take quadratic time. */
#include <criterion/criterion.h>
#include <string.h>

#include "loader/limits.h"
#include "runtime/core/graph/graph.h"
#include "tests/adversarial.h"
#include "tests/counting_env.h"

/* Loads, checks what came of it, and returns the most that was held at once. */
static size_t peak_of(const adversarial_shape *shape, const onnx_bytes *b) {
    tort_counting_env counting;
    tort_counting_env_init(&counting);
    tort_model *model = NULL;
    tort_error error = {0};
    tort_status status = tort_model_load_buffer(&counting.env, b->data, b->size, NULL, &model, &error);
    cr_assert_eq(status, shape->expected, "%s: %s: %s", shape->name, tort_status_name(status), error.msg);
    if (shape->words)
        cr_assert(strstr(error.msg, shape->words), "%s: \"%s\" is not in: %s", shape->name, shape->words, error.msg);
    tort_model_free(model);
    cr_assert_eq(counting.live_blocks, 0);
    cr_assert_eq(counting.wrong_sizes, 0);
    return counting.max_bytes;
}

/* Memory that comes in steps (chunks of arenas, tables that double) may grow by this much more than the file. */
enum { STEPS = 2 };

static void check_shape(const adversarial_shape *shape, size_t granted) {
    size_t first = 0, first_size = 0;
    for (int factor = 1; factor <= 4; factor *= 2) {
        onnx_bytes b = {0};
        shape->write(&b, shape->n * factor);
        size_t peak = peak_of(shape, &b), limit = tort_load_limit(b.size) + granted;
        cr_assert_leq(peak, limit, "%s: %zu bytes for a file of %zu", shape->name, peak, b.size);
        if (factor == 1) {
            first = peak;
            first_size = b.size;
        }
        double growth = (double)peak / (double)first, file_growth = (double)b.size / (double)first_size;
        cr_assert_leq(growth, file_growth * STEPS, "%s: %zu times the file takes %.1f times the memory", shape->name,
                      (size_t)factor, growth);
        onnx_free(&b);
    }
}

static bool expands_calls(const adversarial_shape *shape) {
    return strcmp(shape->name, "calls") == 0 || strncmp(shape->name, "references", 10) == 0;
}

static void each_shape(void (*check)(const adversarial_shape *shape)) {
    const adversarial_shape *const tables[] = {adversarial_graph, adversarial_contents, adversarial_bodies};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const adversarial_shape *shape = tables[t]; shape->name; shape++) check(shape);
}

static void check_multiple(const adversarial_shape *shape) {
    check_shape(shape, expands_calls(shape) ? TORT_MAX_EXPANDED : 0);
}

Test(loader_bounds, memory_is_a_stated_multiple_of_the_file) {
    each_shape(check_multiple);
}

static void check_unrefused(const adversarial_shape *shape) {
    bool multiplies = expands_calls(shape) || strcmp(shape->name, "deep captures") == 0;
    if (shape->expected || multiplies) return;
    onnx_bytes b = {0};
    shape->write(&b, shape->n * 16);
    cr_assert_gt(b.size, 1 << 20);
    cr_assert_leq(peak_of(shape, &b), b.size * TORT_LOAD_FACTOR + ((size_t)2 << 20), "%s", shape->name);
    onnx_free(&b);
}

/* What the loader builds is within the multiple by itself, and not only because the limit says no. */
Test(loader_bounds, models_that_load_need_no_refusal, .timeout = 300) {
    each_shape(check_unrefused);
}

/* A call costs what the function costs, whatever the file's own size is; and it is counted before it is made. */
Test(loader_bounds, calls_that_multiply_are_refused_before_they_take_memory) {
    enum { LEVELS = 12, CALLS = 10 };
    onnx_bytes b = {0};
    onnx_opset(&b, MODEL_OPSET, "", 17);
    for (int level = 0; level < LEVELS; level++) {
        char name[8] = {'F', (char)('a' + level), 0}, next[8] = {'F', (char)('a' + level + 1), 0};
        onnx_begin(&b, MODEL_FUNCTION);
        onnx_text(&b, FUNCTION_NAME, name);
        for (int i = 0; i < CALLS; i++) {
            onnx_begin_node(&b, FUNCTION_NODE, next, "", "", "");
            onnx_end(&b);
        }
        onnx_end(&b);
    }
    onnx_begin_model(&b, 17);
    onnx_node(&b, "Fa", "", "", "");
    onnx_end(&b);
    const adversarial_shape shape = {"calls that multiply", NULL, 0, TORT_E_MODEL, "expand to more than 512 MiB"};
    cr_assert_leq(peak_of(&shape, &b), tort_load_limit(b.size) + TORT_MAX_EXPANDED);
    onnx_free(&b);
}

/* What sparse tensors become is bounded for a whole model, and counted before it is made. */
Test(loader_bounds, sparse_tensors_have_a_limit_of_their_own) {
    const int64_t none[] = {0};
    for (int count = 1; count <= 2; count++) {
        onnx_bytes b = {0};
        onnx_begin_model(&b, 17);
        for (int i = 0; i < count; i++) {
            onnx_begin(&b, GRAPH_SPARSE);
            onnx_tensor(&b, 1, i ? "v" : "w", TORT_INT8, 1, none, "", 0);
            onnx_tensor(&b, 2, "", TORT_INT64, 1, none, "", 0);
            onnx_int(&b, 3, 200 << 20);
            onnx_end(&b);
        }
        onnx_end(&b);
        const adversarial_shape one = {"one sparse tensor", NULL, 0, TORT_OK, NULL};
        const adversarial_shape two = {"two", NULL, 0, TORT_E_MODEL, "more than 256 MiB once they are dense"};
        cr_assert_leq(peak_of(count == 1 ? &one : &two, &b), tort_load_limit(b.size) + TORT_MAX_SPARSE);
        onnx_free(&b);
    }
}

static int give_zeros(void *ud, const char *location, uint64_t offset, uint64_t length, void *dst) {
    (void)ud;
    (void)location;
    (void)offset;
    memset(dst, 0, (size_t)length);
    return 0;
}

/* A model that was loaded takes what memory it needs: a weight of 32 MiB beside a file of some 100 bytes. */
Test(loader_bounds, the_limit_ends_with_the_loading) {
    enum { ELEMENTS = 8 << 20 };
    onnx_bytes b = {0};
    tort_counting_env counting;
    tort_counting_env_init(&counting);
    onnx_begin_model(&b, 17);
    onnx_begin_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, (const int64_t[]){ELEMENTS});
    onnx_int(&b, TENSOR_LOCATION, 1);
    onnx_begin(&b, TENSOR_EXTERNAL);
    onnx_text(&b, 1, "location");
    onnx_text(&b, 2, "w.bin");
    onnx_end(&b);
    onnx_end(&b);
    onnx_end(&b);
    tort_model *model = NULL;
    tort_error error = {0};
    const tort_load_options options = {.struct_size = sizeof options, .external = give_zeros};
    tort_status status = tort_model_load_buffer(&counting.env, b.data, b.size, &options, &model, &error);
    cr_assert_eq(status, TORT_OK, "%s", error.msg);
    const void *data;
    cr_assert_gt(ELEMENTS * sizeof(float), tort_load_limit(b.size));
    cr_assert_eq(tort_weight_acquire(model, 0, &data, &error), TORT_OK, "%s", error.msg);
    tort_weight_release(model, 0);
    tort_model_free(model);
    cr_assert_eq(counting.live_blocks, 0);
    onnx_free(&b);
}
