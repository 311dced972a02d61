/* Tests of runtime/core/graph/types.c: names, bits, and sizes of tensors. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/include/op.h"

Test(types, every_type_status_and_verdict_has_a_name_of_its_own) {
    for (int i = 0; i < TORT_TYPE_COUNT; i++) {
        cr_assert(tort_type_name((tort_type)i) && strcmp(tort_type_name((tort_type)i), "unknown") != 0);
        cr_assert_eq(tort_type_bits((tort_type)i) > 0, i != TORT_UNDEFINED);
        for (int j = 0; j < i; j++) cr_assert_str_neq(tort_type_name((tort_type)i), tort_type_name((tort_type)j));
    }
    for (int i = 0; i <= TORT_E_CANCELLED; i++) cr_assert_str_neq(tort_status_name((tort_status)i), "unknown");
    for (int i = 0; i < TORT_VERDICT_COUNT; i++) cr_assert_str_neq(tort_verdict_name((tort_verdict_code)i), "unknown");
    cr_assert_str_eq(tort_type_name((tort_type)-1), "unknown");
    cr_assert_str_eq(tort_type_name((tort_type)1000), "unknown");
    cr_assert_eq(tort_type_bits((tort_type)1000), 0);
    cr_assert_str_eq(tort_status_name((tort_status)99), "unknown");
    cr_assert_str_eq(tort_verdict_name(TORT_VERDICT_COUNT), "unknown");
    cr_assert_str_eq(tort_type_name(TORT_FLOAT8E4M3FNUZ), "float8e4m3fnuz");
    cr_assert_str_eq(tort_verdict_name(TORT_NO_ATTR), "NO_ATTR");
}

Test(types, bytes_of_packed_types_round_up) {
    static const struct {
        tort_type type;
        int64_t count;
        size_t bytes;
    } cases[] = {
        {TORT_FLOAT, 3, 12},
        {TORT_INT4, 3, 2},
        {TORT_INT4, 0, 0},
        {TORT_UINT2, 5, 2},
        {TORT_UINT2, 8, 2},
        {TORT_FLOAT6E2M3, 4, 3},
        {TORT_FLOAT6E3M2, 5, 4},
        {TORT_FLOAT6E3M2, 16, 12},
        {TORT_BOOL, 9, 9},
        {TORT_COMPLEX128, 2, 32},
        {TORT_STRING, 2, 2 * sizeof(tort_string)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tort_tensor tensor = {.type = cases[i].type, .rank = 1, .dims = {cases[i].count}};
        size_t bytes;
        cr_assert(tort_tensor_bytes(&tensor, &bytes));
        cr_assert_eq(bytes, cases[i].bytes, "case %zu: %zu", i, bytes);
    }
}

Test(types, counts_are_checked) {
    int64_t count;
    size_t bytes;
    tort_tensor scalar = {.type = TORT_FLOAT};
    cr_assert(tort_tensor_count(&scalar, &count) && count == 1);
    cr_assert_eq(tort_count(&scalar), 1);
    tort_tensor cube = {.type = TORT_INT8, .rank = 3, .dims = {2, 3, 4}};
    cr_assert(tort_tensor_count(&cube, &count) && count == 24);
    cr_assert_eq(tort_count(&cube), 24);
    tort_tensor negative = {.type = TORT_INT8, .rank = 2, .dims = {2, -1}};
    cr_assert_not(tort_tensor_count(&negative, &count));
    tort_tensor empty = {.type = TORT_INT8, .rank = 2, .dims = {0, 5}};
    cr_assert(tort_tensor_count(&empty, &count) && count == 0);
    tort_tensor huge = {.type = TORT_INT4, .rank = 3, .dims = {(int64_t)1 << 40, (int64_t)1 << 40, 0}};
    cr_assert_not(tort_tensor_count(&huge, &count));
    tort_tensor largest = {.type = TORT_INT4, .rank = 1, .dims = {INT64_MAX}};
    const bool fits = sizeof bytes > 4; /* 2^62 bytes */
    cr_assert(tort_tensor_bytes(&largest, &bytes) == fits && (!fits || (uint64_t)bytes >> 62 == 1));
    largest.type = TORT_DOUBLE;
    cr_assert_not(tort_tensor_bytes(&largest, &bytes));
    tort_tensor ranked = {.type = TORT_INT4, .rank = TORT_MAX_RANK + 1};
    cr_assert_not(tort_tensor_count(&ranked, &count));
}
