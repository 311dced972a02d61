/* Tests of operators that an application brings: its rows go before the build's, and one that is malformed is an error
 * that names it, not a crash. tests/install/examples/own_operator.c uses one from outside of the tree. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/build.h"
#include "runtime/core/graph/check.h"
#include "tests/build_model.h"
#include "tests/onnx_bytes.h"
#include "tests/report_of.h"

/* ---- malformed rows ---------------------------------------------------------------------------------------------- */

#define GOOD                                                                                                           \
    .domain = "com.example", .name = "Thing", .since = 1, .until = 3, .inputs = "X:T B?:T more*:int64",                \
    .outputs = "Y:T Z?:seq(float)", .types = "T=float|double U=all|-string", .infer = tort_infer_elementwise,          \
    .attributes = "axis:int=-1 to:int(U)! scale:float=1e-5 pads:ints=0,0 mode:string=a t:tensor body:graph"
#define ROW(...)                                                                                                       \
    { GOOD, __VA_ARGS__ }

static tort_status no_resolve(tort_resolve *resolve) {
    (void)resolve;
    return TORT_OK;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Winitializer-overrides"
#endif
static const struct {
    tort_op row;
    const char *said; /* NULL: nothing is wrong with it */
} rows[] = {
    {{GOOD}, NULL},
    {ROW(.inputs = NULL, .attributes = NULL), NULL},
    {ROW(.inputs = "", .attributes = "", .types = "", .outputs = "Y:float"), NULL},
    {ROW(.params_size = 8, .resolve = no_resolve, .shape_inputs = 1u << 31), NULL},
    {ROW(.name = ""), "it has no name"},
    {ROW(.domain = NULL), "domain is NULL"},
    {ROW(.domain = "ai.onnx"), "write the main domain as \"\""},
    {ROW(.since = 0), "it is for versions 0 to 3"},
    {ROW(.since = 4), "it is for versions 4 to 3"},
    {ROW(.types = "T"), "types: \"T\" is not NAME=TYPE|TYPE"},
    {ROW(.types = "T=float U"), "types: \"U\" is not NAME=TYPE|TYPE"},
    {ROW(.types = "=float"), "types: \"=float\" is not"},
    {ROW(.types = "T="), "types: \"T=\" names no type"},
    {ROW(.types = "T=float||double"), "names no type, or one that does not exist"},
    {ROW(.types = "T=float32 U=all"), "types: \"T=float32\" names no type"},
    {ROW(.types = "T=optional(seq(float)"), "names no type"},
    {ROW(.types = "T=seq("), "names no type"},
    {ROW(.types = "T=seq(map(string,float|double"), "names no type"},
    {ROW(.types = "T=map(float,float)"), "names no type"},
    {ROW(.types = "T=map(int64)"), "names no type"},
    {ROW(.types = "T=seq(sparse(float))"), "names no type"},
    {ROW(.types = "T=seq(seq(seq(seq(float))))"), "names no type"},
    {ROW(.types = "T=seq(map(string,float))|map(int64,string)|optional(seq(all))|sparse(float) U=all"), NULL},
    {ROW(.types = "T=float|-float"), "names no type"},
    {ROW(.types = "T=float U=all T=double"), "types: \"T\" is there twice"},
    {ROW(.inputs = "X"), "inputs: \"X\" is not NAME:TYPE"},
    {ROW(.inputs = "X?T"), "inputs: \"X?T\" is not NAME:TYPE"},
    {ROW(.inputs = ":T"), "inputs: \":T\" is not NAME:TYPE"},
    {ROW(.inputs = "X: T"), "inputs: \"X:\" is not NAME:TYPE"},
    {ROW(.inputs = "X:V"), "inputs: \"V\" is neither in the row's types nor a type"},
    {ROW(.inputs = "X*:T Y:T"), "inputs: nothing can follow a variadic one, but \"Y\" does"},
    {ROW(.inputs = "X:T", .shape_inputs = 1u << 1), "shape_inputs has a bit for an input beyond the 1"},
    {ROW(.outputs = NULL), "outputs: there is none"},
    {ROW(.outputs = "Y:T 2"), "outputs: \"2\" is not NAME:TYPE"},
    {ROW(.outputs = "a:T b:T c:T d:T e:T f:T g:T h:T i:T"), "outputs: 9 are more than 8"},
    {ROW(.attributes = "axis"), "attributes: \"axis\" is not NAME:KIND"},
    {ROW(.attributes = "axis alpha:int"), "attributes: \"axis\" is not NAME:KIND"},
    {ROW(.attributes = ":int"), "attributes: \":int\" is not NAME:KIND"},
    {ROW(.attributes = "axis:"), "attributes: \"axis:\" is not NAME:KIND"},
    {ROW(.attributes = "axis:integer"), "attributes: \"axis:integer\" is not NAME:KIND"},
    {ROW(.attributes = "to:int("), "attributes: \"to\": \"(\" is not a type of the row"},
    {ROW(.attributes = "to:int(U"), "attributes: \"to\": \"(U\" is not a type of the row"},
    {ROW(.attributes = "to:int(V)"), "attributes: \"to\": \"(V\" is not a type of the row"},
    {ROW(.attributes = "to:ints(U)"), "only int(...) and string(...) name a type, \"to\" cannot"},
    {ROW(.attributes = "axis:int="), "\"axis\" cannot have the default \"\""},
    {ROW(.attributes = "axis:int=one"), "\"axis\" cannot have the default \"one\""},
    {ROW(.attributes = "axis:int=99999999999999999999"), "cannot have the default"},
    {ROW(.attributes = "alpha:float=0.1x"), "\"alpha\" cannot have the default \"0.1x\""},
    {ROW(.attributes = "pads:ints=1,,2"), "\"pads\" cannot have the default \"1,,2\""},
    {ROW(.attributes = "pads:ints=1,"), "\"pads\" cannot have the default \"1,\""},
    {ROW(.attributes = "t:tensor=1"), "\"t\" cannot have the default \"1\""},
    {ROW(.attributes = "axis:int!=1"), "attributes: \"axis\": \"=1\" is not understood"},
    {ROW(.attributes = "axis:int=1 k:int axis:int=2"), "attributes: \"axis\" is there twice"},
    {ROW(.flags = TORT_OP_CONTROL), "flags: 0x8 is not for operators of an application"},
    {ROW(.flags = 1u << 30), "flags: 0x40000000 is not"},
    {ROW(.infer = NULL), "infer is NULL"},
    {ROW(.params_size = 8), "params_size is 8, but no resolve fills them"},
    {ROW(.params_size = UINT32_MAX, .resolve = no_resolve), "more than 1048576 bytes"},
};
#pragma GCC diagnostic pop

/* The bytes end where the text ends, so that the sanitizers see a read behind it. */
static char *copy_text(const char *text) {
    size_t size = text ? strlen(text) + 1 : 0;
    char *copy = text ? malloc(size) : NULL;
    if (copy) memcpy(copy, text, size);
    return copy;
}

Test(own_operators, every_mistake_in_a_row_is_named) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tort_op table[2] = {rows[i].row, {.name = NULL}};
        char *texts[] = {copy_text(table[0].inputs), copy_text(table[0].outputs), copy_text(table[0].types),
                         copy_text(table[0].attributes)};
        table[0].inputs = texts[0], table[0].outputs = texts[1];
        table[0].types = texts[2], table[0].attributes = texts[3];
        tort_error error = {.code = TORT_OK};
        tort_status status = tort_check_rows((const tort_op *const[]){table, NULL}, &error);
        cr_expect_eq(status, rows[i].said ? TORT_E_USAGE : TORT_OK, "row %zu: %s: %s", i, tort_status_name(status),
                     error.msg);
        if (rows[i].said) cr_expect(strstr(error.msg, rows[i].said), "row %zu: %s", i, error.msg);
        if (rows[i].said)
            cr_expect(strstr(error.msg, "tort_load_options.operators: row 0 of table 0, "), "row %zu: %s", i,
                      error.msg);
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) free(texts[k]);
    }
}

Test(own_operators, rows_of_one_operator_may_not_overlap) {
    tort_op table[] = {rows[0].row, rows[0].row, rows[0].row, {.name = NULL}};
    tort_error error;
    table[1].since = 4, table[1].until = 6;
    table[2].domain = "com.other";
    const tort_op *const operators[] = {table, NULL};
    cr_expect_eq(tort_check_rows(operators, &error), TORT_OK, "%s", error.msg);
    table[1].since = 3;
    cr_expect_eq(tort_check_rows(operators, &error), TORT_E_USAGE);
    cr_expect_str_eq(error.msg, "tort_load_options.operators: row 1 of table 0, com.example::Thing-3: another row for "
                                "versions 1 to 3 is there already");
}

/* What is asked of an application's rows holds for the build's own, but for flags that are its own. */
Test(own_operators, the_rows_of_the_build_are_well_formed) {
    int checked = 0;
    for (const tort_op *const *family = tort_build.families; *family; family++)
        for (const tort_op *row = *family; row->name; row++, checked++) {
            tort_op copy[2] = {*row, {.name = NULL}};
            tort_error error;
            copy->flags &= ~(uint32_t)(TORT_OP_CONSTANT | TORT_OP_CONTROL);
            cr_expect_eq(tort_check_rows((const tort_op *const[]){copy, NULL}, &error), TORT_OK, "%s", error.msg);
        }
    cr_expect_gt(checked, 500);
}

/* ---- which row serves -------------------------------------------------------------------------------------------- */

Test(own_operators, the_applications_row_goes_before_the_builds) {
    const tort_op mine[] = {{.domain = "", .name = "Relu", .since = 7, .until = 9}, {.name = NULL}};
    const tort_op *const operators[] = {mine, NULL};
    const tort_env env = tort_env_complete(NULL);
    const tort_op *const *family;
    int32_t count;
    tort_op_table table;
    cr_assert(tort_op_table_build(&table, operators, &env));
    cr_expect_eq(tort_op_find(&table, "", "Relu", 8, &family, &count), mine);
    cr_expect_eq(count, 1);
    const tort_op *other = tort_op_find(&table, "", "Relu", 14, &family, &count);
    cr_expect(other && other != mine && other->until >= 14);
    cr_expect_gt(count, 1, "of the build's rows there are %d", count);
    tort_op_table_free(&table, &env);
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static tort_status load_with(const tort_load_options *options, tort_error *error) {
    const int64_t two = 2;
    onnx_bytes b = {0};
    tort_model *model = NULL;
    onnx_begin_model(&b, 13);
    onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 1, &two);
    onnx_node(&b, "Relu", "relu", "x", "y");
    onnx_value(&b, GRAPH_OUTPUT, "y", TORT_FLOAT, 1, &two);
    onnx_end(&b);
    tort_status status = tort_model_load_buffer(NULL, b.data, b.size, options, &model, error);
    tort_model_free(model);
    onnx_free(&b);
    return status;
}

Test(own_operators, another_op_h_is_an_error) {
    const tort_op none[] = {{.name = NULL}};
    const tort_op *const operators[] = {none, NULL};
    tort_error error;
    tort_load_options options = {.struct_size = sizeof options, .operators = operators};
    cr_expect_eq(load_with(&options, &error), TORT_E_USAGE);
    cr_expect(strstr(error.msg, "op.h of version 0 (operator_abi)"), "%s", error.msg);
    options.operator_abi = TORT_PROVIDER_ABI;
    cr_expect_eq(load_with(&options, &error), TORT_OK, "%s", error.msg);
    options.struct_size = offsetof(tort_load_options, operators);
    options.operator_abi = 99; /* a caller that knows nothing of operators */
    cr_expect_eq(load_with(&options, &error), TORT_OK, "%s", error.msg);
}

Test(own_operators, a_malformed_row_ends_the_loading) {
    const tort_op table[] = {rows[0].row, {.domain = "x", .name = "Bad", .since = 1, .until = 1}, {.name = NULL}};
    const tort_op *const operators[] = {table, NULL};
    tort_error error;
    tort_load_options options = {
        .struct_size = sizeof options, .operators = operators, .operator_abi = TORT_PROVIDER_ABI};
    cr_expect_eq(load_with(&options, &error), TORT_E_USAGE);
    cr_expect_str_eq(error.msg, "tort_load_options.operators: row 1 of table 0, x::Bad-1: outputs: there is none");
}

/* The report and its error know the application's rows too. */
Test(own_operators, a_version_that_no_row_is_for_says_which_there_are) {
    const tort_op table[] = {rows[0].row, {.name = NULL}};
    const tort_op *const operators[] = {table, NULL};
    const tort_load_options options = {
        .struct_size = sizeof options, .operators = operators, .operator_abi = TORT_PROVIDER_ABI};
    const int64_t two = 2;
    onnx_bytes b = {0};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_error error;
    onnx_opset(&b, MODEL_OPSET, "com.example", 5);
    onnx_begin_model(&b, 13);
    onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 1, &two);
    onnx_begin_node(&b, GRAPH_NODE, "Thing", "thing", "x", "y");
    onnx_text(&b, NODE_DOMAIN, "com.example");
    onnx_end(&b);
    onnx_value(&b, GRAPH_OUTPUT, "y", TORT_FLOAT, 1, &two);
    onnx_end(&b);
    cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, &options, &model, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(tort_session_create(NULL, model, NULL, &session, &error), TORT_E_PLACEMENT);
    cr_expect(strstr(error.msg, "com.example::Thing is known up to opset 3, but the model imports opset 5"), "%s",
              error.msg);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&b);
}

/* ---- an operator of the build's name ----------------------------------------------------------------------------- */

static tort_status double_all(const tort_call *call) {
    const float *x = call->inputs[0].data;
    float *y = call->outputs[0].data;
    for (int64_t i = 0; i < tort_count(&call->outputs[0]); i++) y[i] = 2 * x[i];
    return TORT_OK;
}

/* They have no params, unlike the build's. */
static const tort_op doubling[] = {
    {"", "Relu", 14, 28, "X:T", "Y:T", "T=float", "", .infer = tort_infer_elementwise, .reference = double_all},
    {"", "Softmax", 13, 28, "X:T", "Y:T", "T=float", "axis:int", .infer = tort_infer_elementwise,
     .reference = double_all},
    {.name = NULL},
};
static const tort_op *const doubling_operators[] = {doubling, NULL};

/* Neither a kernel of the build nor a fusion of it takes what only has the name in common. */
Test(own_operators, what_the_build_has_for_that_name_is_left_alone) {
    static float ones[] = {1, 1};
    tort_error error;
    tort_session *session = NULL;
    tort_context *context = NULL;
    model_builder b = build_begin(NULL);
    int32_t x = build_input(&b, "x", TORT_FLOAT, 4, (const int64_t[]){1, 1, 1, 2});
    int32_t w =
        build_weight(&b, "w", &(tort_tensor){.type = TORT_FLOAT, .rank = 4, .dims = {1, 1, 1, 2}, .data = ones});
    int32_t conv = build_node(&b, "Conv", "conv", (const int32_t[]){x, w, -1});
    int32_t relu = build_node(&b, "Relu", "relu", (const int32_t[]){conv, -1});
    build_output(&b, build_node(&b, "Softmax", "softmax", (const int32_t[]){relu, -1}));
    b.model->operators = doubling_operators;
    tort_model *model = build_end(&b, &error);
    cr_assert_not_null(model, "%s", error.msg);
    cr_assert_eq(tort_session_create(NULL, model, NULL, &session, &error), TORT_OK, "%s", error.msg);
    tort_report *report = report_of(session);
    cr_expect_eq(report->fused, 0);
    cr_assert_eq(report->node_count, 3);
    cr_expect_str_eq(report->nodes[1]->kernel, "reference");
    cr_expect_str_eq(report->nodes[2]->kernel, "reference");
    tort_report_free(report);
    float values[] = {-3, 1};
    const tort_tensor input = {.type = TORT_FLOAT, .rank = 4, .dims = {1, 1, 1, 2}, .data = values};
    tort_tensor output = {.data = NULL};
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_run(context, &input, 1, &output, 1, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(*(const float *)output.data, -8, "twice twice -3 + 1");
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
}
