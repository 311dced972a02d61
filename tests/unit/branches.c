/* Branches of an If that do not fit the shapes: exporters leave them for other shapes, so that they are refused when
 * they run, and not before; the same of a saved plan. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/counting_env.h"
#include "tests/onnx_bytes.h"
#include "tests/saved_plan.h"

static const char reason[] = "axis 0 has 2 elements; only a dimension of 1 can go";

/* y = Squeeze(x, 0), which does not fit two rows. */
static void squeeze(onnx_bytes *b, const char *input, const char *output) {
    const int64_t axis = 0, one[] = {1};
    char inputs[32];
    onnx_tensor(b, GRAPH_INITIALIZER, "axis", TORT_INT64, 1, one, &axis, sizeof axis);
    snprintf(inputs, sizeof inputs, "%s axis", input);
    onnx_node(b, "Squeeze", "squeeze", inputs, output);
    onnx_value(b, GRAPH_OUTPUT, output, TORT_FLOAT, -1, NULL);
}

static void absolute(onnx_bytes *b, const char *input, const char *output) {
    onnx_node(b, "Abs", "abs", input, output);
    onnx_value(b, GRAPH_OUTPUT, output, TORT_FLOAT, -1, NULL);
}

static void begin(onnx_bytes *b, int64_t rows) {
    const int64_t dims[] = {rows, 4};
    onnx_begin_model(b, 17);
    onnx_value(b, GRAPH_INPUT, "c", TORT_BOOL, 0, NULL);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 2, dims);
}

static void end(onnx_bytes *b) {
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, -1, NULL);
    onnx_end(b);
}

static void then_does_not_fit(onnx_bytes *b, int64_t rows) {
    begin(b, rows);
    onnx_begin_node(b, GRAPH_NODE, "If", "if", "c", "y");
    onnx_begin_body(b, "then_branch");
    squeeze(b, "x", "s");
    onnx_end_body(b);
    onnx_begin_body(b, "else_branch");
    absolute(b, "x", "a");
    onnx_end_body(b);
    onnx_end(b);
    end(b);
}

/* The If that does not fit stands in the branch of another one. */
static void both_do_not_fit(onnx_bytes *b) {
    onnx_begin_node(b, GRAPH_NODE, "If", "inner", "c", "z");
    onnx_begin_body(b, "then_branch");
    squeeze(b, "x", "s");
    onnx_end_body(b);
    onnx_begin_body(b, "else_branch");
    squeeze(b, "x", "t");
    onnx_end_body(b);
    onnx_end(b);
}

static void nested(onnx_bytes *b, int64_t rows) {
    begin(b, rows);
    onnx_begin_node(b, GRAPH_NODE, "If", "if", "c", "y");
    onnx_begin_body(b, "then_branch");
    both_do_not_fit(b);
    onnx_value(b, GRAPH_OUTPUT, "z", TORT_FLOAT, -1, NULL);
    onnx_end_body(b);
    onnx_begin_body(b, "else_branch");
    absolute(b, "x", "a");
    onnx_end_body(b);
    onnx_end(b);
    end(b);
}

/* That the inner condition holds is known once it is computed, which planning does. */
static void found_while_folding(onnx_bytes *b, int64_t rows) {
    const int64_t one[] = {1}, number = 3;
    begin(b, rows);
    onnx_begin_node(b, GRAPH_NODE, "If", "if", "c", "y");
    onnx_begin_body(b, "then_branch");
    onnx_tensor(b, GRAPH_INITIALIZER, "number", TORT_INT64, 1, one, &number, sizeof number);
    onnx_node(b, "Equal", "equal", "number number", "k");
    onnx_begin_node(b, GRAPH_NODE, "If", "inner", "k", "z");
    onnx_begin_body(b, "then_branch");
    squeeze(b, "x", "s");
    onnx_end_body(b);
    onnx_begin_body(b, "else_branch");
    absolute(b, "x", "a");
    onnx_end_body(b);
    onnx_end(b);
    onnx_value(b, GRAPH_OUTPUT, "z", TORT_FLOAT, -1, NULL);
    onnx_end_body(b);
    onnx_begin_body(b, "else_branch");
    absolute(b, "x", "a");
    onnx_end_body(b);
    onnx_end(b);
    end(b);
}

static tort_status run(tort_session *session, bool condition, tort_error *error) {
    float x[8] = {-1, 2, -3, 4, -5, 6, -7, 8};
    const tort_tensor inputs[] = {{.type = TORT_BOOL, .data = &condition},
                                  {.type = TORT_FLOAT, .rank = 2, .dims = {2, 4}, .data = x}};
    tort_tensor output = {.data = NULL};
    tort_context *context;
    tort_status status = tort_context_create(session, &context, error);
    if (!status) status = tort_context_run(context, inputs, 2, &output, 1, error);
    if (!status) cr_expect(output.rank == 2 && output.dims[0] == 2 && ((const float *)output.data)[2] == 3.0f);
    tort_context_free(context);
    return status;
}

/* The branch that fits runs, the other one says why it does not, and then the first runs again. */
static void expect_both(tort_session *session, tort_status refused, const char *what) {
    tort_error error = {0};
    cr_expect_eq(run(session, false, &error), TORT_OK, "%s: %s", what, error.msg);
    cr_expect_eq(run(session, true, &error), refused, "%s", what);
    cr_expect(strstr(error.msg, reason) && strstr(error.msg, "_branch/squeeze\" (Squeeze-13)"), "%s: %s", what,
              error.msg);
    cr_expect_eq(run(session, false, &error), TORT_OK, "%s: %s", what, error.msg);
}

static void check(void (*write)(onnx_bytes *b, int64_t rows), int64_t rows, bool fixed, const char *what) {
    onnx_bytes b = {0};
    saved_bytes saved = {0};
    tort_model *model;
    tort_session *session;
    tort_error error = {0};
    tort_counting_env counting;
    tort_counting_env_init(&counting);
    write(&b, rows);
    const tort_input_shape shape = {.name = "x", .rank = 2, .dims = {2, 4}};
    const tort_status refused = rows < 0 && !fixed ? TORT_E_INPUT : TORT_E_MODEL; /* what is to blame for the sizes */
    tort_session_options options = {.struct_size = sizeof options, .chain = "cpu:threads=1"};
    if (fixed) options.shapes = &shape, options.shape_count = 1;
    cr_assert_eq(tort_model_load_buffer(&counting.env, b.data, b.size, NULL, &model, &error), TORT_OK, "%s: %s", what,
                 error.msg);
    cr_assert_eq(tort_session_create(&counting.env, model, &options, &session, &error), TORT_OK, "%s: %s", what,
                 error.msg);
    expect_both(session, refused, what);
    const tort_writer writer = saved_writer(&saved);
    cr_assert_eq(tort_session_save_writer(session, &writer, &error), TORT_OK, "%s: %s", what, error.msg);
    tort_session_free(session);
    tort_model_free(model);
    cr_assert_eq(tort_session_load_buffer(&counting.env, saved.data, saved.size, NULL, &session, &error), TORT_OK,
                 "%s: %s", what, error.msg);
    expect_both(session, refused, what);
    tort_session_free(session);
    cr_expect_eq(counting.live_blocks, 0);
    free(saved.data);
    onnx_free(&b);
}

Test(branches, one_that_is_not_taken_need_not_fit) {
    check(then_does_not_fit, 2, false, "shapes of the model");
    check(then_does_not_fit, -1, false, "shapes of the run");
    check(then_does_not_fit, -1, true, "shapes of the session");
    check(nested, 2, false, "an If in an If");
    check(found_while_folding, 2, false, "a condition that is computed");
}

Test(branches, one_of_them_must_fit) {
    onnx_bytes b = {0};
    tort_model *model;
    tort_error error = {0};
    begin(&b, 2);
    both_do_not_fit(&b);
    onnx_node(&b, "Identity", "", "z", "y");
    end(&b);
    cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, NULL, &model, &error), TORT_E_MODEL);
    cr_assert(strstr(error.msg, reason), "%s", error.msg);
    onnx_free(&b);
}

/* A body that has to run is refused when the model is loaded. */
Test(branches, a_condition_that_is_known) {
    static const uint8_t yes = 1;
    onnx_bytes b = {0};
    tort_model *model;
    tort_error error = {0};
    const int64_t dims[] = {2, 4};
    onnx_begin_model(&b, 17);
    onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 2, dims);
    onnx_tensor(&b, GRAPH_INITIALIZER, "c", TORT_BOOL, 0, NULL, &yes, 1);
    onnx_begin_node(&b, GRAPH_NODE, "If", "if", "c", "y");
    onnx_begin_body(&b, "then_branch");
    squeeze(&b, "x", "s");
    onnx_end_body(&b);
    onnx_begin_body(&b, "else_branch");
    absolute(&b, "x", "a");
    onnx_end_body(&b);
    onnx_end(&b);
    end(&b);
    cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, NULL, &model, &error), TORT_E_MODEL);
    cr_assert(strstr(error.msg, reason), "%s", error.msg);
    onnx_free(&b);
}
