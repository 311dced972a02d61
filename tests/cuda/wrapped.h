/* wrapped.h - a provider around another, for tests that want to stand between a plan and its kernels: it has the name
 * and every function of the inner one, and its rows with another run. */
#ifndef TORT_TESTS_CUDA_WRAPPED_H
#define TORT_TESTS_CUDA_WRAPPED_H

#include "runtime/include/provider.h"

/* Static state: one wrapped provider at a time. Rows that need a library are left out unless `libraries`. */
const tort_provider *wrapped_provider(const tort_provider *inner, bool libraries,
                                      tort_status (*run)(const tort_call *call));
/* The inner provider's row by operator and name of the row; NULL: there is none. */
const tort_kernel *wrapped_row(const char *domain, const char *op, const char *name);

#endif
