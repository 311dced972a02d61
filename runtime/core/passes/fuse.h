/* fuse.h - functions shared by fuse.c, integers.c and siblings.c. Private to them. */
#ifndef TORT_RUNTIME_PASSES_FUSE_H
#define TORT_RUNTIME_PASSES_FUSE_H

#include "runtime/core/passes/match.h"
#include "runtime/core/providers/claim.h"

typedef struct tort_fuser {
    tort_session *session;
    tort_lowered *lowered;
    tort_pass pass;
    tort_parsed *patterns; /* pattern_count */
    int32_t pattern_count;
    int32_t *readers; /* by value: how many operands of running units and outputs of the graph it is */
    bool *looked_at;  /* by value: a folded node reads it, so all plans need its shape */
    int32_t counted;  /* values before fusing; `readers` and `looked_at` have entries only for these */
    tort_error *error;
} tort_fuser;

enum { TORT_FUSED_PARTS = 32 }; /* max nodes that become one */

/* The nodes of the graph that become one node. */
typedef struct tort_fused_parts {
    int32_t nodes[TORT_FUSED_PARTS], count;
} tort_fused_parts;

/* Offers the made node, which is in the graph already, to the executor, then to the provider of its parts. A kernel
 * that runs the reference loop is refused, unless the anchor's did so too. */
tort_status tort_fuse_offer(tort_fuser *fuser, tort_candidate *candidate, int32_t provider, bool *taken);
/* The unit replaces these nodes, one of them the anchor: it inherits the anchor's verdicts,
 * and pins and names of all. */
tort_status tort_fuse_inherit(const tort_fuser *fuser, const tort_fused_parts *parts, int32_t anchor, int32_t provider,
                              tort_unit *joined);
/* Adds the refusal of a fusion to the anchor's verdicts, once per fusion. */
tort_status tort_fuse_note_refusal(const tort_fuser *fuser, const char *fusion, int32_t anchor,
                                   const tort_candidate *candidate);
/* Marks a unit as fused away. If folded nodes depend on the shape of its output, they depend on its inputs' too. */
void tort_fuse_retire(const tort_fuser *fuser, int32_t unit);

/* integers.c: what stands between DequantizeLinear and QuantizeLinear becomes tables, or nodes on 8-bit tensors. */
tort_status tort_fuse_integers(tort_fuser *fuser);
/* siblings.c: fuses nodes by the rows for siblings. */
tort_status tort_fuse_siblings(tort_fuser *fuser);

#endif
