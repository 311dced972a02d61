/* plan_parts.h - what the makers of a plan share: plan.c drives them, plan_shapes.c tells what input shapes make of the
 * graph, plan_steps.c its order, plan_sizes.c what depends on shapes, plan_layout.c its memory. Private to them. */
#ifndef TORT_RUNTIME_PLAN_PLAN_PARTS_H
#define TORT_RUNTIME_PLAN_PLAN_PARTS_H

#include "runtime/lowered/lowered.h"
#include "runtime/plan/planned.h"

/* What a plan knows of a value: bits of tort_outline.known. Steps depend on nothing else of its shapes. */
enum {
    TORT_KNOWN_SHAPE = 1u << 0,   /* all dimensions of a tensor */
    TORT_KNOWN_BYTES = 1u << 1,   /* and its size can be counted */
    TORT_KNOWN_ELEMENTS = 1u << 2 /* its small contents */
};

/* What input shapes (NULL: as far as the session knows them) make of planned->infos and input_dims; *complete: the
 * shapes of all inputs that matter are known. afresh: every shape rule is asked, whatever the session knows. */
tort_status tort_plan_shapes(tort_planned *planned, const tort_tensor *inputs, bool afresh, bool *complete,
                             tort_error *error);
/* Elements that it evaluates: planned->scalars has room for so many. */
size_t tort_plan_shapes_scalars(const tort_lowered *lowered);

/* plan_record.c: whether runs can be recorded, when all steps stand. */
void tort_plan_decide_recording(const tort_lowered *lowered, tort_plan *plan);

/* The outline for what is known of each value, which is copied; owned by the caller. */
tort_status tort_outline_make(const tort_lowered *lowered, const uint8_t *known, bool complete, tort_outline **outline,
                              tort_error *error);
void tort_outline_free(const tort_session *session, tort_outline *outline); /* NULL is allowed */

/* Shapes and bytes of slots, literals, params and scratch. */
tort_status tort_plan_sizes(tort_planned *planned, tort_error *error);

/* How slots may share bytes. */
enum {
    TORT_SHARE_IN_PLACE = 1u << 0, /* an output is written over an input */
    TORT_SHARE_PARTS = 1u << 1,    /* outputs are parts of an input */
    TORT_SHARE_JOINS = 1u << 2     /* inputs are parts of an output */
};

/* Which slots share bytes in these ways. Then no more: every slot has bytes of its own again. */
tort_status tort_plan_share(tort_planned *planned, uint32_t ways, bool *shares, tort_error *error);
void tort_plan_unshare(tort_plan *plan);

/* Steps that only move what others can read by strides become views, see plan_strides.c; `viewed`, a slot, is set for
 * their outputs, *shares where there is one. */
tort_status tort_plan_stride(tort_planned *planned, bool *viewed, bool *shares, tort_error *error);
/* Writes the strides of views into the params of who reads them. Once a plan, when all views are decided. */
tort_status tort_plan_restride(tort_planned *planned, tort_error *error);

/* Where everything is in each memory: where it is in the plan of the upper bounds. False: there is none, or something
 * does not fit there, and nothing is changed. */
bool tort_plan_take_places(tort_planned *planned);
/* The same for this plan alone, and whether that may take so much. */
tort_status tort_plan_layout(tort_planned *planned, tort_error *error);

#endif
