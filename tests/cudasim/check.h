/* check.h - the few lines that the simulator's test programs share: count checks, print what failed, sum up. */
#ifndef TESTS_CUDASIM_CHECK_H
#define TESTS_CUDASIM_CHECK_H

#include <stdarg.h>
#include <stdio.h>

static int checks_passed, checks_failed;

/* Says what was expected, in words; prints it only when it does not hold. */
__attribute__((format(printf, 2, 3))) static inline bool check(bool holds, const char *format, ...) {
    if (holds) {
        checks_passed++;
        return true;
    }
    va_list arguments;
    va_start(arguments, format);
    printf("FAILED: ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    checks_failed++;
    return false;
}

/* The exit status of the program. */
static inline int summary(const char *program) {
    printf("%s: %d passed, %d failed\n", program, checks_passed, checks_failed);
    return checks_failed != 0 || checks_passed == 0;
}

#endif
