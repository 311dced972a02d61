/* planned.h - a plan with the memory it is made in: making, finding, fitting and freeing plans. */
#ifndef TORT_RUNTIME_PLAN_PLANNED_H
#define TORT_RUNTIME_PLAN_PLANNED_H

#include "runtime/core/lowered/lowered.h"
#include "runtime/core/plan/plan.h"

/* The part of a plan that does not depend on sizes, see plan_steps.c. Plans with equal `known` share
 * it; immutable once shared, but for `orders`. */
struct tort_outline {
    struct tort_outline *next;
    bool shared; /* owned by the list of its graph; else by its only plan, which uses its slots and steps directly */
    bool fits;   /* a kernel of a static step has a fit function */
    atomic_uint orders;   /* two bits a memory: what its last plan found of the order of offsets (tort_memory_plan) */
    tort_plan plan;       /* without shapes, sizes and offsets */
    const uint8_t *known; /* TORT_KNOWN_ bits, by value */
    int32_t slot_capacity, step_capacity, operand_capacity;
    tort_arena arena;
};

/* A step as it was in the previous fill, with the serial number of its fit, so that plan_changes.c can tell what
 * changed. */
typedef struct tort_step_before {
    tort_step step;
    uint64_t fit;
} tort_step_before;

/* A plan and the memory that it is made in. It can be refilled for other input shapes: then it reuses this memory, and
 * allocates only what is missing. */
struct tort_planned {
    struct tort_lowered *lowered; /* the graph it is of */
    const tort_env *env;          /* the session's, or the env of the context that owns the plan */
    struct tort_planned *next;
    int32_t users;        /* contexts that hold it; guarded by session->lock */
    bool ready;           /* complete, and fitted if the session can run; false: matches no input shapes */
    uint64_t serial;      /* unique in the session, new at each fill: detects changes */
    bool follows_session; /* input shapes agree with the session's infos, and shape rules were called only where
                             necessary */
    bool reused;     /* the previous contents are still valid for values and steps that no open dimension reaches */
    uint32_t orders; /* as those of the outline */
    tort_outline *outline;
    const tort_outline *sized;        /* the outline that the tables below were laid out for; NULL: none */
    const struct tort_planned *bound; /* plan whose offsets it takes if nothing has grown; NULL */
    tort_plan plan;                   /* operands and ports belong to the outline; literals are owned */
    tort_pass pass;
    tort_info *infos;       /* by value: concrete shapes */
    uint8_t *known;         /* TORT_KNOWN_ bits, by value */
    tort_scalar *scalars;   /* evaluated elements of infos */
    int64_t *sizes;         /* by expression of session->dims: its number, while evaluating */
    uint8_t *params;        /* of static steps, plan.params_bytes in all */
    int64_t *input_dims;    /* TORT_MAX_RANK for each input of the graph: the shapes of this plan */
    tort_kept_fit **fitted; /* by step: of its unit; NULL: nothing */
    bool all_fitted;        /* the steps of these tables have been fitted, maybe to other shapes */
    uint64_t *needs;        /* by step: scratch that the fits of these very shapes need; NULL: what kernels state */
    bool frugal;            /* the fits are those that need the least scratch */
    bool crowded;           /* too large for its memory, but needs are not known yet */
    uint8_t *fit_key;       /* what a fit is looked for by, see fit.c */
    /* See plan_changes.c; only with upper bounds, where a provider records. */
    struct {
        tort_step_before *steps; /* NULL: not kept */
        tort_slot *slots;
        uint8_t *params;
        bool noted; /* false: there is no fill before */
    } before;
    uint64_t *changed;     /* by step: the serial of the fill that changed it last */
    void *shapes, *tables; /* blocks that hold the arrays above, see plan.c; owned */
    size_t shapes_bytes, tables_bytes, literals_bytes;
    tort_dims dims;
    tort_arena arena;
};

/* plan_shapes.c: decides for every graph which shape rules plans must call. */
tort_status tort_mark_rules(tort_session *session, tort_error *error);
/* Makes a plan for these input shapes (NULL: those that the session knows). Thread-safe; holds locks only briefly.
 * afresh: calls every shape rule and shares no outline, which is slower. */
tort_status tort_plan_make(tort_lowered *lowered, const tort_tensor *inputs, bool afresh, tort_planned **planned,
                           tort_error *error);
void tort_planned_free(tort_planned *planned); /* NULL is allowed */
/* Allocates an empty plan, not ready, in memory of `env`. */
tort_status tort_planned_open(tort_lowered *lowered, const tort_env *env, tort_planned **planned, tort_error *error);
/* Fills the plan for these input shapes, whatever it was for; does not fit it. After a
 * failure it can be filled again. */
tort_status tort_planned_fill(tort_planned *planned, const tort_tensor *inputs, bool afresh, tort_error *error);
/* The same for the largest shapes: later fills for smaller shapes allocate nothing. */
tort_status tort_planned_reserve(tort_planned *planned, const tort_tensor *inputs, tort_error *error);
size_t tort_planned_bytes(const tort_planned *planned); /* bytes it holds of its env */
/* The plan for exactly these input shapes. *held, the plan that the caller holds or NULL, stays if it is the one
 * (*changed is false). Otherwise, with upper bounds, *held is the caller's own and is filled again; without, *held is
 * left for a plan of the cache, which is made if it is missing. Takes the locks. After an error *held is as it was, or,
 * with upper bounds, for no shapes. */
tort_status tort_plan_for(tort_lowered *lowered, const tort_tensor *inputs, tort_planned **held, bool *changed,
                          tort_error *error);
/* Holds the most recently used plan until tort_leave_plan; NULL: there is none. Takes the lock. */
tort_planned *tort_lowered_last_plan(tort_lowered *lowered);
void tort_leave_plan(tort_planned *planned); /* the caller's own, with upper bounds, is freed; NULL is allowed */
void tort_lowered_drop_plans(tort_lowered *lowered);
/* plan_share.c: true if one buffer of the caller may be both that input and that output: the step that writes the
 * output is the last to read the input, and its kernel allows it. */
bool tort_plan_extends(const tort_planned *planned, int32_t input, int32_t output);
/* plan_sizes.c: true if the last fill may have changed the step's params, shapes or scratch. */
bool tort_plan_is_measured(const tort_planned *planned, const tort_step *step);
/* fit.c: finds or makes the fits of the static steps; not for two plans at a time: session->fitting. */
tort_status tort_fit_plan(tort_planned *planned, tort_error *error);
/* The same for a plan that was just filled for these input shapes; where fits need less scratch than their kernels
 * stated, or memory is short, it is filled again with what they need. */
tort_status tort_fit_filled(tort_planned *planned, const tort_tensor *inputs, tort_error *error);
void tort_unfit_plan(tort_planned *planned);
size_t tort_fit_key_bytes(const tort_lowered *lowered, const tort_plan *plan); /* room for the keys of all its steps */
uint64_t tort_fit_serial(const tort_planned *planned, int32_t step);           /* unique in the session; 0: nothing */
void *tort_planned_fitted(const tort_planned *planned, int32_t step);          /* for tort_call; NULL: nothing */
void tort_drop_fits(tort_lowered *lowered);                                    /* when no plan is left */

/* plan_changes.c: true if the step does what it did in the fill whose changes were noted last. */
bool tort_plan_step_is_same(const tort_planned *planned, int32_t step);
/* Notes which steps the last fill has changed. */
void tort_plan_note_changes(tort_planned *planned);
/* The first of the recorded steps behind the last one that the last fill changed; 0: it changed the last of them. */
int32_t tort_plan_unchanged_from(const tort_planned *planned);
/* True if none of the recorded steps from `first` on was changed by a later fill. */
bool tort_plan_is_unchanged(const tort_planned *planned, int32_t first, uint64_t serial);

#endif
