/* fuse.h - what fuse.c and siblings.c share. Private to them. */
#ifndef TORT_RUNTIME_PASSES_FUSE_H
#define TORT_RUNTIME_PASSES_FUSE_H

#include "runtime/passes/match.h"
#include "runtime/providers/claim.h"

typedef struct tort_fuser {
    tort_session *session;
    tort_lowered *lowered;
    tort_pass pass;
    tort_parsed *patterns; /* pattern_count */
    int32_t pattern_count;
    int32_t *readers; /* a value: operands of units that run, and outputs of the graph, that are it */
    bool *looked_at;  /* a value: a folded node reads it, so its shape is asked for whenever there is a plan */
    int32_t counted;  /* values that there were at the start */
    tort_error *error;
} tort_fuser;

/* The nodes of the graph that become one. */
typedef struct tort_fused_parts {
    int32_t nodes[TORT_PATTERN_NODES], count;
} tort_fused_parts;

/* Offers the made node, which stands in the graph already, to the provider of its parts. A kernel that runs the plain
 * loop is none, unless the anchor ran by its own. */
tort_status tort_fuse_offer(tort_fuser *fuser, tort_candidate *candidate, int32_t provider, bool at_host, bool *taken);
/* The unit was taken in the place of these, of which the anchor is one: gets what was said of that, and their names. */
tort_status tort_fuse_inherit(const tort_fuser *fuser, const tort_fused_parts *parts, int32_t anchor, int32_t provider,
                              tort_unit *joined);
/* The anchor's unit keeps what was said, once a fusion. */
tort_status tort_fuse_note_refusal(const tort_fuser *fuser, const char *fusion, int32_t anchor,
                                   const tort_candidate *candidate);
/* A unit that does nothing any more. */
void tort_fuse_retire(tort_unit *unit);

/* siblings.c: joins nodes of the graph by the rows for siblings. */
tort_status tort_fuse_siblings(tort_fuser *fuser);

#endif
