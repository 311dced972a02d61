/* bindings.c - tests of bind.c and its users: inputs and outputs that stay in the memory of a provider. The provider is
 * fake, with memory that it knows again, so that a pointer into the wrong one is told. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/include/provider.h"
#include "tests/build_model.h"
#include "tests/fake_provider.h"
#include "tests/report_of.h"

/* ---- a provider that knows its own memory ---- */

enum { MAX_BLOCKS = 64 };

static struct {
    char *begin;
    size_t bytes;
} blocks[MAX_BLOCKS];

static int copies; /* of any direction */

static void *known_alloc(void *device, size_t bytes) {
    for (int i = 0; i < MAX_BLOCKS; i++) {
        if (blocks[i].begin) continue;
        blocks[i].begin = fake_providers[0]->memory.alloc(device, bytes);
        blocks[i].bytes = bytes;
        return blocks[i].begin;
    }
    return NULL;
}

static void known_free(void *device, void *ptr, size_t bytes) {
    for (int i = 0; i < MAX_BLOCKS; i++)
        if (blocks[i].begin == ptr) blocks[i].begin = NULL;
    fake_providers[0]->memory.free(device, ptr, bytes);
}

static uint32_t known_reach(void *device, const void *pointer) {
    (void)device;
    const char *at = pointer;
    for (int i = 0; i < MAX_BLOCKS; i++)
        if (blocks[i].begin && at >= blocks[i].begin && at < blocks[i].begin + blocks[i].bytes)
            return TORT_REACH_DEVICE;
    return TORT_REACH_HOST;
}

static tort_status counted_copy(void *device, void *stream, void *dst, const void *src, size_t bytes,
                                tort_direction direction, tort_error *error) {
    const bool to_device = direction != TORT_TO_HOST, from_device = direction != TORT_TO_DEVICE;
    copies++;
    if ((known_reach(device, dst) == TORT_REACH_DEVICE) != to_device ||
        (known_reach(device, src) == TORT_REACH_DEVICE) != from_device)
        return tort_fail(error, TORT_E_RUN, "a copy in the wrong direction");
    return fake_providers[0]->memory.copy(device, stream, dst, src, bytes, direction, error);
}

static const float image[4] = {-1, 2, -3, 4};

typedef struct fixture {
    tort_provider provider;
    const tort_provider *providers[3];
    tort_model *model;
    tort_session *session;
    tort_context *context;
    tort_error error;
    tort_status status;
} fixture;

/* x -> Relu -> Neg -> y; also y as Reshape(y) and w, a weight, as outputs where asked for. */
static tort_model *small_model(bool more, tort_error *error) {
    static float weight[2] = {5, 6};
    static int64_t shape[2] = {2, 2};
    model_builder b = build_begin(NULL);
    int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){4});
    int32_t relu = build_node(&b, "Relu", "relu", (const int32_t[]){x, -1});
    int32_t neg = build_node(&b, "Neg", "neg", (const int32_t[]){relu, -1});
    build_output(&b, neg);
    if (more) {
        int32_t s = build_weight(&b, "s", &(tort_tensor){.type = TORT_INT64, .rank = 1, .dims = {2}, .data = shape});
        build_output(&b, build_node(&b, "Reshape", "square", (const int32_t[]){neg, s, -1}));
        build_output(&b,
                     build_weight(&b, "w", &(tort_tensor){.type = TORT_FLOAT, .rank = 1, .dims = {2}, .data = weight}));
        build_output(&b, x);
    }
    return build_end(&b, error);
}

static void open_bound(fixture *f, bool more, const char *chain, const char *const *bindings, int32_t count) {
    *f = (fixture){.provider = *fake_providers[0], .providers = {&f->provider, fault_providers[0], NULL}};
    f->provider.memory.alloc = known_alloc;
    f->provider.memory.free = known_free;
    f->provider.memory.copy = counted_copy;
    f->provider.memory.reach = known_reach;
    f->model = small_model(more, &f->error);
    cr_assert_not_null(f->model, "%s", f->error.msg);
    tort_session_options options = {.struct_size = sizeof options,
                                    .chain = chain,
                                    .providers = f->providers,
                                    .bindings = bindings,
                                    .binding_count = count};
    f->status = tort_session_create(NULL, f->model, &options, &f->session, &f->error);
    if (!f->status) f->status = tort_context_create(f->session, &f->context, &f->error);
    copies = 0;
}

static void close_bound(fixture *f) {
    tort_context_free(f->context);
    tort_session_free(f->session);
    tort_model_free(f->model);
}

static float *device_floats(fixture *f, const float *values, int count) {
    void *memory = NULL;
    size_t bytes = (size_t)count * sizeof(float);
    cr_assert_eq(tort_memory_alloc(f->session, "fake", bytes, &memory, &f->error), TORT_OK, "%s", f->error.msg);
    if (values)
        cr_assert_eq(tort_memory_copy(f->context, "fake", memory, values, bytes, TORT_TO_DEVICE, &f->error), TORT_OK);
    return memory;
}

static void free_floats(fixture *f, float *memory, int count) {
    tort_memory_free(f->session, "fake", memory, (size_t)count * sizeof(float));
}

static tort_tensor floats(void *data) {
    return (tort_tensor){.type = TORT_FLOAT, .rank = 1, .dims = {4}, .data = data};
}

/* ---- addresses ---- */

Test(bindings, data_is_aligned_to_its_elements_and_on_a_device_to_16_bytes) {
    fixture f;
    open_bound(&f, false, "fake", (const char *const[]){"x=fake", "neg_out=fake"}, 2);
    cr_assert_eq(f.status, TORT_OK, "%s", f.error.msg);
    float *x = device_floats(&f, image, 4), *y = device_floats(&f, NULL, 4);
    tort_tensor input = floats(x + 1), output = floats(y);
    cr_expect_eq(tort_context_run(f.context, &input, 1, &output, 1, &f.error), TORT_E_INPUT);
    cr_expect(strstr(f.error.msg, "the data of input \"x\" is at an address that is not a multiple of 16"), "%s",
              f.error.msg);
    input.data = x;
    output.data = y + 2;
    cr_expect_eq(tort_context_run(f.context, &input, 1, &output, 1, &f.error), TORT_E_INPUT);
    cr_expect(strstr(f.error.msg, "output \"neg_out\""), "%s", f.error.msg);
    free_floats(&f, x, 4), free_floats(&f, y, 4);
    close_bound(&f);
    open_bound(&f, false, "cpu", NULL, 0);
    char raw[20] = {0};
    input = floats(raw + ((uintptr_t)raw % 4 == 0 ? 2 : 0));
    output = (tort_tensor){.data = NULL};
    cr_expect_eq(tort_context_run(f.context, &input, 1, &output, 1, &f.error), TORT_E_INPUT);
    cr_expect(strstr(f.error.msg, "not a multiple of 4"), "%s", f.error.msg);
    close_bound(&f);
}

/* ---- bound, and run ---- */

Test(bindings, a_bound_run_copies_nothing) {
    fixture f;
    open_bound(&f, false, "fake", (const char *const[]){"x=fake", "neg_out=fake"}, 2);
    cr_assert_eq(f.status, TORT_OK, "%s", f.error.msg);
    tort_report *report = report_of(f.session);
    cr_expect_eq(report->copy_count, 0);
    tort_report_free(report);
    cr_expect_str_eq(tort_session_input_memory(f.session, 0), "fake");
    cr_expect_str_eq(tort_session_output_memory(f.session, 0), "fake");
    float *x = device_floats(&f, image, 4), *y = device_floats(&f, NULL, 4), back[4] = {0};
    tort_tensor input = floats(x), output = floats(y);
    copies = 0;
    cr_assert_eq(tort_context_run(f.context, &input, 1, &output, 1, &f.error), TORT_OK, "%s", f.error.msg);
    cr_expect_eq(copies, 0);
    cr_expect_eq(output.data, y);
    tort_memory_copy(f.context, "fake", back, y, sizeof back, TORT_TO_HOST, &f.error);
    cr_expect_eq(back[0], 0);
    cr_expect_eq(back[3], -4);
    free_floats(&f, x, 4);
    free_floats(&f, y, 4);
    close_bound(&f);
}

Test(bindings, an_output_without_a_buffer_is_memory_of_the_provider) {
    fixture f;
    open_bound(&f, false, "fake", (const char *const[]){"neg_out=fake"}, 1);
    cr_expect_null(tort_session_input_memory(f.session, 0));
    float host[4], back[4] = {0};
    memcpy(host, image, sizeof host);
    tort_tensor input = floats(host), output = {.data = NULL};
    cr_assert_eq(tort_context_run(f.context, &input, 1, &output, 1, &f.error), TORT_OK, "%s", f.error.msg);
    cr_expect_eq(known_reach(NULL, output.data), TORT_REACH_DEVICE);
    tort_memory_copy(f.context, "fake", back, output.data, sizeof back, TORT_TO_HOST, &f.error);
    cr_expect_eq(back[1], -2);
    close_bound(&f);
}

/* A view, a weight and an input as outputs: none of them can be written in place. */
Test(bindings, outputs_that_are_not_made_in_place_are_copied_on_the_device) {
    fixture f;
    open_bound(&f, true, "fake", (const char *const[]){"*=fake"}, 1);
    cr_assert_eq(f.status, TORT_OK, "%s", f.error.msg);
    float *x = device_floats(&f, image, 4), *y[4], back[4] = {0};
    tort_tensor input = floats(x), outputs[4];
    for (int i = 0; i < 4; i++) outputs[i] = floats(y[i] = device_floats(&f, NULL, 4));
    outputs[1].rank = 2;
    outputs[1].dims[0] = outputs[1].dims[1] = 2;
    outputs[2].dims[0] = 2;
    cr_assert_eq(tort_context_run(f.context, &input, 1, outputs, 4, &f.error), TORT_OK, "%s", f.error.msg);
    const float expected[4][4] = {{-0.0f, -2, -0.0f, -4}, {-0.0f, -2, -0.0f, -4}, {5, 6}, {-1, 2, -3, 4}};
    for (int i = 0; i < 4; i++) {
        size_t bytes = (i == 2 ? 2 : 4) * sizeof(float);
        cr_expect_eq(outputs[i].data, y[i]);
        tort_memory_copy(f.context, "fake", back, y[i], bytes, TORT_TO_HOST, &f.error);
        cr_expect_arr_eq(back, expected[i], bytes, "output %d", i);
        free_floats(&f, y[i], 4);
    }
    free_floats(&f, x, 4);
    close_bound(&f);
}

/* What is bound to a device and read by a provider of the host is copied there, and the other way round. */
Test(bindings, the_plan_copies_what_another_provider_reads) {
    fixture f;
    open_bound(&f, false, "cpu,fake", (const char *const[]){"*=fake"}, 1);
    cr_assert_eq(f.status, TORT_OK, "%s", f.error.msg);
    tort_report *report = report_of(f.session);
    cr_assert_eq(report->copy_count, 2);
    cr_expect_str_eq(report->copies[0]->from, "fake");
    cr_expect_str_eq(report->copies[1]->to, "fake");
    cr_expect_str_eq(report->copies[1]->before, "");
    tort_report_free(report);
    float *x = device_floats(&f, image, 4), back[4] = {0};
    tort_tensor input = floats(x), output = {.data = NULL};
    cr_assert_eq(tort_context_run(f.context, &input, 1, &output, 1, &f.error), TORT_OK, "%s", f.error.msg);
    tort_memory_copy(f.context, "fake", back, output.data, sizeof back, TORT_TO_HOST, &f.error);
    cr_expect_eq(back[3], -4);
    free_floats(&f, x, 4);
    close_bound(&f);
}

Test(bindings, the_last_binding_of_a_name_counts) {
    fixture f;
    open_bound(&f, false, "fake,cpu", (const char *const[]){"*=fake", "x=cpu"}, 2);
    cr_assert_eq(f.status, TORT_OK, "%s", f.error.msg);
    cr_expect_null(tort_session_input_memory(f.session, 0));
    cr_expect_str_eq(tort_session_output_memory(f.session, 0), "fake");
    close_bound(&f);
}

/* ---- pointers into the wrong memory ---- */

Test(bindings, host_memory_for_a_bound_input_is_an_error) {
    fixture f;
    open_bound(&f, false, "fake", (const char *const[]){"*=fake"}, 1);
    float host[4] = {0};
    tort_tensor input = floats(host), output = {.data = NULL};
    cr_assert_eq(tort_context_run(f.context, &input, 1, &output, 1, &f.error), TORT_E_INPUT);
    cr_expect(strstr(f.error.msg, "input \"x\" is bound to fake, but its data is not in memory"), "%s", f.error.msg);
    close_bound(&f);
}

Test(bindings, device_memory_without_a_binding_is_an_error) {
    fixture f;
    open_bound(&f, false, "fake", NULL, 0);
    float host[4] = {0}, *y = device_floats(&f, NULL, 4);
    tort_tensor input = floats(host), output = floats(y);
    cr_assert_eq(tort_context_run(f.context, &input, 1, &output, 1, &f.error), TORT_E_INPUT);
    cr_expect(strstr(f.error.msg, "output \"neg_out\" is device memory: bind it, \"neg_out=fake\""), "%s", f.error.msg);
    free_floats(&f, y, 4);
    close_bound(&f);
}

/* ---- bindings that cannot be ---- */

static void expect_refused(const char *chain, const char *binding, tort_status status, const char *words) {
    fixture f;
    open_bound(&f, false, chain, &binding, 1);
    cr_expect_eq(f.status, status, "%s: %s", binding, f.error.msg);
    cr_expect(strstr(f.error.msg, words), "%s: %s", binding, f.error.msg);
    close_bound(&f);
}

Test(bindings, a_wrong_binding_says_what_is_wrong) {
    expect_refused("fake", "x", TORT_E_USAGE, "not of the form NAME=PROVIDER");
    expect_refused("fake", "z=fake", TORT_E_USAGE, "no input or output \"z\"");
    expect_refused("fake", "x=cpu", TORT_E_USAGE, "provider cpu is not in the chain fake");
    expect_refused("fault:open=NO_DRIVER,fake", "x=fault", TORT_E_PLACEMENT,
                   "binding \"x=fault\": fault did not open: NO_DRIVER, ");
}

Test(bindings, memory_of_a_provider_that_is_not_there) {
    fixture f;
    void *memory = &f;
    open_bound(&f, false, "fake,cpu", NULL, 0);
    cr_expect_eq(tort_memory_alloc(f.session, "cuda", 4, &memory, &f.error), TORT_E_USAGE);
    cr_expect_null(memory);
    cr_expect_eq(tort_memory_alloc(f.session, "fake", 0, &memory, &f.error), TORT_OK);
    tort_memory_free(f.session, "fake", memory, 0);
    cr_expect_eq(tort_memory_alloc(f.session, "cpu", 8, &memory, &f.error), TORT_OK);
    float two[2] = {1, 2};
    cr_expect_eq(tort_memory_copy(f.context, "cpu", memory, two, sizeof two, TORT_TO_DEVICE, &f.error), TORT_OK);
    cr_expect_eq(((float *)memory)[1], 2);
    tort_memory_free(f.session, "cpu", memory, 8);
    cr_expect_eq(tort_memory_copy(f.context, "cuda", two, two, 4, TORT_TO_DEVICE, &f.error), TORT_E_USAGE);
    close_bound(&f);
}
