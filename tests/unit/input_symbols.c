/* input_symbols.c - tests of inputs.c: a symbol means one size wherever it stands; shapes and sizes that options fix.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/build_model.h"

typedef struct fixture {
    tort_model *model;
    tort_session *session;
    tort_context *context;
    tort_error error;
} fixture;

/* y = Shape(b) - Shape(a) + 5, a and b of shape [n]: planning folds n - n to 0. */
static tort_model *difference_model(tort_error *error) {
    static int64_t five[] = {5};
    model_builder m = build_begin(NULL);
    int32_t a = build_input(&m, "a", TORT_FLOAT, 1, (const int64_t[]){-1});
    int32_t b = build_input(&m, "b", TORT_FLOAT, 1, (const int64_t[]){-1});
    int32_t w = build_weight(&m, "five", &(tort_tensor){.type = TORT_INT64, .rank = 1, .dims = {1}, .data = five});
    int32_t of_a = build_node(&m, "Shape", "of_a", (const int32_t[]){a, -1});
    int32_t of_b = build_node(&m, "Shape", "of_b", (const int32_t[]){b, -1});
    int32_t less = build_node(&m, "Sub", "less", (const int32_t[]){of_b, of_a, -1});
    build_output(&m, build_node(&m, "Add", "more", (const int32_t[]){less, w, -1}));
    return build_end(&m, error);
}

/* y = Relu(x), x of shape [n, n]. */
static tort_model *square_model(tort_error *error) {
    model_builder m = build_begin(NULL);
    int32_t x = build_input(&m, "x", TORT_FLOAT, 2, (const int64_t[]){-1, -1});
    build_output(&m, build_node(&m, "Relu", "relu", (const int32_t[]){x, -1}));
    return build_end(&m, error);
}

static tort_status open_fixture(fixture *f, tort_model *model, tort_session_options options) {
    *f = (fixture){.model = model};
    options.struct_size = sizeof options;
    tort_status status = tort_session_create(NULL, f->model, &options, &f->session, &f->error);
    return status ? status : tort_context_create(f->session, &f->context, &f->error);
}

static void close_fixture(fixture *f) {
    tort_context_free(f->context);
    tort_session_free(f->session);
    tort_model_free(f->model);
}

static float numbers[64];

static tort_tensor vector(int64_t size) {
    return (tort_tensor){.type = TORT_FLOAT, .rank = 1, .dims = {size}, .data = numbers};
}

static tort_tensor matrix(int64_t rows, int64_t columns) {
    return (tort_tensor){.type = TORT_FLOAT, .rank = 2, .dims = {rows, columns}, .data = numbers};
}

Test(input_symbols, two_sizes_for_one_symbol_are_refused_by_both_names) {
    fixture f;
    cr_assert_eq(open_fixture(&f, difference_model(&f.error), (tort_session_options){0}), TORT_OK, "%s", f.error.msg);
    tort_tensor inputs[] = {vector(3), vector(4)}, output = {.data = NULL};
    cr_expect_eq(tort_context_run(f.context, inputs, 2, &output, 1, &f.error), TORT_E_INPUT);
    cr_expect(strstr(f.error.msg, "dimension 0 of input \"b\" is 4"), "%s", f.error.msg);
    cr_expect(strstr(f.error.msg, "\"n\", which is 3 by dimension 0 of input \"a\""), "%s", f.error.msg);
    inputs[1] = vector(3);
    cr_assert_eq(tort_context_run(f.context, inputs, 2, &output, 1, &f.error), TORT_OK, "%s", f.error.msg);
    cr_expect_eq(((const int64_t *)output.data)[0], 5);
    close_fixture(&f);
}

Test(input_symbols, so_are_two_sizes_within_one_input) {
    fixture f;
    cr_assert_eq(open_fixture(&f, square_model(&f.error), (tort_session_options){0}), TORT_OK, "%s", f.error.msg);
    tort_tensor input = matrix(3, 4), output = {.data = NULL};
    cr_expect_eq(tort_context_run(f.context, &input, 1, &output, 1, &f.error), TORT_E_INPUT);
    cr_expect(strstr(f.error.msg, "dimension 1 of input \"x\" is 4"), "%s", f.error.msg);
    close_fixture(&f);
}

Test(input_symbols, so_are_two_sizes_in_a_plan_ahead_of_time) {
    fixture f;
    cr_assert_eq(open_fixture(&f, difference_model(&f.error), (tort_session_options){0}), TORT_OK, "%s", f.error.msg);
    const tort_input_shape shapes[] = {{"a", 1, {3}}, {"b", 1, {4}}}, even[] = {{"a", 1, {3}}, {"b", 1, {3}}};
    cr_expect_eq(tort_session_plan(f.session, shapes, 2, &f.error), TORT_E_INPUT);
    cr_expect_eq(tort_session_plan(f.session, even, 2, &f.error), TORT_OK, "%s", f.error.msg);
    close_fixture(&f);
}

Test(input_symbols, a_fixed_shape_fixes_the_symbol_everywhere) {
    fixture f;
    const tort_input_shape shape = {"a", 1, {3}};
    tort_tensor inputs[] = {vector(3), vector(4)}, output = {.data = NULL};
    cr_assert_eq(
        open_fixture(&f, difference_model(&f.error), (tort_session_options){.shapes = &shape, .shape_count = 1}),
        TORT_OK, "%s", f.error.msg);
    cr_expect_eq(tort_context_run(f.context, inputs, 2, &output, 1, &f.error), TORT_E_INPUT);
    cr_expect(strstr(f.error.msg, "dimension 0 of input \"b\" is 4, the model wants 3"), "%s", f.error.msg);
    close_fixture(&f);
}

Test(input_symbols, a_symbol_is_fixed_by_its_name) {
    fixture f;
    const tort_symbol_size n = {"n", 3}, unknown = {"batch", 3}, negative = {"n", -1};
    tort_tensor input = matrix(4, 4), output = {.data = NULL};
    cr_assert_eq(open_fixture(&f, square_model(&f.error), (tort_session_options){.symbols = &n, .symbol_count = 1}),
                 TORT_OK, "%s", f.error.msg);
    cr_expect_eq(tort_context_run(f.context, &input, 1, &output, 1, &f.error), TORT_E_INPUT);
    input = matrix(3, 3);
    cr_expect_eq(tort_context_run(f.context, &input, 1, &output, 1, &f.error), TORT_OK, "%s", f.error.msg);
    close_fixture(&f);
    cr_expect_eq(
        open_fixture(&f, square_model(&f.error), (tort_session_options){.symbols = &unknown, .symbol_count = 1}),
        TORT_E_USAGE);
    cr_expect(strstr(f.error.msg, "no input of the model has a dimension called \"batch\""), "%s", f.error.msg);
    close_fixture(&f);
    cr_expect_eq(
        open_fixture(&f, square_model(&f.error), (tort_session_options){.symbols = &negative, .symbol_count = 1}),
        TORT_E_USAGE);
    close_fixture(&f);
}

Test(input_symbols, a_fixed_shape_has_a_rank_that_tensors_have) {
    fixture f;
    const int32_t ranks[] = {-1, 9, INT32_MAX};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        const tort_input_shape shape = {"x", ranks[i], {1}};
        cr_expect_eq(
            open_fixture(&f, square_model(&f.error), (tort_session_options){.shapes = &shape, .shape_count = 1}),
            TORT_E_USAGE);
        cr_expect(strstr(f.error.msg, "it must be 0 to 8"), "%s", f.error.msg);
        close_fixture(&f);
    }
}
