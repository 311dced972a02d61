/* runner.c - runs the unit tests one after the other, each in a child of its own: `runner [PREFIX]` runs those whose
 * SUITE/TEST begins so. Read first: criterion/criterion.h. */
#include "tests/targets/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS                                                                                                        \
    1800 /* of a test: emulation takes ten times as long as a processor, and vectors of RISC-V still longer,           \
            whatever timeout a test asks for */

extern const cr_test *const __start_cr_tests[], *const __stop_cr_tests[];

static const cr_test *suite_of(const cr_test *test) {
    static const cr_test none;
    for (const cr_test *const *entry = __start_cr_tests; entry < __stop_cr_tests; entry++)
        if (!(*entry)->name && strcmp((*entry)->suite, test->suite) == 0) return *entry;
    return &none;
}

static void run_in_child(const cr_test *test) {
    const cr_test *suite = suite_of(test);
    alarm(SECONDS);
    if (suite->init) suite->init();
    if (test->init) test->init();
    test->run();
    if (test->fini) test->fini();
    if (suite->fini) suite->fini();
    cr_end();
}

static bool passes(const cr_test *test) {
    int status;
    fflush(NULL);
    const pid_t child = fork();
    if (child < 0) {
        perror("runner: fork");
        exit(2);
    }
    if (child == 0) run_in_child(test);
    if (waitpid(child, &status, 0) != child) return false;
    if (WIFSIGNALED(status)) printf("%s/%s: ended by signal %d\n", test->suite, test->name, WTERMSIG(status));
    const bool passed = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!passed) printf("FAIL %s/%s\n", test->suite, test->name);
    return passed;
}

static bool is_wanted(const cr_test *test, const char *prefix) {
    char name[200];
    snprintf(name, sizeof name, "%s/%s", test->suite, test->name ? test->name : "");
    return test->name && strncmp(name, prefix, strlen(prefix)) == 0;
}

int main(int count, char **arguments) {
    const char *prefix = count > 1 ? arguments[1] : "";
    int passed = 0, failed = 0;
    for (const cr_test *const *entry = __start_cr_tests; entry < __stop_cr_tests; entry++) {
        if (!is_wanted(*entry, prefix)) continue;
        if (passes(*entry))
            passed++;
        else
            failed++;
    }
    printf("units: %d passed, %d failed\n", passed, failed);
    return failed || !passed;
}
