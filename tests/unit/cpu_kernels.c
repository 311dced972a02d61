/* cpu_kernels.c - every fast row of the provider `cpu` against the plain loop of its operator, on random odd shapes,
 * with every instruction set that this machine has.
 *
 * Results must be equal but for the last bit of a division, where no function such as exp comes in. A row without a
 * case fails, and so does a case that its row never took. Read next: cpu_kernel_cases.c, which makes the nodes. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"
#include "runtime/core/graph/infer.h"
#include "runtime/core/graph/graph.h"
#include "runtime/include/provider.h"
#include "runtime/core/providers/claim.h"
#include "runtime/core/base/threads.h"
#include "runtime/core/base/watch.h"
#include "tests/unit/cpu_kernel_cases.h"

extern const tort_provider tort_provider_cpu;

#define ROUNDS 60
#define GUARD 64 /* bytes behind a buffer that must stay as they are */
#define GUARD_BYTE 0x5a

/* ---- running a node by hand -------------------------------------------------------------------------------------- */

typedef struct opened {
    void *device;
    tort_target target;
    tort_env env;
    tort_pool *pool;
} opened;

/* A buffer with a guard behind it. */
static void *guarded(size_t bytes) {
    void *buffer = aligned_alloc(64, (bytes + GUARD + 63) / 64 * 64);
    cr_assert(buffer);
    memset(buffer, GUARD_BYTE, bytes + GUARD);
    return buffer;
}

static bool guard_intact(const void *buffer, size_t bytes) {
    for (size_t i = 0; i < GUARD; i++)
        if (((const uint8_t *)buffer)[bytes + i] != GUARD_BYTE) return false;
    return true;
}

/* outputs: MAX_OUTPUTS; a second one that nobody wants is absent. */
static void fill_call(tort_call *call, const random_node *random, tort_tensor *inputs, tort_tensor *outputs,
                      const opened *cpu) {
    for (int32_t i = 0; i < random->input_count; i++) inputs[i] = random->inputs[i];
    *call = (tort_call){.inputs = inputs,
                        .outputs = outputs,
                        .input_count = random->input_count,
                        .output_count = random->second_output ? 2 : 1 + random->scalar_outputs,
                        .device = cpu->device,
                        .env = &cpu->env};
}

/* How far apart two results in a half type may be that came to nearly the same in float: a few units in the last place
 * of the largest element, as parts of a sum may cancel. */
static double slack_of(const tort_tensor *wanted) {
    const double unit = wanted->type == TORT_FLOAT16 ? 0x1p-10 : wanted->type == TORT_BFLOAT16 ? 0x1p-7 : 0;
    double largest = 0;
    for (int64_t i = 0; unit > 0 && i < tort_count(wanted); i++) {
        double want;
        tort_load_doubles(wanted->type, wanted->data, i, 1, &want);
        if (isfinite(want) && fabs(want) > largest) largest = fabs(want);
    }
    return 4 * unit * largest;
}

static void compare(const tort_tensor *wanted, const tort_tensor *found, float tolerance, const char *label) {
    const double relative = tolerance > 0 ? (double)tolerance : 1e-6, absolute = (double)tolerance / 10;
    const double slack = slack_of(wanted);
    for (int64_t i = 0; i < tort_count(wanted); i++) {
        double want, got;
        tort_load_doubles(wanted->type, wanted->data, i, 1, &want);
        tort_load_doubles(found->type, found->data, i, 1, &got);
        if (got == want || (isnan(got) && isnan(want))) continue;
        /* A step of an activation in float may overflow where its end just does not. */
        if (tolerance > 0 && fabs(want) > 1e37 && isinf(got) && signbit(got) == signbit(want)) continue;
        if (fabs(got - want) <= slack) continue;
        if (wanted->type == TORT_FLOAT && fabs(got - want) <= absolute + relative * fabs(want)) continue;
        cr_expect(false, "%s: element %lld is %g, the plain loop makes %g", label, (long long)i, got, want);
        return;
    }
}

static bool same_form(const tort_tensor *a, const tort_tensor *b) {
    bool same = tort_present(a) && a->type == b->type && a->rank == b->rank;
    for (int32_t d = 0; same && d < a->rank; d++) same = a->dims[d] == b->dims[d];
    return same;
}

/* ---- layouts ----------------------------------------------------------------------------------------------------- */

static void convert(const opened *cpu, bool to_plain, const tort_tensor *from, tort_tensor *to) {
    const tort_layout *layout = &tort_provider_cpu.layouts[0];
    const tort_call call = {
        .inputs = from, .outputs = to, .input_count = 1, .output_count = 1, .device = cpu->device, .env = &cpu->env};
    if (tort_count(from) > 0) cr_assert((to_plain ? layout->to_plain : layout->from_plain)(&call) == TORT_OK);
}

static size_t bytes_of(const tort_tensor *tensor, bool in_layout) {
    size_t bytes;
    cr_assert(in_layout ? tort_provider_cpu.layouts[0].bytes(tensor, &bytes) : tort_tensor_bytes(tensor, &bytes));
    return bytes;
}

/* The tensor in the layout, with NaN in all that only fills it: there a picture of ones has zeros. */
static void *in_layout(const opened *cpu, const tort_tensor *plain) {
    const size_t bytes = bytes_of(plain, true);
    tort_tensor ones = *plain, marks = *plain, placed = *plain;
    ones.data = guarded(bytes);
    marks.data = guarded(bytes);
    placed.data = guarded(bytes);
    for (int64_t i = 0; i < tort_count(plain); i++) tort_store_floats(plain->type, ones.data, i, 1, &(float){1});
    memset(marks.data, 0, bytes);
    convert(cpu, false, &ones, &marks);
    convert(cpu, false, plain, &placed);
    for (int64_t i = 0; i < (int64_t)bytes * 8 / tort_type_bits(plain->type); i++) {
        float mark;
        tort_load_floats(plain->type, marks.data, i, 1, &mark);
        if (mark == 0) tort_store_floats(plain->type, placed.data, i, 1, &(float){NAN});
    }
    cr_expect(guard_intact(placed.data, bytes), "a conversion wrote behind its output");
    free(ones.data);
    free(marks.data);
    return placed.data;
}

/* What the row reads in the layout is brought there; to be freed. */
static void place_inputs(const tort_kernel *row, const opened *cpu, tort_tensor *inputs, int32_t count) {
    for (int32_t i = 0; i < count; i++)
        if (row->layout.id > 0 && row->layout.inputs >> i & 1 && tort_present(&inputs[i]))
            inputs[i].data = in_layout(cpu, &inputs[i]);
}

static void free_placed(const tort_kernel *row, tort_tensor *inputs, int32_t count) {
    for (int32_t i = 0; i < count; i++)
        if (row->layout.id > 0 && row->layout.inputs >> i & 1 && tort_present(&inputs[i])) free(inputs[i].data);
}

static bool writes_layout(const tort_kernel *row) {
    return row->layout.id > 0 && row->layout.outputs & 1;
}

/* What a run of the row wrote, beside what the plain loop makes. */
static void compare_output(const tort_kernel *row, const opened *cpu, const tort_tensor *wanted,
                           const tort_tensor *output, float tolerance, const char *label) {
    const size_t bytes = bytes_of(output, writes_layout(row));
    tort_tensor plain = *output;
    cr_expect(guard_intact(output->data, bytes), "%s: wrote behind its output", label);
    if (writes_layout(row)) {
        plain.data = guarded(bytes);
        convert(cpu, true, output, &plain);
    }
    compare(wanted, &plain, tolerance, label);
    if (writes_layout(row)) free(plain.data);
}

/* The same, written over each input over which the row says that it may be. */
static void run_in_place(const tort_kernel *row, const opened *cpu, const tort_call *call, tort_tensor *inputs,
                         const tort_tensor *expected, float tolerance, const char *label) {
    const tort_tensor *output = call->outputs;
    const size_t bytes = bytes_of(output, writes_layout(row));
    for (int32_t i = 0; i < call->input_count; i++) {
        const tort_tensor own = inputs[i];
        if (!(row->in_place >> i & 1) || !same_form(&own, output) || !own.data) continue;
        if (bytes) memcpy(output->data, own.data, bytes);
        inputs[i].data = output->data;
        cr_assert(row->run(call) == TORT_OK, "%s: %s", label, call->error->msg);
        compare_output(row, cpu, expected, output, tolerance, label);
        inputs[i] = own;
    }
}

/* What is packed does not depend on what was in memory before: saved plans hold every byte of it. */
static void check_all_written(const tort_kernel *row, tort_prepare prepare, size_t bytes, const char *label) {
    const void *packed = prepare.packed;
    prepare.packed = guarded(bytes);
    memset(prepare.packed, (uint8_t)~GUARD_BYTE, bytes);
    prepare.prepared = NULL;
    cr_assert(row->prepare(&prepare) == TORT_OK, "%s: %s", label, prepare.error->msg);
    cr_expect(memcmp(packed, prepare.packed, bytes) == 0, "%s: leaves bytes of its packed weights as they were", label);
    if (row->release) row->release(prepare.device, prepare.env, prepare.prepared);
    free(prepare.packed);
}

/* Runs that ended before, or end on the way: nothing but their memory counts. Scratch begins with numbers that would be
 * wild as indices. */
static void run_ended(const tort_kernel *row, const tort_call *call, size_t scratch, bool in_layout,
                      const char *label) {
    const size_t bytes = bytes_of(&call->outputs[0], in_layout);
    for (int64_t nanoseconds = 0; nanoseconds <= 4096; nanoseconds = 4 * nanoseconds + 64) {
        tort_watch watch = {.end = nanoseconds ? TORT_GOES_ON : TORT_CANCELLED, .deadline = tort_now() + nanoseconds};
        tort_error error = {0};
        tort_call ended = *call;
        ended.watch = &watch;
        ended.error = &error;
        memset(call->scratch, GUARD_BYTE, scratch);
        row->run(&ended);
        cr_expect(guard_intact(call->scratch, scratch), "%s: wrote behind its scratch, as it ended", label);
        cr_expect(guard_intact(call->outputs[0].data, bytes), "%s: wrote behind its output, as it ended", label);
    }
}

/* Runs the row on the node; expected holds the plain loop's results. False: the row refused. */
static bool run_row(const tort_kernel *row, const random_node *random, tort_node_view *view, const opened *cpu,
                    const tort_tensor *expected, const char *label) {
    tort_error error = {0};
    tort_tensor inputs[MAX_INPUTS], outputs[MAX_OUTPUTS];
    uint64_t scalars[MAX_OUTPUTS] = {0};
    tort_call call;
    size_t scratch = 0;
    tort_info infos[MAX_INPUTS];
    if (row->claim && row->claim(&cpu->target, view).code != TORT_YES) return false;
    memcpy(outputs, expected, sizeof outputs);
    for (int32_t i = 1; i < MAX_OUTPUTS && !random->second_output; i++) outputs[i].data = &scalars[i];
    fill_call(&call, random, inputs, outputs, cpu);
    call.op = view->op;
    call.params = view->params;
    call.kernel = row;
    memcpy(infos, view->inputs, (size_t)random->input_count * sizeof *infos);
    for (int32_t i = 0; i < random->input_count; i++)
        if (tort_present(&random->inputs[i])) infos[i].data = random->constant[i] ? random->inputs[i].data : NULL;
    tort_node_view prepared_view = *view;
    prepared_view.inputs = infos;
    tort_prepare prepare = {
        .node = &prepared_view, .target = &cpu->target, .device = cpu->device, .env = &cpu->env, .error = &error};
    size_t packed = 0;
    uint32_t consumed = 0;
    if (row->pack.size)
        cr_assert(row->pack.size(&cpu->target, &prepared_view, &packed, &consumed, &error) == TORT_OK, "%s: %s", label,
                  error.msg);
    if (packed) prepare.packed = guarded(packed);
    if (packed && !row->pack.writes_all) memset(prepare.packed, 0, packed);
    if (row->prepare) cr_assert(row->prepare(&prepare) == TORT_OK, "%s: %s", label, error.msg);
    if (packed && row->pack.writes_all) check_all_written(row, prepare, packed, label);
    for (int32_t i = 0; i < random->input_count; i++)
        if (consumed >> i & 1) inputs[i].data = NULL; /* it says that it never reads it again */
    if (row->size) cr_assert(row->size(&cpu->target, view, &scratch, &error) == TORT_OK, "%s: %s", label, error.msg);
    place_inputs(row, cpu, inputs, random->input_count);
    outputs[0].data = guarded(bytes_of(expected, writes_layout(row)));
    call.scratch = guarded(scratch);
    tort_fit fit = {.node = view, .target = &cpu->target, .device = cpu->device, .env = &cpu->env, .error = &error};
    if (row->fit) cr_assert(row->fit(&fit) == TORT_OK, "%s: %s", label, error.msg);
    call.fitted = fit.fitted;
    call.packed = prepare.packed;
    call.prepared = prepare.prepared;
    call.error = &error;
    cr_assert(row->run(&call) == TORT_OK, "%s: %s", label, error.msg);
    cr_expect(guard_intact(call.scratch, scratch), "%s: wrote behind its scratch", label);
    if (packed) cr_expect(guard_intact(prepare.packed, packed), "%s: wrote behind its packed weights", label);
    compare_output(row, cpu, expected, outputs, random->tolerance, label);
    for (int32_t i = 1; i < call.output_count && !random->second_output; i++)
        compare(&expected[i], &outputs[i], random->tolerance, label);
    run_in_place(row, cpu, &call, inputs, expected, random->tolerance, label);
    run_ended(row, &call, scratch, writes_layout(row), label);
    free_placed(row, inputs, random->input_count);
    if (row->unfit) row->unfit(cpu->device, &cpu->env, fit.fitted);
    if (row->release) row->release(cpu->device, &cpu->env, prepare.prepared);
    free(outputs[0].data);
    free(call.scratch);
    free(prepare.packed);
    return true;
}

/* The row, or by the provider's widening, where it refuses the types. */
static const tort_kernel *row_for(const tort_kernel *row, const tort_node_view *view, const tort_target *target,
                                  tort_kernel *widened) {
    if (!row->claim || row->claim(target, view).code != TORT_NO_TYPE) return row;
    return tort_widen_row(&tort_provider_cpu, row, widened) ? widened : row;
}

typedef enum outcome { INVALID, REFUSED, INCAPABLE, TAKEN } outcome;

/* One random node: infers, resolves, runs the plain loop and the row. */
static outcome run_round(const kernel_case *kernel, const tort_kernel *row, tort_type half, const opened *cpu,
                         uint64_t seed, const char *label) {
    random_node random = {0};
    random_source source = {seed};
    tort_error error = {0};
    tort_pass pass;
    outcome came_to = INVALID;
    tort_model *model = make_random_node(kernel, &random, &source, &cpu->env) && to_halves(&random, half)
                            ? random_node_model(kernel, &random, &cpu->env, &error)
                            : NULL;
    if (model) {
        tort_info infos[MAX_INPUTS + 1];
        for (int32_t i = 0; i < model->graphs[0].value_count; i++) infos[i] = model->graphs[0].values[i].info;
        cr_assert(tort_pass_init(&pass, model, &model->graphs[0], infos, &model->dims, &model->arena, &error) == 0);
        tort_node_view view = tort_pass_view(&pass, 0);
        tort_info known[MAX_INPUTS];
        memcpy(known, view.inputs, (size_t)random.input_count * sizeof *known);
        for (int32_t i = 0; i < random.input_count; i++)
            if (random.constant[i]) make_known(&known[i], &random.inputs[i]);
        view.inputs = known;
        size_t params_bytes;
        cr_assert(tort_params_measure(&view, &model->graphs[0].nodes[0], &params_bytes, &error) == TORT_OK, "%s: %s",
                  label, error.msg);
        void *params = aligned_alloc(16, params_bytes / 16 * 16 + 16);
        cr_assert(params);
        memset(params, 0, params_bytes);
        tort_resolve resolve = {.node = &view, .params = params, .error = &error};
        if (view.op->resolve) cr_assert(view.op->resolve(&resolve) == TORT_OK, "%s: %s", label, error.msg);
        view.params = params;
        tort_kernel widened;
        view.kernel = row;
        row = row_for(row, &view, &cpu->target, &widened);
        view.kernel = row;
        uint64_t scalars[2] = {0};
        tort_tensor inputs[MAX_INPUTS];
        tort_tensor expected[MAX_OUTPUTS] = {{.type = view.outputs[0].type, .rank = view.outputs[0].rank},
                                             {.type = TORT_FLOAT, .data = &scalars[0]},
                                             {.type = TORT_UINT8, .data = &scalars[1]}};
        memcpy(expected[0].dims, view.outputs[0].dims, sizeof expected[0].dims);
        if (random.second_output) expected[1] = (tort_tensor){.type = TORT_UNDEFINED};
        size_t bytes;
        cr_assert(tort_tensor_bytes(expected, &bytes));
        expected[0].data = guarded(bytes);
        tort_call call;
        fill_call(&call, &random, inputs, expected, cpu);
        call.op = view.op;
        call.params = params;
        call.scratch = guarded(resolve.scratch_bytes);
        cr_assert(view.op->reference(&call) == TORT_OK);
        came_to = run_row(row, &random, &view, cpu, expected, label) ? TAKEN : REFUSED;
        if (row->claim && row->claim(&cpu->target, &view).code == TORT_NO_CAPABILITY) came_to = INCAPABLE;
        free(call.scratch);
        free(expected[0].data);
        free(params);
        tort_pass_free(&pass);
        tort_model_free(model);
    }
    free_random_node(&random);
    return came_to;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static bool is_of(const tort_kernel *row, const kernel_case *wanted) {
    return strcmp(row->op, wanted->op) == 0 && strcmp(row->domain, wanted->domain) == 0 &&
           strcmp(row->name, wanted->kernel) == 0;
}

static const tort_kernel *find_row(const kernel_case *wanted) {
    for (const tort_kernel *const *table = tort_provider_cpu.kernels; *table; table++)
        for (const tort_kernel *row = *table; row->op; row++)
            if (is_of(row, wanted)) return row;
    return NULL;
}

static bool open_cpu(const char *isa, opened *cpu) {
    const tort_provider_option options[] = {{"isa", isa}, {"threads", "2"}};
    tort_condition condition;
    cpu->env = tort_env_complete(NULL);
    cpu->pool = tort_pool_create(&cpu->env, 2, -1, false);
    cr_assert(cpu->pool);
    cpu->env.parallel_for = tort_pool_parallel_for;
    cpu->env.parallel_ud = cpu->pool;
    const tort_provider_config config = {.provider = "cpu", .options = options, .option_count = 2, .env = &cpu->env};
    tort_provider_cpu.open(&config, &cpu->device, &cpu->target, &condition);
    if (!condition.ready) {
        /* Criterion has no skip within a test; the sum over all runners reads this line. */
        printf("cpu_kernels: isa=%s is not tested here: %s\n", isa, condition.message);
        printf("cpu_kernels: 0 passed, 0 failed, 1 skipped\n");
        fflush(stdout);
        tort_pool_destroy(cpu->pool);
    }
    return condition.ready;
}

static void run_cases(const char *isa) {
    opened cpu;
    if (!open_cpu(isa, &cpu)) return;
    for (size_t c = 0; kernel_case_at(c); c++) {
        const kernel_case *wanted = kernel_case_at(c);
        const tort_kernel *row = find_row(wanted);
        int32_t taken = 0, needed = ROUNDS / 2;
        cr_assert(row, "no row %s for %s", wanted->kernel, wanted->op);
        for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
            char label[80];
            snprintf(label, sizeof label, "%s of %s, isa %s, seed %d", wanted->kernel, wanted->op, isa, (int)seed);
            const outcome came_to = run_round(wanted, row, TORT_FLOAT, &cpu, seed * 7919 + c, label);
            taken += came_to == TAKEN;
            if (came_to == INCAPABLE) needed = 0;
        }
        cr_expect(taken >= needed, "%s of %s took %d of %d nodes", wanted->kernel, wanted->op, (int)taken, ROUNDS);
    }
    tort_provider_cpu.close(cpu.device);
    tort_pool_destroy(cpu.pool);
}

Test(cpu_kernels, equal_the_plain_loops) {
    run_cases("auto");
}

Test(cpu_kernels, of_every_instruction_set) {
    static const char *const sets[] = {"v2",     "v3",       "v3_vnni", "v4",       "v4_vnni",
                                       "v4_amx", "v3_tiles", "neon",    "neon_dot", "rvv"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) run_cases(sets[i]);
}

/* The row in a half type, where the operator takes that: by itself, or by the provider's widening. */
static void run_halves(const kernel_case *wanted, const opened *cpu, tort_type half, uint64_t first, const char *isa) {
    const tort_kernel *row = find_row(wanted);
    int32_t valid = 0, taken = 0;
    cr_assert(row, "no row %s for %s", wanted->kernel, wanted->op);
    for (uint64_t seed = first; seed < first + ROUNDS / 4; seed++) {
        char label[96];
        snprintf(label, sizeof label, "%s of %s in %s, isa %s, seed %d", wanted->kernel, wanted->op,
                 tort_type_name(half), isa, (int)seed);
        const outcome came_to = run_round(wanted, row, half, cpu, seed * 104729, label);
        valid += came_to != INVALID;
        taken += came_to == TAKEN;
    }
    cr_expect(taken > 0 || valid == 0, "%s of %s took none of %d nodes in %s", wanted->kernel, wanted->op, (int)valid,
              tort_type_name(half));
}

static void run_half_cases(const char *isa) {
    opened cpu;
    if (!open_cpu(isa, &cpu)) return;
    for (size_t c = 0; kernel_case_at(c); c++) {
        if (strcmp(kernel_case_at(c)->kernel, "cast_halves") == 0) continue; /* its cases have halves already */
        run_halves(kernel_case_at(c), &cpu, TORT_FLOAT16, 1, isa);
        run_halves(kernel_case_at(c), &cpu, TORT_BFLOAT16, 1001, isa);
    }
    tort_provider_cpu.close(cpu.device);
    tort_pool_destroy(cpu.pool);
}

Test(cpu_kernels, of_halves_equal_the_plain_loops) {
    static const char *const sets[] = {"v2", "v3", "v4", "neon", "rvv"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) run_half_cases(sets[i]);
}

/* What the row says of the case's node, if the first dimension of its first input is not known yet. */
static int32_t claim_of_any_length(const kernel_case *wanted, random_node *random, const opened *cpu) {
    tort_error error = {0};
    tort_pass pass;
    tort_info infos[MAX_INPUTS + 1];
    tort_model *model = random_node_model(wanted, random, &cpu->env, &error);
    cr_assert(model, "%s", error.msg);
    for (int32_t i = 0; i < model->graphs[0].value_count; i++) infos[i] = model->graphs[0].values[i].info;
    infos[0].dims[0] = tort_dim_fresh(&model->dims, true);
    cr_assert(tort_pass_init(&pass, model, &model->graphs[0], infos, &model->dims, &model->arena, &error) == 0);
    tort_node_view view = tort_pass_view(&pass, 0);
    size_t bytes;
    cr_assert(tort_params_measure(&view, &model->graphs[0].nodes[0], &bytes, &error) == TORT_OK);
    void *params = calloc(1, bytes);
    tort_resolve resolve = {.node = &view, .params = params, .error = &error};
    cr_assert(params && view.op->resolve(&resolve) == TORT_OK, "%s", error.msg);
    view.params = params;
    view.kernel = find_row(wanted);
    const int32_t code = (int32_t)view.kernel->claim(&cpu->target, &view).code;
    free(params);
    tort_pass_free(&pass);
    tort_model_free(model);
    free_random_node(random);
    return code;
}

Test(cpu_kernels, what_batches_may_be_of_any_length_is_claimed) {
    static const kernel_case norm = {"", "LayerNormalization", "layer_norm_rows", NULL, NULL};
    static const kernel_case rms = {"", "RMSNormalization", "rms_norm_rows", NULL, NULL};
    static const kernel_case einsum = {"", "Einsum", "einsum_products", NULL, NULL};
    const int64_t x[3] = {2, 3, 8}, one = 1, y[3] = {2, 8, 4};
    random_source source = {1};
    opened cpu;
    cr_assert(open_cpu("auto", &cpu));
    for (int32_t i = 0; i < 4; i++) {
        random_node random = {.opset = i == 1 ? 23 : 17};
        add_tensor(&random, &source, 3, x);
        if (i == 2) add_string(&random, "equation", "bij,bjk->bik");
        add_tensor(&random, &source, i == 2 ? 3 : 1, i == 2 ? y : i == 3 ? &one : x + 2);
        const int32_t code = claim_of_any_length(i == 1 ? &rms : i == 2 ? &einsum : &norm, &random, &cpu);
        cr_expect_eq(code, i == 3 ? TORT_NO_SHAPE : TORT_YES, "node %d", (int)i); /* 3: one scale for all */
    }
    tort_provider_cpu.close(cpu.device);
    tort_pool_destroy(cpu.pool);
}

Test(cpu_kernels, every_row_has_a_case) {
    for (const tort_kernel *const *table = tort_provider_cpu.kernels; *table; table++)
        for (const tort_kernel *row = *table; row->op; row++) {
            bool found = strcmp(row->op, "*") == 0 || row->asked; /* tests/tiles has those for options */
            for (size_t c = 0; kernel_case_at(c); c++) found = found || is_of(row, kernel_case_at(c));
            cr_expect(found, "no case for the row %s of %s", row->name, row->op);
        }
}

static tort_status no_loop(const tort_call *call) {
    (void)call;
    return TORT_OK;
}

Test(cpu_kernels, the_last_row_takes_what_has_a_plain_loop) {
    const tort_kernel *const *table = tort_provider_cpu.kernels;
    while (table[1]) table++;
    const tort_op with = {.reference = no_loop}, without = {0};
    tort_node_view node = {.op = &with};
    const tort_target target = {0};
    cr_assert_str_eq((*table)->op, "*");
    cr_expect_eq((*table)->claim(&target, &node).code, TORT_YES);
    node.op = &without;
    cr_expect_eq((*table)->claim(&target, &node).code, TORT_NO_OP);
}

static tort_condition open_with(const char *key, const char *value, tort_target *target) {
    const tort_provider_option option = {key, value};
    const tort_env env = tort_env_complete(NULL);
    const tort_provider_config config = {.provider = "cpu", .options = &option, .option_count = 1, .env = &env};
    tort_condition condition;
    void *device;
    tort_provider_cpu.open(&config, &device, target, &condition);
    tort_provider_cpu.close(device);
    return condition;
}

Test(cpu_kernels, options_are_checked) {
    tort_target target;
    cr_expect_str_eq(open_with("threads", "0", &target).code, "BAD_OPTION");
    cr_expect_str_eq(open_with("threads", "3x", &target).code, "BAD_OPTION");
    cr_expect_str_eq(open_with("threads", "", &target).code, "BAD_OPTION");
    cr_expect_str_eq(open_with("isa", "v9", &target).code, "BAD_OPTION");
    tort_condition condition = open_with("threads", "3", &target);
    cr_expect(condition.ready, "%s", condition.message);
    cr_expect_eq(target.threads, 3);
}
