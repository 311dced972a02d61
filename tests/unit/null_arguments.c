/* Tests that every function of the public headers answers a NULL that no comment allows with TORT_E_USAGE, and one
 * without a status with NULL, 0, -1, false, "" or nothing: each function is called with each argument NULL in turn. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/include/tinyort_plan.h"
#include "runtime/include/tinyort_profile.h"
#include "tests/onnx_bytes.h"
#include "tests/saved_plan.h"

typedef struct sample {
    onnx_bytes bytes;
    saved_bytes plan;
    tort_model *model;
    tort_session *session;
    tort_context *context;
    tort_value *value;
    tort_tensor tensor;
    char path[64]; /* of the saved plan */
    int null;      /* number of the argument that is NULL, from 1; 0: none */
    tort_error error;
    tort_error *place; /* &error or NULL */
} sample;

#define GIVEN(number, argument) (s->null == (number) ? NULL : (argument))

static float numbers[4];

static void sample_open(sample *s) {
    *s = (sample){.place = NULL};
    const int64_t dims[] = {4};
    onnx_begin_model(&s->bytes, 13);
    onnx_value(&s->bytes, GRAPH_INPUT, "x", TORT_FLOAT, 1, dims);
    onnx_node(&s->bytes, "Relu", "relu", "x", "y");
    onnx_value(&s->bytes, GRAPH_OUTPUT, "y", TORT_FLOAT, 1, dims);
    onnx_end(&s->bytes);
    s->tensor = (tort_tensor){.type = TORT_FLOAT, .rank = 1, .dims = {4}, .data = numbers};
    cr_assert_eq(tort_model_load_buffer(NULL, s->bytes.data, s->bytes.size, NULL, &s->model, NULL), TORT_OK);
    cr_assert_eq(tort_session_create(NULL, s->model, NULL, &s->session, NULL), TORT_OK);
    cr_assert_eq(tort_context_create(s->session, &s->context, NULL), TORT_OK);
    const tort_writer writer = saved_writer(&s->plan);
    cr_assert_eq(tort_session_save_writer(s->session, &writer, NULL), TORT_OK);
    s->value = tort_value_tensor(NULL, &s->tensor);
    snprintf(s->path, sizeof s->path, "/tmp/tinyort-null-%ld.plan", (long)getpid());
    cr_assert_eq(tort_session_save(s->session, s->path, NULL), TORT_OK);
}

static void sample_close(sample *s) {
    unlink(s->path);
    tort_value_release(s->value);
    tort_context_free(s->context);
    tort_session_free(s->session);
    tort_model_free(s->model);
    free(s->plan.data);
    onnx_free(&s->bytes);
}

/* ---- functions with a status ------------------------------------------------------------------------------------- */

static tort_status load_buffer(sample *s) {
    tort_model *model = NULL;
    const tort_status status =
        tort_model_load_buffer(NULL, GIVEN(1, s->bytes.data), s->bytes.size, NULL, GIVEN(2, &model), s->place);
    tort_model_free(model);
    return status;
}

/* The file is a saved plan, which is refused as a model. */
static tort_status load(sample *s) {
    tort_model *model = NULL;
    const tort_status status = tort_model_load(NULL, GIVEN(1, s->path), NULL, GIVEN(2, &model), s->place);
    cr_expect_null(model);
    return status == TORT_E_MODEL ? TORT_OK : status;
}

static int read_bytes(void *ud, uint64_t offset, uint64_t length, void *dst) {
    const sample *s = ud;
    memcpy(dst, s->bytes.data + offset, (size_t)length);
    return 0;
}

static tort_status load_reader(sample *s) {
    tort_model *model = NULL;
    const tort_reader reader = {
        .struct_size = sizeof reader, .size = s->bytes.size, .read = GIVEN(3, read_bytes), .ud = s};
    const tort_status status = tort_model_load_reader(NULL, GIVEN(1, &reader), NULL, GIVEN(2, &model), s->place);
    tort_model_free(model);
    return status;
}

static tort_status input(sample *s) {
    tort_port port = {.struct_size = sizeof port};
    return tort_model_input(GIVEN(1, s->model), 0, GIVEN(2, &port), s->place);
}

static tort_status output(sample *s) {
    tort_port port = {.struct_size = sizeof port};
    return tort_model_output(GIVEN(1, s->model), 0, GIVEN(2, &port), s->place);
}

static tort_status create(sample *s) {
    tort_session *session = (tort_session *)s;
    const tort_status status = tort_session_create(NULL, GIVEN(1, s->model), NULL, GIVEN(2, &session), s->place);
    if (s->null == 1) cr_expect_null(session);
    if (!status) tort_session_free(session);
    return status;
}

static tort_status bytes(sample *s) {
    size_t size;
    return tort_session_bytes(NULL, GIVEN(1, s->model), NULL, 1, GIVEN(2, &size), s->place);
}

static tort_status plan(sample *s) {
    const tort_input_shape shape = {.name = "x", .rank = 1, .dims = {4}};
    return tort_session_plan(GIVEN(1, s->session), GIVEN(2, &shape), 1, s->place);
}

static tort_status report(sample *s) {
    tort_report *told = NULL;
    const tort_status status = tort_session_report(GIVEN(1, s->session), GIVEN(2, &told), s->place);
    tort_report_free(told);
    return status;
}

static tort_status save(sample *s) {
    return tort_session_save(GIVEN(1, s->session), GIVEN(2, s->path), s->place);
}

static int drop(void *ud, const void *written, size_t size) {
    (void)ud, (void)written, (void)size;
    return 0;
}

static tort_status save_writer(sample *s) {
    const tort_writer writer = {.struct_size = sizeof writer, .write = GIVEN(3, drop)};
    return tort_session_save_writer(GIVEN(1, s->session), GIVEN(2, &writer), s->place);
}

static tort_status load_plan(sample *s) {
    tort_session *session = NULL;
    const tort_status status = tort_session_load(NULL, GIVEN(1, s->path), NULL, GIVEN(2, &session), s->place);
    tort_session_free(session);
    return status;
}

static tort_status load_plan_buffer(sample *s) {
    tort_session *session = NULL;
    const tort_status status =
        tort_session_load_buffer(NULL, GIVEN(1, s->plan.data), s->plan.size, NULL, GIVEN(2, &session), s->place);
    tort_session_free(session);
    return status;
}

static tort_status context(sample *s) {
    tort_context *made = NULL;
    const tort_status status = tort_context_create(GIVEN(1, s->session), GIVEN(2, &made), s->place);
    tort_context_free(made);
    return status;
}

static tort_status run(sample *s) {
    tort_tensor out = {.data = NULL};
    return tort_context_run(GIVEN(1, s->context), GIVEN(2, &s->tensor), 1, GIVEN(3, &out), 1, s->place);
}

static tort_status run_values(sample *s) {
    const tort_value *in = s->value;
    tort_value *out = NULL;
    const tort_status status =
        tort_context_run_values(GIVEN(1, s->context), GIVEN(2, &in), 1, GIVEN(3, &out), 1, s->place);
    tort_value_release(out);
    return status;
}

static tort_status capacity(sample *s) {
    return tort_context_output_capacity(GIVEN(1, s->context), 0, TORT_NO_CAPACITY, s->place);
}

static tort_status alloc(sample *s) {
    void *memory = NULL;
    const tort_status status =
        tort_memory_alloc(GIVEN(1, s->session), GIVEN(2, "cpu"), 16, GIVEN(3, &memory), s->place);
    tort_memory_free(s->session, "cpu", memory, 16);
    return status;
}

static tort_status copy(sample *s) {
    float to[4];
    return tort_memory_copy(GIVEN(1, s->context), GIVEN(2, "cpu"), GIVEN(3, to), GIVEN(4, numbers), sizeof to,
                            s->null == 5 ? (tort_direction)3 : TORT_ON_DEVICE, s->place);
}

static tort_status peak(sample *s) {
    tort_peak rates;
    if (!s->null) return TORT_OK; /* it takes tenths of a second */
    return tort_session_peak(GIVEN(1, s->session), GIVEN(2, "cpu"), GIVEN(3, &rates), s->place);
}

static tort_status calls(sample *s) {
    tort_device_calls counts;
    return tort_context_calls(GIVEN(1, s->context), NULL, GIVEN(2, &counts), s->place);
}

static tort_status provider_at(sample *s) {
    tort_provider_info info = {.struct_size = sizeof info};
    return tort_provider_at(0, GIVEN(1, &info), s->place);
}

static tort_status probe(sample *s) {
    tort_probe *told = NULL;
    const tort_probe_options options = {.struct_size = sizeof options, .chain = "cpu"};
    const tort_status status = tort_probe_providers(NULL, &options, GIVEN(1, &told), s->place);
    tort_probe_free(told);
    return status;
}

static tort_status in_block(sample *s) {
    _Alignas(16) static char block[4096];
    tort_env env = {.struct_size = sizeof env};
    return tort_env_in_block(GIVEN(1, &env), GIVEN(2, block), sizeof block, s->place);
}

static const struct {
    const char *name;
    tort_status (*call)(sample *s);
    int arguments; /* that may not be NULL; the last ones may be those in a struct */
} with_status[] = {
    {"tort_model_load", load, 2},
    {"tort_model_load_buffer", load_buffer, 2},
    {"tort_model_load_reader", load_reader, 3},
    {"tort_model_input", input, 2},
    {"tort_model_output", output, 2},
    {"tort_session_create", create, 2},
    {"tort_session_bytes", bytes, 2},
    {"tort_session_plan", plan, 2},
    {"tort_session_report", report, 2},
    {"tort_session_save", save, 2},
    {"tort_session_save_writer", save_writer, 3},
    {"tort_session_load", load_plan, 2},
    {"tort_session_load_buffer", load_plan_buffer, 2},
    {"tort_context_create", context, 2},
    {"tort_context_run", run, 3},
    {"tort_context_run_values", run_values, 3},
    {"tort_context_output_capacity", capacity, 1},
    {"tort_memory_alloc", alloc, 3},
    {"tort_memory_copy", copy, 5},
    {"tort_session_peak", peak, 3},
    {"tort_context_calls", calls, 2},
    {"tort_provider_at", provider_at, 1},
    {"tort_probe_providers", probe, 1},
    {"tort_env_in_block", in_block, 2},
};

Test(null_arguments, with_a_status) {
    sample s;
    sample_open(&s);
    for (size_t i = 0; i < sizeof with_status / sizeof *with_status; i++)
        for (int null = 0; null <= with_status[i].arguments; null++) {
            const tort_status expected = null ? TORT_E_USAGE : TORT_OK;
            s.null = null;
            s.place = NULL;
            cr_expect_eq(with_status[i].call(&s), expected, "%s, argument %d", with_status[i].name, null);
            s.place = &s.error;
            s.error = (tort_error){.code = TORT_OK};
            cr_expect_eq(with_status[i].call(&s), expected, "%s, argument %d", with_status[i].name, null);
            if (null) cr_expect(s.error.code == expected && *s.error.msg, "%s", with_status[i].name);
        }
    sample_close(&s);
}

/* ---- options of a session ---------------------------------------------------------------------------------------- */

static void expect_refused(const sample *s, tort_session_options options) {
    tort_session *session;
    tort_error error;
    options.struct_size = sizeof options;
    cr_expect_eq(tort_session_create(NULL, s->model, &options, &session, &error), TORT_E_USAGE);
    cr_expect(strstr(error.msg, "option "), "%s", error.msg);
    cr_expect_null(session);
}

Test(null_arguments, lists_of_a_session) {
    sample s;
    sample_open(&s);
    const char *const names[] = {NULL};
    const tort_input_shape shape = {.name = NULL};
    const tort_symbol_size symbol = {.name = NULL};
    for (int32_t count = -1; count <= 1; count += 2) {
        expect_refused(&s, (tort_session_options){.pin_count = count});
        expect_refused(&s, (tort_session_options){.shape_count = count});
        expect_refused(&s, (tort_session_options){.symbol_count = count});
        expect_refused(&s, (tort_session_options){.binding_count = count});
        expect_refused(&s, (tort_session_options){.output_count = count});
        expect_refused(&s, (tort_session_options){.max_symbol_count = count});
        expect_refused(&s, (tort_session_options){.max_shape_count = count});
        expect_refused(&s, (tort_session_options){.pin_count = count, .pins = names});
        expect_refused(&s, (tort_session_options){.shape_count = count, .shapes = &shape});
        expect_refused(&s, (tort_session_options){.symbol_count = count, .symbols = &symbol});
        expect_refused(&s, (tort_session_options){.binding_count = count, .bindings = names});
        expect_refused(&s, (tort_session_options){.output_count = count, .outputs = names});
        expect_refused(&s, (tort_session_options){.max_symbol_count = count, .max_symbols = &symbol});
        expect_refused(&s, (tort_session_options){.max_shape_count = count, .max_shapes = &shape});
    }
    sample_close(&s);
}

/* ---- functions without a status ---------------------------------------------------------------------------------- */

Test(null_arguments, of_a_model) {
    sample s;
    sample_open(&s);
    cr_expect_eq(tort_model_input_count(NULL), 0);
    cr_expect_eq(tort_model_output_count(NULL), 0);
    cr_expect_eq(tort_model_input_index(NULL, "x"), -1);
    cr_expect_eq(tort_model_input_index(s.model, NULL), -1);
    cr_expect_eq(tort_model_output_index(NULL, "y"), -1);
    cr_expect_eq(tort_model_output_index(s.model, NULL), -1);
    cr_expect_str_eq(tort_model_graph_name(NULL), "");
    cr_expect_str_eq(tort_model_producer(NULL), "");
    cr_expect_str_eq(tort_model_producer_version(NULL), "");
    cr_expect_eq(tort_model_ir_version(NULL), 0);
    cr_expect_eq(tort_model_opset(NULL, ""), 0);
    cr_expect_eq(tort_model_opset(s.model, NULL), 13);
    cr_expect_eq(tort_model_opset_count(NULL), 0);
    cr_expect_null(tort_model_opset_domain(NULL, 0));
    cr_expect_null(tort_model_opset_domain(s.model, -1));
    cr_expect_eq(tort_model_metadata_count(NULL), 0);
    cr_expect_str_eq(tort_model_metadata(NULL, 0).key, "");
    cr_expect_str_eq(tort_model_metadata(s.model, -1).value, "");
    tort_model_free(NULL);
    sample_close(&s);
}

Test(null_arguments, of_a_session_and_a_context) {
    sample s;
    sample_open(&s);
    cr_expect_null(tort_session_model(NULL));
    for (int32_t index = -1; index <= 1; index++) {
        cr_expect_null(tort_session_input_memory(NULL, index));
        cr_expect_null(tort_session_output_memory(NULL, index));
        cr_expect_eq(tort_session_output_bytes(NULL, index), 0);
        cr_expect_null(tort_session_input_memory(s.session, index));
        cr_expect_null(tort_session_output_memory(s.session, index));
        cr_expect_eq(tort_session_output_bytes(s.session, index), 0);
    }
    tort_memory_free(NULL, "cpu", numbers, sizeof numbers);
    tort_memory_free(s.session, NULL, numbers, sizeof numbers);
    tort_memory_free(s.session, "cpu", NULL, 0);
    tort_context_cancel(NULL);
    tort_context_observe(NULL, NULL, NULL);
    tort_context_profile(NULL, true, NULL, NULL);
    tort_context_free(NULL);
    tort_session_free(NULL);
    tort_report_free(NULL);
    tort_probe_free(NULL);
    cr_expect_eq(tort_block_max(NULL), 0);
    sample_close(&s);
}

Test(null_arguments, of_tensors_and_values) {
    tort_tensor tensor = {.type = TORT_FLOAT, .rank = 1, .dims = {4}};
    const tort_string word = {.data = NULL, .length = 1};
    const tort_tensor words = {.type = TORT_STRING, .rank = 1, .dims = {1}, .data = (void *)&word};
    int64_t count, key = 1;
    size_t size;
    const tort_tensor keys = {.type = TORT_INT64, .rank = 1, .dims = {1}, .data = &key};
    const tort_value_type type = tort_tensor_type(TORT_FLOAT);
    const tort_value *const absent = NULL;
    cr_expect_not(tort_tensor_count(NULL, &count) || tort_tensor_count(&tensor, NULL));
    cr_expect_not(tort_tensor_bytes(NULL, &size) || tort_tensor_bytes(&tensor, NULL));
    cr_expect_null(tort_type_text(type, NULL, 10));
    cr_expect_null(tort_value_tensor(NULL, NULL));
    cr_expect_null(tort_value_tensor(NULL, &tensor));
    cr_expect_null(tort_value_tensor(NULL, &words));
    cr_expect_null(tort_value_borrow(NULL, NULL, NULL, NULL));
    cr_expect_null(tort_value_borrow(NULL, &tensor, NULL, NULL));
    cr_expect_null(tort_value_map(NULL, NULL, type, &absent));
    cr_expect_null(tort_value_map(NULL, &keys, type, NULL));
    cr_expect_null(tort_value_map(NULL, &keys, type, &absent));
    tort_value *sequence = tort_value_sequence(NULL, type);
    cr_expect_not(tort_value_append(NULL, sequence) || tort_value_append(sequence, NULL));
    cr_expect_null(tort_value_at(sequence, -1));
    tort_value_release(sequence);
    cr_expect_null(tort_value_retain(NULL));
    cr_expect_eq(tort_value_type_of(NULL).type, TORT_UNDEFINED);
    cr_expect_eq(tort_value_kind(NULL), TORT_TENSOR);
    cr_expect_eq(tort_value_count(NULL), 0);
    cr_expect_null(tort_value_at(NULL, 0));
    cr_expect_null(tort_value_view(NULL));
    cr_expect_null(tort_value_keys(NULL));
}
