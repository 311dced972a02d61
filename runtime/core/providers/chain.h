/* chain.h - the chain of a session: opens its providers in order, and assigns their memories. */
#ifndef TORT_RUNTIME_PROVIDERS_CHAIN_H
#define TORT_RUNTIME_PROVIDERS_CHAIN_H

#include "runtime/core/lowered/lowered.h"

tort_status tort_chain_open(tort_session *session, tort_error *error);
void tort_chain_close(tort_session *session);
bool tort_listed(const char *list, const char *name);                           /* true if in "a,b,c"; NULL: no */
tort_status tort_chain_require(const tort_session *session, tort_error *error); /* --require */
/* TORT_E_PLACEMENT with the reason why the provider did not open. */
tort_status tort_link_down(const tort_link *link, tort_error *error);
/* The state of a library by its name, which the provider lists; NULL: it does not. The provider is asked only once. */
const tort_library_state *tort_link_library(tort_link *link, const char *name);
/* The provider of that name in the chain; NULL: none. */
tort_link *tort_link_named(const tort_session *session, const char *name);
/* Allocates bytes of a memory; in host memory by `env`. purpose: for the error message, such as "values". */
tort_status tort_chain_alloc(const tort_session *session, const tort_env *env, int32_t memory, size_t bytes,
                             const char *purpose, void **out, tort_error *error);
void tort_chain_free(const tort_session *session, const tort_env *env, int32_t memory, void *ptr, size_t bytes);

/* True if the row runs the operator's plain loop. False for the memory of a device, even if the row of a described
 * device has no code in this build. */
static inline bool tort_runs_reference(const tort_provider *provider, const tort_kernel *kernel) {
    return provider->host_memory && !kernel->run && kernel->segment != TORT_SEGMENT_ONLY;
}

/* Gives segments to providers that compile several nodes into one, by a pass that is reached through tort_build: a
 * build without such providers does not link it. With a saved plan its segments are made anew. */
struct tort_segmenting {
    tort_status (*segment)(tort_session *session, tort_error *error);
};
tort_status tort_chain_segment(tort_session *session, tort_error *error);

/* Providers of other runtimes, so that a user who asks for one gets a better message than "unknown". In foreign.c. */
typedef struct tort_foreign_provider {
    const char *name, *hint;
} tort_foreign_provider;

extern const tort_foreign_provider tort_foreign_providers[]; /* ends with name NULL */

/* Provider options of other runtimes: their name here, or why there is none. */
typedef struct tort_foreign_option {
    const char *key, *own, *hint; /* own or hint is NULL */
} tort_foreign_option;

extern const tort_foreign_option tort_foreign_options[]; /* ends with key NULL */

#endif
