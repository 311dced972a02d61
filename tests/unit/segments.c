/* segments.c - tests of segment.c, convex.c and unit_view.c: which nodes become one, what is told of those that do not,
 * and that a run of them gives what single nodes give. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/convex.h"
#include "tests/build_model.h"
#include "tests/counting_env.h"
#include "tests/fake_provider.h"
#include "tests/report_of.h"
#include "tests/segments/engine_provider.h"
#include "tests/unit/loading.h"

/* ---- convex sets ------------------------------------------------------------------------------------------------- */

enum { MOST = 14 };

typedef struct small_dag {
    int32_t first[MOST + 1], reads[MOST * MOST], set[MOST], count, sets;
    bool wanted[MOST], reaches[MOST][MOST];
} small_dag;

/* edges: "0>2 1>2"; wanted: "xx-" */
static small_dag dag_of(const char *wanted, const char *edges) {
    small_dag g = {.count = (int32_t)strlen(wanted)};
    for (int32_t i = 0; i < g.count; i++) {
        g.wanted[i] = wanted[i] == 'x';
        g.first[i + 1] = g.first[i];
        for (const char *e = edges; *e; e += e[3] ? 4 : 3)
            if (e[2] - 'a' == i) g.reads[g.first[i + 1]++] = e[0] - 'a';
    }
    return g;
}

static void split(small_dag *g) {
    const tort_env env = tort_env_complete(NULL);
    g->sets = tort_convex_sets(
        &env, &(tort_dag){.count = g->count, .first = g->first, .reads = g->reads, .wanted = g->wanted}, g->set);
}

static void expect_sets(const char *wanted, const char *edges, const char *sets) {
    small_dag g = dag_of(wanted, edges);
    split(&g);
    for (int32_t i = 0; i < g.count; i++)
        cr_expect_eq(g.set[i], sets[i] == '-' ? -1 : sets[i] - '0', "%s %s: node %d is in set %d, not in %c", wanted,
                     edges, i, g.set[i], sets[i]);
}

Test(segments, sets_of_small_graphs) {
    expect_sets("xxx", "a>b b>c", "000");
    expect_sets("xx", "", "01");
    expect_sets("x-x", "a>b b>c", "0-1");
    expect_sets("x-x", "a>b b>c a>c", "0-1");             /* a diamond with a foreign node in one arm */
    expect_sets("xxxx", "a>b a>c b>d c>d", "0000");       /* without */
    expect_sets("xx-xx", "a>b b>c c>d a>d d>e", "00-11"); /* both sides of it are sets */
    expect_sets("x-xx", "a>b b>d c>d", "0-11");           /* c runs with d, not with a's level */
    expect_sets("x-xxx", "a>b b>d c>d c>e", "0-111");     /* and takes e along */
    expect_sets("x--x", "a>b a>c b>d c>d", "0--1");
    expect_sets("xxxxxx", "a>b c>d b>e d>e e>f", "000000");
}

static void find_paths(small_dag *g) {
    for (int32_t i = 0; i < g->count; i++)
        for (int32_t e = g->first[i]; e < g->first[i + 1]; e++) {
            g->reaches[g->reads[e]][i] = true;
            for (int32_t k = 0; k < g->count; k++) g->reaches[k][i] |= g->reaches[k][g->reads[e]];
        }
}

/* Does a path lead from the set out of it and back? */
static bool is_convex(const small_dag *g, int32_t set) {
    for (int32_t a = 0; a < g->count; a++)
        for (int32_t m = 0; m < g->count; m++)
            for (int32_t b = 0; b < g->count; b++)
                if (g->set[a] == set && g->set[b] == set && g->set[m] != set && g->reaches[a][m] && g->reaches[m][b])
                    return false;
    return true;
}

static bool is_connected(const small_dag *g, int32_t set) {
    bool in[MOST] = {false};
    int32_t members = 0, found = 0;
    for (int32_t i = g->count - 1; i >= 0; i--)
        if (g->set[i] == set) members++, memset(in, 0, sizeof in), in[i] = true;
    for (int32_t round = 0; round < g->count; round++)
        for (int32_t i = 0; i < g->count; i++)
            for (int32_t e = g->first[i]; e < g->first[i + 1]; e++)
                if (g->set[i] == set && g->set[g->reads[e]] == set && (in[i] || in[g->reads[e]]))
                    in[i] = in[g->reads[e]] = true;
    for (int32_t i = 0; i < g->count; i++) found += in[i];
    return found == members;
}

/* Sets and single nodes can run one after another: takes away, again and again, what reads nothing that is left. */
static bool has_order(const small_dag *g) {
    bool gone[MOST] = {false};
    int32_t left = g->count, before = left + 1;
    for (; left && left < before;) {
        before = left;
        for (int32_t i = 0; i < g->count; i++) {
            bool ready = !gone[i];
            for (int32_t k = 0; k < g->count; k++) {
                const bool same = k == i || (g->set[i] >= 0 && g->set[k] == g->set[i]);
                for (int32_t e = g->first[k]; same && e < g->first[k + 1]; e++) {
                    const int32_t r = g->reads[e];
                    ready = ready && (gone[r] || r == i || (g->set[i] >= 0 && g->set[r] == g->set[i]));
                }
            }
            for (int32_t k = 0; ready && k < g->count; k++)
                if (k == i || (g->set[i] >= 0 && g->set[k] == g->set[i])) gone[k] = true, left--;
        }
    }
    return left == 0;
}

Test(segments, sets_of_random_graphs_are_convex_and_have_an_order) {
    srand(7);
    int32_t joined = 0;
    for (int32_t round = 0; round < 3000; round++) {
        small_dag g = {.count = 1 + rand() % MOST};
        const int32_t density = 1 + rand() % 4;
        for (int32_t i = 0; i < g.count; i++) {
            g.wanted[i] = rand() % 3 != 0;
            g.first[i + 1] = g.first[i];
            for (int32_t k = 0; k < i; k++)
                if (rand() % (2 + density) == 0) g.reads[g.first[i + 1]++] = k;
        }
        split(&g);
        find_paths(&g);
        cr_assert(has_order(&g), "round %d: the sets wait for each other", round);
        for (int32_t s = 0; s < g.sets; s++) cr_assert(is_convex(&g, s) && is_connected(&g, s), "round %d", round);
        int32_t wanted = 0;
        for (int32_t i = 0; i < g.count; i++) {
            wanted += g.wanted[i];
            cr_assert_eq(g.set[i] >= 0, g.wanted[i]);
        }
        joined += wanted - g.sets;
    }
    cr_expect_gt(joined, 3000);
}

/* Long chains with a foreign node now and then: time that grows with the square of the nodes would be hours. */
Test(segments, sets_of_a_large_graph) {
    enum { NODES = 400000 };
    const tort_env env = tort_env_complete(NULL);
    int32_t *first = calloc(NODES + 1, sizeof *first), *reads = calloc(2 * NODES, sizeof *reads);
    int32_t *set = calloc(NODES, sizeof *set);
    bool *wanted = calloc(NODES, sizeof *wanted);
    for (int32_t i = 0; i < NODES; i++) {
        wanted[i] = i % 10 != 9;
        first[i + 1] = first[i];
        if (i) reads[first[i + 1]++] = i - 1;
        if (i > 12) reads[first[i + 1]++] = i - 12;
    }
    const tort_dag dag = {.count = NODES, .first = first, .reads = reads, .wanted = wanted};
    cr_expect_eq(tort_convex_sets(&env, &dag, set), NODES / 10);
    free(first), free(reads), free(set), free(wanted);
}

/* ---- engines ----------------------------------------------------------------------------------------------------- */

static int32_t compiled, released, prepared; /* of one test, which is a process */

static tort_status counting_fit(tort_fit *fit) {
    compiled++;
    for (int32_t v = 0; v < fit->node->segment->value_count; v++) {
        const tort_info *info = &fit->node->segment->values[v];
        cr_assert(tort_shape_known(info));
        cr_assert(!info->constant || info->data, "constants are at hand");
    }
    return engine_provider.segments->fit(fit);
}

static void counting_unfit(void *device, const tort_env *env, void *fitted) {
    released++;
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

/* Copies the segment's constants into what is packed, and their number into what is prepared. */
static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    (void)target, (void)node, (void)consumed, (void)error;
    *bytes = 64;
    return TORT_OK;
}

static tort_status prepare(tort_prepare *p) {
    prepared++;
    for (int32_t i = 0; i < p->node->input_count; i++)
        if (p->node->inputs[i].constant) memcpy(p->packed, p->node->inputs[i].data, sizeof(float));
    p->prepared = tort_alloc(p->env, 8);
    return p->prepared ? TORT_OK : tort_fail(p->error, TORT_E_MEMORY, "no memory");
}

static void unprepare(void *device, const tort_env *env, void *memory) {
    (void)device;
    prepared--;
    tort_free(env, memory, 8);
}

static tort_status packed_run(const tort_call *call) {
    cr_assert_float_eq(*(const float *)call->packed, 1.0f, 0);
    cr_assert_not_null(call->prepared);
    return engine_provider.segments->run(call);
}

/* Engines that are as the one for readers, but for what a test is about. */
enum { COUNTING, LENIENT, REFUSING, FAILING, PACKING, EITHER, DEVICE, SECOND, WITHOUT, EMPTY, ENGINES };

static const char *const names[ENGINES] = {"counting", "lenient", "refusing", "failing", "packing",
                                           "either",   "device",  "second",   "without", "empty"};
static tort_kernel compilers[ENGINES];
static tort_provider engines[ENGINES];
static const tort_provider *providers[ENGINES + 3];
static tort_kernel either_rows[4];
static const tort_kernel *const either_tables[] = {either_rows, NULL};
static const tort_kernel empty_rows[] = {{.op = NULL}};
static const tort_kernel *const empty_tables[] = {empty_rows, NULL};

static void make_engines(void) {
    for (int32_t i = 0; i < ENGINES; i++) {
        compilers[i] = *engine_provider.segments;
        engines[i] = engine_provider;
        engines[i].name = names[i];
        engines[i].segments = &compilers[i];
        providers[i] = &engines[i];
    }
    providers[ENGINES] = &engine_provider;
    providers[ENGINES + 1] = fake_providers[0];
    compilers[COUNTING].fit = counting_fit;
    compilers[COUNTING].unfit = counting_unfit;
    compilers[LENIENT].claim = NULL;
    compilers[REFUSING].claim = refuse;
    compilers[FAILING].run = fail;
    compilers[PACKING].pack_size = pack_size;
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
    engines[DEVICE].alloc = fake_providers[0]->alloc;
    engines[DEVICE].free = fake_providers[0]->free;
    engines[DEVICE].copy = fake_providers[0]->copy;
    engines[WITHOUT].segments = NULL;
    engines[EMPTY].segments = NULL;
    engines[EMPTY].kernels = empty_tables;
}

TestSuite(segments, .init = make_engines);

/* ---- models ------------------------------------------------------------------------------------------------------ */

static float numbers[16] = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 15, -16};

typedef int32_t build_function(model_builder *b, int32_t x, int32_t k, int32_t *second);

/* x of [n, 4]; k a weight of [4], which begins with 1. One output or two. */
static tort_model *model_of(build_function *build, const tort_env *env, tort_error *error) {
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

/* relu -> sum -> square: all of it is one segment. */
static int32_t chain(model_builder *b, int32_t x, int32_t k, int32_t *second) {
    (void)second;
    const int32_t s = add(b, "sum", one(b, "Relu", "relu", x), k);
    return build_node(b, "Mul", "square", (const int32_t[]){s, s, -1});
}

/* relu -> double -> exp -> join -> end, and relu -> join: exp, which no engine has, stands between. */
static int32_t diamond(model_builder *b, int32_t x, int32_t k, int32_t *second) {
    (void)second;
    const int32_t r = one(b, "Relu", "relu", x), d = build_node(b, "Mul", "double", (const int32_t[]){r, k, -1});
    return one(b, "Relu", "end", add(b, "join", r, one(b, "Exp", "exp", d)));
}

/* exp reads what the segment makes, and stands in the file before the last node of it, which is an output. */
static int32_t early(model_builder *b, int32_t x, int32_t k, int32_t *second) {
    const int32_t r = one(b, "Relu", "relu", x);
    *second = one(b, "Exp", "exp", one(b, "Neg", "minus", r));
    return add(b, "sum", r, k);
}

/* Both a value inside and the last one are outputs. */
static int32_t two_outputs(model_builder *b, int32_t x, int32_t k, int32_t *second) {
    *second = add(b, "sum", one(b, "Relu", "relu", x), k);
    return build_node(b, "Mul", "square", (const int32_t[]){*second, *second, -1});
}

/* A product that cpu has, and a relu too small for the engine: cpu can fuse them. */
static int32_t product(model_builder *b, int32_t x, int32_t k, int32_t *second) {
    (void)second, (void)k;
    const tort_tensor weight = {.type = TORT_FLOAT, .rank = 2, .dims = {4, 4}, .data = numbers};
    return one(b, "Relu", "relu",
               build_node(b, "MatMul", "product", (const int32_t[]){x, build_weight(b, "w", &weight), -1}));
}

/* Segments with others between: a b c, then e alone, then g h; scratch and arena are used again and again. */
static int32_t long_one(model_builder *b, int32_t x, int32_t k, int32_t *second) {
    (void)second;
    static const char *const name[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    int32_t y = x;
    for (int32_t i = 0; i < 8; i++) {
        y = i == 3 || i == 5 ? one(b, "Tanh", name[i], y) : add(b, name[i], y, i % 2 ? k : x);
    }
    return y;
}

/* The shape of a value inside decides the shape of an output; nobody else reads it. */
static int32_t shaped(model_builder *b, int32_t x, int32_t k, int32_t *second) {
    const int32_t s = add(b, "sum", one(b, "Relu", "relu", x), k);
    const int32_t shape = one(b, "Shape", "shape", s), y = one(b, "Relu", "end", s);
    *second = build_node(b, "Expand", "expanded", (const int32_t[]){k, shape, -1});
    return y;
}

typedef struct opened {
    tort_counting_env counting;
    tort_model *model;
    tort_session *session;
    tort_context *context;
    tort_report *report;
    tort_error error;
    tort_status status;
} opened;

static void open_model(opened *o, build_function *build, const char *chain_text, tort_session_options options) {
    *o = (opened){.session = NULL};
    tort_counting_env_init(&o->counting);
    o->model = model_of(build, &o->counting.env, &o->error);
    cr_assert_not_null(o->model, "%s", o->error.msg);
    options.struct_size = sizeof options;
    options.chain = chain_text;
    options.providers = providers;
    o->status = tort_session_create(&o->counting.env, o->model, &options, &o->session, &o->error);
    if (o->session) o->report = report_of(o->session);
}

static void close_model(opened *o) {
    tort_context_free(o->context);
    tort_report_free(o->report);
    tort_session_free(o->session);
    tort_model_free(o->model);
    cr_expect_eq(o->counting.live_blocks, 0);
    cr_expect_eq(o->counting.wrong_sizes, 0);
}

static tort_status run(opened *o, int64_t rows, tort_tensor *outputs, int32_t count) {
    tort_tensor input = {.type = TORT_FLOAT, .rank = 2, .dims = {rows, 4}, .data = numbers};
    tort_status status = o->context ? TORT_OK : tort_context_create(o->session, &o->context, &o->error);
    for (int32_t i = 0; i < count; i++) outputs[i] = (tort_tensor){.data = NULL};
    return status ? status : tort_context_run(o->context, &input, 1, outputs, count, &o->error);
}

/* The node of this name, or that is made of one of this name. */
static const tort_report_node *node_of(const opened *o, const char *name) {
    for (int32_t i = 0; i < o->report->node_count; i++) {
        const tort_report_node *node = o->report->nodes[i];
        for (int32_t k = 0; k < node->from_count; k++)
            if (!strcmp(node->from[k], name)) return node;
        if (!node->from_count && !strcmp(node->name, name)) return node;
    }
    cr_assert(false, "no node %s", name);
    return NULL;
}

static void expect_from(const opened *o, const char *name, const char *from) {
    const tort_report_node *node = node_of(o, name);
    char text[200] = "";
    for (int32_t k = 0; k < node->from_count; k++) {
        if (k) strcat(text, " ");
        strcat(text, node->from[k]);
    }
    cr_expect_str_eq(text, from);
}

static const tort_report_verdict *segment_verdict(const opened *o, const char *name) {
    const tort_report_node *node = node_of(o, name);
    for (int32_t i = 0; i < node->verdict_count; i++)
        if (node->verdicts[i]->segment) return node->verdicts[i];
    cr_assert(false, "nothing is said of a segment of %s", name);
    return NULL;
}

/* A run gives what cpu gives node by node, for several numbers of rows. */
static void expect_as_cpu(build_function *build, const char *chain_text, int32_t count) {
    opened o, cpu;
    open_model(&o, build, chain_text, (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s: %s", chain_text, o.error.msg);
    open_model(&cpu, build, "cpu", (tort_session_options){.unfolded = true});
    for (int64_t rows = 0; rows <= 4; rows++) {
        tort_tensor got[2], wanted[2];
        cr_assert_eq(run(&o, rows, got, count), TORT_OK, "%s: %s", chain_text, o.error.msg);
        cr_assert_eq(run(&cpu, rows, wanted, count), TORT_OK, "%s", cpu.error.msg);
        for (int32_t i = 0; i < count; i++) {
            cr_assert_eq(got[i].dims[0], wanted[i].dims[0]);
            for (int64_t e = 0; e < 4 * rows; e++)
                cr_expect_float_eq(((float *)got[i].data)[e], ((float *)wanted[i].data)[e], 1e-5f);
        }
    }
    close_model(&o);
    close_model(&cpu);
}

/* ---- accepted ---------------------------------------------------------------------------------------------------- */

Test(segments, connected_nodes_become_one_and_are_told) {
    opened o;
    open_model(&o, chain, "engine", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_assert_eq(o.report->node_count, 1);
    const tort_report_node *node = o.report->nodes[0];
    cr_expect_str_eq(node->provider, "engine");
    cr_expect_str_eq(node->kernel, "compiled");
    cr_expect_str_eq(node->op, "Segment");
    cr_expect_str_eq(node->name, "relu");
    cr_expect_eq(node->index, 2, "it has the number of its last node");
    cr_expect_eq(o.report->fused, 2);
    cr_expect_eq(o.report->providers[0]->nodes, 1);
    cr_expect_eq(node->verdict_count, 0);
    expect_from(&o, "sum", "relu sum square");
    close_model(&o);
    expect_as_cpu(chain, "engine", 1);
}

Test(segments, a_foreign_node_between_makes_two) {
    opened o;
    open_model(&o, diamond, "engine,cpu", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_expect_eq(o.report->node_count, 3);
    expect_from(&o, "relu", "relu double");
    expect_from(&o, "end", "join end");
    cr_expect_str_eq(node_of(&o, "exp")->provider, "cpu");
    close_model(&o);
    expect_as_cpu(diamond, "engine,cpu", 1);
}

Test(segments, who_reads_a_segment_runs_behind_it_whatever_the_order_of_the_file) {
    opened o;
    open_model(&o, early, "engine,cpu", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    expect_from(&o, "relu", "relu sum");
    for (int32_t i = 1; i < o.report->node_count; i++)
        cr_expect_lt(o.report->nodes[i - 1]->index, o.report->nodes[i]->index);
    close_model(&o);
    expect_as_cpu(early, "engine,cpu", 2);
}

Test(segments, values_inside_can_be_outputs) {
    expect_as_cpu(two_outputs, "engine", 2);
    static const char *const wanted[] = {"sum_out"};
    opened o;
    tort_tensor output;
    open_model(&o, two_outputs, "lenient", (tort_session_options){.outputs = wanted, .output_count = 1});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    expect_from(&o, "sum", "relu sum"); /* nobody wants the square */
    cr_assert_eq(run(&o, 1, &output, 1), TORT_OK, "%s", o.error.msg);
    cr_expect_float_eq(((float *)output.data)[1], -2, 0);
    close_model(&o);
}

Test(segments, an_engine_may_have_memory_of_its_own) {
    opened o;
    open_model(&o, diamond, "device,cpu", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_expect_eq(o.report->copy_count, 4, "x and exp in, double and y out; relu stays: %d", o.report->copy_count);
    close_model(&o);
    expect_as_cpu(diamond, "device,cpu", 1);
    expect_as_cpu(early, "device,cpu", 2);
}

Test(segments, memory_is_used_again) {
    opened o;
    open_model(&o, long_one, "engine,cpu", (tort_session_options){0});
    tort_tensor output;
    cr_assert_eq(run(&o, 4, &output, 1), TORT_OK, "%s", o.error.msg);
    tort_report_free(o.report);
    o.report = report_of(o.session);
    cr_expect_eq(o.report->fused, 3, "%d", o.report->fused);
    cr_expect_lt(o.report->providers[0]->peak_bytes, o.report->providers[0]->naive_bytes);
    close_model(&o);
    expect_as_cpu(long_one, "engine,cpu", 1);
}

Test(segments, shapes_of_values_inside_are_known_for_every_size) {
    opened o;
    open_model(&o, shaped, "engine,cpu", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    expect_from(&o, "sum", "relu sum end");
    close_model(&o);
    expect_as_cpu(shaped, "engine,cpu", 2);
}

Test(segments, weights_can_be_prepared_once) {
    expect_as_cpu(chain, "packing", 1);
    cr_expect_eq(prepared, 0, "it is given back");
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

Test(segments, a_segment_is_compiled_once_for_each_shape) {
    opened o;
    tort_tensor output;
    open_model(&o, diamond, "counting,cpu", (tort_session_options){0});
    cr_expect_eq(compiled, 0, "no shape is known yet");
    for (int32_t round = 0; round < 3; round++)
        for (int64_t rows = 1; rows <= 3; rows++) cr_assert_eq(run(&o, rows, &output, 1), TORT_OK, "%s", o.error.msg);
    cr_expect_eq(compiled, 6, "two segments, three shapes: %d", compiled);
    close_model(&o);
    cr_expect_eq(released, 6);
}

Test(segments, a_fixed_shape_is_compiled_with_the_session_and_a_run_allocates_nothing) {
    opened o;
    tort_tensor output;
    const tort_input_shape shape = {.name = "x", .rank = 2, .dims = {2, 4}};
    open_model(&o, diamond, "counting,cpu:threads=1", (tort_session_options){.shapes = &shape, .shape_count = 1});
    cr_expect_eq(compiled, 2);
    cr_assert_eq(run(&o, 2, &output, 1), TORT_OK, "%s", o.error.msg);
    const int64_t before = o.counting.allocations;
    for (int32_t i = 0; i < 5; i++) cr_assert_eq(run(&o, 2, &output, 1), TORT_OK, "%s", o.error.msg);
    cr_expect_eq(o.counting.allocations, before);
    cr_expect_eq(compiled, 2);
    close_model(&o);
}

Test(segments, only_planned_is_not_compiled) {
    opened o;
    const tort_input_shape shape = {.name = "x", .rank = 2, .dims = {2, 4}};
    open_model(&o, diamond, "counting,cpu",
               (tort_session_options){.shapes = &shape, .shape_count = 1, .plan_only = true});
    cr_expect_eq(compiled, 0);
    cr_expect_eq(o.report->node_count, 3);
    close_model(&o);
}

/* ---- refused ----------------------------------------------------------------------------------------------------- */

Test(segments, refused_nodes_go_on_along_the_chain_with_the_reason) {
    opened o;
    open_model(&o, chain, "refusing,cpu", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_expect_eq(o.report->node_count, 3);
    const tort_report_verdict *verdict = segment_verdict(&o, "sum");
    cr_expect_str_eq(verdict->provider, "refusing");
    cr_expect_str_eq(verdict->kernel, "compiled");
    cr_expect_eq(verdict->code, TORT_NO_MEMORY);
    cr_expect_str_eq(verdict->message, "3 nodes are too many");
    cr_expect_str_eq(verdict->cure, "ask another time");
    cr_expect(node_of(&o, "sum")->fell_back);
    cr_expect_eq(o.report->fallen_back, 3);
    close_model(&o);
    expect_as_cpu(chain, "refusing,cpu", 1);
}

Test(segments, where_nobody_takes_a_refused_node_it_is_an_error_with_the_reason) {
    opened o;
    open_model(&o, chain, "refusing", (tort_session_options){0});
    cr_expect_eq(o.status, TORT_E_PLACEMENT);
    cr_expect(
        strstr(o.error.msg, "3 nodes with no provider: \"relu\" (Relu-14) refusing: NO_MEMORY 3 nodes are too many"),
        "%s", o.error.msg);
    cr_assert_not_null(o.report);
    cr_expect_eq(o.report->unplaced, 3);
    close_model(&o);
    open_model(&o, diamond, "without", (tort_session_options){0});
    cr_expect_eq(o.status, TORT_E_PLACEMENT);
    cr_expect(strstr(o.error.msg, "5 nodes with no provider"), "exp is in the same list: %s", o.error.msg);
    cr_expect(strstr(o.error.msg, "without compiles no segments"), "%s", o.error.msg);
    close_model(&o);
}

/* Two engines: what the first refuses, the second can compile. */
Test(segments, the_next_engine_of_the_chain_is_asked) {
    opened o;
    open_model(&o, chain, "refusing,second", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_assert_eq(o.report->node_count, 1);
    const tort_report_node *node = o.report->nodes[0];
    cr_expect_str_eq(node->provider, "second");
    cr_assert_eq(node->verdict_count, 1, "said of all three, once");
    cr_expect_str_eq(node->verdicts[0]->message, "3 nodes are too many");
    cr_expect(node->fell_back);
    close_model(&o);
    expect_as_cpu(chain, "refusing,second", 1);
}

Test(segments, a_row_with_a_kernel_of_its_own_stays_where_it_is) {
    opened o;
    open_model(&o, diamond, "either,cpu", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_expect_str_eq(node_of(&o, "relu")->provider, "either");
    cr_expect_str_eq(node_of(&o, "relu")->kernel, "relu");
    cr_expect_eq(segment_verdict(&o, "relu")->code, TORT_NO_SHAPE);
    cr_expect_not(node_of(&o, "relu")->fell_back);
    cr_expect_str_eq(node_of(&o, "double")->kernel, "mul");
    cr_expect_str_eq(segment_verdict(&o, "double")->message, "the kernel mul runs its node by itself");
    expect_from(&o, "end", "join end");
    close_model(&o);
}

/* Of unknown length: unique -> first -> last. */
static int32_t unknown(model_builder *b, int32_t x, int32_t k, int32_t *second) {
    (void)k;
    int32_t found[1];
    build_wide_node(b, "Unique", "unique", (const int32_t[]){x, -1}, "1", found);
    *second = one(b, "Relu", "other", one(b, "Relu", "relu", x));
    return one(b, "Relu", "last", one(b, "Relu", "first", found[0]));
}

Test(segments, a_value_whose_shape_depends_on_data_is_in_none) {
    opened o;
    tort_tensor outputs[2];
    open_model(&o, unknown, "engine,cpu", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_expect_str_eq(node_of(&o, "first")->provider, "cpu");
    cr_expect_eq(segment_verdict(&o, "first")->code, TORT_NO_DYNAMIC);
    cr_expect(strstr(segment_verdict(&o, "last")->message, "depends on data"));
    expect_from(&o, "other", "relu other");
    cr_expect_eq(run(&o, 2, outputs, 2), TORT_OK, "%s", o.error.msg);
    close_model(&o);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

Test(segments, a_node_pinned_elsewhere_is_in_none) {
    static const char *const pins[] = {"sum=cpu"};
    opened o;
    open_model(&o, long_one, "engine,cpu", (tort_session_options){0});
    expect_from(&o, "b", "a b c");
    close_model(&o);
    static const char *const b_pin[] = {"b=cpu"};
    open_model(&o, long_one, "engine,cpu", (tort_session_options){.pins = b_pin, .pin_count = 1});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_expect_str_eq(node_of(&o, "b")->provider, "cpu");
    cr_expect(node_of(&o, "b")->pinned);
    cr_expect_str_eq(node_of(&o, "a")->provider, "cpu", "a single one is refused");
    cr_expect_str_eq(segment_verdict(&o, "a")->provider, "engine");
    close_model(&o);
    open_model(&o, chain, "engine,cpu", (tort_session_options){.pins = pins, .pin_count = 1});
    cr_expect_eq(o.report->pinned, 1);
    cr_expect_eq(o.report->node_count, 3);
    close_model(&o);
}

Test(segments, a_pin_to_the_engine_is_kept) {
    static const char *const pins[] = {"sum=engine"};
    opened o;
    open_model(&o, chain, "engine,cpu", (tort_session_options){.pins = pins, .pin_count = 1});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_expect_eq(o.report->node_count, 1);
    cr_expect(o.report->nodes[0]->pinned);
    close_model(&o);
    static const char *const exp[] = {"sum=refusing"};
    open_model(&o, chain, "refusing,cpu", (tort_session_options){.pins = exp, .pin_count = 1});
    cr_expect_eq(o.status, TORT_E_PLACEMENT, "it cannot be there, and may not be elsewhere");
    cr_expect(strstr(o.error.msg, "1 node with no provider: \"sum\""), "%s", o.error.msg);
    close_model(&o);
}

Test(segments, strict_looks_at_every_node_of_a_segment) {
    static const char *const all[] = {"relu=engine", "sum=engine", "square=engine"};
    static const struct {
        const char *allow;
        int32_t pins;
        bool passes;
    } cases[] = {{NULL, 0, false}, {"Segment", 0, false}, {"Add,Relu", 0, false}, {"Add,Relu,Mul", 0, true},
                 {NULL, 2, false}, {"Mul", 2, true},      {NULL, 3, true},        {"Mul,Relu", 2, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        opened o;
        open_model(
            &o, chain, "empty,engine",
            (tort_session_options){.strict = true, .allow = cases[i].allow, .pins = all, .pin_count = cases[i].pins});
        cr_expect_eq(o.status, cases[i].passes ? TORT_OK : TORT_E_PLACEMENT, "case %zu: %s", i, o.error.msg);
        if (!cases[i].passes)
            cr_expect(strstr(o.error.msg, "strict: 1 node is not on empty: \"relu\" (tinyort::Segment-1)"), "%s",
                      o.error.msg);
        cr_expect_eq(o.report->nodes[0]->fell_back, cases[i].pins < 3, "case %zu", i);
        close_model(&o);
    }
    opened o;
    open_model(&o, chain, "engine,cpu", (tort_session_options){.strict = true});
    cr_expect_eq(o.status, TORT_OK, "%s", o.error.msg);
    close_model(&o);
}

Test(segments, fusions_are_another_thing) {
    opened o;
    open_model(&o, chain, "engine", (tort_session_options){.fusions_off = "*"});
    cr_expect_eq(o.report->node_count, 1);
    close_model(&o);
    open_model(&o, product, "engine,cpu", (tort_session_options){0});
    cr_assert_eq(o.status, TORT_OK, "%s", o.error.msg);
    cr_assert_eq(o.report->node_count, 1, "what the engine refused is fused where it went");
    cr_expect_str_eq(o.report->nodes[0]->op, "FusedMatMul");
    close_model(&o);
    expect_as_cpu(product, "engine,cpu", 1);
}

static void note_value(void *ud, int32_t node, const char *value, const tort_tensor *tensor) {
    (void)tensor;
    char *text = ud;
    sprintf(text + strlen(text), "%d:%s ", node, value);
}

Test(segments, an_observer_is_told_of_the_node_inside_that_makes_a_value) {
    opened o;
    tort_tensor outputs[2];
    char text[200] = "";
    open_model(&o, two_outputs, "engine", (tort_session_options){.unfolded = true});
    cr_assert_eq(tort_context_create(o.session, &o.context, &o.error), TORT_OK);
    tort_context_observe(o.context, note_value, text);
    cr_expect_eq(run(&o, 2, outputs, 2), TORT_OK, "%s", o.error.msg);
    cr_expect_str_eq(text, "1:sum_out 2:square_out ");
    close_model(&o);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

Test(segments, an_error_names_the_nodes) {
    opened o;
    tort_tensor output;
    open_model(&o, chain, "failing", (tort_session_options){0});
    cr_expect_eq(run(&o, 2, &output, 1), TORT_E_RUN);
    cr_expect_eq(o.error.node, 2);
    cr_expect_str_eq(o.error.provider, "failing");
    cr_expect_str_eq(o.error.msg, "node 2 \"relu\" (tinyort::Segment-1, made of relu, sum, square): told to fail");
    close_model(&o);
}

Test(segments, the_nth_allocation_fails) {
    bool failed = true;
    for (int64_t n = 1; failed; n++) {
        tort_counting_env counting;
        tort_counting_env_init(&counting);
        tort_error error;
        tort_model *model = model_of(early, &counting.env, &error);
        cr_assert_not_null(model, "%s", error.msg);
        const int64_t before = counting.live_blocks;
        counting.fail_at = counting.allocations + n;
        counting.fail_once = true;
        tort_session *session = NULL;
        tort_context *context = NULL;
        const tort_session_options options = {
            .struct_size = sizeof options, .chain = "refusing,packing,cpu:threads=1", .providers = providers};
        tort_tensor outputs[2] = {{.data = NULL}, {.data = NULL}};
        const tort_tensor input = {.type = TORT_FLOAT, .rank = 2, .dims = {2, 4}, .data = numbers};
        tort_status status = tort_session_create(&counting.env, model, &options, &session, &error);
        if (!status) status = tort_context_create(session, &context, &error);
        if (!status) status = tort_context_run(context, &input, 1, outputs, 2, &error);
        failed = counting.allocations >= counting.fail_at;
        cr_expect(status == (failed ? TORT_E_MEMORY : TORT_OK), "allocation %lld: %s: %s", (long long)n,
                  tort_status_name(status), error.msg);
        tort_context_free(context);
        tort_session_free(session);
        cr_assert_eq(counting.live_blocks, before, "allocation %lld leaks", (long long)n);
        cr_assert_eq(counting.wrong_sizes, 0);
        tort_model_free(model);
    }
}

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

/* v = relu(v + x) * x, n times; x is captured. */
static void write_loop(onnx_bytes *b) {
    const int64_t dims[] = {4};
    onnx_begin_model(b, 18);
    onnx_value(b, GRAPH_INPUT, "n", TORT_INT64, 0, NULL);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 1, dims);
    onnx_begin_node(b, GRAPH_NODE, "Loop", "loop", "n - x", "y");
    begin_body(b, "body");
    onnx_value(b, GRAPH_INPUT, "i", TORT_INT64, 0, NULL);
    onnx_value(b, GRAPH_INPUT, "going", TORT_BOOL, 0, NULL);
    onnx_value(b, GRAPH_INPUT, "v", TORT_FLOAT, 1, dims);
    onnx_node(b, "Identity", "go", "going", "still");
    onnx_node(b, "Add", "sum", "v x", "s");
    onnx_node(b, "Relu", "relu", "s", "r");
    onnx_node(b, "Mul", "scaled", "r x", "w");
    onnx_value(b, GRAPH_OUTPUT, "still", TORT_BOOL, 0, NULL);
    onnx_value(b, GRAPH_OUTPUT, "w", TORT_FLOAT, 1, dims);
    onnx_end(b);
    onnx_end(b);
    onnx_end(b);
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 1, dims);
    onnx_end(b);
}

Test(segments, a_body_has_segments_too) {
    opened o = {.session = NULL};
    onnx_bytes b = {0};
    float x[4] = {0.5f, -1, 1, 1.5f}, wanted[4];
    int64_t trips = 5;
    write_loop(&b);
    tort_counting_env_init(&o.counting);
    const tort_session_options options = {
        .struct_size = sizeof options, .chain = "counting,cpu:threads=1", .providers = providers};
    const tort_tensor inputs[] = {{.type = TORT_INT64, .data = &trips},
                                  {.type = TORT_FLOAT, .rank = 1, .dims = {4}, .data = x}};
    tort_tensor output = {.data = NULL};
    tort_status status = tort_model_load_buffer(&o.counting.env, b.data, b.size, NULL, &o.model, &o.error);
    if (!status) status = tort_session_create(&o.counting.env, o.model, &options, &o.session, &o.error);
    if (!status) status = tort_context_create(o.session, &o.context, &o.error);
    if (!status) status = tort_context_run(o.context, inputs, 2, &output, 1, &o.error);
    cr_assert_eq(status, TORT_OK, "%s", o.error.msg);
    o.report = report_of(o.session);
    expect_from(&o, "loop/body/relu", "loop/body/sum loop/body/relu loop/body/scaled");
    cr_expect_eq(compiled, 1);
    memcpy(wanted, x, sizeof x);
    for (int64_t t = 0; t < trips; t++)
        for (int32_t i = 0; i < 4; i++) wanted[i] = (wanted[i] + x[i] > 0 ? wanted[i] + x[i] : 0) * x[i];
    for (int32_t i = 0; i < 4; i++) cr_expect_float_eq(((float *)output.data)[i], wanted[i], 1e-5f);
    close_model(&o);
    onnx_free(&b);
}
