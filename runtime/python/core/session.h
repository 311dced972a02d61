/* session.h - the struct of tinyort._core.Session, for session.c (life), run.c (runs) and quantize.c (models that are
 * made of it). */
#ifndef TORT_PYTHON_SESSION_H
#define TORT_PYTHON_SESSION_H

#include <pthread.h>

#include "runtime/python/core/core.h"

/* A context of a session, and whether a run has it. */
typedef struct core_context {
    tort_context *context;
    const void *token; /* of the run; only compared */
    bool taken;
} core_context;

/* A session with what it borrows, and its contexts, of which a run takes one that is idle, or makes one. */
typedef struct core_session {
    PyObject_HEAD PyObject *module; /* owned */
    PyObject *bytes;                /* what the model was read from, which must stay; NULL: a file */
    struct core_opening *opening;   /* what it was opened with; NULL: a saved plan */
    PyObject *operators;            /* what keeps the application's operators; NULL: none */
    tort_model *loaded;             /* NULL if the session owns its model, as one of a saved plan does */
    const tort_model *model;
    tort_session *session;
    int32_t input_count, output_count;
    tort_port *inputs, *outputs;
    PyObject *input_names; /* tuples of str */
    PyObject *output_names;
    bool values;            /* an input or output is not a tensor, so that runs go by values */
    pthread_mutex_t lock;   /* of the contexts, for builds of Python without a lock of their own */
    core_context *contexts; /* all there are */
    int32_t context_count, context_capacity;
} core_session;

/* Takes an idle context, or makes one; NULL: the error says why. `token` names the run for cancel; may be NULL. No lock
 * of the interpreter is needed. */
tort_context *core_context_take(core_session *self, const void *token, tort_error *error);
/* Gives it back for the next run. */
void core_context_give(core_session *self, const tort_context *context);

/* The options that a session was opened with, which live as long as it does; NULL: it is one of a saved plan. */
const tort_session_options *core_session_options(const core_session *self);
/* A list of str as C strings, which live as long as the list does. The caller frees the array; NULL after a failure,
 * and for no list. */
const char **core_texts_of(PyObject *list, int32_t *count);

/* Methods of a session that quantize.c has. */
PyObject *core_session_quantize(PyObject *object, PyObject *arguments, PyObject *keywords);
PyObject *core_session_convert(PyObject *object, PyObject *arguments, PyObject *keywords);

/* Methods of a session that run.c has. */
PyObject *core_session_run(PyObject *object, PyObject *arguments);
PyObject *core_session_run_bound(PyObject *object, PyObject *arguments);
PyObject *core_session_profile(PyObject *object, PyObject *arguments);
PyObject *core_session_observe(PyObject *object, PyObject *arguments);
PyObject *core_session_memory(PyObject *object, PyObject *arguments);
PyObject *core_session_copy(PyObject *object, PyObject *arguments);

#endif
