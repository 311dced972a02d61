/* in_place.c - outputs that are written over inputs: what a plan decides, what it saves, and that results stay the
 * same to the bit.
 *
 * Inputs of a graph are the caller's and never written. Here they come from a provider with memory of its own, so that
 * host memory has a copy that the node under test is the last to read. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/lowered/lowered.h"
#include "tests/onnx_bytes.h"
#include "tests/report_of.h"
#include "tests/unit/operator_case.h"
#include "runtime/core/plan/planned.h"

extern const tort_provider *const fault_providers[];
extern const tort_provider tort_provider_cpu;

/* ---- every row that says so -------------------------------------------------------------------------------------- */

static const tort_plan *plan_of(const tort_session *session) {
    const tort_planned *planned = tort_main_graph(session)->plans;
    return planned ? &planned->plan : NULL;
}

/* Steps that write over an input. */
static int in_place_steps(const tort_session *session) {
    const tort_plan *plan = plan_of(session);
    int count = 0;
    for (int32_t i = 0; plan && i < plan->step_count; i++) count += plan->steps[i].in_place != 0;
    return count;
}

/* Inputs that are in the memory of "fault": all but strings. */
static tort_status move_inputs(tort_session *session, const operator_case *c, tort_tensor *inputs, void **moved,
                               tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t i = 0, at = 0; !status && i < c->input_count; i++) {
        const tort_tensor *tensor = &c->inputs[i].tensor;
        size_t bytes;
        if (!tort_present(tensor)) continue;
        inputs[at] = *tensor;
        if (tensor->type != TORT_STRING && tort_tensor_bytes(tensor, &bytes)) {
            status = tort_memory_alloc(session, "fault", bytes + 1, &moved[at], error);
            if (!status) memcpy(moved[at], tensor->data, bytes);
            inputs[at].data = moved[at];
        }
        at++;
    }
    return status;
}

static void free_inputs(tort_session *session, const tort_tensor *inputs, void **moved) {
    for (int32_t i = 0; i < MAX_TENSORS; i++) {
        size_t bytes;
        if (moved[i] && tort_tensor_bytes(&inputs[i], &bytes)) tort_memory_free(session, "fault", moved[i], bytes + 1);
    }
}

/* Runs it with its inputs in another memory; how many steps wrote over an input. */
static int run_case(const char *text, const operator_case *c) {
    onnx_bytes bytes = {0};
    tort_error error = {.msg = ""};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_tensor inputs[MAX_TENSORS] = {{0}}, outputs[MAX_TENSORS] = {{0}};
    void *moved[MAX_TENSORS] = {NULL};
    const char *bindings[MAX_TENSORS];
    char names[MAX_TENSORS][24];
    int32_t input_count = 0, output_count = 0, bound = 0;
    for (int32_t i = 0; i < c->input_count; i++) {
        if (!tort_present(&c->inputs[i].tensor)) continue;
        input_count++;
        if (c->inputs[i].tensor.type == TORT_STRING) continue;
        snprintf(names[bound], sizeof names[bound], "x%d=fault", (int)i);
        bindings[bound] = names[bound];
        bound++;
    }
    for (int32_t i = 0; i < c->output_count; i++) output_count += operator_case_has_output(c, i);
    tort_session_options options = {.struct_size = sizeof options,
                                    .chain = "cpu,fault",
                                    .providers = fault_providers,
                                    .bindings = bindings,
                                    .binding_count = bound,
                                    .unfolded = true};
    operator_case_write(&bytes, c, LIVE);
    tort_status status = tort_model_load_buffer(NULL, bytes.data, bytes.size, NULL, &model, &error);
    if (!status) status = tort_session_create(NULL, model, &options, &session, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    if (!status) status = move_inputs(session, c, inputs, moved, &error);
    if (!status) status = tort_context_run(context, inputs, input_count, outputs, output_count, &error);
    cr_expect_eq(status, c->refusal, "%s: %s", text, error.msg);
    for (int32_t i = 0, at = 0; !status && i < c->output_count; i++)
        if (tort_present(&c->outputs[i].tensor)) operator_case_compare(text, &outputs[at++], &c->outputs[i]);
    const int count = session ? in_place_steps(session) : 0;
    if (session) free_inputs(session, inputs, moved);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&bytes);
    return count;
}

/* Does cpu have a row for plain tensors that says so, or says the operator's own loop so? */
static bool may_be_in_place(const tort_op *row) {
    bool may = row->flags & TORT_OP_IN_PLACE;
    for (const tort_kernel *const *table = tort_provider_cpu.kernels; *table; table++)
        for (const tort_kernel *kernel = *table; kernel->op; kernel++)
            may |= kernel->in_place && kernel->layout.id <= 0 && !strcmp(kernel->op, row->name) &&
                   !strcmp(kernel->domain, row->domain);
    return may;
}

enum { MAX_OPERATORS = 400 };

typedef struct tried {
    const char *name;
    int cases, in_place;
} tried;

static tried *find_tried(tried *list, int *count, const char *name) {
    for (int i = 0; i < *count; i++)
        if (!strcmp(list[i].name, name)) return &list[i];
    cr_assert_lt(*count, MAX_OPERATORS);
    list[*count] = (tried){.name = name};
    return &list[(*count)++];
}

Test(in_place, every_row_that_says_so_gives_the_same) {
    static operator_case c;
    static tried list[MAX_OPERATORS];
    int count = 0;
    for (int32_t t = 0; operator_tables[t]; t++)
        for (int32_t i = 0; operator_tables[t][i]; i++) {
            operator_case_read(operator_tables[t][i], &c);
            const tort_op *row = operator_case_row(c.domain, c.name, c.opset);
            if (!row || !may_be_in_place(row)) continue;
            tried *tried_one = find_tried(list, &count, row->name);
            tried_one->cases++;
            tried_one->in_place += run_case(operator_tables[t][i], &c);
        }
    for (int i = 0; i < count; i++)
        cr_expect(list[i].in_place, "%s: no case of %d is in place", list[i].name, list[i].cases);
    cr_expect_gt(count, 30);
}

/* ---- decisions --------------------------------------------------------------------------------------------------- */

enum { ELEMENTS = 4096, BYTES = ELEMENTS * 4 };

typedef struct opened {
    onnx_bytes bytes;
    tort_model *model;
    tort_session *session;
    tort_context *context;
    float x[ELEMENTS], y[ELEMENTS];
} opened;

/* x is [2, 4096 / 2], and so is y. */
static void begin_model(opened *o) {
    const int64_t dims[] = {2, ELEMENTS / 2};
    memset(o, 0, sizeof *o);
    for (int i = 0; i < ELEMENTS; i++) o->x[i] = (float)(i % 17 - 8) / 4;
    onnx_begin_model(&o->bytes, 17);
    onnx_value(&o->bytes, GRAPH_INPUT, "x", TORT_FLOAT, 2, dims);
    onnx_value(&o->bytes, GRAPH_OUTPUT, "y", TORT_FLOAT, 2, dims);
}

static void end_model(opened *o) {
    tort_error error;
    onnx_end(&o->bytes);
    cr_assert_eq(tort_model_load_buffer(NULL, o->bytes.data, o->bytes.size, NULL, &o->model, &error), TORT_OK, "%s",
                 error.msg);
    tort_session_options options = {.struct_size = sizeof options, .chain = "cpu", .fusions_off = "*"};
    cr_assert_eq(tort_session_create(NULL, o->model, &options, &o->session, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_create(o->session, &o->context, &error), TORT_OK, "%s", error.msg);
}

static void run_model(opened *o) {
    tort_tensor input = {TORT_FLOAT, 2, {2, ELEMENTS / 2}, o->x}, output = {TORT_FLOAT, 2, {2, ELEMENTS / 2}, o->y};
    tort_error error;
    cr_assert_eq(tort_context_run(o->context, &input, 1, &output, 1, &error), TORT_OK, "%s", error.msg);
}

static void close_model(opened *o) {
    tort_context_free(o->context);
    tort_session_free(o->session);
    tort_model_free(o->model);
    onnx_free(&o->bytes);
}

static int64_t arena_of(const opened *o) {
    tort_report *report = report_of(o->session);
    const int64_t bytes = report->providers[0]->peak_bytes;
    tort_report_free(report);
    return bytes;
}

Test(in_place, a_chain_of_maps_needs_room_for_one_value) {
    static opened o;
    begin_model(&o);
    onnx_node(&o.bytes, "Abs", "abs", "x", "a");
    onnx_node(&o.bytes, "Neg", "neg", "a", "b");
    onnx_node(&o.bytes, "Relu", "relu", "b", "c");
    onnx_node(&o.bytes, "Sub", "sub", "c x", "y");
    end_model(&o);
    run_model(&o);
    cr_expect_eq(arena_of(&o), BYTES);
    cr_expect_eq(in_place_steps(o.session), 3);
    for (int i = 0; i < ELEMENTS; i++) cr_assert_eq(o.y[i], -o.x[i]);
    close_model(&o);
}

/* Neg must leave a alone; Add is the last to read it. */
Test(in_place, what_is_read_again_is_not_written_over) {
    static opened o;
    begin_model(&o);
    onnx_node(&o.bytes, "Exp", "exp", "x", "a");
    onnx_node(&o.bytes, "Neg", "neg", "a", "b");
    onnx_node(&o.bytes, "Add", "add", "a b", "y");
    end_model(&o);
    run_model(&o);
    cr_expect_eq(in_place_steps(o.session), 1);
    cr_expect_eq(arena_of(&o), 2 * BYTES);
    for (int i = 0; i < ELEMENTS; i++) cr_assert_eq(o.y[i], 0);
    close_model(&o);
}

Test(in_place, a_value_that_is_both_operands_is_written_over) {
    static opened o;
    begin_model(&o);
    onnx_node(&o.bytes, "Neg", "neg", "x", "a");
    onnx_node(&o.bytes, "Mul", "mul", "a a", "y");
    end_model(&o);
    run_model(&o);
    cr_expect_eq(in_place_steps(o.session), 1);
    for (int i = 0; i < ELEMENTS; i++) cr_assert_eq(o.y[i], o.x[i] * o.x[i]);
    close_model(&o);
}

/* As one operand it has the output's shape, as the other it is broadcast: then every element is read many times. */
Test(in_place, bytes_that_are_also_read_under_another_shape_are_not_written_over) {
    static opened o;
    const int64_t rows[] = {2, 1}, dims[] = {2};
    begin_model(&o);
    onnx_tensor(&o.bytes, GRAPH_INITIALIZER, "rows", TORT_INT64, 1, dims, rows, sizeof rows);
    onnx_node(&o.bytes, "ReduceMax", "max", "x", "m");      /* [1, 1] */
    onnx_node(&o.bytes, "Expand", "expand", "m rows", "e"); /* [2, 1] */
    onnx_node(&o.bytes, "Transpose", "turn", "e", "t");     /* [1, 2] */
    onnx_node(&o.bytes, "Reshape", "shape", "t rows", "r"); /* [2, 1] again: the bytes of t */
    onnx_node(&o.bytes, "Add", "add", "r t", "s");          /* [2, 2] */
    onnx_node(&o.bytes, "ReduceMax", "top", "s", "u");
    onnx_node(&o.bytes, "Max", "with", "x u", "y");
    end_model(&o);
    run_model(&o);
    cr_expect_eq(in_place_steps(o.session), 0);
    for (int i = 0; i < ELEMENTS; i++) cr_assert_eq(o.y[i], 4);
    close_model(&o);
}

/* Through a Reshape the bytes are the same. */
Test(in_place, the_bytes_of_an_alias_are_written_over_once_nobody_reads_them) {
    static opened o;
    const int64_t flat[] = {ELEMENTS}, back[] = {2, ELEMENTS / 2}, one[] = {1}, two[] = {2};
    begin_model(&o);
    onnx_tensor(&o.bytes, GRAPH_INITIALIZER, "flat", TORT_INT64, 1, one, flat, sizeof flat);
    onnx_tensor(&o.bytes, GRAPH_INITIALIZER, "back", TORT_INT64, 1, two, back, sizeof back);
    onnx_node(&o.bytes, "Neg", "neg", "x", "a");
    onnx_node(&o.bytes, "Reshape", "flatten", "a flat", "b");
    onnx_node(&o.bytes, "Abs", "abs", "b", "c");
    onnx_node(&o.bytes, "Reshape", "unflatten", "c back", "d");
    onnx_node(&o.bytes, "Sub", "sub", "d a", "y");
    end_model(&o);
    run_model(&o);
    cr_expect_eq(in_place_steps(o.session), 1, "Sub alone: a is read once more after Abs");
    for (int i = 0; i < ELEMENTS; i++) cr_assert_eq(o.y[i], (o.x[i] < 0 ? -o.x[i] : o.x[i]) + o.x[i]);
    close_model(&o);
}

/* Both are the caller's: the input, and what it gets as an output. */
Test(in_place, inputs_and_outputs_of_the_graph_are_not_written_over) {
    static opened o;
    const int64_t dims[] = {2, ELEMENTS / 2};
    begin_model(&o);
    onnx_node(&o.bytes, "Neg", "neg", "x", "y");
    onnx_node(&o.bytes, "Abs", "abs", "y", "z");
    onnx_value(&o.bytes, GRAPH_OUTPUT, "z", TORT_FLOAT, 2, dims);
    end_model(&o);
    tort_tensor input = {TORT_FLOAT, 2, {2, ELEMENTS / 2}, o.x}, outputs[2] = {{0}};
    tort_error error;
    cr_assert_eq(tort_context_run(o.context, &input, 1, outputs, 2, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(in_place_steps(o.session), 0);
    for (int i = 0; i < ELEMENTS; i++) {
        cr_assert_eq(((float *)outputs[0].data)[i], -o.x[i]);
        cr_assert_eq(((float *)outputs[1].data)[i], o.x[i] < 0 ? -o.x[i] : o.x[i]);
    }
    close_model(&o);
}

/* ---- vectors ----------------------------------------------------------------------------------------------------- */

/* Of lengths that leave tails, over several threads: the bits of y = F(-x), beside an output -x and without it. */
static void run_beside(const char *op, bool beside, float *y) {
    const int64_t dims[] = {37, 111}, row[] = {111};
    onnx_bytes b = {0};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error;
    static float x[37 * 111], weights[111];
    const bool norm = strstr(op, "LayerNormalization");
    for (int i = 0; i < 37 * 111; i++) x[i] = (float)(i * 37 % 101 - 50) / 16;
    for (int i = 0; i < 111; i++) weights[i] = (float)(i % 7) / 4;
    onnx_begin_model(&b, 24);
    onnx_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, row, weights, sizeof weights);
    onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 2, dims);
    onnx_node(&b, "Neg", "neg", "x", "a");
    onnx_node(&b, op, "node", norm ? "a w" : "a", "y");
    onnx_value(&b, GRAPH_OUTPUT, "y", TORT_FLOAT, 2, dims);
    if (beside) onnx_value(&b, GRAPH_OUTPUT, "a", TORT_FLOAT, 2, dims);
    onnx_end(&b);
    tort_session_options options = {.struct_size = sizeof options, .chain = "cpu:threads=3"};
    cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, NULL, &model, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(in_place_steps(session), !beside, "%s", op);
    tort_tensor input = {TORT_FLOAT, 2, {37, 111}, x}, outputs[2] = {{0}};
    cr_assert_eq(tort_context_run(context, &input, 1, outputs, 1 + beside, &error), TORT_OK, "%s", error.msg);
    memcpy(y, outputs[0].data, sizeof x);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&b);
}

Test(in_place, vectors_and_their_tails_give_the_same_bits) {
    static const char *const ops[] = {"Relu", "Exp",  "Tanh",    "Erf",  "Sigmoid", "HardSwish",
                                      "Gelu", "Clip", "Softmax", "Sqrt", "Mish",    "LayerNormalization"};
    static float alone[37 * 111], beside[37 * 111];
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        run_beside(ops[i], true, beside);
        run_beside(ops[i], false, alone);
        cr_expect(!memcmp(alone, beside, sizeof alone), "%s has other bits in place", ops[i]);
    }
}
