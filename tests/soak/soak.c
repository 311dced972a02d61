/* soak.c - contexts of one session run for a long time, with shapes that change, and hold no more memory in the end
 * than after the first part of the time.
 *
 * Usage: soak SECONDS [ROUNDS]. Eight contexts on threads of their own, of each of the four models in turn; four of the
 * contexts are freed and made again now and then. With ROUNDS each thread makes so many runs of each model instead,
 * which takes seconds, and resident memory is not looked at. The time is cut into windows, the first two of which warm
 * up. Bytes when the contexts are freed may grow by 10 % and 64 KiB, for the plans that the order of shapes leaves in
 * the session; the most that is held during runs by 10 % and 256 KiB, for threads that are at their largest shapes
 * together; resident memory by 5 % and 8 MiB, for what the C library keeps of what was freed.
 * Prints `soak: N passed, N failed`. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/counting_env.h"
#include "tests/side_models.h"

enum { THREADS = 8, LARGEST = 48, RUNS_OF_A_CONTEXT = 500, WINDOWS = 8, WARM = 2 };

/* One model's time, shared by its threads. */
typedef struct stretch {
    side which;
    tort_counting_env counting;
    tort_session *session;
    int64_t rounds;            /* runs of each thread in a window; 0: until `until` */
    _Atomic(double) until;     /* seconds of the clock */
    _Atomic int64_t runs, bad; /* bad: runs that failed */
    char complaint[600];       /* of the first of them */
} stretch;

typedef struct worker {
    stretch *s;
    uint64_t state;
    bool restless; /* makes its context again now and then */
    tort_context *context;
} worker;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int64_t resident_bytes(void) {
    long long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%lld %lld", &pages, &resident) != 2) resident = 0;
    if (file) fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static void run_once(worker *w) {
    stretch *s = w->s;
    const tort_value *inputs[SIDE_PORTS] = {NULL};
    tort_value *outputs[SIDE_PORTS] = {NULL};
    tort_error error = {.msg = ""};
    w->state = w->state * 6364136223846793005u + 1442695040888963407u;
    side_inputs(&s->counting.env, s->which, (int64_t)(w->state >> 33) % LARGEST, inputs);
    const tort_status status = tort_context_run_values(w->context, inputs, side_input_count(s->which), outputs,
                                                       side_output_count(s->which), &error);
    for (int i = 0; i < SIDE_PORTS; i++) {
        tort_value_release(inputs[i]);
        tort_value_release(outputs[i]);
    }
    s->runs++;
    if (status && !s->bad++) snprintf(s->complaint, sizeof s->complaint, "%s", error.msg);
}

static void *work(void *arg) {
    worker *w = arg;
    for (int64_t i = 0; w->s->rounds ? i < w->s->rounds : now() < w->s->until; i++) {
        if (i == 0 || (w->restless && i % RUNS_OF_A_CONTEXT == 0)) {
            tort_context_free(w->context);
            if (tort_context_create(w->s->session, &w->context, NULL)) break;
        }
        run_once(w);
    }
    return NULL;
}

/* Runs all contexts for a window of time. */
static void run_window(worker *workers, double seconds) {
    pthread_t threads[THREADS];
    workers->s->until = now() + seconds;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, &workers[i])) abort();
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

/* ---- what is held ------------------------------------------------------------------------------------------------ */

/* Bytes that a window held. */
typedef struct held {
    int64_t at_rest, at_most, resident;
} held;

/* The most that the windows of `first` to `end` held. */
static held most(const held *windows, int first, int end) {
    held top = windows[first];
    for (int i = first + 1; i < end; i++) {
        if (windows[i].at_rest > top.at_rest) top.at_rest = windows[i].at_rest;
        if (windows[i].at_most > top.at_most) top.at_most = windows[i].at_most;
        if (windows[i].resident > top.resident) top.resident = windows[i].resident;
    }
    return top;
}

static bool fits(const char *what, int64_t warm, int64_t late, int64_t percent, int64_t bytes) {
    printf("  %-9s %10lld bytes in the first windows, %10lld in later ones\n", what, (long long)warm, (long long)late);
    if (late <= warm + warm * percent / 100 + bytes) return true;
    printf("soak: FAILED: they may be %lld %% and %lld bytes more\n", (long long)percent, (long long)bytes);
    return false;
}

static bool check_windows(const stretch *s, const held *windows) {
    static const char *const names[] = {"symbols", "dynamic", "sequences", "loop"};
    const held warm = most(windows, 0, WARM), late = most(windows, WARM, WINDOWS);
    printf("%s: %lld runs\n", names[s->which], (long long)s->runs);
    bool good = fits("at rest", warm.at_rest, late.at_rest, 10, 64 << 10);
    good &= fits("at most", warm.at_most, late.at_most, 10, 256 << 10);
    if (!s->rounds) good &= fits("resident", warm.resident, late.resident, 5, 8 << 20);
    if (s->bad) printf("soak: FAILED: %lld runs failed: %s\n", (long long)s->bad, s->complaint);
    return good && !s->bad && s->runs;
}

/* Soaks one model for so many seconds, or rounds. */
static bool soak(side which, double seconds, int64_t rounds) {
    stretch s = {.which = which, .rounds = rounds / WINDOWS};
    worker workers[THREADS];
    held windows[WINDOWS];
    onnx_bytes file;
    tort_model *model = NULL;
    tort_error error = {.msg = ""};
    const tort_session_options options = {.struct_size = sizeof options, .chain = "cpu:threads=2"};
    tort_counting_env_init(&s.counting);
    side_model(&file, which);
    tort_status status = tort_model_load_buffer(&s.counting.env, file.data, file.size, NULL, &model, &error);
    if (!status) status = tort_session_create(&s.counting.env, model, &options, &s.session, &error);
    for (int i = 0; i < THREADS; i++) workers[i] = (worker){.s = &s, .state = (uint64_t)i, .restless = i % 2};
    for (int i = 0; !status && i < WINDOWS; i++) {
        s.counting.max_bytes = s.counting.live_bytes;
        run_window(workers, seconds / WINDOWS);
        for (int k = 0; k < THREADS; k++) {
            tort_context_free(workers[k].context);
            workers[k].context = NULL;
        }
        windows[i] = (held){(int64_t)s.counting.live_bytes, (int64_t)s.counting.max_bytes, resident_bytes()};
    }
    bool good = !status && check_windows(&s, windows);
    if (status) printf("soak: FAILED: %s\n", error.msg);
    tort_session_free(s.session);
    tort_model_free(model);
    onnx_free(&file);
    if (s.counting.live_blocks) printf("soak: FAILED: %lld blocks are left\n", (long long)s.counting.live_blocks);
    return good && !s.counting.live_blocks;
}

int main(int argc, char **argv) {
    const double seconds = argc > 1 ? strtod(argv[1], NULL) : 0;
    const int64_t rounds = argc > 2 ? strtoll(argv[2], NULL, 10) : 0;
    int passed = 0;
    for (int i = 0; i < SIDE_COUNT; i++) passed += soak((side)i, seconds / SIDE_COUNT, rounds);
    printf("soak: %d passed, %d failed\n", passed, SIDE_COUNT - passed);
    return passed != SIDE_COUNT;
}
