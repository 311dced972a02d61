/* table.c - see table.h. */
#if defined(TORT_CUDA) || defined(TORT_CUDASIM)
#include "kernels/cuda/table.h"

#include "runtime/core/base/memory.h"

void cuda_table_unfit(void *device, const tort_env *env, void *fitted) {
    cuda_table *table = fitted;
    if (table->entries) cuda_free(device, table->entries, table->bytes);
    tort_free(env, table, sizeof *table);
}

/* Reports a failed allocation, or the loss of the device if that is the cause. */
static tort_status no_memory(const tort_fit *fit, size_t bytes) {
    const tort_status status = cuda_sync(fit->device, NULL, fit->error);
    return status ? status : tort_fail(fit->error, TORT_E_MEMORY, "no %zu bytes on the device for a table", bytes);
}

/* Copies the entries to the device. */
static tort_status load(tort_fit *fit, const void *entries, size_t bytes) {
    cuda_table *table = tort_alloc_zero(fit->env, 1, sizeof *table);
    if (!table) return tort_out_of_memory(fit->error, sizeof *table);
    table->bytes = bytes;
    table->entries = cuda_alloc(fit->device, bytes);
    tort_status status = table->entries ? TORT_OK : no_memory(fit, bytes);
    if (!status)
        status = cuda_copy(fit->device, fit->stream, table->entries, entries, bytes, TORT_TO_DEVICE, fit->error);
    if (!status && !fit->stream) status = cuda_sync(fit->device, NULL, fit->error); /* runs have streams of their own */
    if (status)
        cuda_table_unfit(fit->device, fit->env, table);
    else
        fit->fitted = table;
    return status;
}

tort_status cuda_table_fit(tort_fit *fit, size_t bytes, void (*fill)(const tort_node_view *node, void *entries)) {
    if (!bytes) return TORT_OK;
    void *entries = tort_alloc_zero(fit->env, bytes, 1);
    if (!entries) return tort_out_of_memory(fit->error, bytes);
    fill(fit->node, entries);
    const tort_status status = load(fit, entries, bytes);
    tort_free(fit->env, entries, bytes);
    return status;
}
#else
typedef int cuda_tables_are_in_builds_with_cuda; /* ISO C forbids an empty translation unit */
#endif
