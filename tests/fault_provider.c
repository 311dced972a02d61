/* fault_provider.c - a provider that refuses and fails in every way, as its options say.
 *
 *   fault:open=NO_DRIVER            does not open, with that code
 *   fault:claim=NO_ATTR             every claim answers with that code
 *   fault:library=missing           its kernels need a library that is not there
 *   fault:memory=1000               has that many bytes
 *   fault:alloc=3  fault:copy=2  fault:run=1  fault:sync=1  fault:prepare=1  fault:fit=1  fault:size=1
 *                                   the n-th call of that kind fails
 *   fault:lost=1  fault:lost_copy=1  fault:lost_sync=1   the n-th kernel, copy, sync loses the device
 *   fault:scratch=huge              asks for more scratch than an address space has */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake_provider.h"

typedef struct fault_device {
    int alloc, copy, run, sync, prepare, fit, lost, lost_copy,
        lost_sync; /* fail at this call, counted down; 0: never */
    bool library_missing;
    int64_t live; /* allocations and fits not given back yet */
} fault_device;

/* What claims and sizes answer: they see a target, so the options travel in it. */
static tort_verdict_code code_named(const char *name) {
    for (int code = 0; code < TORT_VERDICT_COUNT; code++)
        if (name && !strcmp(tort_verdict_name((tort_verdict_code)code), name)) return (tort_verdict_code)code;
    return TORT_YES;
}

static int number(const tort_provider_config *config, const char *key) {
    const char *text = tort_provider_option_get(config, key);
    return text ? atoi(text) : 0;
}

enum { CLAIM, SIZE }; /* tort_target.facts */

static void fault_open(const tort_provider_config *config, void **device, tort_target *target,
                       tort_condition *condition) {
    const char *open = tort_provider_option_get(config, "open");
    *condition = (tort_condition){.ready = !open};
    snprintf(condition->code, sizeof condition->code, "%s", open ? open : "READY");
    if (open) {
        snprintf(condition->message, sizeof condition->message, "told to fail");
        snprintf(condition->cure, sizeof condition->cure, "drop the option open");
        return;
    }
    fault_device *fault = calloc(1, sizeof *fault);
    if (!fault) abort(); /* a test program */
    *fault = (fault_device){.alloc = number(config, "alloc"),
                            .copy = number(config, "copy"),
                            .run = number(config, "run"),
                            .sync = number(config, "sync"),
                            .prepare = number(config, "prepare"),
                            .fit = number(config, "fit"),
                            .lost = number(config, "lost"),
                            .lost_copy = number(config, "lost_copy"),
                            .lost_sync = number(config, "lost_sync"),
                            .library_missing = tort_provider_option_get(config, "library") != NULL};
    const char *scratch = tort_provider_option_get(config, "scratch");
    *target = (tort_target){.description = "fails on purpose",
                            .memory = (uint64_t)number(config, "memory"),
                            .facts[CLAIM] = (int32_t)code_named(tort_provider_option_get(config, "claim")),
                            .facts[SIZE] = scratch                  ? 1
                                           : number(config, "size") ? 2
                                                                    : 0};
    *device = fault;
}

static void fault_close(void *device) {
    fault_device *fault = device;
    if (fault->live) {
        fprintf(stderr, "fault provider: %lld allocations or fits leaked\n", (long long)fault->live);
        abort();
    }
    free(fault);
}

static bool due(int *countdown) {
    return *countdown > 0 && --*countdown == 0;
}

static void *fault_alloc(void *device, size_t bytes) {
    fault_device *fault = device;
    const uint64_t too_many = (uint64_t)1 << 40;
    if (due(&fault->alloc) || bytes > too_many) return NULL;
    void *ptr =
        aligned_alloc(TORT_DEVICE_ALIGN, (bytes + TORT_DEVICE_ALIGN - 1) / TORT_DEVICE_ALIGN * TORT_DEVICE_ALIGN);
    fault->live += ptr != NULL;
    return ptr;
}

static void fault_free(void *device, void *ptr, size_t bytes) {
    (void)bytes;
    ((fault_device *)device)->live--;
    free(ptr);
}

static tort_status fault_copy(void *device, void *stream, void *dst, const void *src, size_t bytes,
                              tort_direction direction, tort_error *error) {
    (void)stream, (void)direction;
    if (due(&((fault_device *)device)->lost_copy)) return tort_fail(error, TORT_E_DEVICE_LOST, "lost in a copy");
    if (due(&((fault_device *)device)->copy)) return tort_fail(error, TORT_E_RUN, "copy told to fail");
    memcpy(dst, src, bytes);
    return TORT_OK;
}

static tort_status fault_sync(void *device, void *stream, tort_error *error) {
    (void)stream;
    if (due(&((fault_device *)device)->lost_sync)) return tort_fail(error, TORT_E_DEVICE_LOST, "lost in a wait");
    if (due(&((fault_device *)device)->sync)) return tort_fail(error, TORT_E_RUN, "sync told to fail");
    return TORT_OK;
}

static bool fault_library(void *device, const char *name, char *message, size_t message_size, char *cure,
                          size_t cure_size) {
    (void)name;
    snprintf(message, message_size, "libfault.so.1 was not found");
    snprintf(cure, cure_size, "install libfault");
    return !((fault_device *)device)->library_missing;
}

static tort_verdict fault_claim(const tort_target *target, const tort_node_view *node) {
    (void)node;
    tort_verdict_code code = (tort_verdict_code)target->facts[CLAIM];
    return code == TORT_YES ? tort_yes() : tort_no(code, "drop the option claim", "told to refuse");
}

static tort_status fault_size(const tort_target *target, const tort_node_view *node, size_t *scratch,
                              tort_error *error) {
    (void)node;
    if (target->facts[SIZE] == 2) return tort_fail(error, TORT_E_RUN, "size told to fail");
    *scratch = target->facts[SIZE] == 1 ? SIZE_MAX : 0;
    return TORT_OK;
}

static tort_status fault_prepare(tort_prepare *prepare) {
    if (due(&((fault_device *)prepare->device)->prepare))
        return tort_fail(prepare->error, TORT_E_RUN, "prepare told to fail");
    prepare->prepared = malloc(16); /* so that a missing release is a leak */
    return prepare->prepared ? TORT_OK : tort_out_of_memory(prepare->error, 16);
}

static void fault_release(void *device, const tort_env *env, void *prepared) {
    (void)device, (void)env;
    free(prepared);
}

/* What it makes is the number of elements that it was asked for. */
static tort_status fault_fit(tort_fit *fit) {
    fault_device *fault = fit->device;
    int64_t *count = malloc(sizeof *count);
    if (due(&fault->fit) || !count) {
        free(count);
        return tort_fail(fit->error, TORT_E_RUN, "fit told to fail");
    }
    const tort_info *y = &fit->node->outputs[0];
    *count = 1;
    for (int32_t d = 0; d < y->rank; d++) *count *= y->dims[d];
    fit->fitted = count;
    fault->live++;
    return TORT_OK;
}

static void fault_unfit(void *device, const tort_env *env, void *fitted) {
    (void)env;
    ((fault_device *)device)->live--;
    free(fitted);
}

static tort_status fault_run(const tort_call *call) {
    fault_device *fault = call->device;
    const int64_t *fitted = call->fitted;
    if (!fitted || *fitted != tort_count(&call->outputs[0]))
        return tort_fail(call->error, TORT_E_INTERNAL, "fitted to another shape");
    if (due(&fault->run)) return tort_fail(call->error, TORT_E_RUN, "kernel told to fail");
    if (due(&fault->lost)) return tort_fail(call->error, TORT_E_DEVICE_LOST, "device told to get lost");
    const float *x = call->inputs[0].data;
    float *y = call->outputs[0].data;
    for (int64_t i = 0; i < tort_count(&call->outputs[0]); i++) y[i] = x[i] > 0 ? x[i] : 0;
    return TORT_OK;
}

static const tort_kernel kernels[] = {
    {.domain = "",
     .op = "Relu",
     .name = "fault_library_relu",
     .needs = "libfault",
     .claim = fault_claim,
     .size = fault_size,
     .prepare = fault_prepare,
     .run = fault_run,
     .release = fault_release,
     .fit = fault_fit,
     .unfit = fault_unfit},
    {.op = NULL},
};

static const tort_kernel *const tables[] = {kernels, NULL};
static const tort_option_help options[] = {
    {.key = "open"},      {.key = "claim"},     {.key = "library"}, {.key = "memory"},
    {.key = "alloc"},     {.key = "copy"},      {.key = "run"},     {.key = "sync"},
    {.key = "prepare"},   {.key = "fit"},       {.key = "size"},    {.key = "lost"},
    {.key = "lost_copy"}, {.key = "lost_sync"}, {.key = "scratch"}, {0}};
static const char *const libraries[] = {"libfault", NULL};
static const tort_provider fault = {.abi = TORT_PROVIDER_ABI,
                                    .name = "fault",
                                    .summary = "for tests",
                                    .kernels = tables,
                                    .options = options,
                                    .libraries = libraries,
                                    .open = fault_open,
                                    .close = fault_close,
                                    .library = fault_library,
                                    .memory.alloc = fault_alloc,
                                    .memory.free = fault_free,
                                    .memory.copy = fault_copy,
                                    .stream.sync = fault_sync};

const tort_provider *const fault_providers[] = {&fault, NULL};
