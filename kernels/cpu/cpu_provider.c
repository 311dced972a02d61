/* cpu_provider.c - the provider `cpu`: host memory, and the best instruction set that the machine and the build
 * share. Its tables of kernels are in cpu_kernels.c.
 *
 * Options: threads=N, spin=MICROSECONDS, isa=auto|v2|v3|v3_vnni|v4|v4_vnni|v4_amx|neon|neon_dot|rvv|plain,
 * mem_limit=SIZE. It knows neither files nor models nor other providers. Read next: conv.c for a family with packed
 * weights, simd/gemm.c for the inner loops. */
#define _DEFAULT_SOURCE /* syscall */
#include "kernels/cpu/bf16.h"
#include "kernels/cpu/blocked.h"
#include "kernels/cpu/cgroup.h"
#include "kernels/cpu/widened.h"
#include "runtime/core/base/system.h"
#include "runtime/core/base/threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#else
#include <sys/auxv.h>
#endif

#define MAX_THREADS 1024
#define MAX_SPIN 1000000               /* microseconds */
#define MAX_VALUES ((uint64_t)8 << 30) /* upper bound for the bytes of values, unless mem_limit is given */

/* ---- instruction sets -------------------------------------------------------------------------------------------- */

typedef struct instruction_set {
    const char *option; /* value of isa= */
    const char *name;   /* for descriptions */
    uint32_t bits;      /* including those of its subsets */
} instruction_set;

#ifndef TORT_CPU_SETS /* the make variable SIMD sets these: names of the sets below, and the build's description */
#define TORT_CPU_SETS "plain"
#define TORT_CPU_BUILT_FOR "plain C"
#endif
#ifdef __arm__
#define ARM_NEON "ARMv7 NEON with VFPv4"
#else
#define ARM_NEON "aarch64 NEON"
#endif
#define V3_BITS (TORT_CPU_V2 | TORT_CPU_V3)
#define V4_BITS (V3_BITS | TORT_CPU_V4)

/* Instruction sets of this build, best last. `plain` has no inner loops, so every fast row refuses and plain loops
 * run: useful to tell whether a fast row is at fault. */
static const instruction_set instruction_sets[] = {
    {"plain", "plain C", 0},
#ifdef TORT_HAS_v2
    {"v2", "x86-64-v2", TORT_CPU_V2},
#endif
#ifdef TORT_HAS_v3
    {"v3", "x86-64-v3", V3_BITS},
#endif
#ifdef TORT_HAS_v3_tiles
    {"v3_tiles", "x86-64-v3 with a model of AMX", V3_BITS | TORT_CPU_TILE_MODEL},
#endif
#ifdef TORT_HAS_v3_vnni
    {"v3_vnni", "x86-64-v3 with VNNI", V3_BITS | TORT_CPU_AVX_VNNI},
#endif
#ifdef TORT_HAS_v4
    {"v4", "x86-64-v4", V4_BITS},
#endif
#ifdef TORT_HAS_v4_vnni
    {"v4_vnni", "x86-64-v4 with VNNI", V4_BITS | TORT_CPU_AVX512_VNNI},
#endif
#ifdef TORT_HAS_v4_amx
    {"v4_amx", "x86-64-v4 with AMX", V4_BITS | TORT_CPU_AVX512_VNNI | TORT_CPU_AMX},
#endif
#ifdef TORT_HAS_neon
    {"neon", ARM_NEON, TORT_CPU_NEON},
#endif
#ifdef TORT_HAS_neon_dot
    {"neon_dot", "aarch64 NEON with DOT", TORT_CPU_NEON | TORT_CPU_NEON_DOT},
#endif
#ifdef TORT_HAS_rvv
    {"rvv", "RISC-V with vectors", TORT_CPU_RVV},
#endif
    {NULL, NULL, 0},
};

/* Instruction sets that this build may use. `make test-isa` masks some, so that tests run here as on a lesser
 * processor. */
#ifndef TORT_CPU_SEEN
#define TORT_CPU_SEEN UINT32_MAX
#endif

#if defined(__x86_64__) && !defined(TORT_CPU_PLAIN)
/* True if the processor has the parts of x86-64-v3 for which __builtin_cpu_supports has no portable name: F16C,
 * MOVBE and LZCNT.
 *
 * Each CPUID takes some ten microseconds in a virtual machine: this function and the next ask only for leaves that
 * every processor with AVX2 has. */
static bool has_rest_of_v3(void) {
    unsigned a, b, c, d;
    const unsigned movbe_and_f16c = 1u << 22 | 1u << 29, lzcnt = 1u << 5;
    __cpuid(1, a, b, c, d);
    if ((c & movbe_and_f16c) != movbe_and_f16c) return false;
    __cpuid(0x80000001u, a, b, c, d);
    return (c & lzcnt) != 0;
}

/* Detects what multiplies bytes; `found` has the vector sets found before. AVX-VNNI is bit 4 of EAX of leaf 7.1, AMX
 * with products of bytes bits 24 and 25 of EDX of leaf 7, of bfloat16 bit 22: they have no portable names. Leaf 1D.1
 * has the tiles: eight, of 16 rows of 64 bytes. */
static uint32_t detect_byte_products(uint32_t found) {
    unsigned a, b, c, d;
    uint32_t bits = 0;
    __cpuid_count(7, 1, a, b, c, d);
    if (a >> 4 & 1) bits |= TORT_CPU_AVX_VNNI;
    if (!(found & TORT_CPU_V4) || !__builtin_cpu_supports("avx512vnni")) return bits;
    bits |= TORT_CPU_AVX512_VNNI;
    __cpuid_count(7, 0, a, b, c, d);
    if ((d >> 24 & 3) != 3) return bits;
    const uint32_t unit = TORT_CPU_AMX | (d >> 22 & 1 ? TORT_CPU_AMX_BF16 : 0);
    __cpuid_count(0x1d, 1, a, b, c, d);
    return b == (8u << 16 | 64) && (c & 0xffff) == 16 ? bits | unit : bits;
}

/* Asks Linux for the tiles' registers, for all threads of the process; asking again is harmless. From then on frames of
 * signals take 12 kB, and an alternate stack that is smaller is refused. */
static bool may_use_tiles(void) {
#ifdef SYS_arch_prctl
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
    return false;
#endif
}

static uint32_t detect_instructions(void) {
    uint32_t found = 0;
    if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt")) return found;
    found |= TORT_CPU_V2;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2") || !has_rest_of_v3())
        return found;
    found |= TORT_CPU_V3;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        found |= TORT_CPU_V4;
#ifdef TORT_HAS_v3_tiles
    found |= TORT_CPU_TILE_MODEL | TORT_CPU_AMX_BF16;
#endif
    return found | detect_byte_products(found);
}

/* Writes the processor's brand string without its padding blanks. */
static void processor_name(char *name, size_t size) {
    unsigned words[12];
    char brand[sizeof words + 1] = "";
    if ((unsigned)__get_cpuid_max(0x80000000u, NULL) < 0x80000004u) {
        snprintf(name, size, TORT_ARCHITECTURE);
        return;
    }
    for (unsigned i = 0; i < 3; i++)
        __cpuid(0x80000002u + i, words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]);
    memcpy(brand, words, sizeof words);
    const char *start = brand + strspn(brand, " ");
    size_t length = strlen(start);
    while (length > 0 && start[length - 1] == ' ') length--;
    snprintf(name, size, "%.*s", (int)length, start);
}
#else
#define may_use_tiles() false
static uint32_t detect_instructions(void) {
#if defined(__aarch64__) && !defined(TORT_CPU_PLAIN)
    return TORT_CPU_NEON | (getauxval(AT_HWCAP) & HWCAP_ASIMDDP ? TORT_CPU_NEON_DOT : 0);
#elif defined(__arm__) && !defined(TORT_CPU_PLAIN)
    return (~getauxval(AT_HWCAP) & (HWCAP_ARM_NEON | HWCAP_ARM_VFPv4)) == 0 ? TORT_CPU_NEON : 0;
#elif defined(__riscv) && !defined(TORT_CPU_PLAIN)
    return getauxval(AT_HWCAP) >> ('V' - 'A') & 1 ? TORT_CPU_RVV : 0;
#else
    return 0;
#endif
}

static void processor_name(char *name, size_t size) {
    snprintf(name, size, "%s", TORT_ARCHITECTURE);
}
#endif

static const instruction_set *find_set(const char *option) {
    for (const instruction_set *set = instruction_sets; set->option; set++)
        if (strcmp(set->option, option) == 0) return set;
    return NULL;
}

static const instruction_set *best_set(uint32_t instructions) {
    const instruction_set *best = instruction_sets;
    for (const instruction_set *set = instruction_sets; set->option; set++)
        if ((set->bits & ~instructions) == 0) best = set;
    return best;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* Plain builds read no control groups: they are small, and for machines without containers. */
#ifdef TORT_CPU_PLAIN
#define tort_cgroup_processors(root) INT32_MAX
#define tort_cgroup_memory(root) UINT64_MAX
#endif

static int32_t default_threads(void) {
    const int32_t quota = tort_cgroup_processors(""), seen = tort_processors();
    const int32_t processors = quota < seen ? quota : seen;
    return processors > MAX_THREADS ? MAX_THREADS : processors;
}

static bool read_number(const char *text, int32_t min, int32_t max, int32_t *number) {
    char *end;
    const long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < min || value > max) return false;
    *number = (int32_t)value;
    return true;
}

static bool read_threads(const tort_provider_config *config, int32_t *threads) {
    const char *text = tort_provider_option_get(config, "threads");
    if (text && strcmp(text, "auto") != 0) return read_number(text, 1, MAX_THREADS, threads);
    *threads = default_threads();
    return true;
}

/* True if the option spin is valid; the session's threads read its value. */
static bool check_spin(const tort_provider_config *config) {
    const char *text = tort_provider_option_get(config, "spin");
    int32_t microseconds;
    return !text || read_number(text, 0, MAX_SPIN, &microseconds);
}

/* True if the option subnormals is valid; the session reads it, for the threads of its runs. */
static bool check_subnormals(const tort_provider_config *config, tort_condition *condition) {
    const char *text = tort_provider_option_get(config, "subnormals");
    if (text && !strcmp(text, "off"))
        snprintf(condition->note, sizeof condition->note,
                 "runs take subnormal numbers, those nearer to 0 than 1.2e-38, as 0 (option subnormals=off)");
    return !text || !strcmp(text, "off") || !strcmp(text, "on");
}

/* Reads mem_limit, which bounds weights and values. Without it weights may take what the model has, while values are
 * bounded, so that a model of a few bytes cannot demand all of the machine's memory. */
static bool read_memory(const tort_provider_config *config, tort_target *target) {
    const char *text = tort_provider_option_get(config, "mem_limit");
    if (text && (!tort_read_size(text, &target->memory) || target->memory == 0)) return false;
    if (text && !config->from_file) return true;
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const uint64_t machine = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : MAX_VALUES;
    const uint64_t container = tort_cgroup_memory(""), there = container < machine ? container : machine;
    const uint64_t usual = there < MAX_VALUES ? there : MAX_VALUES;
    target->values_only = !text || target->memory > usual;
    if (target->values_only) target->memory = usual;
    return true;
}

/* Reads the option precision. bf16 takes a matrix unit: vectors multiply bfloat16 half as fast as float32, and sums in
 * float16 lose 1 % (measured on a Xeon with both), so that there is nothing else to take. described: the target is
 * another machine. False, with the reason in *why, if it cannot be had. */
static bool read_precision(const tort_provider_config *config, bool described, tort_target *target, const char **why,
                           const char **cure) {
    const char *text = tort_provider_option_get(config, "precision");
    const uint32_t units = TORT_CPU_AMX | TORT_CPU_TILE_MODEL;
    *why = "option precision is neither float32 nor bf16";
    *cure = "write precision=bf16, or leave it out";
    if (!text || strcmp(text, "float32") == 0) return true;
    if (strcmp(text, "bf16") != 0) return false;
    *why = "option precision=bf16 takes a processor with AMX of bfloat16, and a system that lets processes use it";
    *cure = "leave it out: products are then in float32";
    if (!(target->instructions & units)) return false;
    if (!described && !(detect_instructions() & TORT_CPU_SEEN & TORT_CPU_AMX_BF16)) return false;
    target->instructions |= TORT_CPU_BF16;
    return true;
}

static void describe_target(tort_target *target, const char *processor) {
    snprintf(target->description, sizeof target->description, "%s, %s", processor,
             best_set(target->instructions)->name);
}

static void refuse(tort_condition *condition, const char *message, const char *cure) {
    snprintf(condition->code, sizeof condition->code, "BAD_OPTION");
    snprintf(condition->message, sizeof condition->message, "%s", message);
    snprintf(condition->cure, sizeof condition->cure, "%s", cure);
}

/* Sets the instructions of this machine and build, or those of the option isa. */
static bool choose_instructions(const char *isa, tort_target *target, tort_condition *condition) {
    const uint32_t found = detect_instructions() & TORT_CPU_SEEN;
    const bool named = isa && strcmp(isa, "auto") != 0;
    const instruction_set *set = named ? find_set(isa) : best_set(found);
    if (!set) {
        refuse(condition, "option isa is not the name of an instruction set of this architecture",
               "write isa=auto, or isa= with one of " TORT_CPU_SETS);
        return false;
    }
    if (set->bits & ~found) {
        char message[128];
        snprintf(message, sizeof message, "option isa asks for %s, this processor has %s", set->name,
                 best_set(found)->name);
        refuse(condition, message, "leave isa out: the best set the processor has is then chosen");
        return false;
    }
    target->instructions = named ? set->bits : found & ~(uint32_t)TORT_CPU_TILE_MODEL;
    if (!(target->instructions & TORT_CPU_AMX) || may_use_tiles()) return true;
    target->instructions &= ~(uint32_t)TORT_CPU_AMX;
    if (!named) return true;
    refuse(condition, "option isa asks for AMX, the system does not let this process use it",
           "it takes Linux 5.16, and no thread with an alternate signal stack below 12 kB; or leave isa out");
    return false;
}

static void cpu_open(const tort_provider_config *config, void **device, tort_target *target,
                     tort_condition *condition) {
    *device = NULL;
    memset(target, 0, sizeof *target);
    memset(condition, 0, sizeof *condition);
    if (!read_threads(config, &target->threads)) {
        refuse(condition, "option threads is not a number from 1 to 1024", "write threads=4, or leave it out");
        return;
    }
    if (!check_spin(config)) {
        refuse(condition, "option spin is not a number of microseconds from 0 to 1000000",
               "write spin=1000, or leave it out");
        return;
    }
    if (!check_subnormals(config, condition)) {
        refuse(condition, "option subnormals is neither on nor off", "write subnormals=off, or leave it out");
        return;
    }
    if (!read_memory(config, target)) {
        refuse(condition, "option mem_limit is not a size", "write bytes, or a number with k, M, G or T: mem_limit=2G");
        return;
    }
    if (!choose_instructions(tort_provider_option_get(config, "isa"), target, condition)) return;
    const char *why, *cure;
    if (!read_precision(config, false, target, &why, &cure)) {
        refuse(condition, why, cure);
        return;
    }
    if (target->instructions & TORT_CPU_BF16)
        snprintf(condition->note, sizeof condition->note,
                 "products with constant weights round to bfloat16, sums are float32 (option precision=bf16)");
    const tort_env env = tort_env_complete(config->env);
    tort_cpu_device *made = tort_alloc(&env, sizeof *made);
    if (!made) {
        snprintf(condition->code, sizeof condition->code, "NO_MEMORY");
        snprintf(condition->message, sizeof condition->message, "%zu bytes could not be allocated", sizeof *made);
        return;
    }
    *made = (tort_cpu_device){.env = env,
                              .simd = tort_simd_choose(target->instructions),
                              .bytes = tort_bytes_choose(target->instructions),
                              .bf16 = tort_bf16_choose(target->instructions),
                              .threads = target->threads};
    *device = made;
    char processor[64];
    processor_name(processor, sizeof processor);
    describe_target(target, processor);
#ifdef __arm__
    if (made->simd && !*condition->note)
        snprintf(condition->note, sizeof condition->note,
                 "NEON of 32 bits takes subnormal numbers, those nearer to 0 than 1.2e-38, as 0 (isa=plain does not)");
#endif
    condition->ready = true;
    snprintf(condition->code, sizeof condition->code, "READY");
}

/* Describes a target: an instruction set's name stands for any processor with that set. */
static tort_status cpu_describe(const tort_provider_config *config, const char *text, tort_target *target,
                                tort_error *error) {
    const instruction_set *set = find_set(text);
    memset(target, 0, sizeof *target);
    if (!set)
        return tort_fail(
            error, TORT_E_USAGE,
            "target cpu:%s is not known; this build plans for instruction sets of its own architecture: " TORT_CPU_SETS,
            text);
    if (!read_threads(config, &target->threads))
        return tort_fail(error, TORT_E_USAGE, "option threads of cpu is not a number from 1 to %d", MAX_THREADS);
    if (!read_memory(config, target))
        return tort_fail(error, TORT_E_USAGE, "option mem_limit of cpu is not a size, as in mem_limit=2G");
    const char *why, *cure;
    target->instructions = set->bits;
    if (!read_precision(config, true, target, &why, &cure)) return tort_fail(error, TORT_E_USAGE, "%s: %s", why, cure);
    describe_target(target, "any processor");
    return TORT_OK;
}

static void cpu_close(void *device) {
    tort_cpu_device *made = device;
    if (!made) return;
    const tort_env env = made->env;
    tort_free(&env, made, sizeof *made);
}

/* ---- the provider ------------------------------------------------------------------------------------------------ */

static const tort_option_help options[] = {
    {"threads", "4", "threads (default: one per processor)"},
    {"spin", "1000", "microseconds that idle threads spin for work (default 200)"},
    {"isa", "v3", "best of v2 v3 v3_vnni v4 v4_vnni v4_amx neon neon_dot rvv plain"},
    {"subnormals", "off", "off: numbers nearer to 0 than 1.2e-38 are 0 in runs (default: on)"},
    {"precision", "bf16", "float32, or bf16 for products with constant weights on AMX"},
    {"mem_limit", "2G", "limit of weights and values in bytes (default: values 8G)"},
    {0},
};

const tort_provider tort_provider_cpu = {
    .abi = TORT_PROVIDER_ABI,
    .name = "cpu",
    .summary = "the host's processor: plain loops for every operator, fast kernels for the dear ones",
    .built_for = TORT_CPU_BUILT_FOR,
    .host_memory = true,
    .kernels = tort_cpu_kernels,
    .options = options,
    .describe = cpu_describe,
    .open = cpu_open,
    .close = cpu_close,
#ifndef TORT_CPU_PLAIN
    .layouts = tort_cpu_layouts,
    .peak = tort_cpu_peak,
    .widening = &tort_cpu_widening,
    .prepares_in_parallel = true,
#endif
};
