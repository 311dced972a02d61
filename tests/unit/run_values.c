/* run_values.c - tests of tort_context_run_values: outputs of every kind that outlive what made them, inputs that do
 * not fit, and every allocation that fails. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/counting_env.h"
#include "tests/fake_provider.h"
#include "tests/unit/loading.h"
#include "tests/value_text.h"

enum { SEQUENCE, OPTIONAL, TENSOR, INPUTS, OUTPUTS = 6 };

static const int64_t two[] = {2};

/* ---- the model ---- */

static void sequence_value(onnx_bytes *b, int field, const char *name) {
    onnx_begin(b, field);
    onnx_text(b, 1, name);
    onnx_begin(b, 2); /* type */
    onnx_begin(b, 4); /* sequence of */
    onnx_begin(b, 1);
    onnx_begin(b, 1); /* tensors of */
    onnx_int(b, 1, TORT_FLOAT);
    for (int i = 0; i < 5; i++) onnx_end(b);
}

static void optional_value(onnx_bytes *b, int field, const char *name) {
    onnx_begin(b, field);
    onnx_text(b, 1, name);
    onnx_begin(b, 2); /* type */
    onnx_begin(b, 9); /* optional */
    onnx_begin(b, 1);
    onnx_begin(b, 1); /* tensor of */
    onnx_int(b, 1, TORT_FLOAT);
    for (int i = 0; i < 5; i++) onnx_end(b);
}

static void negating_map(onnx_bytes *b) {
    onnx_begin_node(b, GRAPH_NODE, "SequenceMap", "map", "more", "negated");
    onnx_begin_body(b, "body");
    onnx_value(b, GRAPH_INPUT, "e", TORT_FLOAT, -1, NULL);
    onnx_node(b, "Neg", "neg", "e", "n");
    onnx_value(b, GRAPH_OUTPUT, "n", TORT_FLOAT, -1, NULL);
    onnx_end(b);
    onnx_end(b);
    onnx_end(b);
}

/* Inputs and outputs of every kind: sequences of an operator, of a body and of an input, a tensor that was an element,
 * one of the arena, one that an operator over values makes. */
static void write_model(onnx_bytes *b) {
    *b = (onnx_bytes){0};
    onnx_begin_model(b, 18);
    onnx_tensor(b, GRAPH_INITIALIZER, "zero", TORT_INT64, 0, NULL, &(int64_t){0}, sizeof(int64_t));
    onnx_node(b, "SequenceInsert", "insert", "s x", "more");
    negating_map(b);
    onnx_node(b, "Identity", "same", "s", "same");
    onnx_node(b, "SequenceAt", "at", "more zero", "first");
    onnx_node(b, "Abs", "abs", "x", "positive");
    onnx_node(b, "OptionalHasElement", "has", "o", "has");
    sequence_value(b, GRAPH_INPUT, "s");
    optional_value(b, GRAPH_INPUT, "o");
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 1, two);
    sequence_value(b, GRAPH_OUTPUT, "more");
    sequence_value(b, GRAPH_OUTPUT, "negated");
    sequence_value(b, GRAPH_OUTPUT, "same");
    onnx_value(b, GRAPH_OUTPUT, "first", TORT_FLOAT, -1, NULL);
    onnx_value(b, GRAPH_OUTPUT, "positive", TORT_FLOAT, 1, two);
    onnx_value(b, GRAPH_OUTPUT, "has", TORT_BOOL, 0, NULL);
    onnx_end(b);
}

static const char *const expected[OUTPUTS] = {"seq(tensor(float)): float[1] 3, float[2] 1 2",
                                              "seq(tensor(float)): float[1] -3, float[2] -1 -2",
                                              "seq(tensor(float)): float[1] 3",
                                              "float[1] 3",
                                              "float[2] 1 2",
                                              "bool[] 0"};

/* ---- a run ---- */

typedef struct fixture {
    tort_counting_env counting;
    onnx_bytes file;
    tort_model *model;
    tort_session *session;
    tort_context *context;
    const tort_value *inputs[INPUTS];
    tort_value *outputs[OUTPUTS];
    tort_error error;
} fixture;

static tort_status open_context(fixture *f) {
    const tort_session_options options = {.struct_size = sizeof options, .chain = "cpu:threads=1"};
    tort_status status =
        tort_model_load_buffer(&f->counting.env, f->file.data, f->file.size, NULL, &f->model, &f->error);
    if (!status) status = tort_session_create(&f->counting.env, f->model, &options, &f->session, &f->error);
    return status ? status : tort_context_create(f->session, &f->context, &f->error);
}

static void open_fixture(fixture *f) {
    *f = (fixture){.model = NULL};
    tort_counting_env_init(&f->counting);
    write_model(&f->file);
    cr_assert_eq(open_context(f), TORT_OK, "%s", f->error.msg);
    tort_value *three_alone = value_counting(NULL, TORT_FLOAT, "1", 3);
    tort_value *sequence = tort_value_sequence(NULL, tort_tensor_type(TORT_FLOAT));
    cr_assert(tort_value_append(sequence, three_alone));
    tort_value_release(three_alone);
    f->inputs[SEQUENCE] = sequence;
    f->inputs[TENSOR] = value_counting(NULL, TORT_FLOAT, "2", 1);
}

static tort_status run(fixture *f) {
    return tort_context_run_values(f->context, f->inputs, INPUTS, f->outputs, OUTPUTS, &f->error);
}

static void free_context(fixture *f) {
    tort_context_free(f->context);
    tort_session_free(f->session);
    tort_model_free(f->model);
    f->context = NULL;
    f->session = NULL;
    f->model = NULL;
}

static void release_outputs(fixture *f) {
    for (int i = 0; i < OUTPUTS; i++) tort_value_release(f->outputs[i]);
}

/* Nothing may be left. */
static void close_fixture(fixture *f) {
    free_context(f);
    for (int i = 0; i < INPUTS; i++) tort_value_release(f->inputs[i]);
    onnx_free(&f->file);
    cr_expect_eq(f->counting.live_blocks, 0);
    cr_expect_eq(f->counting.wrong_sizes, 0);
}

static void expect_outputs(const fixture *f) {
    char text[VALUE_TEXT];
    for (int i = 0; i < OUTPUTS; i++) cr_expect_str_eq(value_text(f->outputs[i], text), expected[i]);
}

Test(run_values, outputs_outlive_context_session_and_model) {
    fixture f;
    open_fixture(&f);
    cr_assert_eq(run(&f), TORT_OK, "%s", f.error.msg);
    free_context(&f);
    expect_outputs(&f);
    release_outputs(&f);
    close_fixture(&f);
}

/* Whoever holds a sequence alone may append to it: the context must not hold it too. */
Test(run_values, the_caller_alone_holds_an_output) {
    fixture f;
    open_fixture(&f);
    for (int i = 0; i < 2; i++) { /* what the first run made stays as it is */
        cr_assert_eq(run(&f), TORT_OK, "%s", f.error.msg);
        expect_outputs(&f);
        cr_expect(tort_value_append(f.outputs[0], f.inputs[TENSOR]));
        cr_expect(tort_value_append(f.outputs[1], f.inputs[TENSOR]));
        cr_expect_not(tort_value_append(f.outputs[2], f.inputs[TENSOR]), "it is the input, which we hold");
        release_outputs(&f);
    }
    close_fixture(&f);
}

Test(run_values, an_optional_may_be_absent_or_empty_or_not) {
    fixture f;
    char text[VALUE_TEXT];
    open_fixture(&f);
    for (int i = 0; i < 2; i++) {
        f.inputs[OPTIONAL] = tort_value_optional(NULL, tort_tensor_type(TORT_FLOAT), i ? f.inputs[TENSOR] : NULL);
        cr_assert_eq(run(&f), TORT_OK, "%s", f.error.msg);
        cr_expect_str_eq(value_text(f.outputs[5], text), i ? "bool[] 1" : "bool[] 0");
        release_outputs(&f);
        tort_value_release(f.inputs[OPTIONAL]);
    }
    f.inputs[OPTIONAL] = NULL;
    close_fixture(&f);
}

/* ---- what is refused ---- */

static void refuse(fixture *f, int input, tort_value *given, const char *words) {
    const tort_value *fits = f->inputs[input];
    f->inputs[input] = given;
    memset(f->outputs, 0x55, sizeof f->outputs);
    cr_expect_eq(run(f), TORT_E_INPUT, "%s", words);
    cr_expect(strstr(f->error.msg, words), "%s", f->error.msg);
    for (int i = 0; i < OUTPUTS; i++) cr_expect_null(f->outputs[i]);
    f->inputs[input] = fits;
    tort_value_release(given);
}

Test(run_values, inputs_of_other_types_are_refused) {
    fixture f;
    open_fixture(&f);
    refuse(&f, SEQUENCE, NULL, "input \"s\" is NULL, the model wants seq(tensor(float))");
    refuse(&f, TENSOR, NULL, "input \"x\" is NULL, the model wants tensor(float)");
    refuse(&f, SEQUENCE, value_counting(NULL, TORT_FLOAT, "2", 0),
           "input \"s\" is tensor(float), the model wants seq(tensor(float))");
    refuse(&f, SEQUENCE, tort_value_sequence(NULL, tort_tensor_type(TORT_INT64)),
           "input \"s\" is seq(tensor(int64)), the model wants seq(tensor(float))");
    refuse(&f, OPTIONAL, value_counting(NULL, TORT_FLOAT, "2", 0),
           "input \"o\" is tensor(float), the model wants optional(tensor(float))");
    refuse(&f, TENSOR, value_counting(NULL, TORT_DOUBLE, "2", 0),
           "input \"x\" is tensor(double), the model wants tensor(float)");
    refuse(&f, TENSOR, value_counting(NULL, TORT_FLOAT, "3", 0), "dimension 0 of input \"x\" is 3, the model wants 2");
    refuse(&f, TENSOR, value_counting(NULL, TORT_FLOAT, "", 0), "input \"x\" has rank 0, the model wants 1");
    close_fixture(&f);
}

Test(run_values, counts_must_be_those_of_the_model) {
    fixture f;
    open_fixture(&f);
    tort_status status = tort_context_run_values(f.context, f.inputs, 2, f.outputs, OUTPUTS, &f.error);
    cr_expect_eq(status, TORT_E_INPUT);
    cr_expect(strstr(f.error.msg, "2 inputs given, the model has 3"), "%s", f.error.msg);
    status = tort_context_run_values(f.context, f.inputs, INPUTS, f.outputs, 1, &f.error);
    cr_expect_eq(status, TORT_E_INPUT);
    cr_expect(strstr(f.error.msg, "room for 1 outputs given, the session has 6"), "%s", f.error.msg);
    close_fixture(&f);
}

Test(run_values, a_run_of_tensors_names_the_one_of_values) {
    fixture f;
    tort_tensor inputs[INPUTS] = {{0}}, outputs[OUTPUTS] = {{0}};
    open_fixture(&f);
    cr_expect_eq(tort_context_run(f.context, inputs, INPUTS, outputs, OUTPUTS, &f.error), TORT_E_USAGE);
    cr_expect(strstr(f.error.msg, "input \"s\" is seq(tensor(float)); tort_context_run has tensors alone, "
                                  "tort_context_run_values runs this model"),
              "%s", f.error.msg);
    close_fixture(&f);
}

static tort_session *open_session(fixture *f, const tort_session_options *options) {
    tort_session *session = NULL;
    tort_session_create(&f->counting.env, f->model, options, &session, &f->error);
    return session;
}

Test(run_values, bound_ports_are_refused) {
    fixture f;
    open_fixture(&f);
    tort_context_free(f.context);
    tort_session_free(f.session);
    tort_session_options options = {.struct_size = sizeof options,
                                    .chain = "fake,cpu:threads=1",
                                    .providers = fake_providers,
                                    .bindings = (const char *const[]){"positive=fake"},
                                    .binding_count = 1};
    f.session = open_session(&f, &options);
    cr_assert_not_null(f.session, "%s", f.error.msg);
    cr_assert_eq(tort_context_create(f.session, &f.context, &f.error), TORT_OK, "%s", f.error.msg);
    cr_expect_eq(run(&f), TORT_E_USAGE);
    cr_expect(strstr(f.error.msg, "output \"positive\" is bound to fake"), "%s", f.error.msg);
    close_fixture(&f);
}

/* Only tensors have a shape to plan for. */
Test(run_values, shapes_are_those_of_tensors) {
    fixture f;
    const tort_input_shape shapes[INPUTS] = {{.rank = 99}, {.rank = -7}, {.rank = 1, .dims = {2}}};
    open_fixture(&f);
    cr_expect_eq(tort_session_plan(f.session, shapes, INPUTS, &f.error), TORT_OK, "%s", f.error.msg);
    const tort_input_shape fixed = {.name = "s", .rank = 1, .dims = {2}};
    const tort_session_options options = {.struct_size = sizeof options, .shapes = &fixed, .shape_count = 1};
    cr_expect_null(open_session(&f, &options));
    cr_expect_eq(f.error.code, TORT_E_USAGE);
    cr_expect(strstr(f.error.msg, "input \"s\" is seq(tensor(float)), which has no shape"), "%s", f.error.msg);
    close_fixture(&f);
}

/* ---- memory ---- */

Test(run_values, every_allocation_may_fail) {
    for (int once = 0; once < 2; once++) {
        tort_status status = TORT_E_MEMORY;
        for (int64_t n = 1; status; n++) {
            fixture f;
            open_fixture(&f);
            f.counting.fail_at = f.counting.allocations + n;
            f.counting.fail_once = once;
            status = run(&f);
            f.counting.fail_at = 0;
            cr_assert(!status || status == TORT_E_MEMORY, "%lld: %s", (long long)n, f.error.msg);
            for (int i = 0; status && i < OUTPUTS; i++) cr_expect_null(f.outputs[i]);
            if (status) cr_assert_eq(run(&f), TORT_OK, "%lld: %s", (long long)n, f.error.msg);
            free_context(&f);
            expect_outputs(&f);
            release_outputs(&f);
            close_fixture(&f);
            cr_assert_lt(n, 1000);
        }
    }
}
