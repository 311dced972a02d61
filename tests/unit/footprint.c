/* footprint.c - tests that a plan tells the bytes that a run holds: against an allocator that counts every one of them,
 * within one percent; and that limits of memory are kept, by name. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/build_model.h"
#include "tests/counting_env.h"
#include "tests/fake_provider.h"
#include "tests/report_of.h"

static int32_t typed_weight(model_builder *b, const char *name, tort_type type, int32_t rank, const int64_t *dims) {
    tort_tensor tensor = {.type = type, .rank = rank};
    size_t bytes;
    memcpy(tensor.dims, dims, (size_t)rank * sizeof *dims);
    cr_assert(tort_tensor_bytes(&tensor, &bytes));
    tensor.data = calloc(bytes + 1, 1);
    int32_t value = build_weight(b, name, &tensor);
    free(tensor.data);
    return value;
}

static int32_t weight(model_builder *b, const char *name, int32_t rank, const int64_t *dims) {
    return typed_weight(b, name, TORT_FLOAT, rank, dims);
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

static tort_model *digits(const tort_env *env, tort_error *error) {
    tort_model *model = NULL;
    tort_model_load(env, "models/digits.onnx", NULL, &model, error);
    return model;
}

/* A packed product, one that is not, a folded sum, a weight read by two nodes, small and large weights. */
static tort_model *products(const tort_env *env, tort_error *error) {
    model_builder b = build_begin(env);
    int32_t x = build_input(&b, "x", TORT_FLOAT, 2, (const int64_t[]){20, 300});
    int32_t w = weight(&b, "w", 2, (const int64_t[]){300, 400}), v = weight(&b, "v", 2, (const int64_t[]){20, 400});
    int32_t small = weight(&b, "small", 1, (const int64_t[]){10}), pair = weight(&b, "pair", 1, (const int64_t[]){400});
    int32_t folded = build_node(&b, "Add", "folded", (const int32_t[]){pair, pair, -1});
    int32_t product = build_node(&b, "MatMul", "product", (const int32_t[]){x, w, -1});
    int32_t sum = build_node(&b, "Add", "sum", (const int32_t[]){product, v, -1});
    int32_t twice = build_node(&b, "Mul", "twice", (const int32_t[]){sum, v, -1});
    int32_t more = build_node(&b, "Add", "more", (const int32_t[]){twice, folded, -1});
    build_output(&b, build_node(&b, "Softmax", "softmax", (const int32_t[]){more, -1}));
    build_output(&b, build_node(&b, "Neg", "neg", (const int32_t[]){small, -1}));
    return build_end(&b, error);
}

/* Weights that a normalization scales, small and large. */
static tort_model *scaled(const tort_env *env, tort_type type, tort_error *error) {
    model_builder b = build_begin(env);
    int32_t value = build_input(&b, "x", type, 4, (const int64_t[]){1, 20, 5, 5});
    const int64_t sizes[] = {20, 1100, 20, 1100};
    for (int i = 1; i < 4; i++) {
        char name[7][16];
        for (int k = 0; k < 7; k++) snprintf(name[k], sizeof name[k], "%c%d", "wstmvcn"[k], i);
        const int32_t w = typed_weight(&b, name[0], type, 4, (const int64_t[]){sizes[i], sizes[i - 1], 1, 1});
        int32_t lists[4];
        for (int k = 0; k < 4; k++) lists[k] = typed_weight(&b, name[k + 1], type, 1, &sizes[i]);
        value = build_node(&b, "Conv", name[5], (const int32_t[]){value, w, -1});
        value = build_node(&b, "BatchNormalization", name[6],
                           (const int32_t[]){value, lists[0], lists[1], lists[2], lists[3], -1});
    }
    build_output(&b, value);
    return build_end(&b, error);
}

/* By a kernel that packs them. */
static tort_model *scaled_floats(const tort_env *env, tort_error *error) {
    return scaled(env, TORT_FLOAT, error);
}

/* By a plain loop, which reads them as they are. */
static tort_model *scaled_doubles(const tort_env *env, tort_error *error) {
    return scaled(env, TORT_DOUBLE, error);
}

/* What DequantizeLinear makes of bytes: `weights` of them, with one scale. */
static int32_t unpacked(model_builder *b, const char *name, int64_t rows, int64_t columns) {
    char names[3][32];
    for (int i = 0; i < 3; i++) snprintf(names[i], sizeof names[i], "%s_%c", name, "wsn"[i]);
    const int32_t w = typed_weight(b, names[0], TORT_INT8, 2, (const int64_t[]){rows, columns});
    float step = 0.5f;
    const int32_t s = build_weight(b, names[1], &(tort_tensor){.type = TORT_FLOAT, .data = &step});
    return build_node(b, "DequantizeLinear", names[2], (const int32_t[]){w, s, -1});
}

/* Bytes that are unpacked for a kernel that packs them, and for one that reads them in each run. */
static tort_model *quantized(const tort_env *env, tort_error *error) {
    model_builder b = build_begin(env);
    int32_t x = build_input(&b, "x", TORT_FLOAT, 2, (const int64_t[]){20, 300});
    int32_t one = build_input(&b, "one", TORT_FLOAT, 1, (const int64_t[]){1});
    int32_t w = unpacked(&b, "w", 300, 400), v = unpacked(&b, "v", 200, 300);
    build_output(&b, build_node(&b, "MatMul", "product", (const int32_t[]){x, w, -1}));
    build_output(&b, build_node(&b, "Add", "sum", (const int32_t[]){v, one, -1}));
    return build_end(&b, error);
}

/* Nothing but graph. */
static tort_model *chain(const tort_env *env, tort_error *error) {
    model_builder b = build_begin(env);
    int32_t value = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){3});
    for (int i = 0; i < 2000; i++) {
        char name[32];
        snprintf(name, sizeof name, "layer_%d", i);
        value = build_node(&b, i % 2 ? "Relu" : "Neg", name, (const int32_t[]){value, -1});
    }
    build_output(&b, value);
    return build_end(&b, error);
}

/* Nothing but outputs. */
static tort_model *fan(const tort_env *env, tort_error *error) {
    model_builder b = build_begin(env);
    int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){3});
    for (int i = 0; i < 2000; i++) {
        char name[32];
        snprintf(name, sizeof name, "node_%d", i);
        build_output(&b, build_node(&b, "Relu", name, (const int32_t[]){x, -1}));
    }
    return build_end(&b, error);
}

typedef tort_model *(*model_maker)(const tort_env *env, tort_error *error);

/* ---- the bytes of a run ------------------------------------------------------------------------------------------ */

static tort_status run_zeros(const tort_model *model, tort_context *context, tort_error *error) {
    tort_tensor inputs[4] = {{.data = NULL}};
    static tort_tensor outputs[2000];
    memset(outputs, 0, sizeof outputs);
    static float zeros[20 * 300];
    for (int32_t i = 0; i < tort_model_input_count(model); i++) {
        tort_port port = input_of(model, i);
        inputs[i] = (tort_tensor){.type = port.type, .rank = port.rank, .data = zeros};
        for (int32_t d = 0; d < port.rank; d++) inputs[i].dims[d] = port.dims[d] < 0 ? 1 : port.dims[d];
    }
    return tort_context_run(context, inputs, tort_model_input_count(model), outputs, tort_model_output_count(model),
                            error);
}

static int64_t planned_total(const tort_env *env, const tort_model *model, const char *chain_text,
                             tort_report_memory *memory) {
    tort_session *session = NULL;
    tort_error error;
    const tort_symbol_size batch = {"N", 1};
    tort_session_options options = {
        .struct_size = sizeof options, .chain = chain_text, .plan_only = true, .providers = fake_providers};
    if (input_of(model, 0).dims[0] < 0) options.symbols = &batch, options.symbol_count = 1;
    cr_assert_eq(tort_session_create(env, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    tort_report *report = report_of(session);
    *memory = *report->memory;
    tort_report_free(report);
    tort_session_free(session);
    return memory->total;
}

static void expect_near(const char *what, int64_t told, int64_t held) {
    cr_expect(llabs(told - held) * 100 <= held, "%s: %lld bytes told, %lld are held", what, (long long)told,
              (long long)held);
}

static void check_total(model_maker make, const char *name, const char *chain_text) {
    tort_counting_env counting;
    tort_counting_env_init(&counting);
    tort_error error;
    tort_model *model = make(&counting.env, &error);
    cr_assert_not_null(model, "%s", error.msg);
    tort_report_memory planned;
    planned_total(&counting.env, model, chain_text, &planned);
    tort_session *session = NULL;
    tort_context *context = NULL;
    const tort_symbol_size batch = {"N", 1};
    tort_session_options options = {.struct_size = sizeof options, .chain = chain_text, .providers = fake_providers};
    if (input_of(model, 0).dims[0] < 0) options.symbols = &batch, options.symbol_count = 1;
    cr_assert_eq(tort_session_create(&counting.env, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(run_zeros(model, context, &error), TORT_OK, "%s", error.msg);
    const int64_t held = (int64_t)counting.live_bytes;
    tort_report *report = report_of(session);
    expect_near(name, planned.total, held);
    expect_near(name, report->memory->total, held);
    cr_expect_eq(report->memory->weights, planned.weights, "%s", name);
    cr_expect_eq(report->memory->arena, planned.arena, "%s", name);
    tort_report_free(report);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    cr_expect_eq(counting.live_blocks, 0);
    cr_expect_eq(counting.wrong_sizes, 0);
}

Test(footprint, a_plan_tells_what_a_run_holds) {
    check_total(digits, "digits", "cpu:threads=1");
    check_total(digits, "digits on two threads", "cpu:threads=2");
    check_total(products, "products", "cpu:threads=1");
    check_total(products, "products on fake and cpu", "fake,cpu:threads=1");
    check_total(scaled_floats, "scaled floats", "cpu:threads=1");
    check_total(scaled_doubles, "scaled doubles", "cpu:threads=1");
    check_total(quantized, "quantized", "cpu:threads=1");
    check_total(quantized, "quantized on fake and cpu", "fake,cpu:threads=1");
    check_total(chain, "chain", "cpu:threads=1");
    check_total(chain, "chain on fake and cpu", "fake,cpu:threads=1");
    check_total(fan, "fan", "cpu:threads=1");
}

/* Floats between nodes that become one node of bytes: 4 MB of them that nobody asks for. */
Test(footprint, weights_that_stay_packed_are_not_unpacked) {
    tort_counting_env counting;
    tort_counting_env_init(&counting);
    tort_error error;
    model_builder b = build_begin(&counting.env);
    int32_t x = build_input(&b, "x", TORT_FLOAT, 2, (const int64_t[]){4, 1000}), w = unpacked(&b, "w", 1000, 1000);
    float step = 0.5f;
    uint8_t zero = 0;
    const int32_t s = build_weight(&b, "s", &(tort_tensor){.type = TORT_FLOAT, .data = &step});
    const int32_t z = build_weight(&b, "z", &(tort_tensor){.type = TORT_UINT8, .data = &zero});
    x = build_node(&b, "QuantizeLinear", "xq", (const int32_t[]){x, s, z, -1});
    x = build_node(&b, "DequantizeLinear", "xd", (const int32_t[]){x, s, z, -1});
    x = build_node(&b, "MatMul", "product", (const int32_t[]){x, w, -1});
    x = build_node(&b, "QuantizeLinear", "yq", (const int32_t[]){x, s, z, -1});
    build_output(&b, build_node(&b, "DequantizeLinear", "yd", (const int32_t[]){x, s, z, -1}));
    tort_model *model = build_end(&b, &error);
    cr_assert_not_null(model, "%s", error.msg);
    tort_session *session = NULL;
    tort_session_options options = {.struct_size = sizeof options, .chain = "cpu:threads=1"};
    const size_t before = counting.live_bytes;
    counting.max_bytes = before;
    cr_assert_eq(tort_session_create(&counting.env, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    cr_expect_lt(counting.max_bytes - before, 3 << 20);
    tort_session_free(session);
    tort_model_free(model);
}

/* ---- the bytes of a device --------------------------------------------------------------------------------------- */

static size_t device_bytes;

static void *count_alloc(void *device, size_t bytes) {
    device_bytes += bytes;
    return fake_providers[0]->memory.alloc(device, bytes);
}

static void count_free(void *device, void *memory, size_t bytes) {
    device_bytes -= bytes;
    fake_providers[0]->memory.free(device, memory, bytes);
}

Test(footprint, a_plan_tells_what_a_device_holds) {
    tort_provider counted = *fake_providers[0];
    counted.memory.alloc = count_alloc;
    counted.memory.free = count_free;
    const tort_provider *const providers[] = {&counted, NULL};
    model_builder b = build_begin(NULL);
    tort_error error;
    int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){1000});
    build_output(&b, build_node(&b, "Relu", "relu", (const int32_t[]){x, -1}));
    int32_t w = weight(&b, "w", 1, (const int64_t[]){777}), v = weight(&b, "v", 1, (const int64_t[]){5});
    build_output(&b, build_node(&b, "Neg", "neg", (const int32_t[]){w, -1}));
    build_output(&b, build_node(&b, "Relu", "other", (const int32_t[]){v, -1}));
    tort_model *model = build_end(&b, &error);
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_session_options options = {
        .struct_size = sizeof options, .chain = "fake,cpu", .providers = providers, .unfolded = true};
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    tort_report *report = report_of(session);
    cr_expect_eq(report->providers[0]->weight_bytes, 3328 + 256);
    cr_expect_eq((int64_t)device_bytes, report->providers[0]->weight_bytes, "one block, and of that size");
    cr_assert_eq(tort_context_create(session, &context, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq((int64_t)device_bytes, report->providers[0]->weight_bytes + report->providers[0]->peak_bytes);
    tort_report_free(report);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    cr_expect_eq(device_bytes, 0);
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

/* y = Expand(x, to), where `to` is a weight or an input. */
static tort_model *expand_model(bool live, int64_t rows, tort_error *error) {
    int64_t shape[2] = {rows, 1 << 16};
    model_builder b = build_begin(NULL);
    int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){1});
    int32_t to =
        live ? build_input(&b, "to", TORT_INT64, 1, (const int64_t[]){2})
             : build_weight(&b, "to", &(tort_tensor){.type = TORT_INT64, .rank = 1, .dims = {2}, .data = shape});
    build_output(&b, build_node(&b, "Expand", "large", (const int32_t[]){x, to, -1}));
    return build_end(&b, error);
}

Test(footprint, values_of_seventeen_gigabytes_are_refused_at_once_by_node_and_bytes) {
    tort_error error;
    tort_model *model = expand_model(false, 1 << 16, &error);
    tort_session *session = NULL;
    cr_expect_eq(tort_session_create(NULL, model, NULL, &session, &error), TORT_E_PLACEMENT);
    cr_expect(strstr(error.msg, "\"large\" (Expand-13) cpu: NO_MEMORY its values need 17179869188 bytes"), "%s",
              error.msg);
    tort_report *report = report_of(session);
    cr_expect(strstr(report->nodes[0]->verdicts[0]->cure, "cpu:mem_limit="), "%s", report->nodes[0]->verdicts[0]->cure);
    tort_report_free(report);
    tort_session_free(session);
    tort_model_free(model);
}

static tort_status run_expand(const char *chain_text, int64_t rows, tort_error *error) {
    tort_model *model = expand_model(true, rows, error);
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_session_options options = {.struct_size = sizeof options, .chain = chain_text};
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, error), TORT_OK, "%s", error->msg);
    cr_assert_eq(tort_context_create(session, &context, error), TORT_OK, "%s", error->msg);
    float one[1] = {1};
    int64_t shape[2] = {rows, 1 << 16};
    tort_tensor inputs[2] = {{.type = TORT_FLOAT, .rank = 1, .dims = {1}, .data = one},
                             {.type = TORT_INT64, .rank = 1, .dims = {2}, .data = shape}};
    tort_tensor output = {.data = NULL};
    tort_status status = tort_context_run(context, inputs, 2, &output, 1, error);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    return status;
}

Test(footprint, so_are_those_whose_shape_only_the_run_tells) {
    tort_error error;
    cr_expect_eq(run_expand("cpu", 1 << 16, &error), TORT_E_MEMORY);
    cr_expect(strstr(error.msg, "\"large\" (Expand-13)"), "%s", error.msg);
    cr_expect(strstr(error.msg, "17179869184 bytes"), "%s", error.msg);
    cr_expect_eq(run_expand("cpu:mem_limit=4M", 64, &error), TORT_E_MEMORY, "16 MB");
    cr_expect(strstr(error.msg, "mem_limit"), "%s", error.msg);
    cr_expect_eq(run_expand("cpu:mem_limit=4M", 4, &error), TORT_OK, "%s", error.msg);
}

static tort_status open_products(const char *chain_text, tort_error *error) {
    tort_model *model = products(NULL, error);
    tort_session *session = NULL;
    tort_session_options options = {.struct_size = sizeof options, .chain = chain_text};
    tort_status status = tort_session_create(NULL, model, &options, &session, error);
    tort_session_free(session);
    tort_model_free(model);
    return status;
}

/* 300 x 400 floats of weights, 20 x 400 of values at a time. */
Test(footprint, a_limit_holds_for_weights_and_values_together) {
    tort_error error;
    cr_expect_eq(open_products("cpu:threads=1:mem_limit=400k", &error), TORT_E_PLACEMENT);
    cr_expect(strstr(error.msg, "\"product\" (MatMul-13) cpu: NO_MEMORY its tensors need 536000 bytes"), "%s",
              error.msg);
    cr_expect_eq(open_products("cpu:threads=1:mem_limit=560k", &error), TORT_E_MEMORY);
    cr_expect(strstr(error.msg, "bytes for weights and") && strstr(error.msg, "is made by node"), "%s", error.msg);
    cr_expect_eq(open_products("cpu:threads=1:mem_limit=2M", &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(open_products("cpu:mem_limit=much", &error), TORT_E_USAGE);
}

/* Negations of a weight of 4 kB: as many are folded as fit the limit. */
Test(footprint, folding_stops_at_its_limit) {
    enum { NODES = 8, FLOATS = 1024 };
    static const float zeros[FLOATS];
    tort_error error;
    model_builder b = build_begin(NULL);
    const tort_tensor weight = {.type = TORT_FLOAT, .rank = 1, .dims = {FLOATS}, .data = (void *)(uintptr_t)zeros};
    int32_t w = build_weight(&b, "w", &weight);
    for (int i = 0; i < NODES; i++) build_output(&b, w = build_node(&b, "Neg", "", (const int32_t[]){w, -1}));
    tort_model *model = build_end(&b, &error);
    cr_assert(model, "%s", error.msg);
    for (uint64_t limit = 0; limit <= 4 * sizeof zeros; limit += sizeof zeros) {
        tort_session_options options = {.struct_size = sizeof options, .fold_limit = limit};
        tort_session *session = NULL;
        cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
        tort_report *report = report_of(session);
        cr_expect_eq(report->folded, limit ? (int32_t)(limit / sizeof zeros) : NODES, "of %d bytes", (int)limit);
        tort_report_free(report);
        tort_session_free(session);
    }
    tort_model_free(model);
}
