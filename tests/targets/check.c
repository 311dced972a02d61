/* check.c - what a test does when something does not hold. Read first: criterion/criterion.h. */
#include "tests/targets/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* A child is one test. */
static int failures;

void cr_end(void) {
    fflush(NULL);
    _exit(failures ? 1 : 0);
}

void cr_check(bool holds, bool fatal, const char *file, int line, const char *condition, const char *message, ...) {
    va_list arguments;
    if (holds) return;
    failures++;
    printf("%s:%d: %s", file, line, condition);
    if (*message) {
        va_start(arguments, message);
        printf(": ");
        vprintf(message, arguments);
        va_end(arguments);
    }
    printf("\n");
    if (fatal) cr_end();
}
