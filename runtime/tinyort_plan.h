/* tinyort_plan.h - saved plans: for an application that keeps a cache of sessions, so that a program that starts again
 * neither reads a model nor plans it. Stands beside tinyort.h, and goes by its rules. */
#ifndef TINYORT_PLAN_H
#define TINYORT_PLAN_H

#include "runtime/tinyort.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Takes the bytes of a saved plan, one part after the other; 0: it did. */
typedef struct tort_writer {
    size_t struct_size; /* sizeof(tort_writer) */
    int (*write)(void *ud, const void *bytes, size_t size);
    void *ud;
} tort_writer;

/* Writes what a session that can run decided, with its weights as kernels packed them: a session out of it needs
 * neither the model's file nor planning, and computes the same bits. The file is for this build, this chain and a
 * machine of the same kind. It is written as "PATH.part" first. Contexts may run meanwhile. */
TORT_API tort_status tort_session_save(tort_session *session, const char *path, tort_error *error);
TORT_API tort_status tort_session_save_writer(tort_session *session, const tort_writer *writer, tort_error *error);

/* Chain, pins, fusions, bindings, outputs and upper bounds are those of the saved session. Limits too, where none is
 * given here: that of plans from strangers should be. */
typedef struct tort_plan_options {
    size_t struct_size; /* sizeof(tort_plan_options) */
    /* Use weights where the file is mapped, without holding them against their checksum: it must not change then. */
    bool map;
    const char *disabled; /* these three as in tort_session_options and tort_load_options */
    const struct tort_provider *const *providers;
    const struct tort_op *const *operators;
    uint32_t operator_abi; /* TORT_PROVIDER_ABI (op.h), with which the operators were compiled */
    bool wait_steps;       /* these three as in tort_session_options; false and 0: as the saved session had them */
    uint64_t dynamic_limit;
    uint64_t trip_limit;
} tort_plan_options;

/* A session out of a saved plan. Its bytes are not trusted. TORT_E_MODEL: it is damaged or no plan; TORT_E_UNSUPPORTED:
 * another build of tinyort made it; TORT_E_PLACEMENT: another machine did, where other providers opened. All of these
 * say how to make it again. The caller frees the session; env and options may be NULL. */
TORT_API tort_status tort_session_load(const tort_env *env, const char *path, const tort_plan_options *options,
                                       tort_session **session, tort_error *error);
/* The same from memory; borrows `bytes` until tort_session_free. */
TORT_API tort_status tort_session_load_buffer(const tort_env *env, const void *bytes, size_t size,
                                              const tort_plan_options *options, tort_session **session,
                                              tort_error *error);

/* The model that a session runs; of a saved plan, whose session owns it, what is left of it. */
TORT_API const tort_model *tort_session_model(const tort_session *session);

#ifdef __cplusplus
}
#endif
#endif
