/* segment_models.c - engines and small models for tests of segments (segment_models.h). */
#include "tests/unit/segment_models.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake_provider.h"
#include "tests/report_of.h"
#include "tests/segments/engine_provider.h"

/* ---- engines ----------------------------------------------------------------------------------------------------- */

atomic_bool segment_is_running;
int32_t segments_compiled, segments_released, segments_prepared; /* of one test, which is a process */

static tort_status counting_fit(tort_fit *fit) {
    segments_compiled++;
    for (int32_t v = 0; v < fit->node->segment->value_count; v++) {
        const tort_info *info = &fit->node->segment->values[v];
        cr_assert(tort_shape_known(info));
        cr_assert(!info->constant || info->data, "constants are at hand");
    }
    return engine_provider.segments->fit(fit);
}

/* Compiles for two rows, not for more. */
static tort_status narrow_fit(tort_fit *fit) {
    const int64_t rows = fit->node->segment->values[0].dims[0];
    if (rows <= 2) return engine_provider.segments->fit(fit);
    return tort_fail(fit->error, TORT_E_RUN, "%lld rows are too many for the engine", (long long)rows);
}

static void counting_unfit(void *device, const tort_env *env, void *fitted) {
    segments_released++;
    engine_provider.segments->unfit(device, env, fitted);
}

static tort_verdict refuse(const tort_target *target, const tort_node_view *node) {
    (void)target;
    return tort_no(TORT_NO_MEMORY, "ask another time", "%d nodes are too many", node->segment->node_count);
}

static tort_status fail(const tort_call *call) {
    return tort_fail(call->error, TORT_E_RUN, "told to fail");
}

static tort_status relu(const tort_call *call) {
    const float *x = call->inputs[0].data;
    float *y = call->outputs[0].data;
    for (int64_t i = 0; i < tort_count(&call->outputs[0]); i++) y[i] = x[i] > 0 ? x[i] : 0;
    return TORT_OK;
}

/* Packs the first element of the weight, and prepares a block that must come back. */
static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    (void)target, (void)node, (void)consumed, (void)error;
    *bytes = 64;
    return TORT_OK;
}

static tort_status prepare(tort_prepare *p) {
    segments_prepared++;
    for (int32_t i = 0; i < p->node->input_count; i++)
        if (p->node->inputs[i].constant) memcpy(p->packed, p->node->inputs[i].data, sizeof(float));
    p->prepared = tort_alloc(p->env, 8);
    return p->prepared ? TORT_OK : tort_fail(p->error, TORT_E_MEMORY, "no memory");
}

static void unprepare(void *device, const tort_env *env, void *memory) {
    (void)device;
    segments_prepared--;
    tort_free(env, memory, 8);
}

static tort_status packed_run(const tort_call *call) {
    cr_assert_float_eq(*(const float *)call->packed, 1.0f, 0);
    cr_assert_not_null(call->prepared);
    return engine_provider.segments->run(call);
}

/* A run that only ends when it is cancelled. */
static tort_status wait_for_end(const tort_call *call) {
    atomic_store(&segment_is_running, true);
    while (!ahead_is_ended(call->state)) continue;
    return tort_run_is_over(call->error);
}

/* Engines that are as the one for readers, but for what a test is about. */
enum {
    COUNTING,
    LENIENT,
    REFUSING,
    FAILING,
    PACKING,
    EITHER,
    DEVICE,
    SECOND,
    WITHOUT,
    EMPTY,
    ADDING,
    OTHERS,
    NARROW,
    ENGINES
};

static const char *const names[ENGINES] = {"counting", "lenient", "refusing", "failing", "packing", "either", "device",
                                           "second",   "without", "empty",    "adding",  "others",  "narrow"};
static tort_kernel compilers[ENGINES];
static tort_provider engines[ENGINES];
const tort_provider *segment_providers[ENGINES + 4];
static tort_provider waiting;
static tort_kernel waits, either_rows[5];
static const tort_kernel *const either_tables[] = {either_rows, NULL};
static tort_kernel adding_rows[2];
static const tort_kernel *const adding_tables[] = {adding_rows, NULL};
static const tort_kernel empty_rows[] = {{.op = NULL}};
static const tort_kernel *const empty_tables[] = {empty_rows, NULL};

void make_engines(void) {
    for (int32_t i = 0; i < ENGINES; i++) {
        compilers[i] = *engine_provider.segments;
        engines[i] = engine_provider;
        engines[i].name = names[i];
        engines[i].segments = &compilers[i];
        segment_providers[i] = &engines[i];
    }
    segment_providers[ENGINES] = &engine_provider;
    segment_providers[ENGINES + 1] = &ahead_provider;
    segment_providers[ENGINES + 2] = &waiting;
    waiting = ahead_provider;
    waiting.name = "waiting";
    waiting.segments = &waits;
    waits = *ahead_provider.segments;
    waits.run = wait_for_end;
    compilers[COUNTING].fit = counting_fit;
    compilers[COUNTING].unfit = counting_unfit;
    compilers[NARROW].fit = narrow_fit;
    compilers[LENIENT].claim = NULL;
    compilers[REFUSING].claim = refuse;
    compilers[FAILING].run = fail;
    compilers[PACKING].pack.size = pack_size;
    compilers[PACKING].prepare = prepare;
    compilers[PACKING].release = unprepare;
    compilers[PACKING].run = packed_run;
    memcpy(either_rows, (*engine_provider.kernels), sizeof either_rows);
    either_rows[2].run = relu; /* alone as well */
    either_rows[2].segment = TORT_SEGMENT_MAY;
    either_rows[1].run = fail; /* alone only */
    either_rows[1].segment = TORT_SEGMENT_NEVER;
    engines[EITHER].kernels = either_tables;
    engines[DEVICE].host_memory = false;
    engines[DEVICE].memory.alloc = fake_providers[0]->memory.alloc;
    engines[DEVICE].memory.free = fake_providers[0]->memory.free;
    engines[DEVICE].memory.copy = fake_providers[0]->memory.copy;
    engines[WITHOUT].segments = NULL;
    adding_rows[0] = **engine_provider.kernels; /* the sums, and the others: all of them together */
    engines[ADDING].kernels = adding_tables;
    compilers[ADDING].claim = compilers[OTHERS].claim = NULL;
    engines[EMPTY].segments = NULL;
    engines[EMPTY].kernels = empty_tables;
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

static float numbers[16] = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 15, -16};

tort_model *segment_model(build_function *build, const tort_env *env, tort_error *error) {
    model_builder b = build_begin(env);
    int32_t second = -1;
    const int32_t x = build_input(&b, "x", TORT_FLOAT, 2, (const int64_t[]){-1, 4});
    const tort_tensor weight = {.type = TORT_FLOAT, .rank = 1, .dims = {4}, .data = numbers};
    const int32_t k = build_weight(&b, "k", &weight);
    build_output(&b, build(&b, x, k, &second));
    if (second >= 0) build_output(&b, second);
    return build_end(&b, error);
}

static int32_t add(model_builder *b, const char *name, int32_t x, int32_t y) {
    return build_node(b, "Add", name, (const int32_t[]){x, y, -1});
}

static int32_t one(model_builder *b, const char *op, const char *name, int32_t x) {
    return build_node(b, op, name, (const int32_t[]){x, -1});
}

int32_t build_chain(model_builder *b, int32_t x, int32_t k, int32_t *second) {
    (void)second;
    const int32_t s = add(b, "sum", one(b, "Relu", "relu", x), k);
    return build_node(b, "Mul", "square", (const int32_t[]){s, s, -1});
}

int32_t build_diamond(model_builder *b, int32_t x, int32_t k, int32_t *second) {
    (void)second;
    const int32_t r = one(b, "Relu", "relu", x), d = build_node(b, "Mul", "double", (const int32_t[]){r, k, -1});
    return one(b, "Relu", "end", add(b, "join", r, one(b, "Exp", "exp", d)));
}

int32_t build_early(model_builder *b, int32_t x, int32_t k, int32_t *second) {
    const int32_t r = one(b, "Relu", "relu", x);
    *second = one(b, "Exp", "exp", one(b, "Neg", "minus", r));
    return add(b, "sum", r, k);
}

int32_t build_two(model_builder *b, int32_t x, int32_t k, int32_t *second) {
    *second = add(b, "sum", one(b, "Relu", "relu", x), k);
    return build_node(b, "Mul", "square", (const int32_t[]){*second, *second, -1});
}

int32_t build_product(model_builder *b, int32_t x, int32_t k, int32_t *second) {
    (void)second, (void)k;
    const tort_tensor weight = {.type = TORT_FLOAT, .rank = 2, .dims = {4, 4}, .data = numbers};
    return one(b, "Relu", "relu",
               build_node(b, "MatMul", "product", (const int32_t[]){x, build_weight(b, "w", &weight), -1}));
}

int32_t build_long(model_builder *b, int32_t x, int32_t k, int32_t *second) {
    (void)second;
    static const char *const name[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    int32_t y = x;
    for (int32_t i = 0; i < 8; i++)
        y = i == 3 || i == 5 ? one(b, "Tanh", name[i], y) : add(b, name[i], y, i % 2 ? k : x);
    return y;
}

int32_t build_shaped(model_builder *b, int32_t x, int32_t k, int32_t *second) {
    const int32_t s = add(b, "sum", one(b, "Relu", "relu", x), k);
    const int32_t shape = one(b, "Shape", "shape", s), y = one(b, "Relu", "end", s);
    *second = build_node(b, "Expand", "expanded", (const int32_t[]){k, shape, -1});
    return y;
}

int32_t build_unknown(model_builder *b, int32_t x, int32_t k, int32_t *second) {
    (void)k;
    int32_t found[1];
    build_wide_node(b, "Unique", "unique", (const int32_t[]){x, -1}, "1", found);
    *second = one(b, "Relu", "other", one(b, "Relu", "relu", x));
    return one(b, "Relu", "last", one(b, "Relu", "first", found[0]));
}

int32_t build_alias(model_builder *b, int32_t x, int32_t k, int32_t *second) {
    *second = one(b, "Tanh", "tanh", one(b, "Identity", "other", x));
    const int32_t r = one(b, "Relu", "relu", one(b, "Identity", "before", *second));
    return add(b, "sum", one(b, "Identity", "alias", r), k);
}

unsigned segment_seed;

int32_t build_random(model_builder *b, int32_t x, int32_t k, int32_t *second) {
    static const char *const ops[] = {"Add", "Mul", "Relu", "Tanh", "Identity"};
    enum { MAX = 16 };
    int32_t values[MAX] = {x, k}, count = 2;
    srand(segment_seed);
    const int32_t nodes = 2 + rand() % (MAX - 4);
    for (int32_t i = 0; i < nodes; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        const int32_t op = rand() % 5, left = values[rand() % count], near = values[count - 1 - rand() % 2];
        values[count++] =
            build_node(b, ops[op], name, op < 2 ? (const int32_t[]){left, near, -1} : (const int32_t[]){near, -1});
    }
    *second = build_node(b, "Add", "second", (const int32_t[]){values[2 + rand() % nodes], x, -1});
    return build_node(b, "Mul", "first", (const int32_t[]){values[count - 1], x, -1});
}

/* ---- a session of one -------------------------------------------------------------------------------------------- */

void open_segments(opened *o, build_function *build, const char *chain_text, tort_session_options options) {
    o->model = segment_model(build, opened_begin(o), &o->error);
    opened_session(o, chain_text, segment_providers, options);
}

tort_status run_segments(opened *o, int64_t rows, tort_tensor *outputs, int32_t count) {
    const tort_tensor input = {.type = TORT_FLOAT, .rank = 2, .dims = {rows, 4}, .data = numbers};
    return opened_run(o, &input, 1, outputs, count);
}

const tort_report_node *segment_node(const opened *o, const char *name) {
    for (int32_t i = 0; i < o->report->node_count; i++) {
        const tort_report_node *node = o->report->nodes[i];
        for (int32_t k = 0; k < node->from_count; k++)
            if (!strcmp(node->from[k], name)) return node;
        if (!node->from_count && !strcmp(node->name, name)) return node;
    }
    cr_assert(false, "no node %s", name);
    return NULL;
}

void expect_from(const opened *o, const char *name, const char *from) {
    const tort_report_node *node = segment_node(o, name);
    char text[200] = "";
    for (int32_t k = 0; k < node->from_count; k++) {
        if (k) strcat(text, " ");
        strcat(text, node->from[k]);
    }
    cr_expect_str_eq(text, from);
}

const tort_report_verdict *segment_verdict(const opened *o, const char *name) {
    const tort_report_node *node = segment_node(o, name);
    for (int32_t i = 0; i < node->verdict_count; i++)
        if (node->verdicts[i]->segment) return node->verdicts[i];
    cr_assert(false, "nothing is said of a segment of %s", name);
    return NULL;
}

void expect_as_cpu(build_function *build, const char *chain_text, int32_t count) {
    opened o, cpu;
    open_segments(&o, build, chain_text, (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s: %s", chain_text, o.error.msg);
    open_segments(&cpu, build, "cpu", (tort_session_options){.unfolded = true});
    for (int64_t rows = 0; rows <= 4; rows++) {
        tort_tensor got[2], wanted[2];
        cr_assert_eq(run_segments(&o, rows, got, count), TORT_OK, "%s: %s", chain_text, o.error.msg);
        cr_assert_eq(run_segments(&cpu, rows, wanted, count), TORT_OK, "%s", cpu.error.msg);
        for (int32_t i = 0; i < count; i++) {
            cr_assert_eq(got[i].dims[0], wanted[i].dims[0]);
            for (int64_t e = 0; e < 4 * rows; e++)
                cr_expect_float_eq(((float *)got[i].data)[e], ((float *)wanted[i].data)[e], 1e-5f);
        }
    }
    opened_close(&o);
    opened_close(&cpu);
}
