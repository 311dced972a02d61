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
#include "runtime/graph/infer.h"
#include "runtime/provider.h"
#include "runtime/base/threads.h"
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

/* Gives the model the tensors that are attributes. */
static void add_tensors(tort_model *model, random_node *random) {
    for (int32_t i = 0; i < random->attribute_count; i++) {
        tort_attribute *attribute = &random->attributes[i];
        if (attribute->kind != TORT_ATTR_TENSOR) continue;
        int32_t *weight = tort_arena_array(&model->arena, 1, sizeof *weight);
        cr_assert(weight);
        *weight = tort_model_add_weight_data(model, &random->tensors[attribute->u.i]);
        cr_assert(*weight >= 0);
        attribute->u.weights = weight;
    }
}

static tort_model *model_of(const char *domain, const char *op, random_node *random, const tort_env *env,
                            tort_error *error) {
    tort_model *model = tort_model_new(env);
    cr_assert(model && tort_model_add_graph(model, "test", "") == 0);
    int32_t *ports = tort_arena_array(&model->arena, 2 * MAX_INPUTS + 2, sizeof *ports);
    cr_assert(ports);
    tort_graph *graph = &model->graphs[0];
    graph->inputs = ports + MAX_INPUTS;
    add_tensors(model, random);
    for (int32_t i = 0; i < random->input_count; i++) {
        char name[16];
        ports[i] = -1;
        if (!tort_present(&random->inputs[i])) continue;
        snprintf(name, sizeof name, "x%d", i);
        ports[i] = tort_graph_add_value(model, 0, name);
        tort_graph_value *value = &graph->values[ports[i]];
        if (random->constant[i]) {
            value->weight = tort_model_add_weight_data(model, &random->inputs[i]);
            cr_assert(value->weight >= 0);
            continue;
        }
        value->info.type = random->inputs[i].type;
        value->info.rank = random->inputs[i].rank;
        memcpy(value->info.dims, random->inputs[i].dims, sizeof value->info.dims);
        graph->inputs[graph->input_count++] = ports[i];
    }
    ports[2 * MAX_INPUTS] = tort_graph_add_value(model, 0, "y");
    ports[2 * MAX_INPUTS + 1] = -1;
    graph->outputs = ports + 2 * MAX_INPUTS;
    graph->output_count = 1;
    const tort_node node = {.name = "node",
                            .domain = domain,
                            .op_type = op,
                            .opset = random->opset,
                            .inputs = ports,
                            .outputs = graph->outputs,
                            .attributes = random->attributes,
                            .input_count = random->input_count,
                            .output_count = random->second_output ? 2 : 1,
                            .attribute_count = random->attribute_count};
    cr_assert(tort_graph_add_node(model, 0, &node) == 0);
    if (tort_model_finish(model, 0, error) == TORT_OK) return model;
    tort_model_free(model);
    return NULL;
}

/* outputs: two, the second of which is absent. */
static void fill_call(tort_call *call, const random_node *random, tort_tensor *inputs, tort_tensor *outputs,
                      const opened *cpu) {
    for (int32_t i = 0; i < random->input_count; i++) inputs[i] = random->inputs[i];
    *call = (tort_call){.inputs = inputs,
                        .outputs = outputs,
                        .input_count = random->input_count,
                        .output_count = random->second_output ? 2 : 1,
                        .device = cpu->device,
                        .env = &cpu->env};
}

static void compare(const tort_tensor *wanted, const tort_tensor *found, float tolerance, const char *label) {
    const double relative = tolerance > 0 ? (double)tolerance : 1e-6, absolute = (double)tolerance / 10;
    for (int64_t i = 0; i < tort_count(wanted); i++) {
        double want, got;
        tort_load_doubles(wanted->type, wanted->data, i, 1, &want);
        tort_load_doubles(found->type, found->data, i, 1, &got);
        if (got == want || (isnan(got) && isnan(want))) continue;
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

/* The same, written over each input over which the row says that it may be. */
static void run_in_place(const tort_kernel *row, const tort_call *call, tort_tensor *inputs,
                         const tort_tensor *expected, float tolerance, const char *label) {
    const tort_tensor *output = call->outputs;
    size_t bytes;
    cr_assert(tort_tensor_bytes(output, &bytes));
    for (int32_t i = 0; i < call->input_count; i++) {
        const tort_tensor own = inputs[i];
        if (!(row->in_place >> i & 1) || !same_form(&own, output) || !own.data) continue;
        if (bytes) memcpy(output->data, own.data, bytes);
        inputs[i].data = output->data;
        cr_assert(row->run(call) == TORT_OK, "%s: %s", label, call->error->msg);
        cr_expect(guard_intact(output->data, bytes), "%s: wrote behind its output in place", label);
        compare(expected, output, tolerance, label);
        inputs[i] = own;
    }
}

/* Runs the row on the node; expected holds the plain loop's result. False: the row refused. */
static bool run_row(const tort_kernel *row, const random_node *random, tort_node_view *view, const opened *cpu,
                    const tort_tensor *expected, const char *label) {
    tort_error error = {0};
    tort_tensor inputs[MAX_INPUTS], outputs[2] = {*expected};
    tort_call call;
    size_t scratch = 0, bytes;
    tort_info infos[MAX_INPUTS];
    if (row->claim && row->claim(&cpu->target, view).code != TORT_YES) return false;
    fill_call(&call, random, inputs, outputs, cpu);
    call.params = view->params;
    memcpy(infos, view->inputs, (size_t)random->input_count * sizeof *infos);
    for (int32_t i = 0; i < random->input_count; i++)
        if (tort_present(&random->inputs[i])) infos[i].data = random->constant[i] ? random->inputs[i].data : NULL;
    tort_node_view prepared_view = *view;
    prepared_view.inputs = infos;
    tort_prepare prepare = {
        .node = &prepared_view, .target = &cpu->target, .device = cpu->device, .env = &cpu->env, .error = &error};
    size_t packed = 0;
    uint32_t consumed = 0;
    if (row->pack_size)
        cr_assert(row->pack_size(&cpu->target, &prepared_view, &packed, &consumed, &error) == TORT_OK, "%s: %s", label,
                  error.msg);
    if (packed) prepare.packed = guarded(packed);
    if (row->prepare) cr_assert(row->prepare(&prepare) == TORT_OK, "%s: %s", label, error.msg);
    for (int32_t i = 0; i < random->input_count; i++)
        if (consumed >> i & 1) inputs[i].data = NULL; /* it says that it never reads it again */
    if (row->size) cr_assert(row->size(&cpu->target, view, &scratch, &error) == TORT_OK, "%s: %s", label, error.msg);
    cr_assert(tort_tensor_bytes(expected, &bytes));
    outputs[0].data = guarded(bytes);
    call.scratch = guarded(scratch);
    call.packed = prepare.packed;
    call.prepared = prepare.prepared;
    call.error = &error;
    cr_assert(row->run(&call) == TORT_OK, "%s: %s", label, error.msg);
    cr_expect(guard_intact(outputs[0].data, bytes), "%s: wrote behind its output", label);
    cr_expect(guard_intact(call.scratch, scratch), "%s: wrote behind its scratch", label);
    if (packed) cr_expect(guard_intact(prepare.packed, packed), "%s: wrote behind its packed weights", label);
    compare(expected, &outputs[0], random->tolerance, label);
    run_in_place(row, &call, inputs, expected, random->tolerance, label);
    if (row->release) row->release(cpu->device, &cpu->env, prepare.prepared);
    free(outputs[0].data);
    free(call.scratch);
    free(prepare.packed);
    return true;
}

/* For a fused operator: gives the node of the plain one its epilogue. False: that is not valid. */
static bool fuse(const kernel_case *kernel, random_node *random, random_source *source, const tort_env *env) {
    tort_error error = {0};
    tort_pass pass;
    if (!kernel->plain) return true;
    tort_model *model = model_of("", kernel->plain, random, env, &error);
    if (!model) return false;
    tort_info infos[MAX_INPUTS + 1];
    for (int32_t i = 0; i < model->graphs[0].value_count; i++) infos[i] = model->graphs[0].values[i].info;
    cr_assert(tort_pass_init(&pass, model, &model->graphs[0], infos, &model->dims, &model->arena, &error) == 0);
    add_epilogue(random, source, kernel, &tort_pass_view(&pass, 0).outputs[0]);
    tort_pass_free(&pass);
    tort_model_free(model);
    return true;
}

/* One random node: infers, resolves, runs the plain loop and the row. False: not valid, or refused. */
static bool run_round(const kernel_case *kernel, const tort_kernel *row, const opened *cpu, uint64_t seed,
                      const char *label) {
    random_node random = {0};
    random_source source = {seed};
    tort_error error = {0};
    tort_pass pass;
    bool taken = false;
    kernel->make(&random, &source);
    const bool valid = fuse(kernel, &random, &source, &cpu->env);
    tort_model *model = valid ? model_of(kernel->domain, kernel->op, &random, &cpu->env, &error) : NULL;
    if (model) {
        tort_info infos[MAX_INPUTS + 1];
        for (int32_t i = 0; i < model->graphs[0].value_count; i++) infos[i] = model->graphs[0].values[i].info;
        cr_assert(tort_pass_init(&pass, model, &model->graphs[0], infos, &model->dims, &model->arena, &error) == 0);
        tort_node_view view = tort_pass_view(&pass, 0);
        tort_info known[MAX_INPUTS];
        memcpy(known, view.inputs, (size_t)random.input_count * sizeof *known);
        for (int32_t i = 0; i < random.input_count; i++)
            if (random.constant[i]) known[i].data = random.inputs[i].data;
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
        tort_tensor inputs[MAX_INPUTS], expected = {.type = view.outputs[0].type, .rank = view.outputs[0].rank};
        memcpy(expected.dims, view.outputs[0].dims, sizeof expected.dims);
        size_t bytes;
        cr_assert(tort_tensor_bytes(&expected, &bytes));
        expected.data = guarded(bytes);
        tort_tensor outputs[2] = {expected};
        tort_call call;
        fill_call(&call, &random, inputs, outputs, cpu);
        call.params = params;
        call.scratch = guarded(resolve.scratch_bytes);
        cr_assert(view.op->reference(&call) == TORT_OK);
        taken = run_row(row, &random, &view, cpu, &expected, label);
        free(call.scratch);
        free(expected.data);
        free(params);
        tort_pass_free(&pass);
        tort_model_free(model);
    }
    for (int32_t i = 0; i < random.input_count; i++) free(random.inputs[i].data);
    free(random.block);
    return taken;
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
    cpu->pool = tort_pool_create(&cpu->env, 2);
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
    for (size_t c = 0; kernel_cases[c].op; c++) {
        const kernel_case *wanted = &kernel_cases[c];
        const tort_kernel *row = find_row(wanted);
        int32_t taken = 0;
        cr_assert(row, "no row %s for %s", wanted->kernel, wanted->op);
        for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
            char label[80];
            snprintf(label, sizeof label, "%s of %s, isa %s, seed %d", wanted->kernel, wanted->op, isa, (int)seed);
            taken += run_round(wanted, row, &cpu, seed * 7919 + c, label);
        }
        cr_expect(taken >= ROUNDS / 2, "%s of %s took %d of %d nodes", wanted->kernel, wanted->op, (int)taken, ROUNDS);
    }
    tort_provider_cpu.close(cpu.device);
    tort_pool_destroy(cpu.pool);
}

Test(cpu_kernels, equal_the_plain_loops) {
    run_cases("auto");
}

Test(cpu_kernels, of_every_instruction_set) {
    static const char *const sets[] = {"v2", "v3", "v4", "neon"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) run_cases(sets[i]);
}

/* What the row says of the case's node, if the first dimension of its first input is not known yet. */
static int32_t claim_of_any_length(const kernel_case *wanted, random_node *random, const opened *cpu) {
    tort_error error = {0};
    tort_pass pass;
    tort_info infos[MAX_INPUTS + 1];
    tort_model *model = model_of(wanted->domain, wanted->op, random, &cpu->env, &error);
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
    const int32_t code = (int32_t)find_row(wanted)->claim(&cpu->target, &view).code;
    free(params);
    tort_pass_free(&pass);
    tort_model_free(model);
    for (int32_t i = 0; i < random->input_count; i++) free(random->inputs[i].data);
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
            bool found = strcmp(row->op, "*") == 0;
            for (size_t c = 0; kernel_cases[c].op; c++) found = found || is_of(row, &kernel_cases[c]);
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
