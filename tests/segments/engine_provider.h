/* engine_provider.h - providers for tests that compile several nodes into one. */
#ifndef TORT_TESTS_SEGMENTS_ENGINE_PROVIDER_H
#define TORT_TESTS_SEGMENTS_ENGINE_PROVIDER_H

#include "runtime/include/provider.h"

extern const tort_kernel *const engine_tables[];      /* the nodes that both can compute */
extern const tort_provider engine_provider;           /* compiles for the shapes of each plan */
extern const tort_provider ahead_provider;            /* its device chooses, and compiles ahead of runs */
bool ahead_is_ended(const void *state);               /* a run with this state has been cancelled; of "ahead" */
extern const tort_provider *const engine_providers[]; /* the first alone; for tort_session_options.providers */

#endif
