/* kept_open.h - a provider around another that opens its device, its libraries and one stream once, for all sessions of
 * a program that makes thousands, one after the other: on a GPU each takes milliseconds, under a memory checker more.
 */
#ifndef TORT_TESTS_CUDA_KEPT_OPEN_H
#define TORT_TESTS_CUDA_KEPT_OPEN_H

#include "runtime/include/provider.h"

/* Static state: one at a time, one session at a time. The result has the name and the rows of `provider`. libraries:
 * may they be opened? */
const tort_provider *kept_open(const tort_provider *provider, bool libraries);
/* When no session is left. */
void kept_open_end(void);

#endif
