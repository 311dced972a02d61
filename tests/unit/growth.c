/* growth.c - tests that planning does not grow with the square of the graph: graphs so large that a square would take
 * minutes, under a limit of one. What it takes is measured by tests/growth. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/build_model.h"
#include "tests/report_of.h"
#include "tests/segments/engine_provider.h"

enum { NODES = 200000 };

TestSuite(growth, .timeout = 60);

/* Each node reads the one before it, or all read x; every node of a fan is an output. */
static tort_model *large_model(const char *op, bool fan, int32_t nodes) {
    model_builder b = build_begin(NULL);
    tort_error error;
    const int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){-1});
    int32_t value = x;
    for (int32_t i = 0; i < nodes; i++) {
        char name[32];
        snprintf(name, sizeof name, "node_%d", i);
        value = build_node(&b, op, name, (const int32_t[]){fan ? x : value, -1});
        if (fan) build_output(&b, value);
    }
    if (!fan) build_output(&b, value);
    tort_model *model = build_end(&b, &error);
    cr_assert_not_null(model, "%s", error.msg);
    return model;
}

/* Every output goes to a buffer of the caller, all of which are held against each other. */
static void run_into_buffers(tort_session *session, int32_t count) {
    tort_context *context = NULL;
    tort_error error;
    float one = 1, *values = calloc((size_t)count, sizeof *values);
    tort_tensor input = {.type = TORT_FLOAT, .rank = 1, .dims = {1}, .data = &one};
    tort_tensor *outputs = calloc((size_t)count, sizeof *outputs);
    for (int32_t i = 0; i < count; i++)
        outputs[i] = (tort_tensor){.type = TORT_FLOAT, .rank = 1, .dims = {1}, .data = &values[i]};
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_run(context, &input, 1, outputs, count, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(values[count - 1], 1.0f);
    tort_context_free(context);
    free(outputs);
    free(values);
}

static void check_on(const char *chain, const char *op, bool fan, int32_t left, tort_status expected) {
    const tort_session_options options = {.struct_size = sizeof options, .chain = chain, .providers = engine_providers};
    tort_model *model = large_model(op, fan, NODES);
    tort_session *session = NULL;
    tort_error error;
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), expected, "%s", error.msg);
    for (int64_t size = 1; !expected && size <= 2; size++) {
        const tort_input_shape shape = {"x", 1, {size}};
        cr_assert_eq(tort_session_plan(session, &shape, 1, &error), TORT_OK, "%s", error.msg);
    }
    if (!expected) run_into_buffers(session, fan ? NODES : 1);
    tort_report *report = report_of(session);
    cr_expect_eq(report->node_count, left);
    cr_expect_eq(report->unplaced, expected ? NODES : 0);
    tort_report_free(report);
    tort_session_free(session);
    tort_model_free(model);
}

static void check(const char *op, bool fan, tort_status expected) {
    check_on("cpu", op, fan, NODES, expected);
}

Test(growth, a_long_chain) {
    check("Relu", false, TORT_OK);
}

Test(growth, a_wide_fan) {
    check("Relu", true, TORT_OK);
}

/* All of the chain is one; each node of the fan is offered alone, and refused. */
Test(growth, segments) {
    check_on("engine,cpu", "Relu", false, 1, TORT_OK);
    check_on("engine,cpu", "Relu", true, NODES, TORT_OK);
}

Test(growth, operators_that_nobody_has) {
    check("NoSuchOperator", false, TORT_E_PLACEMENT);
    check("NoSuchOperator", true, TORT_E_PLACEMENT);
}

/* As many pins as nodes. */
Test(growth, pins) {
    enum { PINS = 50000 };
    static char texts[PINS][24];
    static const char *pins[PINS];
    tort_model *model = large_model("Relu", false, PINS);
    tort_session *session = NULL;
    tort_error error;
    for (int32_t i = 0; i < PINS; i++) {
        snprintf(texts[i], sizeof texts[i], i % 2 ? "node_%d=cpu" : "#%d=cpu", i);
        pins[i] = texts[i];
    }
    tort_session_options options = {.struct_size = sizeof options, .pins = pins, .pin_count = PINS};
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    tort_report *report = report_of(session);
    cr_expect_eq(report->pinned, PINS);
    tort_report_free(report);
    tort_session_free(session);
    tort_model_free(model);
}
