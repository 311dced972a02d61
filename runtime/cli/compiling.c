/* compiling.c - tells what a provider compiles while it lasts: "compiling 49 nodes for openvino: 3 s" on a terminal,
 * each second anew, and a line once it is done where there is none and it took long. */
#include "runtime/cli/compiling.h"

#include <time.h>
#include <unistd.h>

#include "runtime/cli/print.h"
#include "runtime/core/base/watch.h"

static void *tick(void *ud) {
    cli_compiling *c = ud;
    pthread_mutex_lock(&c->lock);
    for (int seconds = 0; !c->done; seconds++) {
        const int64_t at = tort_now() + 1000000000;
        const struct timespec next = {.tv_sec = (time_t)(at / 1000000000), .tv_nsec = (long)(at % 1000000000)};
        if (seconds) cli_progress("compiling %d nodes for %s: %d s", c->nodes, c->provider, seconds);
        pthread_cond_timedwait(&c->ended, &c->lock, &next);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static void begin(cli_compiling *c, const char *provider, int32_t nodes) {
    cli_progress("compiling %d nodes for %s", nodes, provider);
    *c = (cli_compiling){.nodes = nodes, .provider = provider};
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&c->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    c->ticks = isatty(STDERR_FILENO) && pthread_create(&c->thread, NULL, tick, c) == 0;
}

static void end(cli_compiling *c, uint64_t ns) {
    pthread_mutex_lock(&c->lock);
    c->done = true;
    pthread_cond_signal(&c->ended);
    pthread_mutex_unlock(&c->lock);
    if (c->ticks) pthread_join(c->thread, NULL);
    pthread_cond_destroy(&c->ended);
    pthread_mutex_destroy(&c->lock);
    cli_progress_end();
    if (ns > 1000000000 && !isatty(STDERR_FILENO))
        cli_print(stderr, "compiled %d nodes for %s: %.1f s\n", c->nodes, c->provider, (double)ns / 1e9);
}

void cli_tell_compiling(void *ud, const char *provider, int32_t nodes, uint64_t ns) {
    if (ns)
        end(ud, ns);
    else
        begin(ud, provider, nodes);
}
