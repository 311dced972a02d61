/* engine_provider.h - a provider for tests that compiles several nodes into one. */
#ifndef TORT_TESTS_SEGMENTS_ENGINE_PROVIDER_H
#define TORT_TESTS_SEGMENTS_ENGINE_PROVIDER_H

#include "runtime/include/provider.h"

extern const tort_provider engine_provider;
extern const tort_provider *const engine_providers[]; /* it alone; for tort_session_options.providers */

#endif
