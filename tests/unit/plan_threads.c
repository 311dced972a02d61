/* plan_threads.c - tests that plans are made side by side: nobody waits for another's shape, and a shape that two ask
 * for at once gets one plan, whose kernels are fitted once and never two at a time. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "runtime/core/lowered/lowered.h"
#include "tests/build_model.h"
#include "runtime/core/plan/planned.h"

/* ---- a kernel that is sized only when two threads are at it ------------------------------------------------------ */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    int wanted, present; /* wanted 0: nobody waits */
    bool met;
} meeting = {.lock = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};

static atomic_int fits, fitting;
static atomic_bool overlapped;

/* Comes back when as many as wanted are here; after a minute in any case. */
static tort_status size_together(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                 tort_error *error) {
    (void)target, (void)node, (void)error;
    struct timespec late;
    clock_gettime(CLOCK_REALTIME, &late);
    late.tv_sec += 60;
    *scratch = 0;
    pthread_mutex_lock(&meeting.lock);
    if (++meeting.present >= meeting.wanted) meeting.met = true;
    pthread_cond_broadcast(&meeting.arrived);
    while (!meeting.met && !pthread_cond_timedwait(&meeting.arrived, &meeting.lock, &late)) continue;
    pthread_mutex_unlock(&meeting.lock);
    return TORT_OK;
}

static tort_status count_fit(tort_fit *fit) {
    static char something;
    const struct timespec moment = {.tv_nsec = 20000000};
    if (atomic_fetch_add(&fitting, 1)) overlapped = true;
    nanosleep(&moment, NULL);
    fits++;
    fitting--;
    fit->fitted = &something;
    return TORT_OK;
}

static void forget_fit(void *device, const tort_env *env, void *fitted) {
    (void)device, (void)env, (void)fitted;
    fits--;
}

static tort_status run_copy(const tort_call *call) {
    memcpy(call->outputs[0].data, call->inputs[0].data, sizeof(float) * (size_t)tort_count(&call->inputs[0]));
    return call->fitted ? TORT_OK : tort_fail(call->error, TORT_E_RUN, "nothing was fitted");
}

static void open_here(const tort_provider_config *config, void **device, tort_target *target,
                      tort_condition *condition) {
    (void)config;
    *device = NULL;
    *target = (tort_target){.description = "waits for company"};
    *condition = (tort_condition){.ready = true, .code = "READY"};
}

static const tort_kernel kernels[] = {{.domain = "",
                                       .op = "Relu",
                                       .name = "together",
                                       .size = size_together,
                                       .run = run_copy,
                                       .fit = count_fit,
                                       .unfit = forget_fit},
                                      {.op = NULL}};
static const tort_kernel *const tables[] = {kernels, NULL};
static const tort_provider together = {.abi = TORT_PROVIDER_ABI,
                                       .name = "together",
                                       .summary = "for tests",
                                       .host_memory = true,
                                       .kernels = tables,
                                       .open = open_here};
static const tort_provider *const providers[] = {&together, NULL};

/* ---- two threads ------------------------------------------------------------------------------------------------- */

typedef struct planner {
    tort_session *session;
    int64_t size;
    tort_status status;
} planner;

static void *run_once(void *arg) {
    planner *p = arg;
    tort_context *context = NULL;
    float values[16] = {0};
    const tort_tensor input = {.type = TORT_FLOAT, .rank = 1, .dims = {p->size}, .data = values};
    tort_tensor output = {.data = NULL};
    p->status = tort_context_create(p->session, &context, NULL);
    if (!p->status) p->status = tort_context_run(context, &input, 1, &output, 1, NULL);
    tort_context_free(context);
    return NULL;
}

static int32_t count_plans(const tort_session *session) {
    int32_t count = 0;
    for (const tort_planned *p = session->graphs[0].plans; p; p = p->next) count++;
    return count;
}

/* Both run for the first time, for shapes [first] and [second]; as many plans and fits are kept as expected. */
static void plan_together(int64_t first, int64_t second, int expected) {
    model_builder b = build_begin(NULL);
    const int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){-1});
    build_output(&b, build_node(&b, "Relu", "relu", (const int32_t[]){x, -1}));
    tort_error error;
    tort_model *model = build_end(&b, &error);
    cr_assert_not_null(model, "%s", error.msg);
    tort_session *session = NULL;
    const tort_session_options options = {.struct_size = sizeof options, .chain = "together", .providers = providers};
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    pthread_mutex_lock(&meeting.lock);
    meeting.wanted = 2, meeting.present = 0, meeting.met = false;
    pthread_mutex_unlock(&meeting.lock);
    planner planners[2] = {{session, first, TORT_OK}, {session, second, TORT_OK}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) cr_assert_eq(pthread_create(&threads[i], NULL, run_once, &planners[i]), 0);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        cr_expect_eq(planners[i].status, TORT_OK);
    }
    cr_expect(meeting.met, "one plan waited for the other");
    cr_expect_eq(count_plans(session), expected);
    cr_expect_eq(fits, expected, "%d plans are fitted", (int)fits);
    cr_expect_not(overlapped, "two fits at a time");
    tort_session_free(session);
    cr_expect_eq(fits, 0, "%d fits are left", (int)fits);
    tort_model_free(model);
}

Test(plan_threads, two_shapes_are_planned_side_by_side) {
    plan_together(3, 4, 2);
}

Test(plan_threads, a_shape_that_two_ask_for_gets_one_plan) {
    plan_together(5, 5, 1);
}
