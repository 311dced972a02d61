/* budget.c - see budget.h. */
#include "loader/budget.h"

#include "runtime/memory.h"

static void *limited_alloc(void *ud, void *ptr, size_t old_size, size_t new_size) {
    tort_budget *budget = ud;
    if (!ptr) old_size = 0;
    if (new_size > old_size && new_size - old_size > budget->limit - budget->held) {
        budget->refused = true;
        return NULL;
    }
    void *block = budget->below.alloc(budget->below.alloc_ud, ptr, old_size, new_size);
    if (block || new_size == 0) budget->held = budget->held - old_size + new_size;
    return block;
}

void tort_budget_init(tort_budget *budget, const tort_env *env) {
    *budget = (tort_budget){.below = tort_env_complete(env), .limit = TORT_LOAD_BASE};
    budget->env = budget->below;
    budget->env.alloc = limited_alloc;
    budget->env.alloc_ud = budget;
}

void tort_budget_grant(tort_budget *budget, size_t bytes) {
    if (!tort_add_size(budget->limit, bytes, &budget->limit)) budget->limit = SIZE_MAX;
}

size_t tort_budget_of_file(uint64_t file_size) {
    size_t bytes;
    if (file_size > SIZE_MAX || !tort_mul_size((size_t)file_size, TORT_LOAD_FACTOR, &bytes)) return SIZE_MAX;
    return bytes;
}
