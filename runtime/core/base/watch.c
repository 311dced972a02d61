/* watch.c - see watch.h. */
#include "runtime/core/base/watch.h"

#include <time.h>

int64_t tort_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void tort_watch_begin(tort_watch *watch, uint64_t limit) {
    const int64_t now = limit ? tort_now() : 0;
    watch->deadline = !limit ? 0 : limit < (uint64_t)(INT64_MAX - now) ? now + (int64_t)limit : INT64_MAX;
}

bool tort_watch_goes_on(tort_watch *watch, int64_t work) {
    if (tort_watch_is_over(watch)) return false;
    int why = TORT_GOES_ON;
    if (watch->bounded && atomic_fetch_sub(&watch->work, work) < work) why = TORT_OUT_OF_WORK;
    if (watch->deadline && tort_now() >= watch->deadline) why = TORT_OUT_OF_TIME;
    if (why) watch->end = why;
    return !why;
}

tort_status tort_watch_fail(const tort_watch *watch, const char *what, uint64_t limit, tort_error *error) {
    if (watch->end == TORT_OUT_OF_TIME)
        return tort_fail(error, TORT_E_CANCELLED, "%s did not end within %.3g s (option time_limit)", what,
                         (double)limit / 1e9);
    return tort_fail(error, TORT_E_CANCELLED, "%s was cancelled", what);
}
