/* layout_models.c - providers and small models for tests of layouts (layout_models.h). */
#include "tests/unit/layout_models.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/include/tinyort_plan.h"
#include "tests/fake_provider.h"
#include "tests/layouts/channels_provider.h"
#include "tests/report_of.h"

/* ---- providers --------------------------------------------------------------------------------------------------- */

enum { CHANNELS, TWICE, LONE, DEVICE, SECOND, BAD, PROVIDERS };

static const char *const names[PROVIDERS] = {"channels", "twice", "lone", "device", "second", "bad"};
static tort_provider made[PROVIDERS];
const tort_provider *layout_providers[PROVIDERS + 1];
static tort_layout twice_layouts[2], device_layouts[2];
static tort_kernel lone_rows[CHANNEL_ROWS], twice_rows[CHANNEL_ROWS];
tort_kernel bad_rows[CHANNEL_ROWS];
static const tort_kernel *const twice_tables[] = {twice_rows, NULL}, *const lone_tables[] = {lone_rows, NULL},
                                *const bad_tables[] = {bad_rows, NULL};

/* The elements are the second half; the first is left as it is: any bits. */
static bool twice_bytes(const tort_tensor *tensor, size_t *bytes) {
    return tort_tensor_bytes(tensor, bytes) && tort_mul_size(*bytes, 2, bytes);
}

static tort_tensor second_half(const tort_tensor *tensor) {
    tort_tensor half = *tensor;
    half.data = (float *)tensor->data + tort_count(tensor);
    return half;
}

/* As the provider for readers does it, with input 0, or output 0, there. */
static tort_status run_on_half(const tort_call *call, bool in, bool out, tort_status (*run)(const tort_call *call)) {
    tort_tensor inputs[3];
    tort_call shifted = *call;
    for (int32_t i = 0; i < call->input_count; i++) inputs[i] = i || !in ? call->inputs[i] : second_half(call->inputs);
    const tort_tensor output = out ? second_half(call->outputs) : *call->outputs;
    shifted.inputs = inputs;
    shifted.outputs = &output;
    return run(&shifted);
}

static tort_status twice_from_plain(const tort_call *call) {
    return run_on_half(call, false, true, channels_provider.layouts->from_plain);
}

static tort_status twice_to_plain(const tort_call *call) {
    return run_on_half(call, true, false, channels_provider.layouts->to_plain);
}

static tort_status twice_conv(const tort_call *call) {
    return run_on_half(call, true, true, (*channels_provider.kernels)[0].run);
}

static tort_status twice_average(const tort_call *call) {
    return run_on_half(call, true, false, (*channels_provider.kernels)[2].run);
}

/* The device is current while it converts. */
static int32_t entered;

static int32_t enter(void *device) {
    (void)device;
    return entered++;
}

static void leave(void *device, int32_t before) {
    (void)device;
    cr_assert_eq(before, --entered);
}

static tort_status device_from_plain(const tort_call *call) {
    cr_assert_gt(entered, 0);
    return channels_provider.layouts->from_plain(call);
}

static tort_status device_to_plain(const tort_call *call) {
    cr_assert_gt(entered, 0);
    return channels_provider.layouts->to_plain(call);
}

void make_channels(void) {
    const tort_kernel *rows = *channels_provider.kernels;
    for (int32_t i = 0; i < PROVIDERS; i++) {
        made[i] = channels_provider;
        made[i].name = names[i];
        layout_providers[i] = &made[i];
    }
    memcpy(twice_layouts, channels_provider.layouts, sizeof twice_layouts);
    twice_layouts[0] = (tort_layout){.name = "wide",
                                     .fits = twice_layouts[0].fits,
                                     .bytes = twice_bytes,
                                     .from_plain = twice_from_plain,
                                     .to_plain = twice_to_plain};
    made[TWICE].layouts = twice_layouts;
    memcpy(twice_rows, rows, sizeof twice_rows);
    twice_rows[0].run = twice_conv;
    twice_rows[2].run = twice_average;
    made[TWICE].kernels = twice_tables;
    memcpy(bad_rows, rows, sizeof bad_rows);
    made[BAD].kernels = bad_tables;
    int32_t count = 0;
    for (int32_t i = 0; i < CHANNEL_ROWS; i++)
        if (rows[i].layout.id || !rows[i].op) lone_rows[count++] = rows[i];
    made[LONE].kernels = lone_tables;
    memcpy(device_layouts, channels_provider.layouts, sizeof device_layouts);
    device_layouts[0].from_plain = device_from_plain;
    device_layouts[0].to_plain = device_to_plain;
    made[DEVICE].layouts = device_layouts;
    made[DEVICE].enter = enter;
    made[DEVICE].leave = leave;
    made[DEVICE].host_memory = false;
    made[DEVICE].memory.alloc = fake_providers[0]->memory.alloc;
    made[DEVICE].memory.free = fake_providers[0]->memory.free;
    made[DEVICE].memory.copy = fake_providers[0]->memory.copy;
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

static float numbers[1024]; /* filled by image_model */

tort_model *image_model(build_image *build, const tort_env *env, tort_error *error) {
    model_builder b = build_begin(env);
    int32_t second = -1;
    for (int32_t i = 0; i < 1024; i++) numbers[i] = (float)((i * 7) % 23 - 11) / 8;
    const int32_t x = build_input(&b, "x", TORT_FLOAT, 4, (const int64_t[]){-1, 3, 2, 3});
    build_output(&b, build(&b, x, &second));
    if (second >= 0) build_output(&b, second);
    return build_end(&b, error);
}

static int32_t one(model_builder *b, const char *op, const char *name, int32_t x) {
    return build_node(b, op, name, (const int32_t[]){x, -1});
}

static int32_t add(model_builder *b, const char *name, int32_t x, int32_t y) {
    return build_node(b, "Add", name, (const int32_t[]){x, y, -1});
}

/* From so many channels to so many, with a bias. */
static int32_t conv(model_builder *b, const char *name, int32_t x, int64_t in, int64_t out) {
    const tort_tensor weights = {.type = TORT_FLOAT, .rank = 4, .dims = {out, in, 1, 1}, .data = numbers};
    const tort_tensor bias = {.type = TORT_FLOAT, .rank = 1, .dims = {out}, .data = numbers + 3};
    char w[32], c[32];
    snprintf(w, sizeof w, "%s_w", name);
    snprintf(c, sizeof c, "%s_b", name);
    return build_node(b, "Conv", name,
                      (const int32_t[]){x, build_weight(b, w, &weights), build_weight(b, c, &bias), -1});
}

int32_t build_convs(model_builder *b, int32_t x, int32_t *second) {
    (void)second;
    return conv(b, "conv2", one(b, "Relu", "relu", conv(b, "conv1", x, 3, 4)), 4, 2);
}

int32_t build_lone(model_builder *b, int32_t x, int32_t *second) {
    (void)second;
    return one(b, "Exp", "exp", conv(b, "conv", one(b, "Tanh", "tanh", x), 3, 4));
}

int32_t build_branch(model_builder *b, int32_t x, int32_t *second) {
    const int32_t r = one(b, "Relu", "relu", conv(b, "conv1", x, 3, 4));
    *second =
        build_node(b, "Mul", "product", (const int32_t[]){one(b, "Tanh", "tanh", r), one(b, "Exp", "exp", r), -1});
    return conv(b, "conv2", r, 4, 2);
}

int32_t build_shown(model_builder *b, int32_t x, int32_t *second) {
    *second = conv(b, "conv1", x, 3, 4);
    return conv(b, "conv2", *second, 4, 2);
}

int32_t build_many(model_builder *b, int32_t x, int32_t *second) {
    (void)second;
    const tort_tensor number = {.type = TORT_FLOAT, .rank = 1, .dims = {1}, .data = numbers};
    const int32_t r = one(b, "Relu", "relu1", conv(b, "conv1", x, 3, 4));
    const int32_t s = add(b, "shifted", r, build_weight(b, "number", &number));
    const int32_t c = conv(b, "conv2", one(b, "Relu", "relu3", one(b, "Relu", "relu2", s)), 4, 4);
    return one(b, "GlobalAveragePool", "average", c);
}

int32_t build_residual(model_builder *b, int32_t x, int32_t *second) {
    (void)second;
    const int32_t r = one(b, "Relu", "relu1", conv(b, "conv1", x, 3, 4));
    return one(b, "Tanh", "tanh", one(b, "Relu", "relu2", add(b, "sum", conv(b, "conv2", r, 4, 4), r)));
}

int32_t build_foreign(model_builder *b, int32_t x, int32_t *second) {
    const int32_t r = one(b, "Relu", "relu2", one(b, "Relu", "relu1", x));
    const int32_t c = conv(b, "conv2", conv(b, "conv1", r, 3, 4), 4, 3);
    *second = r;
    return one(b, "Relu", "relu3", add(b, "sum", c, one(b, "Tanh", "tanh", x)));
}

int32_t build_constant(model_builder *b, int32_t x, int32_t *second) {
    (void)second;
    const tort_tensor constant = {.type = TORT_FLOAT, .rank = 4, .dims = {1, 4, 2, 3}, .data = numbers + 5};
    const int32_t s = add(b, "sum", conv(b, "conv1", x, 3, 4), build_weight(b, "constant", &constant));
    return conv(b, "conv2", s, 4, 2);
}

int32_t build_mixed(model_builder *b, int32_t x, int32_t *second) {
    const int32_t c = conv(b, "conv1", x, 3, 3), s = add(b, "sum", c, one(b, "Tanh", "tanh", x));
    *second = one(b, "Exp", "exp", c);
    return conv(b, "conv2", s, 3, 4);
}

int32_t build_double(model_builder *b, int32_t x, int32_t *second) {
    (void)second;
    const int32_t t = one(b, "Tanh", "tanh", x);
    return one(b, "GlobalAveragePool", "average", conv(b, "conv", add(b, "double", t, t), 3, 4));
}

int32_t build_fork(model_builder *b, int32_t x, int32_t *second) {
    (void)second;
    int32_t ends[2];
    const int32_t root = one(b, "Relu", "root", one(b, "Tanh", "tanh", x));
    for (int32_t k = 0; k < 2; k++) {
        ends[k] = root;
        for (int32_t i = 0; i < 12; i++) {
            char name[32];
            snprintf(name, sizeof name, "relu%d_%d", (int)k, (int)i);
            ends[k] = one(b, "Relu", name, ends[k]);
        }
        ends[k] = conv(b, k ? "conv2" : "conv1", ends[k], 3, 4);
    }
    return one(b, "GlobalAveragePool", "average", add(b, "sum", ends[0], ends[1]));
}

int32_t build_reshaped(model_builder *b, int32_t x, int32_t *second) {
    const int32_t c = conv(b, "conv1", x, 3, 4);
    *second = one(b, "Flatten", "flat", c);
    return conv(b, "conv2", c, 4, 2);
}

int32_t build_cut(model_builder *b, int32_t x, int32_t *second) {
    static const int64_t from[] = {0};
    const tort_tensor zero = {.type = TORT_INT64, .rank = 1, .dims = {1}, .data = (void *)(uintptr_t)from};
    const int32_t ends = build_input(b, "ends", TORT_INT64, 1, (const int64_t[]){1});
    const int32_t part = build_node(b, "Slice", "cut", (const int32_t[]){x, build_weight(b, "zero", &zero), ends, -1});
    const int32_t y = build_convs(b, part, second);
    *second = one(b, "Shape", "shape", y);
    return y;
}

unsigned layout_seed;

int32_t build_random_image(model_builder *b, int32_t x, int32_t *second) {
    static const char *const ops[] = {"Relu", "Tanh", "Relu", "Add", "Add", "Conv", "Conv", "Conv"};
    enum { MAX = 16 };
    int32_t values[MAX] = {x}, count = 1;
    srand(layout_seed);
    const int32_t nodes = 2 + rand() % (MAX - 4);
    for (int32_t i = 0; i < nodes; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", (int)i);
        const char *op = ops[rand() % 8];
        const int32_t left = values[rand() % count], near = values[count - 1 - (count > 1 ? rand() % 2 : 0)];
        values[count++] = *op == 'C'           ? conv(b, name, near, 3, 3)
                          : !strcmp(op, "Add") ? add(b, name, left, near)
                                               : one(b, op, name, near);
    }
    *second = add(b, "second", values[1 + rand() % nodes], x);
    return one(b, "Relu", "first", values[count - 1]);
}

/* ---- a session of one -------------------------------------------------------------------------------------------- */

void open_image(opened *o, build_image *build, const char *chain, tort_session_options options) {
    o->model = image_model(build, opened_begin(o), &o->error);
    opened_session(o, chain, layout_providers, options);
}

/* Of a model with a second input: all rows but one are wanted. */
tort_status run_image(opened *o, int64_t rows, tort_tensor *outputs, int32_t count) {
    int64_t ends[] = {rows - 1};
    const tort_tensor inputs[] = {{.type = TORT_FLOAT, .rank = 4, .dims = {rows, 3, 2, 3}, .data = numbers},
                                  {.type = TORT_INT64, .rank = 1, .dims = {1}, .data = ends}};
    return opened_run(o, inputs, tort_model_input_count(tort_session_model(o->session)), outputs, count);
}

void look_again(opened *o) {
    tort_report_free(o->report);
    o->report = report_of(o->session);
}

const tort_report_node *image_node(const opened *o, const char *name) {
    for (int32_t i = 0; i < o->report->node_count; i++)
        if (!strcmp(o->report->nodes[i]->name, name)) return o->report->nodes[i];
    cr_assert(false, "no node %s", name);
    return NULL;
}

void expect_conversions(const opened *o, const char *expected) {
    char text[600] = "";
    size_t used = 0;
    for (int32_t i = 0; i < o->report->conversion_count && used < sizeof text; i++) {
        const tort_report_copy *c = o->report->conversions[i];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s->%s %s", i ? "; " : "", c->value, c->from,
                                 c->to, c->before);
    }
    cr_expect_str_eq(text, expected);
}

void expect_image_as_cpu(build_image *build, const char *chain, int32_t count) {
    opened o, cpu;
    open_image(&o, build, chain, (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s: %s", chain, o.error.msg);
    open_image(&cpu, build, "cpu", (tort_session_options){.unfolded = true});
    for (int64_t rows = 0; rows <= 4; rows++) {
        tort_tensor got[2], wanted[2];
        cr_assert_eq(run_image(&o, rows, got, count), TORT_OK, "%s: %s", chain, o.error.msg);
        cr_assert_eq(run_image(&cpu, rows, wanted, count), TORT_OK, "%s", cpu.error.msg);
        for (int32_t i = 0; i < count; i++) {
            cr_assert_eq(tort_count(&got[i]), tort_count(&wanted[i]));
            for (int64_t e = 0; got[i].type == TORT_FLOAT && e < tort_count(&got[i]); e++)
                cr_expect_float_eq(((float *)got[i].data)[e], ((float *)wanted[i].data)[e], 1e-4f, "%s seed %u: %lld",
                                   chain, layout_seed, (long long)e);
        }
    }
    opened_close(&o);
    opened_close(&cpu);
}
