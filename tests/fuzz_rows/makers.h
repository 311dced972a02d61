/* makers.h - the random models that fast rows are tried with. Read next: nodes.c, chains.c. */
#ifndef TORT_TESTS_FUZZ_ROWS_MAKERS_H
#define TORT_TESTS_FUZZ_ROWS_MAKERS_H

#include "tests/fuzz_rows/engines.h"
#include "tests/onnx_bytes.h"
#include "tests/unit/cpu_kernel_cases.h"

/* A subject with what it consists of; free_made frees it. */
typedef struct random_model {
    subject subject;
    tort_model *model; /* NULL: not valid, which no generator avoids altogether */
    char text[160];    /* what it is, for people */
    random_node node;  /* of make_node; its inputs are the subject's */
    void *data;        /* of make_chain: the input's */
    onnx_bytes bytes;  /* of make_chain: the model reads its weights there */
} random_model;

/* A node of a row's case. */
void make_node(random_model *made, const kernel_case *kernel, random_source *random, const tort_env *env);
/* Some nodes around convolutions, one after the other and side by side, as models of pictures have them: what becomes
 * one unit, stays in a layout, or is written in place. */
void make_chain(random_model *made, random_source *random, const tort_env *env);
void free_made(random_model *made);

/* Now and then NaN, an infinity, -0 or a denormal. */
void spoil(const tort_tensor *tensor, random_source *random);

#endif
