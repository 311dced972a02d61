/* npz.h - the arrays of a NumPy .npz archive. */
#ifndef TORT_CLI_FILES_NPZ_H
#define TORT_CLI_FILES_NPZ_H

#include "runtime/core/base/error.h"

typedef struct cli_npz_array {
    char *name;         /* without ".npy"; owned */
    tort_tensor tensor; /* owned, as from tort_tensor_npy_decode */
} cli_npz_array;

typedef struct cli_npz {
    cli_npz_array *arrays;
    int32_t count;
} cli_npz;

/* Reads every array. The caller frees with cli_npz_free, also after a failure. */
tort_status cli_npz_read(const char *path, cli_npz *npz, tort_error *error);
void cli_npz_free(cli_npz *npz);

#endif
