/* Tests of loader/types.c: declared types that are composed, and those that say nothing, too much or what ONNX has not.
 */
#include <criterion/criterion.h>

#include "runtime/core/graph/value.h"
#include "tests/report_of.h"
#include "tests/unit/loading.h"

/* Fields of TypeProto, and of what it holds. */
enum { TYPE_TENSOR = 1, TYPE_SEQUENCE = 4, TYPE_MAP = 5, TYPE_OPAQUE = 7, TYPE_SPARSE = 8, TYPE_OPTIONAL = 9 };
enum { ELEMENT_TYPE = 1, MAP_KEY = 1, MAP_VALUE = 2 };

/* Input "x" is open in its type; end_input ends it, with the levels that are open in it. */
static void begin_input(onnx_bytes *b) {
    onnx_begin_model(b, 17);
    onnx_begin(b, GRAPH_INPUT);
    onnx_text(b, 1, "x");
    onnx_begin(b, 2);
}

static void end_input(onnx_bytes *b, int levels) {
    for (int i = 0; i < levels + 3; i++) onnx_end(b);
}

/* What `wrapper` holds is open; two levels. The type is to be written. */
static void begin_wrapper(onnx_bytes *b, int wrapper) {
    onnx_begin(b, wrapper);
    if (wrapper == TYPE_MAP) onnx_int(b, MAP_KEY, TORT_INT64);
    onnx_begin(b, wrapper == TYPE_MAP ? MAP_VALUE : ELEMENT_TYPE);
}

static void tensor_type(onnx_bytes *b, int kind, int64_t type) {
    onnx_begin(b, kind);
    onnx_int(b, ELEMENT_TYPE, type);
    onnx_end(b);
}

Test(loader_types, what_a_type_holds_is_missing) {
    static const int wrappers[] = {TYPE_SEQUENCE, TYPE_OPTIONAL, TYPE_MAP};
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
        onnx_bytes b = {0};
        begin_input(&b);
        onnx_begin(&b, wrappers[i]);
        if (wrappers[i] == TYPE_MAP) onnx_int(&b, MAP_KEY, TORT_INT64);
        end_input(&b, 1);
        REFUSE(&b, TORT_E_MODEL, "input 0 \"x\"", "a composite type does not say what it holds");
        begin_input(&b);
        begin_wrapper(&b, wrappers[i]);
        end_input(&b, 2);
        REFUSE(&b, TORT_E_MODEL, "input 0 \"x\"", "a type that says nothing");
        begin_input(&b);
        begin_wrapper(&b, wrappers[i]);
        tensor_type(&b, TYPE_TENSOR, 0);
        end_input(&b, 2);
        REFUSE(&b, TORT_E_MODEL, "input 0 \"x\"", "element type 0 is not one of ONNX's");
    }
}

Test(loader_types, numbers_that_are_no_types) {
    static const int64_t numbers[] = {-1, TORT_TYPE_COUNT, INT32_MAX};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        onnx_bytes b = {0};
        begin_input(&b);
        tensor_type(&b, TYPE_TENSOR, numbers[i]);
        end_input(&b, 0);
        REFUSE(&b, TORT_E_MODEL, "input 0 \"x\"", "is not one of ONNX's (1 to ");
        begin_input(&b);
        onnx_begin(&b, TYPE_MAP);
        onnx_int(&b, MAP_KEY, numbers[i]);
        end_input(&b, 1);
        REFUSE(&b, TORT_E_MODEL, "input 0 \"x\"", "is not one of ONNX's (1 to ");
    }
}

Test(loader_types, what_tinyort_does_not_handle) {
    onnx_bytes b = {0};
    begin_input(&b);
    onnx_begin(&b, TYPE_OPAQUE);
    end_input(&b, 1);
    REFUSE(&b, TORT_E_UNSUPPORTED, "input 0 \"x\"", "an opaque type");
    begin_input(&b);
    begin_wrapper(&b, TYPE_SEQUENCE);
    tensor_type(&b, TYPE_SPARSE, TORT_FLOAT);
    end_input(&b, 2);
    REFUSE(&b, TORT_E_UNSUPPORTED, "input 0 \"x\"", "or of sparse tensors");
}

/* Of what the model says of its ports: it loads, and no provider takes its nodes. */
Test(loader_types, composed_types_and_sparse_tensors) {
    onnx_bytes b = {0};
    begin_input(&b);
    begin_wrapper(&b, TYPE_OPTIONAL);
    begin_wrapper(&b, TYPE_MAP);
    tensor_type(&b, TYPE_TENSOR, TORT_FLOAT);
    for (int i = 0; i < 6; i++) onnx_end(&b);
    onnx_begin(&b, GRAPH_INPUT);
    onnx_text(&b, 1, "sparse");
    onnx_begin(&b, 2);
    tensor_type(&b, TYPE_SPARSE, TORT_FLOAT);
    end_input(&b, 0);
    tort_model *model = load_model(&b);
    const tort_value_type floats = tort_tensor_type(TORT_FLOAT);
    const tort_value_type expected = tort_optional_type(tort_map_type(TORT_INT64, floats));
    const tort_port port = input_of(model, 0);
    cr_assert_eq(port.value_type.nest, expected.nest);
    cr_assert_eq(port.value_type.type, expected.type);
    cr_assert_eq(model->graphs[0].values[1].info.kind, TORT_SPARSE);
    free_model(model, &b);
}

/* A sparse tensor of nothing says that it is sparse, which is enough to be refused where it is read. */
Test(loader_types, a_sparse_tensor_without_elements) {
    onnx_bytes b = {0};
    begin_input(&b);
    onnx_begin(&b, TYPE_SPARSE);
    end_input(&b, 1);
    REFUSE(&b, TORT_E_MODEL, "input 0 \"x\"", "it has no type");
}

/* The types of what a node makes, in a list that may name anything. */
Test(loader_types, declared_values) {
    const float w[] = {1, 2, 3};
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, three, w, sizeof w);
    input_and_output(&b, "x", "y");
    onnx_node(&b, "Add", "add", "x w", "s");
    onnx_node(&b, "Neg", "neg", "s", "y");
    static const char *const names[] = {"x", "y", "w", "s", "no value of the graph"};
    for (int i = 0; i < 5; i++) onnx_value(&b, GRAPH_VALUE_INFO, names[i], TORT_FLOAT, 1, three);
    onnx_end(&b);
    free_model(load_model(&b), &b);
}

/* A file of before IR version 3 imports nothing: its operators are those of version 1. */
Test(loader_types, a_file_without_imports) {
    onnx_bytes b = {0};
    onnx_int(&b, MODEL_IR, 2);
    onnx_begin(&b, MODEL_GRAPH);
    input_and_output(&b, "x", "y");
    onnx_node(&b, "Neg", "neg", "x", "y");
    onnx_end(&b);
    tort_model *model = load_model(&b);
    cr_assert_eq(node_named(model, "neg")->opset, 1);
    free_model(model, &b);
    onnx_opset(&b, MODEL_OPSET, "", (int64_t)INT32_MAX + 1);
    onnx_begin_model(&b, 17);
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "the main domain has version 2147483648");
}
