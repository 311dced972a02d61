/* account.h - an allocator hook that counts what goes through it, so that a report tells bytes and does not estimate
 * them.
 *
 * A model and a session each have one; it stands between them and the application's hook. */
#ifndef TORT_RUNTIME_BASE_ACCOUNT_H
#define TORT_RUNTIME_BASE_ACCOUNT_H

#include "runtime/base/memory.h"

#ifdef __cplusplus /* kernels' sources come by here and look at no account; not every C++ has C's atomics */
typedef size_t tort_account_bytes;
#else
#include <stdatomic.h>
typedef atomic_size_t tort_account_bytes;
#endif

typedef struct tort_account {
    tort_env inner;               /* the application's */
    tort_account_bytes held, max; /* bytes now, and at their most */
    size_t limit;                 /* of held; SIZE_MAX: none. Changed while one thread uses the account */
    bool refused;                 /* an allocation would have gone beyond the limit */
} tort_account;

/* Starts an account on `inner`, in which `own` bytes are held already, and returns an environment that counts in it: a
 * copy of inner but for its allocator. The account must stay where it is. */
tort_env tort_account_open(tort_account *account, const tort_env *inner, size_t own);
/* From now on an allocation that would go beyond the limit fails. */
void tort_account_limit(tort_account *account, size_t limit);

#endif
