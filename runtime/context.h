/* context.h - what run.c, context.c and dynamic.c share of a context. Private to runtime/. */
#ifndef TORT_RUNTIME_CONTEXT_H
#define TORT_RUNTIME_CONTEXT_H

#include "runtime/session_state.h"
#include "runtime/text.h"

typedef struct tort_region {
    uint8_t *base;
    size_t bytes;
} tort_region;

#define TORT_MOST_SPARES 16

/* A region that no value uses now. */
typedef struct tort_spare {
    tort_region region;
    int32_t memory;
} tort_spare;

/* Bytes of the caller. */
typedef struct tort_buffer {
    uintptr_t begin, end;
    int32_t memory, port; /* an output, or -1 - an input */
} tort_buffer;

struct tort_context {
    tort_session *session;
    tort_env env; /* the application's, counted in the account: apart from that of the session */
    tort_account account;
    tort_arena arena;      /* what lives as long as the context */
    void **streams;        /* a chain provider */
    tort_region *arenas;   /* a memory: values and scratch of the plan */
    tort_planned *planned; /* the plan that the members below are sized for; held */
    tort_tensor *tensors;  /* a slot */
    tort_tensor *operands; /* of the step that runs */
    int32_t widest;
    struct tort_text *text;
    const tort_tensor *outputs; /* the caller's, while a run goes on */
    bool *direct;               /* an output: written straight into the caller's buffer */
    tort_buffer *buffers;       /* room for every input and output, to hold them against each other */
    tort_observer observer;
    void *observer_ud;
    /* For steps whose shapes depend on data; see dynamic.c. */
    tort_region *dynamic;   /* a slot: what its step allocated */
    int32_t dynamic_count;  /* regions now allocated */
    uint64_t dynamic_bytes; /* of all regions, spare ones included */
    tort_spare spares[TORT_MOST_SPARES];
    int32_t spare_count;
    uint8_t *params; /* of the dynamic step that runs, params_bytes of the largest operator */
    void *fitted;    /* of the dynamic step that runs */
    size_t params_bytes;
    tort_region *scratch; /* a memory: of dynamic steps */
    tort_info *infos;     /* 2 * widest: inputs and outputs of the step that runs */
};

/* context.c: the length of a table with an entry for every input and output, never 0; sizing for a plan; what its
 * tables take of the allocator, and the arena in host memory. */
size_t tort_context_ports(const tort_session *session);
size_t tort_context_bytes(const tort_session *session, const tort_plan *plan);
size_t tort_arena_bytes(const tort_plan *plan);
tort_status tort_context_choose_plan(tort_context *context, const tort_tensor *inputs, tort_error *error);
tort_status tort_context_adopt(tort_context *context, tort_planned *planned, tort_error *error);
void tort_context_drop_plan(tort_context *context);
void tort_context_free_arena(tort_context *context, int32_t memory);

/* outputs.c: takes the caller's buffers for the slots that they stand for, before the first step; gives such a slot its
 * place (NULL: memory of the context) when its size comes out only while running; fills the other buffers at the end;
 * tells where the outputs are that had none. */
tort_status tort_outputs_bind(tort_context *context, const tort_tensor *inputs, const tort_tensor *outputs,
                              tort_error *error);
void *tort_outputs_place(const tort_context *context, int32_t slot, size_t bytes);
tort_status tort_outputs_fill(tort_context *context, const tort_tensor *outputs, tort_error *error);
void tort_outputs_lend(const tort_context *context, tort_tensor *outputs);

/* dynamic.c: steps whose shapes depend on data. */
tort_status tort_dynamic_prepare(tort_context *context, const tort_step *step, tort_error *error);
void tort_dynamic_unfit(tort_context *context, const tort_step *step); /* after the step, also if it failed */
tort_status tort_dynamic_shape(tort_context *context, const tort_step *step, tort_error *error);
void tort_dynamic_free_unread(tort_context *context, int32_t step_index);
void tort_dynamic_free_all(tort_context *context); /* regions become spare */
void tort_dynamic_drain(tort_context *context);    /* spare regions are given back */

#endif
