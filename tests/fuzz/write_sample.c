/* Writes the tests' sample model, which has one of everything, to the path given: a seed for the fuzzer. */
#include <stdio.h>

#include "tests/onnx_bytes.h"

int main(int argc, char **argv) {
    onnx_bytes b = {0};
    onnx_sample_model(&b);
    FILE *file = argc == 2 ? fopen(argv[1], "wb") : NULL;
    bool ok = file && fwrite(b.data, 1, b.size, file) == b.size && fclose(file) == 0;
    onnx_free(&b);
    return !ok;
}
