/* types.c - declared types and shapes: TypeProto -> tort_info and tort_composite. */
#include <string.h>

#include "loader/loader.h"

static tort_status too_deep_rank(tort_loader *loader, size_t rank) {
    return tort_fail(loader->error, TORT_E_UNSUPPORTED, "a tensor of rank %zu; tinyort handles at most %d", rank,
                     TORT_MAX_RANK);
}

tort_status tort_load_dims(tort_loader *loader, const int64_t *dims, size_t count, int32_t *rank, int64_t *out) {
    if (count > TORT_MAX_RANK) return too_deep_rank(loader, count);
    for (size_t i = 0; i < count; i++) {
        if (dims[i] < 0) return tort_fail(loader->error, TORT_E_MODEL, "dimension %zu is %lld", i, (long long)dims[i]);
        out[i] = dims[i];
    }
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

/* A number; a name, which may be an expression and is taken as a symbol; or unknown: nothing, "?", a negative number.
 */
static tort_dim load_dim(tort_loader *loader, const TortOnnx__TensorShapeProto__Dimension *dim, bool symbolic) {
    if (dim->has_dim_value && dim->dim_value >= 0) return dim->dim_value;
    const char *name = tort_text_of(dim->dim_param);
    bool named = !dim->has_dim_value && *name && strcmp(name, "?") != 0;
    if (symbolic && named) return tort_dim_symbol(&loader->model->dims, name);
    return tort_dim_fresh(&loader->model->dims, !symbolic);
}

static tort_status load_shape(tort_loader *loader, const TortOnnx__TensorShapeProto *shape, bool symbolic,
                              tort_info *info) {
    if (!shape) return TORT_OK;
    if (shape->n_dim > TORT_MAX_RANK) return too_deep_rank(loader, shape->n_dim);
    for (size_t i = 0; i < shape->n_dim; i++) info->dims[i] = load_dim(loader, shape->dim[i], symbolic);
    info->rank = (int32_t)shape->n_dim;
    return TORT_OK;
}

/* What a sequence, optional or map holds goes into the composite. */
static tort_status load_element(tort_loader *loader, const TortOnnx__TypeProto *proto, tort_composite *composite) {
    composite->element = TORT_TENSOR;
    composite->inner = -1;
    if (!proto) return tort_fail(loader->error, TORT_E_MODEL, "a composite type does not say what it holds");
    if (proto->tensor_type) return element_type(loader, proto->tensor_type->elem_type, &composite->type);
    tort_status status = tort_load_composite(loader, proto, &composite->inner);
    if (!status) composite->element = loader->model->composites[composite->inner].kind;
    return status;
}

tort_status tort_load_composite(tort_loader *loader, const TortOnnx__TypeProto *proto, int32_t *index) {
    tort_composite composite = {.inner = -1};
    tort_status status;
    if (proto->tensor_type || proto->sparse_tensor_type) {
        const TortOnnx__TypeProto__Tensor *tensor = proto->tensor_type ? proto->tensor_type : proto->sparse_tensor_type;
        composite.kind = proto->tensor_type ? TORT_TENSOR : TORT_SPARSE;
        status = element_type(loader, tensor->elem_type, &composite.type);
    } else if (proto->sequence_type) {
        composite.kind = TORT_SEQUENCE;
        status = load_element(loader, proto->sequence_type->elem_type, &composite);
    } else if (proto->optional_type) {
        composite.kind = TORT_OPTIONAL;
        status = load_element(loader, proto->optional_type->elem_type, &composite);
    } else if (proto->map_type) {
        composite.kind = TORT_MAP;
        status = element_type(loader, proto->map_type->key_type, &composite.key);
        if (!status) status = load_element(loader, proto->map_type->value_type, &composite);
    } else if (proto->opaque_type) {
        return tort_fail(loader->error, TORT_E_UNSUPPORTED, "an opaque type, which tinyort does not handle");
    } else {
        return tort_fail(loader->error, TORT_E_MODEL, "a type that says nothing");
    }
    if (status) return status;
    *index = tort_model_add_composite(loader->model, &composite);
    return *index < 0 ? tort_no_memory(loader) : TORT_OK;
}

tort_status tort_load_type(tort_loader *loader, const TortOnnx__TypeProto *proto, bool symbolic, tort_info *info) {
    if (proto->tensor_type || proto->sparse_tensor_type) {
        const TortOnnx__TypeProto__Tensor *tensor = proto->tensor_type ? proto->tensor_type : proto->sparse_tensor_type;
        info->kind = proto->tensor_type ? TORT_TENSOR : TORT_SPARSE;
        tort_status status = element_type(loader, tensor->elem_type, &info->type);
        return status ? status : load_shape(loader, tensor->shape, symbolic, info);
    }
    tort_status status = tort_load_composite(loader, proto, &info->composite);
    if (status) return status;
    const tort_composite *composite = &loader->model->composites[info->composite];
    info->kind = composite->kind;
    info->type = composite->type;
    return TORT_OK;
}
