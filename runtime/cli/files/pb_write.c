/* pb_write.c - writes tensors and other values as ONNX messages, which borrow names and data. */
#include "runtime/cli/files/pb_file.h"
#include "runtime/core/graph/value.h"
#include "runtime/export/message.h"

/* ---- what is not a tensor -------------------------------------------------------------------------------------------
 */

static void *make_value(tort_arena *arena, const tort_value *value, const char *name);

/* The elements of a sequence, map or optional as a message. */
static TortOnnx__SequenceProto *make_elements(tort_arena *arena, const tort_value *value, const char *name) {
    const tort_kind kind = tort_type_kind(tort_type_element(tort_value_type_of(value)));
    const size_t count = (size_t)tort_value_count(value);
    TortOnnx__SequenceProto *proto = tort_arena_alloc(arena, sizeof *proto);
    void **elements = tort_arena_array(arena, count, sizeof *elements);
    if (!proto || !elements) return NULL;
    for (size_t i = 0; i < count; i++) {
        elements[i] = make_value(arena, tort_value_at(value, (int32_t)i), NULL);
        if (!elements[i]) return NULL;
    }
    tort_onnx__sequence_proto__init(proto);
    proto->name = (char *)name;
    proto->has_elem_type = true;
    proto->elem_type = tort_container_of(kind).number;
    *(kind == TORT_TENSOR     ? &proto->n_tensor_values
      : kind == TORT_SEQUENCE ? &proto->n_sequence_values
      : kind == TORT_OPTIONAL ? &proto->n_optional_values
                              : &proto->n_map_values) = count;
    proto->tensor_values = (TortOnnx__TensorProto **)elements; /* only the list with a count is written */
    proto->sequence_values = proto->optional_values = (TortOnnx__SequenceProto **)elements;
    proto->map_values = (TortOnnx__MapProto **)elements;
    return proto;
}

static TortOnnx__MapProto *make_map(tort_arena *arena, const tort_value *map, const char *name) {
    const tort_tensor *keys = tort_value_keys(map);
    const size_t count = (size_t)tort_value_count(map);
    TortOnnx__MapProto *proto = tort_arena_alloc(arena, sizeof *proto);
    if (!proto) return NULL;
    tort_onnx__map_proto__init(proto);
    proto->name = (char *)name;
    proto->has_key_type = true;
    proto->key_type = (int32_t)keys->type;
    proto->values = make_elements(arena, map, NULL);
    if (keys->type == TORT_STRING) {
        proto->n_string_keys = count;
        proto->string_keys = tort_pb_make_strings(arena, keys->data, count);
        return proto->values && proto->string_keys ? proto : NULL;
    }
    proto->n_keys = count;
    proto->keys = keys->data;
    return proto->values ? proto : NULL;
}

/* The message of a value, which borrows from it; NULL: out of memory. */
static void *make_value(tort_arena *arena, const tort_value *value, const char *name) {
    switch (tort_value_kind(value)) {
    case TORT_TENSOR: return tort_pb_make_tensor(arena, tort_value_view(value), name);
    case TORT_MAP: return make_map(arena, value, name);
    default: return make_elements(arena, value, name);
    }
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* NULL for an empty name, so that the field is left out. */
static const char *given(const char *name) {
    return name && *name ? name : NULL;
}

bool tort_pb_write_value(FILE *file, const tort_value *value, const char *name) {
    const tort_env env = tort_env_complete(NULL);
    tort_arena arena;
    tort_arena_init(&arena, &env);
    const bool ok = tort_pb_write_message(file, make_value(&arena, value, given(name)));
    tort_arena_free(&arena);
    return ok;
}

bool tort_pb_write_tensor(FILE *file, const tort_tensor *tensor, const char *name) {
    const tort_env env = tort_env_complete(NULL);
    tort_arena arena;
    tort_arena_init(&arena, &env);
    TortOnnx__TensorProto *proto = tort_pb_make_tensor(&arena, tensor, given(name));
    const bool ok = tort_pb_write_message(file, proto ? &proto->base : NULL);
    tort_arena_free(&arena);
    return ok;
}
