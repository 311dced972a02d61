/* types.c - declared types and shapes: TypeProto -> tort_info and tort_composite. */
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

/* What a sequence, optional or map holds goes into the composite. */
static tort_status load_element(tort_loader *loader, tort_message message, uint32_t number, tort_composite *composite) {
    tort_field element;
    composite->element = TORT_TENSOR;
    composite->inner = -1;
    if (!tort_next_of(&message, number, &element))
        return tort_fail(loader->error, TORT_E_MODEL, "a composite type does not say what it holds");
    tort_field type = type_in(element.message);
    if (type.number == TYPE_TENSOR)
        return element_type(loader, read_tensor_type(type.message).element, &composite->type);
    tort_status status = tort_load_composite(loader, element.message, &composite->inner);
    if (!status) composite->element = loader->model->composites[composite->inner].kind;
    return status;
}

static tort_status load_map(tort_loader *loader, tort_message message, tort_composite *composite) {
    int32_t key = 0;
    tort_message rest = message;
    for (tort_field field; tort_next_of(&rest, MAP_KEY_TYPE, &field);) key = (int32_t)field.integer;
    tort_status status = element_type(loader, key, &composite->key);
    return status ? status : load_element(loader, message, MAP_VALUE_TYPE, composite);
}

tort_status tort_load_composite(tort_loader *loader, tort_message message, int32_t *index) {
    tort_field type = type_in(message);
    tort_composite composite = {.inner = -1};
    tort_status status;
    switch (type.number) {
    case TYPE_TENSOR:
    case TYPE_SPARSE_TENSOR:
        composite.kind = type.number == TYPE_TENSOR ? TORT_TENSOR : TORT_SPARSE;
        status = element_type(loader, read_tensor_type(type.message).element, &composite.type);
        break;
    case TYPE_SEQUENCE:
    case TYPE_OPTIONAL:
        composite.kind = type.number == TYPE_SEQUENCE ? TORT_SEQUENCE : TORT_OPTIONAL;
        status = load_element(loader, type.message, ELEMENT_TYPE, &composite);
        break;
    case TYPE_MAP:
        composite.kind = TORT_MAP;
        status = load_map(loader, type.message, &composite);
        break;
    case TYPE_OPAQUE:
        return tort_fail(loader->error, TORT_E_UNSUPPORTED, "an opaque type, which tinyort does not handle");
    default: return tort_fail(loader->error, TORT_E_MODEL, "a type that says nothing");
    }
    if (status) return status;
    *index = tort_model_add_composite(loader->model, &composite);
    return *index < 0 ? tort_no_memory(loader) : TORT_OK;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

tort_status tort_load_type(tort_loader *loader, tort_message message, bool symbolic, tort_info *info) {
    tort_field type = type_in(message);
    if (type.number == 0) return TORT_OK;
    if (type.number == TYPE_TENSOR || type.number == TYPE_SPARSE_TENSOR) {
        tensor_type tensor = read_tensor_type(type.message);
        info->kind = type.number == TYPE_TENSOR ? TORT_TENSOR : TORT_SPARSE;
        if (tensor.element == TORT_UNDEFINED) return TORT_OK;
        tort_status status = element_type(loader, tensor.element, &info->type);
        return status ? status : load_shape(loader, tensor.shape, symbolic, info);
    }
    tort_status status = tort_load_composite(loader, message, &info->composite);
    if (status) return status;
    const tort_composite *composite = &loader->model->composites[info->composite];
    info->kind = composite->kind;
    info->type = composite->type;
    return TORT_OK;
}
