/* run_outputs.c - tests of outputs.c: whatever the caller lends and however outputs hang together, the values are
 * right, a buffer of the caller stays the caller's, and what the context lends is its own. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/build_model.h"
#include "tests/fake_provider.h"
#include "tests/report_of.h"

enum { COUNT = 7, ELEMENTS = 4 };

static const float constant[ELEMENTS] = {7, 8, 9, 10};

/* Outputs that are a value, views of it, an input, a constant, and one of them twice. `live`: of a shape that only the
 * run tells. */
static tort_model *tangled_model(bool live, tort_error *error) {
    static int64_t square[] = {2, 2};
    model_builder b = build_begin(NULL);
    int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){ELEMENTS}), start = x;
    int32_t shape = build_input(&b, "shape", TORT_INT64, 1, (const int64_t[]){1});
    int32_t two = build_weight(&b, "two", &(tort_tensor){.type = TORT_INT64, .rank = 1, .dims = {2}, .data = square});
    int32_t w = build_weight(
        &b, "w",
        &(tort_tensor){.type = TORT_FLOAT, .rank = 1, .dims = {ELEMENTS}, .data = (void *)(uintptr_t)constant});
    if (live) start = build_node(&b, "Reshape", "start", (const int32_t[]){x, shape, -1});
    int32_t relu = build_node(&b, "Relu", "relu", (const int32_t[]){start, -1});
    int32_t neg = build_node(&b, "Neg", "neg", (const int32_t[]){start, -1});
    build_output(&b, relu);
    build_output(&b, build_node(&b, "Reshape", "view", (const int32_t[]){relu, two, -1}));
    build_output(&b, neg);
    build_output(&b, build_node(&b, "Identity", "same", (const int32_t[]){x, -1}));
    build_output(&b, relu);
    build_output(&b, w);
    build_output(&b, build_node(&b, "Reshape", "other", (const int32_t[]){neg, two, -1}));
    return build_end(&b, error);
}

typedef struct fixture {
    tort_model *model;
    tort_session *session;
    tort_context *context;
    tort_error error;
    float x[ELEMENTS], buffers[COUNT][ELEMENTS];
} fixture;

static void open_fixture(fixture *f, bool live, const char *chain) {
    *f = (fixture){.model = tangled_model(live, &f->error)};
    cr_assert_not_null(f->model, "%s", f->error.msg);
    tort_session_options options = {.struct_size = sizeof options, .chain = chain, .providers = fake_providers};
    cr_assert_eq(tort_session_create(NULL, f->model, &options, &f->session, &f->error), TORT_OK, "%s", f->error.msg);
    cr_assert_eq(tort_context_create(f->session, &f->context, &f->error), TORT_OK, "%s", f->error.msg);
}

static void close_fixture(fixture *f) {
    tort_context_free(f->context);
    tort_session_free(f->session);
    tort_model_free(f->model);
}

static float expected(int output, int i) {
    const float x[ELEMENTS] = {1, -2, 3, -4};
    if (output == 5) return constant[i];
    if (output == 3) return x[i];
    return output == 2 || output == 6 ? -x[i] : x[i] > 0 ? x[i] : 0;
}

static tort_tensor output_form(int output, void *data) {
    if (output == 1 || output == 6) return (tort_tensor){.type = TORT_FLOAT, .rank = 2, .dims = {2, 2}, .data = data};
    return (tort_tensor){.type = TORT_FLOAT, .rank = 1, .dims = {ELEMENTS}, .data = data};
}

static bool inside(const void *pointer, const void *buffer, size_t bytes) {
    return (const char *)pointer >= (const char *)buffer && (const char *)pointer < (const char *)buffer + bytes;
}

/* Bit i of `given`: the caller lends a buffer for output i; that of output `in_x` is the input's own memory. */
static void check_run(fixture *f, unsigned given, int in_x) {
    int64_t size = ELEMENTS;
    memcpy(f->x, (const float[]){1, -2, 3, -4}, sizeof f->x);
    tort_tensor inputs[] = {{.type = TORT_FLOAT, .rank = 1, .dims = {ELEMENTS}, .data = f->x},
                            {.type = TORT_INT64, .rank = 1, .dims = {1}, .data = &size}};
    tort_tensor outputs[COUNT] = {{.data = NULL}};
    memset(f->buffers, 0x55, sizeof f->buffers);
    for (int o = 0; o < COUNT; o++)
        if (given >> o & 1) outputs[o] = output_form(o, o == in_x ? f->x : f->buffers[o]);
    tort_status status = tort_context_run(f->context, inputs, 2, outputs, COUNT, &f->error);
    cr_assert_eq(status, TORT_OK, "given %x, in x %d: %s", given, in_x, f->error.msg);
    for (int o = 0; o < COUNT; o++) {
        const float *found = outputs[o].data;
        if (given >> o & 1)
            cr_assert(found == (o == in_x ? f->x : f->buffers[o]));
        else
            cr_assert(!inside(found, f->buffers, sizeof f->buffers) && !inside(found, f->x, sizeof f->x),
                      "given %x: output %d is lent memory of the caller", given, o);
        for (int i = 0; i < ELEMENTS; i++)
            cr_assert_float_eq(found[i], expected(o, i), 0.0f, "given %x, in x %d: output %d [%d] is %g", given, in_x,
                               o, i, (double)found[i]);
    }
}

static void check_all(bool live, const char *chain) {
    fixture f;
    open_fixture(&f, live, chain);
    for (unsigned given = 0; given < 1u << COUNT; given++) {
        check_run(&f, given, -1);
        for (int o = 0; o < COUNT; o++)
            if (given >> o & 1) check_run(&f, given, o);
    }
    close_fixture(&f);
}

Test(run_outputs, every_combination_of_buffers) {
    check_all(false, "cpu");
    check_all(true, "cpu");
    check_all(false, "fake,cpu");
    check_all(true, "fake,cpu");
}

Test(run_outputs, buffers_that_share_bytes_are_refused) {
    fixture f;
    int64_t size = ELEMENTS;
    open_fixture(&f, false, "cpu");
    tort_tensor inputs[] = {{.type = TORT_FLOAT, .rank = 1, .dims = {ELEMENTS}, .data = f.x},
                            {.type = TORT_INT64, .rank = 1, .dims = {1}, .data = &size}};
    tort_tensor outputs[COUNT] = {{.data = NULL}};
    outputs[0] = output_form(0, f.buffers[0]);
    outputs[2] = output_form(2, f.buffers[0] + ELEMENTS - 1);
    cr_expect_eq(tort_context_run(f.context, inputs, 2, outputs, COUNT, &f.error), TORT_E_INPUT);
    cr_expect(strstr(f.error.msg, "outputs 0 \"relu_out\" and 2 \"neg_out\" share bytes"), "%s", f.error.msg);
    close_fixture(&f);
}

/* Before the first step, so that nothing has been computed or written in vain. */
Test(run_outputs, a_wrong_buffer_is_told_before_the_run) {
    fixture f;
    int64_t size = ELEMENTS;
    open_fixture(&f, false, "cpu");
    tort_tensor inputs[] = {{.type = TORT_FLOAT, .rank = 1, .dims = {ELEMENTS}, .data = f.x},
                            {.type = TORT_INT64, .rank = 1, .dims = {1}, .data = &size}};
    tort_tensor outputs[COUNT] = {{.data = NULL}};
    memset(f.buffers, 0x55, sizeof f.buffers);
    outputs[0] = output_form(0, f.buffers[0]);
    outputs[1] = output_form(0, f.buffers[1]);
    cr_expect_eq(tort_context_run(f.context, inputs, 2, outputs, COUNT, &f.error), TORT_E_INPUT);
    cr_expect_str_eq(f.error.msg, "the buffer for output 1 \"view_out\" is float 4, the output is float 2x2");
    for (int i = 0; i < ELEMENTS; i++)
        cr_expect(!memcmp(&f.buffers[0][i], "\x55\x55\x55\x55", 4), "nothing is written");
    close_fixture(&f);
}

/* Three elements of 4 bits take a byte and a half. */
Test(run_outputs, the_bits_behind_the_last_packed_element_are_zero) {
    model_builder b = build_begin(NULL);
    tort_error error;
    int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){3});
    int32_t like = build_input(&b, "like", TORT_INT4, 1, (const int64_t[]){1});
    int32_t seven = build_weight(&b, "seven", &(tort_tensor){.type = TORT_FLOAT, .data = (void *)(uintptr_t)constant});
    build_output(&b, build_node(&b, "CastLike", "run", (const int32_t[]){x, like, -1}));
    build_output(&b, build_node(&b, "CastLike", "folded", (const int32_t[]){seven, like, -1}));
    tort_model *model = build_end(&b, &error);
    tort_session *session = NULL;
    tort_context *context = NULL;
    cr_assert_eq(tort_session_create(NULL, model, NULL, &session, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    float values[] = {-1, -2, -3};
    uint8_t one = 1, codes[2] = {0xff, 0xff}, folded = 0xff;
    tort_tensor inputs[] = {{.type = TORT_FLOAT, .rank = 1, .dims = {3}, .data = values},
                            {.type = TORT_INT4, .rank = 1, .dims = {1}, .data = &one}};
    tort_tensor outputs[] = {{.type = TORT_INT4, .rank = 1, .dims = {3}, .data = codes},
                             {.type = TORT_INT4, .data = &folded}};
    cr_assert_eq(tort_context_run(context, inputs, 2, outputs, 2, &error), TORT_OK, "%s", error.msg);
    cr_expect_arr_eq(codes, ((const uint8_t[]){0xef, 0x0d}), 2, "%x %x", (unsigned)codes[0], (unsigned)codes[1]);
    cr_expect_eq(folded, 7, "%x", (unsigned)folded);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
}

/* ---- reports and plans outlive runs ---- */

Test(run_outputs, a_report_stays_while_new_shapes_are_planned) {
    model_builder b = build_begin(NULL);
    tort_error error;
    int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){-1});
    build_output(&b, build_node(&b, "Relu", "relu", (const int32_t[]){x, -1}));
    tort_model *model = build_end(&b, &error);
    tort_session *session = NULL;
    tort_context *context = NULL;
    float values[200] = {0};
    cr_assert_eq(tort_session_create(NULL, model, NULL, &session, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    tort_report *before = report_of(session);
    for (int64_t size = 1; size <= 200; size++) {
        tort_tensor input = {.type = TORT_FLOAT, .rank = 1, .dims = {size}, .data = values}, output = {.data = NULL};
        cr_assert_eq(tort_context_run(context, &input, 1, &output, 1, &error), TORT_OK, "%s", error.msg);
    }
    cr_expect_str_eq(before->nodes[0]->path, "relu");
    cr_expect_eq(before->providers[0]->peak_bytes, -1, "no shape was known then");
    tort_report *after = report_of(session);
    cr_expect_eq(after->providers[0]->peak_bytes, 832, "200 floats, rounded up to 64 bytes");
    tort_report_free(before);
    tort_report_free(after);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
}
