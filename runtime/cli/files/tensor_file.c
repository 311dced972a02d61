/* tensor_file.c - single tensors in files: chooses the format by the path's ending, and reads .pb. npy.c reads .npy,
 * pb_write.c writes .pb, value_file.c handles values that are not tensors. */
#include "runtime/cli/files/tensor_file.h"

#include <string.h>

#include "runtime/cli/files/npy.h"
#include "runtime/cli/files/pb_file.h"

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* Copies borrowed strings into the space behind the elements. */
static void own_strings(tort_string *strings, size_t count) {
    char *text = (char *)(strings + count);
    for (size_t i = 0; i < count; i++) {
        if (strings[i].length) memcpy(text, strings[i].data, strings[i].length);
        strings[i].data = text;
        text += strings[i].length;
    }
}

static tort_status read_message(tort_loader *loader, const void *root, void *ud) {
    const TortOnnx__TensorProto *proto = root;
    tort_tensor *tensor = ud;
    tort_weight facts;
    size_t text = 0;
    tort_status status = tort_tensor_facts(loader, proto, &facts);
    if (status) return status;
    *tensor = (tort_tensor){.type = facts.type, .rank = facts.rank};
    memcpy(tensor->dims, facts.dims, sizeof tensor->dims);
    for (size_t i = 0; i < proto->n_string_data; i++) text += proto->string_data[i].len;
    status = tort_tensor_file_alloc(loader->env, tensor, text, loader->error);
    if (status) return status;
    status = tort_tensor_contents(loader, proto, &facts, tensor->data);
    if (status) tort_tensor_file_free(loader->env, tensor);
    if (!status && facts.type == TORT_STRING) own_strings(tensor->data, facts.bytes / sizeof(tort_string));
    return status;
}

static tort_status read_npy(const tort_env *env, const char *path, tort_tensor *tensor, tort_error *error) {
    tort_source *source;
    tort_status status = tort_file_open(env, path, &source, error);
    if (status) return status;
    size_t size = (size_t)tort_source_size(source);
    void *bytes = tort_alloc(env, size);
    status = bytes ? tort_source_read(source, 0, 0, size, bytes, error) : tort_out_of_memory(error, size);
    if (!status) status = tort_tensor_npy_decode(env, bytes, size, tensor, error);
    tort_free(env, bytes, size);
    tort_source_close(source);
    return status;
}

tort_status tort_tensor_file_read(const tort_env *env, const char *path, tort_tensor *tensor, tort_error *error) {
    tort_env complete = tort_env_complete(env);
    tort_status status;
    *tensor = (tort_tensor){0};
    if (tort_path_ends(path, ".npy"))
        status = read_npy(&complete, path, tensor, error);
    else
        status = tort_pb_read(&complete, path, &tort_onnx__tensor_proto__descriptor, read_message, tensor, error);
    return tort_file_status(path, status, error);
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static bool write_npy(FILE *file, const void *tensor, const char *name) {
    (void)name;
    return tort_npy_write(file, tensor);
}

static bool write_pb(FILE *file, const void *tensor, const char *name) {
    return tort_pb_write_tensor(file, tensor, name);
}

tort_status tort_tensor_file_write(const char *path, const char *name, const tort_tensor *tensor, tort_error *error) {
    return tort_file_write(path, tort_path_ends(path, ".npy") ? write_npy : write_pb, tensor, name, error);
}
