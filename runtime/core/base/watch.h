/* watch.h - whether work is to go on: it was not cancelled, and has time and work left.
 *
 * Asked between the steps of a run, between the nodes of a fold, and inside long steps by the loops of kernels
 * (tort_call_goes_on in op.h), on every thread that works. */
#ifndef TORT_RUNTIME_BASE_WATCH_H
#define TORT_RUNTIME_BASE_WATCH_H

#include "runtime/core/base/error.h"

#ifdef __cplusplus /* kernels' C++ sources include this header but use no watch; older C++ lacks C's atomics */
typedef int tort_watch_end;
typedef int64_t tort_watch_work;
#else
#include <stdatomic.h>
typedef atomic_int tort_watch_end;
typedef atomic_int_least64_t tort_watch_work;
#endif

enum { TORT_GOES_ON, TORT_CANCELLED, TORT_OUT_OF_TIME, TORT_OUT_OF_WORK };

typedef struct tort_watch {
    tort_watch_end end;   /* why the work ends; set once, from any thread */
    tort_watch_work work; /* nanoseconds of estimated work that are left; only counted if `bounded` */
    bool bounded;
    int64_t deadline; /* monotonic time in nanoseconds; 0: none */
} tort_watch;

/* True once somebody was told that the work ends: one load, cheap enough for every trip of a loop. */
static inline bool tort_watch_is_over(const tort_watch *watch) {
#ifdef __cplusplus
    return watch->end != TORT_GOES_ON;
#else
    return atomic_load_explicit(&watch->end, memory_order_relaxed) != TORT_GOES_ON;
#endif
}
int64_t tort_now(void); /* the monotonic time in nanoseconds */
/* `limit`: nanoseconds from now; 0: none. An earlier cancellation stays. */
void tort_watch_begin(tort_watch *watch, uint64_t limit);
/* False: the work ends. work: nanoseconds that are about to be spent, as estimated. */
bool tort_watch_goes_on(tort_watch *watch, int64_t work);
/* TORT_E_CANCELLED with the cause; `what` continues a sentence: "the run", "making the session". */
tort_status tort_watch_fail(const tort_watch *watch, const char *what, uint64_t limit, tort_error *error);

#endif
