/* table.h - a kernel's table that depends on the shapes of a plan: built by fit, kept on the device, freed by unfit.
 * For host code of builds with CUDA (or cudasim). */
#ifndef TORT_KERNELS_CUDA_TABLE_H
#define TORT_KERNELS_CUDA_TABLE_H

#include "kernels/cuda/device.h"

typedef struct cuda_table {
    void *entries; /* on the device */
    size_t bytes;
} cuda_table;

/* Makes a table of so many bytes, which `fill` writes for the node in host memory; it gets them as zeros. fit->fitted
 * becomes a cuda_table, which cuda_table_unfit frees; NULL for no bytes. */
tort_status cuda_table_fit(tort_fit *fit, size_t bytes, void (*fill)(const tort_node_view *node, void *entries));
void cuda_table_unfit(void *device, const tort_env *env, void *fitted);

#endif
