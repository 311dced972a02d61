/* compiling.h - what a provider compiles, told while it lasts. */
#ifndef TORT_RUNTIME_CLI_COMPILING_H
#define TORT_RUNTIME_CLI_COMPILING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* State of one call of tort_session_create; its members are compiling.c's. */
typedef struct cli_compiling {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    pthread_t thread;
    const char *provider;
    int32_t nodes;
    bool ticks, done;
} cli_compiling;

/* tort_session_options.compiling, with a cli_compiling as compiling_ud. */
void cli_tell_compiling(void *ud, const char *provider, int32_t nodes, uint64_t ns);

#endif
