/* gaps.c - the work between two questions whether a run goes on, counted and not timed, in the program of the command
 * line: whoever cancels waits for the rest of such a gap.
 *
 * What is counted are the counters of clang's coverage, one for each piece of code between two branches, added up, and
 * a count for every 4 bytes that the C library copies or fills. Written when the program ends into the file
 * TINYORT_GAPS: the largest gap, and the number of questions. A run that has asked TINYORT_GAPS_END times is over. The
 * linker puts these functions in the place of the library's (--wrap). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/watch.h"

/* The runtime library of clang's profiles has these: later versions have the counters as char *. */
void *__llvm_profile_begin_counters(void);
void *__llvm_profile_end_counters(void);
void __llvm_profile_set_filename(const char *name);

void __real_tort_watch_begin(tort_watch *watch, uint64_t limit);
bool __real_tort_watch_goes_on(tort_watch *watch, int64_t work);
tort_status __real_tort_watch_fail(const tort_watch *watch, const char *what, uint64_t limit, tort_error *error);
void *__real_memcpy(void *to, const void *from, size_t bytes);
void *__real_memmove(void *to, const void *from, size_t bytes);
void *__real_memset(void *to, int byte, size_t bytes);

enum { BYTES = 4 };

static uint64_t copied, last, max_gap, questions;

static uint64_t counted(void) {
    uint64_t sum = copied / BYTES;
    const uint64_t *end = __llvm_profile_end_counters();
    for (const uint64_t *counter = __llvm_profile_begin_counters(); counter < end; counter++) sum += *counter;
    return sum;
}

static void end_gap(void) {
    const uint64_t now = counted();
    if (now - last > max_gap) max_gap = now - last;
    last = now;
}

static void write_gaps(void) {
    FILE *file = fopen(getenv("TINYORT_GAPS"), "w");
    if (!file) return;
    fprintf(file, "%llu %llu\n", (unsigned long long)max_gap, (unsigned long long)questions);
    fclose(file);
}

/* A session, or a run, begins: nobody cancels what was before. */
void __wrap_tort_watch_begin(tort_watch *watch, uint64_t limit) {
    static bool registered;
    if (!registered) {
        registered = true;
        __llvm_profile_set_filename("/dev/null");
        atexit(write_gaps);
    }
    __real_tort_watch_begin(watch, limit);
    last = counted();
}

bool __wrap_tort_watch_goes_on(tort_watch *watch, int64_t work) {
    end_gap();
    if (++questions >= strtoull(getenv("TINYORT_GAPS_END"), NULL, 10)) watch->end = TORT_OUT_OF_TIME;
    return __real_tort_watch_goes_on(watch, work);
}

/* The error is made once all loops have returned. */
tort_status __wrap_tort_watch_fail(const tort_watch *watch, const char *what, uint64_t limit, tort_error *error) {
    end_gap();
    return __real_tort_watch_fail(watch, what, limit, error);
}

void *__wrap_memcpy(void *to, const void *from, size_t bytes) {
    copied += bytes;
    return __real_memcpy(to, from, bytes);
}

void *__wrap_memmove(void *to, const void *from, size_t bytes) {
    copied += bytes;
    return __real_memmove(to, from, bytes);
}

void *__wrap_memset(void *to, int byte, size_t bytes) {
    copied += bytes;
    return __real_memset(to, byte, bytes);
}
