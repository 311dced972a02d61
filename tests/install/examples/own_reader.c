/* own_reader.c - an application whose model is encrypted: it decrypts the bytes that tinyort asks for, as it asks. */
#include <stdio.h>
#include <string.h>
#include <tinyort.h>

enum { KEY = 0x5a }; /* a real one is no secret of the source */

static long size_of(FILE *file) {
    return fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
}

/* One session of one thread reads here; several would need a lock around the file's position. */
static int read_encrypted(void *ud, uint64_t offset, uint64_t length, void *dst) {
    FILE *file = ud;
    unsigned char *bytes = dst;
    if (fseek(file, (long)offset, SEEK_SET) != 0 || fread(bytes, 1, (size_t)length, file) != length) return -1;
    for (uint64_t i = 0; i < length; i++) bytes[i] ^= KEY;
    return 0;
}

/* Stands for whoever makes the file. */
static FILE *encrypt(const char *path) {
    FILE *plain = fopen(path, "rb"), *file = tmpfile();
    for (int byte; plain && file && (byte = fgetc(plain)) != EOF;) fputc(byte ^ KEY, file);
    if (plain) fclose(plain);
    return file;
}

static tort_status run_digits(const tort_model *model, float scores[10], tort_error *error) {
    tort_session *session = NULL;
    tort_context *context = NULL;
    float pixels[64] = {0};
    tort_tensor input = {.type = TORT_FLOAT, .rank = 4, .dims = {1, 1, 8, 8}, .data = pixels};
    tort_tensor output = {.type = TORT_FLOAT, .rank = 2, .dims = {1, 10}, .data = scores};
    tort_status status = tort_session_create(NULL, model, NULL, &session, error);
    if (!status) status = tort_context_create(session, &context, error);
    if (!status) status = tort_context_run(context, &input, 1, &output, 1, error);
    tort_context_free(context);
    tort_session_free(session);
    return status;
}

int main(void) {
    tort_error error = {.msg = ""};
    tort_model *plain = NULL, *model = NULL;
    float wanted[10], scores[10];
    FILE *file = encrypt("models/digits.onnx");
    if (!file) return 1;
    const tort_reader reader = {
        .struct_size = sizeof reader, .size = (uint64_t)size_of(file), .read = read_encrypted, .ud = file};
    tort_status status = tort_model_load_reader(NULL, &reader, NULL, &model, &error);
    if (!status) status = run_digits(model, scores, &error);
    if (!status) status = tort_model_load(NULL, "models/digits.onnx", NULL, &plain, &error);
    if (!status) status = run_digits(plain, wanted, &error);
    if (status) printf("%s: %s\n", tort_status_name(status), error.msg);
    tort_model_free(plain);
    tort_model_free(model);
    fclose(file);
    return status || memcmp(scores, wanted, sizeof scores) != 0;
}
