/* own_operator.c - an application that brings an operator of its own, and a provider that has a kernel for it.
 *
 * com.example::Scale multiplies by its attribute `factor`. Its row says what the operator takes and means; a provider
 * with fast code for it names it in its table, any other runs the plain loop. */
#include "runtime/include/provider.h"
#include "tests/onnx_bytes.h"

#include <stdio.h>
#include <string.h>

/* ---- the operator ------------------------------------------------------------------------------------------------ */

typedef struct scale_params {
    float factor;
} scale_params;

static tort_status scale_resolve(tort_resolve *resolve) {
    scale_params *params = resolve->params;
    params->factor = tort_attr_float(resolve->node, "factor");
    return TORT_OK;
}

static tort_status scale_loop(const tort_call *call) {
    const scale_params *params = call->params;
    const float *x = call->inputs[0].data;
    float *y = call->outputs[0].data;
    for (int64_t i = 0; i < tort_count(&call->outputs[0]); i++) y[i] = x[i] * params->factor;
    return TORT_OK;
}

/* The output has the type and shape of the input. */
static const tort_op scale[] = {
    {"com.example", "Scale", 1, 1, "X:T", "Y:T", "T=float", "factor:float=2", .params_size = sizeof(scale_params),
     .infer = tort_infer_elementwise, .resolve = scale_resolve, .reference = scale_loop},
    {0},
};
static const tort_op *const operators[] = {scale, NULL};

/* ---- the provider ------------------------------------------------------------------------------------------------ */

static void swift_open(const tort_provider_config *config, void **device, tort_target *target,
                       tort_condition *condition) {
    (void)config, (void)device;
    *target = (tort_target){.description = "code of the application"};
    *condition = (tort_condition){.ready = true, .code = "READY"};
}

static tort_status swift_scale(const tort_call *call) {
    return scale_loop(call); /* a real one is faster */
}

static const tort_kernel kernels[] = {
    {.domain = "com.example", .op = "Scale", .name = "swift_scale", .run = swift_scale},
    {.op = NULL},
};
static const tort_kernel *const tables[] = {kernels, NULL};
static const tort_provider swift = {.abi = TORT_PROVIDER_ABI,
                                    .name = "swift",
                                    .summary = "kernels of the application",
                                    .host_memory = true,
                                    .kernels = tables,
                                    .open = swift_open};
static const tort_provider *const providers[] = {&swift, NULL};

/* ---- using them -------------------------------------------------------------------------------------------------- */

/* y = Scale(Relu(x)), factor 3, for x of shape [4]. */
static void write_model(onnx_bytes *b) {
    const int64_t four = 4;
    onnx_opset(b, MODEL_OPSET, "com.example", 1);
    onnx_begin_model(b, 21);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 1, &four);
    onnx_node(b, "Relu", "relu", "x", "r");
    onnx_begin_node(b, GRAPH_NODE, "Scale", "scale", "r", "y");
    onnx_text(b, NODE_DOMAIN, "com.example");
    onnx_begin_attribute(b, "factor", 1);
    onnx_float(b, ATTR_F, 3.0f);
    onnx_end(b);
    onnx_end(b);
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 1, &four);
    onnx_end(b);
}

/* Runs the model; the node of Scale must be on `expected`. */
static tort_status run(const onnx_bytes *b, const tort_load_options *load, const char *chain, const char *expected,
                       tort_error *error) {
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_report *report = NULL;
    float x[4] = {-1, 0, 1, 2}, y[4] = {0};
    const float wanted[4] = {0, 0, 3, 6};
    tort_tensor input = {.type = TORT_FLOAT, .rank = 1, .dims = {4}, .data = x}, output = input;
    tort_session_options options = {.struct_size = sizeof options, .chain = chain, .providers = providers};
    output.data = y;
    tort_status status = tort_model_load_buffer(NULL, b->data, b->size, load, &model, error);
    if (!status) status = tort_session_create(NULL, model, &options, &session, error);
    if (!status) status = tort_session_report(session, &report, error);
    if (!status && strcmp(report->nodes[1]->provider, expected) != 0)
        status = tort_fail(error, TORT_E_RUN, "Scale is on %s", report->nodes[1]->provider);
    if (!status) status = tort_context_create(session, &context, error);
    if (!status) status = tort_context_run(context, &input, 1, &output, 1, error);
    if (!status && memcmp(y, wanted, sizeof y) != 0) status = tort_fail(error, TORT_E_RUN, "wrong results");
    tort_report_free(report);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    return status;
}

int main(void) {
    tort_error error = {.msg = ""};
    onnx_bytes b = {0};
    tort_load_options load = {.struct_size = sizeof load, .operators = operators, .operator_abi = TORT_PROVIDER_ABI};
    write_model(&b);
    tort_status status = run(&b, &load, "swift,cpu", "swift", &error);
    if (!status) status = run(&b, &load, "cpu", "cpu", &error);
    if (status) printf("%s: %s\n", tort_status_name(status), error.msg);
    const tort_status without = run(&b, NULL, "cpu", "", &error);
    if (without != TORT_E_PLACEMENT || !strstr(error.msg, "com.example::Scale")) {
        printf("without the operator: %s: %s\n", tort_status_name(without), error.msg);
        status = TORT_E_RUN;
    }
    onnx_free(&b);
    return status;
}
