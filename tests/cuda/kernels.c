/* kernels.c - holds every row of the CUDA table against the plain loop of ops/: random shapes, types and values.
 *
 *   kernels [--brief|--once] [--own] [--tf32] [--only OPERATOR,...] [--part I/N] [--seed SEED] [--keep-open]
 * cudasim|cuda
 *
 * --once runs every trial in one order only; --brief, for slow builds, has fewer trials too, and no empty tensors;
 * --own leaves out the rows that call NVIDIA's libraries; --tf32 runs the products of float with tf32=on, on operands
 * of 10 bits, which these must not change; --part runs every Nth case, from the Ith on. On a GPU the device is opened
 * once (kept_open.h), here with --keep-open; a row whose library is not installed is skipped, and said so. A program of
 * its own that needs no test library, so that it can be carried to a machine with a GPU. The cases are lines of
 * tests/cases and of case_table.c and its like (language: kernel_case.h); a row that no case has run fails. On the
 * simulated device a kernel runs forward, in reverse, in random order and with lazy streams, with equal bits, and its
 * code must have been loaded before; on a GPU twice. Tensors lie in guarded buffers (guarded.h), in some trials one
 * element off the device's alignment. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cudasim/control.h"
#include "ops/numeric.h"
#include "runtime/core/base/build.h"
#include "runtime/core/providers/plugin.h"
#include "tests/cuda/guarded.h"
#include "tests/cuda/kept_open.h"
#include "tests/cuda/kernel_case.h"
#include "tests/cuda/wrapped.h"
#include "tests/report_of.h"

extern const char *const kernel_cases[], *const type_cases[], *const attention_cases[];
extern const char *const further_kernel_cases[], *const library_cases[], *const operator_kernel_cases[];
extern const char *const byte_product_cases[], *const byte_kernel_cases[], *const byte_sum_cases[];
#define TABLE(name) extern const char *const name[];
#include "tests/cases/lines.inc"
#undef TABLE

enum { TRIALS = 4, MAX_RUNS = 4, MAX_COVERED = 512 };

typedef struct tester {
    const tort_provider *provider;
    const cudasim_control *control; /* NULL on a GPU */
    const tort_kernel *covered[MAX_COVERED];
    int32_t covered_count;
    int passed, failed, skipped;
    int refused; /* runs that reference and device refused with one code, naming one node */
    int viewed;  /* cases of which the plan made a view */
    bool brief, once, own, tf32;
    uint64_t seed, random;
} tester;

/* ---- the reference: a provider that runs the plain loop of every operator ---- */

static void reference_open(const tort_provider_config *config, void **device, tort_target *target,
                           tort_condition *condition) {
    (void)config;
    *device = NULL;
    *target = (tort_target){.description = "plain loops"};
    *condition = (tort_condition){.ready = true, .code = "READY"};
}

static const tort_kernel reference_rows[] = {{.domain = "", .op = "*", .name = "reference"}, {.op = NULL}};
static const tort_kernel *const reference_tables[] = {reference_rows, NULL};
static const tort_provider reference = {.abi = TORT_PROVIDER_ABI,
                                        .name = "reference",
                                        .summary = "plain loops",
                                        .host_memory = true,
                                        .kernels = reference_tables,
                                        .open = reference_open};

/* ---- running a case on one provider ---- */

typedef struct running {
    tort_model *model;
    tort_session *session;
    tort_context *context;
    tort_tensor inputs[CASE_TENSORS], outputs[CASE_TENSORS];
    int32_t input_count;
    tort_error error;
} running;

static tort_status start(running *r, const kernel_case *c, const onnx_bytes *model, const tort_provider *provider,
                         const char *chain) {
    const tort_provider *const providers[] = {provider, NULL};
    tort_session_options options = {
        .struct_size = sizeof options, .chain = chain, .providers = providers, .unfolded = true};
    *r = (running){0};
    for (int32_t i = 0; i < c->input_count; i++)
        if (c->inputs[i].tensor.type && !c->inputs[i].constant) r->inputs[r->input_count++] = c->inputs[i].tensor;
    tort_status status = tort_model_load_buffer(NULL, model->data, model->size, NULL, &r->model, &r->error);
    if (!status) status = tort_session_create(NULL, r->model, &options, &r->session, &r->error);
    if (!status) status = tort_context_create(r->session, &r->context, &r->error);
    return status;
}

static tort_status run(running *r, const kernel_case *c) {
    memset(r->outputs, 0, sizeof r->outputs);
    return tort_context_run(r->context, r->inputs, r->input_count, r->outputs, c->output_count, &r->error);
}

static void stop(running *r) {
    tort_context_free(r->context);
    tort_session_free(r->session);
    tort_model_free(r->model);
}

/* ---- comparing ---- */

/* scale: errors are relative to this where b is smaller; 0: to b. */
static bool close_enough(tort_type type, double a, double b, double scale) {
    const double magnitude = fmax(fabs(b), scale);
    if (a == b || (isnan(a) && isnan(b))) return true;
    if (!tort_type_is_float(type)) return false;
    if (type == TORT_BFLOAT16) return fabs(a - b) <= 16e-3 + 16e-3 * magnitude;
    if (type == TORT_DOUBLE) return fabs(a - b) <= 1e-12 + 1e-11 * magnitude;
    return type == TORT_FLOAT16 ? fabs(a - b) <= 2e-3 + 2e-3 * magnitude : fabs(a - b) <= 1e-5 + 1e-4 * magnitude;
}

/* The largest finite magnitude. */
static double largest(const tort_tensor *tensor) {
    int64_t count = 0;
    double max = 0;
    (void)tort_tensor_count(tensor, &count);
    for (int64_t i = 0; i < count; i++) {
        double value;
        tort_load_doubles(tensor->type, tensor->data, i, 1, &value);
        if (isfinite(value)) max = fmax(max, fabs(value));
    }
    return max;
}

/* "" if both are the same, else where and how they differ. like: the type whose tolerance holds. */
static void compare(const tort_tensor *found, const tort_tensor *wanted, tort_type like, double scale, char *text,
                    size_t size) {
    int64_t count = 0;
    *text = '\0';
    bool alike = found->type == wanted->type && found->rank == wanted->rank;
    for (int32_t d = 0; alike && d < wanted->rank; d++) alike = found->dims[d] == wanted->dims[d];
    if (!alike || !tort_tensor_count(wanted, &count)) {
        snprintf(text, size, "type or shape differ");
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        double a, b;
        tort_load_doubles(found->type, found->data, i, 1, &a);
        tort_load_doubles(wanted->type, wanted->data, i, 1, &b);
        if (close_enough(like, a, b, scale)) continue;
        snprintf(text, size, "element %lld of %lld is %.9g, expected %.9g", (long long)i, (long long)count, a, b);
        return;
    }
}

/* ---- one trial ---- */

static bool fail(tester *t, const kernel_case *c, const char *kernel, const char *problem, const char *detail) {
    char text[400];
    kernel_case_describe(c, text, sizeof text);
    printf("FAILED: %s (%s): %s %s\n", text, kernel, problem, detail);
    t->failed++;
    return false;
}

/* Of a GPU that small products fill too, so that not all sums are divided (kernels/cuda/tiling.c). */
enum { FEW_MULTIPROCESSORS = 16 };
/* Shared memory that a block may have on sm_75, the least of all architectures. */
enum { TURING_SHARED_BYTES = 64 << 10 };

/* True if a tile of a product may need more: that of 128x256, which the choice of tiles keeps from sm_75. */
static bool is_product(const char *op) {
    static const char *const names[] = {"MatMul", "Gemm", "Conv", "Einsum", "Attention"};
    bool product = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) product = product || strstr(op, names[i]);
    return product;
}

static bool takes_wide_tiles(const tester *t, const kernel_case *c) {
    return is_product(c->name) && (t->tf32 || c->type == TORT_FLOAT16 || c->type == TORT_BFLOAT16);
}

static void configure(const tester *t, const kernel_case *c, int run_index) {
    static const cudasim_order orders[MAX_RUNS] = {CUDASIM_FORWARD, CUDASIM_REVERSE, CUDASIM_RANDOM, CUDASIM_FORWARD};
    if (!t->control) return;
    cudasim_settings settings = t->control->defaults();
    settings.multiprocessors = FEW_MULTIPROCESSORS;
    settings.shared_bytes = takes_wide_tiles(t, c) ? 0 : TURING_SHARED_BYTES;
    settings.order = orders[run_index];
    settings.seed = 7;
    settings.lazy_streams = run_index == 3;
    t->control->configure(&settings);
}

/* Products of what the kernel itself computed, the weights of attention or of quantized ones, round it to 10 bits with
 * tf32=on: they are held to the tolerance of halves, and errors of small sums to 1. */
static bool rounds_again(const tester *t, const kernel_case *c, tort_type type) {
    return t->tf32 && type == TORT_FLOAT && (strstr(c->name, "Attention") || strstr(c->name, "NBits"));
}

/* Runs on the device in every order; the first run is held against the reference, the others against its bits. */
static bool run_all(tester *t, const kernel_case *c, running *device, const running *expected, const tort_kernel *row) {
    const char *kernel = row->name;
    void *bits[CASE_TENSORS] = {NULL};
    size_t bytes[CASE_TENSORS] = {0};
    char text[200] = "";
    bool good = true;
    const int runs = t->once ? 1 : t->control ? MAX_RUNS : 2;
    for (int k = 0; good && k < runs; k++) {
        configure(t, c, k);
        tort_status status = run(device, c);
        const char *failure = t->control ? t->control->failure() : "";
        if (status)
            good = fail(t, c, kernel, device->error.msg, failure);
        else if (*failure)
            good = fail(t, c, kernel, "misbehaved:", failure);
        if (good && t->control && t->control->late_loads())
            good = fail(t, c, kernel, "the run loads code that prepare should have loaded", "");
        for (int32_t i = 0; good && i < c->output_count; i++) {
            const tort_tensor *output = &device->outputs[i];
            if (k == 0) {
                /* A real library may transform whole tensors (Winograd, Fourier): its error is spread over all of Y. */
                const bool again = rounds_again(t, c, output->type);
                const double scale = row->needs && !t->control ? largest(&expected->outputs[i]) : again ? 1 : 0;
                compare(output, &expected->outputs[i], again ? TORT_FLOAT16 : output->type, scale, text, sizeof text);
                if (*text) good = fail(t, c, kernel, text, "");
                (void)tort_tensor_bytes(output, &bytes[i]);
                bits[i] = malloc(bytes[i] + 1);
                if (bits[i] && bytes[i]) memcpy(bits[i], output->data, bytes[i]);
            } else if (bytes[i] && memcmp(bits[i], output->data, bytes[i])) {
                good = fail(t, c, kernel, "another order of blocks and threads gives other bits", "");
            }
        }
    }
    for (int32_t i = 0; i < c->output_count; i++) free(bits[i]);
    configure(t, c, 0);
    return good;
}

static void cover(tester *t, const tort_kernel *row) {
    for (int32_t i = 0; i < t->covered_count; i++)
        if (t->covered[i] == row) return;
    if (t->covered_count < MAX_COVERED) t->covered[t->covered_count++] = row;
}

/* On a GPU a library may be missing; the simulated device has them all. */
static bool library_is_missing(const tester *t, const tort_report_node *node) {
    for (int32_t i = 0; !t->control && node && i < node->verdict_count; i++)
        if (node->verdicts[i]->code == TORT_NO_LIBRARY) return true;
    return false;
}

/* A plan that moves nothing runs no kernel: its outputs are held against the reference's. */
static bool check_view(tester *t, const kernel_case *c, running *device, const running *expected) {
    char text[200] = "";
    if (run(device, c)) return fail(t, c, "view", device->error.msg, "");
    for (int32_t i = 0; i < c->output_count && !*text; i++)
        compare(&device->outputs[i], &expected->outputs[i], expected->outputs[i].type, 0, text, sizeof text);
    return *text ? fail(t, c, "view", text, "") : true;
}

/* What the device made of a case whose reference ran, or was refused with `refused`. True: it ran. */
static bool hold(tester *t, const kernel_case *c, const onnx_bytes *model, const running *expected, tort_status refused,
                 const tort_provider *provider, guarded_shift shift) {
    running device;
    bool ran = false;
    configure(t, c, 0);
    if (t->control) t->control->unload();
    char chain[64];
    snprintf(chain, sizeof chain, "%s%s", provider->name, t->tf32 ? ":tf32=on" : "");
    tort_status status = start(&device, c, model, provider, chain);
    tort_report *report = device.session ? report_of(device.session) : NULL;
    const tort_report_node *node = report && report->node_count ? report->nodes[0] : NULL;
    const tort_kernel *row = node && node->kernel ? wrapped_row(node->domain, node->op, node->kernel) : NULL;
    if (refused) {
        if (!status) {
            guarded_select(row, shift);
            status = row ? run(&device, c) : TORT_OK;
        }
        if (!status) fail(t, c, "", "the reference refuses it, the device does not:", expected->error.msg);
        t->refused += status == refused && device.error.node == expected->error.node;
    } else if (status && library_is_missing(t, node)) {
        t->skipped++;
    } else if (status) {
        fail(t, c, "", "was not placed:", device.error.msg);
    } else if (node && !strcmp(node->kernel, "view")) {
        t->passed += check_view(t, c, &device, expected);
        t->viewed++;
    } else if (!row) {
        fail(t, c, node && node->kernel ? node->kernel : "", "is no kernel of the device:", node ? node->op : "");
    } else {
        guarded_select(row, shift);
        if (run_all(t, c, &device, expected, row)) t->passed++;
        cover(t, row);
        ran = true;
    }
    tort_report_free(report);
    stop(&device);
    return ran;
}

/* Rounds floats to 10 bits of mantissa. */
static void round_inputs(const kernel_case *c) {
    for (int32_t i = 0; i < c->input_count; i++) {
        const tort_tensor *tensor = &c->inputs[i].tensor;
        int64_t count = 0;
        if (tensor->type != TORT_FLOAT || !tort_tensor_count(tensor, &count)) continue;
        for (int64_t k = 0; k < count; k++) {
            uint32_t *bits = (uint32_t *)tensor->data + k;
            *bits &= 0xffffe000u;
        }
    }
}

/* One random instance. True: a kernel of the device ran. */
static bool try_case(tester *t, const char *line, tort_type type, char empty, int trial, bool libraries) {
    kernel_case c;
    onnx_bytes model = {0};
    running expected;
    const bool constant_weights = t->brief ? trial % 2 : trial % 4 >= 2;
    if (!kernel_case_make(line, type, empty, constant_weights, &t->random, &c)) {
        t->failed++;
        return false;
    }
    if (t->tf32) round_inputs(&c);
    kernel_case_write(&c, &model);
    tort_status refused = start(&expected, &c, &model, &reference, "reference");
    if (!refused) refused = run(&expected, &c);
    bool ran = hold(t, &c, &model, &expected, refused, guarded_provider(t->provider, libraries),
                    (guarded_shift)(trial % SHIFT_COUNT));
    stop(&expected);
    onnx_free(&model);
    kernel_case_free(&c);
    return ran;
}

/* ---- the table ---- */

static bool has_library_row(const tester *t, const char *op) {
    for (const tort_kernel *const *table = t->provider->kernels; *table; table++)
        for (const tort_kernel *row = *table; row->op; row++)
            if (row->needs && !strcmp(row->op, op)) return true;
    return false;
}

/* All trials of a line for one type; must they be refused? */
static void run_trials(tester *t, const char *line, tort_type type, bool libraries, bool must_refuse) {
    const int refused = t->refused, skipped = t->skipped, viewed = t->viewed;
    int trials = t->brief ? 2 : TRIALS;
    char letters[CASE_WORD];
    int ran = 0;
    for (int trial = 0; trial < trials; trial++) {
        ran += try_case(t, line, type, 0, trial, libraries);
        if (trial + 1 == trials && !ran && !must_refuse && trials < TRIALS) trials++; /* views, so far */
    }
    const bool always_views = !strncmp(line, "Cast", 4) && t->viewed == viewed + trials; /* to the type that is there */
    if (must_refuse ? t->refused == refused + trials : ran > 0 || t->skipped > skipped || always_views) {
        t->passed += must_refuse ? trials : 0;
    } else {
        printf("FAILED: %s: %s\n", must_refuse ? "is not refused in every trial" : "no kernel ran in any trial", line);
        t->failed++;
    }
    kernel_case_letters(line, letters);
    for (int i = 0; letters[i] && !t->brief && !must_refuse; i++) try_case(t, line, type, letters[i], i, libraries);
}

/* Each line has random numbers of its own, whatever lines are before it. */
static uint64_t seed_of(uint64_t seed, const char *line) {
    for (; *line; line++) seed = (seed ^ (unsigned char)*line) * 0x100000001b3u;
    return seed ? seed : 1;
}

/* Without libraries and with them, as far as the operator has rows of both. */
static void run_line(tester *t, const char *line, bool library_only) {
    int type_count;
    const bool must_refuse = *line == '!';
    t->random = seed_of(t->seed, line);
    line += must_refuse;
    const tort_op *op = kernel_case_row(line);
    const tort_type *types = kernel_case_types(line, &type_count);
    if (!op) {
        printf("FAILED: not a case, or the operator is not in this build: %s\n", line);
        t->failed++;
        return;
    }
    for (int libraries = library_only; libraries <= (!t->own && has_library_row(t, op->name)); libraries++)
        for (int k = 0; k < type_count; k++)
            if (!t->tf32 || types[k] == TORT_FLOAT) run_trials(t, line, types[k], libraries, must_refuse);
}

/* Rows without a case, or whose cases all went to other rows. */
static void check_coverage(tester *t) {
    for (const tort_kernel *const *table = t->provider->kernels; *table; table++)
        for (const tort_kernel *row = *table; row->op; row++) {
            bool found = false;
            for (int32_t i = 0; i < t->covered_count; i++) found |= t->covered[i] == row;
            if (found || (row->needs && t->own)) continue;
            if (row->needs && !t->control) {
                printf("SKIPPED: %s of %s: its library is not there, or no case asks for it\n", row->name, row->op);
                t->skipped++;
                continue;
            }
            printf("FAILED: no case runs %s of %s; add one to tests/cases\n", row->name, row->op);
            t->failed++;
        }
}

static void check_leftovers(tester *t) {
    char text[400];
    if (!t->control || t->control->leftovers(text, sizeof text) == 0) return;
    printf("FAILED: left over on the device: %s\n", text);
    t->failed++;
}

/* ---- the provider ---- */

static const tort_provider *find_provider(const char *name, const cudasim_control **control) {
    tort_condition condition = {.ready = true};
    const tort_plugin *(*entry)(void) = NULL;
    *control = NULL;
    for (const tort_provider *const *at = tort_build.providers; *at; at++) {
        if (strcmp((*at)->name, name)) continue;
        if (!(*at)->load) return *at;
        const tort_provider *loaded = (*at)->load(&condition);
        void *library = loaded ? dlopen("libtinyort-cudasim.so", RTLD_NOW | RTLD_LOCAL) : NULL;
        void *symbol = library ? dlsym(library, "tort_provider_plugin") : NULL;
        memcpy(&entry, &symbol, sizeof entry);
        if (entry) *control = entry()->extra;
        if (!loaded) printf("%s: %s\n", condition.message, condition.cure);
        return loaded;
    }
    return NULL;
}

/* ---- the program ---- */

typedef struct selection {
    const char *only; /* "Conv,MatMul"; NULL: every operator */
    int part, parts;  /* lines are dealt out to the parts in turn; 1 of 1: all */
} selection;

static bool is_listed(const char *list, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && !memcmp(at, name, length)) return true;
    return false;
}

/* Is it this run's to do? Lines are counted where they are asked for. */
static bool is_selected(const tester *t, const selection *selected, const char *line, int *count) {
    const tort_op *op = kernel_case_row(line + (*line == '!'));
    if (selected->only && !(op && is_listed(selected->only, op->name))) return false;
    if (t->tf32 && !(op && is_product(op->name) && kernel_case_has_type_letter(line))) return false;
    return (*count)++ % selected->parts == selected->part - 1;
}

static void run_lines(tester *t, const selection *selected) {
#define TABLE(name) name,
    static const char *const *const tables[] = {
#include "tests/cases/lines.inc"
        kernel_cases,      type_cases,     attention_cases,       further_kernel_cases, byte_product_cases,
        byte_kernel_cases, byte_sum_cases, operator_kernel_cases, library_cases,
    };
    int count = 0;
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
        for (const char *const *line = tables[k]; *line; line++)
            if (is_selected(t, selected, *line, &count)) run_line(t, *line, tables[k] == library_cases);
    if (!count) printf("FAILED: no case is of %s\n", selected->only);
    if (!selected->only && selected->parts == 1 && !t->tf32) check_coverage(t);
}

/* The provider's name; NULL: the arguments are wrong. */
static const char *read_arguments(int argc, char **argv, tester *t, selection *selected, bool *keep_open) {
    const char *name = NULL;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        char rest;
        if (!strcmp(argv[i], "--brief")) {
            t->brief = t->once = true;
        } else if (!strcmp(argv[i], "--once")) {
            t->once = true;
        } else if (!strcmp(argv[i], "--own")) {
            t->own = true;
        } else if (!strcmp(argv[i], "--tf32")) {
            t->tf32 = true;
        } else if (!strcmp(argv[i], "--keep-open")) {
            *keep_open = true;
        } else if (!strcmp(argv[i], "--only") && *value) {
            selected->only = argv[++i];
        } else if (!strcmp(argv[i], "--part") &&
                   sscanf(value, "%d/%d%c", &selected->part, &selected->parts, &rest) == 2) {
            i++;
        } else if (!strcmp(argv[i], "--seed") && *value) {
            t->seed = strtoull(argv[++i], NULL, 10);
        } else if (!name && *argv[i] != '-') {
            name = argv[i];
        } else {
            return NULL;
        }
    }
    return selected->part >= 1 && selected->part <= selected->parts ? name : NULL;
}

int main(int argc, char **argv) {
    tester t = {.seed = 88172645463325252u};
    selection selected = {.part = 1, .parts = 1};
    bool keep = false;
    setvbuf(stdout, NULL, _IOLBF, 0); /* what failed is known even if a later case crashes */
    const char *name = read_arguments(argc, argv, &t, &selected, &keep);
    t.provider = name ? find_provider(name, &t.control) : NULL;
    if (!t.provider) {
        printf("usage: kernels [--brief|--once] [--own] [--tf32] [--only OPERATOR,...] [--part I/N] [--seed SEED] "
               "[--keep-open] cudasim|cuda\n");
        return 2;
    }
    keep |= !t.control;
    if (keep) t.provider = kept_open(t.provider, !t.own);
    run_lines(&t, &selected);
    if (keep) kept_open_end();
    check_leftovers(&t);
    printf("cuda-kernels: %d passed, %d failed", t.passed, t.failed);
    printf(t.skipped ? ", %d skipped\n" : "\n", t.skipped);
    return t.failed != 0 || t.passed == 0;
}
