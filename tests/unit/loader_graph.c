/* Tests of loader/graph.c and attributes.c: order and names of nodes, what exporters write, the words of refusals. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/report_of.h"
#include "tests/unit/loading.h"

Test(loader_graph, header_and_sample) {
    onnx_bytes b = {0};
    onnx_sample_model(&b);
    tort_model *model = load_model(&b);
    cr_assert_eq(model->ir_version, 10);
    cr_assert_str_eq(model->producer, "tests");
    cr_assert_eq(model->metadata_count, 1);
    cr_assert_str_eq(model->metadata[0].value, "value");
    cr_assert_eq(model->opset_count, 2);
    cr_assert_eq(tort_model_input_count(model), 3);
    tort_port batch = input_of(model, 2);
    cr_assert_eq(batch.dims[0], -1);
    cr_assert_str_eq(batch.dim_names[0], "N");
    cr_assert_eq(model->graph_count, 3);
    cr_assert_str_eq(model->graphs[1].path, "If_1/then_branch");
    free_model(model, &b);
}

Test(loader_graph, nodes_may_come_in_any_order) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_node(&b, "Neg", "second", "m", "y");
    onnx_node(&b, "Abs", "first", "x", "m");
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    tort_model *model = load_model(&b);
    cr_assert_str_eq(model->graphs[0].nodes[0].name, "first");
    cr_assert_eq(model->graphs[0].nodes[1].file_index, 0);
    free_model(model, &b);
}

Test(loader_graph, what_exporters_write) {
    onnx_bytes b = {0};
    const float w[] = {1, 2, 3};
    onnx_opset(&b, MODEL_OPSET, "ai.onnx.ml", 3); /* imported, not used */
    onnx_opset(&b, MODEL_OPSET, "com.microsoft.nchwc", 1);
    onnx_begin_model(&b, 17);
    onnx_tensor(&b, GRAPH_INITIALIZER, "w: 1/2 .x", TORT_FLOAT, 1, three, w, sizeof w);
    onnx_value(&b, GRAPH_INPUT, "w: 1/2 .x", TORT_FLOAT, 1, three); /* old files list initializers as inputs */
    onnx_begin_node(&b, GRAPH_NODE, "Add", "same", "x", "m");
    onnx_text(&b, NODE_INPUT, "w: 1/2 .x");
    onnx_text(&b, NODE_DOMAIN, "ai.onnx");
    onnx_end(&b);
    onnx_node(&b, "Clip", "same", "m - -", "c"); /* a duplicate name; absent optional inputs */
    onnx_node(&b, "Clip", "", "c - w0", "y");
    onnx_tensor(&b, GRAPH_INITIALIZER, "w0", TORT_FLOAT, 0, NULL, w, 4);
    onnx_value(&b, GRAPH_VALUE_INFO, "nobody", TORT_FLOAT, 1, three);
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    tort_model *model = load_model(&b);
    const tort_node *nodes = model->graphs[0].nodes;
    cr_assert_eq(model->opset_count, 3);
    cr_assert_str_eq(nodes[0].domain, "");
    cr_assert_eq(nodes[0].opset, 17);
    cr_assert_str_eq(nodes[1].name, "same#2");
    cr_assert_str_eq(nodes[2].name, "Clip_2");
    cr_assert_eq(nodes[2].inputs[1], -1);
    cr_assert_eq(tort_model_input_count(model), 1);
    free_model(model, &b);
}

Test(loader_graph, a_refusal_names_the_node_and_the_input) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_node(&b, "Abs", "first", "x", "m");
    onnx_node(&b, "Neg", "conv1", "nowhere", "y");
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "node 1 \"conv1\" (Neg)", "input 0", "\"nowhere\"");
}

/* A model up to a node "s" that is begun. */
static void begin_softmax(onnx_bytes *b) {
    onnx_begin_model(b, 17);
    onnx_begin_node(b, GRAPH_NODE, "Softmax", "s", "x", "y");
}

static void end_softmax(onnx_bytes *b) {
    onnx_end(b);
    input_and_output(b, "x", "y");
    onnx_end(b);
}

Test(loader_graph, a_refusal_names_the_attribute) {
    onnx_bytes b = {0};
    begin_softmax(&b);
    onnx_begin_attribute(&b, "axis", 1);
    onnx_int(&b, ATTR_I, 3); /* says float, holds int */
    onnx_end(&b);
    end_softmax(&b);
    REFUSE(&b, TORT_E_MODEL, "node 0 \"s\" (Softmax)", "attribute \"axis\"", "float", "int");

    begin_softmax(&b);
    onnx_int_attribute(&b, "axis", 0);
    onnx_int_attribute(&b, "axis", 0);
    end_softmax(&b);
    REFUSE(&b, TORT_E_MODEL, "attribute \"axis\"", "twice");

    begin_softmax(&b);
    onnx_begin_attribute(&b, "axis", 2);
    onnx_text(&b, ATTR_REF, "alpha");
    onnx_end(&b);
    end_softmax(&b);
    REFUSE(&b, TORT_E_MODEL, "attribute \"axis\"", "outside a function");
}

Test(loader_graph, a_domain_that_is_not_imported_is_refused) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_begin_node(&b, GRAPH_NODE, "Foo", "", "x", "y");
    onnx_text(&b, NODE_DOMAIN, "com.example");
    onnx_end(&b);
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "com.example", "opset_import");
}

Test(loader_graph, a_refusal_names_the_port) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "output 0 \"y\"");

    onnx_begin_model(&b, 17);
    onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 9, (const int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1});
    onnx_end(&b);
    REFUSE(&b, TORT_E_UNSUPPORTED, "input 0 \"x\"", "rank 9");
}

/* An operator that takes a list takes one at least: there would be no type of what it gives. */
Test(loader_graph, a_list_of_inputs_is_not_empty) {
    static const char *const ops[] = {"Sum", "Mean", "Min", "Max", "Concat", "Einsum"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        for (int absent = 0; absent < 2; absent++) {
            onnx_bytes b = {0};
            onnx_begin_model(&b, 17);
            onnx_begin_node(&b, GRAPH_NODE, ops[i], "", absent ? "-" : "", "y");
            if (i == 4) onnx_int_attribute(&b, "axis", 0);
            if (i == 5) {
                onnx_begin_attribute(&b, "equation", 3);
                onnx_text(&b, ATTR_S, "a->a");
                onnx_end(&b);
            }
            onnx_end(&b);
            input_and_output(&b, "x", "y");
            onnx_end(&b);
            REFUSE(&b, TORT_E_MODEL, ops[i], absent ? "number 0 is missing" : "expected one or more");
        }
    }
}

Test(loader_graph, names_must_be_unique) {
    onnx_bytes b = {0};
    const float w[] = {1, 2, 3};
    onnx_begin_model(&b, 17);
    onnx_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, three, w, sizeof w);
    onnx_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, three, w, sizeof w);
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "initializer 1 \"w\"", "two of this name");

    onnx_begin_model(&b, 17);
    onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 1, three);
    onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 1, three);
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "input 1 \"x\"", "two of this name");

    onnx_begin_model(&b, 17);
    onnx_node(&b, "Abs", "one", "x", "y");
    onnx_node(&b, "Neg", "two", "x", "y");
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "two", "\"y\"", "already");
}

Test(loader_graph, cycles_are_refused) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_node(&b, "Add", "a", "x n", "m");
    onnx_node(&b, "Neg", "b", "m", "n");
    input_and_output(&b, "x", "n");
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "cycle");
}

Test(loader_graph, newer_files_are_refused_in_one_message) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 99);
    onnx_node(&b, "Abs", "", "x", "m");
    onnx_node(&b, "Abs", "", "m", "y");
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    tort_load_options options = {.struct_size = sizeof options, .assume_opset = 22};
    tort_model *model;
    cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, &options, &model, NULL), TORT_OK);
    cr_assert_eq(model->graphs[0].nodes[0].opset, 22);
    tort_model_free(model);
    REFUSE(&b, TORT_E_MODEL, "99", "28", "--assume-opset");

    onnx_int(&b, MODEL_IR, 99);
    onnx_begin(&b, MODEL_GRAPH);
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "ir_version is 99");
}

/* One dimension, of a text or (NULL) a number. */
static void put_dimension(onnx_bytes *b, const char *text, int64_t number) {
    onnx_begin(b, 1);
    if (text)
        onnx_text(b, 2, text);
    else
        onnx_int(b, 1, number);
    onnx_end(b);
}

Test(loader_graph, dimensions_that_exporters_write) {
    onnx_bytes b = {0};
    static const char *const texts[] = {"N", "((batch*seq)//batch)", "?", ""};
    onnx_begin_model(&b, 17);
    onnx_begin(&b, GRAPH_INPUT);
    onnx_text(&b, 1, "x");
    onnx_begin(&b, 2);
    onnx_begin(&b, 1);
    onnx_int(&b, 1, TORT_FLOAT);
    onnx_begin(&b, 2);
    for (int i = 0; i < 4; i++) put_dimension(&b, texts[i], 0);
    for (int64_t value = -1; value <= 0; value++) put_dimension(&b, NULL, value);
    onnx_blob(&b, 1, "", 0); /* neither */
    for (int i = 0; i < 5; i++) onnx_end(&b);
    tort_model *model = load_model(&b);
    tort_port x = input_of(model, 0);
    cr_assert_eq(x.rank, 7);
    cr_assert_str_eq(x.dim_names[0], "N");
    cr_assert_str_eq(x.dim_names[1], texts[1]);
    for (int i = 2; i <= 6; i++) {
        cr_assert_str_eq(x.dim_names[i], "");
        cr_assert_eq(x.dims[i], i == 5 ? 0 : -1);
    }
    free_model(model, &b);
}

Test(loader_graph, a_hundred_thousand_constants_load_in_linear_time) {
    onnx_bytes b = {0};
    enum { COUNT = 100000 };
    onnx_begin_model(&b, 17);
    for (int i = 0; i < COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "constant_%d", i);
        onnx_begin_node(&b, GRAPH_NODE, "Constant", "", "", name);
        onnx_begin_attribute(&b, "value", 4);
        onnx_tensor(&b, ATTR_T, "", TORT_FLOAT, 0, NULL, "\0\0\0\0", 4);
        onnx_end(&b);
        onnx_end(&b);
    }
    onnx_value(&b, GRAPH_OUTPUT, "constant_7", TORT_FLOAT, 0, NULL);
    onnx_end(&b);
    tort_model *model = load_model(&b);
    cr_assert_eq(model->graphs[0].node_count, COUNT);
    cr_assert_eq(model->weight_count, COUNT);
    free_model(model, &b);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Names that the core makes never take away, or repeat, one that the file has. */
Test(loader_graph, every_node_has_a_name_of_its_own) {
    static const char *const given[] = {"", "Neg_0", "twin", "twin", "twin#2", "twin", "Neg_0#2", "", "Neg_7", ""};
    static const char *const named[] = {"Neg_0#3", "Neg_0",   "twin",    "twin#3", "twin#2",
                                        "twin#4",  "Neg_0#2", "Neg_7#2", "Neg_7",  "Neg_9"};
    enum { COUNT = sizeof given / sizeof *given };
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 1, three);
    for (int i = 0; i < COUNT; i++) {
        char out[16];
        snprintf(out, sizeof out, "y%d", i);
        onnx_node(&b, "Neg", given[i], "x", out);
    }
    onnx_value(&b, GRAPH_OUTPUT, "y0", TORT_FLOAT, 1, three);
    onnx_end(&b);
    tort_model *model = load_model(&b);
    for (int i = 0; i < COUNT; i++) cr_assert_str_eq(model->graphs[0].nodes[i].name, named[i]);
    free_model(model, &b);
}

/* ---- what exporters leave out ------------------------------------------------------------------------------------ */

enum { NO_TYPE, EMPTY_TYPE, EMPTY_TENSOR_TYPE, UNDEFINED_ELEMENTS, UNDEFINED_SPARSE, WAYS };

/* A value whose type says nothing, in one of the ways in which that is written. */
static void untyped_value(onnx_bytes *b, int field, const char *name, int way) {
    onnx_begin(b, field);
    onnx_text(b, 1, name);
    if (way != NO_TYPE) onnx_begin(b, 2);
    if (way >= EMPTY_TENSOR_TYPE) onnx_begin(b, way == UNDEFINED_SPARSE ? 8 : 1);
    if (way >= UNDEFINED_ELEMENTS) onnx_int(b, 1, 0);
    if (way >= EMPTY_TENSOR_TYPE) onnx_end(b);
    if (way != NO_TYPE) onnx_end(b);
    onnx_end(b);
}

Test(loader_graph, bodies_and_outputs_without_types) {
    for (int way = 0; way < WAYS; way++) {
        onnx_bytes b = {0};
        onnx_begin_model(&b, 17);
        onnx_value(&b, GRAPH_INPUT, "n", TORT_INT64, 0, NULL);
        onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 1, three);
        onnx_begin_node(&b, GRAPH_NODE, "Loop", "loop", "n - x", "y");
        onnx_begin_body(&b, "body");
        untyped_value(&b, GRAPH_INPUT, "i", way);
        untyped_value(&b, GRAPH_INPUT, "again", way);
        untyped_value(&b, GRAPH_INPUT, "a", way);
        onnx_node(&b, "Neg", "", "a", "m");
        onnx_node(&b, "Neg", "", "m", "out");
        untyped_value(&b, GRAPH_VALUE_INFO, "m", way);
        untyped_value(&b, GRAPH_OUTPUT, "again", way);
        untyped_value(&b, GRAPH_OUTPUT, "out", way);
        for (int i = 0; i < 3; i++) onnx_end(&b);
        onnx_node(&b, "Neg", "neg", "x", "z");
        untyped_value(&b, GRAPH_OUTPUT, "y", way);
        untyped_value(&b, GRAPH_OUTPUT, "z", way);
        onnx_end(&b);
        tort_model *model = load_model(&b);
        const tort_graph *body = &model->graphs[1];
        cr_assert_eq(body->values[body->outputs[1]].info.type, TORT_UNDEFINED);
        tort_port z = output_of(model, 1);
        cr_assert(z.type == TORT_FLOAT && z.rank == 1 && z.dims[0] == 3); /* inferred */
        free_model(model, &b);
    }
}

/* Only what a caller must give has to have a type, and no initializer stands in for it. */
Test(loader_graph, an_input_without_a_type_is_refused) {
    const float w[] = {1, 2, 3};
    for (int way = 0; way < WAYS; way++) {
        onnx_bytes b = {0};
        onnx_begin_model(&b, 17);
        untyped_value(&b, GRAPH_INPUT, "x", way);
        onnx_end(&b);
        REFUSE(&b, TORT_E_MODEL, "input 0 \"x\"", "it has no type");
        onnx_begin_model(&b, 17);
        onnx_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, three, w, sizeof w);
        untyped_value(&b, GRAPH_INPUT, "w", way);
        onnx_node(&b, "Neg", "", "w", "y");
        onnx_value(&b, GRAPH_OUTPUT, "y", TORT_FLOAT, 1, three);
        onnx_end(&b);
        free_model(load_model(&b), &b);
    }
}

/* None of these can change what the model computes. */
Test(loader_graph, what_nothing_can_refer_to_is_passed_over) {
    const float w[] = {1, 2, 3};
    onnx_bytes b = {0};
    onnx_opset(&b, MODEL_OPSET, "com.example", 0); /* a domain of no node */
    onnx_opset(&b, MODEL_OPSET, "com.example.other", -1);
    onnx_begin(&b, MODEL_FUNCTION);
    onnx_text(&b, FUNCTION_NAME, "F");
    onnx_text(&b, FUNCTION_INPUT, "a");
    onnx_text(&b, FUNCTION_OUTPUT, "b");
    onnx_begin_node(&b, FUNCTION_NODE, "Neg", "", "a", "b");
    onnx_end(&b);
    onnx_end(&b);
    onnx_begin_model(&b, 17);
    onnx_tensor(&b, GRAPH_INITIALIZER, "", TORT_FLOAT, 1, three, w, sizeof w); /* a weight without a name */
    onnx_begin_node(&b, GRAPH_NODE, "F", "", "x", "y");
    onnx_int_attribute(&b, "note", 1); /* which the function does not declare */
    onnx_end(&b);
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    tort_model *model = load_model(&b);
    cr_assert_eq(model->opset_count, 1);
    cr_assert_eq(tort_model_opset(model, "com.example"), 0);
    cr_assert_eq(model->graphs[0].node_count, 1);
    free_model(model, &b);
    onnx_opset(&b, MODEL_OPSET, "", 0);
    onnx_begin_model(&b, 17);
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "opset_import 0", "main domain has version 0");
}

/* ---- what an application may ask --------------------------------------------------------------------------------- */

Test(loader_graph, what_a_model_says_of_itself) {
    onnx_bytes b = {0};
    onnx_sample_model(&b);
    onnx_text(&b, 3, "1.2");
    tort_model *model = load_model(&b);
    cr_assert_eq(tort_model_ir_version(model), 10);
    cr_assert_str_eq(tort_model_producer(model), "tests");
    cr_assert_str_eq(tort_model_producer_version(model), "1.2");
    cr_assert_str_eq(tort_model_graph_name(model), "test");
    cr_assert_eq(tort_model_opset(model, NULL), 17);
    cr_assert_eq(tort_model_opset(model, ""), 17);
    cr_assert_eq(tort_model_opset(model, "ai.onnx"), 17);
    cr_assert_eq(tort_model_opset(model, "local"), 1);
    cr_assert_eq(tort_model_opset(model, "com.example"), 0);
    cr_assert_geq(tort_model_opset_count(model), 2);
    for (int32_t i = 0; i < tort_model_opset_count(model); i++)
        cr_assert_gt(tort_model_opset(model, tort_model_opset_domain(model, i)), 0);
    cr_assert_str_eq(tort_model_opset_domain(model, 0), "local");
    cr_assert_null(tort_model_opset_domain(model, -1));
    cr_assert_null(tort_model_opset_domain(model, tort_model_opset_count(model)));
    cr_assert_eq(tort_model_metadata_count(model), 1);
    cr_assert_str_eq(tort_model_metadata(model, 0).key, "key");
    cr_assert_str_eq(tort_model_metadata(model, 0).value, "value");
    for (int32_t wrong = -1; wrong < 2; wrong += 2) {
        cr_assert_str_eq(tort_model_metadata(model, wrong).key, "");
        cr_assert_str_eq(tort_model_metadata(model, wrong).value, "");
    }
    free_model(model, &b);
}

Test(loader_graph, a_port_that_is_not_there_is_empty) {
    static const int32_t wrong[] = {-1, 3, 99, INT32_MAX, INT32_MIN};
    onnx_bytes b = {0};
    onnx_sample_model(&b);
    tort_model *model = load_model(&b);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const tort_port ports[] = {input_of(model, wrong[i]), output_of(model, wrong[i])};
        tort_port port = {.struct_size = sizeof port};
        tort_error error;
        cr_assert_eq(tort_model_input(model, wrong[i], &port, &error), TORT_E_USAGE);
        cr_assert(strstr(error.msg, "there is no input "), "%s", error.msg);
        for (int k = 0; k < 2; k++) {
            cr_assert_str_eq(ports[k].name, "");
            cr_assert_eq(ports[k].type, TORT_UNDEFINED);
            cr_assert_eq(ports[k].rank, -1);
            for (int d = 0; d < TORT_MAX_RANK; d++) cr_assert_str_eq(ports[k].dim_names[d], "");
        }
    }
    free_model(model, &b);
}

Test(loader_graph, ports_are_found_by_name) {
    onnx_bytes b = {0};
    onnx_sample_model(&b);
    tort_model *model = load_model(&b);
    for (int32_t i = 0; i < tort_model_input_count(model); i++)
        cr_assert_eq(tort_model_input_index(model, input_of(model, i).name), i);
    for (int32_t i = 0; i < tort_model_output_count(model); i++)
        cr_assert_eq(tort_model_output_index(model, output_of(model, i).name), i);
    cr_assert_eq(tort_model_input_index(model, output_of(model, 0).name), -1);
    cr_assert_eq(tort_model_output_index(model, "none"), -1);
    free_model(model, &b);
}
