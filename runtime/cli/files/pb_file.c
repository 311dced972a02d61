/* pb_file.c - see pb_file.h: opening files, and their errors. Read next: pb_write.c. */
#include "runtime/cli/files/pb_file.h"

#include <errno.h>
#include <string.h>

#include "runtime/cli/files/new_file.h"

bool tort_path_ends(const char *path, const char *ending) {
    size_t length = strlen(path), size = strlen(ending);
    return length >= size && strcmp(path + length - size, ending) == 0;
}

tort_status tort_file_open(const tort_env *env, const char *path, tort_source **source, tort_error *error) {
    tort_status status = tort_source_open(env, &(tort_origin){.path = path}, NULL, source, error);
    const uint64_t size = status ? 0 : tort_source_size(*source);
    if (size <= TORT_MAX_FILE_BYTES) return status;
    tort_source_close(*source);
    return tort_fail(error, TORT_E_INPUT, "it has %llu bytes; at most %llu are read of such a file",
                     (unsigned long long)size, (unsigned long long)TORT_MAX_FILE_BYTES);
}

/* Parses a message within a memory limit by the file's size; what `read` allocates afterwards does not count. */
static tort_status parse_limited(tort_loader *loader, const ProtobufCMessageDescriptor *root,
                                 tort_status (*read)(tort_loader *loader, const void *proto, void *ud), void *ud) {
    tort_account account;
    tort_parsed parsed;
    const tort_env bounded = tort_account_open(&account, loader->env, 0);
    tort_account_limit(&account, tort_load_limit(tort_source_size(loader->source)));
    tort_status status = tort_parse(&bounded, loader->source, root, &parsed, loader->error);
    if (status && account.refused) status = tort_over_limit(loader->source, account.limit, loader->error);
    if (!status) status = read(loader, parsed.root, ud);
    tort_parsed_free(&parsed);
    return status;
}

tort_status tort_pb_read(const tort_env *env, const char *path, const ProtobufCMessageDescriptor *root,
                         tort_status (*read)(tort_loader *loader, const void *proto, void *ud), void *ud,
                         tort_error *error) {
    tort_loader loader = {.env = env, .error = error};
    if (!tort_path_ends(path, ".pb")) return tort_fail(error, TORT_E_USAGE, "the path must end in .npy or .pb");
    tort_status status = tort_file_open(env, path, &loader.source, error);
    if (status) return status;
    status = parse_limited(&loader, root, read, ud);
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
    tort_new_file file;
    tort_status status = cli_new_file_open(path, &file, error);
    if (status) return status;
    if (!write(file.stream, what, name)) file.cause = errno;
    return cli_new_file_end(&file, TORT_OK, error);
}

tort_container_facts tort_container_of(tort_kind kind) {
    switch (kind) {
    case TORT_TENSOR: return (tort_container_facts){TORT_ONNX__SEQUENCE_PROTO__DATA_TYPE__TENSOR, "tensors"};
    case TORT_SPARSE: break;
    case TORT_SEQUENCE: return (tort_container_facts){TORT_ONNX__SEQUENCE_PROTO__DATA_TYPE__SEQUENCE, "sequences"};
    case TORT_OPTIONAL: return (tort_container_facts){TORT_ONNX__SEQUENCE_PROTO__DATA_TYPE__OPTIONAL, "optionals"};
    case TORT_MAP: return (tort_container_facts){TORT_ONNX__SEQUENCE_PROTO__DATA_TYPE__MAP, "maps"};
    }
    return (tort_container_facts){TORT_ONNX__SEQUENCE_PROTO__DATA_TYPE__SPARSE_TENSOR, "sparse tensors"};
}
