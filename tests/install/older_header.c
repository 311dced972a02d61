/* older_header.c - a program that was compiled when structs of tinyort.h were shorter: it has its own copies of two as
 * they were then. The library must neither fill nor read what such a program does not know. */
#include <stdio.h>
#include <string.h>
#include <tinyort.h>

/* tort_port without dim_names, and what the program has behind it. */
typedef struct older_port {
    size_t struct_size;
    const char *name;
    tort_type type;
    int32_t rank;
    int64_t dims[TORT_MAX_RANK];
    unsigned char behind[128];
} older_port;

/* tort_session_options when a chain was all there was to choose. */
typedef struct older_options {
    size_t struct_size;
    const char *chain;
    unsigned char behind[512];
} older_options;

static int is_untouched(const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0xa5) return 0;
    return 1;
}

int main(void) {
    tort_error error = {.msg = ""};
    tort_model *model = NULL;
    tort_session *session = NULL;
    older_port port;
    older_options options;
    memset(&port, 0xa5, sizeof port);
    memset(&options, 0xa5, sizeof options);
    port.struct_size = offsetof(older_port, behind);
    options.struct_size = offsetof(older_options, behind);
    options.chain = "cpu";
    tort_status status = tort_model_load(NULL, "models/digits.onnx", NULL, &model, &error);
    if (!status) status = tort_model_input(model, 0, (tort_port *)(void *)&port, &error);
    if (!status) status = tort_session_create(NULL, model, (tort_session_options *)(void *)&options, &session, &error);
    if (status) printf("%s: %s\n", tort_status_name(status), error.msg);
    const int right = !status && port.type == TORT_FLOAT && port.rank == 4 && port.dims[3] == 8;
    const int untouched = is_untouched(port.behind, sizeof port.behind);
    tort_session_free(session);
    tort_model_free(model);
    return !(right && untouched);
}
