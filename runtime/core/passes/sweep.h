/* sweep.h - one inference of all nodes of a session, and what is done to each node after it. Private to runtime/. */
#ifndef TORT_RUNTIME_PASSES_SWEEP_H
#define TORT_RUNTIME_PASSES_SWEEP_H

#include "runtime/core/lowered/lowered.h"

typedef struct tort_sweep tort_sweep;

typedef struct tort_sweeper {
    /* Handles a node whose outputs, and whose bodies, were just inferred. */
    tort_status (*visit)(tort_sweep *sweep, int32_t node, tort_error *error);
    tort_status (*finish)(tort_lowered *lowered, tort_error *error); /* at the end of each graph; NULL: nothing */
    void *ud;
} tort_sweeper;

/* A sweep over one graph: the main graph or a body. */
struct tort_sweep {
    tort_session *session;
    const tort_sweeper *sweeper;
    tort_lowered *lowered;
    tort_pass pass;
    int32_t bodies; /* number of bodies of a node that may run; see count_body */
};

/* Infers all nodes; leaves the bodies of nodes that are folded in the end. */
tort_status tort_sweep_graphs(tort_session *session, const tort_sweeper *sweeper, tort_error *error);
/* True if shapes alone determine all elements of the value. */
bool tort_is_determined(const tort_session *session, const tort_info *info);

#endif
