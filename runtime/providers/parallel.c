/* parallel.c - splits a kernel's work over threads. A separate file, so that a provider in a shared object can link the
 * loops of ops/ without the rest of the core. Read next: threads.c. */
#include "runtime/op.h"

void tort_parallel(const tort_call *call, int64_t count, int64_t work, void (*body)(void *, int64_t, int64_t),
                   void *arg) {
    if (count <= 0) return;
    int64_t grain = work > 0 ? TORT_WORTH_A_THREAD / work : TORT_WORTH_A_THREAD;
    if (grain < 1) grain = 1;
    if (!call->env || !call->env->parallel_for || count <= grain)
        body(arg, 0, count);
    else
        call->env->parallel_for(call->env->parallel_ud, count, grain, body, arg);
}
