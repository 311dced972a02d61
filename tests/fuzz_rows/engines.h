/* engines.h - one model in many sessions: the plain loops, and the fast rows with each instruction set and several
 * numbers of threads. Read next: engines.c. */
#ifndef TORT_TESTS_FUZZ_ROWS_ENGINES_H
#define TORT_TESTS_FUZZ_ROWS_ENGINES_H

#include "runtime/include/provider.h"

enum { MAX_PORTS = 16, MAX_ROWS = 1024, WHY = 400 };

/* What two floats may differ by: absolute + relative * |wanted| + of_largest * the largest |wanted| of the output. */
typedef struct tolerance {
    double absolute, relative, of_largest;
} tolerance;

/* A model and what is fed to it; the caller's. */
typedef struct subject {
    const tort_model *model;
    tort_tensor inputs[MAX_PORTS];
    int32_t input_count;
    tolerance tolerance;
    bool finite; /* else NaN or infinities are fed */
} subject;

/* The fast rows of the provider `cpu` in the order of their tables, and what came of each. */
typedef struct row_count {
    int64_t served;       /* sessions in which it ran, and agreed */
    int64_t widened;      /* of these, those of half types that it runs in float */
    int64_t served_by[6]; /* of all, those of each instruction set */
    bool incapable;       /* refused once because this processor lacks something */
} row_count;

extern const char *const instruction_sets[7]; /* of this architecture; NULL: no more */
int32_t row_total(void);
const tort_kernel *row_at(int32_t index);

/* Runs it everywhere; counts has row_total() elements. False: `why` says what is wrong. */
bool agrees(const tort_env *env, const subject *s, row_count *counts, char why[WHY]);

#endif
