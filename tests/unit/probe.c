/* Tests of runtime/core/providers/probe.c: providers without a model. tests/install/examples/what_opens.c asks from
 * outside of the tree. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/include/provider.h"
#include "tests/counting_env.h"
#include "tests/fake_provider.h"

static int32_t index_of(const char *name) {
    for (int32_t i = 0; i < tort_provider_count(); i++) {
        tort_provider_info info = {.struct_size = sizeof info};
        cr_assert_eq(tort_provider_at(i, &info, NULL), TORT_OK);
        if (!strcmp(info.name, name)) return i;
    }
    return -1;
}

Test(probe, providers_of_the_library_are_told_without_opening_one) {
    tort_provider_info info = {.struct_size = sizeof info};
    tort_error error;
    cr_assert_geq(index_of("cpu"), 0);
    cr_assert_geq(index_of("cuda"), 0);
    cr_assert_eq(tort_provider_at(index_of("cpu"), &info, &error), TORT_OK);
    cr_expect(info.present && info.built_for && *info.summary);
    cr_expect_str_eq(info.options[0].key, "threads");
    cr_expect_eq(tort_provider_at(tort_provider_count(), &info, &error), TORT_E_USAGE);
    cr_expect_eq(tort_provider_at(-1, &info, &error), TORT_E_USAGE);
    cr_expect(strstr(error.msg, "there is no provider -1"), "%s", error.msg);
    info.struct_size = 0;
    cr_expect_eq(tort_provider_at(0, &info, &error), TORT_E_USAGE);
}

static tort_status probe(const tort_env *env, const char *chain, const char *require, tort_probe **out,
                         tort_error *error) {
    const tort_probe_options options = {.struct_size = sizeof options,
                                        .chain = chain,
                                        .require = require,
                                        .disabled = "cuda",
                                        .providers = fake_providers,
                                        .libraries = true};
    return tort_probe_providers(env, &options, out, error);
}

Test(probe, what_opens_is_described_and_what_does_not_says_why) {
    tort_probe *told;
    tort_error error;
    cr_assert_eq(probe(NULL, "cuda,fake,cpu:threads=3", NULL, &told, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(told->provider_count, 3);
    const tort_probe_provider *cuda = told->providers[0], *fake = told->providers[1], *cpu = told->providers[2];
    cr_expect(!cuda->ready && !strcmp(cuda->code, "DISABLED") && *cuda->message && *cuda->cure);
    cr_expect_str_eq(cuda->description, "");
    cr_expect(fake->ready && !strcmp(fake->code, "READY"));
    cr_expect_str_eq(fake->description, "a device that exists in tests only");
    cr_expect_null(fake->options[0].key);
    cr_expect(cpu->ready && !strcmp(cpu->name, "cpu") && *cpu->description);
    tort_probe_free(told);
}

Test(probe, without_a_chain_it_is_all_of_them) {
    tort_probe *told;
    tort_error error;
    cr_assert_eq(probe(NULL, NULL, NULL, &told, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(told->provider_count, 1 + tort_provider_count());
    cr_expect_str_eq(told->providers[0]->name, "fake");
    tort_probe_free(told);
    cr_assert_eq(tort_probe_providers(NULL, NULL, &told, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(told->provider_count, tort_provider_count());
    tort_probe_free(told);
}

Test(probe, one_that_is_required_and_down_is_an_error_beside_the_probe) {
    tort_probe *told;
    tort_error error;
    cr_expect_eq(probe(NULL, "cuda,cpu", "cuda", &told, &error), TORT_E_PLACEMENT);
    cr_expect(strstr(error.msg, "required provider: cuda did not open: DISABLED"), "%s", error.msg);
    cr_assert_not_null(told);
    cr_expect(told->providers[1]->ready);
    tort_probe_free(told);
    cr_expect_eq(probe(NULL, "cpuu", NULL, &told, &error), TORT_E_USAGE);
    cr_expect_null(told);
    cr_expect_eq(probe(NULL, "cpu:thread=1", NULL, &told, &error), TORT_E_USAGE);
    cr_expect(strstr(error.msg, "has no option \"thread\""), "%s", error.msg);
}

Test(probe, the_nth_allocation_fails) {
    tort_counting_env counting;
    tort_error error;
    tort_probe *told;
    tort_counting_env_init(&counting);
    cr_assert_eq(probe(&counting.env, NULL, NULL, &told, &error), TORT_OK, "%s", error.msg);
    tort_probe_free(told);
    const int64_t allocations = counting.allocations;
    cr_assert_gt(allocations, 1);
    for (int64_t n = 1; n <= allocations; n++) {
        tort_counting_env_init(&counting);
        counting.fail_at = n;
        cr_expect_eq(probe(&counting.env, NULL, NULL, &told, &error), TORT_E_MEMORY, "%lld", (long long)n);
        tort_probe_free(told);
        cr_expect_eq(counting.live_blocks, 0);
        cr_expect_eq(counting.wrong_sizes, 0);
    }
}

Test(probe, the_library_says_which_interface_it_has) {
    cr_expect_str_eq(tort_version(), TORT_VERSION);
    cr_expect_eq(tort_interface(), TORT_INTERFACE);
}
