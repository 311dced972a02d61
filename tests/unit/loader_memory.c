/* Memory that runs out while a model is loaded, wherever that is: nothing is left, and the error says so.
 *
 * Most of what the loader allocates lies in arenas, which ask the allocator for a chunk now and then. A text of growing
 * length in front moves the places where a chunk ends, until each allocation was the one that needed a new chunk. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/core/base/memory.h"
#include "tests/counting_env.h"
#include "tests/unit/loading.h"

/* ---- a model of what onnx_sample_model has not ------------------------------------------------------------------ */

enum { ATTR_TENSORS = 10, ATTR_GRAPHS = 11, ATTR_TYPE_PROTO = 14, ATTR_TYPE_PROTOS = 15, ATTR_SPARSES = 23 };
enum { KIND_FLOATS = 6, KIND_INTS, KIND_STRINGS, KIND_TENSORS, KIND_GRAPHS, KIND_SPARSE, KIND_SPARSES };
enum { KIND_TYPE_PROTO = 13, KIND_TYPE_PROTOS };

static const int64_t two[] = {2};

static void int_tensor(onnx_bytes *b, int field, const char *name) {
    const int64_t numbers[] = {0, 2};
    onnx_tensor(b, field, name, TORT_INT64, 1, two, numbers, sizeof numbers);
}

static void sparse_tensor(onnx_bytes *b, int field) {
    onnx_begin(b, field);
    int_tensor(b, 1, "");
    int_tensor(b, 2, "");
    onnx_int(b, 3, 3);
    onnx_end(b);
}

static void sequence_of_floats(onnx_bytes *b, int field) {
    onnx_begin(b, field);
    onnx_begin(b, 4); /* sequence of */
    onnx_begin(b, 1);
    onnx_begin(b, 1); /* tensors of */
    onnx_int(b, 1, TORT_FLOAT);
    for (int i = 0; i < 4; i++) onnx_end(b);
}

/* An operator that nobody knows, with attributes of every kind. */
static void node_of_all_attributes(onnx_bytes *b) {
    onnx_begin_node(b, GRAPH_NODE, "Everything", "everything", "x", "e");
    onnx_text(b, NODE_DOMAIN, "local");
    onnx_begin_attribute(b, "floats", KIND_FLOATS);
    onnx_blob(b, 7, "\0\0\0\0", 4);
    onnx_end(b);
    onnx_begin_attribute(b, "ints", KIND_INTS);
    onnx_int(b, ATTR_INTS, 7);
    onnx_end(b);
    onnx_begin_attribute(b, "strings", KIND_STRINGS);
    onnx_text(b, ATTR_STRINGS, "a text");
    onnx_end(b);
    onnx_begin_attribute(b, "tensors", KIND_TENSORS);
    int_tensor(b, ATTR_TENSORS, "");
    onnx_end(b);
    onnx_begin_attribute(b, "sparse", KIND_SPARSE);
    sparse_tensor(b, ATTR_SPARSE);
    onnx_end(b);
    onnx_begin_attribute(b, "sparses", KIND_SPARSES);
    sparse_tensor(b, ATTR_SPARSES);
    onnx_end(b);
    onnx_begin_attribute(b, "type", KIND_TYPE_PROTO);
    sequence_of_floats(b, ATTR_TYPE_PROTO);
    onnx_end(b);
    onnx_begin_attribute(b, "types", KIND_TYPE_PROTOS);
    sequence_of_floats(b, ATTR_TYPE_PROTOS);
    onnx_end(b);
    onnx_begin_attribute(b, "graphs", KIND_GRAPHS);
    onnx_begin(b, ATTR_GRAPHS);
    onnx_text(b, GRAPH_NAME, "body");
    onnx_node(b, "Neg", "", "w", "n");
    onnx_value(b, GRAPH_OUTPUT, "n", TORT_FLOAT, 1, three);
    onnx_end(b);
    onnx_begin(b, ATTR_GRAPHS);
    onnx_node(b, "Neg", "", "x", "m");
    onnx_value(b, GRAPH_OUTPUT, "m", TORT_FLOAT, 1, three);
    onnx_end(b);
    onnx_end(b);
    onnx_end(b);
}

/* outer(a; k) -> a, b, c: its input, a call of inner, and an If that captures. */
static void functions(onnx_bytes *b) {
    onnx_begin(b, MODEL_FUNCTION);
    onnx_text(b, FUNCTION_NAME, "outer");
    onnx_text(b, FUNCTION_DOMAIN, "local");
    onnx_text(b, 13, "overloaded");
    onnx_text(b, FUNCTION_INPUT, "a");
    onnx_text(b, FUNCTION_INPUT, "absent");
    for (int i = 0; i < 3; i++) onnx_text(b, FUNCTION_OUTPUT, i == 0 ? "a" : i == 1 ? "b" : "c");
    onnx_text(b, FUNCTION_ATTRIBUTE, "k");
    onnx_text(b, FUNCTION_ATTRIBUTE, "not given");
    onnx_opset(b, FUNCTION_OPSET, "", 17);
    onnx_opset(b, FUNCTION_OPSET, "local", 1);
    onnx_begin_node(b, FUNCTION_NODE, "inner", "", "a", "b");
    onnx_text(b, NODE_DOMAIN, "local");
    onnx_begin_attribute(b, "axis", 2);
    onnx_text(b, ATTR_REF, "k");
    onnx_end(b);
    onnx_end(b);
    onnx_begin_node(b, FUNCTION_NODE, "If", "if", "choice", "c");
    for (int i = 0; i < 2; i++) {
        onnx_begin_body(b, i ? "else_branch" : "then_branch");
        onnx_node(b, "Add", "", i ? "a b" : "b a", "sum");
        onnx_value(b, GRAPH_OUTPUT, "sum", TORT_FLOAT, 1, three);
        onnx_end_body(b);
    }
    onnx_end(b);
    onnx_begin_node(b, FUNCTION_NODE, "Size", "size", "a", "number");
    onnx_end(b);
    onnx_begin_node(b, FUNCTION_NODE, "Cast", "", "number", "choice");
    onnx_int_attribute(b, "to", TORT_BOOL);
    onnx_end(b);
    onnx_end(b);
    onnx_begin(b, MODEL_FUNCTION);
    onnx_text(b, FUNCTION_NAME, "inner");
    onnx_text(b, FUNCTION_DOMAIN, "local");
    onnx_text(b, FUNCTION_INPUT, "x");
    onnx_text(b, FUNCTION_OUTPUT, "y");
    onnx_text(b, FUNCTION_ATTRIBUTE, "axis");
    onnx_opset(b, FUNCTION_OPSET, "", 17);
    onnx_begin_node(b, FUNCTION_NODE, "Softmax", "", "x", "y");
    onnx_begin_attribute(b, "axis", 2);
    onnx_text(b, ATTR_REF, "axis");
    onnx_end(b);
    onnx_end(b);
    onnx_end(b);
}

/* Scores to which a graph adds a value that it captures. */
static void attention(onnx_bytes *b, const char *name, const char *output) {
    onnx_begin_node(b, GRAPH_NODE, "FlexAttention", name, "q q q", output);
    onnx_text(b, NODE_DOMAIN, "ai.onnx.preview");
    onnx_begin_attribute(b, "scale", 1);
    onnx_float(b, ATTR_F, 0.5f);
    onnx_end(b);
    for (int i = 0; i < 2; i++) {
        onnx_begin_body(b, i ? "prob_mod" : "score_mod");
        onnx_value(b, GRAPH_INPUT, "score", TORT_FLOAT, -1, NULL);
        onnx_node(b, "Add", "", "score bias", "modified");
        onnx_value(b, GRAPH_OUTPUT, "modified", TORT_FLOAT, -1, NULL);
        onnx_end_body(b);
    }
    onnx_end(b);
}

static void external_tensor(onnx_bytes *b, const char *name) {
    onnx_begin_tensor(b, GRAPH_INITIALIZER, name, TORT_FLOAT, 1, three);
    onnx_int(b, TENSOR_LOCATION, 1);
    onnx_begin(b, TENSOR_EXTERNAL);
    onnx_text(b, 1, "location");
    onnx_text(b, 2, name);
    onnx_end(b);
    onnx_end(b);
}

static void everything(onnx_bytes *b) {
    const int64_t heads[] = {1, 1, 3, 4}, open[] = {-1};
    functions(b);
    onnx_opset(b, MODEL_OPSET, "local", 1);
    onnx_opset(b, MODEL_OPSET, "ai.onnx.preview", 1);
    onnx_begin_model(b, 25);
    external_tensor(b, "w");
    external_tensor(b, "bias");
    onnx_begin_tensor(b, GRAPH_INITIALIZER, "in pieces", TORT_FLOAT, 1, three);
    for (int i = 0; i < 3; i++) onnx_float(b, TENSOR_FLOATS, (float)i);
    onnx_end(b);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 1, three);
    onnx_value(b, GRAPH_INPUT, "q", TORT_FLOAT, 4, heads);
    onnx_value(b, GRAPH_INPUT, "open", TORT_FLOAT, 1, open);
    onnx_begin_node(b, GRAPH_NODE, "outer", "call", "x", "same b c");
    onnx_text(b, NODE_DOMAIN, "local");
    onnx_text(b, 8, "overloaded");
    onnx_int_attribute(b, "k", 0);
    onnx_end(b);
    node_of_all_attributes(b);
    attention(b, "", "again");
    attention(b, "attend", "attended");
    onnx_value(b, GRAPH_VALUE_INFO, "b", TORT_FLOAT, 1, three);
    onnx_value(b, GRAPH_OUTPUT, "c", TORT_FLOAT, 1, three);
    onnx_value(b, GRAPH_OUTPUT, "same", TORT_FLOAT, 1, three);
    onnx_end(b);
}

/* ---- the tests -------------------------------------------------------------------------------------------------- */

static int give_nothing(void *ud, const char *location, uint64_t offset, uint64_t length, void *dst) {
    (void)ud, (void)location, (void)offset;
    memset(dst, 0, (size_t)length);
    return 0;
}

static tort_status load(tort_counting_env *counting, const onnx_bytes *b) {
    const tort_load_options options = {.struct_size = sizeof options, .external = give_nothing};
    tort_model *model = NULL;
    tort_error error = {0};
    tort_status status = tort_model_load_buffer(&counting->env, b->data, b->size, &options, &model, &error);
    cr_assert(!status || strstr(error.msg, "memory"), "%s", error.msg);
    cr_assert_eq(status != TORT_OK, model == NULL);
    tort_model_free(model);
    cr_assert_eq(counting->live_blocks, 0, "%lld blocks are left", (long long)counting->live_blocks);
    cr_assert_eq(counting->wrong_sizes, 0, "%lld wrong sizes", (long long)counting->wrong_sizes);
    return status;
}

/* Texts of so many bytes in all are the first that the model keeps, and the first in the scratch memory of the loader.
 * The second begins where the first chunk of an arena ends. */
static void write_behind(onnx_bytes *b, void (*write)(onnx_bytes *b), size_t size) {
    enum { FIRST = TORT_ARENA_FIRST - 96 };
    static char text[3 * TORT_ARENA_FIRST];
    memset(text, 'p', sizeof text);
    for (int second = 0; second < 2; second++) {
        const size_t length = second ? size - FIRST : size < FIRST ? size : FIRST;
        if (second && size <= FIRST) break;
        onnx_blob(b, second ? 3 : MODEL_PRODUCER, text, length);
        onnx_begin(b, MODEL_FUNCTION);
        onnx_blob(b, FUNCTION_NAME, text, length);
        onnx_text(b, FUNCTION_DOMAIN, second ? "second" : "first");
        onnx_end(b);
    }
    write(b);
}

/* Of at least so many bytes. */
static void fail_each_allocation(const onnx_bytes *b, size_t min_size) {
    tort_counting_env counting;
    tort_counting_env_init(&counting);
    counting.min_size = min_size;
    cr_assert_eq(load(&counting, b), TORT_OK);
    const int64_t allocations = counting.allocations;
    for (int64_t n = 1; n <= allocations; n++) {
        tort_counting_env_init(&counting);
        counting.min_size = min_size;
        counting.fail_at = n;
        cr_assert_eq(load(&counting, b), TORT_E_MEMORY, "allocation %lld of %zu bytes", (long long)n, b->size);
    }
}

/* The first and the second chunk of each arena end at every step of `write`'s first 8 KiB. */
static void fail_everywhere(void (*write)(onnx_bytes *b)) {
    for (size_t size = 1; size < 3 * TORT_ARENA_FIRST; size += 16) {
        onnx_bytes b = {0};
        write_behind(&b, write, size);
        fail_each_allocation(&b, size == 1 ? 0 : TORT_ARENA_FIRST);
        onnx_free(&b);
    }
}

Test(loader_memory, an_allocation_anywhere_in_the_sample_fails, .timeout = 300) {
    fail_everywhere(onnx_sample_model);
}

Test(loader_memory, an_allocation_anywhere_in_a_model_of_everything_fails, .timeout = 300) {
    fail_everywhere(everything);
}

/* Six calls of two nodes each fill the space for twelve nodes, so that the copy of the next asks for more; the domain
 * is longer than all that functions have asked for; a body that captures nothing gets what its sibling captures. */
static void what_grows(onnx_bytes *b) {
    char domain[600];
    memset(domain, 'd', sizeof domain - 1);
    domain[sizeof domain - 1] = 0;
    onnx_opset(b, MODEL_OPSET, domain, 1);
    onnx_opset(b, MODEL_OPSET, "local", 1);
    onnx_begin(b, MODEL_FUNCTION);
    onnx_text(b, FUNCTION_NAME, "same");
    onnx_text(b, FUNCTION_DOMAIN, "local");
    onnx_text(b, FUNCTION_INPUT, "x");
    onnx_text(b, FUNCTION_OUTPUT, "x");
    onnx_opset(b, FUNCTION_OPSET, "", 17);
    onnx_begin_node(b, FUNCTION_NODE, "Neg", "neg", "x", "y");
    onnx_end(b);
    onnx_end(b);
    onnx_begin(b, MODEL_METADATA);
    onnx_text(b, 1, domain);
    onnx_text(b, 2, domain);
    onnx_end(b);
    onnx_begin_model(b, 17);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 1, three);
    onnx_value(b, GRAPH_INPUT, "choice", TORT_BOOL, 0, NULL);
    for (char output[] = "a"; *output < 'j'; output[0]++) {
        onnx_begin_node(b, GRAPH_NODE, "same", "", "x", output);
        onnx_text(b, NODE_DOMAIN, "local");
        onnx_end(b);
    }
    onnx_begin_node(b, GRAPH_NODE, "If", "", "choice", "y");
    onnx_begin_body(b, "then_branch");
    onnx_begin_node(b, GRAPH_NODE, "Constant", "", "", "one");
    onnx_begin_attribute(b, "value_float", 1);
    onnx_float(b, ATTR_F, 1);
    onnx_end(b);
    onnx_end(b);
    onnx_value(b, GRAPH_OUTPUT, "one", TORT_FLOAT, 0, NULL);
    onnx_end_body(b);
    onnx_begin_body(b, "else_branch");
    onnx_node(b, "Neg", "", "x", "n");
    onnx_value(b, GRAPH_OUTPUT, "n", TORT_FLOAT, 1, three);
    onnx_end_body(b);
    onnx_end(b);
    onnx_begin_node(b, GRAPH_NODE, "Unknown", "", "x", "u");
    onnx_text(b, NODE_DOMAIN, domain);
    onnx_end(b);
    onnx_node(b, "Neg", "", "x", "v");
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, -1, NULL);
    onnx_end(b);
}

Test(loader_memory, an_allocation_fails_where_something_grows) {
    onnx_bytes b = {0};
    what_grows(&b);
    fail_each_allocation(&b, 0);
    onnx_free(&b);
}
