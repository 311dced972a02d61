/* ending_kernels.c - every row of the provider `cpu` that does much at a time ends with its run, in each instruction
 * set that this machine has: the time of the run is over while the row is in its loops. Read next: ending_cases.c. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/threads.h"
#include "runtime/core/base/watch.h"
#include "runtime/core/graph/infer.h"
#include "runtime/core/graph/graph.h"
#include "runtime/include/provider.h"
#include "runtime/core/providers/claim.h"
#include "tests/unit/ending_cases.h"

extern const tort_provider tort_provider_cpu;

#define LIMIT 2000000     /* nanoseconds that a run has; each would take ten times as long and more */
#define HANGS 10000000000 /* nanoseconds until it must have ended */

typedef struct opened {
    void *device;
    tort_target target;
    tort_env env;
    tort_pool *pool;
} opened;

/* False: this machine does not have the instructions. */
static bool open_cpu(const char *isa, const char *threads, opened *cpu) {
    const tort_provider_option options[] = {{"isa", isa}, {"threads", threads}};
    tort_condition condition;
    cpu->env = tort_env_complete(NULL);
    cpu->pool = tort_pool_create(&cpu->env, threads[0] - '0', -1, false);
    cr_assert(cpu->pool);
    cpu->env.parallel_for = tort_pool_parallel_for;
    cpu->env.parallel_ud = cpu->pool;
    const tort_provider_config config = {.provider = "cpu", .options = options, .option_count = 2, .env = &cpu->env};
    tort_provider_cpu.open(&config, &cpu->device, &cpu->target, &condition);
    if (!condition.ready) tort_pool_destroy(cpu->pool);
    return condition.ready;
}

static const tort_kernel *find_row(const ending_case *wanted) {
    for (const tort_kernel *const *table = tort_provider_cpu.kernels; *table; table++)
        for (const tort_kernel *row = *table; row->op; row++)
            if (strcmp(row->op, wanted->op) == 0 && strcmp(row->domain, wanted->domain) == 0 &&
                strcmp(row->name, wanted->kernel) == 0)
                return row;
    cr_assert(false, "no row %s for %s", wanted->kernel, wanted->op);
    return NULL;
}

static void *allocate(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
    cr_assert(memory);
    return memory;
}

/* Memory for a tensor in the layout that the row wants of it; what was in `data` goes there as it is. */
static void *place(const tort_kernel *row, uint32_t in_layout, int32_t i, const tort_tensor *tensor) {
    size_t bytes, plain;
    cr_assert(tort_tensor_bytes(tensor, &plain));
    bytes = plain;
    if (row->layout.id > 0 && in_layout >> i & 1) cr_assert(tort_provider_cpu.layouts[0].bytes(tensor, &bytes));
    void *placed = allocate(bytes);
    memset(placed, 0, bytes);
    if (tensor->data) memcpy(placed, tensor->data, plain);
    return placed;
}

/* A call of the row in a run whose time will be over; it has what a plan would give it. */
static void run_call(const tort_kernel *row, const tort_node_view *view, const tort_prepare *prepare, uint32_t consumed,
                     const opened *cpu, const char *label) {
    tort_error error = {0};
    tort_tensor inputs[MAX_INPUTS] = {{0}}, outputs[MAX_OUTPUTS] = {{0}};
    tort_watch watch = {.end = TORT_GOES_ON};
    size_t scratch = 0;
    if (row->size) cr_assert(row->size(&cpu->target, view, &scratch, &error) == TORT_OK, "%s: %s", label, error.msg);
    for (int32_t i = 0; i < view->input_count; i++) {
        if (!tort_has_input(view, i)) continue;
        cr_assert(tort_info_tensor(&view->inputs[i], &inputs[i]));
        inputs[i].data = consumed >> i & 1 ? NULL : place(row, row->layout.inputs, i, &inputs[i]);
    }
    for (int32_t i = 0; i < view->output_count; i++) {
        if (!tort_has_output(view, i)) continue;
        cr_assert(tort_info_tensor(&view->outputs[i], &outputs[i]));
        outputs[i].data = NULL;
        outputs[i].data = place(row, row->layout.outputs, i, &outputs[i]);
    }
    tort_fit fit = {.node = view, .target = &cpu->target, .device = cpu->device, .env = &cpu->env, .error = &error};
    if (row->fit) cr_assert(row->fit(&fit) == TORT_OK, "%s: %s", label, error.msg);
    const tort_call call = {.op = view->op,
                            .params = view->params,
                            .inputs = inputs,
                            .outputs = outputs,
                            .input_count = view->input_count,
                            .output_count = view->output_count,
                            .scratch = allocate(scratch),
                            .packed = prepare->packed,
                            .prepared = prepare->prepared,
                            .fitted = fit.fitted,
                            .kernel = row,
                            .device = cpu->device,
                            .env = &cpu->env,
                            .watch = &watch,
                            .error = &error};
    memset(call.scratch, 0x5a, scratch);
    tort_watch_begin(&watch, LIMIT);
    row->run(&call);
    const int64_t late = tort_now() - watch.deadline;
    cr_expect_eq(watch.end, TORT_OUT_OF_TIME, "%s: did not ask whether the run goes on", label);
    cr_expect_lt(late, HANGS, "%s: ended %lld ms too late", label, (long long)(late / 1000000));
    if (row->unfit) row->unfit(cpu->device, &cpu->env, fit.fitted);
    for (int32_t i = 0; i < view->input_count; i++) free(inputs[i].data);
    for (int32_t i = 0; i < view->output_count; i++) free(outputs[i].data);
    free(call.scratch);
}

/* A row that packs large weights in parts fills none when the making of its session is over. */
static void check_packing_ends(const tort_kernel *row, tort_prepare prepare, size_t packed, const char *label) {
    tort_watch over = {.end = TORT_CANCELLED};
    const char *bytes = prepare.packed;
    prepare.watch = &over;
    cr_expect(row->prepare(&prepare) == TORT_OK, "%s", label);
    cr_expect(bytes[0] == 0 && !memcmp(bytes, bytes + 1, packed - 1), "%s: packed weights of a session that is over",
              label);
}

/* Prepares the row for the node and runs it. */
static void run_row(const tort_kernel *row, tort_node_view *view, const opened *cpu, const char *label) {
    tort_error error = {0};
    tort_prepare prepare = {
        .node = view, .target = &cpu->target, .device = cpu->device, .env = &cpu->env, .error = &error};
    size_t packed = 0;
    uint32_t consumed = 0;
    if (row->claim) {
        const tort_verdict verdict = row->claim(&cpu->target, view);
        cr_assert_eq(verdict.code, TORT_YES, "%s: refuses: %s", label, verdict.message);
    }
    if (row->pack.size)
        cr_assert(row->pack.size(&cpu->target, view, &packed, &consumed, &error) == TORT_OK, "%s: %s", label,
                  error.msg);
    if (packed) {
        prepare.packed = allocate(packed);
        memset(prepare.packed, 0, packed);
    }
    if (packed && row->pack.in_parts) check_packing_ends(row, prepare, packed, label);
    if (row->prepare) cr_assert(row->prepare(&prepare) == TORT_OK, "%s: %s", label, error.msg);
    run_call(row, view, &prepare, consumed, cpu, label);
    if (row->release) row->release(cpu->device, &cpu->env, prepare.prepared);
    free(prepare.packed);
}

static void run_case(const ending_case *wanted, const opened *cpu, const char *label) {
    const kernel_case of = {.domain = wanted->domain, .op = wanted->op, .kernel = wanted->kernel};
    random_node node = {0};
    tort_error error = {0};
    tort_pass pass;
    wanted->make(&node);
    tort_model *model = random_node_model(&of, &node, &cpu->env, &error);
    cr_assert(model, "%s: %s", label, error.msg);
    tort_info *infos = calloc((size_t)model->graphs[0].value_count, sizeof *infos), known[MAX_INPUTS];
    cr_assert(infos);
    for (int32_t i = 0; i < model->graphs[0].value_count; i++) infos[i] = model->graphs[0].values[i].info;
    cr_assert(tort_pass_init(&pass, model, &model->graphs[0], infos, &model->dims, &model->arena, &error) == 0);
    tort_node_view view = tort_pass_view(&pass, 0);
    memcpy(known, view.inputs, (size_t)node.input_count * sizeof *known);
    for (int32_t i = 0; i < node.input_count; i++) make_known(&known[i], &node.inputs[i]);
    view.inputs = known;
    size_t bytes;
    cr_assert(tort_params_measure(&view, &model->graphs[0].nodes[0], &bytes, &error) == TORT_OK, "%s", error.msg);
    void *params = allocate(bytes);
    memset(params, 0, bytes);
    const tort_resolve resolve = {.node = &view, .params = params, .error = &error};
    tort_resolve decode = resolve;
    if (view.op->resolve) cr_assert(view.op->resolve(&decode) == TORT_OK, "%s: %s", label, error.msg);
    view.params = params;
    const tort_kernel *row = find_row(wanted);
    tort_kernel widened;
    view.kernel = row;
    if (row->claim && row->claim(&cpu->target, &view).code == TORT_NO_TYPE) {
        cr_assert(tort_widen_row(&tort_provider_cpu, row, &widened), "%s", label);
        row = &widened;
    }
    view.kernel = row;
    if (!row->claim || row->claim(&cpu->target, &view).code != TORT_NO_CAPABILITY) run_row(row, &view, cpu, label);
    free(params);
    tort_pass_free(&pass);
    free(infos);
    tort_model_free(model);
    free_random_node(&node);
}

static void run_cases(const char *isa, const char *threads) {
    opened cpu;
    if (!open_cpu(isa, threads, &cpu)) return;
    for (const ending_case *wanted = ending_cases; wanted->op; wanted++) {
        char label[128];
        snprintf(label, sizeof label, "%s of %s, %s, isa %s, %s threads", wanted->kernel, wanted->op, wanted->what, isa,
                 threads);
        run_case(wanted, &cpu, label);
    }
    tort_provider_cpu.close(cpu.device);
    tort_pool_destroy(cpu.pool);
}

Test(ending_kernels, at_the_end_of_their_time) {
    static const char *const sets[] = {"v2", "v3", "v4", "neon", "rvv"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) run_cases(sets[i], "1");
}

Test(ending_kernels, on_several_threads) {
    run_cases("auto", "2");
}
