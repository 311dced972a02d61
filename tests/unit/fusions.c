/* fusions.c - tests of fuse.c, match.c and pattern.c beside those of tests/fusions: rows that are malformed, what a
 * provider refuses, shapes that are asked of what was joined away, names in errors, and memory that runs out. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/core/base/build.h"
#include "runtime/core/passes/match.h"
#include "tests/build_model.h"
#include "tests/counting_env.h"
#include "tests/report_of.h"

/* ---- rows -------------------------------------------------------------------------------------------------------- */

Test(fusions, every_row_can_be_read) {
    int32_t rows = 0;
    for (const tort_pattern *const *table = tort_build.patterns; *table; table++)
        for (const tort_pattern *row = *table; row->name; row++, rows++) {
            tort_parsed parsed;
            const char *wrong = tort_pattern_parse(row, &parsed);
            cr_expect_null(wrong, "%s: %s: %s", row->name, row->nodes, wrong);
        }
    cr_expect_gt(rows, 10);
}

Test(fusions, a_malformed_row_is_told) {
    static const char *const rows[][3] = {
        {"c=Conv(x,w)", "Conv(x,w)", "it joins nothing"},
        {"c=Conv(x,w) y=Relu(x)", "Conv(x,w)", "a node before the last is not read"},
        {"c=Conv(x,w) y=Relu(c", "Conv(x,w)", "operands are not closed"},
        {"c=Conv{group=1(x,w) y=Relu(c)", "Conv(x,w)", "braces are not closed"},
        {"c=(x,w) y=Relu(c)", "Conv(x,w)", "an operator is missing"},
        {"Conv(x,w) y=Relu(c)", "Conv(x,w)", "a node has no name"},
        {"c=Conv(x,W) y=Relu(c)", "Conv(x,w)", "an operand is not a name"},
        {"c=Conv() y=Relu(c)", "Conv(x,w)", "a node reads nothing"},
        {"y=Relu(c) c=Conv(y,w)", "Conv(x,w)", "a node is read before it is made"},
        {"c=Conv(x,w) y=Relu(c)", "Conv", "what it makes has no operands"},
        {"c=Conv(x,w) y=Relu(c)", "Conv(x,w", "operands of what it makes are not closed"},
        {"c=Conv(x,w) y=Relu(c)", "Conv(x,w) and more", "something follows what it makes"},
        {"&c=MatMul(x,#w) y=Relu(c)", "MatMul(x,w)", "a row with & or ^ has one node"},
        {"c=Conv|Gemm|MatMul(x,w) y=Relu(c)", "A|B(x,w)", "it makes other operators than the anchor has"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tort_pattern row = {"bad", rows[i][0], rows[i][1], NULL};
        tort_parsed parsed;
        const char *wrong = tort_pattern_parse(&row, &parsed);
        cr_assert_not_null(wrong, "%s", rows[i][0]);
        cr_expect_str_eq(wrong, rows[i][2], "%s: %s", rows[i][0], wrong);
    }
}

/* ---- a provider that says what it is told to --------------------------------------------------------------------- */

static void open_here(const tort_provider_config *config, void **device, tort_target *target,
                      tort_condition *condition) {
    (void)config;
    *device = NULL;
    *target = (tort_target){.description = "for tests"};
    *condition = (tort_condition){.ready = true, .code = "READY"};
}

static tort_verdict refuse(const tort_target *target, const tort_node_view *node) {
    (void)target, (void)node;
    return tort_no(TORT_NO_ATTR, "ask another time", "told to refuse");
}

static tort_status fail(const tort_call *call) {
    return tort_fail(call->error, TORT_E_RUN, "told to fail");
}

static tort_status copy_first(const tort_call *call) {
    memcpy(call->outputs[0].data, call->inputs[0].data, (size_t)tort_count(&call->outputs[0]) * sizeof(float));
    return TORT_OK;
}

/* MatMul by the plain loop; only the joined one differs. */
static const tort_kernel refusing[] = {
    {.domain = "", .op = "MatMul", .name = "product"},
    {.domain = "", .op = "Relu", .name = "relu"},
    {.domain = "tinyort", .op = "FusedMatMul", .name = "joined", .claim = refuse},
    {.op = NULL},
};
static const tort_kernel failing[] = {
    {.domain = "", .op = "MatMul", .name = "product"},
    {.domain = "", .op = "Relu", .name = "relu"},
    {.domain = "tinyort", .op = "FusedMatMul", .name = "joined", .run = fail},
    {.op = NULL},
};
static const tort_kernel without[] = {
    {.domain = "", .op = "MatMul", .name = "product"},
    {.domain = "", .op = "Relu", .name = "relu"},
    {.op = NULL},
};
/* A fast MatMul, and a plain loop for all else. */
static const tort_kernel slower[] = {
    {.domain = "", .op = "MatMul", .name = "product", .run = copy_first},
    {.domain = "", .op = "*", .name = "any"},
    {.op = NULL},
};
static const tort_kernel activations[] = {{.domain = "", .op = "Relu", .name = "relu"}, {.op = NULL}};

#define TEST_PROVIDER(rows)                                                                                            \
    {                                                                                                                  \
        .abi = TORT_PROVIDER_ABI, .name = #rows, .summary = "for tests", .host_memory = true,                          \
        .kernels = (const tort_kernel *const[]){rows, NULL}, .open = open_here                                         \
    }

static const tort_provider test_providers[] = {TEST_PROVIDER(refusing), TEST_PROVIDER(failing), TEST_PROVIDER(without),
                                               TEST_PROVIDER(slower), TEST_PROVIDER(activations)};
static const tort_provider *const providers[] = {&test_providers[0], &test_providers[1], &test_providers[2],
                                                 &test_providers[3], &test_providers[4], NULL};

/* ---- y = Relu(x w) ----------------------------------------------------------------------------------------------- */

static float numbers[16] = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 15, -16};

static tort_model *product_model(const tort_env *env, tort_error *error) {
    model_builder b = build_begin(env);
    const int32_t x = build_input(&b, "x", TORT_FLOAT, 2, (const int64_t[]){-1, 4});
    const tort_tensor weights = {.type = TORT_FLOAT, .rank = 2, .dims = {4, 4}, .data = numbers};
    const int32_t w = build_weight(&b, "w", &weights);
    const int32_t product = build_node(&b, "MatMul", "product", (const int32_t[]){x, w, -1});
    build_output(&b, build_node(&b, "Relu", "relu", (const int32_t[]){product, -1}));
    return build_end(&b, error);
}

typedef struct opened {
    tort_model *model;
    tort_session *session;
    tort_report *report;
    tort_error error;
    tort_status status;
} opened;

static opened open_model(tort_model *(*make)(const tort_env *, tort_error *), tort_session_options options) {
    opened o = {.session = NULL};
    o.model = make(NULL, &o.error);
    cr_assert_not_null(o.model, "%s", o.error.msg);
    options.struct_size = sizeof options;
    options.providers = providers;
    o.status = tort_session_create(NULL, o.model, &options, &o.session, &o.error);
    if (o.session) o.report = report_of(o.session);
    return o;
}

static void close_model(opened *o) {
    tort_report_free(o->report);
    tort_session_free(o->session);
    tort_model_free(o->model);
}

static tort_status run_rows(opened *o, int64_t rows, tort_tensor *output) {
    tort_context *context = NULL;
    tort_tensor input = {.type = TORT_FLOAT, .rank = 2, .dims = {rows, 4}, .data = numbers};
    tort_status status = tort_context_create(o->session, &context, &o->error);
    *output = (tort_tensor){.data = NULL};
    if (!status) status = tort_context_run(context, &input, 1, output, 1, &o->error);
    tort_context_free(context);
    return status;
}

Test(fusions, nodes_are_joined_and_told) {
    opened o = open_model(product_model, (tort_session_options){.chain = "cpu"});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_assert_eq(o.report->node_count, 1);
    const tort_report_node *node = o.report->nodes[0];
    cr_expect_str_eq(node->op, "FusedMatMul");
    cr_expect_str_eq(node->domain, "tinyort");
    cr_expect_str_eq(node->name, "product");
    cr_expect_eq(node->index, 1, "it stands where the last one stood");
    cr_assert_eq(node->from_count, 2);
    cr_expect_str_eq(node->from[0], "product");
    cr_expect_str_eq(node->from[1], "relu");
    cr_expect_eq(o.report->fused, 1);
    cr_expect_eq(o.report->providers[0]->nodes, 1);
    close_model(&o);
}

Test(fusions, what_is_off_is_not_joined) {
    static const char *const off[] = {"*", "activation_relu", "bias,activation_relu"};
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        opened o = open_model(product_model, (tort_session_options){.chain = "cpu", .fusions_off = off[i]});
        cr_expect_eq(o.report->node_count, 2, "%s", off[i]);
        close_model(&o);
    }
    opened o = open_model(product_model, (tort_session_options){.chain = "cpu", .fusions_off = "bias,residual"});
    cr_expect_eq(o.report->node_count, 1);
    close_model(&o);
    o = open_model(product_model, (tort_session_options){.chain = "cpu", .unfolded = true});
    cr_expect_eq(o.report->node_count, 2);
    close_model(&o);
}

Test(fusions, an_unknown_name_is_an_error_with_the_names_there_are) {
    opened o = open_model(product_model, (tort_session_options){.chain = "cpu", .fusions_off = "bias,relu"});
    cr_expect_eq(o.status, TORT_E_USAGE);
    cr_expect(strstr(o.error.msg, "no fusion \"relu\""), "%s", o.error.msg);
    cr_expect(strstr(o.error.msg, "activation_relu"), "%s", o.error.msg);
    close_model(&o);
}

/* ---- refused ----------------------------------------------------------------------------------------------------- */

/* Placement and the number of nodes are as without fusion; the product says who refused, and why. */
static void expect_refusal(const char *chain, tort_verdict_code code, const char *message) {
    opened o = open_model(product_model, (tort_session_options){.chain = chain});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_assert_eq(o.report->node_count, 2);
    cr_expect_eq(o.report->fused, 0);
    const tort_report_node *node = o.report->nodes[0];
    cr_expect_str_eq(node->provider, chain);
    cr_expect_str_eq(o.report->nodes[1]->provider, chain);
    cr_assert_eq(node->verdict_count, 1);
    cr_assert_not_null(node->verdicts[0]->fusion);
    cr_expect_str_eq(node->verdicts[0]->fusion, "activation_relu");
    cr_expect_eq(node->verdicts[0]->code, code, "%s", tort_verdict_name(node->verdicts[0]->code));
    cr_expect(strstr(node->verdicts[0]->message, message), "%s", node->verdicts[0]->message);
    cr_expect_not(node->fell_back);
    close_model(&o);
}

Test(fusions, a_refusal_is_kept_and_moves_nothing) {
    expect_refusal("refusing", TORT_NO_ATTR, "told to refuse");
    expect_refusal("without", TORT_NO_OP, "without has no kernel for FusedMatMul");
    expect_refusal("slower", TORT_NO_OP, "slower would run FusedMatMul by its plain loop");
}

/* Nothing is asked where the parts are on two providers. */
Test(fusions, parts_on_two_providers_stay_there) {
    opened o = open_model(product_model, (tort_session_options){.chain = "activations,cpu"});
    cr_assert_eq(o.report->node_count, 2);
    cr_expect_str_eq(o.report->nodes[0]->provider, "cpu");
    cr_expect_str_eq(o.report->nodes[1]->provider, "activations");
    for (int32_t i = 0; i < o.report->nodes[0]->verdict_count; i++)
        cr_expect_null(o.report->nodes[0]->verdicts[i]->fusion);
    close_model(&o);
    static const char *const pins[] = {"relu=without"};
    o = open_model(product_model, (tort_session_options){.chain = "cpu,without", .pins = pins, .pin_count = 1});
    cr_assert_eq(o.report->node_count, 2);
    cr_expect_str_eq(o.report->nodes[1]->provider, "without");
    close_model(&o);
}

Test(fusions, a_pin_to_where_the_parts_are_is_kept) {
    static const char *const pins[] = {"relu=cpu"};
    opened o = open_model(product_model, (tort_session_options){.chain = "cpu", .pins = pins, .pin_count = 1});
    cr_assert_eq(o.report->node_count, 1);
    cr_expect(o.report->nodes[0]->pinned);
    close_model(&o);
}

Test(fusions, an_error_says_what_the_node_is_made_of) {
    opened o = open_model(product_model, (tort_session_options){.chain = "failing"});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    tort_tensor output;
    cr_expect_eq(run_rows(&o, 2, &output), TORT_E_RUN);
    cr_expect(strstr(o.error.msg, "\"product\" (tinyort::FusedMatMul-1, made of product, relu): told to fail"), "%s",
              o.error.msg);
    close_model(&o);
}

/* ---- shapes of what was joined away ------------------------------------------------------------------------------ */

/* Relu(x w + k) under the shape of x w, which nobody makes any more; and twice its rows. */
static tort_model *asked_model(const tort_env *env, tort_error *error) {
    model_builder b = build_begin(env);
    const int32_t x = build_input(&b, "x", TORT_FLOAT, 2, (const int64_t[]){-1, 4});
    const tort_tensor weights = {.type = TORT_FLOAT, .rank = 2, .dims = {4, 4}, .data = numbers};
    const tort_tensor bias = {.type = TORT_FLOAT, .rank = 1, .dims = {4}, .data = numbers};
    int64_t first = 0;
    const tort_tensor zero = {.type = TORT_INT64, .rank = 1, .dims = {1}, .data = &first};
    const int32_t w = build_weight(&b, "w", &weights), k = build_weight(&b, "k", &bias);
    const int32_t z = build_weight(&b, "zero", &zero);
    const int32_t product = build_node(&b, "MatMul", "product", (const int32_t[]){x, w, -1});
    const int32_t sum = build_node(&b, "Add", "sum", (const int32_t[]){product, k, -1});
    const int32_t relu = build_node(&b, "Relu", "relu", (const int32_t[]){sum, -1});
    const int32_t shape = build_node(&b, "Shape", "shape", (const int32_t[]){product, -1});
    const int32_t rows = build_node(&b, "Gather", "rows", (const int32_t[]){shape, z, -1});
    const int32_t twice = build_node(&b, "Add", "twice", (const int32_t[]){rows, rows, -1});
    build_output(&b, build_node(&b, "Expand", "expanded", (const int32_t[]){relu, shape, -1}));
    build_output(&b, twice);
    return build_end(&b, error);
}

Test(fusions, a_shape_of_what_was_joined_away_is_known_for_every_size) {
    opened o = open_model(asked_model, (tort_session_options){.chain = "cpu"});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_expect_eq(o.report->fused, 2);
    for (int64_t rows = 1; rows <= 4; rows++) {
        tort_context *context = NULL;
        tort_tensor input = {.type = TORT_FLOAT, .rank = 2, .dims = {rows, 4}, .data = numbers};
        tort_tensor outputs[2] = {{.data = NULL}, {.data = NULL}};
        cr_assert_eq(tort_context_create(o.session, &context, &o.error), TORT_OK, "%s", o.error.msg);
        cr_assert_eq(tort_context_run(context, &input, 1, outputs, 2, &o.error), TORT_OK, "%s", o.error.msg);
        cr_expect_eq(outputs[0].dims[0], rows);
        cr_expect_eq(((const int64_t *)outputs[1].data)[0], 2 * rows);
        tort_context_free(context);
    }
    close_model(&o);
}

/* A product between DequantizeLinear and QuantizeLinear, which are joined with new scalars for each scale. */
static tort_model *quantized_model(const tort_env *env, tort_error *error) {
    static float step[1] = {0.5f};
    static int8_t bytes[16] = {1, 2, 3, 4, -5, -6, -7, -8};
    model_builder b = build_begin(env);
    const tort_tensor scale = {.type = TORT_FLOAT, .rank = 1, .dims = {1}, .data = step};
    const tort_tensor weights = {.type = TORT_INT8, .rank = 2, .dims = {4, 4}, .data = bytes};
    const int32_t x = build_input(&b, "x", TORT_INT8, 2, (const int64_t[]){2, 4});
    const int32_t s = build_weight(&b, "s", &scale), w = build_weight(&b, "w", &weights);
    tort_tensor zero = {.type = TORT_INT8, .rank = 1, .dims = {1}, .data = bytes + 8};
    const int32_t z = build_weight(&b, "z", &zero);
    const int32_t from_x = build_node(&b, "DequantizeLinear", "from_x", (const int32_t[]){x, s, z, -1});
    const int32_t from_w = build_node(&b, "DequantizeLinear", "from_w", (const int32_t[]){w, s, z, -1});
    const int32_t product = build_node(&b, "MatMul", "product", (const int32_t[]){from_x, from_w, -1});
    build_output(&b, build_node(&b, "QuantizeLinear", "to_y", (const int32_t[]){product, s, z, -1}));
    return build_end(&b, error);
}

Test(fusions, a_quantized_product_is_one_node) {
    opened o = open_model(quantized_model, (tort_session_options){.chain = "cpu:threads=1"});
    int8_t x[8] = {1, 0, 0, 0, 0, 2, 0, 0};
    const tort_tensor input = {.type = TORT_INT8, .rank = 2, .dims = {2, 4}, .data = x};
    tort_tensor output = {.data = NULL};
    tort_context *context = NULL;
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_expect_str_eq(o.report->nodes[o.report->node_count - 1]->op, "QLinearMatMul");
    cr_assert_eq(tort_context_create(o.session, &context, &o.error), TORT_OK, "%s", o.error.msg);
    cr_assert_eq(tort_context_run(context, &input, 1, &output, 1, &o.error), TORT_OK, "%s", o.error.msg);
    const int8_t expected[8] = {0, 1, 2, 2, -5, -6, -7, -8}; /* half of the row, to even; twice the half of the other */
    cr_expect_arr_eq(output.data, expected, sizeof expected);
    tort_context_free(context);
    close_model(&o);
}

/* ---- memory that runs out ---------------------------------------------------------------------------------------- */

static tort_model *normalized_model(const tort_env *env, tort_error *error) {
    model_builder b = build_begin(env);
    const int32_t x = build_input(&b, "x", TORT_FLOAT, 4, (const int64_t[]){1, 4, 2, 2});
    static float positive[4] = {1, 2, 3, 4};
    const tort_tensor weights = {.type = TORT_FLOAT, .rank = 4, .dims = {4, 4, 1, 1}, .data = numbers};
    const tort_tensor list = {.type = TORT_FLOAT, .rank = 1, .dims = {4}, .data = positive};
    const int32_t w = build_weight(&b, "w", &weights), s = build_weight(&b, "s", &list);
    const int32_t c = build_node(&b, "Conv", "conv", (const int32_t[]){x, w, -1});
    const int32_t n = build_node(&b, "BatchNormalization", "norm", (const int32_t[]){c, s, s, s, s, -1});
    const int32_t sum = build_node(&b, "Add", "sum", (const int32_t[]){n, x, -1});
    build_output(&b, build_node(&b, "Relu", "relu", (const int32_t[]){sum, -1}));
    return build_end(&b, error);
}

Test(fusions, the_nth_allocation_fails) {
    bool failed = true;
    for (int64_t n = 1; failed; n++) {
        tort_counting_env counting;
        tort_counting_env_init(&counting);
        tort_error error;
        tort_model *model = normalized_model(&counting.env, &error);
        cr_assert_not_null(model, "%s", error.msg);
        const int64_t before = counting.live_blocks;
        counting.fail_at = counting.allocations + n;
        counting.fail_once = true;
        tort_session *session = NULL;
        tort_session_options options = {.struct_size = sizeof options, .chain = "cpu:threads=1"};
        const tort_status status = tort_session_create(&counting.env, model, &options, &session, &error);
        failed = counting.allocations >= counting.fail_at;
        cr_assert(status == (failed ? TORT_E_MEMORY : TORT_OK), "allocation %lld: %s", (long long)n, error.msg);
        tort_session_free(session);
        cr_assert_eq(counting.live_blocks, before, "allocation %lld leaked", (long long)n);
        tort_model_free(model);
        cr_assert_eq(counting.wrong_sizes, 0);
    }
}
