/* labels.c - libFuzzer's entry: any bytes are the names of classes, one a line, for the largest of five values. */
#include "runtime/cli/outputs.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static const float values[] = {0.25f, 3, -1, 0.5f, 2};
    const tort_tensor tensor = {.type = TORT_FLOAT, .rank = 2, .dims = {1, 5}, .data = (void *)(uintptr_t)values};
    char path[64];
    cli_labels labels;
    cli_top *tops = NULL;
    int64_t count = 0;
    tort_error error = {.msg = ""};
    TEMPORARY(path, ".txt");
    write_input(path, bytes, size);
    tort_value *output = tort_value_tensor(NULL, &tensor);
    tort_status status = cli_labels_read(path, &labels, &error);
    if (!status) status = cli_top_of(output, 5, &labels, &tops, &count, &error);
    require(!status || error.msg[0], "a failure without a message", tort_status_name(status));
    require(status != TORT_E_INTERNAL, "an internal error", error.msg);
    free(tops);
    cli_labels_free(&labels);
    tort_value_release(output);
    remove(path);
    return 0;
}
