/* passes.h - the passes over lowered graphs, in the order in which session.c calls them. */
#ifndef TORT_RUNTIME_PASSES_PASSES_H
#define TORT_RUNTIME_PASSES_PASSES_H

#include "runtime/core/lowered/lowered.h"

struct tort_candidate; /* claim.h */

/* choose.c: replaces the model's outputs by those that the options name. */
tort_status tort_choose_outputs(tort_session *session, tort_error *error);

/* fold.c: evaluates nodes that do not depend on inputs, and marks those that shapes determine; bodies too. */
tort_status tort_fold(tort_session *session, tort_error *error);
/* Runs the reference of the node's operator on tensors whose memory is there; the view has their types and shapes. */
tort_status tort_evaluate(tort_session *session, const tort_node *node, const tort_node_view *view, tort_tensor *inputs,
                          tort_tensor *outputs, tort_watch *watch);
/* pins.c: reads the pins of the options; then checks that each pinned node runs on a provider at all. */
tort_status tort_read_pins(tort_session *session, tort_error *error);
tort_status tort_check_pins(const tort_session *session, tort_error *error);
/* place.c: the only function that decides where units run. */
tort_status tort_place(tort_session *session, tort_error *error);
/* Offers a unit to the providers behind its own, which it must leave as the verdict on its segment says.
 * `pass` is over its graph. */
tort_status tort_place_onward(tort_lowered *lowered, tort_pass *pass, int32_t unit, const tort_verdict *verdict,
                              tort_error *error);
/* placed.c: completes the cures that kernels gave: an unplaced node could run on a provider with reference loops; a
 * node that fell back without a cure could be pinned where it is. */
tort_status tort_add_cures(struct tort_candidate *candidate, tort_error *error);
/* True if a node of the unit is on a provider other than the first because earlier ones refused it. Pinned nodes and
 * the operators in `allow` ("A,B"; NULL: none) do not count. */
bool tort_unit_fell_back(const tort_lowered *lowered, int32_t unit, const char *allow);
/* TORT_E_PLACEMENT names all nodes without a provider. */
tort_status tort_check_placed(const tort_session *session, tort_error *error);
/* segment.c: gives segments to providers that compile several nodes into one; chain.h has how it is reached. */
extern const struct tort_segmenting tort_segmenting;
/* TORT_E_PLACEMENT for a strict session with nodes that fell back, except options.allow. */
tort_status tort_place_strict(const tort_session *session, tort_error *error);
/* TORT_E_PLACEMENT for a session with options.strict_integers whose units precision.c finds in float32. */
tort_status tort_place_integers(const tort_session *session, tort_error *error);

/* fuse.c: fuses units of one provider, if it has a kernel for all of them together. */
tort_status tort_fuse(tort_session *session, tort_error *error);
/* precision.c: counts the products of 8-bit numbers, and notes on those that are left in float32 why they are. */
tort_status tort_note_precision(tort_session *session, tort_error *error);
/* layout.c: chooses the layouts of operands; a unit that would be the only one in its layout
 * gets another kernel row. */
tort_status tort_layout_units(tort_session *session, tort_error *error);
/* share.c: finds units whose packed weights are those of an earlier unit; once they are packed, sets their places. */
tort_status tort_share_packed(tort_session *session, tort_error *error);
void tort_share_places(tort_session *session);
/* pack.c: allocates the block for packed weights; then packs the weights of all units of a graph. */
tort_status tort_pack_open(tort_session *session, tort_error *error);
tort_status tort_pack_units(tort_lowered *lowered, tort_error *error);

/* prepare.c: packs weights and uploads constants; frees what a session holds. */
tort_status tort_prepare_all(tort_session *session, tort_error *error);
void tort_release_all(tort_session *session);
/* Releases what a unit's kernel prepared, or an engine compiled for it. */
void tort_release_prepared(const tort_session *session, tort_unit *unit);

#endif
