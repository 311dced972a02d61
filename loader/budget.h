/* budget.h - how much memory loading may take: a stated multiple of the file, whatever the file says.
 *
 *   TORT_LOAD_FACTOR bytes for each byte of the file and TORT_LOAD_BASE beside,
 *   for calls of functions, as if the function stood in place of each call, TORT_MOST_EXPANDED at most,
 *   for sparse tensors, once they are dense, TORT_MOST_SPARSE at most.
 *
 * Weights that stay in the file are not read while loading and cost nothing; of external data only what names it
 * counts. What the loader builds of a file stays well below this; the budget is what makes it a promise also where a
 * few bytes describe much: values that are captured through many bodies within each other, shapes that are computed
 * from shapes. It stands between the loader and the caller's allocator, counts what is held, and says no. */
#ifndef TORT_LOADER_BUDGET_H
#define TORT_LOADER_BUDGET_H

#include "runtime/error.h"

enum { TORT_LOAD_FACTOR = 96 };
#define TORT_LOAD_BASE ((size_t)16 << 20)
#define TORT_MOST_EXPANDED ((size_t)512 << 20)
#define TORT_MOST_SPARSE ((size_t)256 << 20)

typedef struct tort_budget {
    tort_env env;   /* what to allocate from: hands on to `below` what the limit allows */
    tort_env below; /* the caller's, complete */
    size_t held, limit;
    bool refused; /* an allocation that the limit did not allow */
} tort_budget;

/* Starts with TORT_LOAD_BASE. The budget must outlive what is allocated from its env, or that is given back to `below`:
 * who copied the env takes `below` in its place. */
void tort_budget_init(tort_budget *budget, const tort_env *env);
void tort_budget_grant(tort_budget *budget, size_t bytes);
/* The limit for a file of this size. */
size_t tort_budget_of_file(uint64_t file_size);

#endif
