/* types.c - declared types and shapes: TypeProto -> tort_info and tort_value_type. */
#include <string.h>

#include "loader/loader.h"

static tort_status too_deep_rank(tort_loader *loader, size_t rank) {
    return tort_fail(loader->error, TORT_E_UNSUPPORTED, "a tensor of rank %zu; tinyort handles at most %d", rank,
                     TORT_MAX_RANK);
}

tort_status tort_load_dims(tort_loader *loader, tort_message message, uint32_t number, int32_t *rank, int64_t *out) {
    size_t count = 0;
    int64_t dim;
    tort_numbers list = tort_numbers_of(message, number);
    for (; tort_next_integer(&list, &dim); count++) {
        if (count < TORT_MAX_RANK) out[count] = dim;
        if (dim < 0) return tort_fail(loader->error, TORT_E_MODEL, "dimension %zu is %lld", count, (long long)dim);
    }
    if (count > TORT_MAX_RANK) return too_deep_rank(loader, count);
    *rank = (int32_t)count;
    return TORT_OK;
}

/* The one thing that a TypeProto says; without a message: nothing. */
static tort_field type_in(tort_message message) {
    tort_field last = {0};
    for (tort_field field; tort_next_field(&message, &field);) last = field;
    return last;
}

static tort_status element_type(tort_loader *loader, int32_t number, tort_type *type) {
    if (number <= TORT_UNDEFINED || number >= TORT_TYPE_COUNT)
        return tort_fail(loader->error, TORT_E_MODEL, "element type %d is not one of ONNX's (1 to %d)", number,
                         TORT_TYPE_COUNT - 1);
    *type = (tort_type)number;
    return TORT_OK;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

typedef struct tensor_type {
    int32_t element;
    tort_message shape; /* without a message: the rank is unknown */
} tensor_type;

static tensor_type read_tensor_type(tort_message message) {
    tensor_type type = {0};
    for (tort_field field; tort_next_field(&message, &field);) {
        if (field.number == TENSOR_TYPE_ELEM_TYPE) type.element = (int32_t)field.integer;
        if (field.number == TENSOR_TYPE_SHAPE) type.shape = field.message;
    }
    return type;
}

/* A number; a name, which may be an expression and is taken as a symbol; or unknown: nothing, "?", a negative number.
 */
static tort_dim load_dim(tort_loader *loader, tort_message dim, bool symbolic) {
    const char *name = "";
    bool numbered = false;
    int64_t number = 0;
    for (tort_field field; tort_next_field(&dim, &field);) {
        numbered |= field.number == DIMENSION_VALUE;
        if (field.number == DIMENSION_VALUE) number = (int64_t)field.integer;
        if (field.number == DIMENSION_PARAM) name = field.text;
    }
    if (numbered && number >= 0) return number;
    bool named = !numbered && *name && strcmp(name, "?") != 0;
    if (symbolic && named) return tort_dim_symbol(&loader->model->dims, name);
    return tort_dim_fresh(&loader->model->dims, !symbolic);
}

static tort_status load_shape(tort_loader *loader, tort_message shape, bool symbolic, tort_info *info) {
    if (!shape.at) return TORT_OK;
    int32_t rank = tort_count_of(shape, SHAPE_DIM);
    if (rank > TORT_MAX_RANK) return too_deep_rank(loader, (size_t)rank);
    tort_field field;
    for (int32_t i = 0; tort_next_of(&shape, SHAPE_DIM, &field); i++)
        info->dims[i] = load_dim(loader, field.message, symbolic);
    info->rank = rank;
    return loader->model->dims.failed ? tort_no_memory(loader) : TORT_OK;
}

/* ---- what is not a tensor ---------------------------------------------------------------------------------------- */

/* What a sequence, optional or map holds. */
static tort_status load_element(tort_loader *loader, tort_message message, uint32_t number, tort_value_type *element) {
    tort_field field;
    if (tort_next_of(&message, number, &field)) return tort_load_value_type(loader, field.message, element);
    return tort_fail(loader->error, TORT_E_MODEL, "a composite type does not say what it holds");
}

static tort_status load_map(tort_loader *loader, tort_message message, tort_value_type *type) {
    int32_t number = 0;
    tort_message rest = message;
    tort_type key = TORT_UNDEFINED;
    for (tort_field field; tort_next_of(&rest, MAP_KEY_TYPE, &field);) number = (int32_t)field.integer;
    tort_status status = element_type(loader, number, &key);
    if (!status) status = load_element(loader, message, MAP_VALUE_TYPE, type);
    if (!status) *type = tort_map_type(key, *type);
    return status;
}

static tort_status load_tensor(tort_loader *loader, tort_field field, tort_value_type *type) {
    const tort_kind kind = field.number == TYPE_TENSOR ? TORT_TENSOR : TORT_SPARSE;
    *type = (tort_value_type){.nest = kind};
    return element_type(loader, read_tensor_type(field.message).element, &type->type);
}

tort_status tort_load_value_type(tort_loader *loader, tort_message message, tort_value_type *type) {
    tort_field field = type_in(message);
    tort_status status;
    switch (field.number) {
    case TYPE_TENSOR:
    case TYPE_SPARSE_TENSOR: return load_tensor(loader, field, type);
    case TYPE_SEQUENCE:
        status = load_element(loader, field.message, ELEMENT_TYPE, type);
        if (!status) *type = tort_sequence_type(*type);
        break;
    case TYPE_OPTIONAL:
        status = load_element(loader, field.message, ELEMENT_TYPE, type);
        if (!status) *type = tort_optional_type(*type);
        break;
    case TYPE_MAP: status = load_map(loader, field.message, type); break;
    case TYPE_OPAQUE:
        return tort_fail(loader->error, TORT_E_UNSUPPORTED, "an opaque type, which tinyort does not handle");
    default: return tort_fail(loader->error, TORT_E_MODEL, "a type that says nothing");
    }
    if (status || type->type != TORT_UNDEFINED) return status;
    return tort_fail(loader->error, TORT_E_UNSUPPORTED,
                     "a type of more than %d sequences, optionals and maps within each other, or of sparse tensors",
                     TORT_MAX_NESTING);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

tort_status tort_load_type(tort_loader *loader, tort_message message, bool symbolic, tort_info *info) {
    tort_field type = type_in(message);
    if (type.number == 0) return TORT_OK;
    if (type.number == TYPE_TENSOR || type.number == TYPE_SPARSE_TENSOR) {
        tensor_type tensor = read_tensor_type(type.message);
        info->kind = type.number == TYPE_TENSOR ? TORT_TENSOR : TORT_SPARSE;
        if (info->kind == TORT_SPARSE) info->nest = TORT_SPARSE;
        if (tensor.element == TORT_UNDEFINED) return TORT_OK;
        tort_status status = element_type(loader, tensor.element, &info->type);
        return status ? status : load_shape(loader, tensor.shape, symbolic, info);
    }
    tort_value_type whole;
    tort_status status = tort_load_value_type(loader, message, &whole);
    if (status) return status;
    info->kind = tort_type_kind(whole);
    info->type = whole.type;
    info->nest = (int32_t)whole.nest;
    return TORT_OK;
}
