/* cuda_options.c - options of the provider cuda that must not be taken from everyone: the folder of NVIDIA's libraries,
 * whose code runs. */
#include <criterion/criterion.h>
#include <string.h>

#include "kernels/cuda/cuda_provider.h"

static bool parse(const char *libraries, bool from_file, cuda_options *options, char *message, size_t size) {
    const tort_provider_option list[] = {{"libraries", libraries}};
    const tort_provider_config config = {
        .provider = "cuda", .options = list, .option_count = 1, .from_file = from_file};
    return tort_cuda_options_parse(&config, options, message, size);
}

Test(cuda_options, a_saved_plan_names_no_folder_of_code) {
    cuda_options options;
    char message[160];
    cr_assert(parse("/opt/nvidia", false, &options, message, sizeof message));
    cr_expect_str_eq(options.library_folder, "/opt/nvidia");
    cr_expect(options.libraries);
    cr_assert(parse("/opt/nvidia", true, &options, message, sizeof message));
    cr_expect_null(options.library_folder);
    cr_expect(options.libraries);
    cr_assert(parse("off", true, &options, message, sizeof message));
    cr_expect_not(options.libraries);
}

Test(cuda_options, a_folder_has_a_limit) {
    cuda_options options;
    char message[160], folder[CUDA_FOLDER_BYTES + 1];
    memset(folder, 'x', sizeof folder);
    folder[0] = '/';
    folder[CUDA_FOLDER_BYTES] = 0;
    cr_expect_not(parse(folder, false, &options, message, sizeof message));
    cr_expect(strstr(message, "is longer than 255 bytes"));
    folder[CUDA_FOLDER_BYTES - 1] = 0;
    cr_expect(parse(folder, false, &options, message, sizeof message));
    cr_expect_not(parse("relative/folder", false, &options, message, sizeof message));
}

Test(cuda_options, tune_is_a_switch) {
    static const struct {
        const char *value;
        bool good, on;
    } cases[] = {{NULL, true, false}, {"on", true, true}, {"off", true, false}, {"maybe", false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tort_provider_option list[] = {{"tune", cases[i].value}};
        const tort_provider_config config = {
            .provider = "cuda", .options = list, .option_count = cases[i].value ? 1 : 0};
        cuda_options options;
        char message[160] = "";
        cr_expect_eq(tort_cuda_options_parse(&config, &options, message, sizeof message), cases[i].good);
        cr_expect(!cases[i].good || options.tune == cases[i].on, "tune=%s", cases[i].value);
        cr_expect(cases[i].good || !strcmp(message, "tune=maybe is neither on nor off"), "%s", message);
    }
}
