/* pattern.h - a fusion as a row of data: which operators, joined how, make which one. Written by ops/, read by the
 * core.
 *
 * A row says of some nodes of a graph that another operator does what they do. Where nodes of a graph match, fuse.c
 * offers the made operator to the provider that they are on. The words:
 *
 *   nodes   "*c=Conv(x,w,b?) s=Sigmoid(c) y=Mul(c,s)": name=Operator(operands), each behind those that it reads; the
 *           last one's output is that of the made node. An operand is the name of a node or of a value from outside,
 * the same value wherever it stands; "b?" may be absent; "#k" is a constant; "#0.5" a constant of one element near that
 * number. "Conv|tinyort::FusedConv" is one of several operators; "Conv{group=1,auto_pad=NOTSET}" has these values of
 * attributes, as far as it has the attributes; with "==" it must have them. The node with a star (none: the first) is
 * the anchor: the made node has its name and those of its attributes that the made operator has too. makes
 * "tinyort::FusedConv(x,w,b,z){activation=clip,activation_alpha=y.alpha}": what they become; "y.alpha" is an attribute
 * of node y. With as many operators as the anchor has, each goes with the anchor's of its place.
 *
 * Operands of an operator that commutes (TORT_OP_COMMUTES) match in either order. A value that is made and read inside
 * must have no other reader, and no node a second output. A node with a tilde, "~d=DequantizeLinear(x,#s)", may have
 * other readers, or be folded: then it stays as it is, and what is made reads around it.
 *
 * "&c=MatMul(x,#w)" alone is for siblings: nodes that read the same values, but each constants of its own, all of one
 * shape. What they become has an output for each of them, and reads in the place of a constant those of all. Read next:
 * fuse.c, siblings.c, ops/fuse_epilogue.c. */
#ifndef TORT_RUNTIME_PATTERN_H
#define TORT_RUNTIME_PATTERN_H

#include "runtime/op.h"

typedef struct tort_match tort_match;

typedef struct tort_pattern {
    const char *name; /* as --no-fusion has it; rows that spell one thing in several ways share it */
    const char *nodes, *makes;
    /* What words do not say: asks the functions below and changes what is made. False: these nodes do not match after
     * all. NULL: the words say everything. */
    bool (*build)(tort_match *match);
} tort_pattern;

/* The tables of this build, each ends with a row whose name is NULL; ends with NULL. In ops/ops.c. */
extern const tort_pattern *const tort_pattern_tables[];

/* ---- what build may ask, by the names in `nodes`; a name that is not there is absent ----------------------------- */

/* What is known of a value, until build returns; NULL: it is absent. */
const tort_info *tort_match_info(const tort_match *match, const char *name);
/* The node for tort_attr_...: its row and attributes, without inputs and outputs. */
tort_node_view tort_match_node(const tort_match *match, const char *name);
/* Are both there and, as far as can be told while planning, of one shape for certain? */
bool tort_match_same_shape(const tort_match *match, const char *a, const char *b);
/* A constant with its contents, which stay until build returns; false: it is absent, not constant, or not readable. */
bool tort_match_constant(tort_match *match, const char *name, tort_tensor *tensor);
/* Zeroed memory that lives as long as the session; NULL: out of memory. */
void *tort_match_memory(tort_match *match, size_t bytes);

/* ---- what build may change of the made node ---------------------------------------------------------------------- */

/* Sets an attribute; a list is borrowed (tort_match_memory). False: out of memory. */
bool tort_match_set(tort_match *match, const tort_attribute *attribute);
bool tort_match_set_int(tort_match *match, const char *name, int64_t value);
bool tort_match_set_float(tort_match *match, const char *name, float value);
bool tort_match_set_string(tort_match *match, const char *name, const char *value);
/* Where `makes` says `name`, a new constant with these contents, which are copied. False: out of memory. */
bool tort_match_replace(tort_match *match, const char *name, const tort_tensor *tensor);
/* The same value of another shape, contents made of the old ones (which must be constant) whenever they are needed, so
 * that a weight is not held twice. */
typedef void tort_derive(const void *arg, const void *source, void *out);
bool tort_match_derive(tort_match *match, const char *name, tort_derive *derive, const void *arg);
/* The node reads another value there; NULL: none. */
void tort_match_read(tort_match *match, const char *name, const char *other);

#endif
