/* piece.c - libFuzzer's entry: any bytes are a model's file, which is taken apart and made into a model of every other
 * node; and, if it loads, copied with where its nodes run, and optimized. What loads is still loaded then. */
#include "runtime/cli/piece.h"
#include "runtime/export/optimized.h"
#include "tests/fuzz/fuzz.h"

static void take_apart(const char *path, const char *to) {
    cli_whole whole, again;
    cli_message piece = {0};
    tort_error error = {.msg = ""};
    if (!cli_whole_open(path, &whole, &error)) {
        bool *keep = calloc((size_t)whole.count + 1, sizeof *keep);
        require(keep != NULL, "no memory", path);
        for (int32_t i = 0; i < whole.count; i += 2) keep[i] = true;
        require(!cli_piece_make(&whole, NULL, keep, NULL, 0, NULL, 0, &piece, &error), "no piece can be made",
                error.msg);
        write_input(to, piece.bytes, piece.size);
        require(!cli_whole_open(to, &again, &error), "a piece cannot be taken apart", error.msg);
        require(again.count == (whole.count + 1) / 2, "a piece has other nodes", to);
        cli_whole_free(&again);
        free(keep);
    }
    require(!error.code || error.msg[0], "a failure without a message", path);
    free(piece.bytes);
    cli_whole_free(&whole);
}

static tort_status write_optimized(const tort_model *model, const char *to, tort_error *error) {
    const tort_session_options options = {.struct_size = sizeof options};
    tort_new_file file;
    tort_status status = tort_new_file_name(to, &file, error);
    if (!status) status = tort_new_file_open(&file, error);
    if (!status) status = tort_optimized_write(model, &options, &file, error);
    return tort_new_file_end(&file, status, error);
}

static void optimize(const char *path, const char *to) {
    tort_model *model = NULL, *made = NULL;
    tort_error error;
    remove(to);
    if (!tort_model_load(NULL, path, NULL, &model, &error) && !write_optimized(model, to, &error)) {
        const tort_status status = tort_model_load(NULL, to, NULL, &made, &error);
        require(!status || status == TORT_E_MEMORY, "an optimized model does not load", error.msg);
    }
    tort_model_free(made);
    tort_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    char path[64], to[64];
    TEMPORARY(path, ".onnx");
    TEMPORARY(to, ".piece.onnx");
    write_input(path, bytes, size);
    take_apart(path, to);
    optimize(path, to);
    remove(path);
    remove(to);
    return 0;
}
