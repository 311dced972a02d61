/* account.c - see account.h. Allocations come from several threads, so the counts are atomic. */
#include "runtime/core/base/account.h"

static void *counted_alloc(void *ud, void *ptr, size_t old_size, size_t new_size) {
    tort_account *account = ud;
    const size_t before = ptr ? old_size : 0;
    if (account->limit < SIZE_MAX && new_size > before &&
        new_size - before > account->limit - atomic_load(&account->held)) {
        account->refused = true;
        return NULL;
    }
    void *block = account->inner.alloc(account->inner.alloc_ud, ptr, old_size, new_size);
    if (new_size && !block) return NULL;
    const size_t held = atomic_fetch_add(&account->held, new_size - before) + new_size - before;
    size_t max = atomic_load(&account->max);
    while (held > max && !atomic_compare_exchange_weak(&account->max, &max, held)) continue;
    return block;
}

tort_env tort_account_open(tort_account *account, const tort_env *inner, size_t own) {
    account->inner = *inner;
    account->limit = SIZE_MAX;
    account->refused = false;
    atomic_init(&account->held, own);
    atomic_init(&account->max, own);
    tort_env env = *inner;
    env.alloc = counted_alloc;
    env.alloc_ud = account;
    return env;
}

/* An account may already hold more than the limit. */
void tort_account_limit(tort_account *account, size_t limit) {
    const size_t held = atomic_load(&account->held);
    account->limit = limit > held ? limit : held;
}
