/* saved_models.c - see saved_models.h. */
#include "tests/unit/saved_models.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"
#include "tests/report_of.h"
#include "tests/unit/loading.h"

/* ---- models ------------------------------------------------------------------------------------------------------ */

static void weights(onnx_bytes *b, const char *name, tort_type type, int rank, const int64_t *dims) {
    size_t count = 1;
    for (int i = 0; i < rank; i++) count *= (size_t)dims[i];
    float *data = malloc(count * sizeof *data);
    for (size_t i = 0; i < count; i++) data[i] = (float)(i % 13) * 0.25f - 1;
    for (size_t i = 0; i < count && strstr(name, "var"); i++) data[i] = 1 + (float)i;
    tort_store_floats(type, data, 0, (int64_t)count, data); /* in place: no element is larger than before */
    onnx_tensor(b, GRAPH_INITIALIZER, name, type, rank, dims, data, count * (size_t)tort_type_bits(type) / 8);
    free(data);
}

static void floats(onnx_bytes *b, const char *name, int rank, const int64_t *dims) {
    weights(b, name, TORT_FLOAT, rank, dims);
}

/* Conv, BatchNormalization and Relu become one; a product that packs its weight. */
static void conv_net(onnx_bytes *b, tort_type type, int64_t batch) {
    const int64_t x[] = {batch, 3, 8, 8}, w[] = {16, 3, 3, 3}, channels[] = {16}, g[] = {16, 5}, y[] = {batch, 5};
    onnx_begin_model(b, 17);
    onnx_value(b, GRAPH_INPUT, "x", type, 4, x);
    weights(b, "w", type, 4, w);
    weights(b, "scale", type, 1, channels);
    weights(b, "bias", type, 1, channels);
    weights(b, "mean", type, 1, channels);
    weights(b, "var", type, 1, channels);
    weights(b, "g", type, 2, g);
    onnx_node(b, "Conv", "conv", "x w", "c");
    onnx_node(b, "BatchNormalization", "norm", "c scale bias mean var", "n");
    onnx_node(b, "Relu", "relu", "n", "r");
    onnx_node(b, "GlobalAveragePool", "pool", "r", "p");
    onnx_node(b, "Flatten", "flatten", "p", "f");
    onnx_node(b, "MatMul", "product", "f g", "y");
    onnx_value(b, GRAPH_OUTPUT, "y", type, 2, y);
    onnx_end(b);
}

void saved_conv_net(onnx_bytes *b) {
    conv_net(b, TORT_FLOAT, 2);
}

void saved_open_conv_net(onnx_bytes *b) {
    conv_net(b, TORT_FLOAT, -1);
}

void saved_half_net(onnx_bytes *b) {
    conv_net(b, TORT_FLOAT16, -1);
}

/* A shape that is computed from that of x; a weight under two shapes; strings. */
void saved_shape_arithmetic(onnx_bytes *b) {
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
void saved_loop(onnx_bytes *b) {
    const int64_t x[] = {4, 6}, w[] = {6, 6};
    onnx_begin_model(b, 18);
    onnx_value(b, GRAPH_INPUT, "trips", TORT_INT64, 0, NULL);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 2, x);
    floats(b, "w", 2, w);
    onnx_begin_loop(b, "loop", "trips - x", "y parts", 2, x);
    onnx_node(b, "MatMul", "product", "v w", "p");
    onnx_node(b, "Relu", "relu", "p", "q");
    onnx_node(b, "Add", "add", "q x", "u");
    onnx_node(b, "ReduceSum", "sum", "u", "part");
    onnx_value(b, GRAPH_OUTPUT, "still", TORT_BOOL, 0, NULL);
    onnx_value(b, GRAPH_OUTPUT, "u", TORT_FLOAT, 2, x);
    onnx_value(b, GRAPH_OUTPUT, "part", TORT_FLOAT, -1, NULL);
    onnx_end_loop(b);
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 2, x);
    onnx_value(b, GRAPH_OUTPUT, "parts", TORT_FLOAT, -1, NULL);
    onnx_end(b);
}

static void sequence_port(onnx_bytes *b, int field, const char *name) {
    onnx_begin(b, field);
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
    sequence_port(b, GRAPH_OUTPUT, "parts");
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, -1, NULL);
    onnx_end(b);
}

/* Nobody reads a shape that depends on data; with `listed` the value is an output. */
static void write_unread_shape(onnx_bytes *b, bool listed) {
    const int64_t dims[] = {5};
    onnx_begin_model(b, 17);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 1, dims);
    onnx_node(b, "NonZero", "find", "x", "places");
    onnx_node(b, "Shape", "look", "places", "shape");
    onnx_node(b, "Size", "count", "places", "size");
    onnx_node(b, "Neg", "negate", "x", "y");
    if (listed) onnx_value(b, GRAPH_OUTPUT, "places", TORT_INT64, -1, NULL);
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 1, dims);
    onnx_end(b);
}

static void unread_shape(onnx_bytes *b) {
    write_unread_shape(b, true);
}

static void unread_value(onnx_bytes *b) {
    write_unread_shape(b, false);
}

/* Of a shape that is taken apart, a part is known and one is nobody's; constants under two shapes, and twice under one;
 * shapes of values that nobody reads. */
static void views(onnx_bytes *b) {
    const int64_t x[] = {-1, 4, -2}, two[] = {2}, flat[] = {8}, ones[] = {1, 1, 1}, column[] = {2, 1};
    const int64_t eight = 8, pair = 2, one = 1;
    onnx_begin_model(b, 17);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 3, x);
    onnx_tensor(b, GRAPH_INITIALIZER, "ones", TORT_INT64, 1, three, ones, sizeof ones);
    onnx_tensor(b, GRAPH_INITIALIZER, "column", TORT_INT64, 1, two, column, sizeof column);
    onnx_tensor(b, GRAPH_INITIALIZER, "flat", TORT_INT64, 1, &one, &eight, sizeof eight);
    onnx_tensor(b, GRAPH_INITIALIZER, "pair", TORT_INT64, 1, &one, &pair, sizeof pair);
    floats(b, "w", 1, flat);
    onnx_begin_tensor(b, GRAPH_INITIALIZER, "names", TORT_STRING, 1, two);
    onnx_text(b, TENSOR_STRINGS, "one");
    onnx_text(b, TENSOR_STRINGS, "");
    onnx_end(b);
    onnx_node(b, "Shape", "shape", "x", "s");
    onnx_node(b, "Split", "split", "s ones", "n four -");
    onnx_node(b, "Neg", "negate", "x", "unread");
    onnx_node(b, "Shape", "look", "unread", "us");
    onnx_node(b, "Reshape", "reshape", "x us", "y");
    onnx_node(b, "Reshape", "same", "w flat", "v");
    onnx_node(b, "Add", "add", "w v", "z");
    onnx_node(b, "Reshape", "names_twice", "names pair", "again");
    onnx_node(b, "Reshape", "names_below", "names column", "below");
    static const char *const outputs[] = {"y", "v", "w", "z", "four", "again", "below", "names"};
    for (int i = 0; i < 8; i++)
        onnx_value(b, GRAPH_OUTPUT, outputs[i], i < 4 ? TORT_FLOAT : i == 4 ? TORT_INT64 : TORT_STRING, -1, NULL);
    onnx_end(b);
}

/* The shape of a value in the middle of a fusion. */
static void looked_at(onnx_bytes *b) {
    const int64_t x[] = {-1, 3, 8, 8}, w[] = {16, 3, 3, 3};
    onnx_begin_model(b, 17);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 4, x);
    floats(b, "w", 4, w);
    onnx_node(b, "Conv", "conv", "x w", "c");
    onnx_node(b, "Relu", "relu", "c", "r");
    onnx_node(b, "Shape", "shape", "c", "s");
    onnx_node(b, "Expand", "expand", "r s", "y");
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, -1, NULL);
    onnx_end(b);
}

static void sequence_input(onnx_bytes *b) {
    onnx_begin_model(b, 17);
    sequence_port(b, GRAPH_INPUT, "parts");
    onnx_node(b, "SequenceLength", "count", "parts", "n");
    onnx_node(b, "Identity", "same", "parts", "again");
    onnx_value(b, GRAPH_OUTPUT, "n", TORT_INT64, 0, NULL);
    sequence_port(b, GRAPH_OUTPUT, "again");
    onnx_end(b);
}

const saved_model saved_models[SAVED_MODELS] = {{"conv net", saved_conv_net},
                                                {"open conv net", saved_open_conv_net},
                                                {"shape arithmetic", saved_shape_arithmetic},
                                                {"loop", saved_loop},
                                                {"sequence", sequence},
                                                {"half conv net", saved_half_net},
                                                {"unread shape", unread_shape},
                                                {"unread value", unread_value},
                                                {"views", views},
                                                {"looked at", looked_at},
                                                {"sequence input", sequence_input},
                                                {"sample", onnx_sample_model}};

/* ---- a run ------------------------------------------------------------------------------------------------------- */

/* Something for each input; open dimensions are 2. NULL: strings, or more than there is here, as a hostile plan asks.
 */
static tort_value *some_value(const tort_model *model, int32_t index) {
    enum { MOST = 1024 };
    static float numbers[MOST];
    static uint16_t halves[MOST];
    static int64_t others[2 * MOST] = {3}; /* trips */
    static uint8_t truths[MOST] = {3};     /* whatever is not 0 is true */
    const tort_port port = input_of(model, index);
    if (tort_type_kind(port.value_type) == TORT_SEQUENCE)
        return tort_value_sequence(NULL, tort_type_element(port.value_type));
    tort_tensor tensor = {.type = port.type, .rank = port.rank};
    int64_t count;
    tensor.data = port.type == TORT_FLOAT     ? (void *)numbers
                  : port.type == TORT_FLOAT16 ? (void *)halves
                  : port.type == TORT_BOOL    ? (void *)truths
                                              : others;
    for (int i = 0; i < MOST; i++) numbers[i] = (float)(i % 29) * 0.125f - 1.5f;
    tort_store_floats(TORT_FLOAT16, halves, 0, MOST, numbers);
    for (int32_t d = 0; d < port.rank; d++) tensor.dims[d] = port.dims[d] < 0 ? 2 : port.dims[d];
    if (port.type == TORT_STRING || !tort_tensor_count(&tensor, &count) || count > MOST) return NULL;
    return tort_value_tensor(NULL, &tensor);
}

/* The caller releases the outputs, all of which are NULL after a failure. */
tort_status saved_run(tort_session *session, tort_value **outputs, tort_error *error) {
    const tort_model *model = tort_session_model(session);
    const int32_t inputs = tort_model_input_count(model), count = tort_model_output_count(model);
    tort_value *given[MAX_PORTS];
    tort_context *context = NULL;
    cr_assert(inputs <= MAX_PORTS && count <= MAX_PORTS);
    for (int32_t i = 0; i < MAX_PORTS; i++) outputs[i] = NULL;
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

void saved_release(tort_value **values) {
    for (int32_t i = 0; i < MAX_PORTS; i++) tort_value_release(values[i]);
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

saved_original saved_original_make(void (*write)(onnx_bytes *b), const tort_session_options *options) {
    onnx_bytes b = {0};
    saved_original o = {.report = NULL};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_error error;
    write(&b);
    cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, NULL, &model, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_session_create(NULL, model, options, &session, &error), TORT_OK, "%s", error.msg);
    o.report = report_text(session);
    cr_assert_eq(saved_run(session, o.outputs, &error), TORT_OK, "%s", error.msg);
    const tort_writer writer = saved_writer(&o.bytes);
    cr_assert_eq(tort_session_save_writer(session, &writer, &error), TORT_OK, "%s", error.msg);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&b);
    return o;
}

void saved_original_free(saved_original *o) {
    saved_release(o->outputs);
    free(o->report);
    free(o->bytes.data);
}

const tort_session_options saved_on_cpu = {.struct_size = sizeof saved_on_cpu, .chain = "cpu:threads=1"};

/* The loaded session does the same. */
void saved_expect_same(tort_session *session, const saved_original *o, const char *name) {
    tort_value *outputs[MAX_PORTS];
    tort_error error;
    char *report = report_text(session);
    cr_expect_str_eq(report, o->report, "%s", name);
    cr_assert_eq(saved_run(session, outputs, &error), TORT_OK, "%s: %s", name, error.msg);
    for (int32_t i = 0; i < tort_model_output_count(tort_session_model(session)); i++)
        cr_expect(same_value(outputs[i], o->outputs[i]), "%s: output %d differs", name, i);
    saved_release(outputs);
    free(report);
}

tort_session *saved_load(const saved_bytes *bytes) {
    tort_session *session = NULL;
    tort_error error;
    cr_assert_eq(tort_session_load_buffer(NULL, bytes->data, bytes->size, NULL, &session, &error), TORT_OK, "%s",
                 error.msg);
    return session;
}
