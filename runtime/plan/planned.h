/* planned.h - a plan and the memory that it is made in: made, found, fitted and given back. */
#ifndef TORT_RUNTIME_PLAN_PLANNED_H
#define TORT_RUNTIME_PLAN_PLANNED_H

#include "runtime/lowered/lowered.h"
#include "runtime/plan/plan.h"

/* The part of a plan that does not depend on sizes, see plan_steps.c: shared by plans that know the same of every
 * value, and never changed then. */
struct tort_outline {
    struct tort_outline *next;
    bool shared;    /* in the list of its graph, which owns it; else its only plan does, and has its slots and steps */
    bool fits;      /* a static step's kernel has a fit */
    tort_plan plan; /* without shapes, sizes and places */
    const uint8_t *known; /* a value of the graph: what is known of it, see plan_parts.h */
    int32_t slot_capacity, step_capacity, operand_capacity;
    tort_arena arena;
};

/* A plan and the memory that it is made in. It can be made again for other input shapes: then it keeps that memory, and
 * takes more only where it is too small. */
struct tort_planned {
    struct tort_lowered *lowered; /* the graph it is of */
    const tort_env *env;          /* the session's, or of the context whose own it is */
    struct tort_planned *next;
    int32_t users;   /* contexts that hold it; under the session's lock */
    bool ready;      /* it is whole, and fitted; else it is for no input shapes */
    uint64_t serial; /* another one each time that it is made, of all plans of the session */
    bool usual; /* the input shapes are as the session knows them, and rules were asked only where they had to be */
    bool kept;  /* what stands of the plan before: whatever does not depend on open dimensions */
    tort_outline *outline;
    const tort_outline *sized;        /* for which the tables stand; NULL: for none */
    const struct tort_planned *bound; /* whose places it takes where nothing is larger than there; NULL */
    tort_plan plan;                   /* operands and ports are the outline's; literals are owned */
    tort_pass pass;
    tort_info *infos;      /* concrete, value_count */
    uint8_t *known;        /* a value: see plan_parts.h */
    tort_scalar *scalars;  /* evaluated elements of infos */
    int64_t *sizes;        /* of all expressions of the session, while they are evaluated */
    uint8_t *params;       /* resolved params of static steps, plan.params_bytes */
    int64_t *input_dims;   /* TORT_MAX_RANK a model input: what it was made for */
    void **fitted;         /* a step: of kernel->fit; NULL: nothing */
    void *shapes, *tables; /* what the arrays above are in; owned */
    size_t shapes_bytes, tables_bytes, literals_bytes;
    tort_dims dims;
    tort_arena arena;
};

/* plan_shapes.c: finds out, for every graph, which shape rules a plan has to ask. */
tort_status tort_mark_asked(tort_session *session, tort_error *error);
/* Makes a plan for these input shapes (NULL: as far as the session knows them). Takes no lock for long, and may be
 * called by several threads. */
tort_status tort_plan_make(tort_lowered *lowered, const tort_tensor *inputs, tort_planned **planned, tort_error *error);
/* The same plan, but every shape rule is asked and nothing is shared with another plan: slower, and what tests hold
 * the first against. */
tort_status tort_plan_make_afresh(tort_lowered *lowered, const tort_tensor *inputs, tort_planned **planned,
                                  tort_error *error);
void tort_planned_free(tort_planned *planned); /* NULL is allowed */
/* A plan that is not ready yet, in memory of `env`. */
tort_status tort_planned_open(tort_lowered *lowered, const tort_env *env, tort_planned **planned, tort_error *error);
/* Makes it for these input shapes, whatever it was for; it is not fitted. After a failure it can be made again. */
tort_status tort_planned_fill(tort_planned *planned, const tort_tensor *inputs, tort_error *error);
/* The same for the largest shapes: made again for smaller ones, it takes no more memory. */
tort_status tort_planned_reserve(tort_planned *planned, const tort_tensor *inputs, tort_error *error);
size_t tort_planned_bytes(const tort_planned *planned); /* that it holds of its env */
/* The plan for exactly these input shapes; makes it where there is none. It stays until left. Takes the locks. */
tort_status tort_lowered_find_plan(tort_lowered *lowered, const tort_tensor *inputs, tort_planned **planned,
                                   tort_error *error);
/* The same for a plan of a context's own, which is made again. */
tort_status tort_planned_renew(tort_planned *planned, const tort_tensor *inputs, tort_error *error);
/* The plan used last, held until it is left; NULL: there is none. Takes the lock. */
tort_planned *tort_lowered_last_plan(tort_lowered *lowered);
/* Was the plan made for exactly these input shapes? */
bool tort_plan_fits(const tort_planned *planned, const tort_tensor *inputs);
void tort_leave_plan(tort_planned *planned);
void tort_lowered_drop_plans(tort_lowered *lowered);
/* fit.c: lets the kernels of static steps make what the plan's shapes ask for; one plan at a time. */
tort_status tort_fit_plan(tort_planned *planned, tort_error *error);
void tort_unfit_plan(tort_planned *planned);

#endif
