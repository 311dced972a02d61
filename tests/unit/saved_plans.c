/* saved_plans.c - tests of tort_session_save and tort_session_load: the same bits and the same report without the
 * model, files that are damaged or hostile, memory that runs out, machines that differ. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/provider.h"
#include "tests/counting_env.h"
#include "tests/report_of.h"
#include "tests/saved_plan.h"
#include "tests/unit/loading.h"

/* ---- models ------------------------------------------------------------------------------------------------------ */

static void floats(onnx_bytes *b, const char *name, int rank, const int64_t *dims) {
    size_t count = 1;
    for (int i = 0; i < rank; i++) count *= (size_t)dims[i];
    float *data = malloc(count * sizeof *data);
    for (size_t i = 0; i < count; i++) data[i] = (float)(i % 13) * 0.25f - 1;
    for (size_t i = 0; i < count && strstr(name, "var"); i++) data[i] = 1 + (float)i;
    onnx_tensor(b, GRAPH_INITIALIZER, name, TORT_FLOAT, rank, dims, data, count * sizeof *data);
    free(data);
}

/* Conv, BatchNormalization and Relu become one; a product that packs its weight. */
static void conv_net(onnx_bytes *b, int64_t batch) {
    const int64_t x[] = {batch, 3, 8, 8}, w[] = {16, 3, 3, 3}, channels[] = {16}, g[] = {16, 5}, y[] = {batch, 5};
    onnx_begin_model(b, 17);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 4, x);
    floats(b, "w", 4, w);
    floats(b, "scale", 1, channels);
    floats(b, "bias", 1, channels);
    floats(b, "mean", 1, channels);
    floats(b, "var", 1, channels);
    floats(b, "g", 2, g);
    onnx_node(b, "Conv", "conv", "x w", "c");
    onnx_node(b, "BatchNormalization", "norm", "c scale bias mean var", "n");
    onnx_node(b, "Relu", "relu", "n", "r");
    onnx_node(b, "GlobalAveragePool", "pool", "r", "p");
    onnx_node(b, "Flatten", "flatten", "p", "f");
    onnx_node(b, "MatMul", "product", "f g", "y");
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 2, y);
    onnx_end(b);
}

static void static_conv_net(onnx_bytes *b) {
    conv_net(b, 2);
}

static void open_conv_net(onnx_bytes *b) {
    conv_net(b, -1);
}

/* A shape that is computed from that of x; a weight under two shapes; strings. */
static void shape_arithmetic(onnx_bytes *b) {
    const int64_t x[] = {-1, 4, 6}, one[] = {1}, two[] = {2}, flat[] = {24}, rows[] = {4, 6}, zero = 0, all = -1;
    const int64_t grid[] = {4, 6};
    onnx_begin_model(b, 17);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 3, x);
    onnx_tensor(b, GRAPH_INITIALIZER, "zero", TORT_INT64, 1, one, &zero, sizeof zero);
    onnx_tensor(b, GRAPH_INITIALIZER, "all", TORT_INT64, 1, one, &all, sizeof all);
    onnx_tensor(b, GRAPH_INITIALIZER, "grid", TORT_INT64, 1, two, grid, sizeof grid);
    floats(b, "w", 1, flat);
    onnx_begin_tensor(b, GRAPH_INITIALIZER, "names", TORT_STRING, 1, two);
    onnx_text(b, TENSOR_STRINGS, "one");
    onnx_text(b, TENSOR_STRINGS, "another");
    onnx_end(b);
    onnx_node(b, "Shape", "shape", "x", "s");
    onnx_node(b, "Gather", "first", "s zero", "n");
    onnx_begin_node(b, GRAPH_NODE, "Concat", "both", "n all", "to");
    onnx_int_attribute(b, "axis", 0);
    onnx_end(b);
    onnx_node(b, "Reshape", "reshape", "x to", "r");
    onnx_node(b, "Reshape", "rows", "w grid", "wr");
    onnx_node(b, "Add", "add", "r w", "y");
    onnx_node(b, "Add", "add_rows", "x wr", "z");
    onnx_node(b, "Gather", "name", "names zero", "called");
    onnx_node(b, "Identity", "say", "called", "said");
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, -1, NULL);
    onnx_value(b, GRAPH_OUTPUT, "z", TORT_FLOAT, -1, NULL);
    onnx_value(b, GRAPH_OUTPUT, "said", TORT_STRING, -1, NULL);
    onnx_value(b, GRAPH_OUTPUT, "wr", TORT_FLOAT, 2, rows);
    onnx_end(b);
}

/* x + w * trips, with a body that captures the weight and the input, and holds a product of its own. */
static void loop(onnx_bytes *b) {
    const int64_t x[] = {4, 6}, w[] = {6, 6};
    onnx_begin_model(b, 18);
    onnx_value(b, GRAPH_INPUT, "trips", TORT_INT64, 0, NULL);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 2, x);
    floats(b, "w", 2, w);
    onnx_begin_node(b, GRAPH_NODE, "Loop", "loop", "trips - x", "y parts");
    begin_body(b, "body");
    onnx_value(b, GRAPH_INPUT, "i", TORT_INT64, 0, NULL);
    onnx_value(b, GRAPH_INPUT, "going", TORT_BOOL, 0, NULL);
    onnx_value(b, GRAPH_INPUT, "v", TORT_FLOAT, 2, x);
    onnx_node(b, "Identity", "go", "going", "still");
    onnx_node(b, "MatMul", "product", "v w", "p");
    onnx_node(b, "Relu", "relu", "p", "q");
    onnx_node(b, "Add", "add", "q x", "u");
    onnx_node(b, "ReduceSum", "sum", "u", "part");
    onnx_value(b, GRAPH_OUTPUT, "still", TORT_BOOL, 0, NULL);
    onnx_value(b, GRAPH_OUTPUT, "u", TORT_FLOAT, 2, x);
    onnx_value(b, GRAPH_OUTPUT, "part", TORT_FLOAT, -1, NULL);
    onnx_end(b);
    onnx_end(b);
    onnx_end(b);
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 2, x);
    onnx_value(b, GRAPH_OUTPUT, "parts", TORT_FLOAT, -1, NULL);
    onnx_end(b);
}

static void sequence_port(onnx_bytes *b, const char *name) {
    onnx_begin(b, GRAPH_OUTPUT);
    onnx_text(b, 1, name);
    onnx_begin(b, 2); /* type */
    onnx_begin(b, 4); /* sequence of */
    onnx_begin(b, 1);
    onnx_begin(b, 1); /* tensor */
    onnx_int(b, 1, TORT_FLOAT);
    for (int i = 0; i < 5; i++) onnx_end(b);
}

static void sequence(onnx_bytes *b) {
    const int64_t x[] = {4, 6}, one = 1;
    onnx_begin_model(b, 17);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 2, x);
    onnx_tensor(b, GRAPH_INITIALIZER, "one", TORT_INT64, 0, NULL, &one, sizeof one);
    onnx_node(b, "SplitToSequence", "split", "x one", "parts");
    onnx_node(b, "SequenceAt", "at", "parts one", "part");
    onnx_node(b, "Neg", "neg", "part", "y");
    sequence_port(b, "parts");
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, -1, NULL);
    onnx_end(b);
}

static const struct {
    const char *name;
    void (*write)(onnx_bytes *b);
} models[] = {{"conv net", static_conv_net}, {"open conv net", open_conv_net}, {"shape arithmetic", shape_arithmetic},
              {"loop", loop},                {"sequence", sequence},           {"sample", onnx_sample_model}};

enum { MODELS = sizeof models / sizeof *models };

/* ---- a run ------------------------------------------------------------------------------------------------------- */

enum { MOST_PORTS = 8 };

/* Something for each input; open dimensions are 2. */
static tort_value *some_value(const tort_model *model, int32_t index) {
    static float numbers[1024];
    static int64_t trips = 3;
    static uint8_t yes = 3; /* whatever is not 0 is true */
    const tort_port port = input_of(model, index);
    tort_tensor tensor = {.type = port.type, .rank = port.rank, };
    tensor.data = port.type == TORT_FLOAT ? (void *)numbers : port.type == TORT_BOOL ? (void *)&yes : &trips;
    for (int i = 0; i < 1024; i++) numbers[i] = (float)(i % 29) * 0.125f - 1.5f;
    for (int32_t d = 0; d < port.rank; d++) tensor.dims[d] = port.dims[d] < 0 ? 2 : port.dims[d];
    return tort_value_tensor(NULL, &tensor);
}

/* The caller releases the outputs, all of which are NULL after a failure. */
static tort_status run(tort_session *session, tort_value **outputs, tort_error *error) {
    const tort_model *model = tort_session_model(session);
    const int32_t inputs = tort_model_input_count(model), count = tort_model_output_count(model);
    tort_value *given[MOST_PORTS];
    tort_context *context = NULL;
    cr_assert(inputs <= MOST_PORTS && count <= MOST_PORTS);
    for (int32_t i = 0; i < MOST_PORTS; i++) outputs[i] = NULL;
    for (int32_t i = 0; i < inputs; i++) given[i] = some_value(model, i);
    tort_status status = tort_context_create(session, &context, error);
    if (!status)
        status = tort_context_run_values(context, (const tort_value *const *)given, inputs, outputs, count, error);
    for (int32_t i = 0; i < inputs; i++) tort_value_release(given[i]);
    tort_context_free(context);
    return status;
}

static bool same_strings(const tort_string *a, const tort_string *b, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (a[i].length != b[i].length || memcmp(a[i].data, b[i].data, a[i].length) != 0) return false;
    return true;
}

static bool same_tensor(const tort_tensor *a, const tort_tensor *b) {
    int64_t count;
    size_t bytes;
    if (a->type != b->type || a->rank != b->rank || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) != 0)
        return false;
    tort_tensor_count(a, &count);
    tort_tensor_bytes(a, &bytes);
    return a->type == TORT_STRING ? same_strings(a->data, b->data, count) : !memcmp(a->data, b->data, bytes);
}

static bool same_value(const tort_value *a, const tort_value *b) {
    const tort_tensor *x = tort_value_view(a), *y = tort_value_view(b);
    if (x || y) return x && y && same_tensor(x, y);
    if (tort_value_count(a) != tort_value_count(b)) return false;
    for (int32_t i = 0; i < tort_value_count(a); i++)
        if (!same_value(tort_value_at(a, i), tort_value_at(b, i))) return false;
    return true;
}

static void release_all(tort_value **values) {
    for (int32_t i = 0; i < MOST_PORTS; i++) tort_value_release(values[i]);
}

/* ---- reports ----------------------------------------------------------------------------------------------------- */

static void write_node(FILE *out, const tort_report_node *node) {
    fprintf(out, "%d %d %s %s %s %d on %s by %s%s:", node->index, node->file_index, node->path, node->op, node->domain,
            node->since, node->provider, node->kernel, node->fell_back ? ", fell back" : "");
    for (int32_t i = 0; i < node->verdict_count; i++) {
        const tort_report_verdict *v = node->verdicts[i];
        fprintf(out, " %s %s %d %s %s %s %d;", v->provider, v->kernel, (int)v->code, v->message, v->cure,
                v->fusion ? v->fusion : "", v->root);
    }
    for (int32_t i = 0; i < node->from_count; i++) fprintf(out, " from %s %s", node->from[i], node->from_ops[i]);
    fprintf(out, "\n");
}

/* All of a report but host memory: of a loaded session the caller frees the text. */
static char *report_text(tort_session *session) {
    tort_report *report = report_of(session);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (int32_t i = 0; i < report->provider_count; i++) {
        const tort_report_provider *p = report->providers[i];
        fprintf(out, "%s %s %s %d nodes, %lld of %lld, %d copies\n", p->name, p->description, p->message, p->nodes,
                (long long)p->peak_bytes, (long long)p->naive_bytes, p->copies_in);
    }
    for (int32_t i = 0; i < report->node_count; i++) write_node(out, report->nodes[i]);
    for (int32_t i = 0; i < report->copy_count; i++)
        fprintf(out, "copy %s %s %s %lld %s\n", report->copies[i]->value, report->copies[i]->from,
                report->copies[i]->to, (long long)report->copies[i]->bytes, report->copies[i]->before);
    fprintf(out, "%d folded, %d host, %d fused\n", report->folded, report->host, report->fused);
    fclose(out);
    tort_report_free(report);
    return text;
}

/* ---- there and back ---------------------------------------------------------------------------------------------- */

/* What a session computes and reports; then it is saved, and all but its bytes is gone. */
typedef struct original {
    saved_bytes bytes;
    tort_value *outputs[MOST_PORTS];
    char *report;
} original;

static original make_original(void (*write)(onnx_bytes *b), const tort_session_options *options) {
    onnx_bytes b = {0};
    original o = {.report = NULL};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_error error;
    write(&b);
    cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, NULL, &model, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_session_create(NULL, model, options, &session, &error), TORT_OK, "%s", error.msg);
    o.report = report_text(session);
    cr_assert_eq(run(session, o.outputs, &error), TORT_OK, "%s", error.msg);
    const tort_writer writer = saved_writer(&o.bytes);
    cr_assert_eq(tort_session_save_writer(session, &writer, &error), TORT_OK, "%s", error.msg);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&b);
    return o;
}

static void free_original(original *o) {
    release_all(o->outputs);
    free(o->report);
    free(o->bytes.data);
}

static const tort_session_options on_cpu = {.struct_size = sizeof on_cpu, .chain = "cpu:threads=1"};

/* The loaded session does the same. */
static void expect_same(tort_session *session, const original *o, const char *name) {
    tort_value *outputs[MOST_PORTS];
    tort_error error;
    char *report = report_text(session);
    cr_expect_str_eq(report, o->report, "%s", name);
    cr_assert_eq(run(session, outputs, &error), TORT_OK, "%s: %s", name, error.msg);
    for (int32_t i = 0; i < tort_model_output_count(tort_session_model(session)); i++)
        cr_expect(same_value(outputs[i], o->outputs[i]), "%s: output %d differs", name, i);
    release_all(outputs);
    free(report);
}

static tort_session *load(const saved_bytes *bytes) {
    tort_session *session = NULL;
    tort_error error;
    cr_assert_eq(tort_session_load_buffer(NULL, bytes->data, bytes->size, NULL, &session, &error), TORT_OK, "%s",
                 error.msg);
    return session;
}

Test(saved_plans, the_same_bits_and_report_without_the_model) {
    for (int m = 0; m < MODELS; m++) {
        original o = make_original(models[m].write, &on_cpu);
        tort_session *session = load(&o.bytes);
        expect_same(session, &o, models[m].name);
        tort_session_free(session);
        free_original(&o);
    }
}

Test(saved_plans, a_fusion_and_what_it_was_made_of) {
    original o = make_original(static_conv_net, &on_cpu);
    cr_expect(strstr(o.report, "from conv Conv from norm BatchNormalization from relu Relu"), "%s", o.report);
    free_original(&o);
}

Test(saved_plans, a_loaded_plan_can_be_saved_again) {
    for (int m = 0; m < MODELS; m++) {
        original o = make_original(models[m].write, &on_cpu);
        tort_session *first = load(&o.bytes);
        saved_bytes again = {0};
        tort_error error;
        const tort_writer writer = saved_writer(&again);
        cr_assert_eq(tort_session_save_writer(first, &writer, &error), TORT_OK, "%s", error.msg);
        tort_session_free(first);
        tort_session *second = load(&again);
        expect_same(second, &o, models[m].name);
        tort_session_free(second);
        free(again.data);
        free_original(&o);
    }
}

Test(saved_plans, a_file_that_is_read_or_mapped) {
    char path[] = "/tmp/tinyort-plan-XXXXXX";
    const int fd = mkstemp(path);
    original o = make_original(open_conv_net, &on_cpu);
    cr_assert(fd >= 0 && write(fd, o.bytes.data, o.bytes.size) == (ssize_t)o.bytes.size && close(fd) == 0);
    for (int map = 0; map < 2; map++) {
        const tort_plan_options options = {.struct_size = sizeof options, .map = map};
        tort_session *session = NULL;
        tort_error error;
        cr_assert_eq(tort_session_load(NULL, path, &options, &session, &error), TORT_OK, "%s", error.msg);
        expect_same(session, &o, map ? "mapped" : "read");
        tort_session_free(session);
    }
    unlink(path);
    free_original(&o);
}

Test(saved_plans, sizes_that_options_fixed_stay_fixed) {
    const tort_symbol_size batch = {"N", 2};
    tort_session_options options = on_cpu;
    options.symbols = &batch;
    options.symbol_count = 1;
    original o = make_original(open_conv_net, &options);
    tort_session *session = load(&o.bytes);
    const tort_input_shape other = {.name = "x", .rank = 4, .dims = {3, 3, 8, 8}};
    tort_error error;
    expect_same(session, &o, "fixed");
    cr_expect_eq(tort_session_plan(session, &other, 1, &error), TORT_E_INPUT, "%s", error.msg);
    tort_session_free(session);
    free_original(&o);
}

/* ---- what cannot be saved ---------------------------------------------------------------------------------------- */

static int refuse_bytes(void *ud, const void *bytes, size_t size) {
    size_t *left = ud;
    (void)bytes;
    if (size > *left) return -1;
    *left -= size;
    return 0;
}

Test(saved_plans, a_writer_that_fails_is_told) {
    original o = make_original(static_conv_net, &on_cpu);
    tort_session *session = load(&o.bytes);
    tort_error error;
    for (size_t room = 0; room < o.bytes.size; room += 37) {
        size_t left = room;
        const tort_writer writer = {.struct_size = sizeof writer, .write = refuse_bytes, .ud = &left};
        cr_expect_eq(tort_session_save_writer(session, &writer, &error), TORT_E_IO);
    }
    cr_expect(strstr(error.msg, "the writer failed at byte"), "%s", error.msg);
    cr_expect_eq(tort_session_save(session, "/tmp/no such folder/plan", &error), TORT_E_IO);
    cr_expect(strstr(error.msg, "No such file"), "%s", error.msg);
    tort_session_free(session);
    free_original(&o);
}

Test(saved_plans, a_session_that_cannot_run_is_not_saved) {
    onnx_bytes b = {0};
    tort_model *model = NULL;
    tort_session *session = NULL;
    saved_bytes bytes = {0};
    tort_error error;
    const tort_writer writer = saved_writer(&bytes);
    tort_session_options options = on_cpu;
    options.plan_only = true;
    static_conv_net(&b);
    cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, NULL, &model, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(tort_session_save_writer(session, &writer, &error), TORT_E_USAGE);
    cr_expect(strstr(error.msg, "cannot run"), "%s", error.msg);
    cr_expect_eq(bytes.size, 0);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&b);
}

/* ---- memory that runs out ---------------------------------------------------------------------------------------- */

typedef tort_status attempt_of(const original *o, tort_counting_env *counting);

static tort_status try_load(const original *o, tort_counting_env *counting) {
    tort_session *session = NULL;
    tort_status status =
        tort_session_load_buffer(&counting->env, o->bytes.data, o->bytes.size, NULL, &session, NULL);
    cr_expect_eq(status != TORT_OK, session == NULL);
    tort_session_free(session);
    return status;
}

/* Counts from where the session is there. */
static tort_status try_save(const original *o, tort_counting_env *counting) {
    const int64_t fail_at = counting->fail_at;
    tort_session *session = NULL;
    saved_bytes bytes = {0};
    const tort_writer writer = saved_writer(&bytes);
    counting->fail_at = 0;
    cr_assert_eq(tort_session_load_buffer(&counting->env, o->bytes.data, o->bytes.size, NULL, &session, NULL), TORT_OK);
    counting->allocations = 0;
    counting->fail_at = fail_at;
    tort_status status = tort_session_save_writer(session, &writer, NULL);
    tort_session_free(session);
    free(bytes.data);
    return status;
}

static void fail_each(const original *o, attempt_of *attempt, bool once, const char *name) {
    tort_status status = TORT_E_MEMORY;
    int64_t n = 0;
    while (status && n++ < 5000) {
        tort_counting_env counting;
        tort_counting_env_init(&counting);
        counting.fail_at = n;
        counting.fail_once = once;
        status = attempt(o, &counting);
        cr_assert_eq(counting.live_blocks, 0, "%s: allocation %lld", name, (long long)n);
        cr_assert_eq(counting.wrong_sizes, 0, "%s: allocation %lld", name, (long long)n);
        if (counting.allocations < n) break;
        cr_assert_eq(status, TORT_E_MEMORY, "%s: allocation %lld: %s", name, (long long)n, tort_status_name(status));
    }
    cr_expect_eq(status, TORT_OK, "%s", name);
    cr_expect_gt(n, 4);
}

Test(saved_plans, the_nth_allocation_fails) {
    for (int m = 0; m < MODELS; m++) {
        original o = make_original(models[m].write, &on_cpu);
        for (int once = 0; once < 2; once++) {
            fail_each(&o, try_load, once, models[m].name);
            fail_each(&o, try_save, once, models[m].name);
        }
        free_original(&o);
    }
}

/* ---- bytes that nobody vouches for ------------------------------------------------------------------------------- */

/* Whatever it says: an error with a message, or a session that runs, or fails to, and leaves nothing behind. */
static tort_status survive(const uint8_t *data, size_t size) {
    tort_counting_env counting;
    tort_value *outputs[MOST_PORTS];
    tort_session *session = NULL;
    tort_error error = {.msg = ""};
    tort_counting_env_init(&counting);
    const tort_status status = tort_session_load_buffer(&counting.env, data, size, NULL, &session, &error);
    cr_expect(!status || *error.msg, "%s without a message", tort_status_name(status));
    cr_expect_neq(status, TORT_E_INTERNAL, "%s", error.msg);
    if (session && tort_model_output_count(tort_session_model(session)) <= MOST_PORTS &&
        tort_model_input_count(tort_session_model(session)) <= MOST_PORTS) {
        run(session, outputs, &error);
        release_all(outputs);
    }
    tort_session_free(session);
    cr_expect_eq(counting.live_blocks, 0);
    cr_expect_eq(counting.wrong_sizes, 0);
    return status;
}

Test(saved_plans, a_file_that_ends_early_is_refused) {
    for (int m = 0; m < MODELS; m++) {
        original o = make_original(models[m].write, &on_cpu);
        for (size_t size = 0; size < o.bytes.size; size += size % 64 == 63 ? 1 : 7) {
            uint8_t *exact = malloc(size + 1); /* so that a read behind it is seen */
            memcpy(exact, o.bytes.data, size);
            cr_expect_eq(survive(exact, size), TORT_E_MODEL, "%s: %zu bytes", models[m].name, size);
            free(exact);
        }
        free_original(&o);
    }
}

/* What is between the sections counts for nothing. */
Test(saved_plans, a_byte_that_changed_is_seen) {
    original o = make_original(shape_arithmetic, &on_cpu);
    size_t unseen = 0;
    for (size_t at = 0; at < o.bytes.size; at++) {
        o.bytes.data[at] ^= 0x10;
        unseen += survive(o.bytes.data, o.bytes.size) == TORT_OK;
        o.bytes.data[at] ^= 0x10;
    }
    cr_expect_lt(unseen, 64 * 8, "%zu", unseen);
    free_original(&o);
}

/* The same behind checksums that are right: the reader believes nothing. */
Test(saved_plans, hostile_bytes_do_no_harm) {
    static const uint8_t changes[] = {0x01, 0x80, 0xff};
    for (int m = 0; m < MODELS; m++) {
        original o = make_original(models[m].write, &on_cpu);
        uint8_t *copy = malloc(o.bytes.size);
        for (size_t at = 0; at < o.bytes.size; at++) {
            memcpy(copy, o.bytes.data, o.bytes.size);
            copy[at] ^= changes[at % 3];
            saved_reseal(copy, o.bytes.size);
            survive(copy, o.bytes.size);
        }
        free(copy);
        free_original(&o);
    }
}

/* ---- other builds, other machines -------------------------------------------------------------------------------- */

Test(saved_plans, what_is_no_plan_is_refused_by_name) {
    static const char words[] = "this is a text of more than forty bytes, and no saved plan at all";
    tort_session *session = NULL;
    tort_error error;
    cr_expect_eq(tort_session_load_buffer(NULL, words, sizeof words, NULL, &session, &error), TORT_E_MODEL);
    cr_expect(strstr(error.msg, "no saved plan") && strstr(error.msg, "tinyort plan MODEL --save FILE"), "%s",
              error.msg);
    cr_expect_eq(tort_session_load(NULL, "/no/such/file", NULL, &session, &error), TORT_E_IO);
    cr_expect_eq(tort_session_load(NULL, "/tmp", NULL, &session, &error), TORT_E_IO);
    cr_expect_null(session);
}

Test(saved_plans, a_plan_of_another_version_is_refused) {
    original o = make_original(static_conv_net, &on_cpu);
    tort_session *session = NULL;
    tort_error error;
    o.bytes.data[8]++;
    cr_expect_eq(tort_session_load_buffer(NULL, o.bytes.data, o.bytes.size, NULL, &session, &error),
                 TORT_E_UNSUPPORTED);
    cr_expect(strstr(error.msg, "is of version 2, this tinyort has 1: make it again"), "%s", error.msg);
    free_original(&o);
}

/* A provider of a machine that changes between saving and loading. */
static tort_target machine;
static bool machine_is_there;

static void open_machine(const tort_provider_config *config, void **device, tort_target *target,
                         tort_condition *condition) {
    (void)config;
    *device = NULL;
    *target = machine;
    *condition = (tort_condition){.ready = machine_is_there, .code = "READY"};
    if (!machine_is_there) *condition = (tort_condition){.code = "GONE", .message = "it was carried away"};
}

static const tort_kernel relu_rows[] = {{.domain = "", .op = "Relu", .name = "relu"}, {.op = NULL}};
static const tort_kernel tanh_rows[] = {{.domain = "", .op = "Tanh", .name = "tanh"}, {.op = NULL}};
static const tort_kernel *const relu_tables[] = {relu_rows, NULL}, *const tanh_tables[] = {tanh_rows, NULL};
static const tort_provider machine_provider = {.abi = TORT_PROVIDER_ABI,
                                               .name = "machine",
                                               .summary = "for tests",
                                               .host_memory = true,
                                               .kernels = relu_tables,
                                               .open = open_machine};
static const tort_provider other_build = {.abi = TORT_PROVIDER_ABI,
                                          .name = "machine",
                                          .summary = "for tests",
                                          .host_memory = true,
                                          .kernels = tanh_tables,
                                          .open = open_machine};
static const tort_provider *const machines[] = {&machine_provider, NULL}, *const others[] = {&other_build, NULL};

static void refuse_here(const original *o, const tort_provider *const *providers, tort_status expected,
                        const char *words) {
    const tort_plan_options options = {.struct_size = sizeof options, .providers = providers};
    tort_session *session = NULL;
    tort_error error;
    cr_expect_eq(tort_session_load_buffer(NULL, o->bytes.data, o->bytes.size, &options, &session, &error), expected);
    cr_expect(strstr(error.msg, words) && strstr(error.msg, "make it again"), "%s", error.msg);
    cr_expect_null(session);
}

Test(saved_plans, another_machine_or_build_is_refused_by_name) {
    tort_session_options options = {.struct_size = sizeof options, .chain = "machine,cpu", .providers = machines};
    machine = (tort_target){.description = "x86-64-v4", .instructions = TORT_CPU_V4};
    machine_is_there = true;
    original o = make_original(loop, &options);
    cr_expect(strstr(o.report, "on machine by relu"), "%s", o.report);
    machine = (tort_target){.description = "x86-64-v3", .instructions = TORT_CPU_V3};
    refuse_here(&o, machines, TORT_E_PLACEMENT, "made where machine was \"x86-64-v4\"; here it is \"x86-64-v3\"");
    machine_is_there = false;
    refuse_here(&o, machines, TORT_E_PLACEMENT, "here it is \"GONE\", it was carried away");
    machine_is_there = true;
    machine = (tort_target){.description = "x86-64-v4", .instructions = TORT_CPU_V4};
    refuse_here(&o, others, TORT_E_UNSUPPORTED, "a build with other kernels of machine");
    free_original(&o);
}

/* ---- weights in the memory of a device --------------------------------------------------------------------------- */
