/* cpu_tables.c - see cpu_tables.h. */
#include "tests/unit/cpu_tables.h"

#include "runtime/include/provider.h"

uint32_t cpu_instructions(void) {
    extern const tort_provider tort_provider_cpu;
    const tort_env env = tort_env_complete(NULL);
    const tort_provider_config config = {.provider = "cpu", .env = &env};
    tort_target target;
    tort_condition condition;
    void *device;
    tort_provider_cpu.open(&config, &device, &target, &condition);
    tort_provider_cpu.close(device);
    return target.instructions;
}

const tort_simd *cpu_table(int i) {
    static const uint32_t sets[CPU_TABLES] = {TORT_CPU_V2, TORT_CPU_V3, TORT_CPU_V4, TORT_CPU_NEON, TORT_CPU_RVV};
    return cpu_instructions() & sets[i] ? tort_simd_choose(sets[i]) : NULL;
}
