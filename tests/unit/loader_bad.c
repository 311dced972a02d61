/* Bad models: whatever the bytes are, loading and planning end with a status, leak nothing and hand back every size as
 * it was. `make asan` runs this under the sanitizers; tests/fuzz looks for more of the kind. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/include/tinyort.h"
#include "tests/counting_env.h"
#include "tests/onnx_bytes.h"

/* Loads and plans; checks that nothing is left and that a failure has a message. */
static tort_status attempt(const void *bytes, size_t size, int64_t fail_at, bool fail_once, int64_t *allocations) {
    tort_counting_env counting;
    tort_counting_env_init(&counting);
    counting.fail_at = fail_at;
    counting.fail_once = fail_once;
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_error error = {0};
    tort_status status = tort_model_load_buffer(&counting.env, bytes, size, NULL, &model, &error);
    if (!status) {
        tort_session_options options = {.struct_size = sizeof options, .plan_only = true};
        status = tort_session_create(&counting.env, model, &options, &session, &error);
    } else {
        cr_assert_null(model);
    }
    if (status) cr_assert(error.code == status && error.msg[0], "%s: \"%s\"", tort_status_name(status), error.msg);
    cr_assert_neq(status, TORT_E_INTERNAL, "%s", error.msg);
    tort_session_free(session);
    tort_model_free(model);
    cr_assert_eq(counting.live_blocks, 0, "%lld blocks are left", (long long)counting.live_blocks);
    cr_assert_eq(counting.wrong_sizes, 0, "%lld wrong sizes", (long long)counting.wrong_sizes);
    if (allocations) *allocations = counting.allocations;
    return status;
}

/* A whole model may still have operators that no provider takes. */
static bool is_whole(tort_status status) {
    return status == TORT_OK || status == TORT_E_PLACEMENT;
}

/* A copy that ends where the bytes end, so that the sanitizers see a read behind them. */
static tort_status attempt_exactly(const void *bytes, size_t size) {
    void *copy = malloc(size ? size : 1);
    cr_assert(copy);
    if (size) memcpy(copy, bytes, size);
    tort_status status = attempt(copy, size, 0, false, NULL);
    free(copy);
    return status;
}

Test(loader_bad, truncated_at_every_byte) {
    onnx_bytes b = {0};
    onnx_sample_model(&b);
    cr_assert(is_whole(attempt_exactly(b.data, b.size)));
    for (size_t size = 0; size < b.size; size++) cr_assert_not(is_whole(attempt_exactly(b.data, size)), "%zu", size);
    onnx_free(&b);
}

/* xorshift: the same numbers on every machine. */
static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void mutate(uint8_t *bytes, size_t size, uint64_t *random) {
    static const uint8_t interesting[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe, 8, 10, 0x12};
    uint64_t changes = 1 + next_random(random) % 4;
    for (uint64_t i = 0; i < changes; i++) {
        size_t at = (size_t)(next_random(random) % size);
        switch (next_random(random) % 4) {
        case 0: bytes[at] = (uint8_t)next_random(random); break;
        case 1: bytes[at] = interesting[next_random(random) % sizeof interesting]; break;
        case 2: bytes[at] = (uint8_t)(bytes[at] ^ 1u << next_random(random) % 8); break;
        default: bytes[at] = bytes[next_random(random) % size]; break;
        }
    }
}

Test(loader_bad, mutated) {
    onnx_bytes b = {0};
    uint64_t random = 20251121;
    onnx_sample_model(&b);
    uint8_t *copy = malloc(b.size);
    cr_assert(copy);
    for (int round = 0; round < 20000; round++) {
        memcpy(copy, b.data, b.size);
        mutate(copy, b.size, &random);
        attempt(copy, b.size, 0, false, NULL);
    }
    free(copy);
    onnx_free(&b);
}

Test(loader_bad, every_byte_set_to_its_extremes) {
    onnx_bytes b = {0};
    onnx_sample_model(&b);
    for (size_t at = 0; at < b.size; at++) {
        static const uint8_t values[] = {0, 0x7f, 0x80, 0xff};
        uint8_t before = b.data[at];
        for (size_t v = 0; v < sizeof values; v++) {
            b.data[at] = values[v];
            attempt(b.data, b.size, 0, false, NULL);
        }
        b.data[at] = before;
    }
    onnx_free(&b);
}

/* Allocations that loading alone makes. */
static int64_t loading_allocations(const onnx_bytes *b) {
    tort_counting_env counting;
    tort_counting_env_init(&counting);
    tort_model *model = NULL;
    cr_assert_eq(tort_model_load_buffer(&counting.env, b->data, b->size, NULL, &model, NULL), TORT_OK);
    tort_model_free(model);
    return counting.allocations;
}

/* Loading says so; a plan that fails anyway may fail for its own reason. */
Test(loader_bad, the_nth_allocation_fails) {
    onnx_bytes b = {0};
    int64_t allocations;
    onnx_sample_model(&b);
    tort_status whole = attempt(b.data, b.size, 0, false, &allocations);
    int64_t loading = loading_allocations(&b);
    cr_assert(is_whole(whole) && loading > 30 && allocations > loading);
    for (int64_t n = 1; n <= allocations; n++) {
        for (int once = 0; once < 2; once++) {
            tort_status status = attempt(b.data, b.size, n, once, NULL);
            bool expected = status == TORT_E_MEMORY || (n > loading && whole != TORT_OK && status == whole);
            cr_assert(expected, "allocation %lld: %s", (long long)n, tort_status_name(status));
        }
    }
    onnx_free(&b);
}

/* ---- the wire format -------------------------------------------------------------------------------------------- */

static void refuse_as(onnx_bytes *b, tort_status expected, const char *word) {
    tort_model *model = NULL;
    tort_error error = {0};
    cr_assert_eq(tort_model_load_buffer(NULL, b->data, b->size, NULL, &model, &error), expected);
    cr_assert(strstr(error.msg, word), "\"%s\" is not in: %s", word, error.msg);
    attempt_exactly(b->data, b->size);
    onnx_free(b);
}

static void refuse(onnx_bytes *b, const char *word) {
    refuse_as(b, TORT_E_MODEL, word);
}

Test(loader_bad, not_a_model) {
    onnx_bytes b = {0};
    onnx_raw(&b, "\x1e\x01z", 3);
    refuse(&b, "not a field of a protobuf message");
    onnx_int(&b, MODEL_IR, 10);
    refuse(&b, "no graph");
}

/* What else people hand to a runtime: the message says what it looks like, and what to do. */
Test(loader_bad, files_of_other_kinds) {
    static const struct {
        const char *bytes;
        size_t size;
        const char *words[2];
    } files[] = {
        {"", 0, {"the file is empty", "cut short"}},
        {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", 61, {"Git LFS pointer", "git lfs pull"}},
        {"\x1f\x8b\x08\x00", 4, {"gzip", "gunzip"}},
        {"BZh91AY", 7, {"bzip2", "unpack"}},
        {"\xfd"
         "7zXZ\0",
         6,
         {"xz", "unpack"}},
        {"\x28\xb5\x2f\xfd", 4, {"Zstandard", "unpack"}},
        {"PK\x03\x04\x14\0", 6, {"ZIP", "torch.onnx.export"}},
        {"\x1c\0\0\0TFL3\x14\0", 10, {"TensorFlow Lite", "tf2onnx"}},
        {"\x20\0\0\0ORTM", 8, {"ONNX Runtime's own format", ".onnx"}},
        {"GGUF\x03\0\0\0", 8, {"GGUF", "no ONNX graph"}},
        {"\x89HDF\r\n\x1a\n", 8, {"HDF5", "tf2onnx"}},
        {"\x80\x02\x8a\nl\xfc", 6, {"pickle", "torch.onnx.export"}},
        {"\x18\0\0\0\0\0\0\0{\"w\":{}}", 16, {"safetensors", "no graph"}},
        {"\x93NUMPY\x01\0", 8, {".npy", "not a model"}},
        {"\x89PNG\r\n\x1a\n", 8, {"PNG", "not a model"}},
        {"<!DOCTYPE html><html>", 21, {"HTML", "downloaded"}},
        {" \n<html>", 8, {"HTML", "downloaded"}},
        {"{\"error\": 404}", 14, {"JSON", "binary"}},
        {"hello, I am no model", 20, {"a text", "binary"}},
        {"ir_version: 8\ngraph {\n}\n", 24, {"a text", "binary"}},
        {"\x02\0\0\0\0\0\0\0{}", 10, {"safetensors", "no graph"}},
        {"\xef\xbb\xbf{\"error\": 404}", 17, {"JSON", "binary"}},
        {"\r\n\t [404]", 9, {"JSON", "binary"}},
        {"\r\n", 2, {"a text", "binary"}},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (int w = 0; w < 2; w++) {
            onnx_bytes b = {0};
            onnx_raw(&b, files[i].bytes, files[i].size);
            refuse(&b, files[i].words[w]);
        }
}

/* Bytes of which only the beginning looks like something. */
Test(loader_bad, files_of_no_kind) {
    static const char *const beginnings[] = {"\x02\0\0\0\0\0\0\0(}", "\x02\0\0\0\0\0\0\0{[", "ab\x7f", "\r\n\t\1"};
    static const size_t sizes[] = {10, 10, 3, 4};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        onnx_bytes b = {0};
        onnx_raw(&b, beginnings[i], sizes[i]);
        refuse(&b, "byte "); /* what the first pass says, and no name of a kind */
    }
}

Test(loader_bad, lengths_near_the_end_of_numbers) {
    static const uint64_t lengths[] = {
        UINT64_MAX, (uint64_t)INT64_MAX, (uint64_t)INT64_MAX + 1, UINT32_MAX, (1ull << 31) - 1, 1ull << 31, 1ull << 32,
        5};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (int field = 1; field < 30; field++) {
            onnx_bytes b = {0};
            onnx_int(&b, field, 0);
            b.data[0] = (uint8_t)((b.data[0] & 0x80) | (uint8_t)((field << 3 & 0x7f) | 2)); /* a length follows */
            b.size--;
            onnx_bytes number = {0};
            onnx_int(&number, 1, (int64_t)lengths[i]);
            onnx_raw(&b, number.data + 1, number.size - 1);
            onnx_raw(&b, "1234", 4);
            onnx_free(&number);
            refuse(&b, "byte");
        }
    }
}

Test(loader_bad, numbers_that_do_not_end) {
    onnx_bytes b = {0};
    onnx_raw(&b, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13);
    refuse(&b, "ir_version");
    onnx_raw(&b, "\x08\xff\xff", 3);
    refuse(&b, "ends within a number");
}

Test(loader_bad, wire_types_that_do_not_fit) {
    onnx_bytes b = {0};
    onnx_text(&b, MODEL_IR, "ten");
    refuse(&b, "ir_version: byte 0: wire type 2");
    onnx_int(&b, MODEL_GRAPH, 1);
    refuse(&b, "graph: byte 0: wire type 0");
    onnx_begin(&b, MODEL_GRAPH);
    onnx_raw(&b, "\x0b\x0c", 2); /* a group */
    onnx_end(&b);
    refuse(&b, "graph: byte 6: not a field");
}

Test(loader_bad, names_with_nul) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_begin(&b, GRAPH_NODE);
    onnx_blob(&b, NODE_NAME, "a\0b", 3);
    onnx_end(&b);
    onnx_end(&b);
    refuse(&b, "graph: node 0: name");
}

Test(loader_bad, bodies_nested_without_end) {
    onnx_bytes b = {0};
    enum { DEEP = 40 };
    onnx_begin_model(&b, 17);
    for (int i = 0; i < DEEP; i++) {
        onnx_begin_node(&b, GRAPH_NODE, "If", "", "", "");
        onnx_begin_body(&b, "then_branch");
    }
    for (int i = 0; i < 3 * DEEP; i++) onnx_end(&b);
    onnx_end(&b);
    refuse(&b, "nested more than 100 deep");
}

Test(loader_bad, types_nested_without_end) {
    onnx_bytes b = {0};
    enum { DEEP = 55 };
    onnx_begin_model(&b, 17);
    onnx_begin(&b, GRAPH_INPUT);
    onnx_begin(&b, 2);
    for (int i = 0; i < DEEP; i++) {
        onnx_begin(&b, 4); /* sequence of */
        onnx_begin(&b, 1);
    }
    for (int i = 0; i < 2 * DEEP + 2; i++) onnx_end(&b);
    onnx_end(&b);
    refuse(&b, "nested more than 100 deep");
}

Test(loader_bad, types_nested_deeper_than_values) {
    onnx_bytes b = {0};
    enum { DEEP = TORT_MAX_NESTING + 1 };
    onnx_begin_model(&b, 17);
    onnx_begin(&b, GRAPH_INPUT);
    onnx_text(&b, 1, "x");
    onnx_begin(&b, 2);
    for (int i = 0; i < DEEP; i++) {
        onnx_begin(&b, 4); /* sequence of */
        onnx_begin(&b, 1);
    }
    onnx_begin(&b, 1); /* tensors of */
    onnx_int(&b, 1, TORT_FLOAT);
    for (int i = 0; i < 2 * DEEP + 4; i++) onnx_end(&b);
    refuse_as(&b, TORT_E_UNSUPPORTED, "more than 3 sequences");
}

/* Fields that inference does not need are skipped whatever they hold. */
Test(loader_bad, what_is_not_read_costs_nothing) {
    onnx_bytes b = {0};
    enum { LARGE = 8 << 20 };
    char *text = malloc(LARGE);
    cr_assert(text);
    memset(text, 0xff, LARGE);
    onnx_blob(&b, 6, text, LARGE);  /* documentation */
    onnx_blob(&b, 20, text, LARGE); /* training */
    onnx_blob(&b, 999, text, LARGE);
    onnx_begin_model(&b, 17);
    onnx_begin_node(&b, GRAPH_NODE, "Abs", "", "x", "y");
    onnx_blob(&b, 9, text, LARGE); /* properties of the node */
    onnx_end(&b);
    const int64_t dims[] = {LARGE / 4};
    onnx_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, dims, text, LARGE);
    onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 0, NULL);
    onnx_value(&b, GRAPH_OUTPUT, "y", TORT_FLOAT, 0, NULL);
    onnx_end(&b);
    tort_counting_env counting;
    tort_counting_env_init(&counting);
    tort_model *model = NULL;
    tort_error error = {0};
    cr_assert_eq(tort_model_load_buffer(&counting.env, b.data, b.size, NULL, &model, &error), TORT_OK, "%s", error.msg);
    cr_assert_lt(counting.max_bytes, 1 << 20);
    tort_model_free(model);
    onnx_free(&b);
    free(text);
}

/* An operator that takes the type of its output from an attribute. */
Test(loader_bad, types_that_do_not_exist) {
    static const int64_t types[] = {-1, 0, 8, 29, 64, 93, INT32_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        onnx_bytes b = {0};
        const int64_t dims[] = {3};
        onnx_begin_model(&b, 25);
        onnx_begin_node(&b, GRAPH_NODE, "QuantizeLinear", "", "x scale", "y");
        onnx_int_attribute(&b, "output_dtype", types[i]);
        onnx_end(&b);
        onnx_begin_node(&b, GRAPH_NODE, "Cast", "", "x", "z");
        onnx_int_attribute(&b, "to", types[i]);
        onnx_end(&b);
        onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 1, dims);
        onnx_value(&b, GRAPH_INPUT, "scale", TORT_FLOAT, 0, NULL);
        onnx_value(&b, GRAPH_OUTPUT, "y", TORT_UINT8, 1, dims);
        onnx_end(&b);
        attempt_exactly(b.data, b.size);
        onnx_free(&b);
    }
}

/* A file cannot claim to hold what only wire.c writes. */
Test(loader_bad, private_fields_are_not_taken_from_a_file) {
    for (int field = 26; field < 64; field++) {
        onnx_bytes b = {0};
        const int64_t dims[] = {1};
        onnx_begin_model(&b, 17);
        onnx_begin_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, dims);
        onnx_blob(&b, field, "\x09\x00\x04\x00", 4);
        onnx_end(&b);
        onnx_end(&b);
        refuse(&b, "it has no data");
    }
}

/* What the generated readers of other programs check when they unpack. */
Test(loader_bad, packed_lists_that_do_not_end) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_begin_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 0, NULL);
    onnx_blob(&b, TENSOR_DIMS, "\x01\x82", 2);
    onnx_end(&b);
    onnx_end(&b);
    refuse(&b, "initializer 0: dims 0: byte");
    onnx_begin_model(&b, 17);
    onnx_begin_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 0, NULL);
    onnx_blob(&b, TENSOR_DIMS, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11); /* ten bytes are a number */
    onnx_end(&b);
    onnx_end(&b);
    refuse(&b, "initializer 0: dims 0: byte");
    onnx_begin_model(&b, 17);
    onnx_begin_node(&b, GRAPH_NODE, "A", "", "", "");
    onnx_begin_attribute(&b, "a", 7);
    onnx_blob(&b, 7, "12345", 5);
    for (int i = 0; i < 3; i++) onnx_end(&b);
    refuse(&b, "floats 0: byte");
}

/* Protobuf would merge the pieces; that costs more than it is worth (wire.h). Of numbers and texts the last counts. */
Test(loader_bad, fields_that_are_there_twice) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_end(&b);
    onnx_begin(&b, MODEL_GRAPH);
    onnx_end(&b);
    refuse(&b, "graph: byte 24: the field is there a second time");
    onnx_begin_model(&b, 17);
    onnx_begin_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 0, NULL);
    onnx_blob(&b, TENSOR_RAW, "1234", 4);
    onnx_blob(&b, TENSOR_RAW, "1234", 4);
    onnx_end(&b);
    onnx_end(&b);
    refuse(&b, "initializer 0: raw_data: byte");
    onnx_int(&b, MODEL_IR, 99);
    onnx_begin_model(&b, 17);
    onnx_text(&b, GRAPH_NAME, "last");
    onnx_end(&b);
    tort_model *model = NULL;
    cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, NULL, &model, NULL), TORT_OK);
    cr_assert_eq(tort_model_ir_version(model), 10);
    cr_assert_str_eq(tort_model_graph_name(model), "last");
    tort_model_free(model);
    onnx_free(&b);
}
