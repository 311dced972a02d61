/* cpu_kernel_cases.h - the random nodes that the rows of the provider `cpu` are tried with. Read next: cpu_kernels.c.
 */
#ifndef TORT_TESTS_UNIT_CPU_KERNEL_CASES_H
#define TORT_TESTS_UNIT_CPU_KERNEL_CASES_H

#include "runtime/graph/graph.h"

#define MAX_INPUTS 9

typedef struct random_node {
    int32_t opset, input_count, attribute_count;
    tort_tensor inputs[MAX_INPUTS];
    bool constant[MAX_INPUTS];
    float tolerance; /* relative, and a tenth of it absolute; 0: the last bit of a division */
    tort_attribute attributes[12];
    int64_t lists[6][8];
    int32_t list_count;
} random_node;

typedef struct random_source {
    uint64_t state;
} random_source;

typedef struct kernel_case {
    const char *domain, *op, *kernel;
    void (*make)(random_node *node, random_source *random);
    const char *plain; /* what `make` makes, if that is another operator, which `op` is with an epilogue */
} kernel_case;

extern const kernel_case kernel_cases[]; /* ends with an op of NULL */

/* Makes a node of a plain operator, whose output is like y, one of the fused operator `op`. */
void add_epilogue(random_node *node, random_source *random, const char *op, const tort_info *y);

#endif
