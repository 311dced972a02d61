/* value_file.c - see value_file.h. The expected type bounds the depth of the recursion; every value must match it. */
#include "runtime/cli/files/value_file.h"

#include <string.h>

#include "runtime/cli/files/pb_file.h"
#include "runtime/cli/files/tensor_file.h"
#include "runtime/core/graph/value.h"

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static tort_status read_tensor(tort_loader *loader, const TortOnnx__TensorProto *proto, tort_type type,
                               tort_value **value) {
    tort_weight facts;
    tort_status status = tort_tensor_facts(loader, proto, &facts);
    if (status) return status;
    if (type != TORT_UNDEFINED && facts.type != type)
        return tort_fail(loader->error, TORT_E_MODEL, "a tensor of %s where one of %s belongs",
                         tort_type_name(facts.type), tort_type_name(type));
    tort_tensor shape = {.type = facts.type, .rank = facts.rank};
    memcpy(shape.dims, facts.dims, sizeof shape.dims);
    *value = tort_value_new(loader->env, &shape);
    if (!*value) return tort_no_memory(loader);
    status = tort_tensor_contents(loader, proto, &facts, tort_value_data(*value));
    return status || tort_value_own_text(*value) ? status : tort_no_memory(loader);
}

/* ---- what is not a tensor -------------------------------------------------------------------------------------------
 */

static tort_status read_value(tort_loader *loader, const void *proto, tort_value_type type, tort_value **value);

static size_t count_of(const TortOnnx__SequenceProto *proto, tort_kind kind) {
    switch (kind) {
    case TORT_TENSOR: return proto->n_tensor_values;
    case TORT_SPARSE: return proto->n_sparse_tensor_values;
    case TORT_SEQUENCE: return proto->n_sequence_values;
    case TORT_OPTIONAL: return proto->n_optional_values;
    case TORT_MAP: return proto->n_map_values;
    }
    return 0;
}

static const void *value_at(const TortOnnx__SequenceProto *proto, tort_kind kind, size_t i) {
    switch (kind) {
    case TORT_TENSOR: return proto->tensor_values[i];
    case TORT_SPARSE: return proto->sparse_tensor_values[i];
    case TORT_SEQUENCE: return proto->sequence_values[i];
    case TORT_OPTIONAL: return proto->optional_values[i];
    case TORT_MAP: return proto->map_values[i];
    }
    return NULL;
}

/* Checks that every value in a container is of the wanted kind. elem_type is ignored if there are no values, since
 * writers do not set it reliably then. */
static tort_status check_kinds(tort_loader *loader, const TortOnnx__SequenceProto *proto, tort_kind wanted) {
    static const tort_kind kinds[] = {TORT_TENSOR, TORT_SPARSE, TORT_SEQUENCE, TORT_OPTIONAL, TORT_MAP};
    const tort_container_facts facts = tort_container_of(wanted);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i] != wanted && count_of(proto, kinds[i]) > 0)
            return tort_fail(loader->error, TORT_E_MODEL, "it holds %s where %s belong",
                             tort_container_of(kinds[i]).what, facts.what);
    if (count_of(proto, wanted) == 0 || !proto->has_elem_type || proto->elem_type == facts.number) return TORT_OK;
    return tort_fail(loader->error, TORT_E_MODEL, "elem_type is %d where it holds %s, which is %d", proto->elem_type,
                     facts.what, facts.number);
}

static tort_status read_sequence(tort_loader *loader, const TortOnnx__SequenceProto *proto, tort_value_type type,
                                 tort_value **sequence) {
    const tort_value_type element_type = tort_type_element(type);
    const tort_kind kind = tort_type_kind(element_type);
    tort_status status = check_kinds(loader, proto, kind);
    if (status) return status;
    *sequence = tort_value_sequence(loader->env, element_type);
    if (!*sequence) return tort_no_memory(loader);
    for (size_t i = 0; !status && i < count_of(proto, kind); i++) {
        tort_value *element = NULL;
        status =
            read_value(loader, value_at(proto, kind, i), tort_type_element(tort_value_type_of(*sequence)), &element);
        if (!status && !tort_value_append(*sequence, element)) status = tort_no_memory(loader);
        tort_value_release(element);
    }
    return status;
}

static tort_status read_optional(tort_loader *loader, const TortOnnx__SequenceProto *proto, tort_value_type type,
                                 tort_value **optional) {
    const tort_value_type element_type = tort_type_element(type);
    const tort_kind kind = tort_type_kind(element_type);
    const size_t count = count_of(proto, kind);
    tort_value *element = NULL;
    tort_status status = check_kinds(loader, proto, kind);
    if (!status && count > 1)
        status = tort_fail(loader->error, TORT_E_MODEL, "an optional that holds %zu values", count);
    if (!status && count > 0) status = read_value(loader, value_at(proto, kind, 0), element_type, &element);
    if (!status) {
        *optional = tort_value_optional(loader->env, element_type, element);
        if (!*optional) status = tort_no_memory(loader);
    }
    tort_value_release(element);
    return status;
}

/* ---- maps -------------------------------------------------------------------------------------------------------- */

/* Reads the keys of a map as a tensor value. */
static tort_status read_keys(tort_loader *loader, const TortOnnx__MapProto *proto, tort_type type, tort_value **keys) {
    const size_t count = type == TORT_STRING ? proto->n_string_keys : proto->n_keys;
    const tort_tensor shape = {.type = type, .rank = 1, .dims = {(int64_t)count}};
    *keys = tort_value_new(loader->env, &shape);
    if (!*keys) return tort_no_memory(loader);
    if (type == TORT_INT64 && count) memcpy(tort_value_data(*keys), proto->keys, count * sizeof *proto->keys);
    for (size_t i = 0; type == TORT_STRING && i < count; i++)
        ((tort_string *)tort_value_data(*keys))[i] =
            (tort_string){(const char *)proto->string_keys[i].data, proto->string_keys[i].len};
    return tort_value_own_text(*keys) ? TORT_OK : tort_no_memory(loader);
}

static tort_status check_key_type(tort_loader *loader, int32_t said, tort_type type) {
    if (type != TORT_INT64 && type != TORT_STRING)
        return tort_fail(loader->error, TORT_E_UNSUPPORTED, "a map with keys of %s; tinyort handles int64 and string",
                         tort_type_name(type));
    if (said == (int32_t)type) return TORT_OK;
    return tort_fail(loader->error, TORT_E_MODEL, "key_type is %d where keys of %s, which is %d, belong", said,
                     tort_type_name(type), (int)type);
}

static tort_status make_map(tort_loader *loader, const tort_value *keys, const tort_value *values, tort_value **map) {
    const int32_t count = tort_value_count(values);
    const tort_tensor *list = tort_value_view(keys);
    if (list->dims[0] != count)
        return tort_fail(loader->error, TORT_E_MODEL, "a map of %lld keys and %d values", (long long)list->dims[0],
                         count);
    const size_t bytes = (size_t)count * sizeof(tort_value *);
    const tort_value **elements = tort_alloc(loader->env, bytes);
    if (!elements) return tort_no_memory(loader);
    for (int32_t i = 0; i < count; i++) elements[i] = tort_value_at(values, i);
    *map = tort_value_map(loader->env, list, tort_type_element(tort_value_type_of(values)), elements);
    tort_free(loader->env, elements, bytes);
    return *map ? TORT_OK : tort_no_memory(loader);
}

static tort_status read_map(tort_loader *loader, const TortOnnx__MapProto *proto, tort_value_type type,
                            tort_value **map) {
    static const TortOnnx__SequenceProto none = TORT_ONNX__SEQUENCE_PROTO__INIT;
    tort_value *keys = NULL, *values = NULL;
    tort_status status = check_key_type(loader, proto->key_type, tort_type_key(type));
    if (!status) status = read_keys(loader, proto, tort_type_key(type), &keys);
    if (!status)
        status = read_sequence(loader, proto->values ? proto->values : &none,
                               tort_sequence_type(tort_type_element(type)), &values);
    if (!status) status = make_map(loader, keys, values, map);
    tort_value_release(keys);
    tort_value_release(values);
    return status;
}

/* ---- any value --------------------------------------------------------------------------------------------------- */

/* Reads a value. *value may be set after a failure too: the caller releases it. */
static tort_status read_value(tort_loader *loader, const void *proto, tort_value_type type, tort_value **value) {
    switch (tort_type_kind(type)) {
    case TORT_TENSOR: return read_tensor(loader, proto, type.type, value);
    case TORT_SEQUENCE: return read_sequence(loader, proto, type, value);
    case TORT_OPTIONAL: return read_optional(loader, proto, type, value);
    case TORT_MAP: return read_map(loader, proto, type, value);
    case TORT_SPARSE: break;
    }
    return tort_fail(loader->error, TORT_E_UNSUPPORTED, "a sparse tensor");
}

typedef struct reading {
    tort_value_type type;
    tort_value *value;
} reading;

static tort_status read_root(tort_loader *loader, const void *proto, void *ud) {
    reading *r = ud;
    return read_value(loader, proto, r->type, &r->value);
}

static tort_status read_npy(const tort_env *env, const char *path, tort_value **value, tort_error *error) {
    tort_tensor tensor;
    tort_status status = tort_tensor_file_read(env, path, &tensor, error);
    if (status) return status;
    *value = tort_value_tensor(env, &tensor);
    tort_tensor_file_free(env, &tensor);
    return *value ? TORT_OK : tort_out_of_memory(error, sizeof tensor);
}

tort_status tort_value_file_read(const tort_env *env, const char *path, tort_value_type type, tort_value **value,
                                 tort_error *error) {
    const tort_env complete = tort_env_complete(env);
    const ProtobufCMessageDescriptor *const roots[] = {
        &tort_onnx__tensor_proto__descriptor, &tort_onnx__sparse_tensor_proto__descriptor,
        &tort_onnx__sequence_proto__descriptor, &tort_onnx__sequence_proto__descriptor,
        &tort_onnx__map_proto__descriptor};
    *value = NULL;
    if (tort_type_kind(type) == TORT_TENSOR && tort_path_ends(path, ".npy"))
        return read_npy(&complete, path, value, error);
    reading r = {.type = type};
    tort_status status = tort_pb_read(&complete, path, roots[tort_type_kind(type)], read_root, &r, error);
    if (status)
        tort_value_release(r.value);
    else
        *value = r.value;
    return tort_file_status(path, status, error);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static bool write_value(FILE *file, const void *value, const char *name) {
    return tort_pb_write_value(file, value, name);
}

tort_status tort_value_file_write(const char *path, const char *name, const tort_value *value, tort_error *error) {
    const tort_tensor *tensor = tort_value_view(value);
    if (tensor) return tort_tensor_file_write(path, name, tensor, error);
    char type[80];
    if (tort_path_ends(path, ".npy"))
        return tort_fail(error, TORT_E_UNSUPPORTED, "%.200s: .npy holds tensors; a value of type %s needs .pb", path,
                         tort_type_text(tort_value_type_of(value), type, sizeof type));
    return tort_file_write(path, write_value, value, name, error);
}
