/* passes.h - the passes over lowered graphs, in the order in which session.c runs them. */
#ifndef TORT_RUNTIME_PASSES_PASSES_H
#define TORT_RUNTIME_PASSES_PASSES_H

#include "runtime/lowered/lowered.h"

/* choose.c: the outputs that the options name, in place of the model's. */
tort_status tort_choose_outputs(tort_session *session, tort_error *error);

/* fold.c: evaluates what does not depend on inputs, and marks what shapes determine; bodies too. */
tort_status tort_fold(tort_session *session, tort_error *error);
/* pins.c: what the user wants where; then, whether each of these nodes runs on a provider at all. */
tort_status tort_read_pins(tort_session *session, tort_error *error);
tort_status tort_check_pins(const tort_session *session, tort_error *error);
/* place.c: the one function that decides where units run. */
tort_status tort_place(tort_session *session, tort_error *error);
/* A unit cannot stay where it was placed, as the verdict on its segment says: it is offered to the providers behind.
 * `pass` is over its graph. */
tort_status tort_place_onward(tort_lowered *lowered, tort_pass *pass, int32_t unit, const tort_verdict *verdict,
                              tort_error *error);
/* Did a node of the unit come to where it is because a provider before refused it? One that is pinned there did not;
 * one of these operators is excused ("A,B"; NULL: none). */
bool tort_unit_fell_back(const tort_lowered *lowered, int32_t unit, const char *allow);
/* TORT_E_PLACEMENT names every node without a provider. */
tort_status tort_check_placed(const tort_session *session, tort_error *error);
/* segment.c: lets providers that compile several nodes into one have theirs. */
tort_status tort_segment_units(tort_session *session, tort_error *error);
/* --strict, --allow. */
tort_status tort_place_strict(const tort_session *session, tort_error *error);

/* fuse.c: joins units that are on one provider where it has a kernel for all of them at once. */
tort_status tort_fuse(tort_session *session, tort_error *error);
/* layout.c: gives units the layouts of their operands, and those that would be alone in one another row. */
tort_status tort_layout_units(tort_session *session, tort_error *error);
/* pack.c: the block for packed weights; then those of all units of a graph, packed by their kernels. */
tort_status tort_pack_open(tort_session *session, tort_error *error);
tort_status tort_pack_units(tort_lowered *lowered, tort_error *error);

/* prepare.c: packs weights, uploads constants; gives back what a session holds. */
tort_status tort_prepare_all(tort_session *session, tort_error *error);
void tort_release_all(tort_session *session);

#endif
