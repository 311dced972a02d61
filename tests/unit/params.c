/* params.c - params are plain data: equal nodes have equal bytes, wherever their models lie in memory, and the bytes
 * mean the same at another address and when the model is gone. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/infer.h"
#include "runtime/text.h"
#include "tests/unit/operator_case.h"

enum { MOST_VALUES = 2 * MOST_TENSORS, DIRTY_STACK = 16384 };

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

static void resolve_node(resolved *r, const operator_case *c, int stack, const char *text) {
    const tort_graph *graph = &r->model->graphs[0];
    tort_info infos[MOST_VALUES];
    tort_error error = {0};
    tort_pass pass;
    cr_assert_leq(graph->value_count, MOST_VALUES);
    for (int32_t i = 0; i < graph->value_count; i++) infos[i] = graph->values[i].info;
    for (int32_t i = 0; i < r->node->input_count; i++)
        if (r->node->inputs[i] >= 0 && r->node->op->shape_inputs >> i & 1)
            infos[r->node->inputs[i]].data = c->inputs[i].tensor.data;
    cr_assert(!tort_pass_init(&pass, r->model, graph, infos, &r->model->dims, &r->model->arena, &error));
    cr_assert(!tort_pass_infer(&pass, 0, &error), "%s: %s", text, error.msg);
    const tort_node_view view = tort_pass_view(&pass, 0);
    dirty_stack(stack);
    cr_assert(!tort_resolve_node(&view, r->params, &r->scratch_bytes, &error), "%s: %s", text, error.msg);
    tort_pass_free(&pass);
}

static void resolve_case(resolved *r, const operator_case *c, int stack, const char *text) {
    tort_error error = {0};
    *r = (resolved){.model = NULL};
    operator_case_write(&r->file, c, LIVE);
    cr_assert(!tort_model_load_buffer(&spoiling_env, r->file.data, r->file.size, NULL, &r->model, &error), "%s: %s",
              text, error.msg);
    r->node = &r->model->graphs[0].nodes[0];
    r->params_bytes = tort_params_bytes(r->node);
    r->params = calloc(1, r->params_bytes + 1);
    cr_assert(r->params);
    resolve_node(r, c, stack, text);
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

static void check_equal(const char *text, const operator_case *c) {
    resolved a, b;
    resolve_case(&a, c, 0x55, text);
    resolve_case(&b, c, 0xAA, text);
    cr_assert_eq(a.params_bytes, b.params_bytes);
    for (size_t i = 0; i < a.params_bytes; i++)
        if (a.params[i] != b.params[i]) {
            cr_expect(false, "byte %zu of %zu differs in the params of %s", i, a.params_bytes, text);
            break;
        }
    free_resolved(&a);
    free_resolved(&b);
}

Test(params, equal_nodes_have_equal_bytes) {
    each_case(check_equal);
}

/* Runs the plain loop with the params alone. */
static void run_loop(const operator_case *c, const tort_op *op, const void *params, size_t scratch_bytes,
                     const char *text) {
    static case_tensor made[MOST_TENSORS];
    tort_tensor inputs[MOST_TENSORS], outputs[MOST_TENSORS];
    tort_error error = {0};
    for (int32_t i = 0; i < c->input_count; i++) inputs[i] = c->inputs[i].tensor;
    for (int32_t i = 0; i < c->output_count; i++) {
        memset(made[i].data, 0, sizeof made[i].data);
        outputs[i] = c->outputs[i].tensor;
        outputs[i].data = made[i].data;
    }
    const tort_env env = tort_env_complete(&spoiling_env);
    tort_call call = {.params = params,
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

static bool has_case(const char *name) {
    static operator_case c;
    for (const char *const *const *table = operator_tables; *table; table++)
        for (const char *const *text = *table; *text; text++) {
            operator_case_read(*text, &c);
            if (!strcmp(c.name, name)) return true;
        }
    return false;
}

/* Operators over values have theirs in value_operators.c. A case has no bodies, and operators that have some have no
 * loop to run with moved params: those of control flow are the backend cases. */
Test(params, every_operator_with_params_has_a_case) {
    for (const tort_op *const *family = tort_op_families; *family; family++)
        for (const tort_op *row = *family; row->name; row++)
            if (row->resolve && !*row->domain && !(row->flags & (TORT_OP_VALUES | TORT_OP_CONTROL)))
                cr_expect(has_case(row->name), "%s has no case", row->name);
}
