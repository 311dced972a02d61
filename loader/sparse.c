/* sparse.c - SparseTensorProto -> a dense weight. No kernel reads sparse weights, so they are expanded while loading,
 * up to a limit for the whole model: a few bytes of file may describe a tensor of any size. */
#include <string.h>

#include "loader/loader.h"

typedef struct sparse_parts {
    const TortOnnx__SparseTensorProto *proto;
    tort_tensor dense;
    size_t dense_bytes, element_size;
    size_t cost; /* bytes during the expansion: the dense tensor and both parts, which may come from external data */
    tort_weight values, indices; /* facts */
    size_t count;                /* number of values */
    bool linear;                 /* indices are [count] offsets; otherwise [count, rank] coordinates */
} sparse_parts;

static tort_status load_facts(tort_loader *loader, const TortOnnx__TensorProto *proto, const char *part,
                              tort_weight *facts) {
    if (!proto) return tort_fail(loader->error, TORT_E_MODEL, "sparse tensor without %s", part);
    tort_status status = tort_tensor_facts(loader, proto, facts);
    if (status) tort_error_prefix(loader->error, "%s", part);
    return status;
}

/* Computes the sizes of a tensor; false beyond the limit for all sparse tensors of a model. */
static bool measure(const tort_loader *loader, sparse_parts *parts) {
    return tort_tensor_bytes(&parts->dense, &parts->dense_bytes) &&
           tort_add_size(parts->dense_bytes, parts->values.bytes, &parts->cost) &&
           tort_add_size(parts->cost, parts->indices.bytes, &parts->cost) &&
           parts->cost <= TORT_MAX_SPARSE - loader->sparse_bytes;
}

static tort_status load_parts(tort_loader *loader, sparse_parts *parts) {
    const TortOnnx__SparseTensorProto *proto = parts->proto;
    tort_status status = load_facts(loader, proto->values, "values", &parts->values);
    if (!status) status = load_facts(loader, proto->indices, "indices", &parts->indices);
    if (!status) status = tort_load_dims(loader, proto->dims, proto->n_dims, &parts->dense.rank, parts->dense.dims);
    if (status) return status;
    tort_type type = parts->dense.type = parts->values.type;
    int bits = tort_type_bits(type);
    if (type == TORT_STRING || bits % 8 != 0)
        return tort_fail(loader->error, TORT_E_UNSUPPORTED, "a sparse tensor of %s", tort_type_name(type));
    parts->element_size = (size_t)bits / 8;
    if (!measure(loader, parts))
        return tort_fail(loader->error, TORT_E_MODEL, "the sparse tensors take more than %zu MiB once they are dense",
                         TORT_MAX_SPARSE >> 20);
    const tort_weight *values = &parts->values, *indices = &parts->indices;
    if (values->rank != 1) return tort_fail(loader->error, TORT_E_MODEL, "values have rank %d, not 1", values->rank);
    parts->count = (size_t)values->dims[0];
    parts->linear = indices->rank == 1;
    if (indices->type != TORT_INT64 || indices->rank < 1 || indices->rank > 2 || indices->dims[0] != values->dims[0] ||
        (!parts->linear && indices->dims[1] != parts->dense.rank))
        return tort_fail(loader->error, TORT_E_MODEL,
                         "indices must be int64, [%lld] or [%lld, %d]: one for each of the values",
                         (long long)values->dims[0], (long long)values->dims[0], parts->dense.rank);
    return TORT_OK;
}

/* The offset, in elements, of value i; false if it is outside the tensor. */
static bool offset_of(const sparse_parts *parts, const int64_t *indices, size_t i, size_t *offset) {
    size_t elements = parts->dense_bytes / parts->element_size;
    *offset = 0;
    if (parts->linear) {
        *offset = (size_t)indices[i];
        return indices[i] >= 0 && *offset < elements;
    }
    const int64_t *at = indices + i * (size_t)parts->dense.rank;
    for (int32_t d = 0; d < parts->dense.rank; d++) {
        if (at[d] < 0 || at[d] >= parts->dense.dims[d]) return false;
        *offset = *offset * (size_t)parts->dense.dims[d] + (size_t)at[d];
    }
    return *offset < elements;
}

static tort_status scatter(tort_loader *loader, const sparse_parts *parts, const char *values, const int64_t *indices) {
    char *dense = parts->dense.data;
    size_t before = 0;
    for (size_t i = 0; i < parts->count; i++) {
        size_t offset;
        if (!offset_of(parts, indices, i, &offset))
            return tort_fail(loader->error, TORT_E_MODEL, "indices: entry %zu is outside the tensor", i);
        if (i > 0 && offset <= before)
            return tort_fail(loader->error, TORT_E_MODEL, "indices: entry %zu is not in ascending order", i);
        before = offset;
        memcpy(dense + offset * parts->element_size, values + i * parts->element_size, parts->element_size);
    }
    return TORT_OK;
}

/* Reads values and indices into the caller's two blocks, and scatters the values into the dense tensor. */
static tort_status expand(tort_loader *loader, const sparse_parts *parts, void *values, void *indices) {
    tort_status status = tort_tensor_contents(loader, parts->proto->values, &parts->values, values);
    if (!status) status = tort_tensor_contents(loader, parts->proto->indices, &parts->indices, indices);
    return status ? status : scatter(loader, parts, values, indices);
}

/* Adds the expanded tensor as a weight. */
static tort_status load_new(tort_loader *loader, sparse_parts *parts, int32_t *weight) {
    tort_status status = load_parts(loader, parts);
    if (status) return status;
    loader->sparse_bytes += parts->cost;
    tort_allow_more(loader, parts->cost);
    void *values = tort_alloc(loader->env, parts->values.bytes);
    void *indices = tort_alloc(loader->env, parts->indices.bytes);
    *weight = values && indices ? tort_model_add_weight_space(loader->model, &parts->dense) : -1;
    status = *weight < 0 ? tort_no_memory(loader) : expand(loader, parts, values, indices);
    tort_free(loader->env, values, parts->values.bytes);
    tort_free(loader->env, indices, parts->indices.bytes);
    return status;
}

/* Loads a sparse tensor once: the index of its weight is recorded in the message of its values. */
tort_status tort_load_sparse(tort_loader *loader, const TortOnnx__SparseTensorProto *proto, int32_t *weight) {
    *weight = -1;
    if (proto->values && proto->values->has_weight) {
        *weight = proto->values->weight;
        return TORT_OK;
    }
    sparse_parts parts = {.proto = proto};
    tort_status status = load_new(loader, &parts, weight);
    if (status) return status;
    proto->values->has_weight = true;
    proto->values->weight = *weight;
    return TORT_OK;
}
