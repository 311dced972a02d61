/* cpu_kernels.c - every fast row of the provider `cpu` against the plain loop of its operator, on random odd shapes,
 * with every instruction set that this machine has.
 *
 * Inputs are small multiples of 1/8, so that sums of their products are exact in any order: results must be equal but
 * for the last bit of a division, where no function such as exp comes in. A row without a case fails, and so does a
 * case that its row never took. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"
#include "runtime/infer.h"
#include "runtime/provider.h"
#include "runtime/threads.h"

extern const tort_provider tort_provider_cpu;

#define ROUNDS 60
#define GUARD 64 /* bytes behind a buffer that must stay as they are */
#define GUARD_BYTE 0x5a
#define MAX_INPUTS 9

/* ---- cases ------------------------------------------------------------------------------------------------------- */

typedef struct random_node {
    int32_t opset, input_count, attribute_count;
    tort_tensor inputs[MAX_INPUTS];
    bool constant[MAX_INPUTS];
    float tolerance; /* relative, and a tenth of it absolute; 0: the last bit of a division */
    tort_attribute attributes[12];
    int64_t lists[6][8];
    int32_t list_count;
} random_node;

typedef struct random_source {
    uint64_t state;
} random_source;

static int64_t draw(random_source *r, int64_t low, int64_t high) {
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return low + (int64_t)((r->state >> 33) % (uint64_t)(high - low + 1));
}

static bool chance(random_source *r, int percent) {
    return draw(r, 1, 100) <= percent;
}

static int64_t pick(random_source *r, const int64_t *values, int32_t count) {
    return values[draw(r, 0, count - 1)];
}

static void add_int(random_node *n, const char *name, int64_t value) {
    n->attributes[n->attribute_count++] =
        (tort_attribute){.name = name, .kind = TORT_ATTR_INT, .count = 1, .u.i = value};
}

static void add_float(random_node *n, const char *name, float value) {
    n->attributes[n->attribute_count++] =
        (tort_attribute){.name = name, .kind = TORT_ATTR_FLOAT, .count = 1, .u.f = value};
}

static int64_t *add_list(random_node *n, const char *name, int32_t count) {
    int64_t *list = n->lists[n->list_count++];
    n->attributes[n->attribute_count++] =
        (tort_attribute){.name = name, .kind = TORT_ATTR_INTS, .count = count, .u.ints = list};
    return list;
}

static tort_tensor *add_buffer(random_node *n, tort_type type, int32_t rank, const int64_t *dims) {
    tort_tensor *tensor = &n->inputs[n->input_count++];
    *tensor = (tort_tensor){.type = type, .rank = rank};
    for (int32_t i = 0; i < rank; i++) tensor->dims[i] = dims[i];
    tensor->data = malloc((size_t)tort_count(tensor) * sizeof(double) + GUARD);
    cr_assert(tensor->data);
    return tensor;
}

static void add_tensor(random_node *n, random_source *r, int32_t rank, const int64_t *dims) {
    const tort_tensor *tensor = add_buffer(n, TORT_FLOAT, rank, dims);
    float *data = tensor->data;
    for (int64_t i = 0; i < tort_count(tensor); i++) data[i] = (float)draw(r, -8, 8) / 8;
}

/* Any value of an integer type of 8 bits; of int32, small ones. */
static void add_integers(random_node *n, random_source *r, tort_type type, int32_t rank, const int64_t *dims) {
    const tort_tensor *tensor = add_buffer(n, type, rank, dims);
    for (int64_t i = 0; i < tort_count(tensor); i++) {
        const int64_t value = type == TORT_UINT8  ? draw(r, 0, 255)
                              : type == TORT_INT8 ? draw(r, -128, 127)
                                                  : draw(r, -999, 999);
        tort_store_integers(type, tensor->data, i, 1, &value);
    }
}

static void add_scale(random_node *n, random_source *r, int32_t rank, const int64_t *dims) {
    const tort_tensor *tensor = add_buffer(n, TORT_FLOAT, rank, dims);
    for (int64_t i = 0; i < tort_count(tensor); i++) ((float *)tensor->data)[i] = (float)draw(r, 1, 40) / 1024;
}

/* Strides, dilations and padding of a window over `axes` axes. */
static void make_window(random_node *n, random_source *r, int32_t axes, const int64_t *kernel) {
    if (chance(r, 60)) {
        int64_t *strides = add_list(n, "strides", axes);
        for (int32_t i = 0; i < axes; i++) strides[i] = draw(r, 1, 3);
    }
    if (chance(r, 40)) {
        int64_t *dilations = add_list(n, "dilations", axes);
        for (int32_t i = 0; i < axes; i++) dilations[i] = draw(r, 1, 2);
    }
    if (chance(r, 25)) {
        n->attributes[n->attribute_count++] =
            (tort_attribute){.name = "auto_pad",
                             .kind = TORT_ATTR_STRING,
                             .count = 1,
                             .u.s = chance(r, 50) ? (tort_string){"SAME_UPPER", 10} : (tort_string){"SAME_LOWER", 10}};
    } else if (chance(r, 70)) {
        int64_t *pads = add_list(n, "pads", 2 * axes);
        for (int32_t i = 0; i < 2 * axes; i++) pads[i] = draw(r, 0, kernel[i % axes] - 1);
    }
}

/* Small along most axes, and wider than any vector along some. */
static int64_t draw_size(random_source *r, int32_t axes) {
    return axes == 3 ? draw(r, 4, 9) : chance(r, 20) ? draw(r, 60, 90) : draw(r, 6, 23);
}

static void make_conv(random_node *n, random_source *r, bool depthwise) {
    const int32_t axes = (int32_t)draw(r, 1, 3);
    const int64_t group = depthwise ? draw(r, 1, 7) : chance(r, 70) ? 1 : draw(r, 2, 3);
    const int64_t channels = depthwise ? 1 : pick(r, (const int64_t[]){2, 3, 7, 40}, 4);
    const int64_t filters = depthwise ? draw(r, 1, 2) : pick(r, (const int64_t[]){1, 2, 5, 13, 31, 50}, 6);
    int64_t x[5] = {draw(r, 1, 2), group * channels}, w[5] = {group * filters, channels};
    for (int32_t i = 0; i < axes; i++) {
        w[i + 2] = draw(r, 1, axes == 1 ? 9 : 3);
        x[i + 2] = draw_size(r, axes);
    }
    if (axes == 1) x[2] += 16; /* dilated kernels must fit */
    add_tensor(n, r, axes + 2, x);
    add_tensor(n, r, axes + 2, w);
    if (chance(r, 60)) add_tensor(n, r, 1, w);
    n->constant[1] = chance(r, 70);
    n->opset = 11;
    add_int(n, "group", group);
    make_window(n, r, axes, w + 2);
}

static void make_dense_conv(random_node *n, random_source *r) {
    make_conv(n, r, false);
}

static void make_depthwise_conv(random_node *n, random_source *r) {
    make_conv(n, r, true);
}

static void make_conv_transpose(random_node *n, random_source *r) {
    const int32_t axes = (int32_t)draw(r, 1, 3);
    const int64_t group = chance(r, 60) ? 1 : draw(r, 2, 3);
    const int64_t channels = pick(r, (const int64_t[]){1, 3, 7, 40}, 4);
    const int64_t filters = pick(r, (const int64_t[]){1, 2, 5, 13, 50}, 5);
    int64_t x[5] = {draw(r, 1, 2), group * channels}, w[5] = {group * channels, filters};
    for (int32_t i = 0; i < axes; i++) {
        w[i + 2] = draw(r, 1, axes == 1 ? 9 : 4);
        x[i + 2] = axes == 1 ? draw(r, 1, 1200) : axes == 2 ? draw(r, 1, 30) : draw(r, 1, 6);
    }
    const int64_t bias = group * filters;
    add_tensor(n, r, axes + 2, x);
    add_tensor(n, r, axes + 2, w);
    if (chance(r, 60)) add_tensor(n, r, 1, &bias);
    n->constant[1] = chance(r, 70);
    n->opset = 11;
    add_int(n, "group", group);
    make_window(n, r, axes, w + 2);
}

static tort_type byte_type(random_source *r) {
    return chance(r, 50) ? TORT_UINT8 : TORT_INT8;
}

static void make_matmul_integer(random_node *n, random_source *r) {
    const int64_t m = draw(r, 1, 40), k = draw(r, 1, 700), columns = draw(r, 1, 40), batch = draw(r, 1, 3);
    const int64_t a[3] = {batch, m, k}, b[3] = {batch, k, columns};
    const tort_type a_type = byte_type(r), b_type = byte_type(r);
    const int32_t rank = (int32_t)draw(r, 2, 3);
    add_integers(n, r, a_type, rank, a + 3 - rank);
    const int32_t b_rank = chance(r, 50) ? 2 : rank; /* a B of rank 2 serves all batches */
    add_integers(n, r, b_type, b_rank, b + 3 - b_rank);
    if (chance(r, 70)) add_integers(n, r, a_type, 0, a);
    if (n->input_count == 3 && chance(r, 70)) add_integers(n, r, b_type, (int32_t)draw(r, 0, 1), &columns);
    n->constant[1] = chance(r, 50);
    n->opset = 10;
}

static void make_integer_window(random_node *n, random_source *r, int64_t x[4], int64_t w[4]) {
    const int64_t group = chance(r, 70) ? 1 : 2;
    x[0] = draw(r, 1, 2);
    w[1] = draw(r, 4, 40);
    x[1] = group * w[1];
    w[0] = group * draw(r, 1, 9);
    for (int32_t i = 2; i < 4; i++) {
        x[i] = draw(r, 6, 15);
        w[i] = draw(r, 1, 3);
    }
    n->opset = 10;
    add_int(n, "group", group);
    make_window(n, r, 2, w + 2);
}

static void make_conv_integer(random_node *n, random_source *r) {
    int64_t x[4], w[4];
    const tort_type x_type = byte_type(r), w_type = byte_type(r);
    make_integer_window(n, r, x, w);
    add_integers(n, r, x_type, 4, x);
    add_integers(n, r, w_type, 4, w);
    if (chance(r, 70)) add_integers(n, r, x_type, 0, x);
    if (n->input_count == 3 && chance(r, 70)) add_integers(n, r, w_type, (int32_t)draw(r, 0, 1), w);
    n->constant[1] = n->constant[3] = true;
}

static void make_qlinear_conv(random_node *n, random_source *r) {
    int64_t x[4], w[4];
    const tort_type x_type = byte_type(r), w_type = byte_type(r);
    const int32_t rank = (int32_t)draw(r, 0, 1);
    make_integer_window(n, r, x, w);
    add_integers(n, r, x_type, 4, x);
    add_scale(n, r, 0, x);
    add_integers(n, r, x_type, 0, x);
    add_integers(n, r, w_type, 4, w);
    add_scale(n, r, rank, w);
    add_integers(n, r, w_type, rank, w);
    add_scale(n, r, 0, x);
    add_integers(n, r, x_type, 0, x);
    if (chance(r, 60)) add_integers(n, r, TORT_INT32, 1, w);
    n->constant[3] = n->constant[5] = true;
}

static void make_pool(random_node *n, random_source *r, bool average) {
    const int32_t axes = (int32_t)draw(r, 1, 3);
    int64_t x[5] = {draw(r, 1, 2), draw(r, 1, 5)};
    int64_t *kernel = add_list(n, "kernel_shape", axes);
    for (int32_t i = 0; i < axes; i++) {
        kernel[i] = draw(r, 1, 3);
        x[i + 2] = draw_size(r, axes);
    }
    add_tensor(n, r, axes + 2, x);
    make_window(n, r, axes, kernel);
    n->opset = 19;
    if (chance(r, 40)) add_int(n, "ceil_mode", 1);
    if (average && chance(r, 50)) add_int(n, "count_include_pad", 1);
}

static void make_max_pool(random_node *n, random_source *r) {
    make_pool(n, r, false);
}

static void make_average_pool(random_node *n, random_source *r) {
    make_pool(n, r, true);
}

static int64_t draw_length(random_source *r) {
    return pick(r, (const int64_t[]){1, 2, 3, 7, 16, 17, 33, 100, 300}, 9);
}

static void make_gemm(random_node *n, random_source *r) {
    const int64_t m = draw_length(r), k = draw_length(r), columns = draw_length(r);
    const bool trans_a = chance(r, 30), trans_b = chance(r, 50);
    add_tensor(n, r, 2, trans_a ? (const int64_t[]){k, m} : (const int64_t[]){m, k});
    add_tensor(n, r, 2, trans_b ? (const int64_t[]){columns, k} : (const int64_t[]){k, columns});
    if (chance(r, 80)) {
        const int64_t shapes[4][2] = {{m, columns}, {1, columns}, {m, 1}, {1, 1}};
        const int64_t *shape = shapes[draw(r, 0, 3)];
        const bool vector = shape[0] == 1 && chance(r, 50);
        add_tensor(n, r, vector ? 1 : 2, vector ? shape + 1 : shape);
    }
    n->constant[1] = chance(r, 60);
    n->opset = 13;
    add_int(n, "transA", trans_a);
    add_int(n, "transB", trans_b);
    if (chance(r, 40)) add_float(n, "alpha", 0.5f);
    if (chance(r, 40)) add_float(n, "beta", chance(r, 50) ? 0.25f : 0.0f);
}

static void make_matmul(random_node *n, random_source *r) {
    const int64_t m = draw_length(r), k = draw_length(r), columns = draw_length(r);
    int64_t a[4], b[4];
    int32_t batch = (int32_t)draw(r, 0, 2);
    for (int32_t i = 0; i < batch; i++) {
        const int64_t size = draw(r, 1, 3);
        a[i] = chance(r, 70) ? size : 1;
        b[i] = chance(r, 60) ? size : 1;
    }
    a[batch] = m;
    a[batch + 1] = b[batch] = k;
    b[batch + 1] = columns;
    const int32_t skipped = chance(r, 50) ? batch : 0; /* a B of rank 2 serves all batches */
    if (chance(r, 15))
        add_tensor(n, r, 1, &k);
    else
        add_tensor(n, r, batch + 2, a);
    if (chance(r, 15))
        add_tensor(n, r, 1, &k);
    else
        add_tensor(n, r, batch + 2 - skipped, b + skipped);
    n->constant[1] = chance(r, 60);
    n->opset = 13;
}

/* Functions that are not exact; also far from 0. */
static void make_map(random_node *n, random_source *r) {
    const int64_t dims[3] = {draw(r, 1, 5), draw(r, 1, 40), draw(r, 1, 9)};
    add_tensor(n, r, (int32_t)draw(r, 1, 3), dims);
    float *x = n->inputs[0].data;
    for (int64_t i = 0; i < tort_count(&n->inputs[0]); i++) x[i] *= (float)draw(r, 1, 12);
    n->opset = 20;
    n->tolerance = 1e-5f;
}

static void make_gelu(random_node *n, random_source *r) {
    make_map(n, r);
    if (chance(r, 50))
        n->attributes[n->attribute_count++] = (tort_attribute){
            .name = "approximate", .kind = TORT_ATTR_STRING, .count = 1, .u.s = (tort_string){"tanh", 4}};
}

static void make_softmax(random_node *n, random_source *r) {
    make_map(n, r);
    add_int(n, "axis", chance(r, 80) ? -1 : 0);
    if (chance(r, 10)) ((float *)n->inputs[0].data)[0] = chance(r, 50) ? NAN : -INFINITY;
}

static void make_layer_norm(random_node *n, random_source *r) {
    const int64_t dims[3] = {draw(r, 1, 5), draw(r, 1, 7), pick(r, (const int64_t[]){1, 5, 16, 31, 64, 77}, 6)};
    const int32_t axis = (int32_t)draw(r, 1, 2);
    add_tensor(n, r, 3, dims);
    add_tensor(n, r, 3 - axis, dims + axis);
    if (chance(r, 70)) add_tensor(n, r, 3 - axis, dims + axis);
    add_int(n, "axis", chance(r, 50) ? axis : axis - 3);
    n->opset = 17;
    n->tolerance = 1e-4f; /* a variance of few elements may nearly cancel */
}

/* The scales are powers of 2, so that their products are exact in any order. */
static void make_qlinear_matmul(random_node *n, random_source *r) {
    const int64_t a[2] = {draw(r, 1, 40), pick(r, (const int64_t[]){1, 7, 257, 1000}, 4)},
                  b[2] = {a[1], draw(r, 1, 40)};
    for (int32_t i = 0; i < 3; i++) {
        const tort_type type = byte_type(r);
        const int32_t rank = i < 2 && chance(r, 30);
        const int64_t length = i == 0 ? a[0] : b[1];
        if (i < 2) add_integers(n, r, type, 2, i ? b : a);
        add_tensor(n, r, rank, &length);
        float *scale = n->inputs[n->input_count - 1].data;
        for (int64_t j = 0; j < (rank ? length : 1); j++) scale[j] = (float)(1 << draw(r, 0, 3)) / 64;
        if (i == 2) scale[0] *= 256;
        add_integers(n, r, type, rank, &length);
    }
    n->opset = 10;
}

static void make_instance_norm(random_node *n, random_source *r) {
    const int64_t dims[4] = {draw(r, 1, 3), draw(r, 1, 5), draw(r, 2, 9), draw(r, 3, 20)};
    add_tensor(n, r, (int32_t)draw(r, 3, 4), dims);
    add_tensor(n, r, 1, dims + 1);
    add_tensor(n, r, 1, dims + 1);
    n->opset = 6;
    n->tolerance = 1e-4f; /* a variance of few elements may nearly cancel */
}

typedef struct kernel_case {
    const char *op, *kernel;
    void (*make)(random_node *node, random_source *random);
} kernel_case;

static const kernel_case cases[] = {
    {"Conv", "conv_packed_gemm", make_dense_conv},
    {"Conv", "conv_depthwise", make_depthwise_conv},
    {"ConvTranspose", "conv_transpose_packed_gemm", make_conv_transpose},
    {"MaxPool", "max_pool_rows", make_max_pool},
    {"AveragePool", "average_pool_rows", make_average_pool},
    {"Gemm", "gemm_packed", make_gemm},
    {"MatMul", "matmul_packed", make_matmul},
    {"MatMulInteger", "matmul_integer_packed", make_matmul_integer},
    {"QLinearMatMul", "qlinear_matmul_packed", make_qlinear_matmul},
    {"ConvInteger", "conv_integer_packed_gemm", make_conv_integer},
    {"QLinearConv", "qlinear_conv_packed_gemm", make_qlinear_conv},
    {"Exp", "exp_vectors", make_map},
    {"Erf", "erf_vectors", make_map},
    {"Tanh", "tanh_vectors", make_map},
    {"Sigmoid", "sigmoid_vectors", make_map},
    {"Gelu", "gelu_vectors", make_gelu},
    {"Softmax", "softmax_rows", make_softmax},
    {"LogSoftmax", "log_softmax_rows", make_softmax},
    {"InstanceNormalization", "instance_norm_rows", make_instance_norm},
    {"LayerNormalization", "layer_norm_rows", make_layer_norm},
};

/* ---- running a node by hand -------------------------------------------------------------------------------------- */

typedef struct opened {
    void *device;
    tort_target target;
    tort_env env;
    tort_pool *pool;
} opened;

/* A buffer with a guard behind it. */
static void *guarded(size_t bytes) {
    void *buffer = aligned_alloc(64, (bytes + GUARD + 63) / 64 * 64);
    cr_assert(buffer);
    memset(buffer, GUARD_BYTE, bytes + GUARD);
    return buffer;
}

static bool guard_intact(const void *buffer, size_t bytes) {
    for (size_t i = 0; i < GUARD; i++)
        if (((const uint8_t *)buffer)[bytes + i] != GUARD_BYTE) return false;
    return true;
}

static tort_model *model_of(const char *op, random_node *random, const tort_env *env, tort_error *error) {
    tort_model *model = tort_model_new(env);
    cr_assert(model && tort_model_add_graph(model, "test", "") == 0);
    int32_t *ports = tort_arena_array(&model->arena, 2 * MAX_INPUTS + 1, sizeof *ports);
    cr_assert(ports);
    tort_graph *graph = &model->graphs[0];
    graph->inputs = ports + MAX_INPUTS;
    for (int32_t i = 0; i < random->input_count; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        ports[i] = tort_graph_add_value(model, 0, name);
        tort_graph_value *value = &graph->values[ports[i]];
        if (random->constant[i]) {
            value->weight = tort_model_add_weight_data(model, &random->inputs[i]);
            cr_assert(value->weight >= 0);
            continue;
        }
        value->info.type = random->inputs[i].type;
        value->info.rank = random->inputs[i].rank;
        memcpy(value->info.dims, random->inputs[i].dims, sizeof value->info.dims);
        graph->inputs[graph->input_count++] = ports[i];
    }
    ports[2 * MAX_INPUTS] = tort_graph_add_value(model, 0, "y");
    graph->outputs = ports + 2 * MAX_INPUTS;
    graph->output_count = 1;
    const tort_node node = {.name = "node",
                            .domain = "",
                            .op_type = op,
                            .opset = random->opset,
                            .inputs = ports,
                            .outputs = graph->outputs,
                            .attributes = random->attributes,
                            .input_count = random->input_count,
                            .output_count = 1,
                            .attribute_count = random->attribute_count};
    cr_assert(tort_graph_add_node(model, 0, &node) == 0);
    if (tort_model_finish(model, 0, error) == TORT_OK) return model;
    tort_model_free(model);
    return NULL;
}

static void fill_call(tort_call *call, const random_node *random, tort_tensor *inputs, tort_tensor *output,
                      const opened *cpu) {
    for (int32_t i = 0; i < random->input_count; i++) inputs[i] = random->inputs[i];
    *call = (tort_call){.inputs = inputs,
                        .outputs = output,
                        .input_count = random->input_count,
                        .output_count = 1,
                        .device = cpu->device,
                        .env = &cpu->env};
}

static void compare(const tort_tensor *wanted, const tort_tensor *found, float tolerance, const char *label) {
    const double relative = tolerance > 0 ? (double)tolerance : 1e-6, absolute = (double)tolerance / 10;
    for (int64_t i = 0; i < tort_count(wanted); i++) {
        double want, got;
        tort_load_doubles(wanted->type, wanted->data, i, 1, &want);
        tort_load_doubles(found->type, found->data, i, 1, &got);
        if (got == want || (isnan(got) && isnan(want))) continue;
        if (wanted->type == TORT_FLOAT && fabs(got - want) <= absolute + relative * fabs(want)) continue;
        cr_expect(false, "%s: element %lld is %g, the plain loop makes %g", label, (long long)i, got, want);
        return;
    }
}

/* Runs the row on the node; expected holds the plain loop's result. False: the row refused. */
static bool run_row(const tort_kernel *row, const random_node *random, tort_node_view *view, const opened *cpu,
                    const tort_tensor *expected, const char *label) {
    tort_error error = {0};
    tort_tensor inputs[MAX_INPUTS], output = *expected;
    tort_call call;
    size_t scratch = 0, bytes;
    tort_info infos[MAX_INPUTS];
    if (row->claim && row->claim(&cpu->target, view).code != TORT_YES) return false;
    fill_call(&call, random, inputs, &output, cpu);
    call.params = view->params;
    memcpy(infos, view->inputs, (size_t)random->input_count * sizeof *infos);
    for (int32_t i = 0; i < random->input_count; i++)
        infos[i].data = random->constant[i] ? random->inputs[i].data : NULL;
    tort_node_view prepared_view = *view;
    prepared_view.inputs = infos;
    tort_prepare prepare = {
        .node = &prepared_view, .target = &cpu->target, .device = cpu->device, .env = &cpu->env, .error = &error};
    size_t packed = 0;
    uint32_t consumed = 0;
    if (row->pack_size)
        cr_assert(row->pack_size(&cpu->target, &prepared_view, &packed, &consumed, &error) == TORT_OK, "%s: %s", label,
                  error.msg);
    if (packed) prepare.packed = guarded(packed);
    if (row->prepare) cr_assert(row->prepare(&prepare) == TORT_OK, "%s: %s", label, error.msg);
    for (int32_t i = 0; i < random->input_count; i++)
        if (consumed >> i & 1) inputs[i].data = NULL; /* it says that it never reads it again */
    if (row->size) cr_assert(row->size(&cpu->target, view, &scratch, &error) == TORT_OK, "%s: %s", label, error.msg);
    cr_assert(tort_tensor_bytes(expected, &bytes));
    output.data = guarded(bytes);
    call.scratch = guarded(scratch);
    call.packed = prepare.packed;
    call.prepared = prepare.prepared;
    call.error = &error;
    cr_assert(row->run(&call) == TORT_OK, "%s: %s", label, error.msg);
    cr_expect(guard_intact(output.data, bytes), "%s: wrote behind its output", label);
    cr_expect(guard_intact(call.scratch, scratch), "%s: wrote behind its scratch", label);
    if (packed) cr_expect(guard_intact(prepare.packed, packed), "%s: wrote behind its packed weights", label);
    compare(expected, &output, random->tolerance, label);
    if (row->release) row->release(cpu->device, &cpu->env, prepare.prepared);
    free(output.data);
    free(call.scratch);
    free(prepare.packed);
    return true;
}

/* One random node: infers, resolves, runs the plain loop and the row. False: not valid, or refused. */
static bool run_round(const kernel_case *kernel, const tort_kernel *row, const opened *cpu, uint64_t seed,
                      const char *label) {
    random_node random = {0};
    random_source source = {seed};
    tort_error error = {0};
    tort_pass pass;
    bool taken = false;
    kernel->make(&random, &source);
    tort_model *model = model_of(kernel->op, &random, &cpu->env, &error);
    if (model) {
        tort_info infos[MAX_INPUTS + 1];
        for (int32_t i = 0; i < model->graphs[0].value_count; i++) infos[i] = model->graphs[0].values[i].info;
        cr_assert(tort_pass_init(&pass, model, &model->graphs[0], infos, &model->dims, &model->arena, &error) == 0);
        tort_node_view view = tort_pass_view(&pass, 0);
        void *params = aligned_alloc(16, view.op->params_size / 16 * 16 + 16);
        cr_assert(params);
        memset(params, 0, view.op->params_size);
        tort_resolve resolve = {.node = &view, .params = params, .error = &error};
        if (view.op->resolve) cr_assert(view.op->resolve(&resolve) == TORT_OK, "%s: %s", label, error.msg);
        view.params = params;
        tort_tensor inputs[MAX_INPUTS], expected = {.type = view.outputs[0].type, .rank = view.outputs[0].rank};
        memcpy(expected.dims, view.outputs[0].dims, sizeof expected.dims);
        size_t bytes;
        cr_assert(tort_tensor_bytes(&expected, &bytes));
        expected.data = guarded(bytes);
        tort_call call;
        fill_call(&call, &random, inputs, &expected, cpu);
        call.params = params;
        call.scratch = guarded(resolve.scratch_bytes);
        cr_assert(view.op->reference(&call) == TORT_OK);
        taken = run_row(row, &random, &view, cpu, &expected, label);
        free(call.scratch);
        free(expected.data);
        free(params);
        tort_pass_free(&pass);
        tort_model_free(model);
    }
    for (int32_t i = 0; i < random.input_count; i++) free(random.inputs[i].data);
    return taken;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static const tort_kernel *find_row(const char *op, const char *name) {
    for (const tort_kernel *const *table = tort_provider_cpu.kernels; *table; table++)
        for (const tort_kernel *row = *table; row->op; row++)
            if (strcmp(row->op, op) == 0 && strcmp(row->name, name) == 0) return row;
    return NULL;
}

static bool open_cpu(const char *isa, opened *cpu) {
    const tort_provider_option options[] = {{"isa", isa}, {"threads", "2"}};
    tort_condition condition;
    cpu->env = tort_env_complete(NULL);
    cpu->pool = tort_pool_create(&cpu->env, 2);
    cr_assert(cpu->pool);
    cpu->env.parallel_for = tort_pool_parallel_for;
    cpu->env.parallel_ud = cpu->pool;
    const tort_provider_config config = {.provider = "cpu", .options = options, .option_count = 2, .env = &cpu->env};
    tort_provider_cpu.open(&config, &cpu->device, &cpu->target, &condition);
    if (!condition.ready) {
        /* Criterion has no skip within a test; the sum over all runners reads this line. */
        printf("cpu_kernels: isa=%s is not tested here: %s\n", isa, condition.message);
        printf("cpu_kernels: 0 passed, 0 failed, 1 skipped\n");
        fflush(stdout);
        tort_pool_destroy(cpu->pool);
    }
    return condition.ready;
}

static void run_cases(const char *isa) {
    opened cpu;
    if (!open_cpu(isa, &cpu)) return;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const tort_kernel *row = find_row(cases[c].op, cases[c].kernel);
        int32_t taken = 0;
        cr_assert(row, "no row %s for %s", cases[c].kernel, cases[c].op);
        for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
            char label[80];
            snprintf(label, sizeof label, "%s, isa %s, seed %d", cases[c].kernel, isa, (int)seed);
            taken += run_round(&cases[c], row, &cpu, seed * 7919 + c, label);
        }
        cr_expect(taken >= ROUNDS / 2, "%s took %d of %d nodes", cases[c].kernel, (int)taken, ROUNDS);
    }
    tort_provider_cpu.close(cpu.device);
    tort_pool_destroy(cpu.pool);
}

Test(cpu_kernels, equal_the_plain_loops) {
    run_cases("auto");
}

Test(cpu_kernels, of_every_instruction_set) {
    static const char *const sets[] = {"v2", "v3", "v4", "neon"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) run_cases(sets[i]);
}

Test(cpu_kernels, every_row_has_a_case) {
    for (const tort_kernel *const *table = tort_provider_cpu.kernels; *table; table++)
        for (const tort_kernel *row = *table; row->op; row++) {
            bool found = strcmp(row->op, "*") == 0;
            for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
                found = found || (strcmp(row->op, cases[c].op) == 0 && strcmp(row->name, cases[c].kernel) == 0);
            cr_expect(found, "no case for the row %s of %s", row->name, row->op);
        }
}

static tort_status no_loop(const tort_call *call) {
    (void)call;
    return TORT_OK;
}

Test(cpu_kernels, the_last_row_takes_what_has_a_plain_loop) {
    const tort_kernel *const *table = tort_provider_cpu.kernels;
    while (table[1]) table++;
    const tort_op with = {.reference = no_loop}, without = {0};
    tort_node_view node = {.op = &with};
    const tort_target target = {0};
    cr_assert_str_eq((*table)->op, "*");
    cr_expect_eq((*table)->claim(&target, &node).code, TORT_YES);
    node.op = &without;
    cr_expect_eq((*table)->claim(&target, &node).code, TORT_NO_OP);
}

static tort_condition open_with(const char *key, const char *value, tort_target *target) {
    const tort_provider_option option = {key, value};
    const tort_env env = tort_env_complete(NULL);
    const tort_provider_config config = {.provider = "cpu", .options = &option, .option_count = 1, .env = &env};
    tort_condition condition;
    void *device;
    tort_provider_cpu.open(&config, &device, target, &condition);
    tort_provider_cpu.close(device);
    return condition;
}

Test(cpu_kernels, options_are_checked) {
    tort_target target;
    cr_expect_str_eq(open_with("threads", "0", &target).code, "BAD_OPTION");
    cr_expect_str_eq(open_with("threads", "3x", &target).code, "BAD_OPTION");
    cr_expect_str_eq(open_with("threads", "", &target).code, "BAD_OPTION");
    cr_expect_str_eq(open_with("isa", "v9", &target).code, "BAD_OPTION");
    tort_condition condition = open_with("threads", "3", &target);
    cr_expect(condition.ready, "%s", condition.message);
    cr_expect_eq(target.threads, 3);
}
