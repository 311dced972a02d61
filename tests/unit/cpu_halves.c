/* cpu_halves.c - float16 and bfloat16: conversions of every instruction set against those of ops/, and whole nodes in
 * sessions, whose reports say that they ran widened. The rows themselves: cpu_kernels.c. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"
#include "runtime/include/provider.h"
#include "tests/unit/cpu_kernel_cases.h"
#include "tests/unit/cpu_tables.h"
#include "tests/unit/opened.h"
#include "tests/unit/saved_models.h"

/* ---- conversions ------------------------------------------------------------------------------------------------- */

static bool same_float(float a, float b) {
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

Test(cpu_halves, every_half_becomes_its_float) {
    static uint16_t halves[65536 + 3];
    static float wanted[65536 + 3], found[65536 + 3];
    for (int32_t i = 0; i < 65536 + 3; i++) halves[i] = (uint16_t)i;
    for (int s = 0; s < CPU_TABLES; s++) {
        const tort_simd *simd = cpu_table(s);
        for (int32_t wide = 0; simd && wide < 2; wide++) {
            const tort_type type = wide ? TORT_BFLOAT16 : TORT_FLOAT16;
            tort_load_floats(type, halves, 0, 65539, wanted);
            (wide ? simd->from_bfloat16 : simd->from_float16)(halves, found, 65539);
            for (int32_t i = 0; i < 65539; i++)
                cr_expect(same_float(wanted[i], found[i]), "%s: %s 0x%04x is %g, expected %g", simd->name,
                          tort_type_name(type), halves[i], (double)found[i], (double)wanted[i]);
        }
    }
}

/* Of a half, the number in the middle to the next one, and what is just below and above both. */
static int32_t add_neighbours(uint32_t bits, uint32_t middle, float *floats) {
    const uint32_t around[] = {bits - 1, bits, bits + 1, bits + middle - 1, bits + middle, bits + middle + 1};
    memcpy(floats, around, sizeof around);
    return 6;
}

static void check_rounding(const tort_simd *simd, tort_type type, const float *floats, int32_t count) {
    static uint16_t wanted[65536 * 6], found[65536 * 6 + 1];
    found[count] = 0x5a5a;
    tort_store_floats(type, wanted, 0, count, floats);
    (type == TORT_FLOAT16 ? simd->to_float16 : simd->to_bfloat16)(floats, found, count);
    cr_expect_eq(found[count], 0x5a5a, "%s wrote behind its output", simd->name);
    for (int32_t i = 0; i < count; i++) {
        float want, got;
        tort_load_floats(type, wanted, i, 1, &want);
        tort_load_floats(type, found, i, 1, &got);
        if (!same_float(want, got))
            cr_assert(false, "%s: %a as %s is %a, expected %a", simd->name, (double)floats[i], tort_type_name(type),
                      (double)got, (double)want);
    }
}

Test(cpu_halves, floats_round_to_the_nearest_half) {
    static float floats[65536 * 6];
    for (int s = 0; s < CPU_TABLES; s++) {
        const tort_simd *simd = cpu_table(s);
        for (int32_t wide = 0; simd && wide < 2; wide++) {
            const tort_type type = wide ? TORT_BFLOAT16 : TORT_FLOAT16;
            int32_t count = 0;
            for (uint32_t code = 0; code < 65536; code++) {
                const uint16_t half = (uint16_t)code;
                float value;
                uint32_t bits;
                tort_load_floats(type, &half, 0, 1, &value);
                memcpy(&bits, &value, sizeof bits);
                count += add_neighbours(bits, wide ? 0x8000u : 0x1000u, floats + count);
            }
            check_rounding(simd, type, floats, count);
            for (int32_t rest = 0; rest < 40; rest++) check_rounding(simd, type, floats + 6000, rest);
        }
    }
}

/* ---- whole nodes ------------------------------------------------------------------------------------------------- */

/* The output of a network in float16 for `batch` pictures, of which one is larger than float16 holds. */
static void run_net(const char *chain, int64_t batch, bool plain, float *y) {
    static uint16_t halves[4 * 3 * 8 * 8];
    onnx_bytes b = {0};
    opened o;
    tort_tensor x = {.type = TORT_FLOAT16, .rank = 4, .dims = {batch, 3, 8, 8}, .data = halves}, output;
    for (int32_t i = 0; i < 4 * 3 * 8 * 8; i++) {
        const float value = (float)(i % 29) * 0.125f - 1.5f, large = i / 192 == 1 ? 30000 : 1;
        tort_store_floats(TORT_FLOAT16, halves, i, 1, &(float){value * large});
    }
    saved_half_net(&b);
    const tort_env *env = opened_begin(&o);
    cr_assert_eq(tort_model_load_buffer(env, b.data, b.size, NULL, &o.model, &o.error), TORT_OK, "%s", o.error.msg);
    opened_session(&o, chain, NULL, (tort_session_options){0});
    for (int32_t i = 0; i < o.report->node_count; i++) {
        const tort_report_node *node = o.report->nodes[i];
        const bool widened = strstr(node->kernel, "_widened") != NULL;
        const bool moves = !strcmp(node->op, "Flatten") || !strcmp(node->kernel, "fused");
        cr_expect(widened == !(moves || plain), "%s on %s: %s", node->op, chain, node->kernel);
    }
    cr_assert_eq(opened_run(&o, &x, 1, &output, 1), TORT_OK, "%s", o.error.msg);
    cr_assert_eq(output.type, TORT_FLOAT16);
    tort_load_floats(TORT_FLOAT16, output.data, 0, batch * 5, y);
    opened_close(&o);
    onnx_free(&b);
}

Test(cpu_halves, a_network_is_widened_and_says_so) {
    static const char *const chains[CPU_TABLES] = {"cpu:isa=v2", "cpu:isa=v3:threads=2", "cpu:isa=v4:threads=3",
                                                   "cpu:isa=neon", "cpu:isa=rvv"};
    float wanted[4 * 5], found[4 * 5];
    for (int c = 0; c < CPU_TABLES; c++)
        for (int64_t batch = 1; batch <= 4 && cpu_table(c); batch += 3) {
            run_net("cpu:isa=plain", batch, true, wanted);
            run_net(chains[c], batch, false, found);
            for (int64_t i = 0; i < batch * 5; i++)
                cr_expect(same_float(wanted[i], found[i]) || fabsf(wanted[i] - found[i]) <= 0.01f * fabsf(wanted[i]),
                          "%s, batch %d: element %d is %g, expected %g", chains[c], (int)batch, (int)i,
                          (double)found[i], (double)wanted[i]);
        }
}
