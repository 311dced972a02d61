/* pattern.h - a fusion as a row of data: the operators that match, their connections, and the operator that replaces
 * them. Rows are written by ops/ and read by the core.
 *
 * A row states that one operator computes the same as some nodes of a graph. Where nodes match, fuse.c offers the
 * replacement to the provider on which they are placed. The words of a row:
 *
 *   nodes   "*c=Conv(x,w,b?) s=Sigmoid(c) y=Mul(c,s)": name=Operator(operands), each node after those that it reads;
 *           the output of the last one is the output of the replacement. An operand is the name of a node or of a value
 *           from outside, the same value wherever it occurs; "b?" may be absent; "#k" is a constant; "#0.5" a constant
 *           of one element near that number. "Conv|tinyort::FusedConv" is one of several operators;
 *           "Conv{group=1,auto_pad=NOTSET}" requires these values of attributes that the operator has; with "==" it
 *           must have them. The node with a star (none: the first) is the anchor: the replacement has its name, and
 *           those of its attributes that the new operator has, too.
 *   makes   "tinyort::FusedConv(x,w,b,z){activation=clip,activation_alpha=y.alpha}": the replacement; "y.alpha" is an
 *           attribute of node y. If it lists as many operators as the anchor, each replaces the anchor's in its place.
 *
 * Operands of an operator that commutes (TORT_OP_COMMUTES) match in either order. A value between two matched nodes
 * must have no other reader, and no node a second output. A node with a tilde, "~d=DequantizeLinear(x,#s)", may have
 * other readers, or be folded: it is not replaced, and the replacement reads its operands.
 *
 * A row of one node makes another operator of it. Steps of the executor (Reshape) belong to the provider of the others.
 *
 * "&c=MatMul(x,#w)" alone is for siblings: nodes that read the same values, each with constants of its own, all of one
 * shape. The replacement has one output per sibling, and in place of each constant the constants of all siblings.
 *
 * "^y=QuantizeLinear(x,#t)" makes the table of any function of one 8-bit tensor x: t has its 256 results.
 * Read next: fuse.c, integers.c, siblings.c, ops/fuse_epilogue.c. */
#ifndef TORT_RUNTIME_PATTERN_H
#define TORT_RUNTIME_PATTERN_H

#include "runtime/include/op.h"

typedef struct tort_match tort_match;

typedef struct tort_pattern {
    const char *name; /* name for --no-fusion; shared by rows that spell one fusion in several ways */
    const char *nodes, *makes;
    /* Optional: checks conditions that the words cannot express, by the functions below, and changes the replacement.
     * False: the nodes do not match after all. NULL: the words suffice. */
    bool (*build)(tort_match *match);
} tort_pattern;

/* ---- questions of build, by the names in `nodes`; an unknown name is absent -------------------------------------- */

/* Type and shape of a value as far as they are known, valid until build returns; NULL if it is absent. */
const tort_info *tort_match_info(const tort_match *match, const char *name);
/* A view of a node for tort_attr_...: its row and attributes, without inputs and outputs. */
tort_node_view tort_match_node(const tort_match *match, const char *name);
/* True if both are present and certain to have one shape, as far as planning can tell. */
bool tort_match_same_shape(const tort_match *match, const char *a, const char *b);
/* Gets a constant with its contents, valid until build returns; false if it is absent, not constant, or not readable.
 */
bool tort_match_constant(tort_match *match, const char *name, tort_tensor *tensor);
/* Says why nodes that fit a row are no product of integers after all, and what would help; returns false. */
bool tort_match_refuse(tort_match *match, const char *why, const char *cure);
/* Zeroed memory that lives as long as the session; NULL: out of memory. */
void *tort_match_memory(tort_match *match, size_t bytes);

/* ---- changes by build of the replacement ------------------------------------------------------------------------- */

/* Sets an attribute; a list is borrowed (tort_match_memory). False: out of memory. */
bool tort_match_set(tort_match *match, const tort_attribute *attribute);
bool tort_match_set_int(tort_match *match, const char *name, int64_t value);
bool tort_match_set_float(tort_match *match, const char *name, float value);
bool tort_match_set_string(tort_match *match, const char *name, const char *value);
/* Replaces operand `name` of `makes` by a new constant with these contents, which are copied to where `data` then
 * points. Without contents build fills them in there, in floats. False: out of memory. */
bool tort_match_replace(tort_match *match, const char *name, tort_tensor *tensor);
/* Replaces operand `name`, a constant, by one of the same type and shape whose contents are computed from the old ones
 * whenever they are needed, so that a weight is not held twice. */
typedef void tort_derive(const void *arg, const void *source, void *out);
bool tort_match_derive(tort_match *match, const char *name, tort_derive *derive, const void *arg);
/* Replaces operand `name` by the value `other`; NULL: by none. */
void tort_match_read(tort_match *match, const char *name, const char *other);

#endif
