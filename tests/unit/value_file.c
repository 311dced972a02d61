/* Tests of runtime/cli/files/value_file.c: values of every kind there and back, what ONNX's own writers leave open, and
 * files that lie. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cli/files/value_file.h"
#include "tests/counting_env.h"
#include "tests/onnx_bytes.h"
#include "tests/value_text.h"

/* Fields of SequenceProto and OptionalProto, and of MapProto. */
enum { NAME = 1, ELEM_TYPE = 2, TENSORS = 3, SPARSE = 4, SEQUENCES = 5, MAPS = 6, OPTIONALS = 7 };
enum { KEY_TYPE = 2, KEYS = 3, STRING_KEYS = 4, VALUES = 5 };

static const tort_value_type any = {.type = TORT_UNDEFINED}, floats = {.type = TORT_FLOAT};
static char path[64];

static const char *temporary(const char *ending) {
    snprintf(path, sizeof path, "/tmp/tinyort_value_%ld%s", (long)getpid(), ending);
    return path;
}

static tort_status read_bytes(const tort_env *env, const onnx_bytes *b, size_t size, tort_value_type type,
                              tort_value **value, tort_error *error) {
    FILE *file = fopen(temporary(".pb"), "wb");
    cr_assert(file && (size == 0 || fwrite(b->data, 1, size, file) == size) && fclose(file) == 0);
    tort_status status = tort_value_file_read(env, path, type, value, error);
    remove(path);
    return status;
}

/* One that is read, every byte of which counts: none of its beginnings may be taken for more than it is. */
static void accept(onnx_bytes *b, tort_value_type type, const char *expected) {
    char text[VALUE_TEXT];
    tort_error error = {0};
    tort_value *value;
    tort_counting_env counting;
    for (size_t size = 0; size < b->size; size++) {
        tort_counting_env_init(&counting);
        if (read_bytes(&counting.env, b, size, type, &value, &error) == TORT_OK) tort_value_release(value);
        cr_expect_eq(counting.live_blocks, 0);
    }
    cr_expect_eq(read_bytes(NULL, b, b->size, type, &value, &error), TORT_OK, "%s", error.msg);
    cr_expect_str_eq(value_text(value, text), expected);
    tort_value_release(value);
    onnx_free(b);
}

static void refuse(onnx_bytes *b, tort_value_type type, tort_status expected, const char *words) {
    tort_error error = {0};
    tort_counting_env counting;
    tort_counting_env_init(&counting);
    tort_value *value;
    tort_status status = read_bytes(&counting.env, b, b->size, type, &value, &error);
    cr_expect_eq(status, expected, "%s: %s", words, tort_status_name(status));
    cr_expect(strstr(error.msg, words), "\"%s\" is not in: %s", words, error.msg);
    cr_expect(strstr(error.msg, path), "no path in: %s", error.msg);
    cr_expect_null(value);
    cr_expect_eq(counting.live_blocks, 0);
    onnx_free(b);
}

static void put_tensor(onnx_bytes *b, int field, tort_type type, int64_t count) {
    static const unsigned char bytes[64];
    const int64_t dims[] = {count};
    onnx_tensor(b, field, "x", type, 1, dims, bytes, (size_t)count * (size_t)tort_type_bits(type) / 8);
}

/* ---- there and back ---------------------------------------------------------------------------------------------- */

/* Takes the value over. */
static void round_trip(tort_value *value) {
    char expected[VALUE_TEXT], text[VALUE_TEXT];
    tort_error error = {0};
    tort_value *back;
    const char *file = temporary(".pb");
    cr_assert_eq(tort_value_file_write(file, "name", value, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_value_file_read(NULL, file, tort_value_type_of(value), &back, &error), TORT_OK, "%s", error.msg);
    cr_expect_str_eq(value_text(back, text), value_text(value, expected));
    tort_value_release(back);
    tort_value_release(value);
    remove(file);
}

static tort_value *sequence_of(tort_value *element, int32_t count) {
    tort_value *sequence = tort_value_sequence(NULL, tort_value_type_of(element));
    for (int32_t i = 0; i < count; i++) cr_assert(tort_value_append(sequence, element));
    tort_value_release(element);
    return sequence;
}

static tort_value *optional_of(tort_value *element, bool there) {
    tort_value *optional = tort_value_optional(NULL, tort_value_type_of(element), there ? element : NULL);
    tort_value_release(element);
    return optional;
}

static tort_value *map_of(tort_type key, tort_value *element) {
    tort_value *keys = value_counting(NULL, key, "3", -1);
    const tort_value *const values[] = {element, element, element};
    tort_value *map = tort_value_map(NULL, tort_value_view(keys), tort_value_type_of(element), values);
    tort_value_release(keys);
    tort_value_release(element);
    return map;
}

static tort_value *tensor(tort_type type) {
    return value_counting(NULL, type, "2,3", 0);
}

Test(value_file, every_kind_there_and_back) {
    round_trip(tensor(TORT_FLOAT));
    round_trip(sequence_of(tensor(TORT_FLOAT), 3));
    round_trip(sequence_of(tensor(TORT_STRING), 3));
    round_trip(sequence_of(tensor(TORT_FLOAT), 0));
    round_trip(sequence_of(value_counting(NULL, TORT_INT64, "0", 0), 2));
    round_trip(optional_of(tensor(TORT_BFLOAT16), true));
    round_trip(optional_of(tensor(TORT_BFLOAT16), false));
    round_trip(map_of(TORT_INT64, value_counting(NULL, TORT_DOUBLE, "", 1)));
    round_trip(map_of(TORT_STRING, value_counting(NULL, TORT_STRING, "", 1)));
}

Test(value_file, kinds_within_each_other) {
    round_trip(sequence_of(sequence_of(tensor(TORT_INT8), 2), 2));
    round_trip(optional_of(sequence_of(tensor(TORT_FLOAT), 2), true));
    round_trip(optional_of(sequence_of(tensor(TORT_FLOAT), 0), true));
    round_trip(optional_of(sequence_of(tensor(TORT_FLOAT), 2), false));
    round_trip(sequence_of(optional_of(tensor(TORT_FLOAT), true), 2));
    round_trip(sequence_of(map_of(TORT_STRING, value_counting(NULL, TORT_FLOAT, "", 1)), 2));
    round_trip(map_of(TORT_INT64, sequence_of(tensor(TORT_FLOAT), 2)));
    round_trip(optional_of(sequence_of(map_of(TORT_INT64, value_counting(NULL, TORT_FLOAT, "", 1)), 1), true));
}

Test(value_file, npy_holds_tensors_alone) {
    char text[VALUE_TEXT];
    tort_error error = {0};
    tort_value *element = tensor(TORT_FLOAT), *sequence = sequence_of(tort_value_retain(element), 1), *back, *none;
    const char *file = temporary(".npy");
    cr_expect_eq(tort_value_file_write(file, "x", sequence, &error), TORT_E_UNSUPPORTED);
    cr_expect(strstr(error.msg, "a value of type seq(tensor(float)) needs .pb"), "%s", error.msg);
    cr_expect_eq(tort_value_file_write(file, "x", element, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(tort_value_file_read(NULL, file, any, &back, &error), TORT_OK, "%s", error.msg);
    cr_expect_str_eq(value_text(back, text), "float[2,3] 0 1 2 3 4 5");
    cr_expect_eq(tort_value_file_read(NULL, file, tort_sequence_type(any), &none, &error), TORT_E_USAGE);
    remove(file);
    cr_expect_eq(tort_value_file_write("/nowhere/x.pb", "x", sequence, &error), TORT_E_IO);
    tort_value_release(back);
    tort_value_release(element);
    tort_value_release(sequence);
}

/* ---- what writers leave open ------------------------------------------------------------------------------------- */

Test(value_file, a_type_that_is_not_known_is_that_of_the_elements) {
    onnx_bytes b = {0};
    onnx_int(&b, ELEM_TYPE, 1);
    put_tensor(&b, TENSORS, TORT_INT16, 1);
    put_tensor(&b, TENSORS, TORT_INT16, 2);
    accept(&b, tort_sequence_type(any), "seq(tensor(int16)): int16[1] 0, int16[2] 0 0");
    onnx_int(&b, ELEM_TYPE, 1);
    put_tensor(&b, TENSORS, TORT_INT16, 1);
    put_tensor(&b, TENSORS, TORT_INT8, 1);
    refuse(&b, tort_sequence_type(any), TORT_E_INPUT, "a tensor of int8 where one of int16 belongs");
}

/* onnx.numpy_helper: from_list([]) says tensors, from_optional(None) says nothing. */
Test(value_file, elem_type_of_what_is_empty_counts_for_nothing) {
    onnx_bytes b = {0};
    onnx_int(&b, ELEM_TYPE, 1);
    accept(&b, tort_sequence_type(tort_map_type(TORT_INT64, floats)), "seq(map(int64,tensor(float))):");
    onnx_int(&b, ELEM_TYPE, 0);
    onnx_text(&b, NAME, "x");
    accept(&b, tort_optional_type(floats), "optional(tensor(float)): none");
    accept(&(onnx_bytes){0}, tort_sequence_type(floats), "seq(tensor(float)):");
}

/* The order of fields is the writer's. */
Test(value_file, elem_type_may_come_last) {
    onnx_bytes b = {0};
    put_tensor(&b, TENSORS, TORT_FLOAT, 1);
    onnx_int(&b, ELEM_TYPE, 1);
    accept(&b, tort_sequence_type(floats), "seq(tensor(float)): float[1] 0");
}

/* ---- files that lie ---------------------------------------------------------------------------------------------- */

Test(value_file, other_kinds_than_wanted) {
    onnx_bytes b = {0};
    put_tensor(&b, TENSORS, TORT_DOUBLE, 1);
    refuse(&b, tort_sequence_type(floats), TORT_E_INPUT, "a tensor of double where one of float belongs");
    put_tensor(&b, TENSORS, TORT_FLOAT, 1);
    refuse(&b, tort_sequence_type(tort_sequence_type(floats)), TORT_E_INPUT, "holds tensors where sequences belong");
    onnx_begin(&b, SEQUENCES);
    onnx_end(&b);
    refuse(&b, tort_optional_type(floats), TORT_E_INPUT, "holds sequences where tensors belong");
    onnx_begin(&b, SPARSE);
    onnx_end(&b);
    refuse(&b, tort_sequence_type(floats), TORT_E_INPUT, "holds sparse tensors where tensors belong");
    onnx_int(&b, ELEM_TYPE, 3);
    put_tensor(&b, TENSORS, TORT_FLOAT, 1);
    refuse(&b, tort_sequence_type(floats), TORT_E_INPUT, "elem_type is 3 where it holds tensors, which is 1");
    refuse(&(onnx_bytes){0}, (tort_value_type){.type = TORT_FLOAT, .nest = TORT_SPARSE}, TORT_E_UNSUPPORTED, "sparse");
}

Test(value_file, two_values_in_an_optional) {
    onnx_bytes b = {0};
    put_tensor(&b, TENSORS, TORT_FLOAT, 1);
    put_tensor(&b, TENSORS, TORT_FLOAT, 1);
    refuse(&b, tort_optional_type(floats), TORT_E_INPUT, "holds 2 values");
}

Test(value_file, data_that_is_not_there) {
    onnx_bytes b = {0};
    const int64_t dims[] = {INT64_MAX / 8};
    onnx_begin_tensor(&b, TENSORS, "x", TORT_FLOAT, 1, dims);
    onnx_end(&b);
    refuse(&b, tort_sequence_type(floats), TORT_E_INPUT, "it has no data");
}

static void put_map(onnx_bytes *b, tort_type key, int keys, int values) {
    onnx_int(b, KEY_TYPE, key);
    for (int i = 0; i < keys; i++)
        if (key == TORT_STRING)
            onnx_text(b, STRING_KEYS, "k");
        else
            onnx_int(b, KEYS, i);
    onnx_begin(b, VALUES);
    for (int i = 0; i < values; i++) put_tensor(b, TENSORS, TORT_FLOAT, 1);
    onnx_end(b);
}

Test(value_file, keys_of_maps) {
    onnx_bytes b = {0};
    put_map(&b, TORT_INT64, 2, 2);
    accept(&b, tort_map_type(TORT_INT64, floats), "map(int64,tensor(float)): 0 = float[1] 0, 1 = float[1] 0");
    put_map(&b, TORT_STRING, 1, 1);
    accept(&b, tort_map_type(TORT_STRING, floats), "map(string,tensor(float)): k = float[1] 0");
    put_map(&b, TORT_STRING, 0, 0);
    accept(&b, tort_map_type(TORT_STRING, floats), "map(string,tensor(float)):");
    put_map(&b, TORT_INT64, 2, 1);
    refuse(&b, tort_map_type(TORT_INT64, floats), TORT_E_INPUT, "a map of 2 keys and 1 values");
    put_map(&b, TORT_STRING, 1, 1);
    refuse(&b, tort_map_type(TORT_INT64, floats), TORT_E_INPUT, "key_type is 8 where keys of int64, which is 7");
    put_map(&b, TORT_INT32, 1, 1);
    refuse(&b, tort_map_type(TORT_INT32, floats), TORT_E_UNSUPPORTED, "a map with keys of int32");
}

Test(value_file, sequences_nested_without_end) {
    onnx_bytes b = {0};
    enum { DEEP = 120 };
    for (int i = 0; i < DEEP; i++) onnx_begin(&b, SEQUENCES);
    for (int i = 0; i < DEEP; i++) onnx_end(&b);
    refuse(&b, tort_sequence_type(tort_sequence_type(floats)), TORT_E_INPUT, "nested more than 100 deep");
}

Test(value_file, every_allocation_may_fail) {
    const tort_value_type type = tort_optional_type(tort_sequence_type(tort_map_type(TORT_STRING, floats)));
    tort_value *value = optional_of(sequence_of(map_of(TORT_STRING, tensor(TORT_FLOAT)), 2), true), *back;
    const char *file = temporary(".pb");
    tort_counting_env counting;
    tort_counting_env_init(&counting);
    cr_assert_eq(tort_value_file_write(file, "x", value, NULL), TORT_OK);
    tort_value_release(value);
    cr_assert_eq(tort_value_file_read(&counting.env, file, type, &back, NULL), TORT_OK);
    tort_value_release(back);
    const int64_t allocations = counting.allocations;
    cr_assert_gt(allocations, 20);
    for (int64_t n = 1; n <= allocations; n++) {
        tort_counting_env_init(&counting);
        counting.fail_at = n;
        cr_expect_eq(tort_value_file_read(&counting.env, file, type, &back, NULL), TORT_E_MEMORY);
        cr_expect_null(back);
        cr_expect_eq(counting.live_blocks, 0, "allocation %lld", (long long)n);
        cr_expect_eq(counting.wrong_sizes, 0);
    }
    remove(file);
}
