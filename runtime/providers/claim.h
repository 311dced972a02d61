/* claim.h - asking a provider of the chain whether it takes a node. place.c asks for each node, one provider after the
 * other; fuse.c asks the provider that several nodes are on for the one that they would become; layout.c asks for
 * another row of the same provider. */
#ifndef TORT_RUNTIME_PROVIDERS_CLAIM_H
#define TORT_RUNTIME_PROVIDERS_CLAIM_H

#include "runtime/graph/check.h"
#include "runtime/lowered/lowered.h"

#define TORT_MAX_SAID 64 /* refusals kept of one node */

/* One node while it is being placed. */
typedef struct tort_candidate {
    tort_session *session;
    tort_lowered *lowered;
    int32_t index; /* of the node in the graph */
    const tort_node *node;
    const tort_node_view *view;
    tort_unit *unit;     /* gets provider, kernel and label of the row that takes the node */
    tort_kernel widened; /* the row that was asked last, by tort_provider.widening */
    bool no_loops;       /* a row that runs the plain loop does not do */
    bool alone;          /* nor does one that runs in segments only */
    tort_said said[TORT_MAX_SAID];
    int32_t said_count;
} tort_candidate;

/* An input without a type comes from a node that could not be understood: its index, the node's own where the value is
 * made by none; -1: there is no such input. */
int32_t tort_candidate_unknown_source(const tort_candidate *candidate);
bool tort_only_tensors(const tort_node_view *view);
/* Decodes the node with what is known while placing: unit->params, which the view gets too. */
tort_status tort_candidate_resolve(tort_candidate *candidate, tort_node_view *view, tort_error *error);
/* What one row says, and the library that it needs. */
tort_verdict tort_candidate_ask(tort_candidate *candidate, tort_link *link, const tort_kernel *kernel);
/* The row for other types: a copy with the functions of the provider's widening. False: there is none. */
bool tort_widen_row(const tort_provider *provider, const tort_kernel *row, tort_kernel *widened);
/* Begins with what was said of the unit before, and adds why it is in no segment of the provider. */
tort_status tort_candidate_keep_out(tort_candidate *candidate, int32_t provider, const tort_verdict *verdict,
                                    tort_error *error);
/* Offers the node to one provider, to its rows in the order of the table. Keeps what it refused. */
tort_status tort_candidate_offer(tort_candidate *candidate, int32_t provider, bool *taken, tort_error *error);
/* Offers a node that has a place to the rows of its provider behind the one that has it, which refuses it with this
 * verdict now. Where none takes it, all stays as it is. */
tort_status tort_candidate_move_on(tort_candidate *candidate, const tort_verdict *verdict, bool *moved,
                                   tort_error *error);
/* Asks the rows of one provider that have this name, where a saved plan says that one takes the node. */
tort_status tort_candidate_claim(tort_candidate *candidate, int32_t provider, const char *kernel, tort_error *error);
/* Is the node a step of the executor, wherever providers are? Its label then. NULL: it is none. */
const char *tort_candidate_host_label(const tort_candidate *candidate);
/* What the kernel will pack of the node's weights: told now, done when they are prepared. */
tort_status tort_candidate_size_packing(tort_candidate *candidate, tort_error *error);
/* Copies what was said into the unit. */
tort_status tort_candidate_store(tort_candidate *candidate, tort_error *error);

#endif
