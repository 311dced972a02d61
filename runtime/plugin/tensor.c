/* tensor.c - tensors of the host as tinyort's: of constants, and the inputs and outputs of a run (plugin.h). */
#include <stdlib.h>
#include <string.h>

#include "runtime/core/graph/graph.h"
#include "runtime/plugin/plugin.h"

tort_type plugin_type(int element) {
    static const tort_type others[] = {[24] = TORT_UINT2, [25] = TORT_INT2, [26] = TORT_FLOAT8E8M0};
    if (element < 0 || element >= TORT_TYPE_COUNT) return TORT_UNDEFINED;
    return element >= 24 && element <= 26 ? others[element] : (tort_type)element;
}

ort_status *plugin_shape(const ort_api *api, const ort_value *value, tort_tensor *tensor) {
    ort_shape_info *shape = NULL;
    size_t rank = 0;
    int type = 0;
    ort_status *status = api->shape_of(value, &shape);
    if (status) return status;
    status = api->element_type(shape, &type);
    if (!status) status = api->rank(shape, &rank);
    if (!status && rank <= TORT_MAX_RANK) status = api->dims(shape, tensor->dims, rank);
    api->release_shape(shape);
    tensor->type = plugin_type(type);
    tensor->rank = (int32_t)rank;
    return status;
}

ort_status *plugin_strings(const ort_api *api, const ort_value *value, tort_tensor *tensor) {
    size_t bytes, list, length = 0;
    ort_status *status = api->string_bytes(value, &length);
    if (status) return status;
    const bool fits = tort_tensor_bytes(tensor, &bytes) && !__builtin_mul_overflow(bytes, 2, &list);
    char *block = fits && list <= SIZE_MAX / 2 && length <= SIZE_MAX / 4 ? malloc(list + length + 1) : NULL;
    if (!block) return api->create_status(ORT_FAIL, "tinyort: no memory for strings");
    const size_t count = bytes / sizeof(tort_string);
    tort_string *strings = (tort_string *)(void *)block;
    size_t *offsets = (size_t *)(void *)(block + bytes);
    char *text = block + list;
    tensor->data = block;
    if (count) status = api->string_content(value, text, length, offsets, count);
    for (size_t i = 0; !status && i < count; i++)
        strings[i] = (tort_string){text + offsets[i], (i + 1 < count ? offsets[i + 1] : length) - offsets[i]};
    return status;
}

/* ---- of a run ---------------------------------------------------------------------------------------------------- */

ort_status *plugin_input(const ort_api *api, const ort_value *value, tort_tensor *tensor) {
    const void *data = NULL;
    ort_status *status = plugin_shape(api, value, tensor);
    if (!status && tensor->rank > TORT_MAX_RANK)
        status = api->create_status(ORT_FAIL, "tinyort: an input has over 8 dimensions");
    if (!status && tensor->type == TORT_STRING) return plugin_strings(api, value, tensor);
    if (!status) status = api->data(value, &data);
    memcpy(&tensor->data, &data, sizeof data); /* drops const: inputs are only read */
    return status;
}

/* Only outputs whose shape does not depend on data are written where they belong; strings are copied. */
static bool is_placed(const tort_slot *slot) {
    return slot->bytes >= 0 && slot->type != TORT_STRING;
}

ort_status *plugin_place(const ort_api *api, ort_run *run, size_t index, const tort_slot *slot, tort_tensor *tensor) {
    ort_value *value;
    if (!is_placed(slot)) return NULL;
    *tensor = (tort_tensor){.type = slot->type, .rank = slot->rank};
    memcpy(tensor->dims, slot->dims, sizeof slot->dims);
    ort_status *status = api->output(run, index, tensor->dims, (size_t)tensor->rank, &value);
    return status ? status : api->mutable_data(value, &tensor->data);
}

static ort_status *copy_strings(const ort_api *api, ort_value *value, const tort_string *strings, size_t count) {
    ort_status *status = NULL;
    for (size_t i = 0; !status && i < count; i++) {
        char *buffer;
        status = api->string_buffer(value, i, strings[i].length, &buffer);
        if (!status && strings[i].length) memcpy(buffer, strings[i].data, strings[i].length);
    }
    return status;
}

ort_status *plugin_copy(const ort_api *api, ort_run *run, size_t index, const tort_slot *slot,
                        const tort_tensor *tensor) {
    ort_value *value;
    void *data = NULL;
    size_t bytes = 0;
    if (is_placed(slot)) return NULL;
    ort_status *status = api->output(run, index, tensor->dims, (size_t)tensor->rank, &value);
    if (status || !tort_tensor_bytes(tensor, &bytes) || !bytes) return status;
    if (tensor->type == TORT_STRING) return copy_strings(api, value, tensor->data, bytes / sizeof(tort_string));
    status = api->mutable_data(value, &data);
    if (!status) memcpy(data, tensor->data, bytes);
    return status;
}
