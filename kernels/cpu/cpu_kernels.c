/* cpu_kernels.c - the tables of kernels of the provider `cpu` in this build; OPS=FILE keeps those of its operators.
 *
 * Fast rows come first, in tables that the build finds (kernels/cpu/tables.inc; CPU_FIRST in the Makefile has those
 * that precede others); the last table has one row for any operator, which runs the plain loop of ops/. So this
 * provider claims every operator that has a plain loop, and the report names the fast rows that refused. A build with
 * CPU=plain has only that row. Read next: conv.c for a family with packed weights. */
#include "kernels/cpu/widened.h"

static tort_verdict claim_reference(const tort_target *target, const tort_node_view *node) {
    (void)target;
    if (node->op && node->op->reference) return tort_yes();
    return tort_no(TORT_NO_OP, "", "this operator has no plain loop in this build");
}

static const tort_kernel reference_kernels[] = {
    {"", "*", "reference", .claim = claim_reference},
    {.op = NULL},
};

#define TABLE(name) extern const tort_kernel name[];
#include "kernels/cpu/tables.inc"
#undef TABLE

/* Rows are asked in this order: a node that every fast row refuses goes to the reference row. */
#define TABLE(name) name,
const tort_kernel *const tort_cpu_kernels[] = {
#include "kernels/cpu/tables.inc"
    reference_kernels,
    NULL,
};
