/* values.c - tests of runtime/core/graph/value.c: counted tensors, sequences, optionals and maps, and of the types of
 * values. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#include "tests/counting_env.h"
#include "tests/value_text.h"

static const tort_value_type floats = {.type = TORT_FLOAT};

static void nothing_left(const tort_counting_env *counting) {
    cr_expect_eq(counting->live_blocks, 0);
    cr_expect_eq(counting->live_bytes, 0);
    cr_expect_eq(counting->wrong_sizes, 0);
}

static void expect_text(const tort_value *value, const char *expected) {
    char text[VALUE_TEXT];
    cr_expect_str_eq(value_text(value, text), expected);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static void expect_type(tort_value_type type, tort_kind kind, const char *expected) {
    char text[80];
    cr_expect_eq(tort_type_kind(type), kind);
    cr_expect_str_eq(tort_type_text(type, text, sizeof text), expected);
}

Test(values, types_are_made_and_read) {
    const tort_value_type map = tort_map_type(TORT_STRING, tort_tensor_type(TORT_INT64)),
                          maps = tort_sequence_type(map), maybe = tort_optional_type(maps);
    expect_type(tort_tensor_type(TORT_BFLOAT16), TORT_TENSOR, "tensor(bfloat16)");
    expect_type(map, TORT_MAP, "map(string,tensor(int64))");
    expect_type(maps, TORT_SEQUENCE, "seq(map(string,tensor(int64)))");
    expect_type(maybe, TORT_OPTIONAL, "optional(seq(map(string,tensor(int64))))");
    cr_expect_eq(tort_type_key(map), TORT_STRING);
    cr_expect_eq(tort_type_key(maps), TORT_UNDEFINED);
    expect_type(tort_type_element(maybe), TORT_SEQUENCE, "seq(map(string,tensor(int64)))");
    expect_type(tort_type_element(tort_type_element(tort_type_element(maybe))), TORT_TENSOR, "tensor(int64)");
    expect_type(tort_type_element(floats), TORT_TENSOR, "tensor(float)");
}

Test(values, a_type_may_be_so_deep_and_no_deeper) {
    tort_value_type deepest = floats;
    for (int i = 0; i < TORT_MAX_NESTING; i++) deepest = tort_sequence_type(deepest);
    cr_expect_eq(deepest.type, TORT_FLOAT);
    const tort_value_type beyond[] = {tort_sequence_type(deepest), tort_optional_type(deepest),
                                      tort_map_type(TORT_INT64, deepest)};
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        cr_expect_eq(beyond[i].type, TORT_UNDEFINED);
        cr_expect_eq(tort_type_kind(beyond[i]), TORT_SPARSE);
        expect_type(tort_sequence_type(beyond[i]), TORT_SPARSE, "sparse_tensor(undefined)");
    }
    cr_expect_null(tort_value_sequence(NULL, deepest));
    cr_expect_null(tort_value_optional(NULL, deepest, NULL));
}

Test(values, text_of_a_type_is_cut_short) {
    char text[9];
    for (size_t size = 1; size <= sizeof text; size++) {
        tort_type_text(tort_sequence_type(floats), text, size);
        cr_expect_eq(strlen(text), size - 1);
        cr_expect_eq(strncmp(text, "seq(tens", size - 1), 0);
    }
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

Test(values, a_tensor_is_a_copy) {
    tort_counting_env counting;
    tort_counting_env_init(&counting);
    float numbers[] = {1, 2, 3, 4, 5, 6};
    const tort_tensor tensor = {.type = TORT_FLOAT, .rank = 2, .dims = {2, 3}, .data = numbers};
    tort_value *value = tort_value_tensor(&counting.env, &tensor);
    numbers[0] = 7;
    expect_text(value, "float[2,3] 1 2 3 4 5 6");
    cr_expect_eq((uintptr_t)tort_value_view(value)->data % 64, 0);
    cr_expect_eq(tort_value_kind(value), TORT_TENSOR);
    cr_expect_eq(tort_value_count(value), 0);
    cr_expect_null(tort_value_at(value, 0));
    cr_expect_null(tort_value_keys(value));
    tort_value_release(value);
    nothing_left(&counting);
}

Test(values, strings_own_their_text) {
    tort_counting_env counting;
    tort_counting_env_init(&counting);
    char word[] = "one", empty[] = "";
    tort_string strings[] = {{word, 3}, {empty, 0}, {NULL, 0}, {"a\0b", 3}};
    const tort_tensor tensor = {.type = TORT_STRING, .rank = 1, .dims = {4}, .data = strings};
    tort_value *value = tort_value_tensor(&counting.env, &tensor);
    memset(word, '?', 3);
    const tort_string *own = tort_value_view(value)->data;
    cr_expect_eq(own[0].length, 3);
    cr_expect_arr_eq(own[0].data, "one", 3);
    cr_expect_eq(own[1].length + own[2].length, 0);
    cr_expect_arr_eq(own[3].data, "a\0b", 3);
    tort_value_release(value);
    nothing_left(&counting);
}

Test(values, empty_tensors_and_scalars) {
    tort_value *empty = value_counting(NULL, TORT_INT64, "0", 0), *scalar = value_counting(NULL, TORT_INT64, "", 5);
    const tort_tensor none = {.type = TORT_FLOAT, .rank = 2, .dims = {INT64_MAX, 0}};
    tort_value *huge = tort_value_tensor(NULL, &none);
    expect_text(empty, "int64[0]");
    expect_text(scalar, "int64[] 5");
    expect_text(huge, "float[9223372036854775807,0]");
    tort_value_release(empty);
    tort_value_release(scalar);
    tort_value_release(huge);
}

Test(values, what_is_no_tensor_is_refused) {
    const tort_tensor wrong[] = {{.type = TORT_UNDEFINED},
                                 {.type = TORT_FLOAT, .rank = 9},
                                 {.type = TORT_FLOAT, .rank = -1},
                                 {.type = TORT_FLOAT, .rank = 1, .dims = {-1}},
                                 {.type = TORT_DOUBLE, .rank = 2, .dims = {INT64_MAX, 2}}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_expect_null(tort_value_tensor(NULL, &wrong[i]));
        cr_expect_null(tort_value_borrow(NULL, &wrong[i], NULL, NULL));
        cr_expect_null(tort_value_new(NULL, &wrong[i]));
    }
}

static void count_release(void *ud, tort_tensor *tensor) {
    cr_expect_eq(((float *)tensor->data)[0], 1.0f);
    ++*(int *)ud;
}

Test(values, borrowed_data_is_released_once) {
    tort_counting_env counting;
    tort_counting_env_init(&counting);
    float one = 1;
    int releases = 0;
    const tort_tensor tensor = {.type = TORT_FLOAT, .data = &one};
    tort_value *value = tort_value_borrow(&counting.env, &tensor, count_release, &releases);
    cr_expect_eq(tort_value_view(value)->data, (void *)&one);
    tort_value_release(tort_value_retain(value));
    cr_expect_eq(releases, 0);
    tort_value_release(value);
    cr_expect_eq(releases, 1);
    counting.fail_at = counting.allocations + 1;
    cr_expect_null(tort_value_borrow(&counting.env, &tensor, count_release, &releases));
    cr_expect_eq(releases, 1);
    nothing_left(&counting);
}

/* ---- what holds others ------------------------------------------------------------------------------------------- */

Test(values, a_sequence_holds_what_is_appended) {
    tort_counting_env counting;
    tort_counting_env_init(&counting);
    tort_value *sequence = tort_value_sequence(&counting.env, floats);
    expect_text(sequence, "seq(tensor(float)):");
    for (int i = 0; i < 20; i++) {
        tort_value *element = value_counting(&counting.env, TORT_FLOAT, "", i);
        cr_assert(tort_value_append(sequence, element));
        cr_expect(!tort_value_single(element));
        tort_value_release(element);
        cr_expect(tort_value_single(tort_value_at(sequence, i)));
    }
    cr_expect_eq(tort_value_count(sequence), 20);
    for (int i = 0; i < 20; i++)
        cr_expect_eq(*(const float *)tort_value_view(tort_value_at(sequence, i))->data, (float)i);
    cr_expect_null(tort_value_at(sequence, 20));
    cr_expect_null(tort_value_at(sequence, -1));
    cr_expect_null(tort_value_view(sequence));
    tort_value_release(sequence);
    nothing_left(&counting);
}

Test(values, elements_come_and_go_in_the_middle) {
    tort_value *sequence = tort_value_sequence(NULL, floats);
    static const int32_t places[] = {0, 0, 1, 3};
    for (int i = 0; i < 4; i++) {
        tort_value *element = value_counting(NULL, TORT_FLOAT, "", i);
        cr_assert(tort_value_insert(sequence, places[i], element));
        cr_expect(!tort_value_insert(sequence, -1, element));
        cr_expect(!tort_value_insert(sequence, i + 2, element));
        tort_value_release(element);
    }
    expect_text(sequence, "seq(tensor(float)): float[] 1, float[] 2, float[] 0, float[] 3");
    tort_value *copy = tort_value_copy(sequence);
    tort_value_erase(sequence, 1);
    tort_value_erase(sequence, 2);
    expect_text(sequence, "seq(tensor(float)): float[] 1, float[] 0");
    tort_value_erase(sequence, 0);
    tort_value_erase(sequence, 0);
    expect_text(sequence, "seq(tensor(float)):");
    expect_text(copy, "seq(tensor(float)): float[] 1, float[] 2, float[] 0, float[] 3");
    tort_value_release(sequence);
    tort_value_release(copy);
}

Test(values, what_others_hold_does_not_change) {
    tort_value *sequence = tort_value_sequence(NULL, floats), *other = tort_value_retain(sequence),
               *element = value_counting(NULL, TORT_FLOAT, "1", 0);
    cr_expect_not(tort_value_append(sequence, element));
    cr_expect_eq(tort_value_count(sequence), 0);
    tort_value_release(other);
    cr_expect(tort_value_append(sequence, element));
    tort_value_release(element);
    tort_value_release(sequence);
}

Test(values, elements_must_be_of_the_type) {
    tort_value *sequence = tort_value_sequence(NULL, floats), *number = value_counting(NULL, TORT_INT64, "1", 0);
    cr_expect_not(tort_value_append(sequence, number));
    cr_expect_not(tort_value_append(sequence, sequence));
    cr_expect_not(tort_value_append(sequence, NULL));
    cr_expect_not(tort_value_append(number, number));
    cr_expect_null(tort_value_optional(NULL, floats, number));
    expect_text(sequence, "seq(tensor(float)):");
    tort_value_release(sequence);
    tort_value_release(number);
}

/* As of an empty sequence in a file, which does not say. */
Test(values, an_unknown_type_becomes_that_of_the_first_element) {
    tort_value *sequence = tort_value_sequence(NULL, tort_tensor_type(TORT_UNDEFINED)),
               *empty = tort_value_copy(sequence), *outer = tort_value_sequence(NULL, tort_sequence_type(floats)),
               *number = value_counting(NULL, TORT_INT64, "1", 0), *real = value_counting(NULL, TORT_FLOAT, "1", 0);
    cr_expect(tort_value_append(sequence, number));
    cr_expect_not(tort_value_append(sequence, real));
    cr_expect(tort_value_append(outer, empty));
    cr_expect_not(tort_value_append(outer, sequence));
    expect_text(sequence, "seq(tensor(int64)): int64[1] 0");
    expect_text(outer, "seq(seq(tensor(float))): seq(tensor(undefined)):");
    const tort_value *const all[] = {sequence, empty, outer, number, real};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) tort_value_release(all[i]);
}

Test(values, an_optional_is_there_or_not) {
    tort_value *element = value_counting(NULL, TORT_FLOAT, "2", 3), *full = tort_value_optional(NULL, floats, element),
               *none = tort_value_optional(NULL, tort_sequence_type(floats), NULL);
    expect_text(full, "optional(tensor(float)): float[2] 3 4");
    expect_text(none, "optional(seq(tensor(float))): none");
    cr_expect_eq(tort_value_at(full, 0), element);
    cr_expect_null(tort_value_at(none, 0));
    tort_value_release(element);
    tort_value_release(full);
    tort_value_release(none);
}

Test(values, a_map_has_keys) {
    tort_counting_env counting;
    tort_counting_env_init(&counting);
    tort_value *keys = value_counting(&counting.env, TORT_STRING, "2", 5),
               *numbers = value_counting(&counting.env, TORT_INT64, "2", 7),
               *first = value_counting(&counting.env, TORT_FLOAT, "", 1),
               *second = value_counting(&counting.env, TORT_FLOAT, "1", 2);
    const tort_value *const values[] = {first, second};
    tort_value *map = tort_value_map(&counting.env, tort_value_view(keys), floats, values),
               *other = tort_value_map(&counting.env, tort_value_view(numbers), floats, values);
    tort_value_release(keys);
    tort_value_release(numbers);
    tort_value_release(first);
    tort_value_release(second);
    expect_text(map, "map(string,tensor(float)): s5 = float[] 1, s6 = float[1] 2");
    expect_text(other, "map(int64,tensor(float)): 7 = float[] 1, 8 = float[1] 2");
    tort_value_release(map);
    tort_value_release(other);
    nothing_left(&counting);
}

Test(values, keys_must_be_a_list_of_numbers_or_strings) {
    float data[2] = {0};
    tort_value *element = value_counting(NULL, TORT_FLOAT, "", 1);
    const tort_value *const values[] = {element, element};
    const tort_tensor wrong[] = {{.type = TORT_FLOAT, .rank = 1, .dims = {1}, .data = data},
                                 {.type = TORT_INT64, .data = data},
                                 {.type = TORT_INT64, .rank = 2, .dims = {1, 1}, .data = data},
                                 {.type = TORT_INT64, .rank = 1, .dims = {-1}, .data = data}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_expect_null(tort_value_map(NULL, &wrong[i], floats, values));
    const tort_tensor keys = {.type = TORT_INT64, .rank = 1, .dims = {1}, .data = data};
    cr_expect_null(tort_value_map(NULL, &keys, tort_tensor_type(TORT_INT64), values));
    tort_value_release(element);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* One of everything: optional(seq(map(string, tensor(float)))). NULL where memory runs out. */
static tort_value *everything(const tort_env *env) {
    tort_value *keys = value_counting(env, TORT_STRING, "2", 0), *element = value_counting(env, TORT_FLOAT, "2,2", 0),
               *map = NULL, *copy = NULL, *all = NULL;
    const tort_value *const values[] = {element, element};
    const tort_value_type map_type = tort_map_type(TORT_STRING, floats);
    if (keys && element) map = tort_value_map(env, tort_value_view(keys), floats, values);
    tort_value *maps = map ? tort_value_sequence(env, map_type) : NULL;
    bool ok = maps != NULL;
    for (int i = 0; ok && i < 10; i++) ok = tort_value_append(maps, map);
    if (ok) copy = tort_value_copy(maps);
    if (copy) all = tort_value_optional(env, tort_sequence_type(map_type), copy);
    const tort_value *const parts[] = {keys, element, map, maps, copy};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) tort_value_release(parts[i]);
    return all;
}

Test(values, every_allocation_may_fail) {
    tort_counting_env counting;
    tort_counting_env_init(&counting);
    tort_value_release(everything(&counting.env));
    const int64_t allocations = counting.allocations;
    cr_assert_gt(allocations, 10);
    for (int64_t n = 1; n <= allocations; n++) {
        tort_counting_env_init(&counting);
        counting.fail_at = n;
        cr_expect_null(everything(&counting.env), "allocation %lld", (long long)n);
        nothing_left(&counting);
        tort_counting_env_init(&counting);
        counting.fail_at = n;
        counting.fail_once = true;
        cr_expect_null(everything(&counting.env), "allocation %lld", (long long)n);
        nothing_left(&counting);
    }
}

static void *hold_and_let_go(void *value) {
    for (int i = 0; i < 20000; i++) tort_value_release(tort_value_retain(value));
    tort_value_release(value);
    return NULL;
}

Test(values, threads_may_count_at_once) {
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    tort_value *value = everything(NULL);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, hold_and_let_go, tort_value_retain(value)), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    cr_expect(tort_value_single(value));
    tort_value_release(value);
}

Test(values, nothing_is_retained_and_released) {
    cr_expect_null(tort_value_retain(NULL));
    tort_value_release(NULL);
}
