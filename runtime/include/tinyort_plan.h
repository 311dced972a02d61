/* tinyort_plan.h - saved plans: for an application that keeps a cache of sessions, so that a restarted program neither
 * reads a model nor plans it. Complements tinyort.h, with the same rules. */
#ifndef TINYORT_PLAN_H
#define TINYORT_PLAN_H

#include "runtime/include/tinyort.h"

/* Receives the bytes of a saved plan, part by part; 0: success. */
typedef struct tort_writer {
    size_t struct_size; /* sizeof(tort_writer) */
    int (*write)(void *ud, const void *bytes, size_t size);
    void *ud;
} tort_writer;

/* Writes the decisions of a session that can run, with its weights as kernels packed them: a session loaded from it
 * needs neither the model's file nor planning, and computes the same bits. The file is for this build, this chain and a
 * machine of the same kind. It has a random
 * name until it is whole; a link, a device, and files of the model are not replaced. Contexts may run meanwhile. */
TORT_API tort_status tort_session_save(tort_session *session, const char *path, tort_error *error);
TORT_API tort_status tort_session_save_writer(tort_session *session, const tort_writer *writer, tort_error *error);

/* Options of loading. Providers, pins, fusions, bindings, outputs and upper bounds are those of the saved session. So
 * are limits that are not given here, where they are below the default ones: a file may lower limits, not lift them. */
typedef struct tort_plan_options {
    size_t struct_size; /* sizeof(tort_plan_options) */
    /* Use weights in the mapped file, without verifying their checksum: the file must not change then. */
    bool map;
    const char *disabled; /* these three as in tort_session_options and tort_load_options */
    const struct tort_provider *const *providers;
    const struct tort_op *const *operators;
    uint32_t operator_abi; /* TORT_PROVIDER_ABI (op.h), with which the operators were compiled */
    bool wait_steps;       /* these as in tort_session_options */
    uint64_t dynamic_limit;
    uint64_t trip_limit;
    uint64_t time_limit;
    const char *chain; /* in place of the saved chain, of the same providers with other options; NULL: the saved one */
} tort_plan_options;

/* Loads a session from a saved plan, whose bytes are not trusted. TORT_E_MODEL: it is damaged or not a plan;
 * TORT_E_UNSUPPORTED: made by another build of tinyort; TORT_E_PLACEMENT: made on a machine where other providers
 * opened. The messages say how to make it again. The caller frees the session; env and options may be NULL. */
TORT_API tort_status tort_session_load(const tort_env *env, const char *path, const tort_plan_options *options,
                                       tort_session **session, tort_error *error);
/* tort_session_load from memory; borrows `bytes` until tort_session_free. */
TORT_API tort_status tort_session_load_buffer(const tort_env *env, const void *bytes, size_t size,
                                              const tort_plan_options *options, tort_session **session,
                                              tort_error *error);

/* The model of a session; of a saved plan, whose session owns it, the part that was saved. */
TORT_API const tort_model *tort_session_model(const tort_session *session);

#endif
