/* value.c - tensors, sequences, optionals and maps as reference-counted values (tinyort.h, value.h).
 *
 * A value keeps the allocator that made it. Sequences, optionals and maps retain their elements; the keys of a map are
 * a tensor value. Nothing here knows graphs. */
#include "runtime/core/graph/value.h"

#include <stdatomic.h>
#include <string.h>

#include "runtime/include/op.h"

struct tort_value {
    atomic_int_least32_t references;
    tort_env env;
    tort_value_type type;
    /* of a tensor */
    tort_tensor tensor;
    size_t bytes, text_bytes; /* of the elements and of the text, if owned */
    char *text;
    bool borrowed;
    void (*release)(void *ud, tort_tensor *tensor);
    void *release_ud;
    /* of containers */
    tort_value **elements;
    int32_t count, capacity;
    tort_value *keys;
};

static tort_value *value_of(const tort_env *env, tort_value_type type) {
    const tort_env complete = tort_env_complete(env);
    tort_value *value = tort_alloc_zero(&complete, 1, sizeof *value);
    if (!value) return NULL;
    atomic_init(&value->references, 1);
    value->env = complete;
    value->type = type;
    return value;
}

/* ---- references -------------------------------------------------------------------------------------------------- */

tort_value *tort_value_retain(const tort_value *value) {
    tort_value *same = (tort_value *)value;
    if (same) atomic_fetch_add_explicit(&same->references, 1, memory_order_relaxed);
    return same;
}

static void free_tensor(tort_value *value) {
    if (value->borrowed) {
        if (value->release) value->release(value->release_ud, &value->tensor);
        return;
    }
    tort_free_aligned(&value->env, value->tensor.data, value->bytes);
    tort_free(&value->env, value->text, value->text_bytes);
}

/* Recursion is bounded by the nesting of the type. */
void tort_value_release(const tort_value *value) {
    tort_value *last = (tort_value *)value;
    if (!last || atomic_fetch_sub_explicit(&last->references, 1, memory_order_acq_rel) > 1) return;
    if (tort_value_kind(last) == TORT_TENSOR) free_tensor(last);
    for (int32_t i = 0; i < last->count; i++) tort_value_release(last->elements[i]);
    tort_free(&last->env, last->elements, (size_t)last->capacity * sizeof(tort_value *));
    tort_value_release(last->keys);
    const tort_env env = last->env;
    tort_free(&env, last, sizeof *last);
}

bool tort_value_single(const tort_value *value) {
    return atomic_load_explicit(&((tort_value *)value)->references, memory_order_acquire) == 1;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

tort_value *tort_value_new(const tort_env *env, const tort_tensor *shape) {
    size_t bytes;
    if (tort_type_bits(shape->type) == 0 || !tort_tensor_bytes(shape, &bytes)) return NULL;
    tort_value *value = value_of(env, tort_tensor_type(shape->type));
    if (!value) return NULL;
    value->tensor = *shape;
    value->bytes = bytes;
    value->tensor.data = tort_alloc_aligned(&value->env, bytes);
    if (!value->tensor.data) {
        tort_value_release(value);
        return NULL;
    }
    if (shape->type == TORT_STRING) memset(value->tensor.data, 0, bytes);
    return value;
}

void *tort_value_data(tort_value *value) {
    return value->tensor.data;
}

/* False: a string has a length but no bytes, or they are more than a size can tell. */
static bool text_bytes(const tort_string *strings, size_t count, size_t *bytes) {
    *bytes = 0;
    for (size_t i = 0; i < count; i++) {
        if (!strings[i].data && strings[i].length) return false;
        if (!tort_add_size(*bytes, strings[i].length, bytes)) return false;
    }
    return true;
}

bool tort_value_own_text(tort_value *value) {
    if (value->tensor.type != TORT_STRING) return true;
    tort_string *strings = value->tensor.data;
    const size_t count = value->bytes / sizeof *strings;
    size_t bytes;
    char *text = text_bytes(strings, count, &bytes) ? tort_alloc(&value->env, bytes) : NULL;
    if (!text) return false;
    value->text = text;
    value->text_bytes = bytes;
    for (size_t i = 0; i < count; i++) {
        if (strings[i].length) memcpy(text, strings[i].data, strings[i].length);
        strings[i].data = text;
        text += strings[i].length;
    }
    return true;
}

/* False: there is no such tensor, or parts of it are missing. */
static bool is_whole(const tort_tensor *tensor) {
    size_t bytes;
    if (!tensor || !tort_type_bits(tensor->type) || !tort_tensor_bytes(tensor, &bytes)) return false;
    return tensor->data || !bytes;
}

tort_value *tort_value_tensor(const tort_env *env, const tort_tensor *tensor) {
    tort_value *value = is_whole(tensor) ? tort_value_new(env, tensor) : NULL;
    if (!value) return NULL;
    if (value->bytes) memcpy(value->tensor.data, tensor->data, value->bytes);
    if (tort_value_own_text(value)) return value;
    tort_value_release(value);
    return NULL;
}

tort_value *tort_value_borrow(const tort_env *env, const tort_tensor *tensor,
                              void (*release)(void *ud, tort_tensor *tensor), void *ud) {
    tort_value *value = is_whole(tensor) ? value_of(env, tort_tensor_type(tensor->type)) : NULL;
    if (!value) return NULL;
    value->tensor = *tensor;
    value->borrowed = true;
    value->release = release;
    value->release_ud = ud;
    return value;
}

/* ---- containers -------------------------------------------------------------------------------------------------- */

bool tort_type_fits(tort_value_type a, tort_value_type b) {
    const bool unknown = a.type == TORT_UNDEFINED || b.type == TORT_UNDEFINED;
    return a.nest == b.nest && (a.type == b.type || unknown);
}

/* An empty sequence, optional or map. */
static tort_value *container(const tort_env *env, tort_value_type type) {
    return tort_type_kind(type) == TORT_SPARSE ? NULL : value_of(env, type);
}

/* Grows the elements by one, if the element's type fits. */
static bool make_room(tort_value *value, const tort_value *element) {
    if (!element || !tort_type_fits(tort_type_element(value->type), element->type)) return false;
    if (value->count == INT32_MAX) return false;
    return tort_grow(&value->env, (void **)&value->elements, &value->capacity, value->count + 1,
                     sizeof *value->elements);
}

static bool hold(tort_value *value, int32_t at, const tort_value *element) {
    if (!make_room(value, element)) return false;
    tort_value **place = value->elements + at;
    memmove(place + 1, place, (size_t)(value->count - at) * sizeof *place);
    *place = tort_value_retain(element);
    value->count++;
    if (value->type.type == TORT_UNDEFINED) value->type.type = element->type.type;
    return true;
}

tort_value *tort_value_sequence(const tort_env *env, tort_value_type element) {
    return container(env, tort_sequence_type(element));
}

bool tort_value_insert(tort_value *sequence, int32_t at, const tort_value *element) {
    if (tort_value_kind(sequence) != TORT_SEQUENCE || !tort_value_single(sequence)) return false;
    if (at < 0 || at > sequence->count) return false;
    return hold(sequence, at, element);
}

bool tort_value_append(tort_value *sequence, const tort_value *element) {
    return sequence && tort_value_insert(sequence, sequence->count, element);
}

void tort_value_erase(tort_value *sequence, int32_t at) {
    tort_value **place = sequence->elements + at;
    tort_value_release(*place);
    sequence->count--;
    memmove(place, place + 1, (size_t)(sequence->count - at) * sizeof *place);
}

tort_value *tort_value_copy(const tort_value *sequence) {
    tort_value *copy = container(&sequence->env, sequence->type);
    bool ok = copy &&
              tort_grow(&copy->env, (void **)&copy->elements, &copy->capacity, sequence->count, sizeof *copy->elements);
    for (int32_t i = 0; ok && i < sequence->count; i++) ok = hold(copy, i, sequence->elements[i]);
    if (ok) return copy;
    tort_value_release(copy);
    return NULL;
}

tort_value *tort_value_optional(const tort_env *env, tort_value_type type, const tort_value *element) {
    tort_value *value = container(env, tort_optional_type(type));
    if (!value || !element || hold(value, 0, element)) return value;
    tort_value_release(value);
    return NULL;
}

static bool hold_all(tort_value *map, const tort_value *const *values) {
    const int32_t count = (int32_t)map->keys->tensor.dims[0];
    if (!values && count) return false;
    if (!tort_grow(&map->env, (void **)&map->elements, &map->capacity, count, sizeof *map->elements)) return false;
    for (int32_t i = 0; i < count; i++)
        if (!hold(map, i, values[i])) return false;
    return true;
}

static bool can_be_keys(const tort_tensor *keys) {
    const bool key_type = keys->type == TORT_INT64 || keys->type == TORT_STRING;
    return key_type && keys->rank == 1 && keys->dims[0] >= 0 && keys->dims[0] <= INT32_MAX;
}

tort_value *tort_value_map_of(const tort_env *env, const tort_value *keys, tort_value_type type,
                              const tort_value *const *values) {
    if (!can_be_keys(&keys->tensor)) return NULL;
    tort_value *map = container(env, tort_map_type(keys->tensor.type, type));
    if (map) map->keys = tort_value_retain(keys);
    if (!map || hold_all(map, values)) return map;
    tort_value_release(map);
    return NULL;
}

tort_value *tort_value_map(const tort_env *env, const tort_tensor *keys, tort_value_type type,
                           const tort_value *const *values) {
    tort_value *copy = keys && can_be_keys(keys) ? tort_value_tensor(env, keys) : NULL;
    tort_value *map = copy ? tort_value_map_of(env, copy, type, values) : NULL;
    tort_value_release(copy);
    return map;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

tort_value_type tort_value_type_of(const tort_value *value) {
    return value ? value->type : tort_tensor_type(TORT_UNDEFINED);
}

tort_kind tort_value_kind(const tort_value *value) {
    return tort_type_kind(tort_value_type_of(value));
}

int32_t tort_value_count(const tort_value *value) {
    return value ? value->count : 0;
}

const tort_value *tort_value_at(const tort_value *value, int32_t index) {
    return value && index >= 0 && index < value->count ? value->elements[index] : NULL;
}

const tort_tensor *tort_value_view(const tort_value *value) {
    return value && tort_value_kind(value) == TORT_TENSOR ? &value->tensor : NULL;
}

const tort_tensor *tort_value_keys(const tort_value *value) {
    return value && value->keys ? &value->keys->tensor : NULL;
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

tort_value *tort_call_element(const tort_call *call, int32_t i) {
    const tort_value *value = tort_call_value(call, i);
    return value ? tort_value_retain(value) : tort_value_tensor(call->env, &call->inputs[i]);
}
