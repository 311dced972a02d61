/* pack.c - packs weights in the form that kernels want, before the first run.
 *
 * A kernel gets the plain weight only while it packs, so no weight is in memory twice. Packed weights in host memory
 * lie in one block, with large pages if it is large. Units are packed in parallel if their provider allows it; the
 * result depends only on the unit's weights. This file must not know where a node runs. Read next: prepare.c. */
#include <pthread.h>
#include <string.h>
#include "runtime/core/lowered/constants.h"
#include "runtime/core/lowered/unit_view.h"
#include "runtime/core/passes/passes.h"
#include "runtime/core/providers/chain.h"
#include "runtime/core/providers/link.h"

/* ---- places ------------------------------------------------------------------------------------------------------ */

static bool is_in_block(const tort_session *session, const tort_unit *unit) {
    return unit->packed_bytes && !unit->mapped && !unit->twin && unit->provider >= 0 &&
           !session->chain[unit->provider].memory;
}

tort_status tort_pack_open(tort_session *session, tort_error *error) {
    if (!session->packed_bytes) return TORT_OK;
    char *place = session->packed = tort_alloc_aligned(&session->env, session->packed_bytes);
    if (!place) return tort_out_of_memory(error, session->packed_bytes);
    for (int32_t g = 0; g < session->graph_count; g++) {
        const tort_lowered *lowered = &session->graphs[g];
        for (int32_t i = 0; lowered->lowered && i < lowered->graph.node_count; i++) {
            tort_unit *unit = &lowered->units[i];
            if (!is_in_block(session, unit)) continue;
            unit->packed = place;
            place += tort_packed_place(unit->packed_bytes);
        }
    }
    return TORT_OK;
}

/* ---- a unit ------------------------------------------------------------------------------------------------------ */

/* State of parallel packing. The lock guards hold counts of folded and derived constants;
 * weights have their own locks. */
typedef struct packing {
    tort_lowered *lowered;
    pthread_mutex_t lock;
    const int32_t *units; /* the units to be packed in parallel */
    int32_t count;
    size_t staging; /* the maximum over units of the bytes that one reads from the file to pack */
    atomic_int taken;
    int32_t failed; /* the smallest index of a unit that failed; INT32_MAX: none */
    tort_status status;
    tort_error *error; /* of that unit; NULL */
} packing;

static tort_status acquire(packing *p, int32_t constant, const void **data, tort_error *error) {
    pthread_mutex_t *lock = p->lowered->session->constants[constant].weight < 0 ? &p->lock : NULL;
    if (lock) pthread_mutex_lock(lock);
    const tort_status status = tort_constant_acquire(p->lowered->session, constant, data, error);
    if (lock) pthread_mutex_unlock(lock);
    return status;
}

static void release(packing *p, int32_t constant) {
    pthread_mutex_t *lock = p->lowered->session->constants[constant].weight < 0 ? &p->lock : NULL;
    if (lock) pthread_mutex_lock(lock);
    tort_constant_release(p->lowered->session, constant);
    if (lock) pthread_mutex_unlock(lock);
}

#define LARGE ((size_t)512 << 10)         /* bytes; smaller weights are not worth reading in parts */
#define FOR_ALL_THREADS ((size_t)4 << 20) /* bytes; a weight read in parts of this size is shared by all threads */

/* True if the kernel itself reads input i, a weight of at least `min` bytes, from the file in parts. */
static bool is_in_parts(const tort_lowered *lowered, int32_t index, int32_t input, size_t min) {
    const tort_session *session = lowered->session;
    const tort_node *node = tort_unit_node(lowered, index);
    if (input > 31 || !(lowered->units[index].kernel->pack.in_parts & 1u << input)) return false;
    if (input >= node->input_count || node->inputs[input] < 0 || !tort_is_constant(lowered, node->inputs[input]))
        return false;
    const tort_constant *constant = &session->constants[lowered->constant_of[node->inputs[input]]];
    return constant->weight >= 0 && constant->bytes >= min && tort_weight_is_in_file(session->model, constant->weight);
}

struct tort_in_file {
    const tort_lowered *lowered;
    const tort_node *node;
};

tort_status tort_prepare_read(const tort_prepare *prepare, int32_t input, size_t offset, size_t bytes, void *to,
                              tort_error *error) {
    const tort_lowered *lowered = prepare->in_file->lowered;
    const int32_t constant = lowered->constant_of[prepare->in_file->node->inputs[input]];
    return tort_weight_read(lowered->session->model, lowered->session->constants[constant].weight, offset, bytes, to,
                            error);
}

/* The weight that is input i, if it stays in the file and only packing reads it; -1: none such. */
static int32_t passing_weight(const tort_lowered *lowered, int32_t index, int32_t input) {
    const tort_node *node = tort_unit_node(lowered, index);
    if (input > 31 || !(lowered->units[index].consumed & 1u << input) || node->inputs[input] < 0) return -1;
    if (!tort_is_constant(lowered, node->inputs[input])) return -1;
    const int32_t weight = lowered->session->constants[lowered->constant_of[node->inputs[input]]].weight;
    return weight >= 0 && tort_weight_is_in_file(lowered->session->model, weight) ? weight : -1;
}

/* Memory for weights on their way from the file to the packed form: one block reused for many units, so that its
 * pages are faulted only once. */
typedef struct staging {
    char *base; /* NULL: none */
    size_t bytes, used;
} staging;

static void *take_staging(staging *stage, size_t bytes) {
    const size_t place = tort_packed_place(bytes);
    if (!stage->base || place > stage->bytes - stage->used) return NULL;
    stage->used += place;
    return stage->base + stage->used - place;
}

static bool is_staged(const staging *stage, const void *data) {
    return stage->base && (const char *)data >= stage->base && (const char *)data < stage->base + stage->bytes;
}

/* Reads input i of the unit into the staging block; *data stays NULL if it does not belong there, or does not fit. */
static tort_status stage_input(const tort_lowered *lowered, int32_t index, int32_t i, staging *stage, const void **data,
                               tort_error *error) {
    const tort_model *model = lowered->session->model;
    const int32_t weight = passing_weight(lowered, index, i);
    const size_t bytes = weight < 0 ? 0 : model->weights[weight].bytes;
    void *place = bytes ? take_staging(stage, bytes) : NULL;
    const tort_status status = place ? tort_weight_read(model, weight, 0, bytes, place, error) : TORT_OK;
    *data = status ? NULL : place;
    return status;
}

static tort_status hold_inputs(packing *p, int32_t index, tort_info *inputs, bool hold, staging *stage,
                               tort_error *error) {
    const tort_lowered *lowered = p->lowered;
    const tort_node *node = tort_unit_node(lowered, index);
    for (int32_t i = 0; i < node->input_count; i++) {
        const int32_t value = node->inputs[i];
        if (value < 0 || !tort_is_constant(lowered, value)) continue;
        const int32_t constant = lowered->constant_of[value];
        if (!hold) {
            if (inputs[i].data && !is_staged(stage, inputs[i].data)) release(p, constant);
            continue;
        }
        inputs[i].data = NULL;
        if (is_in_parts(lowered, index, i, LARGE)) continue;
        tort_status status = stage_input(lowered, index, i, stage, &inputs[i].data, error);
        if (!status && !inputs[i].data) status = acquire(p, constant, &inputs[i].data, error);
        if (status) return status;
    }
    return TORT_OK;
}

/* Calls ready or prepare of the unit's kernel. */
static tort_status call(const tort_lowered *lowered, int32_t index, tort_status (*function)(tort_prepare *),
                        tort_prepare *prepare) {
    const tort_link *link = &lowered->session->chain[lowered->units[index].provider];
    const int32_t before = tort_link_enter(link);
    const tort_status status = tort_link_noted(link, function(prepare));
    tort_link_leave(link, before);
    if (status) tort_error_at_unit(prepare->error, lowered, index);
    if (status && prepare->error) prepare->error->provider = link->provider->name;
    return status;
}

static tort_status pack_kernel(packing *p, tort_unit_view *view, int32_t index, staging *stage, tort_error *error) {
    tort_lowered *lowered = p->lowered;
    tort_session *session = lowered->session;
    tort_unit *unit = &lowered->units[index];
    const struct tort_in_file in_file = {lowered, tort_unit_node(lowered, index)};
    const tort_link *link = &session->chain[unit->provider];
    tort_prepare prepare = {.node = &view->node,
                            .target = &link->target,
                            .device = link->device,
                            .env = &session->env,
                            .in_file = &in_file,
                            .watch = &session->watch,
                            .error = error};
    tort_status status = TORT_OK;
    if (unit->kernel->pack.ready) status = call(lowered, index, unit->kernel->pack.ready, &prepare);
    if (status || unit->twin) return status;
    if (session->unpack && unit->packed_bytes) return session->unpack(session, lowered, index, error);
    if (unit->packed_bytes && !unit->packed)
        status = tort_chain_alloc(session, &session->env, link->memory, unit->packed_bytes, "packed weights",
                                  &unit->packed, error);
    if (status) return status;
    /* Kernels leave gaps, which must not leak old memory into a saved plan. */
    if (unit->packed && !link->memory && !unit->kernel->pack.writes_all)
        tort_zero_bytes(&session->watch, unit->packed, unit->packed_bytes);
    prepare.packed = unit->packed;
    status = hold_inputs(p, index, view->inputs, true, stage, error);
    if (!status) status = call(lowered, index, unit->kernel->prepare, &prepare);
    hold_inputs(p, index, view->inputs, false, stage, NULL);
    stage->used = 0;
    if (!status) unit->prepared = prepare.prepared;
    return status;
}

static tort_status pack_unit(packing *p, tort_pass *pass, int32_t index, staging *stage, tort_error *error) {
    tort_unit_view view;
    tort_status status = tort_session_in_time(p->lowered->session, error);
    if (status) return status;
    status = tort_unit_view_open(&view, p->lowered, pass, index, NULL, error);
    if (!status) status = pack_kernel(p, &view, index, stage, error);
    tort_unit_view_close(&view, p->lowered);
    return status;
}

static tort_status open_pass(const packing *p, tort_pass *pass, tort_error *error) {
    tort_session *session = p->lowered->session;
    return tort_lowered_pass(p->lowered, pass, p->lowered->infos, &session->dims, &session->arena, error);
}

/* ---- units in parallel ------------------------------------------------------------------------------------------- */

static void note_failure(packing *p, int32_t index, tort_status status, const tort_error *error) {
    pthread_mutex_lock(&p->lock);
    if (index < p->failed) {
        p->failed = index;
        p->status = status;
        if (p->error) *p->error = *error;
    }
    pthread_mutex_unlock(&p->lock);
}

/* Takes units one by one, from the last, as weights grow towards the end of most models. Negative: none is left. */
static int32_t take_unit(packing *p) {
    return p->count - 1 - atomic_fetch_add(&p->taken, 1);
}

/* The range is ignored: each call is one more thread that takes units until none is left. */
static void pack_some(void *arg, int64_t begin, int64_t end) {
    packing *p = arg;
    tort_error error = {.node = -1};
    tort_pass pass;
    (void)begin, (void)end;
    int32_t index = take_unit(p);
    if (index < 0) return;
    const tort_env *env = &p->lowered->session->env;
    staging stage = {.base = p->staging ? tort_alloc_aligned(env, p->staging) : NULL, .bytes = p->staging};
    tort_status status = open_pass(p, &pass, &error);
    while (!status && index >= 0) {
        status = pack_unit(p, &pass, p->units[index], &stage, &error);
        if (!status) index = take_unit(p);
    }
    if (status) note_failure(p, index, status, &error);
    tort_pass_free(&pass);
    tort_free_aligned(env, stage.base, stage.bytes);
}

/* Functions of the application are called by one thread at a time while a session is made, unless tinyort.h says
 * otherwise; so packing in parallel needs the default allocator and a file that the library reads itself. */
static bool is_side_by_side(const tort_lowered *lowered, int32_t index) {
    const tort_session *session = lowered->session;
    const tort_unit *unit = &lowered->units[index];
    const tort_model *model = session->model;
    for (int32_t i = 0; i < 32; i++)
        if (is_in_parts(lowered, index, i, FOR_ALL_THREADS)) return false;
    return session->chain[unit->provider].provider->prepares_in_parallel && !unit->segment && !session->saved &&
           model->source_is_ours && tort_env_is_default(&model->account.inner) &&
           tort_env_is_default(&session->account.inner);
}

#define STAGING ((size_t)2 << 20)        /* a large page: one page fault instead of hundreds ... */
#define WORTH_A_PAGE ((size_t)512 << 10) /* ... if at least this much of it would be used */

static void count_staging(packing *p, int32_t index) {
    size_t bytes = TORT_HOST_ALIGN; /* padding, since kernels load vectors beyond the end */
    for (int32_t i = 0; i < tort_unit_node(p->lowered, index)->input_count; i++) {
        const int32_t weight = passing_weight(p->lowered, index, i);
        if (weight < 0 || is_in_parts(p->lowered, index, i, LARGE)) continue;
        if (!tort_add_size(bytes, tort_packed_place(p->lowered->session->model->weights[weight].bytes), &bytes)) return;
    }
    if (bytes > p->staging) p->staging = bytes;
}

static tort_status pack_side_by_side(packing *p) {
    const tort_env *env = &p->lowered->session->env;
    for (int32_t i = 0; i < p->count; i++) count_staging(p, p->units[i]);
    if (p->staging > WORTH_A_PAGE && p->staging < STAGING) p->staging = STAGING;
    env->parallel_for(env->parallel_ud, p->count, 1, pack_some, p);
    return p->status;
}

static tort_status pack_all(packing *p, int32_t *side_by_side, tort_error *error) {
    const tort_lowered *lowered = p->lowered;
    staging none = {.base = NULL};
    tort_pass pass;
    tort_status status = open_pass(p, &pass, error);
    if (status) return status;
    for (int32_t i = 0; !status && i < lowered->graph.node_count; i++) {
        const tort_unit *unit = &lowered->units[i];
        if (unit->provider < 0 || !unit->kernel->prepare || (unit->twin && !unit->kernel->pack.ready)) continue;
        if (is_side_by_side(lowered, i))
            side_by_side[p->count++] = i;
        else
            status = pack_unit(p, &pass, i, &none, error);
    }
    tort_pass_free(&pass);
    return status || !p->count ? status : pack_side_by_side(p);
}

tort_status tort_pack_units(tort_lowered *lowered, tort_error *error) {
    const tort_env *env = &lowered->session->env;
    const size_t bytes = (size_t)lowered->graph.node_count * sizeof(int32_t);
    int32_t *units = tort_alloc(env, bytes);
    if (!units) return tort_out_of_memory(error, bytes);
    packing p = {.lowered = lowered, .units = units, .failed = INT32_MAX, .error = error};
    pthread_mutex_init(&p.lock, NULL);
    tort_pool_begin_run(lowered->session->pool); /* keeps the pool's threads awake from unit to unit, as in a run */
    const tort_status status = pack_all(&p, units, error);
    tort_pool_end_run(lowered->session->pool);
    pthread_mutex_destroy(&p.lock);
    tort_free(env, units, bytes);
    return status;
}
