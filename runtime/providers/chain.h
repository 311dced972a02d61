/* chain.h - the providers of a session: opened in order, and their memories. */
#ifndef TORT_RUNTIME_PROVIDERS_CHAIN_H
#define TORT_RUNTIME_PROVIDERS_CHAIN_H

#include "runtime/lowered/lowered.h"

tort_status tort_chain_open(tort_session *session, tort_error *error);
void tort_chain_close(tort_session *session);
bool tort_listed(const char *list, const char *name);                           /* in "a,b,c"; list may be NULL */
tort_status tort_chain_require(const tort_session *session, tort_error *error); /* --require */
/* Why the provider did not open, as TORT_E_PLACEMENT. */
tort_status tort_link_down(const tort_link *link, tort_error *error);
/* Is the library there? The provider is asked once. */
const tort_library_state *tort_link_library(tort_link *link, tort_library library);
/* The first provider of the chain of that name; NULL: there is none. */
tort_link *tort_link_named(const tort_session *session, const char *name);
/* Bytes of a memory, the host's by `env`. purpose goes into the error, "values". */
tort_status tort_chain_alloc(const tort_session *session, const tort_env *env, int32_t memory, size_t bytes,
                             const char *purpose, void **out, tort_error *error);
void tort_chain_free(const tort_session *session, const tort_env *env, int32_t memory, void *ptr, size_t bytes);

#endif
