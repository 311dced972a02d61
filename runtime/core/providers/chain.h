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
/* The state of a library; the provider is asked only once. */
const tort_library_state *tort_link_library(tort_link *link, tort_library library);
/* The provider of that name in the chain; NULL: none. */
tort_link *tort_link_named(const tort_session *session, const char *name);
/* Allocates bytes of a memory; in host memory by `env`. purpose: for the error message, such as "values". */
tort_status tort_chain_alloc(const tort_session *session, const tort_env *env, int32_t memory, size_t bytes,
                             const char *purpose, void **out, tort_error *error);
void tort_chain_free(const tort_session *session, const tort_env *env, int32_t memory, void *ptr, size_t bytes);

#endif
