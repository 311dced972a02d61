/* types.c - declared types and shapes: TypeProto -> tort_info and tort_value_type. */
#include <string.h>

#include "loader/loader.h"

static tort_status too_deep_rank(tort_loader *loader, size_t rank) {
    return tort_fail(loader->error, TORT_E_UNSUPPORTED, "a tensor of rank %zu; tinyort handles at most %d", rank,
                     TORT_MAX_RANK);
}

tort_status tort_load_dims(tort_loader *loader, const int64_t *dims, size_t count, int32_t *rank, int64_t *out) {
    for (size_t i = 0; i < count; i++) {
        if (dims[i] < 0) return tort_fail(loader->error, TORT_E_MODEL, "dimension %zu is %lld", i, (long long)dims[i]);
        if (i < TORT_MAX_RANK) out[i] = dims[i];
    }
    if (count > TORT_MAX_RANK) return too_deep_rank(loader, count);
    *rank = (int32_t)count;
    return TORT_OK;
}

static tort_status element_type(tort_loader *loader, int32_t number, tort_type *type) {
    if (number <= TORT_UNDEFINED || number >= TORT_TYPE_COUNT)
        return tort_fail(loader->error, TORT_E_MODEL, "element type %d is not one of ONNX's (1 to %d)", number,
                         TORT_TYPE_COUNT - 1);
    *type = (tort_type)number;
    return TORT_OK;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* Loads a dimension: a number; a name, which may be an expression and is taken as a symbol; or unknown, if it is
 * absent, "?" or a negative number. */
static tort_dim load_dim(tort_loader *loader, const TortOnnx__TensorShapeProto__Dimension *dim, bool symbolic) {
    const bool numbered = dim->value_case == TORT_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    if (numbered && dim->dim_value >= 0) return dim->dim_value;
    const char *name =
        dim->value_case == TORT_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM ? dim->dim_param : "";
    return symbolic ? tort_dim_symbol(&loader->model->dims, name) : tort_dim_fresh(&loader->model->dims, true);
}

static tort_status load_shape(tort_loader *loader, const TortOnnx__TensorShapeProto *shape, bool symbolic,
                              tort_info *info) {
    if (!shape) return TORT_OK;
    if (shape->n_dim > TORT_MAX_RANK) return too_deep_rank(loader, shape->n_dim);
    for (size_t i = 0; i < shape->n_dim; i++) info->dims[i] = load_dim(loader, shape->dim[i], symbolic);
    info->rank = (int32_t)shape->n_dim;
    return loader->model->dims.failed ? tort_no_memory(loader) : TORT_OK;
}

/* ---- what is not a tensor ---------------------------------------------------------------------------------------- */

/* Loads the type of the elements of a sequence, optional or map. */
static tort_status load_element(tort_loader *loader, const TortOnnx__TypeProto *proto, tort_value_type *element) {
    if (proto) return tort_load_value_type(loader, proto, element);
    return tort_fail(loader->error, TORT_E_MODEL, "a composite type does not say what it holds");
}

static tort_status load_map(tort_loader *loader, const TortOnnx__TypeProto__Map *proto, tort_value_type *type) {
    tort_type key = TORT_UNDEFINED;
    tort_status status = element_type(loader, proto->key_type, &key);
    if (!status) status = load_element(loader, proto->value_type, type);
    if (!status) *type = tort_map_type(key, *type);
    return status;
}

static tort_status load_tensor(tort_loader *loader, const TortOnnx__TypeProto__Tensor *proto, tort_kind kind,
                               tort_value_type *type) {
    *type = (tort_value_type){.nest = kind};
    return element_type(loader, proto->elem_type, &type->type);
}

tort_status tort_load_value_type(tort_loader *loader, const TortOnnx__TypeProto *proto, tort_value_type *type) {
    tort_status status;
    switch (proto->value_case) {
    case TORT_ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE: return load_tensor(loader, proto->tensor_type, TORT_TENSOR, type);
    case TORT_ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
        return load_tensor(loader, proto->sparse_tensor_type, TORT_SPARSE, type);
    case TORT_ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
        status = load_element(loader, proto->sequence_type->elem_type, type);
        if (!status) *type = tort_sequence_type(*type);
        break;
    case TORT_ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
        status = load_element(loader, proto->optional_type->elem_type, type);
        if (!status) *type = tort_optional_type(*type);
        break;
    case TORT_ONNX__TYPE_PROTO__VALUE_MAP_TYPE: status = load_map(loader, proto->map_type, type); break;
    case TORT_ONNX__TYPE_PROTO__VALUE_OPAQUE_TYPE:
        return tort_fail(loader->error, TORT_E_UNSUPPORTED, "an opaque type, which tinyort does not handle");
    default: return tort_fail(loader->error, TORT_E_MODEL, "a type that says nothing");
    }
    if (status || type->type != TORT_UNDEFINED) return status;
    return tort_fail(loader->error, TORT_E_UNSUPPORTED,
                     "a type of more than %d sequences, optionals and maps within each other, or of sparse tensors",
                     TORT_MAX_NESTING);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

tort_status tort_load_type(tort_loader *loader, const TortOnnx__TypeProto *proto, bool symbolic, tort_info *info) {
    if (!proto || proto->value_case == TORT_ONNX__TYPE_PROTO__VALUE__NOT_SET) return TORT_OK;
    const TortOnnx__TypeProto__Tensor *tensor = NULL;
    if (proto->value_case == TORT_ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) tensor = proto->tensor_type;
    if (proto->value_case == TORT_ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE) tensor = proto->sparse_tensor_type;
    if (tensor && tensor->elem_type == TORT_UNDEFINED) return TORT_OK;
    tort_value_type whole;
    tort_status status = tort_load_value_type(loader, proto, &whole);
    if (status) return status;
    info->kind = tort_type_kind(whole);
    info->type = whole.type;
    if (info->kind != TORT_TENSOR) info->nest = (int32_t)whole.nest;
    return tensor ? load_shape(loader, tensor->shape, symbolic, info) : TORT_OK;
}
