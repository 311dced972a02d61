/* parallel.c - splits a kernel's work over threads, and into parts between which it may end. A separate file, so that a
 * provider in a shared object can link the loops of ops/ without the rest of the core. Read next: threads.c. */
#include "runtime/core/base/watch.h"
#include "runtime/include/op.h"

#include <string.h>

bool tort_goes_on(struct tort_watch *watch, int64_t work) {
    return !watch || tort_watch_goes_on(watch, work);
}

bool tort_work_goes_on(struct tort_watch *watch, int64_t *done, int64_t work) {
    const int64_t before = *done;
    *done = (int64_t)((uint64_t)before + (uint64_t)work); /* estimates may be huge */
    return (before ^ *done) >> 20 == 0 ? !tort_is_over(watch) : tort_goes_on(watch, 0);
}

/* `from` NULL: zeros. */
static bool fill_bytes(struct tort_watch *watch, char *to, const char *from, size_t bytes) {
    const size_t max = 1 << 20;
    for (size_t at = 0; at < bytes; at += max) {
        const size_t part = bytes - at < max ? bytes - at : max;
        if (at > 0 && !tort_goes_on(watch, 0)) return false;
        if (from)
            memcpy(to + at, from + at, part);
        else
            memset(to + at, 0, part);
    }
    return true;
}

bool tort_copy_bytes(struct tort_watch *watch, void *to, const void *from, size_t bytes) {
    return fill_bytes(watch, to, from, bytes);
}

bool tort_zero_bytes(struct tort_watch *watch, void *to, size_t bytes) {
    return fill_bytes(watch, to, NULL, bytes);
}

tort_status tort_run_is_over(tort_error *error) {
    return tort_fail(error, TORT_E_RUN, "the run is over");
}

/* A range that takes longer than TORT_WORK_AT_ONCE. */
typedef struct watched {
    const tort_call *call;
    void (*body)(void *, int64_t, int64_t);
    void *arg;
    int64_t work, at_once; /* of an item; items between two questions */
} watched;

static void run_watched(void *arg, int64_t begin, int64_t end) {
    const watched *w = arg;
    while (begin < end) {
        const int64_t next = end - begin < w->at_once ? end : begin + w->at_once;
        if (!tort_call_goes_on(w->call, (next - begin) * w->work)) return;
        w->body(w->arg, begin, next);
        begin = next;
    }
}

void tort_parallel(const tort_call *call, int64_t count, int64_t work, void (*body)(void *, int64_t, int64_t),
                   void *arg) {
    if (count <= 0) return;
    if (work < 1) work = 1;
    const int64_t grain = work < TORT_WORTH_A_THREAD ? TORT_WORTH_A_THREAD / work : 1;
    watched w = {call, body, arg, work, work < TORT_WORK_AT_ONCE ? TORT_WORK_AT_ONCE / work : 1};
    if (count > w.at_once) {
        body = run_watched;
        arg = &w;
    } else if (!tort_call_goes_on(call, count * work)) {
        return;
    }
    if (!call->env || !call->env->parallel_for || count <= grain)
        body(arg, 0, count);
    else
        call->env->parallel_for(call->env->parallel_ud, count, grain, body, arg);
}
