/* saved_plans.c - tests of tort_session_save and tort_session_load: the same bits and the same report without the
 * model, sessions that cannot be saved, memory that runs out, machines and builds that differ. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/cpu/simd.h"
#include "runtime/include/provider.h"
#include "tests/counting_env.h"
#include "tests/unit/saved_models.h"

/* ---- there and back ---------------------------------------------------------------------------------------------- */

Test(saved_plans, the_same_bits_and_report_without_the_model) {
    for (int m = 0; m < SAVED_MODELS; m++) {
        saved_original o = saved_original_make(saved_models[m].write, &saved_on_cpu);
        tort_session *session = saved_load(&o.bytes);
        saved_expect_same(session, &o, saved_models[m].name);
        tort_session_free(session);
        saved_original_free(&o);
    }
}

Test(saved_plans, a_fusion_and_what_it_was_made_of) {
    saved_original o = saved_original_make(saved_conv_net, &saved_on_cpu);
    cr_expect(strstr(o.report, "from conv Conv from norm BatchNormalization from relu Relu"), "%s", o.report);
    saved_original_free(&o);
}

Test(saved_plans, a_loaded_plan_can_be_saved_again) {
    for (int m = 0; m < SAVED_MODELS; m++) {
        saved_original o = saved_original_make(saved_models[m].write, &saved_on_cpu);
        tort_session *first = saved_load(&o.bytes);
        saved_bytes again = {0};
        tort_error error;
        const tort_writer writer = saved_writer(&again);
        cr_assert_eq(tort_session_save_writer(first, &writer, &error), TORT_OK, "%s", error.msg);
        tort_session_free(first);
        tort_session *second = saved_load(&again);
        saved_expect_same(second, &o, saved_models[m].name);
        tort_session_free(second);
        free(again.data);
        saved_original_free(&o);
    }
}

Test(saved_plans, a_file_that_is_read_or_mapped) {
    char path[] = "/tmp/tinyort-plan-XXXXXX";
    const int fd = mkstemp(path);
    saved_original o = saved_original_make(saved_open_conv_net, &saved_on_cpu);
    cr_assert(fd >= 0 && write(fd, o.bytes.data, o.bytes.size) == (ssize_t)o.bytes.size && close(fd) == 0);
    for (int map = 0; map < 2; map++) {
        const tort_plan_options options = {.struct_size = sizeof options, .map = map};
        tort_session *session = NULL;
        tort_error error;
        cr_assert_eq(tort_session_load(NULL, path, &options, &session, &error), TORT_OK, "%s", error.msg);
        saved_expect_same(session, &o, map ? "mapped" : "read");
        tort_session_free(session);
    }
    unlink(path);
    saved_original_free(&o);
}

Test(saved_plans, sizes_that_options_fixed_stay_fixed) {
    const tort_symbol_size batch = {"N", 2};
    tort_session_options options = saved_on_cpu;
    options.symbols = &batch;
    options.symbol_count = 1;
    saved_original o = saved_original_make(saved_open_conv_net, &options);
    tort_session *session = saved_load(&o.bytes);
    const tort_input_shape other = {.name = "x", .rank = 4, .dims = {3, 3, 8, 8}};
    tort_error error;
    saved_expect_same(session, &o, "fixed");
    cr_expect_eq(tort_session_plan(session, &other, 1, &error), TORT_E_INPUT, "%s", error.msg);
    tort_session_free(session);
    saved_original_free(&o);
}

/* An allocator whose memory is full of something. */
static void *dirty_alloc(void *ud, void *memory, size_t old_size, size_t new_size) {
    if (!new_size) {
        free(memory);
        return NULL;
    }
    char *block = realloc(memory, new_size);
    const size_t kept = memory ? old_size : 0;
    if (block && new_size > kept) memset(block + kept, *(const int *)ud, new_size - kept);
    return block;
}

/* Gaps of packed weights would tell what was in memory before. */
Test(saved_plans, nothing_else_of_memory_is_in_the_file) {
    saved_bytes made[2] = {{.data = NULL}, {.data = NULL}};
    onnx_bytes b = {0};
    saved_conv_net(&b);
    for (int i = 0; i < 2; i++) {
        int dirt = i ? 0x55 : 0xaa;
        const tort_env env = {.struct_size = sizeof env, .alloc = dirty_alloc, .alloc_ud = &dirt};
        const tort_writer writer = saved_writer(&made[i]);
        tort_model *model = NULL;
        tort_session *session = NULL;
        cr_assert_eq(tort_model_load_buffer(&env, b.data, b.size, NULL, &model, NULL), TORT_OK);
        cr_assert_eq(tort_session_create(&env, model, &saved_on_cpu, &session, NULL), TORT_OK);
        cr_assert_eq(tort_session_save_writer(session, &writer, NULL), TORT_OK);
        tort_session_free(session);
        tort_model_free(model);
    }
    cr_assert_eq(made[0].size, made[1].size);
    cr_expect_eq(memcmp(made[0].data, made[1].data, made[0].size), 0);
    for (int i = 0; i < 2; i++) free(made[i].data);
    onnx_free(&b);
}

Test(saved_plans, upper_bounds_stay) {
    const tort_symbol_size batch = {"N", 4};
    tort_session_options options = saved_on_cpu;
    options.max_symbols = &batch;
    options.max_symbol_count = 1;
    saved_original o = saved_original_make(saved_open_conv_net, &options);
    tort_session *session = saved_load(&o.bytes);
    tort_input_shape shape = {.name = "x", .rank = 4, .dims = {4, 3, 8, 8}};
    tort_error error;
    saved_expect_same(session, &o, "bounded");
    cr_expect_eq(tort_session_plan(session, &shape, 1, &error), TORT_OK, "%s", error.msg);
    shape.dims[0] = 5;
    cr_expect_eq(tort_session_plan(session, &shape, 1, &error), TORT_E_INPUT);
    cr_expect(strstr(error.msg, "at most 4"), "%s", error.msg);
    tort_session_free(session);
    saved_original_free(&o);
}

/* ---- what cannot be saved ---------------------------------------------------------------------------------------- */

static int refuse_bytes(void *ud, const void *bytes, size_t size) {
    size_t *left = ud;
    (void)bytes;
    if (size > *left) return -1;
    *left -= size;
    return 0;
}

Test(saved_plans, a_writer_that_fails_is_told) {
    saved_original o = saved_original_make(saved_conv_net, &saved_on_cpu);
    tort_session *session = saved_load(&o.bytes);
    tort_error error;
    for (size_t room = 0; room < o.bytes.size; room += 37) {
        size_t left = room;
        const tort_writer writer = {.struct_size = sizeof writer, .write = refuse_bytes, .ud = &left};
        cr_expect_eq(tort_session_save_writer(session, &writer, &error), TORT_E_IO);
    }
    cr_expect(strstr(error.msg, "the writer failed at byte"), "%s", error.msg);
    cr_expect_eq(tort_session_save(session, "/tmp/no such folder/plan", &error), TORT_E_IO);
    cr_expect(strstr(error.msg, "No such file"), "%s", error.msg);
    tort_session_free(session);
    saved_original_free(&o);
}

Test(saved_plans, a_session_that_cannot_run_is_not_saved) {
    onnx_bytes b = {0};
    tort_model *model = NULL;
    tort_session *session = NULL;
    saved_bytes bytes = {0};
    tort_error error;
    const tort_writer writer = saved_writer(&bytes);
    tort_session_options options = saved_on_cpu;
    options.plan_only = true;
    saved_conv_net(&b);
    cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, NULL, &model, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(tort_session_save_writer(session, &writer, &error), TORT_E_USAGE);
    cr_expect(strstr(error.msg, "cannot run"), "%s", error.msg);
    cr_expect_eq(bytes.size, 0);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&b);
}

/* ---- memory that runs out ---------------------------------------------------------------------------------------- */

typedef tort_status attempt_of(const saved_original *o, tort_counting_env *counting);

static tort_status try_load(const saved_original *o, tort_counting_env *counting) {
    tort_session *session = NULL;
    tort_status status = tort_session_load_buffer(&counting->env, o->bytes.data, o->bytes.size, NULL, &session, NULL);
    cr_expect_eq(status != TORT_OK, session == NULL);
    tort_session_free(session);
    return status;
}

/* Counts from where the session is there. */
static tort_status try_save(const saved_original *o, tort_counting_env *counting) {
    const int64_t fail_at = counting->fail_at;
    tort_session *session = NULL;
    saved_bytes bytes = {0};
    const tort_writer writer = saved_writer(&bytes);
    counting->fail_at = 0;
    cr_assert_eq(tort_session_load_buffer(&counting->env, o->bytes.data, o->bytes.size, NULL, &session, NULL), TORT_OK);
    counting->allocations = 0;
    counting->fail_at = fail_at;
    tort_status status = tort_session_save_writer(session, &writer, NULL);
    tort_session_free(session);
    free(bytes.data);
    return status;
}

static void fail_each(const saved_original *o, attempt_of *attempt, bool once, const char *name) {
    tort_status status = TORT_E_MEMORY;
    int64_t n = 0;
    while (status && n++ < 5000) {
        tort_counting_env counting;
        tort_counting_env_init(&counting);
        counting.fail_at = n;
        counting.fail_once = once;
        status = attempt(o, &counting);
        cr_assert_eq(counting.live_blocks, 0, "%s: allocation %lld", name, (long long)n);
        cr_assert_eq(counting.wrong_sizes, 0, "%s: allocation %lld", name, (long long)n);
        if (counting.allocations < n) break;
        cr_assert_eq(status, TORT_E_MEMORY, "%s: allocation %lld: %s", name, (long long)n, tort_status_name(status));
    }
    cr_expect_eq(status, TORT_OK, "%s", name);
    cr_expect_gt(n, 4);
}

Test(saved_plans, the_nth_allocation_fails) {
    for (int m = 0; m < SAVED_MODELS; m++) {
        saved_original o = saved_original_make(saved_models[m].write, &saved_on_cpu);
        for (int once = 0; once < 2; once++) {
            fail_each(&o, try_load, once, saved_models[m].name);
            fail_each(&o, try_save, once, saved_models[m].name);
        }
        saved_original_free(&o);
    }
}

/* ---- other builds, other machines -------------------------------------------------------------------------------- */

Test(saved_plans, what_is_no_plan_is_refused_by_name) {
    static const char words[] = "this is a text of more than forty bytes, and not a saved plan at all";
    tort_session *session = NULL;
    tort_error error;
    cr_expect_eq(tort_session_load_buffer(NULL, words, sizeof words, NULL, &session, &error), TORT_E_MODEL);
    cr_expect(strstr(error.msg, "not a saved plan") && strstr(error.msg, "tinyort plan MODEL -o FILE"), "%s",
              error.msg);
    cr_expect_eq(tort_session_load(NULL, "/no/such/file", NULL, &session, &error), TORT_E_IO);
    cr_expect_eq(tort_session_load(NULL, "/tmp", NULL, &session, &error), TORT_E_IO);
    cr_expect_null(session);
}

Test(saved_plans, a_plan_of_another_version_is_refused) {
    saved_original o = saved_original_make(saved_conv_net, &saved_on_cpu);
    tort_session *session = NULL;
    tort_error error;
    o.bytes.data[8]++;
    cr_expect_eq(tort_session_load_buffer(NULL, o.bytes.data, o.bytes.size, NULL, &session, &error),
                 TORT_E_UNSUPPORTED);
    cr_expect(strstr(error.msg, "is of version 9, this tinyort has 8: make it again"), "%s", error.msg);
    saved_original_free(&o);
}

/* A provider of a machine that changes between saving and loading. */
static tort_target machine;
static bool machine_is_there;

static void open_machine(const tort_provider_config *config, void **device, tort_target *target,
                         tort_condition *condition) {
    (void)config;
    *device = NULL;
    *target = machine;
    *condition = (tort_condition){.ready = machine_is_there, .code = "READY"};
    if (!machine_is_there) *condition = (tort_condition){.code = "GONE", .message = "it was carried away"};
}

static const tort_kernel relu_rows[] = {{.domain = "", .op = "Relu", .name = "relu"}, {.op = NULL}};
static const tort_kernel tanh_rows[] = {{.domain = "", .op = "Tanh", .name = "tanh"}, {.op = NULL}};
static const tort_kernel *const relu_tables[] = {relu_rows, NULL}, *const tanh_tables[] = {tanh_rows, NULL};
static const tort_provider machine_provider = {.abi = TORT_PROVIDER_ABI,
                                               .name = "machine",
                                               .summary = "for tests",
                                               .host_memory = true,
                                               .kernels = relu_tables,
                                               .open = open_machine};
static const tort_provider other_build = {.abi = TORT_PROVIDER_ABI,
                                          .name = "machine",
                                          .summary = "for tests",
                                          .host_memory = true,
                                          .kernels = tanh_tables,
                                          .open = open_machine};
static const tort_provider *const machines[] = {&machine_provider, NULL}, *const others[] = {&other_build, NULL};

static void refuse_here(const saved_original *o, const tort_provider *const *providers, tort_status expected,
                        const char *words) {
    const tort_plan_options options = {.struct_size = sizeof options, .providers = providers};
    tort_session *session = NULL;
    tort_error error;
    cr_expect_eq(tort_session_load_buffer(NULL, o->bytes.data, o->bytes.size, &options, &session, &error), expected);
    cr_expect(strstr(error.msg, words) && strstr(error.msg, "make it again"), "%s", error.msg);
    cr_expect_eq(tort_session_load_buffer(NULL, o->bytes.data, o->bytes.size, &options, &session, NULL), expected);
    cr_expect_null(session);
}

Test(saved_plans, another_machine_or_build_is_refused_by_name) {
    tort_session_options options = {.struct_size = sizeof options, .chain = "machine,cpu", .providers = machines};
    machine = (tort_target){.description = "x86-64-v4", .instructions = TORT_CPU_V4};
    machine_is_there = true;
    saved_original o = saved_original_make(saved_loop, &options);
    cr_expect(strstr(o.report, "on machine by relu"), "%s", o.report);
    machine = (tort_target){.description = "x86-64-v3", .instructions = TORT_CPU_V3};
    refuse_here(&o, machines, TORT_E_PLACEMENT, "made where machine was \"x86-64-v4\"; here it is \"x86-64-v3\"");
    machine_is_there = false;
    refuse_here(&o, machines, TORT_E_PLACEMENT, "here it is \"GONE\", it was carried away");
    machine_is_there = true;
    machine = (tort_target){.description = "x86-64-v4", .instructions = TORT_CPU_V4};
    refuse_here(&o, others, TORT_E_UNSUPPORTED, "a build with other kernels of machine");
    saved_original_free(&o);
}

/* A plan whose chain is the text `is`, of as many bytes as the one that it was made for. */
static saved_original with_chain(const char *is) {
    static const char was[] = "machine,cpu:threads=1";
    const tort_session_options options = {.struct_size = sizeof options, .chain = was, .providers = machines};
    machine = (tort_target){.description = "x86-64-v4", .instructions = TORT_CPU_V4};
    machine_is_there = true;
    saved_original o = saved_original_make(saved_loop, &options);
    uint8_t *at = o.bytes.data;
    while (memcmp(at, was, sizeof was) != 0) at++;
    memcpy(at, is, sizeof was);
    saved_reseal(o.bytes.data, o.bytes.size);
    return o;
}

Test(saved_plans, a_chain_of_fewer_providers) {
    saved_original o = with_chain("cpu:threads=000000001"); /* one less than the plan says of it */
    refuse_here(&o, machines, TORT_E_MODEL, "the saved plan is damaged: its chain");
    saved_original_free(&o);
}

/* A chain that a plan has is nobody's mistake of typing: it is the file that does not fit. */
Test(saved_plans, a_chain_of_unknown_providers) {
    saved_original o = with_chain("machine,xpu:threads=1");
    refuse_here(&o, machines, TORT_E_MODEL, "the saved plan is not for this build, make it again");
    refuse_here(&o, machines, TORT_E_MODEL, "unknown provider \"xpu\"");
    saved_original_free(&o);
}

/* ---- weights in the memory of a device --------------------------------------------------------------------------- */

/* Its memory is the process's; what it packs of a weight is twice that. The n-th allocation or copy, of a size, or of
 * what a kernel prepares, goes wrong; 0: none. */
static int times_packed, alloc_fails, copy_fails, size_fails, copy_loses;
static bool prepares_more;

static bool is_due(int *left) {
    return *left > 0 && --*left == 0;
}

static void *device_alloc(void *device, size_t bytes) {
    (void)device;
    if (is_due(&alloc_fails)) return NULL;
    return aligned_alloc(TORT_DEVICE_ALIGN, (bytes + TORT_DEVICE_ALIGN - 1) / TORT_DEVICE_ALIGN * TORT_DEVICE_ALIGN);
}

static void device_free(void *device, void *memory, size_t bytes) {
    (void)device, (void)bytes;
    free(memory);
}

static tort_status device_copy(void *device, void *stream, void *to, const void *from, size_t bytes,
                               tort_direction direction, tort_error *error) {
    (void)device, (void)stream, (void)direction;
    if (is_due(&copy_loses)) return tort_fail(error, TORT_E_DEVICE_LOST, "it is gone");
    if (is_due(&copy_fails)) return tort_fail(error, TORT_E_RUN, "it copies nothing");
    memcpy(to, from, bytes);
    return TORT_OK;
}

static tort_verdict claim_twice(const tort_target *target, const tort_node_view *node) {
    (void)target;
    if (node->inputs[1].constant && node->inputs[1].type == TORT_FLOAT) return tort_yes();
    return tort_no(TORT_NO_ATTR, "", "B is not a weight");
}

static tort_status pack_size_twice(const tort_target *target, const tort_node_view *node, size_t *bytes,
                                   uint32_t *consumed, tort_error *error) {
    (void)target;
    tort_tensor tensor;
    if (is_due(&size_fails)) return tort_fail(error, TORT_E_RUN, "it has no size");
    tort_info_tensor(&node->inputs[1], &tensor);
    *consumed = 1u << 1;
    return tort_tensor_bytes(&tensor, bytes) ? TORT_OK : TORT_E_INTERNAL;
}

static tort_status prepare_twice(tort_prepare *p) {
    const float *weight = p->node->inputs[1].data;
    float *packed = p->packed;
    static char more;
    times_packed++;
    if (prepares_more) p->prepared = &more;
    for (int64_t i = 0; i < p->node->inputs[1].dims[0]; i++) packed[i] = 2 * weight[i];
    return TORT_OK;
}

static tort_status run_twice(const tort_call *call) {
    const float *x = call->inputs[0].data, *packed = call->packed;
    float *y = call->outputs[0].data;
    for (int64_t i = 0; i < tort_count(&call->outputs[0]); i++) y[i] = x[i] + packed[i] / 2;
    return TORT_OK;
}

static const tort_kernel device_rows[] = {{.domain = "",
                                           .op = "Add",
                                           .name = "add_packed",
                                           .claim = claim_twice,
                                           .pack.size = pack_size_twice,
                                           .prepare = prepare_twice,
                                           .run = run_twice},
                                          {.op = NULL}};
static const tort_kernel *const device_tables[] = {device_rows, NULL};
static const tort_provider device_provider = {.abi = TORT_PROVIDER_ABI,
                                              .name = "device",
                                              .summary = "for tests",
                                              .kernels = device_tables,
                                              .open = open_machine,
                                              .memory.alloc = device_alloc,
                                              .memory.free = device_free,
                                              .memory.copy = device_copy};
static const tort_provider *const devices[] = {&device_provider, NULL};

static const float odd[] = {1.375f, -7.8125f, 3.0625f};

static void add_weight(onnx_bytes *b) {
    const int64_t three[] = {3};
    onnx_begin_model(b, 17);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 1, three);
    onnx_tensor(b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, three, odd, sizeof odd);
    onnx_node(b, "Add", "add", "x w", "y");
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 1, three);
    onnx_end(b);
}

Test(saved_plans, what_a_device_packed_is_not_packed_again) {
    const tort_session_options options = {.struct_size = sizeof options, .chain = "device", .providers = devices};
    const tort_plan_options loading = {.struct_size = sizeof loading, .providers = devices};
    tort_session *session = NULL;
    tort_error error;
    machine_is_there = true;
    saved_original o = saved_original_make(add_weight, &options);
    cr_expect_eq(times_packed, 1);
    cr_assert_eq(tort_session_load_buffer(NULL, o.bytes.data, o.bytes.size, &loading, &session, &error), TORT_OK, "%s",
                 error.msg);
    saved_expect_same(session, &o, "device");
    cr_expect_eq(times_packed, 1);
    tort_session_free(session);
    saved_original_free(&o);
}

static tort_status load_on_device(const saved_original *o, tort_session **session, tort_error *error) {
    const tort_plan_options loading = {.struct_size = sizeof loading, .providers = devices};
    return tort_session_load_buffer(NULL, o->bytes.data, o->bytes.size, &loading, session, error);
}

static tort_status try_load_on_device(const saved_original *o, tort_counting_env *counting) {
    const tort_plan_options loading = {.struct_size = sizeof loading, .providers = devices};
    tort_session *session = NULL;
    tort_status status =
        tort_session_load_buffer(&counting->env, o->bytes.data, o->bytes.size, &loading, &session, NULL);
    tort_session_free(session);
    return status;
}

static const tort_session_options on_device = {
    .struct_size = sizeof on_device, .chain = "device", .providers = devices};

Test(saved_plans, a_device_that_fails_while_a_plan_is_loaded) {
    tort_session *session = NULL;
    tort_error error;
    machine_is_there = true;
    saved_original o = saved_original_make(add_weight, &on_device);
    alloc_fails = 1;
    cr_expect_eq(load_on_device(&o, &session, &error), TORT_E_MEMORY);
    cr_expect(strstr(error.msg, "packed weights"), "%s", error.msg);
    copy_fails = 1;
    cr_expect_eq(load_on_device(&o, &session, &error), TORT_E_RUN);
    cr_expect(strstr(error.msg, "it copies nothing"), "%s", error.msg);
    size_fails = 1;
    cr_expect_eq(load_on_device(&o, &session, &error), TORT_E_RUN);
    cr_expect(strstr(error.msg, "\"add\"") && strstr(error.msg, "it has no size"), "%s", error.msg);
    cr_expect_null(session);
    fail_each(&o, try_load_on_device, false, "device");
    saved_original_free(&o);
}

Test(saved_plans, a_device_that_fails_while_a_plan_is_saved) {
    saved_bytes bytes = {0};
    const tort_writer writer = saved_writer(&bytes);
    tort_session *session = NULL;
    tort_error error;
    machine_is_there = true;
    saved_original o = saved_original_make(add_weight, &on_device);
    cr_assert_eq(load_on_device(&o, &session, &error), TORT_OK, "%s", error.msg);
    copy_fails = 1;
    cr_expect_eq(tort_session_save_writer(session, &writer, &error), TORT_E_RUN);
    cr_expect(strstr(error.msg, "it copies nothing"), "%s", error.msg);
    copy_loses = 1;
    cr_expect_eq(tort_session_save_writer(session, &writer, &error), TORT_E_DEVICE_LOST);
    cr_expect_eq(tort_session_save_writer(session, &writer, &error), TORT_E_DEVICE_LOST);
    cr_expect(strstr(error.msg, "make a new session"), "%s", error.msg);
    tort_session_free(session);
    saved_original_free(&o);
    free(bytes.data);
}

/* What a kernel made beside its packed weights is known to it alone. */
Test(saved_plans, a_kernel_that_prepares_more_than_it_packs) {
    onnx_bytes b = {0};
    saved_bytes bytes = {0};
    const tort_writer writer = saved_writer(&bytes);
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_error error;
    machine_is_there = prepares_more = true;
    add_weight(&b);
    cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, NULL, &model, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_session_create(NULL, model, &on_device, &session, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(tort_session_save_writer(session, &writer, &error), TORT_E_UNSUPPORTED);
    cr_expect(strstr(error.msg, "\"add\"") && strstr(error.msg, "kernel add_packed packs weights and makes"), "%s",
              error.msg);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&b);
}

Test(saved_plans, a_pin_stays) {
    static const char *const pins[] = {"add=device"};
    tort_session_options options = on_device;
    tort_session *session = NULL;
    tort_error error;
    options.pins = pins;
    options.pin_count = 1;
    machine_is_there = true;
    saved_original o = saved_original_make(add_weight, &options);
    cr_assert_eq(load_on_device(&o, &session, &error), TORT_OK, "%s", error.msg);
    saved_expect_same(session, &o, "pinned");
    tort_session_free(session);
    saved_original_free(&o);
}

/* Inputs and outputs of the loaded plan are in the device's memory too, so that values of the host are refused. */
Test(saved_plans, a_binding_stays) {
    static const char *const bindings[] = {"*=device"};
    tort_session_options options = on_device;
    saved_original o = {.report = NULL};
    const tort_writer writer = saved_writer(&o.bytes);
    onnx_bytes b = {0};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_value *outputs[MAX_PORTS];
    tort_error error;
    options.bindings = bindings;
    options.binding_count = 1;
    machine_is_there = true;
    add_weight(&b);
    cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, NULL, &model, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_session_create(NULL, model, &options, &session, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_session_save_writer(session, &writer, &error), TORT_OK, "%s", error.msg);
    tort_session_free(session);
    tort_model_free(model);
    cr_assert_eq(load_on_device(&o, &session, &error), TORT_OK, "%s", error.msg);
    cr_expect_eq(saved_run(session, outputs, &error), TORT_E_USAGE);
    cr_expect(strstr(error.msg, "input \"x\" is bound to device"), "%s", error.msg);
    tort_session_free(session);
    saved_original_free(&o);
    onnx_free(&b);
}
