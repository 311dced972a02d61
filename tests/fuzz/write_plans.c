/* Writes a saved plan of each model given into the folder given first: seeds for the fuzzer. Models that cannot be
 * planned are left out. */
#include <stdio.h>
#include <string.h>

#include "runtime/include/tinyort_plan.h"

static tort_status write_plan(const char *model_path, const char *path) {
    const tort_session_options options = {.struct_size = sizeof options, .chain = "cpu:threads=1"};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_status status = tort_model_load(NULL, model_path, NULL, &model, NULL);
    if (!status) status = tort_session_create(NULL, model, &options, &session, NULL);
    if (!status) status = tort_session_save(session, path, NULL);
    tort_session_free(session);
    tort_model_free(model);
    return status;
}

int main(int argc, char **argv) {
    int written = 0;
    for (int i = 2; i < argc; i++) {
        const char *slash = strrchr(argv[i], '/');
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.plan", argv[1], slash ? slash + 1 : argv[i]);
        written += write_plan(argv[i], path) == TORT_OK;
    }
    printf("fuzz: seeds: %d saved plans\n", written);
    return written ? 0 : 1;
}
