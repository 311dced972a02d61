/* provider.c - the host code of the CUDA provider on the simulated device: why it does not open, in its own words, and
 * the program that runs the other files' tests too.
 *
 *   provider PROBING.expected           (or --write PROBING.expected, after a change on purpose)
 *
 * A program of its own, as its settings are those of the whole machine (kernels/cudasim/control.h). The provider is
 * reached as an application reaches it: a chain, a session, its report. Read next: provider_images.c,
 * provider_faults.c, provider_devices.c, provider_current.c, provider_bindings.c, provider_spaces.c,
 * provider_growing.c, provider_calls.c, provider_graphs.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cudasim/cudart.h"
#include "tests/cuda/provider_tester.h"
#include "tests/cuda/provider_threads.h"
#include "tests/cuda/simulator.h"
#include "tests/report_of.h"

/* ---- why it did not open ---- */

typedef struct situation {
    const char *name, *chain;
    const char *machine; /* of kernels/cudasim/machines.cpp; NULL: the whole one */
    const char *failing; /* the first call of this function fails ... */
    int code;            /* ... with this cudaError_t */
} situation;

static const situation situations[] = {
    {"ready", "cudasim,cpu", NULL, NULL, 0},
    {"second device", "cudasim:device=1,cpu", NULL, NULL, 0},
    {"no driver", "cudasim,cpu", "no_driver", NULL, 0},
    {"driver whose file is broken", "cudasim,cpu", "broken_driver_file", NULL, 0},
    {"file that is not the driver's", "cudasim,cpu", "foreign_driver_file", NULL, 0},
    {"driver without a version", "cudasim,cpu", "mute_driver", NULL, 0},
    {"driver that is too old", "cudasim,cpu", "old_driver", NULL, 0},
    {"driver that is too old and tells no number", "cudasim,cpu", "old_unnumbered_driver", NULL, 0},
    {"the oldest driver that serves", "cudasim,cpu", "oldest_driver", NULL, 0},
    {"no device", "cudasim,cpu", "no_device", NULL, 0},
    {"hidden device", "cudasim,cpu", "hidden_device", NULL, 0},
    {"device that the user may not open", "cudasim,cpu", "forbidden_device", NULL, 0},
    {"process that was forked after CUDA", "cudasim,cpu", NULL, "cudaGetDeviceCount", cudaErrorInitializationError},
    {"broken driver", "cudasim,cpu", "broken_driver", NULL, 0},
    {"NVSwitches not started", "cudasim,cpu", "no_fabric", NULL, 0},
    {"driver for forward compatibility", "cudasim,cpu", "compatibility_driver", NULL, 0},
    {"stub driver", "cudasim,cpu", "stub_driver", NULL, 0},
    {"device out of range", "cudasim:device=2,cpu", NULL, NULL, 0},
    {"full device", "cudasim,cpu", NULL, "cuDevicePrimaryCtxRetain", cudaErrorMemoryAllocation},
    {"nearly full device", "cudasim,cpu", NULL, "cudaMemGetInfo", cudaErrorMemoryAllocation},
    {"device that another process holds", "cudasim,cpu", NULL, "cuDevicePrimaryCtxRetain", cudaErrorDevicesUnavailable},
    {"device whose memory fails", "cudasim,cpu", NULL, "cudaMemGetInfo", cudaErrorECCUncorrectable},
    {"device that was stopped by its display", "cudasim,cpu", NULL, "cudaMemGetInfo", cudaErrorLaunchTimeout},
    {"device that the program has lost", "cudasim,cpu", NULL, "cudaMemGetInfo", cudaErrorIllegalAddress},
    {"driver without a function", "cudasim,cpu", "no_contexts", NULL, 0},
    {"limit above what is free", "cudasim:mem_limit=2G,cpu", NULL, NULL, 0},
    {"memory that is the host's and full of files", "cudasim:mem_limit=512M,cpu", "shared_memory", NULL, 0},
    {"no kernel image", "cudasim,cpu", "no_image", NULL, 0},
    {"a device before all images", "cudasim,cpu", "older_device", NULL, 0},
    {"PTX that the driver refuses", "cudasim,cpu", "newer_device", "cudaFuncGetAttributes",
     cudaErrorUnsupportedPtxVersion},
    {"code does not load", "cudasim,cpu", NULL, "cudaFuncGetAttributes", cudaErrorUnknown},
    {"machine code of the same major version", "cudasim,cpu", "minor_version", NULL, 0},
    {"only PTX", "cudasim,cpu", "newer_device", NULL, 0},
    {"device is not a number", "cudasim:device=first,cpu", NULL, NULL, 0},
    {"device below zero", "cudasim:device=-1,cpu", NULL, NULL, 0},
    {"limit is not a size", "cudasim:mem_limit=2X,cpu", NULL, NULL, 0},
    {"tf32 is not a switch", "cudasim:tf32=maybe,cpu", NULL, NULL, 0},
    {"libraries is not a switch", "cudasim:libraries=yes,cpu", NULL, NULL, 0},
    {"graph is not a switch", "cudasim:graph=yes,cpu", NULL, NULL, 0},
    {"overlap is not a switch", "cudasim:overlap=yes,cpu", NULL, NULL, 0},
    {"tune is not a switch", "cudasim:tune=maybe,cpu", NULL, NULL, 0},
    {"unknown option", "cudasim:speed=fast,cpu", NULL, NULL, 0},
    {"no libraries", "cudasim,cpu", "no_libraries", NULL, 0},
    {"cuBLAS 12", "cudasim,cpu", "older_libraries", NULL, 0},
    {"cuBLAS 11, cuDNN 8", "cudasim,cpu", "old_libraries", NULL, 0},
    {"broken cuBLAS", "cudasim,cpu", "broken_cublas", NULL, 0},
    {"broken cuBLAS 13 beside cuBLAS 12", "cudasim,cpu", "broken_and_older_cublas", NULL, 0},
    {"broken cuDNN 9 beside cuDNN 8", "cudasim,cpu", "broken_cudnn", NULL, 0},
    {"cuBLAS without a symbol", "cudasim,cpu", "no_gemm", NULL, 0},
    {"cuDNN 8 that tells no version", "cudasim,cpu", "silent_libraries", NULL, 0},
    {"cuDNN without a symbol", "cudasim,cpu", "no_convolution", NULL, 0},
    {"cuDNN that does not start", "cudasim,cpu", NULL, "cudnnCreate", cudaErrorUnknown},
    {"libraries=off", "cudasim:libraries=off,cpu", NULL, NULL, 0},
    {"TF32", "cudasim:tf32=on,cpu", NULL, NULL, 0},
    {"launches that overlap, before sm_90", "cudasim:overlap=on,cpu", NULL, NULL, 0},
    {"launches that overlap", "cudasim:overlap=on,cpu", "minor_version", NULL, 0},
    {"TF32 without libraries", "cudasim:tf32=on:libraries=off,cpu", NULL, NULL, 0},
};

/* The provider's line of the report, where the MatMul and a Conv run and why not better; what depends on the window of
 * the Conv alone is left out. */
static void tell_report(const tort_report *report, FILE *out) {
    const tort_report_provider *p = report->providers[0];
    fprintf(out, "  %s%s%s\n", p->code, *p->description ? ": " : "", p->description);
    if (*p->message) fprintf(out, "  message: %s\n", p->message);
    if (*p->cure) fprintf(out, "  cure: %s\n", p->cure);
    for (int32_t i = 0; i < report->node_count; i++) {
        const tort_report_node *node = report->nodes[i];
        if (strcmp(node->name, "matmul") && strcmp(node->name, "conv")) continue;
        fprintf(out, "  %s: %s %s\n", node->op, node->provider, node->kernel);
        for (int32_t v = 0; v < node->verdict_count; v++) {
            if (node->verdicts[v]->code == TORT_NO_SHAPE) continue;
            fprintf(out, "  not %s: %s: %s; %s\n",
                    *node->verdicts[v]->kernel ? node->verdicts[v]->kernel : node->verdicts[v]->provider,
                    tort_verdict_name(node->verdicts[v]->code), node->verdicts[v]->message, node->verdicts[v]->cure);
        }
    }
}

static void tell(tester *t, const situation *s, FILE *out) {
    cudasim_settings settings = t->control->defaults();
    tort_session *session = NULL;
    tort_error error;
    if (s->machine && !t->control->machine(s->machine, &settings)) tester_check(t, false, s->machine, "is no machine");
    tester_configure(t, &settings);
    if (s->failing) t->control->fail_nth(s->failing, 1, s->code);
    fprintf(out, "%s (%s)\n", s->name, s->chain);
    if (tester_open(t, &t->model, s->chain, &session, &error))
        fprintf(out, "  %s: %s\n", tort_status_name(error.code), error.msg);
    else {
        tort_report *report = report_of(session);
        tell_report(report, out);
        tort_report_free(report);
    }
    tort_session_free(session);
}

static void write_probing(tester *t, const char *path) {
    FILE *file = fopen(path, "w");
    for (size_t i = 0; file && i < sizeof situations / sizeof *situations; i++) tell(t, &situations[i], file);
    if (!file || fclose(file)) tester_check(t, false, path, "cannot be written");
}

/* Holds each situation against its lines in the file: its name, then lines that begin with two spaces. */
static void check_probing(tester *t, const char *path) {
    FILE *file = fopen(path, "r");
    char line[600] = "";
    bool more = file && fgets(line, sizeof line, file);
    for (size_t i = 0; i < sizeof situations / sizeof *situations; i++) {
        char *found = NULL, *wanted = NULL;
        size_t found_size, wanted_size;
        FILE *out = open_memstream(&found, &found_size), *want = open_memstream(&wanted, &wanted_size);
        if (!out || !want) exit(2);
        tell(t, &situations[i], out);
        do {
            if (more) fputs(line, want);
            more = more && fgets(line, sizeof line, file);
        } while (more && line[0] == ' ');
        fclose(out);
        fclose(want);
        bool same = !strcmp(found, wanted);
        tester_check(t, same, "another answer than in the file of expected ones; found", found);
        tester_check_leftovers(t, situations[i].name);
        free(found);
        free(wanted);
    }
    tester_check(t, file && !more, "the expected answers", file ? "there are more of them than situations" : path);
    if (file) fclose(file);
}

/* ---- the program ---- */

int main(int argc, char **argv) {
    static tester t;
    static tort_counting_env memory;
    tort_counting_env_init(&memory);
    t.memory = &memory;
    const bool writes = argc == 3 && !strcmp(argv[1], "--write");
    if (argc < 2 || !simulator_open(&t.provider, &t.control) || !provider_model_make(&t.model) ||
        !tester_run_on_cpu(&t)) {
        printf("usage: provider [--write] PROBING.expected, with libtinyort-cudasim.so where the loader looks\n");
        return 2;
    }
    if (writes) {
        write_probing(&t, argv[2]);
        return t.failed != 0;
    }
    check_probing(&t, argv[1]);
    provider_test_images(&t);
    provider_test_attend(&t);
    provider_test_faults(&t);
    provider_test_devices(&t);
    provider_test_current(&t);
    provider_test_bindings(&t);
    provider_test_spaces(&t);
    provider_test_growing(&t);
    provider_test_calls(&t);
    provider_test_graphs(&t);
    provider_threads_check(t.provider, t.control, &t.model, t.expected, &t.passed, &t.failed);
    provider_model_free(&t.model);
    tester_check_leftovers(&t, "at the end");
    printf("cuda-provider: %d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0 || t.passed == 0;
}
