/* criterion.h - the part of Criterion that the unit tests use, for processors that are simulated.
 *
 * Criterion starts every test by executing its own file again, which an emulator of one process such as qemu-aarch64
 * cannot do. Here a test is a child made by fork. Only for `make TARGET=... test-units`. Read next: runner.c. */
#ifndef TORT_TESTS_TARGETS_CRITERION_H
#define TORT_TESTS_TARGETS_CRITERION_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct cr_test {
    const char *suite, *name; /* no name: what the tests of the suite share */
    void (*run)(void);
    void (*init)(void), (*fini)(void);
    double timeout; /* is not heeded */
} cr_test;

/* The linker gathers pointers to all of them in one section. */
#define CR_ENTRY(id, ...)                                                                                              \
    static const cr_test id = {__VA_ARGS__};                                                                           \
    static const cr_test *const id##_pointer __attribute__((section("cr_tests"), used)) = &id

#define Test(group, test, ...)                                                                                         \
    static void group##_##test##_run(void);                                                                            \
    CR_ENTRY(group##_##test##_entry, .suite = #group, .name = #test, .run = group##_##test##_run, __VA_ARGS__);        \
    static void group##_##test##_run(void)

#define TestSuite(group, ...) CR_ENTRY(group##_suite, .suite = #group, __VA_ARGS__)

/* Notes a failure, and ends the test if it is fatal. The message is a printf format, or "". */
void cr_check(bool holds, bool fatal, const char *file, int line, const char *condition, const char *message, ...);

#define CR_CHECK(fatal, condition, text, ...) cr_check(condition, fatal, __FILE__, __LINE__, text, "" __VA_ARGS__)
#define CR_COMPARE(fatal, a, sign, b, ...) CR_CHECK(fatal, (a)sign(b), #a " " #sign " " #b, __VA_ARGS__)
#define CR_TEXT(fatal, a, sign, b, ...) CR_CHECK(fatal, strcmp(a, b) sign 0, #a " " #sign " " #b, __VA_ARGS__)
#define CR_CLOSE(fatal, a, b, by, ...) CR_CHECK(fatal, fabs((a) - (b)) <= (by), #a " is close to " #b, __VA_ARGS__)
#define CR_BYTES(fatal, a, b, size, ...) CR_CHECK(fatal, !memcmp(a, b, size), #a " has the bytes of " #b, __VA_ARGS__)

#define cr_assert(condition, ...) CR_CHECK(true, !!(condition), #condition, __VA_ARGS__)
#define cr_assert_fail(...) CR_CHECK(true, false, "fails", __VA_ARGS__)
#define cr_assert_not(condition, ...) CR_CHECK(true, !(condition), "not " #condition, __VA_ARGS__)
#define cr_assert_null(pointer, ...) CR_CHECK(true, !(pointer), #pointer " is NULL", __VA_ARGS__)
#define cr_assert_not_null(pointer, ...) CR_CHECK(true, !!(pointer), #pointer " is not NULL", __VA_ARGS__)
#define cr_assert_eq(a, b, ...) CR_COMPARE(true, a, ==, b, __VA_ARGS__)
#define cr_assert_neq(a, b, ...) CR_COMPARE(true, a, !=, b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...) CR_COMPARE(true, a, <, b, __VA_ARGS__)
#define cr_assert_leq(a, b, ...) CR_COMPARE(true, a, <=, b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...) CR_COMPARE(true, a, >, b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...) CR_COMPARE(true, a, >=, b, __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...) CR_TEXT(true, a, ==, b, __VA_ARGS__)
#define cr_assert_str_neq(a, b, ...) CR_TEXT(true, a, !=, b, __VA_ARGS__)
#define cr_assert_float_eq(a, b, by, ...) CR_CLOSE(true, a, b, by, __VA_ARGS__)
#define cr_assert_arr_eq(a, b, size, ...) CR_BYTES(true, a, b, size, __VA_ARGS__)

#define cr_expect(condition, ...) CR_CHECK(false, !!(condition), #condition, __VA_ARGS__)
#define cr_expect_fail(...) CR_CHECK(false, false, "fails", __VA_ARGS__)
#define cr_expect_not(condition, ...) CR_CHECK(false, !(condition), "not " #condition, __VA_ARGS__)
#define cr_expect_null(pointer, ...) CR_CHECK(false, !(pointer), #pointer " is NULL", __VA_ARGS__)
#define cr_expect_not_null(pointer, ...) CR_CHECK(false, !!(pointer), #pointer " is not NULL", __VA_ARGS__)
#define cr_expect_eq(a, b, ...) CR_COMPARE(false, a, ==, b, __VA_ARGS__)
#define cr_expect_neq(a, b, ...) CR_COMPARE(false, a, !=, b, __VA_ARGS__)
#define cr_expect_lt(a, b, ...) CR_COMPARE(false, a, <, b, __VA_ARGS__)
#define cr_expect_leq(a, b, ...) CR_COMPARE(false, a, <=, b, __VA_ARGS__)
#define cr_expect_gt(a, b, ...) CR_COMPARE(false, a, >, b, __VA_ARGS__)
#define cr_expect_geq(a, b, ...) CR_COMPARE(false, a, >=, b, __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...) CR_TEXT(false, a, ==, b, __VA_ARGS__)
#define cr_expect_str_neq(a, b, ...) CR_TEXT(false, a, !=, b, __VA_ARGS__)
#define cr_expect_float_eq(a, b, by, ...) CR_CLOSE(false, a, b, by, __VA_ARGS__)
#define cr_expect_arr_eq(a, b, size, ...) CR_BYTES(false, a, b, size, __VA_ARGS__)

#endif
