/* world.h - the objects among which random calls choose, and what every call has to answer.
 *
 * One thread, the driver, makes and frees objects, in any order that tinyort.h allows: with a model go its sessions,
 * with a session its contexts and reports. Other threads run contexts. Read next: calls.c. */
#ifndef TORT_TESTS_RANDOM_CALLS_WORLD_H
#define TORT_TESTS_RANDOM_CALLS_WORLD_H

#include "runtime/include/tinyort_plan.h"
#include "runtime/include/tinyort_profile.h"
#include "tests/counting_env.h"
#include "tests/saved_plan.h"
#include "tests/side_models.h"

#define STATUSES (TORT_E_CANCELLED + 1u)

enum { MODELS = 3, SESSIONS = 3, CONTEXTS = 6, VALUES = 6, REPORTS = 2, PLANS = 2 };

/* A thread that calls. */
typedef struct caller {
    uint64_t state; /* of its random numbers */
    bool refusable; /* the call that is being made has a NULL that no comment allows */
    int64_t calls, by_status[STATUSES], failed;
    char complaint[700]; /* of the first call that failed */
} caller;

/* A random number below `limit`. */
uint32_t roll(caller *c, uint32_t limit);
bool one_in(caller *c, uint32_t chances);
/* The pointer, or now and then NULL, which the call then has to refuse. */
void *or_null(caller *c, const void *pointer);
/* Counts a call. Its status has to be OK or in `allowed`, a set of 1 << status, and TORT_E_USAGE after a NULL. */
void answered(caller *c, const char *function, tort_status status, const tort_error *error, unsigned allowed);
void expect(caller *c, bool condition, const char *what);
void add_caller(caller *sum, const caller *other);

typedef struct world {
    caller driver;
    tort_counting_env counting;
    tort_env env;             /* counts, and fails now and then */
    _Atomic uint64_t dice;    /* of the allocations that fail */
    _Atomic uint32_t chances; /* one in so many fails; 0: none */
    const onnx_bytes *files;  /* by side */
    struct {
        tort_model *model;
        side which;
    } models[MODELS];
    struct {
        tort_session *session;
        int model, plan; /* that it needs; -1: none */
        side which;
    } sessions[SESSIONS];
    struct {
        tort_context *context;
        int session;
    } contexts[CONTEXTS];
    struct {
        tort_report *report;
        int session;
    } reports[REPORTS];
    struct {
        saved_bytes bytes;
        side which;
    } plans[PLANS];
    tort_value *values[VALUES];
} world;

void world_begin(world *w, const onnx_bytes *files, uint64_t seed);
/* Frees what is left, and expects that no memory is. */
void world_end(world *w);
void free_model(world *w, int at);
void free_session(world *w, int at);
void free_plan(world *w, int at);

/* Calls that the driver may make with a session while other threads run its contexts. */
void ask_beside(world *w, int session);
/* A random call by the driver. */
void call_at_random(world *w);
/* A random call with a context, by the one thread that has it. */
void call_context(caller *c, const tort_env *env, tort_context *context, side which);

#endif
