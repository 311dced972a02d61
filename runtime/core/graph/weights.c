/* weights.c - decides when the bytes of a weight are in memory.
 *
 * A weight stays in its file until it is acquired, is read straight into aligned memory, and is dropped at the last
 * release; so a provider can pack weight by weight, and no weight is in memory twice. Mapped files and the caller's
 * buffer are used in place if they are aligned. Encodings are known here, file formats are not. */
#include "runtime/core/graph/weights.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "runtime/core/graph/varints.h"

typedef struct weight_home {
    const void *data; /* NULL: not resident */
    void *owned;      /* to be freed; NULL if data points into the source */
    size_t owned_size;
    int32_t holds;
} weight_home;

enum { LOCKS = 16 };

struct tort_weight_store {
    const tort_env *env;          /* borrowed from the model */
    pthread_mutex_t locks[LOCKS]; /* a home is guarded by one of them, so that several weights can be read at once */
    weight_home *homes;
    int32_t capacity;
    atomic_size_t resident; /* bytes of homes that can be dropped */
};

struct tort_weight_store *tort_weight_store_new(const tort_env *env) {
    struct tort_weight_store *store = tort_alloc_zero(env, 1, sizeof *store);
    if (!store) return NULL;
    store->env = env;
    for (int32_t i = 0; i < LOCKS; i++) pthread_mutex_init(&store->locks[i], NULL);
    return store;
}

static void home_drop(struct tort_weight_store *store, weight_home *home) {
    if (home->owned) tort_free_aligned(store->env, home->owned, home->owned_size);
    *home = (weight_home){0};
}

void tort_weight_store_free(struct tort_weight_store *store) {
    for (int32_t i = 0; i < store->capacity; i++) home_drop(store, &store->homes[i]);
    const tort_env *env = store->env;
    tort_free(env, store->homes, (size_t)store->capacity * sizeof *store->homes);
    for (int32_t i = 0; i < LOCKS; i++) pthread_mutex_destroy(&store->locks[i]);
    tort_free(env, store, sizeof *store);
}

bool tort_weight_store_grow(struct tort_weight_store *store, int32_t count) {
    int32_t before = store->capacity;
    if (!tort_grow(store->env, (void **)&store->homes, &store->capacity, count, sizeof *store->homes)) return false;
    for (int32_t i = before; i < store->capacity; i++) store->homes[i] = (weight_home){0};
    return true;
}

void *tort_weight_store_put(struct tort_weight_store *store, int32_t weight, size_t size) {
    weight_home *home = &store->homes[weight];
    home->owned = tort_alloc_aligned(store->env, size);
    if (home->owned && size) memset(home->owned, 0, size);
    home->owned_size = size;
    home->data = home->owned;
    home->holds = 1; /* an extra hold: it is never dropped, since it cannot be read again */
    return home->owned;
}

/* ---- decoding --------------------------------------------------------------------------------------------------- */

enum { VARINT_WINDOW = 1 << 16 };

/* Decodes through a small window, so that the encoded bytes are never in memory as a whole. */
static tort_status read_varints(const tort_model *model, const tort_weight *weight, void *data, tort_error *error) {
    tort_tensor shape = {.type = weight->type, .rank = weight->rank};
    int64_t elements;
    memcpy(shape.dims, weight->dims, sizeof shape.dims);
    uint8_t *window = tort_alloc(&model->env, VARINT_WINDOW);
    if (!window) return tort_out_of_memory(error, VARINT_WINDOW);
    tort_varints varints;
    tort_status status = tort_tensor_count(&shape, &elements) ? TORT_OK : TORT_E_INTERNAL;
    if (!status) tort_varints_begin(&varints, weight->type, (size_t)elements, weight->bytes, data);
    for (uint64_t at = 0, part; !status && at < weight->length; at += part) {
        part = weight->length - at < VARINT_WINDOW ? weight->length - at : VARINT_WINDOW;
        status = model->source_read(model->source_ud, weight->file, weight->offset + at, part, window, error);
        if (!status) status = tort_varints_feed(&varints, window, (size_t)part, error);
    }
    if (!status) status = tort_varints_end(&varints, error);
    tort_free(&model->env, window, VARINT_WINDOW);
    return status;
}

/* ---- acquire, release ------------------------------------------------------------------------------------------- */

/* The weight's bytes in the source, if they are there and aligned; NULL: it must be read. */
static const void *in_place(const tort_model *model, const tort_weight *weight) {
    if (weight->encoding != TORT_ENCODING_RAW || !model->source_view || !weight->bytes) return NULL;
    const void *data = model->source_view(model->source_ud, weight->file, weight->offset, weight->length);
    return (uintptr_t)data % TORT_HOST_ALIGN == 0 ? data : NULL;
}

size_t tort_weight_home_bytes(const tort_model *model, int32_t index) {
    const tort_weight *weight = &model->weights[index];
    if (weight->encoding == TORT_ENCODING_MEMORY || in_place(model, weight)) return 0;
    return tort_aligned_bytes(weight->bytes);
}

size_t tort_weights_resident(const tort_model *model) {
    return atomic_load(&model->store->resident);
}

static tort_status make_resident(const tort_model *model, int32_t index, weight_home *home, tort_error *error) {
    const tort_weight *weight = &model->weights[index];
    if (weight->encoding == TORT_ENCODING_LEFT_OUT)
        return tort_fail(error, TORT_E_MODEL, "the contents of a weight that is read were left out of the saved plan");
    home->data = in_place(model, weight);
    if (home->data) return TORT_OK;
    void *data = tort_alloc_aligned(&model->env, weight->bytes);
    if (!data) return tort_out_of_memory(error, weight->bytes);
    tort_status status = TORT_OK;
    if (weight->bytes && weight->encoding == TORT_ENCODING_RAW)
        status = model->source_read(model->source_ud, weight->file, weight->offset, weight->length, data, error);
    else if (weight->bytes)
        status = read_varints(model, weight, data, error);
    if (status) {
        tort_free_aligned(&model->env, data, weight->bytes);
        return status;
    }
    home->data = home->owned = data;
    home->owned_size = weight->bytes;
    atomic_fetch_add(&model->store->resident, tort_aligned_bytes(weight->bytes));
    return TORT_OK;
}

bool tort_weight_is_in_file(const tort_model *model, int32_t index) {
    const tort_weight *weight = &model->weights[index];
    struct tort_weight_store *store = model->store;
    if (!model->source_is_ours || weight->encoding != TORT_ENCODING_RAW || in_place(model, weight)) return false;
    pthread_mutex_t *lock = &store->locks[index % LOCKS];
    pthread_mutex_lock(lock);
    const bool resident = store->homes[index].data != NULL;
    pthread_mutex_unlock(lock);
    return !resident;
}

tort_status tort_weight_read(const tort_model *model, int32_t index, size_t offset, size_t bytes, void *to,
                             tort_error *error) {
    const tort_weight *weight = &model->weights[index];
    if (offset > weight->length || bytes > weight->length - offset)
        return tort_fail(error, TORT_E_INTERNAL, "%zu bytes at %zu are not in a weight of %llu", bytes, offset,
                         (unsigned long long)weight->length);
    return model->source_read(model->source_ud, weight->file, weight->offset + offset, bytes, to, error);
}

const tort_weight *tort_weight_of(const tort_model *model, int32_t weight) {
    return &model->weights[weight];
}

const tort_env *tort_model_env(const tort_model *model) {
    return &model->env;
}

tort_status tort_weight_acquire(const tort_model *model, int32_t weight, const void **data, tort_error *error) {
    struct tort_weight_store *store = model->store;
    weight_home *home = &store->homes[weight];
    pthread_mutex_t *lock = &store->locks[weight % LOCKS];
    tort_status status = TORT_OK;
    pthread_mutex_lock(lock);
    if (!home->data) status = make_resident(model, weight, home, error);
    if (!status) {
        home->holds++;
        *data = home->data;
    }
    pthread_mutex_unlock(lock);
    return status;
}

void tort_weight_release(const tort_model *model, int32_t weight) {
    struct tort_weight_store *store = model->store;
    pthread_mutex_t *lock = &store->locks[weight % LOCKS];
    weight_home *home = &store->homes[weight];
    pthread_mutex_lock(lock);
    if (--home->holds == 0) {
        if (home->owned) atomic_fetch_sub(&store->resident, tort_aligned_bytes(home->owned_size));
        home_drop(store, home);
    }
    pthread_mutex_unlock(lock);
}
