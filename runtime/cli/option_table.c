/* option_table.c - the table of options, from which the help of every subcommand is printed.
 *
 * A new option is a row here, a number in option_table.h and a case in options.c. */
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/option_table.h"
#include "runtime/provider.h"

#define PLANNING (CLI_CMD_RUN | CLI_CMD_PLAN | CLI_CMD_COMPARE | CLI_CMD_BENCH)
#define PLACING (PLANNING | CLI_CMD_TEST)
#define RUNNING (CLI_CMD_RUN | CLI_CMD_COMPARE | CLI_CMD_BENCH)
#define LOADING (PLACING | CLI_CMD_INSPECT)
#define TABLES (CLI_CMD_RUN | CLI_CMD_PLAN | CLI_CMD_INSPECT | CLI_CMD_OPS | CLI_CMD_PROVIDERS)
#define EVERY 0xffffffffu

const cli_option_row cli_option_table[OPTION_COUNT] = {
    [OPTION_EP] = {"ep", "CHAIN", PLACING | CLI_CMD_PROVIDERS | CLI_CMD_OPS,
                   "providers in order, and options: cuda:device=1,cpu:threads=2 (default cpu)"},
    [OPTION_TARGET] = {"target", "DEVICE", CLI_CMD_PLAN, "plan for a device that is not here: cuda:sm_87"},
    [OPTION_REQUIRE] = {"require", "EP,...", PLACING | CLI_CMD_PROVIDERS, "providers that must open"},
    [OPTION_STRICT] = {"strict", NULL, PLACING, "every node must be on the first provider"},
    [OPTION_ALLOW] = {"allow", "OP,...", PLACING, "operators that --strict lets pass"},
    [OPTION_PIN] = {"pin", "NODE=EP", PLACING, "put a node, by name or as '#12', on this provider (repeatable)"},
    [OPTION_BIND] = {"bind", "NAME=EP", CLI_CMD_PLAN | CLI_CMD_BENCH,
                     "an input or output ('*': all) stays in this provider's memory (repeatable)"},
    [OPTION_NO_FUSION] = {"no-fusion", "[=NAME,...]", PLACING,
                          "do not join nodes, or not by these fusions ('tinyort ops --fusions')"},
    [OPTION_STEP_BY_STEP] = {"step-by-step", NULL, RUNNING,
                             "wait for the device after every step, so that an error names its node"},
    [OPTION_INPUT] = {"input", "[NAME=]FILE", RUNNING,
                      ".npy .npz .pb .raw .png .jpg, by name or in the model's order (repeatable)"},
    [OPTION_SHAPE] = {"shape", "NAME=2x3x224", PLANNING | CLI_CMD_INSPECT,
                      "the shape of an input, or the size of a dimension: batch=1 (repeatable)"},
    [OPTION_MAX] = {"max", "NAME=512", CLI_CMD_RUN | CLI_CMD_PLAN | CLI_CMD_BENCH,
                    "the most of a dimension or shape: memory is taken once (repeatable)"},
    [OPTION_RANDOM] = {"random", "SEED|NAME=A..B", RUNNING,
                       "fill inputs that are not given: floats 0..1, indices in range (repeatable)"},
    [OPTION_RESIZE] = {"resize", "WxH|N", RUNNING, "picture: resize; N is the length of its shorter side"},
    [OPTION_CROP] = {"crop", "WxH|N", RUNNING, "picture: then cut out its middle"},
    [OPTION_SCALE] = {"scale", "S", RUNNING,
                      "picture: multiply levels 0..255 by S (default 1/255; for uint8 inputs 1)"},
    [OPTION_MEAN] = {"mean", "R,G,B", RUNNING, "picture: then subtract"},
    [OPTION_STD] = {"std", "R,G,B", RUNNING, "picture: then divide by"},
    [OPTION_LAYOUT] = {"layout", "nchw|nhwc", RUNNING, "picture: order of the tensor (default: as its shape tells)"},
    [OPTION_BGR] = {"bgr", NULL, RUNNING, "picture: blue first"},
    [OPTION_SECONDS] = {"seconds", "S", CLI_CMD_BENCH, "how long to measure (default 3)"},
    [OPTION_REPEAT] = {"repeat", "N", CLI_CMD_BENCH, "runs to measure, in place of --seconds"},
    [OPTION_WARMUP] = {"warmup", "N", CLI_CMD_BENCH, "runs before measuring (default 2)"},
    [OPTION_PROFILE] = {"profile", "[=all]", CLI_CMD_BENCH,
                        "time, FLOP/s and bytes/s of the 20 dearest units (or all), and by operator"},
    [OPTION_TRACE] = {"trace", "FILE", CLI_CMD_BENCH, "of the profiled runs, for chrome://tracing or ui.perfetto.dev"},
    [OPTION_RTOL] = {"rtol", "R", CLI_CMD_TEST | CLI_CMD_COMPARE, "equal means |a-b| <= A + R*|b| ..."},
    [OPTION_ATOL] = {"atol", "A", CLI_CMD_TEST | CLI_CMD_COMPARE,
                     "... (default: R 1e-3, A 1e-4; one node 1e-4, 1e-5; 16-bit floats 1e-2)"},
    [OPTION_OUTPUTS_ONLY] = {"outputs-only", NULL, CLI_CMD_COMPARE,
                             "the outputs of the model as it runs otherwise, folded and fused"},
    [OPTION_SHAPES_ONLY] = {"shapes-only", NULL, CLI_CMD_TEST, "compare types and shapes alone: for random values"},
    [OPTION_SAVE] = {"save", "DIR", CLI_CMD_RUN, "write output_0.npy, output_1.npy ..."},
    [OPTION_SAVE_PLAN] = {"save", "FILE", CLI_CMD_PLAN,
                          "write the plan with its packed weights: tinyort run --plan FILE"},
    [OPTION_FORMAT] = {"format", "npy|pb", CLI_CMD_RUN, "of what --save writes (default npy; pb holds sequences too)"},
    [OPTION_TOP] = {"top", "K", CLI_CMD_RUN, "the K largest entries of the first output"},
    [OPTION_LABELS] = {"labels", "FILE", CLI_CMD_RUN, "their names, one a line"},
    [OPTION_ONLY] = {"only", "WHICH", CLI_CMD_PLAN, "an operator, #12, part of a name, fallback, unplaced or copies"},
    [OPTION_FULL] = {"full", NULL, CLI_CMD_PLAN, "whole names and reasons, and kernels that were made for other nodes"},
    [OPTION_ASSUME_OPSET] = {"assume-opset", "N", LOADING, "treat a newer opset as this one"},
    [OPTION_ALLOW_LINKS] = {"allow-links", NULL, LOADING, "external data may be a link or have several names"},
    [OPTION_MAP] = {"map", NULL, LOADING, "map external data, or a saved plan, instead of reading it"},
    [OPTION_PLAN] = {"plan", "FILE", CLI_CMD_RUN | CLI_CMD_PLAN | CLI_CMD_BENCH,
                     "in place of MODEL: what 'tinyort plan MODEL --save FILE' wrote"},
    [OPTION_DYNAMIC_LIMIT] = {"dynamic-limit", "BYTES", RUNNING,
                              "for values whose shape depends on data, such as 512M (default 1G)"},
    [OPTION_TRIP_LIMIT] = {"trip-limit", "N", RUNNING, "most trips of a loop (default 2^31)"},
    [OPTION_FUSIONS] = {"fusions", NULL, CLI_CMD_OPS, "the fusions: which nodes become which operator"},
    [OPTION_MISSING] = {"missing", NULL, CLI_CMD_OPS, "the operators that none of the providers of --ep has"},
    [OPTION_WIDTH] = {"width", "COLUMNS", TABLES, "of tables (default: the terminal's; a pipe has no limit)"},
    [OPTION_JSON] = {"json", NULL, EVERY ^ CLI_CMD_SCHEMA, "machine-readable output on stdout, after a failure too"},
    [OPTION_HELP] = {"help", NULL, EVERY, "this text"},
};

bool cli_value_is_optional(const cli_option_row *row) {
    return row->value && !strncmp(row->value, "[=", 2);
}

/* ---- help -------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *title;
    cli_option first, last;
} groups[] = {
    {"Where nodes run", OPTION_EP, OPTION_STEP_BY_STEP},
    {"Inputs", OPTION_INPUT, OPTION_RANDOM},
    {"Pictures", OPTION_RESIZE, OPTION_BGR},
    {"Measuring", OPTION_SECONDS, OPTION_TRACE},
    {"What is equal", OPTION_RTOL, OPTION_SHAPES_ONLY},
    {"Outputs", OPTION_SAVE, OPTION_FULL},
    {"The model", OPTION_ASSUME_OPSET, OPTION_TRIP_LIMIT},
    {"And", OPTION_FUSIONS, OPTION_HELP},
};

/* Help for the options of providers; printed only if a provider of the build has the key. */
static const struct {
    const char *provider, *key, *text;
} provider_options[] = {
    {"cuda", "device", "device=1          the second GPU (default 0)"},
    {"cuda", "mem_limit", "mem_limit=2G      bytes it may take on the GPU: k, M, G"},
    {"cuda", "tf32", "tf32=on           products of float32 in TensorFloat-32: faster, 3 digits (default off)"},
    {"cuda", "libraries", "libraries=off     the own kernels alone, without cuBLAS and cuDNN (default on)"},
    {"cuda", "graph", "graph=off         runs step by step, not recorded as CUDA graphs (default on)"},
    {"cpu", "threads", "threads=4         threads (default: one for each processor)"},
    {"cpu", "spin", "spin=1000         microseconds for which idle threads look for the next run (default 200)"},
    {"cpu", "isa", "isa=v3            v2, v3, v3_vnni, v4, v4_vnni, neon, neon_dot, plain (default: the best)"},
    {"cpu", "mem_limit", "mem_limit=2G      bytes that weights and values may take (default: values 8G)"},
};

static bool has_key(const char *provider, const char *key) {
    for (const tort_provider *const *row = tort_providers; *row; row++)
        for (const char *const *known = (*row)->option_keys; !strcmp((*row)->name, provider) && known && *known;
             known++)
            if (!strcmp(*known, key)) return true;
    return false;
}

/* Prints the providers' options on one line: "cuda: device= mem_limit=; cpu: threads=". */
static void print_provider_keys(void) {
    const char *before = "";
    cli_print(stdout, "Providers:");
    for (size_t i = 0; i < sizeof provider_options / sizeof *provider_options; i++) {
        const char *provider = provider_options[i].provider;
        if (!has_key(provider, provider_options[i].key)) continue;
        if (strcmp(provider, before) != 0) cli_print(stdout, "%s %s:", *before ? ";" : "", provider);
        cli_print(stdout, " %s=", provider_options[i].key);
        before = provider;
    }
    cli_print(stdout, "\n('tinyort providers --help' explains them; TINYORT_DISABLE=cuda switches one off)\n");
}

static void print_provider_options(void) {
    cli_print(stdout, "Options of providers, as in --ep cuda:device=1:mem_limit=2G,cpu:threads=4\n");
    for (size_t i = 0; i < sizeof provider_options / sizeof *provider_options; i++)
        if (has_key(provider_options[i].provider, provider_options[i].key))
            cli_print(stdout, "  %-5s %s\n", provider_options[i].provider, provider_options[i].text);
    cli_print(stdout, "In the environment\n"
                      "  TINYORT_DISABLE=cuda,...  switches providers off, as if they did not open\n");
}

void cli_print_usage(const cli_command *command) {
    cli_print(stdout, "usage: tinyort %s%s%s [option]...\n%s\n", command->name, *command->operands ? " " : "",
              command->operands, command->summary);
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        bool titled = false;
        for (cli_option id = groups[g].first; id <= groups[g].last; id++) {
            const cli_option_row *row = &cli_option_table[id];
            if (!(row->commands & command->bit)) continue;
            if (!titled) cli_print(stdout, "%s\n", groups[g].title);
            titled = true;
            const bool spaced = row->value && !cli_value_is_optional(row);
            cli_print(stdout, "  --%s%s%-*s %s\n", row->name, spaced ? " " : "", 21 - (int)strlen(row->name) - spaced,
                      row->value ? row->value : "", row->help);
        }
    }
    if (command->bit == CLI_CMD_PROVIDERS)
        print_provider_options();
    else if (cli_option_table[OPTION_EP].commands & command->bit)
        print_provider_keys();
}
