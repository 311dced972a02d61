/* engines.c - see engines.h. Read next: rows.c. */
#include "tests/fuzz_rows/engines.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ops/numeric.h"
#include "tests/report_of.h"

extern const tort_provider tort_provider_cpu;

#if defined(__x86_64__)
const char *const instruction_sets[7] = {"v2", "v3", "v3_vnni", "v4", "v4_vnni", "v4_amx", NULL};
#elif defined(__aarch64__)
const char *const instruction_sets[7] = {"neon", "neon_dot", NULL};
#else
const char *const instruction_sets[7] = {NULL};
#endif

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static bool is_fast(const tort_kernel *row) {
    return strcmp(row->name, "reference") != 0;
}

int32_t row_total(void) {
    int32_t total = 0;
    while (row_at(total)) total++;
    return total;
}

const tort_kernel *row_at(int32_t index) {
    for (const tort_kernel *const *table = tort_provider_cpu.kernels; *table; table++)
        for (const tort_kernel *row = *table; row->op; row++)
            if (is_fast(row) && index-- == 0) return row;
    return NULL;
}

/* Its own name, or that of a row that runs it for a half type. */
static bool is_name_of(const tort_kernel *row, const char *kernel) {
    const tort_kernel *widening = tort_provider_cpu.widening;
    const size_t length = strlen(row->name);
    if (strncmp(row->name, kernel, length) != 0) return false;
    return !kernel[length] || (widening && kernel[length] == '_' && !strcmp(kernel + length + 1, widening->name));
}

static bool is_row_of(const tort_kernel *row, const tort_report_node *node, const char *kernel) {
    if (!kernel || !is_name_of(row, kernel)) return false;
    return strcmp(row->op, "*") == 0 || (strcmp(row->op, node->op) == 0 && strcmp(row->domain, node->domain) == 0);
}

static void note_row(row_count *count, const tort_kernel *row, const tort_report_node *node, int32_t set) {
    const bool serves = node->provider && strcmp(node->provider, "cpu") == 0 && is_row_of(row, node, node->kernel);
    count->served += serves;
    count->widened += serves && strcmp(row->name, node->kernel) != 0;
    count->served_by[set] += serves;
    for (int32_t v = 0; v < node->verdict_count; v++)
        if (node->verdicts[v]->code == TORT_NO_CAPABILITY && is_row_of(row, node, node->verdicts[v]->kernel))
            count->incapable = true;
}

static void note(row_count *counts, const tort_report_node *node, int32_t set) {
    for (const tort_kernel *const *table = tort_provider_cpu.kernels; *table; table++)
        for (const tort_kernel *row = *table; row->op; row++)
            if (is_fast(row)) note_row(counts++, row, node, set);
}

/* ---- one session ------------------------------------------------------------------------------------------------- */

typedef struct engine {
    char name[32];
    tort_session *session;
    tort_context *context;
    tort_tensor outputs[MAX_PORTS];
    int32_t output_count;
    tort_error error;
    tort_status status;
} engine;

static void run(engine *e, const subject *s) {
    memset(e->outputs, 0, sizeof e->outputs);
    e->status = tort_context_run(e->context, s->inputs, s->input_count, e->outputs, e->output_count, &e->error);
}

/* Without an instruction set: the plain loops, and nothing fused. */
static void open_engine(engine *e, const tort_env *env, const subject *s, const char *set, int32_t threads) {
    char chain[48];
    *e = (engine){.output_count = tort_model_output_count(s->model)};
    snprintf(chain, sizeof chain, "cpu:isa=%s:threads=%d", set ? set : "plain", threads);
    snprintf(e->name, sizeof e->name, "%s, %d threads", set ? set : "plain", threads);
    const tort_session_options options = {.struct_size = sizeof options, .chain = chain, .unfolded = !set};
    e->status = tort_session_create(env, s->model, &options, &e->session, &e->error);
    if (!e->status) e->status = tort_context_create(e->session, &e->context, &e->error);
    if (!e->status) run(e, s);
}

static void close_engine(engine *e) {
    tort_context_free(e->context);
    tort_session_free(e->session);
}

static bool processor_has(const char *set) {
    char chain[32];
    tort_probe *probe = NULL;
    snprintf(chain, sizeof chain, "cpu:isa=%s", set);
    const tort_probe_options options = {.struct_size = sizeof options, .chain = chain};
    if (tort_probe_providers(NULL, &options, &probe, NULL)) return false;
    const bool ready = probe->providers[0]->ready;
    tort_probe_free(probe);
    return ready;
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static bool fails(char why[WHY], const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fails(char why[WHY], const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, WHY, format, arguments);
    va_end(arguments);
    return false;
}

static double number_at(const tort_tensor *tensor, int64_t i) {
    double number;
    tort_load_doubles(tensor->type, tensor->data, i, 1, &number);
    return number;
}

static double largest(const tort_tensor *tensor) {
    double max = 0;
    for (int64_t i = 0; i < tort_count(tensor); i++) {
        const double number = fabs(number_at(tensor, i));
        if (number > max && isfinite(number)) max = number;
    }
    return max;
}

static bool same_form(const tort_tensor *a, const tort_tensor *b) {
    bool same = a->type == b->type && a->rank == b->rank;
    for (int32_t d = 0; same && d < a->rank; d++) same = a->dims[d] == b->dims[d];
    return same;
}

/* What a type adds to the tolerance of sums in float: units of its own last place. */
static tolerance of_type(tolerance t, tort_type type) {
    if (type == TORT_FLOAT || type == TORT_DOUBLE) return t;
    if (!tort_type_is_float(type)) return (tolerance){0};
    const double unit = type == TORT_BFLOAT16 ? 8e-2 : 1e-2;
    return (tolerance){unit, unit, t.of_largest * unit * 1e5};
}

/* What is not far from the largest float may be infinite where it is made in another order, or in float throughout. */
static bool overflows(double want, double got) {
    return isinf(got) && fabs(want) > 1e30 && signbit(got) == signbit(want);
}

/* spreads: NaN on one side alone is fine. */
static bool close_to(const tort_tensor *wanted, const tort_tensor *found, tolerance limits, bool spreads, int32_t at,
                     char why[WHY]) {
    const tolerance t = of_type(limits, wanted->type);
    const double slack = t.absolute + t.of_largest * largest(wanted);
    if (!same_form(wanted, found)) return fails(why, "output %d has another type or shape", at);
    for (int64_t i = 0; i < tort_count(wanted); i++) {
        const double want = number_at(wanted, i), got = number_at(found, i);
        if (got == want || (isnan(got) && isnan(want)) || (spreads && (isnan(got) || isnan(want))) ||
            overflows(want, got) || fabs(got - want) <= slack + t.relative * fabs(want))
            continue;
        return fails(why, "output %d (%s), element %lld of %lld is %.9g, the plain loops make %.9g", at,
                     tort_type_name(wanted->type), (long long)i, (long long)tort_count(wanted), got, want);
    }
    return true;
}

/* The same bits, but for those of NaN. */
static bool same_bits(const tort_tensor *a, const tort_tensor *b, int32_t at, char why[WHY]) {
    size_t bytes = 0;
    if (!same_form(a, b) || !tort_tensor_bytes(a, &bytes)) return fails(why, "output %d has another form", at);
    if (!bytes || memcmp(a->data, b->data, bytes) == 0) return true;
    const bool floats = tort_type_is_float(a->type);
    for (int64_t i = 0; i < tort_count(a); i++) {
        const double x = number_at(a, i), y = number_at(b, i);
        if ((x == y && signbit(x) == signbit(y)) || (floats && isnan(x) && isnan(y))) continue;
        return fails(why, "output %d, element %lld is %.9g and %.9g", at, (long long)i, x, y);
    }
    return true;
}

/* ---- a subject --------------------------------------------------------------------------------------------------- */

static bool all_plain(engine *plain, char why[WHY]) {
    tort_report *report = report_of(plain->session);
    bool all = true;
    for (int32_t i = 0; i < report->node_count && all; i++) {
        const tort_report_node *node = report->nodes[i];
        const bool plain_loop = node->kernel && (!strcmp(node->kernel, "reference") || !strcmp(node->kernel, "view"));
        if (node->provider && strcmp(node->provider, "cpu") == 0 && !plain_loop)
            all = fails(why, "%s runs on %s with isa=plain", node->op, node->kernel);
    }
    tort_report_free(report);
    return all;
}

/* Kernels that weigh with 0 what an output does not depend on: the rest of a tile, of a block of channels, hidden keys.
 * NaN and infinities there make NaN. */
static bool may_spread(const engine *e) {
    static const char *const names[] = {"winograd", "conv_blocked", "resize", "attention", "heads"};
    tort_report *report = report_of(e->session);
    bool found = false;
    for (int32_t i = 0; i < report->node_count && !found; i++)
        for (size_t j = 0; j < sizeof names / sizeof *names && !found; j++)
            found = report->nodes[i]->kernel && strstr(report->nodes[i]->kernel, names[j]);
    tort_report_free(report);
    return found;
}

static bool agree_on(const engine *plain, const engine *fast, const subject *s, char why[WHY]) {
    const bool spreads = !s->finite && fast->session && may_spread(fast);
    if (plain->status != fast->status)
        return fails(why, "status %d (%s), of the plain loops %d (%s)", fast->status, fast->error.msg, plain->status,
                     plain->error.msg);
    for (int32_t i = 0; i < plain->output_count && !plain->status; i++)
        if (!close_to(&plain->outputs[i], &fast->outputs[i], s->tolerance, spreads, i, why)) return false;
    return true;
}

static bool same_again(const engine *one, const engine *many, char why[WHY]) {
    for (int32_t i = 0; i < one->output_count && !one->status; i++)
        if (!same_bits(&one->outputs[i], &many->outputs[i], i, why)) return false;
    return true;
}

static void say_kernels(engine *e, char why[WHY]) {
    const size_t used = strlen(why);
    tort_report *report = e->session ? report_of(e->session) : NULL;
    size_t at = used;
    for (int32_t i = 0; report && i < report->node_count && at + 1 < WHY; i++)
        if (report->nodes[i]->kernel)
            at += (size_t)snprintf(why + at, WHY - at, " %s:%s", report->nodes[i]->op, report->nodes[i]->kernel);
    tort_report_free(report);
}

static void note_all(engine *e, row_count *counts, int32_t set) {
    tort_report *report = report_of(e->session);
    for (int32_t i = 0; i < report->node_count; i++) note(counts, report->nodes[i], set);
    tort_report_free(report);
}

/* One thread, then three, which run twice: what a run leaves behind may not change the next. */
static bool agrees_with(const tort_env *env, engine *plain, const subject *s, int32_t set, row_count *counts,
                        char why[WHY]) {
    engine one, three;
    char what[WHY] = "";
    open_engine(&one, env, s, instruction_sets[set], 1);
    bool good = agree_on(plain, &one, s, what);
    if (!good) snprintf(why, WHY, "%s: %.200s:", one.name, what);
    open_engine(&three, env, s, instruction_sets[set], 3);
    if (good && !(good = agree_on(plain, &three, s, what) && same_again(&one, &three, what)))
        snprintf(why, WHY, "%s: %.200s:", three.name, what);
    if (good && !three.status) run(&three, s);
    if (good && !(good = agree_on(plain, &three, s, what) && same_again(&one, &three, what)))
        snprintf(why, WHY, "%s, the second run: %.200s:", three.name, what);
    if (good && !one.status) note_all(&one, counts, set);
    if (!good) say_kernels(&one, why);
    close_engine(&one);
    close_engine(&three);
    return good;
}

bool agrees(const tort_env *env, const subject *s, row_count *counts, char why[WHY]) {
    engine plain;
    open_engine(&plain, env, s, NULL, 1);
    bool good = !plain.session || all_plain(&plain, why);
    for (int32_t set = 0; good && instruction_sets[set]; set++)
        if (processor_has(instruction_sets[set])) good = agrees_with(env, &plain, s, set, counts, why);
    close_engine(&plain);
    return good;
}
