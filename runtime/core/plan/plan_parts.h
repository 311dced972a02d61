/* plan_parts.h - functions shared by the files that make a plan: plan.c calls plan_shapes.c (shapes of all
 * values), plan_steps.c (steps and their order), plan_sizes.c (bytes, params, scratch) and plan_layout.c
 * (offsets). Private to them. */
#ifndef TORT_RUNTIME_PLAN_PLAN_PARTS_H
#define TORT_RUNTIME_PLAN_PLAN_PARTS_H

#include "runtime/core/lowered/lowered.h"
#include "runtime/core/plan/planned.h"

/* Bits of tort_outline.known, by value. Steps depend on nothing else of the shapes, so equal bits mean equal steps. */
enum {
    TORT_KNOWN_SHAPE = 1u << 0,   /* a tensor, all dimensions are known */
    TORT_KNOWN_BYTES = 1u << 1,   /* and the size in bytes does not overflow */
    TORT_KNOWN_ELEMENTS = 1u << 2 /* small contents are known */
};

/* plan_tables.c: makes the arrays whose lengths depend on the graph alone; those that depend on the outline, which are
 * kept while the outline is. */
tort_status tort_plan_open_shapes(tort_planned *planned, tort_error *error);
tort_status tort_plan_open_tables(tort_planned *planned, tort_error *error);

/* Fills planned->infos and input_dims for these input shapes (NULL: those that the session knows).
 * *complete: the shapes of all inputs that are read are known. afresh: every shape rule is called, even
 * where the session knows the result. */
tort_status tort_plan_shapes(tort_planned *planned, const tort_tensor *inputs, bool afresh, bool *complete,
                             tort_error *error);
/* Number of elements that tort_plan_shapes evaluates: the capacity of planned->scalars. */
size_t tort_plan_shapes_scalars(const tort_lowered *lowered);

/* plan_record.c: decides whether runs can be recorded; called when all steps are made. */
void tort_plan_decide_recording(const tort_lowered *lowered, tort_plan *plan);

/* plan_outlines.c: sets planned->outline to that of the bits in planned->infos; gives it back, if it is the plan's own.
 */
tort_status tort_plan_choose_outline(tort_planned *planned, bool complete, bool afresh, tort_error *error);
void tort_plan_drop_outline(tort_planned *planned);
/* Makes the outline for these bits of each value, which it copies; owned by the caller. */
tort_status tort_outline_make(const tort_lowered *lowered, const uint8_t *known, bool complete, tort_outline **outline,
                              tort_error *error);
void tort_outline_free(const tort_session *session, tort_outline *outline); /* NULL is allowed */

/* Sets shapes and bytes of slots, literals, params and scratch. */
tort_status tort_plan_sizes(tort_planned *planned, tort_error *error);

/* Ways in which slots may share bytes. */
enum {
    TORT_SHARE_IN_PLACE = 1u << 0, /* an output overwrites an input */
    TORT_SHARE_PARTS = 1u << 1,    /* outputs are parts of an input */
    TORT_SHARE_JOINS = 1u << 2     /* inputs are parts of an output */
};

/* Decides which slots share bytes in these ways; *shares: any do. tort_plan_unshare undoes it:
 * each slot owns its bytes. */
tort_status tort_plan_share(tort_planned *planned, uint32_t ways, bool *shares, tort_error *error);
void tort_plan_unshare(tort_plan *plan);

/* Makes steps that only move elements views where all readers can use strides, see plan_strides.c; sets viewed[slot]
 * for their outputs, and *shares if there are any. */
tort_status tort_plan_stride(tort_planned *planned, bool *viewed, bool *shares, tort_error *error);
/* Writes the strides of views into the params of their readers. To be called once a plan,
 * after all views are decided. */
tort_status tort_plan_restride(tort_planned *planned, tort_error *error);

/* Makes all steps work on whole values again. */
void tort_plan_unband(tort_plan *plan);

/* Takes all offsets from the plan for the upper bounds. False: there is none, or something is larger than there;
 * then nothing is changed. */
bool tort_plan_take_places(tort_planned *planned);
/* Chooses offsets for this plan alone, and checks the memory limits. */
tort_status tort_plan_layout(tort_planned *planned, tort_error *error);
/* Chooses offsets for values as they share blocks now; fast_bytes: in two memories (tort_memory_split), 0: in one. */
tort_status tort_plan_place(tort_planned *planned, uint64_t fast_bytes, tort_error *error);

#endif
