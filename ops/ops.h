/* ops.h - the operators, fusions, counts and refusals of this build, for its description (runtime/build.c). */
#ifndef TORT_OPS_OPS_H
#define TORT_OPS_OPS_H

#include "runtime/include/pattern.h"

extern const tort_op *const tort_op_families[];         /* ops.c */
extern const tort_pattern *const tort_pattern_tables[]; /* ops.c */
extern const tort_flops tort_flops_table[];             /* flops.c */
extern const tort_refusal tort_refusals[];              /* refused.c */

#endif
