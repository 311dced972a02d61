/* check.h - what runner.c needs of check.c. */
#ifndef TORT_TESTS_TARGETS_CHECK_H
#define TORT_TESTS_TARGETS_CHECK_H

#include "tests/targets/criterion/criterion.h"

/* Ends the process: 1 if a check failed. */
void cr_end(void);

#endif
