/* Tests of tort_context_output_capacity: a buffer of the caller that may be larger than the output, whose shape only
 * the run tells. tests/install/examples/unknown_size.c is an application that has one. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/build_model.h"
#include "tests/counting_env.h"
#include "tests/fake_provider.h"

enum { MAX = 8 };

/* Outputs: where x is not zero, of a shape that depends on data; and -x, of the shape of x. */
static tort_model *finding_model(tort_error *error) {
    model_builder b = build_begin(NULL);
    int32_t x = build_input(&b, "x", TORT_FLOAT, 1, (const int64_t[]){-1});
    build_output(&b, build_node(&b, "NonZero", "where", (const int32_t[]){x, -1}));
    build_output(&b, build_node(&b, "Neg", "neg", (const int32_t[]){x, -1}));
    tort_model *model = build_end(&b, error);
    cr_assert_not_null(model, "%s", error->msg);
    return model;
}

typedef struct fixture {
    tort_counting_env counting;
    tort_model *model;
    tort_session *session;
    tort_context *context;
    tort_error error;
    float x[MAX], neg[MAX + 1];
    int64_t found[MAX + 1]; /* the last of each stays as it is */
    tort_tensor outputs[2];
} fixture;

static void open_fixture(fixture *f, const char *chain) {
    memset(f, 0, sizeof *f);
    tort_counting_env_init(&f->counting);
    f->model = finding_model(&f->error);
    const tort_session_options options = {.struct_size = sizeof options, .chain = chain, .providers = fake_providers};
    cr_assert_eq(tort_session_create(&f->counting.env, f->model, &options, &f->session, &f->error), TORT_OK, "%s",
                 f->error.msg);
    cr_assert_eq(tort_context_create(f->session, &f->context, &f->error), TORT_OK, "%s", f->error.msg);
}

static void close_fixture(fixture *f) {
    tort_context_free(f->context);
    tort_session_free(f->session);
    tort_model_free(f->model);
    cr_expect_eq(f->counting.live_blocks, 0);
    cr_expect_eq(f->counting.wrong_sizes, 0);
}

static void set_capacities(fixture *f, size_t found, size_t neg) {
    cr_assert_eq(tort_context_output_capacity(f->context, 0, found, &f->error), TORT_OK, "%s", f->error.msg);
    cr_assert_eq(tort_context_output_capacity(f->context, 1, neg, &f->error), TORT_OK, "%s", f->error.msg);
}

/* x has `count` elements, of which those are not zero that have a bit. */
static tort_status run(fixture *f, int32_t count, unsigned bits) {
    const tort_tensor input = {.type = TORT_FLOAT, .rank = 1, .dims = {count}, .data = f->x};
    for (int32_t i = 0; i < count; i++) f->x[i] = bits >> i & 1 ? (float)i + 1 : 0;
    memset(f->found, 0x77, sizeof f->found);
    memset(f->neg, 0x77, sizeof f->neg);
    f->outputs[0] = (tort_tensor){.rank = -5, .data = f->found};
    f->outputs[1] = (tort_tensor){.rank = 99, .data = f->neg};
    return tort_context_run(f->context, &input, 1, f->outputs, 2, &f->error);
}

static void expect(const fixture *f, int32_t count, unsigned bits) {
    const tort_tensor *found = &f->outputs[0], *neg = &f->outputs[1];
    int64_t set = 0;
    for (int32_t i = 0; i < count; i++)
        if (bits >> i & 1) cr_expect_eq(f->found[set++], i);
    cr_expect(found->data == f->found && found->type == TORT_INT64 && found->rank == 2);
    cr_expect(found->dims[0] == 1 && found->dims[1] == set, "%lld x %lld", (long long)found->dims[0],
              (long long)found->dims[1]);
    for (int64_t i = set; i <= MAX; i++) cr_expect_eq(f->found[i], 0x7777777777777777);
    cr_expect(neg->data == f->neg && neg->type == TORT_FLOAT && neg->rank == 1 && neg->dims[0] == count);
    for (int32_t i = 0; i < count; i++) cr_expect_eq(f->neg[i], -f->x[i]);
    uint32_t untouched;
    memcpy(&untouched, &f->neg[count], sizeof untouched);
    cr_expect_eq(untouched, 0x77777777u);
}

Test(output_capacity, a_larger_buffer_takes_what_comes_and_tells_its_shape) {
    for (int way = 0; way < 2; way++) {
        fixture f;
        open_fixture(&f, way ? "fake,cpu" : "cpu:threads=1");
        set_capacities(&f, MAX * sizeof(int64_t), MAX * sizeof(float));
        for (int32_t count = 0; count <= MAX; count += 2)
            for (unsigned bits = 0; bits < 1u << count; bits = bits * 3 + 1) {
                cr_assert_eq(run(&f, count, bits), TORT_OK, "%s", f.error.msg);
                expect(&f, count, bits);
            }
        close_fixture(&f);
    }
}

Test(output_capacity, one_that_is_too_small_is_an_error_that_tells_what_is_needed) {
    for (int way = 0; way < 2; way++) {
        fixture f;
        open_fixture(&f, way ? "fake,cpu" : "cpu:threads=1");
        set_capacities(&f, 2 * sizeof(int64_t) + 7, MAX * sizeof(float));
        cr_expect_eq(run(&f, 6, 0x2f), TORT_E_INPUT);
        cr_expect(strstr(f.error.msg, "\"where_out\" has 23 bytes, the output, int64 1x5, takes 40"), "%s",
                  f.error.msg);
        cr_expect(f.outputs[0].type == TORT_INT64 && f.outputs[0].rank == 2 && f.outputs[0].dims[1] == 5);
        cr_expect_eq(f.outputs[0].data, f.found);
        cr_expect_eq(f.found[0], 0x7777777777777777, "nothing is written");
        cr_expect_eq(run(&f, 6, 0x21), TORT_OK, "%s", f.error.msg);
        expect(&f, 6, 0x21);
        set_capacities(&f, MAX * sizeof(int64_t), 3 * sizeof(float)); /* known before the run */
        cr_expect_eq(run(&f, 4, 1), TORT_E_INPUT);
        cr_expect(strstr(f.error.msg, "\"neg_out\" has 12 bytes, the output, float 4, takes 16"), "%s", f.error.msg);
        cr_expect(f.outputs[1].type == TORT_FLOAT && f.outputs[1].rank == 1 && f.outputs[1].dims[0] == 4);
        cr_expect_eq(run(&f, 3, 1), TORT_OK, "%s", f.error.msg);
        close_fixture(&f);
    }
}

Test(output_capacity, without_one_the_shape_must_be_exact_again) {
    fixture f;
    open_fixture(&f, "cpu:threads=1");
    set_capacities(&f, sizeof f.found, sizeof f.neg);
    set_capacities(&f, sizeof f.found, TORT_NO_CAPACITY);
    cr_expect_eq(run(&f, 4, 5), TORT_E_INPUT);
    cr_expect(strstr(f.error.msg, "the buffer for output 1 \"neg_out\" is"), "%s", f.error.msg);
    cr_expect_eq(f.outputs[1].rank, 99, "it stays the caller's");
    close_fixture(&f);
}

/* The whole buffer counts, not its present shape. */
Test(output_capacity, a_buffer_that_shares_bytes_with_the_input_is_filled_at_the_end) {
    fixture f;
    float both[MAX] = {1, 2, 3, 0};
    open_fixture(&f, "cpu:threads=1");
    set_capacities(&f, sizeof f.found, sizeof both);
    const tort_tensor input = {.type = TORT_FLOAT, .rank = 1, .dims = {4}, .data = both};
    tort_tensor outputs[2] = {{.data = f.found}, {.data = both}};
    cr_assert_eq(tort_context_run(f.context, &input, 1, outputs, 2, &f.error), TORT_OK, "%s", f.error.msg);
    cr_expect(both[0] == -1 && both[1] == -2 && both[2] == -3);
    cr_expect_eq(outputs[0].dims[1], 3);
    set_capacities(&f, 2 * sizeof(int64_t), sizeof both);
    outputs[0] = (tort_tensor){.data = both};
    cr_expect_eq(tort_context_run(f.context, &input, 1, outputs, 2, &f.error), TORT_E_INPUT, "two outputs share bytes");
    close_fixture(&f);
}

Test(output_capacity, wrong_arguments_are_errors) {
    fixture f;
    open_fixture(&f, "cpu:threads=1");
    cr_expect_eq(tort_context_output_capacity(f.context, 2, 8, &f.error), TORT_E_USAGE);
    cr_expect(strstr(f.error.msg, "there is no output 2: the session has 2"), "%s", f.error.msg);
    cr_expect_eq(tort_context_output_capacity(f.context, -1, 8, &f.error), TORT_E_USAGE);
    f.counting.fail_at = f.counting.allocations + 1;
    cr_expect_eq(tort_context_output_capacity(f.context, 0, 8, &f.error), TORT_E_MEMORY);
    close_fixture(&f);
}
