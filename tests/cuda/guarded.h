/* guarded.h - a provider around another: every kernel's tensors lie in buffers of their own, with sentinels around
 * outputs, so that a kernel that writes where it must not is found, on a real device too. What its row says that it may
 * write over, it does in a second run. */
#ifndef TORT_TESTS_CUDA_GUARDED_H
#define TORT_TESTS_CUDA_GUARDED_H

#include "runtime/include/provider.h"

/* Static state: one session at a time. The result has the name and all functions of `provider` (wrapped.h). Rows that
 * need a library are left out unless `libraries`. */
const tort_provider *guarded_provider(const tort_provider *provider, bool libraries);
/* Which tensors of a kernel lie one element behind the alignment that the device gives. */
typedef enum guarded_shift { SHIFT_NONE, SHIFT_ALL, SHIFT_LAST_INPUT, SHIFT_COUNT } guarded_shift;

/* Which row runs from now on, and how its tensors lie (aligned for cuDNN, which may rely on it). */
void guarded_select(const tort_kernel *row, guarded_shift shift);

#endif
