/* rules.h - which nodes can run in 8 bits, and which of them are one: a table of operators, and what follows from it
 * for a net. */
#ifndef TORT_QUANTIZE_RULES_H
#define TORT_QUANTIZE_RULES_H

#include "runtime/quantize/net.h"
#include "runtime/quantize/quantize.h"

/* Kinds of operators. */
enum {
    TORT_RULE_WEIGHTS = 1, /* multiplies by input 1, by channel if that is constant; may be followed by Relu or Clip */
    TORT_RULE_SAME = 2,    /* moves or selects elements: output and input 0 have one scale */
    TORT_RULE_SUMS = 4,    /* computes from its inputs, each of a scale of its own */
    TORT_RULE_UNARY = 8,   /* a function of each element: a table of 256 entries */
    TORT_RULE_BINARY = 16, /* one too, if the other input is one number */
    TORT_RULE_CONCAT = 32, /* inputs and output share a scale, where that costs no input more than 3 bits */
    TORT_RULE_FIXED = 64,  /* the output's range is known: low..high */
    TORT_RULE_CLAMP = 128  /* Relu or Clip, which 8 bits do by saturation: no value between it and what it follows */
};

typedef struct tort_rule {
    const char *op;
    uint32_t kinds;
    float low, high;
} tort_rule;

/* Consequences of the rules, by node and by value. */
typedef struct tort_rules {
    const tort_net *net;
    const tort_rule **rows; /* by node; NULL: no rule */
    bool *able;             /* by node: it can be in 8 bits */
    const char **why;       /* by node that is not able: why */
    bool *joined;           /* by value: made and read by two nodes that are one, so that it is never rounded */
    int32_t *root;          /* by value: the value of which it is an elementwise function; itself, if of none */
    int32_t *unit;          /* by node: the number of its unit; -1: not able */
    int32_t unit_count;
} tort_rules;

void tort_rules_apply(tort_rules *rules, const tort_net *net, tort_scheme scheme, tort_maker *maker);
/* Keeps a node in float32; tort_rules_number follows, which finds joined values and units anew. */
void tort_rules_refuse(tort_rules *rules, int32_t node, const char *why);
void tort_rules_number(tort_rules *rules);
/* True if the value is inside of a region of nodes in bytes: nothing rounds it. */
bool tort_rules_is_inner(const tort_rules *rules, const bool *bytes, int32_t value);
/* The axis of a weight that counts output channels; -1: one scale for all. */
int32_t tort_rules_weight_axis(const tort_net *net, const tort_net_node *node);

#endif
