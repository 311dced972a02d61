/* Tests of runtime/core/providers/sizes.c: bytes as users type them. */
#include <criterion/criterion.h>

#include "runtime/include/provider.h"

Test(sizes, a_number_and_a_unit_of_1024_in_either_case) {
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        {"0", 0},
        {"1000", 1000},
        {"007", 7},
        {"64k", 64 << 10},
        {"64K", 64 << 10},
        {"512m", 512u << 20},
        {"512M", 512u << 20},
        {"2g", (uint64_t)2 << 30},
        {"2G", (uint64_t)2 << 30},
        {"1T", (uint64_t)1 << 40},
        {"1t", (uint64_t)1 << 40},
        {"18446744073709551615", UINT64_MAX},
        {"16777215T", (uint64_t)16777215 << 40},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t bytes = 1;
        cr_assert(tort_read_size(cases[i].text, &bytes), "%s", cases[i].text);
        cr_assert_eq(bytes, cases[i].bytes, "%s", cases[i].text);
    }
}

Test(sizes, what_is_no_size_is_refused_and_changes_nothing) {
    static const char *const wrong[] = {"",
                                        "k",
                                        " 1",
                                        "1 ",
                                        "+1",
                                        "-1",
                                        "0x10",
                                        "1.5G",
                                        "1kB",
                                        "1kk",
                                        "1P",
                                        "2GiB",
                                        "1e9",
                                        "18446744073709551616",
                                        "18446744073709551615k",
                                        "16777216T",
                                        "99999999999999999999G"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t bytes = 42;
        cr_assert_not(tort_read_size(wrong[i], &bytes), "%s", wrong[i]);
        cr_assert_eq(bytes, 42, "%s", wrong[i]);
    }
}
