/* firmware.c - an application that runs one model of one input and one output, both float32, and needs nothing else of
 * the library: its size is the share of the library in a firmware. Usage: firmware MODEL INPUT.raw OUTPUT.raw, the
 * input of 1x3x32x32; linked with open_plan.c, a saved plan stands for the model. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/builds/open.h"

static size_t count(const tort_tensor *tensor) {
    size_t product = 1;
    for (int32_t i = 0; i < tensor->rank; i++) product *= (size_t)tensor->dims[i];
    return product;
}

static bool read_file(const char *path, tort_tensor *tensor) {
    const size_t bytes = count(tensor) * sizeof(float);
    FILE *file = fopen(path, "rb");
    tensor->data = malloc(bytes);
    const bool complete = file && tensor->data && fread(tensor->data, 1, bytes, file) == bytes;
    if (file) fclose(file);
    return complete;
}

static bool write_file(const char *path, const tort_tensor *tensor) {
    const size_t bytes = count(tensor) * sizeof(float);
    FILE *file = fopen(path, "wb");
    const bool complete = file && fwrite(tensor->data, 1, bytes, file) == bytes;
    return file && !fclose(file) && complete;
}

int main(int argc, char **argv) {
    tort_error error = {.msg = ""};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_tensor input = {.type = TORT_FLOAT, .rank = 4, .dims = {1, 3, 32, 32}}, output = {0};
    if (argc != 4 || !read_file(argv[2], &input)) return 2;
    tort_status status = open_session(argv[1], &model, &session, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    if (!status) status = tort_context_run(context, &input, 1, &output, 1, &error);
    if (status) printf("%s: %s\n", tort_status_name(status), error.msg);
    const bool done = !status && write_file(argv[3], &output);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    free(input.data);
    return !done;
}
