/* ops.c - the lists of operator families and of fusions in this build.
 *
 * Each family is one file with its rows in a table at its end. The build writes ops/tables.inc: a line for each table
 * in the folders that the make variable OPS names: ops/ itself (which has the families that domains share), ops/ml and
 * ops/microsoft. OPS=FILE has all of them, of which .ci/choose_ops.awk keeps the tables and rows of the operators in
 * that file. */
#include "ops/ops.h"

#define TABLE(name) extern const tort_op name[];
#include "ops/tables.inc"
#undef TABLE

#define TABLE(name) name,
const tort_op *const tort_op_families[] = {
#include "ops/tables.inc"
    NULL,
};

extern const tort_pattern tort_patterns_weights[];
extern const tort_pattern tort_patterns_epilogue[];
extern const tort_pattern tort_patterns_activation[];
extern const tort_pattern tort_patterns_layer_norm[];
extern const tort_pattern tort_patterns_attention[];
extern const tort_pattern tort_patterns_quantized[];
extern const tort_pattern tort_patterns_moves[];

const tort_pattern *const tort_pattern_tables[] = {
    tort_patterns_weights,   tort_patterns_epilogue,  tort_patterns_activation, tort_patterns_layer_norm,
    tort_patterns_attention, tort_patterns_quantized, tort_patterns_moves,      NULL,
};
