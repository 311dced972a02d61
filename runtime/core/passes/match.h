/* match.h - parsed patterns, and their matches in a lowered graph. Private to pattern.c,
 * match.c, fuse.c and siblings.c. */
#ifndef TORT_RUNTIME_PASSES_MATCH_H
#define TORT_RUNTIME_PASSES_MATCH_H

#include "runtime/core/graph/check.h"
#include "runtime/core/graph/infer.h"
#include "runtime/core/lowered/lowered.h"

enum {
    TORT_PATTERN_NODES = 12,
    TORT_PATTERN_VALUES = 32, /* the first TORT_PATTERN_NODES are the outputs of the pattern's nodes, in order */
    TORT_PATTERN_OPERANDS = TORT_INFER_INPUTS, /* inputs of a node, which a pass has room for */
    TORT_PATTERN_ATTRIBUTES = 16               /* of the made node, without defaults */
};

/* ---- parsed ------------------------------------------------------------------------------------------------------ */

typedef enum tort_operand_kind { TORT_OPERAND_VALUE, TORT_OPERAND_CONSTANT, TORT_OPERAND_NUMBER } tort_operand_kind;

typedef struct tort_operand {
    tort_operand_kind kind;
    bool optional;
    int32_t value; /* VALUE, CONSTANT: index of the value in the pattern */
    double number;
} tort_operand;

/* A node of a pattern. Strings point into the row. */
typedef struct tort_pattern_node {
    tort_string operators;  /* "Conv|tinyort::FusedConv" */
    tort_string conditions; /* "group=1,auto_pad=NOTSET" */
    tort_operand operands[TORT_PATTERN_OPERANDS];
    int32_t operand_count;
    bool spare; /* may be folded or have other readers; then it stays, and the made node bypasses it */
} tort_pattern_node;

typedef struct tort_parsed {
    const tort_pattern *row;
    tort_pattern_node nodes[TORT_PATTERN_NODES];
    tort_string names[TORT_PATTERN_VALUES];
    int32_t node_count, value_end, anchor;
    tort_string made_operators, made_attributes;
    int32_t made[TORT_PATTERN_OPERANDS]; /* values that the made node reads, by index in the pattern */
    int32_t made_count;
    uint64_t ends; /* tort_operator_bit of all operators of the last node: other nodes need not be tried */
    char apart;    /* '&', '^': a row of one node that siblings.c or integers.c reads; else 0 */
    bool off;
} tort_parsed;

/* Parses a row; returns NULL, or what is wrong with it. */
const char *tort_pattern_parse(const tort_pattern *row, tort_parsed *parsed);
/* The index of the value in the pattern; -1: no value has this name. */
int32_t tort_parsed_value(const tort_parsed *parsed, const char *name, size_t length);

/* A bit of 64 for an operator of any domain: a one-hash Bloom filter, so different operators may share one. */
uint64_t tort_operator_bit(const char *op_type, size_t length);

/* Takes the next part of `text`, up to the separator; false at the end. */
bool tort_next_part(tort_string *text, char separator, tort_string *part);

/* ---- matched ----------------------------------------------------------------------------------------------------- */

enum { TORT_UNBOUND = -2 };

struct tort_match {
    const tort_parsed *pattern;
    tort_lowered *lowered;
    const int32_t *readers; /* by value: how often units that run read it, and outputs are it */
    int32_t reader_count;   /* values that existed when readers were counted; later ones are constants */
    int32_t provider;       /* the provider that all nodes are on */
    int32_t nodes[TORT_PATTERN_NODES];
    int32_t values[TORT_PATTERN_VALUES]; /* -1: absent; build may replace them */
    tort_attribute attributes[TORT_PATTERN_ATTRIBUTES];
    int32_t attribute_count;
    int32_t held[TORT_PATTERN_VALUES]; /* constants acquired for build */
    int32_t held_count;
    const char *why, *cure; /* what build says of nodes that it refuses; NULL: nothing */
    bool failed;            /* out of memory, or a weight cannot be read; the error is filled */
    tort_error *error;
};

/* True if the pattern matches with `node` as its last node; fills nodes and values. */
bool tort_match_at(tort_match *match, int32_t node);
/* True if node k of the pattern is spare and must stay, as it is folded or has other readers. */
bool tort_match_stays(const tort_match *match, int32_t k);
/* Calls the row's build; false: no match, or failed. */
bool tort_match_build(tort_match *match);
/* Makes the node that replaces the match, in the session's arena. False: impossible, or failed. */
bool tort_match_make(tort_match *match, tort_node *node);

#endif
