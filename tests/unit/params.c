/* params.c - params are plain data: equal nodes have equal bytes, wherever their models lie in memory, and the bytes
 * mean the same at another address and when the model is gone. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/build.h"
#include "runtime/core/graph/infer.h"
#include "runtime/core/graph/text.h"
#include "tests/unit/loading.h"
#include "tests/unit/operator_case.h"

enum { MAX_VALUES = 2 * MAX_TENSORS, DIRTY_STACK = 16384 };

/* ---- memory that tells on who still reads it ---- */

/* Volatile: a compiler drops what is written right before free. */
static void *(*const volatile overwrite)(void *block, int byte, size_t size) = memset;

static void spoil_and_free(void *block, size_t size) {
    if (block) overwrite(block, 0xA5, size);
    free(block);
}

static void *spoiling_alloc(void *ud, void *ptr, size_t old_size, size_t new_size) {
    (void)ud;
    void *block = new_size ? malloc(new_size) : NULL;
    if (new_size && !block) return NULL;
    if (ptr && block) memcpy(block, ptr, old_size < new_size ? old_size : new_size);
    spoil_and_free(ptr, old_size);
    return block;
}

static void serial_for(void *ud, int64_t count, int64_t grain, void (*body)(void *arg, int64_t begin, int64_t end),
                       void *arg) {
    (void)ud;
    (void)grain;
    if (count > 0) body(arg, 0, count);
}

static const tort_env spoiling_env = {
    .struct_size = sizeof(tort_env), .alloc = spoiling_alloc, .parallel_for = serial_for};

/* Leaves a byte in what the next function takes of the stack, for padding that is copied with a struct. */
__attribute__((noinline)) static void dirty_stack(int byte) {
    unsigned char stack[DIRTY_STACK];
    overwrite(stack, byte, sizeof stack);
}

/* ---- the params of a case ---- */

typedef struct resolved {
    onnx_bytes file;
    tort_model *model;
    const tort_node *node;
    uint8_t *params;
    size_t params_bytes, scratch_bytes;
} resolved;

/* With the contents that shapes depend on, and outputs as they are inferred from these. */
static void resolve_node(resolved *r, const operator_case *c, int stack, const char *text) {
    const tort_graph *graph = &r->model->graphs[0];
    const int32_t index = (int32_t)(r->node - graph->nodes);
    tort_info infos[MAX_VALUES];
    tort_error error = {0};
    tort_pass pass;
    cr_assert_leq(graph->value_count, MAX_VALUES);
    for (int32_t i = 0; i < graph->value_count; i++) infos[i] = graph->values[i].info;
    for (int32_t i = 0; c && i < r->node->input_count; i++)
        if (r->node->inputs[i] >= 0 && r->node->op->shape_inputs >> i & 1)
            infos[r->node->inputs[i]].data = c->inputs[i].tensor.data;
    cr_assert(!tort_pass_init(&pass, r->model, graph, infos, &r->model->dims, &r->model->arena, &error));
    if (c) cr_assert(!tort_pass_infer(&pass, index, &error), "%s: %s", text, error.msg);
    const tort_node_view view = tort_pass_view(&pass, index);
    dirty_stack(stack);
    cr_assert(!tort_params_measure(&view, r->node, &r->params_bytes, &error), "%s: %s", text, error.msg);
    r->params = calloc(1, r->params_bytes + 1);
    cr_assert(r->params);
    dirty_stack(stack);
    cr_assert(!tort_resolve_node(&view, r->params, &r->scratch_bytes, &error), "%s: %s", text, error.msg);
    tort_pass_free(&pass);
}

/* The params of a node of the file that r has; c NULL: as the model is loaded. */
static void resolve_file(resolved *r, int32_t node, const operator_case *c, int stack, const char *text) {
    tort_error error = {0};
    cr_assert(!tort_model_load_buffer(&spoiling_env, r->file.data, r->file.size, NULL, &r->model, &error), "%s: %s",
              text, error.msg);
    r->node = &r->model->graphs[0].nodes[node];
    resolve_node(r, c, stack, text);
}

static void resolve_case(resolved *r, const operator_case *c, int stack, const char *text) {
    *r = (resolved){.model = NULL};
    operator_case_write(&r->file, c, LIVE);
    resolve_file(r, 0, c, stack, text);
}

static void free_resolved(resolved *r) {
    tort_model_free(r->model);
    overwrite(r->file.data, 0xA5, r->file.size);
    onnx_free(&r->file);
    spoil_and_free(r->params, r->params_bytes);
}

static void each_case(void (*check)(const char *text, const operator_case *c)) {
    static operator_case c;
    for (const char *const *const *table = operator_tables; *table; table++)
        for (const char *const *text = *table; *text; text++) {
            operator_case_read(*text, &c);
            check(*text, &c);
        }
}

/* ---- tests ---- */

static void check_same(resolved *a, resolved *b, const char *text) {
    size_t at = 0;
    cr_assert_eq(a->params_bytes, b->params_bytes);
    while (at < a->params_bytes && a->params[at] == b->params[at]) at++;
    cr_expect_eq(at, a->params_bytes, "byte %zu of %zu differs in the params of %s", at, a->params_bytes, text);
    free_resolved(a);
    free_resolved(b);
}

static void check_equal(const char *text, const operator_case *c) {
    resolved a, b;
    resolve_case(&a, c, 0x55, text);
    resolve_case(&b, c, 0xAA, text);
    check_same(&a, &b, text);
}

Test(params, equal_nodes_have_equal_bytes) {
    each_case(check_equal);
}

/* A body that takes the negative of x, or of its last input. */
static void write_body(onnx_bytes *b, const char *name, const char *inputs[], const char *outputs[]) {
    const char *from = "x";
    onnx_begin_body(b, name);
    for (int i = 0; inputs[i]; i++) {
        from = inputs[i];
        onnx_value(b, GRAPH_INPUT, inputs[i], TORT_UNDEFINED, 0, NULL);
    }
    onnx_node(b, "Neg", "", from, "negative");
    for (int i = 0; outputs[i]; i++) onnx_value(b, GRAPH_OUTPUT, outputs[i], TORT_UNDEFINED, 0, NULL);
    onnx_end(b);
    onnx_end(b);
}

/* One node of each operator that runs bodies, in this order. */
static const char *const with_bodies[] = {"If", "Loop", "Scan", "SequenceMap"};
enum { WITH_BODIES = sizeof with_bodies / sizeof *with_bodies };

static void write_node_with_bodies(onnx_bytes *b, int which) {
    static const char *const inputs[] = {"c", "n - x", "x", "parts"};
    static const char *parameters[][4] = {{NULL}, {"i", "again", "a"}, {"part"}, {"part"}};
    static const char *results[][3] = {{"negative"}, {"again", "negative"}, {"negative"}, {"negative"}};
    onnx_begin_node(b, GRAPH_NODE, with_bodies[which], "", inputs[which], with_bodies[which]);
    write_body(b, which ? "body" : "then_branch", parameters[which], results[which]);
    if (which == 0) write_body(b, "else_branch", parameters[which], results[which]);
    if (which == 2) onnx_int_attribute(b, "num_scan_inputs", 1);
    if (which == 2) {
        onnx_begin_attribute(b, "scan_input_axes", TORT_ATTR_INTS);
        onnx_int(b, ATTR_INTS, -1);
        onnx_end(b);
    }
    onnx_end(b);
}

static void write_bodies(onnx_bytes *b) {
    onnx_begin_model(b, 17);
    onnx_value(b, GRAPH_INPUT, "c", TORT_BOOL, 0, NULL);
    onnx_value(b, GRAPH_INPUT, "n", TORT_INT64, 0, NULL);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 1, three);
    onnx_node(b, "SplitToSequence", "", "x", "parts");
    for (int i = 0; i < WITH_BODIES; i++) write_node_with_bodies(b, i);
    onnx_end(b);
}

Test(params, equal_nodes_with_bodies_have_equal_bytes) {
    for (int32_t i = 0; i < WITH_BODIES; i++) {
        resolved a = {.model = NULL}, b = {.model = NULL};
        write_bodies(&a.file);
        write_bodies(&b.file);
        resolve_file(&a, 1 + i, NULL, 0x55, with_bodies[i]);
        resolve_file(&b, 1 + i, NULL, 0xAA, with_bodies[i]);
        cr_assert_str_eq(a.node->op_type, with_bodies[i]);
        check_same(&a, &b, with_bodies[i]);
    }
}

/* Runs the plain loop with the params alone. */
static void run_loop(const operator_case *c, const tort_op *op, const void *params, size_t scratch_bytes,
                     const char *text) {
    static case_tensor made[MAX_TENSORS];
    tort_tensor inputs[MAX_TENSORS], outputs[MAX_TENSORS];
    tort_error error = {0};
    for (int32_t i = 0; i < c->input_count; i++) inputs[i] = c->inputs[i].tensor;
    for (int32_t i = 0; i < c->output_count; i++) {
        memset(made[i].data, 0, sizeof made[i].data);
        outputs[i] = c->outputs[i].tensor;
        outputs[i].data = made[i].data;
    }
    const tort_env env = tort_env_complete(&spoiling_env);
    tort_call call = {.op = op,
                      .params = params,
                      .inputs = inputs,
                      .outputs = outputs,
                      .input_count = c->input_count,
                      .output_count = c->output_count,
                      .scratch = tort_alloc_aligned(&env, scratch_bytes),
                      .env = &env,
                      .text = tort_text_new(&env),
                      .error = &error};
    cr_assert(!op->reference(&call), "%s: %s", text, error.msg);
    for (int32_t i = 0; i < c->output_count; i++)
        if (tort_present(&outputs[i])) operator_case_compare(text, &outputs[i], &c->outputs[i]);
    tort_free_aligned(&env, call.scratch, scratch_bytes);
    tort_text_free(call.text);
}

/* An alias has no loop; a Constant that is a weight of the model is never run. */
static bool has_loop(const tort_node *node) {
    for (int32_t i = 0; i < node->attribute_count; i++)
        if (node->attributes[i].kind == TORT_ATTR_TENSOR && node->op->flags & TORT_OP_CONSTANT) return false;
    return node->op->reference != NULL;
}

static void check_moved(const char *text, const operator_case *c) {
    resolved r;
    resolve_case(&r, c, 0, text);
    const tort_op *op = has_loop(r.node) ? r.node->op : NULL;
    uint8_t *moved = malloc(r.params_bytes + 1);
    cr_assert(moved);
    memcpy(moved, r.params, r.params_bytes);
    free_resolved(&r);
    if (op) run_loop(c, op, moved, r.scratch_bytes, text);
    free(moved);
}

Test(params, can_be_moved_and_outlive_the_model) {
    each_case(check_moved);
}

static bool has_case(const tort_op *row) {
    static operator_case c;
    if (!strcmp(row->name, "Call")) return true; /* an If without a choice */
    for (int32_t i = 0; i < WITH_BODIES; i++)
        if (!strcmp(with_bodies[i], row->name)) return true;
    for (const char *const *const *table = operator_tables; *table; table++)
        for (const char *const *text = *table; *text; text++) {
            operator_case_read(*text, &c);
            if (!strcmp(c.name, row->name) && !strcmp(c.domain, row->domain)) return true;
        }
    return false;
}

/* Operators over values have theirs in value_operators.c. A case has no bodies, and operators that have some have no
 * loop to run with moved params: those of control flow are the backend cases. */
Test(params, every_operator_with_params_has_a_case) {
    for (const tort_op *const *family = tort_build.families; *family; family++)
        for (const tort_op *row = *family; row->name; row++)
            if (row->resolve && !(row->flags & TORT_OP_VALUES)) cr_expect(has_case(row), "%s has no case", row->name);
}
