/* harness.h - a compiled model as harness.c sees it; run.py writes a file with these for each model. */
#ifndef TORT_TESTS_EMBED_HARNESS_H
#define TORT_TESTS_EMBED_HARNESS_H

#include <stddef.h>

typedef struct harness_port {
    const char *path; /* file that an input is read from, or an output is written to */
    void *bytes;
    size_t count;
} harness_port;

extern const harness_port harness_inputs[], harness_outputs[], harness_arena;
extern const size_t harness_input_count, harness_output_count;

/* Calls NAME_run on these. */
int harness_run(void);

/* The instructions between calls of these are counted by insn.c. */
void harness_begin(void);
void harness_end(void);

#endif
