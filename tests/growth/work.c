/* work.c - how the work of loading and planning grows with the file, counted and not timed: twice the file may take 2.2
 * times as much.
 *
 * What is counted are the counters of clang's coverage, one for each piece of code between two branches, added up, and
 * the bytes that were asked of the allocator. Neither depends on the machine. What the C library does is not counted.
 *
 * Usage: work [WORD...]: the families whose names have one of the words in them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/include/tinyort_plan.h"
#include "tests/adversarial.h"
#include "tests/dense_messages.h"
#include "tests/saved_plan.h"

/* Memory that doubles, and chunks of arenas, come in steps. */
static const double max_work = 2.2, max_bytes = 3;

/* ---- counting ---------------------------------------------------------------------------------------------------- */

/* The runtime library of clang's profiles has these: later versions have them as char *. */
void *__llvm_profile_begin_counters(void);
void *__llvm_profile_end_counters(void);
void __llvm_profile_reset_counters(void);
void __llvm_profile_set_filename(const char *name);

static double counted(void) {
    double sum = 0;
    const uint64_t *end = __llvm_profile_end_counters();
    for (const uint64_t *counter = __llvm_profile_begin_counters(); counter < end; counter++) sum += (double)*counter;
    return sum;
}

static void *count_bytes(void *ud, void *memory, size_t old_size, size_t new_size) {
    (void)old_size;
    *(double *)ud += (double)new_size;
    if (new_size) return realloc(memory, new_size);
    free(memory);
    return NULL;
}

typedef struct cost {
    size_t size; /* of the file */
    double work, bytes;
} cost;

static const tort_session_options one_thread = {.struct_size = sizeof one_thread, .chain = "cpu:threads=1"};

/* Loads and plans; a model may be refused, or its plan. */
static cost cost_of_model(const onnx_bytes *b) {
    cost c = {.size = b->size};
    const tort_env env = {.struct_size = sizeof env, .alloc = count_bytes, .alloc_ud = &c.bytes};
    tort_session_options options = one_thread;
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_report *report = NULL;
    options.plan_only = true;
    __llvm_profile_reset_counters();
    tort_status status = tort_model_load_buffer(&env, b->data, b->size, NULL, &model, NULL);
    if (!status) status = tort_session_create(&env, model, &options, &session, NULL);
    if (session) tort_session_report(session, &report, NULL);
    tort_report_free(report);
    tort_session_free(session);
    tort_model_free(model);
    c.work = counted();
    return c;
}

/* Loads the plan that is saved of the model. */
static cost cost_of_plan(const onnx_bytes *b) {
    saved_bytes bytes = {0};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_error error;
    const tort_writer writer = saved_writer(&bytes);
    if (tort_model_load_buffer(NULL, b->data, b->size, NULL, &model, &error) ||
        tort_session_create(NULL, model, &one_thread, &session, &error) ||
        tort_session_save_writer(session, &writer, &error)) {
        fprintf(stderr, "work: no plan: %s\n", error.msg);
        exit(1);
    }
    tort_session_free(session);
    tort_model_free(model);
    cost c = {.size = bytes.size};
    const tort_env env = {.struct_size = sizeof env, .alloc = count_bytes, .alloc_ud = &c.bytes};
    __llvm_profile_reset_counters();
    if (tort_session_load_buffer(&env, bytes.data, bytes.size, NULL, &session, &error)) {
        fprintf(stderr, "work: a plan that does not load: %s\n", error.msg);
        exit(1);
    }
    tort_session_free(session);
    c.work = counted();
    free(bytes.data);
    return c;
}

/* ---- further families -------------------------------------------------------------------------------------------- */

static void end(onnx_bytes *b, const char *output, tort_type type) {
    onnx_value(b, GRAPH_OUTPUT, output, type, -1, NULL);
    onnx_end(b);
}

/* Each input has a dimension of its own name. */
static void inputs_with_symbols(onnx_bytes *b, int n) {
    onnx_begin_model(b, 17);
    for (int i = 0; i < n; i++) {
        char name[16], size[16];
        snprintf(name, sizeof name, "x%d", i);
        snprintf(size, sizeof size, "N%d", i);
        onnx_begin(b, GRAPH_INPUT);
        onnx_text(b, 1, name);
        onnx_begin(b, 2);
        onnx_begin(b, 1);
        onnx_int(b, 1, TORT_FLOAT);
        onnx_begin(b, 2);
        onnx_begin(b, 1);
        onnx_text(b, 2, size);
        for (int level = 0; level < 5; level++) onnx_end(b);
    }
    onnx_node(b, "Neg", "", "x0", "y");
    end(b, "y", TORT_FLOAT);
}

static void chain(onnx_bytes *b, int n, int name_length) {
    const int64_t x[] = {4};
    char *name = calloc((size_t)name_length + 16, 1), *before = calloc((size_t)name_length + 16, 1);
    if (!name || !before) abort();
    onnx_begin_model(b, 17);
    strcpy(before, "x");
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 1, x);
    for (int i = 0; i < n; i++) {
        memset(name, 'n', (size_t)name_length);
        snprintf(name + name_length, 16, "%d", i);
        onnx_begin_node(b, GRAPH_NODE, i % 2 ? "Relu" : "Neg", name, "", "");
        onnx_text(b, NODE_INPUT, before);
        onnx_text(b, NODE_OUTPUT, name);
        onnx_end(b);
        strcpy(before, name);
    }
    end(b, before, TORT_FLOAT);
    free(name);
    free(before);
}

static void long_names(onnx_bytes *b, int n) {
    chain(b, 40, n);
}

static void chain_of_nodes(onnx_bytes *b, int n) {
    chain(b, n, 0);
}

static void begin_ml(onnx_bytes *b, const char *op, tort_type type) {
    const int64_t x[] = {1, 4};
    onnx_opset(b, MODEL_OPSET, "ai.onnx.ml", 3);
    onnx_begin_model(b, 17);
    onnx_value(b, GRAPH_INPUT, "x", type, 2, x);
    onnx_begin_node(b, GRAPH_NODE, op, "node", "x", "y");
    onnx_text(b, NODE_DOMAIN, "ai.onnx.ml");
}

static void ints(onnx_bytes *b, const char *name, int n, int64_t (*number)(int i, int n)) {
    onnx_begin_attribute(b, name, 7);
    for (int i = 0; i < n; i++) onnx_int(b, ATTR_INTS, number(i, n));
    onnx_end(b);
}

static void floats(onnx_bytes *b, const char *name, int n) {
    onnx_begin_attribute(b, name, 6);
    for (int i = 0; i < n; i++) onnx_float(b, 7, (float)i);
    onnx_end(b);
}

static int64_t itself(int i, int n) {
    (void)n;
    return i;
}

static void encoder_of_strings(onnx_bytes *b, int n) {
    begin_ml(b, "LabelEncoder", TORT_STRING);
    onnx_begin_attribute(b, "keys_strings", 8);
    for (int i = 0; i < n; i++) {
        char key[16];
        snprintf(key, sizeof key, "key%d", i);
        onnx_text(b, ATTR_STRINGS, key);
    }
    onnx_end(b);
    ints(b, "values_int64s", n, itself);
    onnx_end(b);
    end(b, "y", TORT_INT64);
}

static void encoder_of_numbers(onnx_bytes *b, int n) {
    begin_ml(b, "LabelEncoder", TORT_INT64);
    ints(b, "keys_int64s", n, itself);
    floats(b, "values_floats", n);
    onnx_end(b);
    end(b, "y", TORT_FLOAT);
}

static int64_t zero(int i, int n) {
    (void)i, (void)n;
    return 0;
}

static int64_t left_child(int i, int n) {
    return 2 * i + 1 < n ? 2 * i + 1 : 0;
}

static int64_t right_child(int i, int n) {
    return 2 * i + 2 < n ? 2 * i + 2 : 0;
}

static int64_t in_list(int i, int n) { /* each second node is a leaf beside the next of the list */
    return i % 2 == 0 && i + 2 < n ? i + 2 : 0;
}

static int64_t beside_list(int i, int n) {
    return i % 2 == 0 && i + 2 < n ? i + 1 : 0;
}

/* One tree of an odd number of nodes, whose inner nodes have both children. */
static void tree(onnx_bytes *b, int n, int64_t (*yes)(int i, int n), int64_t (*no)(int i, int n)) {
    n |= 1;
    begin_ml(b, "TreeEnsembleRegressor", TORT_FLOAT);
    ints(b, "nodes_treeids", n, zero);
    ints(b, "nodes_nodeids", n, itself);
    ints(b, "nodes_featureids", n, zero);
    ints(b, "nodes_truenodeids", n, yes);
    ints(b, "nodes_falsenodeids", n, no);
    floats(b, "nodes_values", n);
    onnx_begin_attribute(b, "nodes_modes", 8);
    for (int i = 0; i < n; i++) onnx_text(b, ATTR_STRINGS, yes(i, n) ? "BRANCH_LEQ" : "LEAF");
    onnx_end(b);
    int leaves = 0;
    for (int i = 0; i < n; i++) leaves += !yes(i, n);
    ints(b, "target_treeids", leaves, zero);
    onnx_begin_attribute(b, "target_nodeids", 7);
    for (int i = 0; i < n; i++)
        if (!yes(i, n)) onnx_int(b, ATTR_INTS, i);
    onnx_end(b);
    ints(b, "target_ids", leaves, zero);
    floats(b, "target_weights", leaves);
    onnx_int_attribute(b, "n_targets", 1);
    onnx_end(b);
    end(b, "y", TORT_FLOAT);
}

static void balanced_tree(onnx_bytes *b, int n) {
    tree(b, n, left_child, right_child);
}

static void tree_that_is_a_list(onnx_bytes *b, int n) {
    tree(b, n, in_list, beside_list);
}

/* n trees of one leaf each. */
static void stumps(onnx_bytes *b, int n) {
    begin_ml(b, "TreeEnsembleRegressor", TORT_FLOAT);
    ints(b, "nodes_treeids", n, itself);
    static const char *const zeros[] = {"nodes_nodeids", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids"};
    for (int k = 0; k < 4; k++) ints(b, zeros[k], n, zero);
    floats(b, "nodes_values", n);
    onnx_begin_attribute(b, "nodes_modes", 8);
    for (int i = 0; i < n; i++) onnx_text(b, ATTR_STRINGS, "LEAF");
    onnx_end(b);
    ints(b, "target_treeids", n, itself);
    ints(b, "target_nodeids", n, zero);
    ints(b, "target_ids", n, zero);
    floats(b, "target_weights", n);
    onnx_int_attribute(b, "n_targets", 1);
    onnx_end(b);
    end(b, "y", TORT_FLOAT);
}

/* Ifs, one after the other, whose bodies capture what is before them. */
static void bodies_that_capture(onnx_bytes *b, int n) {
    const int64_t x[] = {4};
    onnx_begin_model(b, 17);
    onnx_value(b, GRAPH_INPUT, "c", TORT_BOOL, 0, NULL);
    onnx_value(b, GRAPH_INPUT, "y0", TORT_FLOAT, 1, x);
    char before[16] = "y0", name[16];
    for (int i = 1; i <= n; i++) {
        snprintf(name, sizeof name, "y%d", i);
        onnx_begin_node(b, GRAPH_NODE, "If", "", "c", name);
        for (int branch = 0; branch < 2; branch++) {
            onnx_begin_body(b, branch ? "else_branch" : "then_branch");
            onnx_node(b, branch ? "Neg" : "Abs", "", before, "made");
            onnx_value(b, GRAPH_OUTPUT, "made", TORT_FLOAT, 1, x);
            onnx_end_body(b);
        }
        onnx_end(b);
        strcpy(before, name);
    }
    end(b, before, TORT_FLOAT);
}

static const adversarial_shape further[] = {
    {"inputs with symbols", inputs_with_symbols, 3000, TORT_OK, NULL},
    {"chain of nodes", chain_of_nodes, 3000, TORT_OK, NULL},
    {"long names", long_names, 2000, TORT_OK, NULL},
    {"encoder of strings", encoder_of_strings, 8000, TORT_OK, NULL},
    {"encoder of numbers", encoder_of_numbers, 8000, TORT_OK, NULL},
    {"balanced tree", balanced_tree, 4001, TORT_OK, NULL},
    {"tree that is a list", tree_that_is_a_list, 4001, TORT_OK, NULL},
    {"stumps", stumps, 4000, TORT_OK, NULL},
    {"bodies that capture", bodies_that_capture, 1000, TORT_OK, NULL},
    {NULL, NULL, 0, TORT_OK, NULL},
};

/* Of these also the saved plan. */
static const adversarial_shape plans[] = {
    {"plan of a chain of nodes", chain_of_nodes, 2000, TORT_OK, NULL},
    {"plan of long names", long_names, 1000, TORT_OK, NULL},
    {"plan of an encoder of strings", encoder_of_strings, 8000, TORT_OK, NULL},
    {"plan of a tree", balanced_tree, 4001, TORT_OK, NULL},
    {"plan of bodies that capture", bodies_that_capture, 500, TORT_OK, NULL},
    {NULL, NULL, 0, TORT_OK, NULL},
};

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* What twice the file takes, in comparison: the work, and the bytes. True: within the limits. */
static bool compare(const adversarial_shape *shape, cost (*cost_of)(const onnx_bytes *b)) {
    cost costs[2];
    for (int twice = 0; twice < 2; twice++) {
        onnx_bytes b = {0};
        shape->write(&b, shape->n << twice);
        costs[twice] = cost_of(&b);
        onnx_free(&b);
    }
    const double size = (double)costs[1].size / (double)costs[0].size / 2, twice = size > 1 ? size : 1;
    const double work = costs[1].work / costs[0].work / twice, bytes = costs[1].bytes / costs[0].bytes / twice;
    const bool good = work <= max_work && bytes <= max_bytes;
    printf("%-30s %8zu %12.0f %8.2f %12.0f %8.2f%s\n", shape->name, costs[0].size, costs[0].work, work, costs[0].bytes,
           bytes, good ? "" : "  FAILED");
    return good;
}

static bool is_chosen(const char *name, int words, char **word) {
    bool chosen = words == 0;
    for (int i = 0; i < words; i++) chosen = chosen || strstr(name, word[i]);
    return chosen;
}

int main(int argc, char **argv) {
    const adversarial_shape *const tables[] = {adversarial_graph, adversarial_contents, adversarial_bodies, further,
                                               plans};
    int good = 0, bad = 0;
    __llvm_profile_set_filename("/dev/null");
    printf("%-30s %8s %12s %8s %12s %8s\n", "family", "size", "work", "of twice", "bytes", "of twice");
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const adversarial_shape *shape = tables[t]; shape->name; shape++) {
            if (!is_chosen(shape->name, argc - 1, argv + 1)) continue;
            const bool within = compare(shape, tables[t] == plans ? cost_of_plan : cost_of_model);
            good += within;
            bad += !within;
        }
    printf("growth: %d passed, %d failed\n", good, bad);
    return bad || !good;
}
