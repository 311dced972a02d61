/* fake_provider.h - the providers of the tests, for tort_session_options.providers. */
#ifndef TORT_TESTS_FAKE_PROVIDER_H
#define TORT_TESTS_FAKE_PROVIDER_H

#include "runtime/include/provider.h"

extern const tort_provider *const fake_providers[];  /* ends with NULL: all fakes of fake_provider.c */
extern const tort_provider *const fault_providers[]; /* ends with NULL: of fault_provider.c */

#endif
