/* cpu_amx.c - the matrix unit of x86-64 where Linux does not let a process use it. */
#define _GNU_SOURCE /* sigaltstack */
#include "tests/unit/cpu_tables.h"

#include "runtime/include/provider.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* The kernel refuses while a thread has an alternate stack that is too small for a frame with tiles. */
Test(cpu_amx, a_refusal_leaves_vnni_or_says_why) {
    extern const tort_provider tort_provider_cpu;
    static char stack[2048];
    const stack_t small = {.ss_sp = stack, .ss_size = sizeof stack};
    const tort_env env = tort_env_complete(NULL);
    tort_provider_config config = {.provider = "cpu", .env = &env};
    tort_target target;
    tort_condition condition;
    void *device;
    FILE *info = fopen("/proc/cpuinfo", "r");
    char line[8192];
    bool has = false;
    while (info && fgets(line, sizeof line, info)) has = has || strstr(line, " amx_int8");
    if (info) fclose(info);
    if (!has || sigaltstack(&small, NULL) != 0) {
        fprintf(stderr, "skipped: tiles that Linux refuses: %s\n", has ? "no small stack" : "no AMX here");
        return;
    }
    tort_provider_cpu.open(&config, &device, &target, &condition);
    tort_provider_cpu.close(device);
    cr_expect(condition.ready && target.instructions & TORT_CPU_AVX512_VNNI);
    cr_expect_not(target.instructions & TORT_CPU_AMX);
    cr_expect_null(strstr(target.description, "AMX"), "%s", target.description);
    const tort_provider_option option = {"isa", "v4_amx"};
    config.options = &option;
    config.option_count = 1;
    tort_provider_cpu.open(&config, &device, &target, &condition);
    tort_provider_cpu.close(device);
    cr_expect_not(condition.ready);
    cr_expect_str_eq(condition.message, "option isa asks for AMX, the system does not let this process use it");
}
