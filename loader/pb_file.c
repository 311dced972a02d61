/* pb_file.c - see pb_file.h: opening, and errors of files. Read next: pb_write.c. */
#include "loader/pb_file.h"

#include <errno.h>
#include <string.h>

bool tort_path_ends(const char *path, const char *ending) {
    size_t length = strlen(path), size = strlen(ending);
    return length >= size && strcmp(path + length - size, ending) == 0;
}

tort_status tort_pb_read(const tort_env *env, const char *path, const tort_wire_message *root,
                         tort_status (*read)(tort_loader *loader, tort_message message, void *ud), void *ud,
                         tort_error *error) {
    tort_slim slim;
    tort_loader loader = {.env = env, .error = error};
    if (!tort_path_ends(path, ".pb")) return tort_fail(error, TORT_E_USAGE, "the path must end in .npy or .pb");
    tort_status status = tort_source_open_file(env, path, NULL, &loader.source, error);
    if (status) return status;
    status = tort_wire_slim(env, loader.source, root, &slim, error);
    uint8_t *end = slim.size ? slim.bytes + slim.size : slim.bytes; /* both NULL where nothing was kept */
    if (!status) status = read(&loader, (tort_message){slim.bytes, end}, ud);
    tort_slim_free(env, &slim);
    tort_source_close(loader.source);
    return status;
}

tort_status tort_file_status(const char *path, tort_status status, tort_error *error) {
    if (status == TORT_E_MODEL) status = TORT_E_INPUT;
    if (status && error) error->code = status;
    if (status) tort_error_prefix(error, "%.200s", path);
    return status;
}

tort_status tort_file_write(const char *path, bool (*write)(FILE *file, const void *what, const char *name),
                            const void *what, const char *name, tort_error *error) {
    if (!tort_path_ends(path, ".npy") && !tort_path_ends(path, ".pb"))
        return tort_fail(error, TORT_E_USAGE, "%.200s: the path must end in .npy or .pb", path);
    FILE *file = fopen(path, "wb");
    if (!file) return tort_fail(error, TORT_E_IO, "cannot write \"%.200s\": %s", path, strerror(errno));
    bool written = write(file, what, name);
    int cause = errno;
    if (fclose(file) != 0 && written) {
        written = false;
        cause = errno;
    }
    return written ? TORT_OK : tort_fail(error, TORT_E_IO, "cannot write \"%.200s\": %s", path, strerror(cause));
}

tort_container_facts tort_container_of(tort_kind kind) {
    switch (kind) {
    case TORT_TENSOR: return (tort_container_facts){CONTAINER_TENSOR, HOLDS_TENSORS, "tensors"};
    case TORT_SPARSE: break;
    case TORT_SEQUENCE: return (tort_container_facts){CONTAINER_SEQUENCE, HOLDS_SEQUENCES, "sequences"};
    case TORT_OPTIONAL: return (tort_container_facts){CONTAINER_OPTIONAL, HOLDS_OPTIONALS, "optionals"};
    case TORT_MAP: return (tort_container_facts){CONTAINER_MAP, HOLDS_MAPS, "maps"};
    }
    return (tort_container_facts){CONTAINER_SPARSE_TENSOR, HOLDS_SPARSE_TENSORS, "sparse tensors"};
}
