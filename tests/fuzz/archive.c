/* archive.c - libFuzzer's entry: any bytes are read as an archive of NumPy (.npz). */
#include "runtime/cli/files/npz.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    char path[64];
    cli_npz npz;
    tort_error error = {.msg = ""};
    TEMPORARY(path, ".npz");
    write_input(path, bytes, size);
    const tort_status status = cli_npz_read(path, &npz, &error);
    require(!status || error.msg[0], "a failure without a message", tort_status_name(status));
    require(status != TORT_E_INTERNAL, "an internal error", error.msg);
    for (int32_t i = 0; !status && i < npz.count; i++) {
        size_t used;
        require(tort_tensor_bytes(&npz.arrays[i].tensor, &used), "an array of no size", npz.arrays[i].name);
    }
    cli_npz_free(&npz);
    remove(path);
    return 0;
}
