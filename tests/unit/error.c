/* Tests of runtime/core/base/error.c. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/core/base/error.h"

Test(error, a_failure_fills_every_field) {
    tort_error error = {.node = 7, .provider = "cpu"};
    cr_assert_eq(tort_fail(&error, TORT_E_MODEL, "axis %d is not in [-%d, %d)", 5, 3, 3), TORT_E_MODEL);
    cr_assert_eq(error.code, TORT_E_MODEL);
    cr_assert_eq(error.node, -1);
    cr_assert_null(error.provider);
    cr_assert_str_eq(error.msg, "axis 5 is not in [-3, 3)");
}

Test(error, a_caller_that_wants_no_error_gets_the_status) {
    cr_assert_eq(tort_fail(NULL, TORT_E_RUN, "x"), TORT_E_RUN);
    cr_assert_eq(tort_out_of_memory(NULL, 5), TORT_E_MEMORY);
    tort_error_prefix(NULL, "x");
}

Test(error, a_prefix_goes_in_front_and_long_messages_are_cut) {
    tort_error error;
    tort_out_of_memory(&error, 4096);
    tort_error_prefix(&error, "node %s (%s-%d)", "Conv_12", "Conv", 11);
    cr_assert_str_eq(error.msg, "node Conv_12 (Conv-11): out of memory: an allocation of 4096 bytes failed");
    char text[2000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    tort_fail(&error, TORT_E_MODEL, "%s", text);
    cr_assert_eq(strlen(error.msg), sizeof error.msg - 1);
    tort_error_prefix(&error, "%s", text);
    cr_assert_eq(strlen(error.msg), sizeof error.msg - 1);
}
