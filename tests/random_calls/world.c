/* world.c - see world.h. */
#include "tests/random_calls/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t mixed(uint64_t z) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

#define STEP 0x9e3779b97f4a7c15u

uint32_t roll(caller *c, uint32_t limit) {
    c->state += STEP;
    return (uint32_t)(mixed(c->state) % limit);
}

bool one_in(caller *c, uint32_t chances) {
    return roll(c, chances) == 0;
}

void *or_null(caller *c, const void *pointer) {
    if (!one_in(c, 40)) return (void *)pointer;
    c->refusable = true;
    return NULL;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

void expect(caller *c, bool condition, const char *what) {
    if (condition) return;
    if (!c->failed++) snprintf(c->complaint, sizeof c->complaint, "%s", what);
}

void answered(caller *c, const char *function, tort_status status, const tort_error *error, unsigned allowed) {
    char text[700];
    const char *name = tort_status_name(status), *message = error && status ? error->msg : "";
    snprintf(text, sizeof text, "%s answers %s%s: %.500s", function, name, c->refusable ? " to NULL" : "", message);
    c->calls++;
    if (status < STATUSES) c->by_status[status]++;
    if (c->refusable)
        expect(c, status == TORT_E_USAGE, text);
    else
        expect(c, status < STATUSES && (!status || (allowed >> status & 1)), text);
    if (error && status) expect(c, error->code == status && *error->msg, text);
    c->refusable = false;
}

void add_caller(caller *sum, const caller *other) {
    sum->calls += other->calls;
    for (unsigned i = 0; i < STATUSES; i++) sum->by_status[i] += other->by_status[i];
    if (!sum->failed) memcpy(sum->complaint, other->complaint, sizeof sum->complaint);
    sum->failed += other->failed;
}

/* ---- the world --------------------------------------------------------------------------------------------------- */

static void *fail_at_random(void *ud, void *ptr, size_t old_size, size_t new_size) {
    world *w = ud;
    const uint32_t chances = w->chances;
    if (new_size && chances && mixed(w->dice += STEP) % chances == 0) return NULL;
    return w->counting.env.alloc(w->counting.env.alloc_ud, ptr, old_size, new_size);
}

void world_begin(world *w, const onnx_bytes *files, uint64_t seed) {
    memset(w, 0, sizeof *w);
    w->driver.state = seed;
    w->dice = seed;
    w->files = files;
    tort_counting_env_init(&w->counting);
    w->env = (tort_env){.struct_size = sizeof w->env, .alloc = fail_at_random, .alloc_ud = w};
}

void free_session(world *w, int at) {
    for (int i = 0; i < CONTEXTS; i++) {
        if (w->contexts[i].session != at) continue;
        tort_context_free(w->contexts[i].context);
        w->contexts[i].context = NULL;
    }
    for (int i = 0; i < REPORTS; i++) {
        if (w->reports[i].session != at) continue;
        tort_report_free(w->reports[i].report);
        w->reports[i].report = NULL;
    }
    tort_session_free(w->sessions[at].session);
    w->sessions[at].session = NULL;
}

void free_model(world *w, int at) {
    for (int i = 0; i < SESSIONS; i++)
        if (w->sessions[i].session && w->sessions[i].model == at) free_session(w, i);
    tort_model_free(w->models[at].model);
    w->models[at].model = NULL;
}

void free_plan(world *w, int at) {
    for (int i = 0; i < SESSIONS; i++)
        if (w->sessions[i].session && w->sessions[i].plan == at) free_session(w, i);
    free(w->plans[at].bytes.data);
    w->plans[at].bytes = (saved_bytes){.data = NULL};
}

void world_end(world *w) {
    char text[100];
    for (int i = 0; i < SESSIONS; i++) free_session(w, i);
    for (int i = 0; i < MODELS; i++) free_model(w, i);
    for (int i = 0; i < PLANS; i++) free_plan(w, i);
    for (int i = 0; i < VALUES; i++) tort_value_release(w->values[i]);
    snprintf(text, sizeof text, "%lld blocks are left, %lld had another size when they were freed",
             (long long)w->counting.live_blocks, (long long)w->counting.wrong_sizes);
    expect(&w->driver, !w->counting.live_blocks && !w->counting.wrong_sizes, text);
}
