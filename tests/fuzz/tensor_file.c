/* tensor_file.c - libFuzzer's entry: any bytes are read as a tensor, from memory as .npy and from a file as .pb, and as
 * values of many types; what can be read is written and read again. */
#include "runtime/cli/files/npy.h"
#include "runtime/cli/files/tensor_file.h"
#include "runtime/cli/files/value_file.h"
#include "tests/counting_env.h"
#include "tests/fuzz/fuzz.h"

/* A path of this process's own with this ending. */
static const char *temporary(const char *ending) {
    static char path[64];
    snprintf(path, sizeof path, "/tmp/tinyort_fuzz_%ld%s", (long)getpid(), ending);
    return path;
}

static void write_again(const tort_env *env, const tort_tensor *tensor, const char *ending) {
    tort_tensor back;
    const char *path = temporary(ending);
    require(tort_tensor_file_write(path, "x", tensor, NULL) == TORT_OK, "what was read cannot be written", "");
    require(tort_tensor_file_read(env, path, &back, NULL) == TORT_OK, "what was written cannot be read", "");
    tort_tensor_file_free(env, &back);
}

/* An empty sequence is the same bytes whatever it would hold, so what was written need only be read. */
static void read_as(const tort_env *env, tort_value_type type) {
    tort_value *value, *back;
    tort_error error = {0};
    char path[80];
    tort_status status = tort_value_file_read(env, temporary(".pb"), type, &value, &error);
    require(!status || (error.msg[0] && !value), "a failure without a message, or with a value", "");
    if (status) return;
    snprintf(path, sizeof path, "%s", temporary("_again.pb"));
    require(tort_value_file_write(path, "x", value, NULL) == TORT_OK, "a value that was read cannot be written", "");
    require(tort_value_file_read(env, path, type, &back, NULL) == TORT_OK, "a value that was written cannot be read",
            "");
    require(tort_value_count(value) == tort_value_count(back), "a value has changed on its way", "");
    tort_value_release(value);
    tort_value_release(back);
    remove(path);
}

static void read_values(const tort_env *env) {
    const tort_value_type any = tort_tensor_type(TORT_UNDEFINED), sequence = tort_sequence_type(any),
                          numbered = tort_map_type(TORT_INT64, any), named = tort_map_type(TORT_STRING, any);
    const tort_value_type types[] = {any,
                                     sequence,
                                     tort_optional_type(any),
                                     numbered,
                                     named,
                                     tort_optional_type(sequence),
                                     tort_sequence_type(named),
                                     tort_optional_type(tort_sequence_type(numbered)),
                                     tort_sequence_type(sequence),
                                     tort_sequence_type(tort_optional_type(any))};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) read_as(env, types[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    tort_counting_env counting;
    tort_counting_env_init(&counting);
    tort_tensor tensor;
    tort_error error = {0};
    bool npy = size > 0 && bytes[0] == 0x93;
    tort_status status;
    if (npy) {
        status = tort_tensor_npy_decode(&counting.env, bytes, size, &tensor, &error);
    } else {
        const char *path = temporary(".pb");
        write_input(path, bytes, size);
        status = tort_tensor_file_read(&counting.env, path, &tensor, &error);
        read_values(&counting.env);
    }
    require(!status || error.msg[0], "a failure without a message", "");
    if (!status) {
        write_again(&counting.env, &tensor, ".pb");
        write_again(&counting.env, &tensor, ".npy");
        tort_tensor_file_free(&counting.env, &tensor);
    }
    remove(temporary(".pb"));
    remove(temporary(".npy"));
    require(counting.live_blocks == 0, "memory is left", "");
    require(counting.wrong_sizes == 0, "memory was handed back with a wrong size", "");
    return 0;
}
