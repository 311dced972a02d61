/* tensors.c - types, shapes and bytes of tensors, a run's inputs and outputs, and what else a plugin asks (host.h). */
#include "kernels/plugin/run.h"

/* ---- types ------------------------------------------------------------------------------------------------------- */

int tort_host_element(tort_type type) {
    static const int others[] = {[TORT_FLOAT8E8M0] = 26, [TORT_UINT2] = 24, [TORT_INT2] = 25};
    if (type < TORT_FLOAT8E8M0) return (int)type;
    return type <= TORT_INT2 ? others[type] : 0;
}

bool tort_host_fill(ort_value *value, const tort_tensor *tensor) {
    ort_shape_info *shape = &value->type.tensor;
    shape->type = tort_host_element(tensor->type);
    shape->rank = tensor->rank;
    for (int32_t d = 0; d < tensor->rank; d++) {
        shape->dims[d] = tensor->dims[d];
        shape->names[d] = "";
    }
    value->data = tensor->data;
    return shape->type && tensor->type != TORT_STRING && tort_tensor_bytes(tensor, &value->bytes);
}

GETTER(tensor_info_of, const ort_type_info, const ort_shape_info *, &it->tensor)
GETTER(kind_of, const ort_type_info, int, ORT_KIND_TENSOR)
GETTER(element_type, const ort_shape_info, int, it->type)
ANSWER(has_shape, ort_shape_info, bool, it->rank >= 0)

static size_t rank_of(const ort_shape_info *info) {
    return info->rank < 0 ? 0 : (size_t)info->rank;
}

GETTER(rank, const ort_shape_info, size_t, rank_of(it))

ort_status *tort_host_dims(const ort_shape_info *info, int64_t *dims, size_t count) {
    for (size_t d = 0; d < rank_of(info) && d < count; d++) dims[d] = info->dims[d];
    return NULL;
}

ort_status *tort_host_dim_names(const ort_shape_info *info, const char **names, size_t count) {
    for (size_t d = 0; d < rank_of(info) && d < count; d++) names[d] = info->names[d];
    return NULL;
}

ort_status *tort_host_element_count(const ort_shape_info *info, size_t *count) {
    *count = 1;
    for (size_t d = 0; d < rank_of(info); d++) {
        if (info->dims[d] < 0) return tort_host_create_status(ORT_INVALID_ARGUMENT, "a dimension is unknown");
        if (!tort_mul_size(*count, (uint64_t)info->dims[d], count))
            return tort_host_create_status(ORT_INVALID_ARGUMENT, "the number of elements overflows");
    }
    return NULL;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

GETTER(is_tensor, const ort_value, int, it != NULL)
GETTER(has_value, const ort_value, int, it != NULL)

GETTER(kind_of_value, const ort_value, int, it ? ORT_KIND_TENSOR : 0)
GETTER(type_of, const ort_value, ort_type_info *, (ort_type_info *)(uintptr_t)&it->type)
GETTER(shape_of, const ort_value, ort_shape_info *, (ort_shape_info *)(uintptr_t)&it->type.tensor)

ort_status *tort_host_shape_data(const ort_value *value, int *type, const int64_t **dims, size_t *rank) {
    *type = value->type.tensor.type;
    *dims = value->type.tensor.dims;
    *rank = rank_of(&value->type.tensor);
    return NULL;
}

GETTER(data, const ort_value, const void *, it->data)

GETTER(mutable_data, ort_value, void *, it->data)
GETTER(tensor_bytes, const ort_value, size_t, it->bytes)
GETTER(memory_of, const ort_value, const ort_memory *, tort_host_value_place(it))

/* They are members of something else, which is freed in time. */
#define NOTHING(what, object)                                                                                          \
    void tort_host_release_##what(object *it) {                                                                        \
        (void)it;                                                                                                      \
    }
NOTHING(value, ort_value)
NOTHING(type, ort_type_info)
NOTHING(shape, ort_shape_info)

/* ---- runs -------------------------------------------------------------------------------------------------------- */

GETTER(input_count, const ort_run, size_t, (size_t)it->input_count)
GETTER(output_count, const ort_run, size_t, (size_t)it->output_count)

ort_status *tort_host_input(const ort_run *run, size_t index, const ort_value **value) {
    *value = NULL;
    if (index >= (size_t)run->input_count)
        TORT_HOST_FAIL(ORT_INVALID_ARGUMENT, "there is no input %zu of %d", index, (int)run->input_count);
    *value = &run->values[index];
    return NULL;
}

static void print_shape(char *text, size_t size, const int64_t *dims, size_t rank) {
    size_t used = (size_t)snprintf(text, size, "[");
    for (size_t d = 0; d < rank && d < TORT_MAX_RANK && used < size; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", d ? "," : "", (long long)dims[d]);
    if (used < size) snprintf(text + used, size - used, "%s]", rank > TORT_MAX_RANK ? ",..." : "");
}

/* The core has planned the shape, and the memory: another one is refused, whatever the plugin has found. */
ort_status *tort_host_output(ort_run *run, size_t index, const int64_t *dims, size_t rank, ort_value **value) {
    *value = NULL;
    if (index >= (size_t)run->output_count)
        TORT_HOST_FAIL(ORT_INVALID_ARGUMENT, "there is no output %zu of %d", index, (int)run->output_count);
    ort_value *output = &run->values[run->input_count + (int32_t)index];
    const ort_shape_info *planned = &output->type.tensor;
    bool same = rank == (size_t)planned->rank && (dims || !rank);
    for (size_t d = 0; same && d < rank; d++) same = dims[d] == planned->dims[d];
    if (!same) {
        char asked[160], expected[160];
        print_shape(asked, sizeof asked, dims, dims ? rank : 0);
        print_shape(expected, sizeof expected, planned->dims, rank_of(planned));
        TORT_HOST_FAIL(ORT_INVALID_ARGUMENT, "output %zu is asked for with shape %s, planned is %s", index, asked,
                       expected);
    }
    run->asked[index] = true;
    *value = output;
    return NULL;
}

ort_status *tort_host_preallocated(const ort_run *run, size_t index, ort_value **value) {
    *value = NULL;
    if (index >= (size_t)run->output_count)
        TORT_HOST_FAIL(ORT_INVALID_ARGUMENT, "there is no output %zu of %d", index, (int)run->output_count);
    ort_run *own = (ort_run *)(uintptr_t)run; /* only the declaration says const */
    own->asked[index] = true;
    *value = &own->values[run->input_count + (int32_t)index];
    return NULL;
}

GETTER(run_logger, const ort_run, const ort_logger *, &it->host->logger)
GETTER(gpu_stream, const ort_run, void *, NULL)

GETTER(run_stream, const ort_run, void *, NULL)

typedef struct parallel {
    void (*body)(void *arg, size_t index);
    void *arg;
} parallel;

static void do_range(void *arg, int64_t begin, int64_t end) {
    const parallel *p = arg;
    for (int64_t i = begin; i < end; i++) p->body(p->arg, (size_t)i);
}

ort_status *tort_host_parallel_for(const ort_run *run, void (*body)(void *arg, size_t index), size_t count,
                                   size_t batches, void *arg) {
    const tort_env *env = run->call->env;
    const int64_t items = (int64_t)count;
    parallel p = {body, arg};
    (void)batches;
    if (!body || items < 0) return tort_host_create_status(ORT_INVALID_ARGUMENT, "no body, or too many of it");
    if (env->parallel_for)
        env->parallel_for(env->parallel_ud, items, 1, do_range, &p);
    else
        do_range(&p, 0, items);
    return NULL;
}

ANSWER(context_name, ort_context, const char *, it->name)

/* ---- the model's metadata: none ---------------------------------------------------------------------------------- */

struct ort_metadata {
    char unused;
};

ort_status *tort_host_model_metadata(const ort_graph *graph, ort_metadata **metadata) {
    static const ort_metadata none;
    (void)graph;
    *metadata = (ort_metadata *)(uintptr_t)&none;
    return NULL;
}

NOTHING(metadata, ort_metadata)
GETTER(metadata_version, const ort_metadata, int64_t, 0)

/* Texts are the caller's, who frees them. */
static ort_status *no_text(ort_allocator *allocator, char **text) {
    *text = allocator->allocate(allocator, 1);
    if (!*text) return tort_host_create_status(ORT_FAIL, "out of memory");
    **text = 0;
    return NULL;
}

#define NO_TEXT(member)                                                                                                \
    ort_status *tort_host_##member(const ort_metadata *metadata, ort_allocator *allocator, char **text) {              \
        (void)metadata;                                                                                                \
        return no_text(allocator, text);                                                                               \
    }
NO_TEXT(producer_name)
NO_TEXT(metadata_graph)
NO_TEXT(metadata_domain)
NO_TEXT(metadata_text)
NO_TEXT(metadata_graph_text)

ort_status *tort_host_metadata_keys(const ort_metadata *metadata, ort_allocator *allocator, char ***keys,
                                    int64_t *count) {
    (void)metadata, (void)allocator;
    *keys = NULL;
    *count = 0;
    return NULL;
}
