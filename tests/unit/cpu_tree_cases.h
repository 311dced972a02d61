/* cpu_tree_cases.h - random ensembles of trees, for cpu_kernel_cases.c. */
#ifndef TORT_TESTS_UNIT_CPU_TREE_CASES_H
#define TORT_TESTS_UNIT_CPU_TREE_CASES_H

#include "tests/unit/cpu_kernel_cases.h"

void make_tree_regressor(random_node *node, random_source *random);
void make_tree_classifier(random_node *node, random_source *random);
void make_tree_ensemble(random_node *node, random_source *random);

#endif
