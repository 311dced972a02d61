/* What the pass before the parser (loader/wire.c) refuses beyond loader_bad.c, with the byte and the path of what is
 * wrong: text that is not UTF-8, messages that lack what they must have, fields that are the loader's own; and what .pb
 * files may cost. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/limits.h"
#include "runtime/cli/files/tensor_file.h"
#include "runtime/cli/files/value_file.h"
#include "runtime/core/base/utf8.h"
#include "tests/counting_env.h"
#include "tests/onnx_bytes.h"
#include "runtime/core/base/locale.h"

static void refuse(onnx_bytes *b, const char *words) {
    tort_model *model = NULL;
    tort_error error = {0};
    cr_assert_eq(tort_model_load_buffer(NULL, b->data, b->size, NULL, &model, &error), TORT_E_MODEL);
    cr_assert(strstr(error.msg, words), "\"%s\" is not in: %s", words, error.msg);
    onnx_free(b);
}

static void accept(onnx_bytes *b) {
    tort_model *model = NULL;
    tort_error error = {0};
    cr_assert_eq(tort_model_load_buffer(NULL, b->data, b->size, NULL, &model, &error), TORT_OK, "%s", error.msg);
    tort_model_free(model);
    onnx_free(b);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

Test(loader_format, utf8) {
    static const struct {
        const char *bytes;
        size_t left, length;
        uint32_t character;
    } rows[] = {
        {"a", 1, 1, 'a'},
        {"\x7f", 1, 1, 0x7f},
        {"\xc2\x80", 2, 2, 0x80},
        {"\xdf\xbf", 2, 2, 0x7ff},
        {"\xe0\xa0\x80", 3, 3, 0x800},
        {"\xed\x9f\xbf", 3, 3, 0xd7ff},
        {"\xee\x80\x80", 3, 3, 0xe000},
        {"\xf0\x90\x80\x80", 4, 4, 0x10000},
        {"\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff},
        {"\x80", 1, 0, 0x80},             /* no first byte */
        {"\xc1\xbf", 2, 0, 0xc1},         /* longer than it need be */
        {"\xe0\x9f\xbf", 3, 0, 0xe0},     /* the same */
        {"\xf0\x8f\xbf\xbf", 4, 0, 0xf0}, /* the same */
        {"\xed\xa0\x80", 3, 0, 0xed},     /* a surrogate */
        {"\xf4\x90\x80\x80", 4, 0, 0xf4}, /* beyond the last character */
        {"\xf5\x80\x80\x80", 4, 0, 0xf5}, /* the same */
        {"\xe2\x82\xac", 2, 0, 0xe2},     /* cut short */
        {"\xe2\x28\xa1", 3, 0, 0xe2},     /* no second byte */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t character = 0;
        cr_expect_eq(tort_utf8_decode(rows[i].bytes, rows[i].left, &character), rows[i].length, "row %zu", i);
        cr_expect_eq(character, rows[i].character, "row %zu", i);
    }
}

Test(loader_format, text_that_is_not_utf8) {
    onnx_bytes b = {0};
    onnx_text(&b, MODEL_PRODUCER, "caf\xe9");
    refuse(&b, "producer_name: byte 2: text that is not UTF-8");
    onnx_begin_model(&b, 17);
    onnx_node(&b, "Abs", "", "x", "y");
    onnx_begin_node(&b, GRAPH_NODE, "Abs", "", "y", "");
    onnx_text(&b, NODE_OUTPUT, "\xed\xa0\x80");
    onnx_end(&b);
    onnx_end(&b);
    refuse(&b, "graph: node 1: output 0: byte");
}

/* Strings that are bytes to the format may be any. */
Test(loader_format, bytes_need_not_be_text) {
    onnx_bytes b = {0};
    const int64_t dims[] = {1};
    onnx_begin_model(&b, 17);
    onnx_begin_tensor(&b, GRAPH_INITIALIZER, "w", TORT_STRING, 1, dims);
    onnx_blob(&b, TENSOR_STRINGS, "\xff\0x", 3);
    onnx_end(&b);
    onnx_begin_node(&b, GRAPH_NODE, "A", "", "", "y");
    onnx_begin_attribute(&b, "a", 3);
    onnx_blob(&b, ATTR_S, "\xff\0x", 3);
    onnx_end(&b);
    onnx_end(&b);
    onnx_end(&b);
    accept(&b);
}

/* ---- what must be there -------------------------------------------------------------------------------------------
 */

Test(loader_format, messages_that_lack_something) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_begin_node(&b, GRAPH_NODE, "", "n", "", "y");
    onnx_end(&b);
    onnx_end(&b);
    refuse(&b, "graph: node 0: byte 38: it has no op_type");

    onnx_begin_model(&b, 17); /* of a text that is there twice the last counts */
    onnx_begin_node(&b, GRAPH_NODE, "Abs", "n", "", "y");
    onnx_text(&b, NODE_OP, "");
    onnx_end(&b);
    onnx_end(&b);
    refuse(&b, "it has no op_type");

    onnx_begin_model(&b, 17);
    onnx_begin_node(&b, GRAPH_NODE, "Constant", "n", "", "y");
    onnx_begin_attribute(&b, "value", 4);
    onnx_begin(&b, ATTR_T);
    onnx_text(&b, TENSOR_NAME, "t");
    for (int i = 0; i < 4; i++) onnx_end(&b);
    refuse(&b, "graph: node 0: attribute 0: byte");

    onnx_begin(&b, MODEL_FUNCTION); /* that nobody calls */
    onnx_text(&b, FUNCTION_DOMAIN, "d");
    onnx_end(&b);
    refuse(&b, "functions 0: byte 10: it has no name");
}

/* Fields of onnx.proto in which the loader notes where data lie, and which weight a tensor became: a file has none. */
Test(loader_format, fields_of_the_loaders_own) {
    for (int field = 998; field < 1010; field++) {
        onnx_bytes b = {0};
        onnx_begin_model(&b, 17);
        onnx_begin_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 0, NULL);
        onnx_blob(&b, TENSOR_RAW, "1234", 4);
        onnx_int(&b, field, 7);
        onnx_end(&b);
        onnx_node(&b, "Abs", "", "w", "y");
        onnx_value(&b, GRAPH_OUTPUT, "y", TORT_FLOAT, 0, NULL);
        onnx_end(&b);
        accept(&b);
    }
}

Test(loader_format, data_that_does_not_fit) {
    onnx_bytes b = {0};
    const int64_t none[] = {0};
    onnx_begin_model(&b, 17);
    onnx_begin_tensor(&b, GRAPH_INITIALIZER, "w", TORT_INT64, 1, none);
    onnx_blob(&b, TENSOR_INT64S, "\x01", 1);
    onnx_end(&b);
    onnx_end(&b);
    refuse(&b, "int64_data has 1 bytes, which cannot be 0 numbers");
    onnx_begin_model(&b, 17);
    onnx_begin_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 0, NULL);
    onnx_blob(&b, TENSOR_RAW, "1234", 4);
    onnx_text(&b, TENSOR_STRINGS, "one");
    onnx_end(&b);
    onnx_end(&b);
    refuse(&b, "float data is in string_data");
}

/* ---- files of tensors and values ----------------------------------------------------------------------------------
 */

static const char *write_file(const onnx_bytes *b) {
    static char path[64];
    snprintf(path, sizeof path, "/tmp/tinyort_format_%ld.pb", (long)getpid());
    FILE *file = fopen(path, "wb");
    cr_assert(file && (!b->size || fwrite(b->data, 1, b->size, file) == b->size) && fclose(file) == 0);
    return path;
}

/* A sequence of many empty sequences: two bytes of the file each. */
Test(loader_format, values_have_the_limit_of_models) {
    enum { MANY = 1 << 20, SEQUENCES = 5 };
    const tort_value_type type = tort_sequence_type(tort_sequence_type(tort_tensor_type(TORT_FLOAT)));
    onnx_bytes b = {0};
    tort_counting_env counting;
    tort_value *value = NULL;
    tort_error error = {0};
    for (int i = 0; i < MANY; i++) onnx_blob(&b, SEQUENCES, "", 0);
    tort_counting_env_init(&counting);
    const char *path = write_file(&b);
    cr_assert_eq(tort_value_file_read(&counting.env, path, type, &value, &error), TORT_E_INPUT);
    cr_assert(strstr(error.msg, "loading takes more than"), "%s", error.msg);
    cr_assert_leq(counting.max_bytes, tort_load_limit(b.size));
    cr_assert_eq(counting.live_blocks, 0);
    remove(path);
    onnx_free(&b);
}

/* The lengths within a protobuf message have 31 bits; more is refused before a byte is written. */
Test(loader_format, a_tensor_that_is_too_large_for_protobuf) {
    static uint8_t byte;
    const tort_tensor tensor = {.type = TORT_UINT8, .rank = 1, .dims = {(int64_t)1 << 31}, .data = &byte};
    const onnx_bytes none = {0};
    const char *path = write_file(&none);
    tort_error error = {0};
    cr_assert_eq(tort_tensor_file_write(path, "x", &tensor, &error), TORT_E_IO);
    cr_assert(strstr(error.msg, tort_strerror(EFBIG)), "%s", error.msg);
    remove(path);
}
