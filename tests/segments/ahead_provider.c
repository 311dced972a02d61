/* ahead_provider.c - a provider whose device chooses its nodes and compiles them before anything runs, written for
 * readers: what a real engine (an inference library, an accelerator) does with tort_engine.
 *
 * "ahead" computes as "engine" does (engine_provider.c, to be read first), but its device is asked: by its options it
 * declines operators, has room for few instructions, or fails in a run. It compiles a segment once, for sizes that are
 * symbols; it takes constants then, so that no run has them; each context has a state of its own; and what was compiled
 * can be stored in a saved plan. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/segments/engine_provider.h"

/* ---- the device -------------------------------------------------------------------------------------------------- */

typedef struct ahead_device {
    const tort_env *env;
    const char *declines;
    long room, version;
    bool fails;
} ahead_device;

static const tort_option_help options[] = {
    {"declines", "Mul+Add", "operators that the device does not take"},
    {"room", "8", "instructions that a segment may have"},
    {"fails", "1", "each run fails"},
    {"version", "2", "of the device, which only reads what this version stored"},
    {0},
};

static const char *option(const tort_provider_config *config, const char *key, const char *otherwise) {
    const char *value = tort_provider_option_get(config, key);
    return value ? value : otherwise;
}

static void open_device(const tort_provider_config *config, void **device, tort_target *target,
                        tort_condition *condition) {
    ahead_device *made = tort_alloc_zero(config->env, 1, sizeof *made);
    *condition = (tort_condition){.ready = made != NULL, .code = "READY"};
    *target = (tort_target){.description = "an engine that exists in tests only, and compiles ahead"};
    *device = made;
    if (!made) {
        snprintf(condition->code, sizeof condition->code, "NO_MEMORY");
        return;
    }
    *made = (ahead_device){.env = config->env,
                           .declines = option(config, "declines", ""),
                           .room = strtol(option(config, "room", "1000"), NULL, 10),
                           .version = strtol(option(config, "version", "1"), NULL, 10),
                           .fails = *option(config, "fails", "0") == '1'};
}

static void close_device(void *device) {
    ahead_device *made = device;
    tort_free(made->env, made, sizeof *made);
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

/* The rows have said what can be computed at all; this is what the device would have. */
static tort_status choose(tort_choice *choice) {
    const ahead_device *device = choice->device;
    const tort_segment_view *all = choice->node->segment;
    for (int32_t i = 0; i < all->node_count; i++)
        choice->groups[i] = strstr(device->declines, all->nodes[i].op->name) ? -1 : 0;
    *choice->declined = tort_no(TORT_NO_CAPABILITY, "leave out declines", "the device declines %s", device->declines);
    return TORT_OK;
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

/* Where a run finds an operand; at: number of an input, an output or a value inside, or an offset of the floats. */
typedef struct place {
    enum { INPUT, FLOATS, OUTPUT, INSIDE } home;
    int32_t at, count; /* count: of FLOATS */
} place;

typedef struct instruction {
    char name[40], kind[16]; /* of the node, and its operator */
    place a, b, y;
} instruction;

/* One block, so that it can be stored as it is: instructions, then the constants. */
typedef struct program {
    size_t bytes; /* of all of it */
    int64_t version;
    int32_t count, inside; /* instructions, and values that only the segment has */
    instruction code[];
} program;

static int32_t count_of(const tort_info *info) {
    int64_t count = 1;
    for (int32_t d = 0; d < info->rank; d++) count *= info->dims[d];
    return (int32_t)count;
}

/* Gives each value its place, in the order of the view's values; returns the floats of all constants. */
static int32_t lay_out(const tort_segment_view *s, place *places, int32_t *inside) {
    int32_t floats = 0, outputs = 0;
    *inside = 0;
    for (int32_t v = 0; v < s->value_count; v++) {
        if (v < s->input_count) {
            places[v] = (place){INPUT, v, 0};
        } else if (v < s->input_count + s->constant_count) {
            places[v] = (place){FLOATS, floats, count_of(&s->values[v])};
            floats += places[v].count;
        } else {
            const bool read = outputs < s->output_count && s->outputs[outputs] == v;
            places[v] = read ? (place){OUTPUT, outputs++, 0} : (place){INSIDE, (*inside)++, 0};
        }
    }
    return floats;
}

static void translate(const tort_segment_view *s, const place *places, program *made) {
    float *floats = (float *)(void *)(made->code + made->count);
    for (int32_t i = 0; i < s->node_count; i++) {
        const tort_segment_node *node = &s->nodes[i];
        instruction *in = &made->code[i];
        snprintf(in->name, sizeof in->name, "%s", node->name);
        snprintf(in->kind, sizeof in->kind, "%s", node->op->name);
        in->a = places[node->inputs[0]];
        in->b = places[node->inputs[node->input_count - 1]];
        in->y = places[node->outputs[0]];
    }
    for (int32_t v = s->input_count; v < s->input_count + s->constant_count; v++)
        memcpy(floats + places[v].at, s->values[v].data, (size_t)places[v].count * sizeof(float));
}

/* Elements of the largest value; 0: some size has no upper bound. */
static int64_t bound_of(const tort_segment_view *s) {
    int64_t largest = 1;
    for (int32_t v = 0; v < s->value_count; v++) {
        int64_t count = 1, size;
        for (int32_t d = 0; d < s->values[v].rank; d++) {
            if (!tort_dim_evaluate(s->dims, s->values[v].dims[d], s->max, s->max_count, &size)) return 0;
            count *= size;
        }
        if (count > largest) largest = count;
    }
    return largest;
}

/* A stored program stands for this segment if all of it is equal: a real engine compares versions and hashes, since it
 * wants to save the work of translating. */
static bool is_stored(const tort_compiling *c, const program *made) {
    return c->stored_bytes == made->bytes && !memcmp(c->stored, made, made->bytes);
}

static tort_status compile(tort_compiling *c) {
    const tort_segment_view *s = c->node->segment;
    const ahead_device *device = c->device;
    if (s->node_count > device->room) {
        *c->verdict = tort_no(TORT_NO_MEMORY, "raise room", "%d instructions do not fit, there is room for %ld",
                              s->node_count, device->room);
        return TORT_OK;
    }
    const size_t values = (size_t)s->value_count;
    place *places = tort_alloc_zero(c->env, values, sizeof *places);
    if (!places) return tort_fail(c->error, TORT_E_MEMORY, "no memory to compile %d nodes", s->node_count);
    int32_t inside;
    const size_t floats = (size_t)lay_out(s, places, &inside);
    const size_t bytes = sizeof(program) + (size_t)s->node_count * sizeof(instruction) + floats * sizeof(float);
    program *made = tort_alloc_zero(c->env, 1, bytes);
    if (made) {
        *made = (program){.bytes = bytes, .version = device->version, .count = s->node_count, .inside = inside};
        translate(s, places, made);
    }
    tort_free(c->env, places, values * sizeof *places);
    if (!made) return tort_fail(c->error, TORT_E_MEMORY, "no memory to compile %d nodes", s->node_count);
    const int64_t bound = bound_of(s);
    snprintf(c->words, sizeof c->words, bound ? "%sat most %lld elements" : "%sany size",
             c->stored && is_stored(c, made) ? "stored, " : "", (long long)bound);
    c->compiled = made;
    c->held = bytes;
    return TORT_OK;
}

static void release(void *device, const tort_env *env, void *compiled) {
    (void)device;
    tort_free(env, compiled, ((program *)compiled)->bytes);
}

static tort_status store(void *device, const tort_env *env, void *compiled, void **data, size_t *bytes,
                         tort_error *error) {
    const program *made = compiled;
    (void)device;
    *data = tort_alloc(env, made->bytes);
    if (!*data) return tort_fail(error, TORT_E_MEMORY, "no memory to store a segment");
    *bytes = made->bytes;
    memcpy(*data, made, made->bytes);
    return TORT_OK;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* Of one context: how long each instruction took. A run that another thread ends looks at `ended`. */
typedef struct state {
    size_t bytes; /* of itself */
    volatile bool ended;
    uint64_t ns[];
} state;

static tort_status begin(void *device, const tort_env *env, void *compiled, void **out, tort_error *error) {
    const size_t bytes = sizeof(state) + (size_t)((const program *)compiled)->count * sizeof(uint64_t);
    state *made = tort_alloc_zero(env, 1, bytes);
    (void)device;
    if (!made) return tort_fail(error, TORT_E_MEMORY, "no memory for a state");
    made->bytes = bytes;
    *out = made;
    return TORT_OK;
}

static void end(void *device, const tort_env *env, void *compiled, void *made) {
    (void)device, (void)compiled;
    tort_free(env, made, ((state *)made)->bytes);
}

static void cancel(void *device, void *compiled, void *made) {
    (void)device, (void)compiled;
    ((state *)made)->ended = true;
}

bool ahead_is_ended(const void *made) {
    return ((const state *)made)->ended;
}

static int32_t times(void *device, void *compiled, void *made, tort_engine_time *to, int32_t max) {
    const program *from = compiled;
    (void)device;
    for (int32_t i = 0; i < from->count && i < max; i++) {
        to[i].ns = ((const state *)made)->ns[i];
        memcpy(to[i].name, from->code[i].name, sizeof from->code[i].name);
        memcpy(to[i].kind, from->code[i].kind, sizeof from->code[i].kind);
    }
    return from->count;
}

/* Values inside have at most as many elements as the largest output, since operands are only repeated. */
static tort_status size_segment(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                tort_error *error) {
    const tort_segment_view *s = node->segment;
    int32_t largest = 0;
    (void)target, (void)error;
    for (int32_t v = s->input_count + s->constant_count; v < s->value_count; v++)
        if (count_of(&s->values[v]) > largest) largest = count_of(&s->values[v]);
    *scratch = (size_t)(s->value_count - s->output_count) * (sizeof(int64_t) + (size_t)largest * sizeof(float));
    return TORT_OK;
}

/* The elements of an operand in this run, and how many there are. Values inside follow each other in the scratch, each
 * behind its number of elements: `room`, where it is made; -1: it is read. */
static float *find(const tort_call *call, const place *p, int64_t *count, int64_t room) {
    const program *made = call->prepared;
    if (p->home == FLOATS) {
        *count = p->count;
        return (float *)(void *)(made->code + made->count) + p->at;
    }
    if (p->home != INSIDE) {
        const tort_tensor *tensor = p->home == INPUT ? &call->inputs[p->at] : &call->outputs[p->at];
        *count = tort_count(tensor);
        return tensor->data;
    }
    int64_t *counts = call->scratch;
    if (room >= 0) counts[p->at] = room;
    *count = counts[p->at];
    float *values = (float *)(void *)(counts + made->inside);
    for (int32_t i = 0; i < p->at; i++) values += counts[i];
    return values;
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void execute(const tort_call *call, const instruction *in) {
    int64_t a_count, b_count, count;
    const float *a = find(call, &in->a, &a_count, -1), *b = find(call, &in->b, &b_count, -1);
    float *y = find(call, &in->y, &count, !a_count || !b_count ? 0 : a_count > b_count ? a_count : b_count);
    for (int64_t i = 0; i < count; i++)
        y[i] = *in->kind == 'R'   ? (a[i] > 0 ? a[i] : 0)
               : *in->kind == 'A' ? a[i % a_count] + b[i % b_count]
               : *in->kind == 'M' ? a[i % a_count] * b[i % b_count]
                                  : a[i];
}

static tort_status run_segment(const tort_call *call) {
    const program *made = call->prepared;
    state *mine = call->state;
    mine->ended = false;
    if (((const ahead_device *)call->device)->fails)
        return tort_fail(call->error, TORT_E_RUN, "the device was told to fail");
    for (int32_t i = 0; i < made->count; i++) {
        const uint64_t before = now();
        if (mine->ended) return tort_run_is_over(call->error);
        execute(call, &made->code[i]);
        mine->ns[i] = now() - before;
    }
    return TORT_OK;
}

/* ---- the provider ------------------------------------------------------------------------------------------------ */

static const tort_kernel segments = {
    .name = "compiled ahead", .size = size_segment, .release = release, .run = run_segment};

static const tort_engine engine = {
    .choose = choose, .compile = compile, .begin = begin, .end = end, .store = store, .times = times, .cancel = cancel};

const tort_provider ahead_provider = {.abi = TORT_PROVIDER_ABI,
                                      .name = "ahead",
                                      .summary = "for tests: an engine that compiles ahead of runs",
                                      .host_memory = true,
                                      .kernels = engine_tables,
                                      .options = options,
                                      .open = open_device,
                                      .close = close_device,
                                      .segments = &segments,
                                      .engine = &engine};
