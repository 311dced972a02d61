/* claim.h - offers a node to a provider of the chain. place.c offers each node to one provider after the other, fuse.c
 * a fused node to the provider of its parts, layout.c a node to other rows of the same provider. */
#ifndef TORT_RUNTIME_PROVIDERS_CLAIM_H
#define TORT_RUNTIME_PROVIDERS_CLAIM_H

#include "runtime/core/graph/check.h"
#include "runtime/core/lowered/lowered.h"

#define TORT_MAX_REASONS 64 /* verdicts kept for one node */

/* A node that is being placed. */
typedef struct tort_candidate {
    tort_session *session;
    tort_lowered *lowered;
    int32_t index; /* the node's index in the graph */
    const tort_node *node;
    const tort_node_view *view;
    tort_unit *unit;     /* receives provider, kernel and label of the row that takes the node */
    tort_kernel widened; /* the last row that was asked through tort_provider.widening */
    bool no_loops;       /* refuse rows that run the reference loop */
    bool alone;          /* refuse rows for segments only */
    tort_reason reasons[TORT_MAX_REASONS];
    int32_t reason_count;
} tort_candidate;

/* Resolves the params with what is known at placement, into unit->params and the view. */
tort_status tort_candidate_resolve(tort_candidate *candidate, tort_node_view *view, tort_error *error);
/* The verdict of one row, including the library that it needs. */
tort_verdict tort_candidate_ask(tort_candidate *candidate, tort_link *link, const tort_kernel *kernel);
/* Makes the row for other types: a copy with the functions of the provider's widening. False: not possible. */
bool tort_widen_row(const tort_provider *provider, const tort_kernel *row, tort_kernel *widened);
/* Starts from the unit's verdicts, and adds why it is in no segment of the provider. */
tort_status tort_candidate_keep_out(tort_candidate *candidate, int32_t provider, const tort_verdict *verdict,
                                    tort_error *error);
/* Offers the node to the rows of one provider, in the order of the table; keeps their refusals. */
tort_status tort_candidate_offer(tort_candidate *candidate, int32_t provider, bool *taken, tort_error *error);
/* Offers a placed node to the rows behind its own in the same provider, and records this verdict for the row that it
 * leaves. If none takes it, nothing changes. */
tort_status tort_candidate_move_on(tort_candidate *candidate, const tort_verdict *verdict, bool *moved,
                                   tort_error *error);
/* Offers the node to the rows of this name in one provider, as a saved plan says that one takes it. */
tort_status tort_candidate_claim(tort_candidate *candidate, int32_t provider, const char *kernel, tort_error *error);
/* The label of a node that the executor runs itself, independent of providers ("alias");
 * NULL: it runs on a provider. */
const char *tort_candidate_host_label(const tort_candidate *candidate);
/* Computes how many bytes the kernel will pack, and which inputs that consumes. */
tort_status tort_candidate_size_packing(tort_candidate *candidate, tort_error *error);
/* Copies the verdicts into the unit. */
tort_status tort_candidate_store(tort_candidate *candidate, tort_error *error);

/* Adds a reason to a unit's, unless there are TORT_MAX_REASONS. False: out of memory. */
bool tort_unit_add_reason(tort_session *session, tort_unit *unit, const tort_reason *reason);

#endif
