/* account.h - an allocator hook that counts bytes, so that reports need not estimate them.
 *
 * Models, sessions and contexts have one each, between them and the application's hook. */
#ifndef TORT_RUNTIME_BASE_ACCOUNT_H
#define TORT_RUNTIME_BASE_ACCOUNT_H

#include "runtime/core/base/memory.h"

#include <stdatomic.h>

typedef struct tort_account {
    tort_env inner;          /* the application's */
    atomic_size_t held, max; /* bytes now, and their maximum */
    size_t limit;            /* of held; SIZE_MAX: none; set while only one thread uses the account */
    bool refused;            /* an allocation would have exceeded the limit */
} tort_account;

/* Starts an account on `inner` that holds `own` bytes already. Returns an environment that counts in it: a copy of
 * inner with another allocator, which points to the account. */
tort_env tort_account_open(tort_account *account, const tort_env *inner, size_t own);
/* Lets allocations fail that would exceed the limit. */
void tort_account_limit(tort_account *account, size_t limit);

#endif
