/* Tests that structs of tinyort.h can grow: for every length that a caller's older struct may have, the library fills
 * and reads no more than that. Blocks end where the struct ends, for the sanitizers; without them a canary stands
 * there. tests/install/older_header.c is such a caller. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/include/op.h"
#include "tests/onnx_bytes.h"
#include "tests/report_of.h"

enum { CANARY = 0xa5, BEHIND = 64 };

static tort_model *sample(onnx_bytes *b) {
    tort_model *model = NULL;
    tort_error error;
    const int64_t dims[] = {-1, 4};
    onnx_begin_model(b, 13);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 2, dims);
    onnx_node(b, "Relu", "relu", "x", "y");
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 2, dims);
    onnx_end(b);
    cr_assert_eq(tort_model_load_buffer(NULL, b->data, b->size, NULL, &model, &error), TORT_OK, "%s", error.msg);
    return model;
}

/* ---- filled by the library --------------------------------------------------------------------------------------- */

typedef tort_status (*fill_function)(const tort_model *model, void *out);

static tort_status fill_input(const tort_model *model, void *out) {
    return tort_model_input(model, 0, out, NULL);
}

static tort_status fill_output(const tort_model *model, void *out) {
    return tort_model_output(model, 0, out, NULL);
}

static tort_status fill_provider(const tort_model *model, void *out) {
    (void)model;
    return tort_provider_at(0, out, NULL);
}

/* The first `size` bytes are as in the whole struct, those behind are left alone. */
static void check_filled(fill_function fill, const tort_model *model, size_t whole) {
    unsigned char *complete = calloc(1, whole);
    cr_assert(complete);
    memcpy(complete, &whole, sizeof whole);
    cr_assert_eq(fill(model, complete), TORT_OK);
    for (size_t size = sizeof size; size <= whole + BEHIND; size++) {
        unsigned char *out = malloc(size + BEHIND);
        cr_assert(out);
        memset(out, CANARY, size + BEHIND);
        memcpy(out, &size, sizeof size);
        cr_assert_eq(fill(model, out), TORT_OK);
        const size_t filled = size < whole ? size : whole;
        size_t told;
        memcpy(&told, out, sizeof told);
        cr_assert_eq(told, size);
        cr_assert_eq(memcmp(out + sizeof size, complete + sizeof size, filled - sizeof size), 0, "%zu bytes", size);
        for (size_t i = filled; i < size + BEHIND; i++) cr_assert_eq(out[i], CANARY, "byte %zu of %zu", i, size);
        free(out);
    }
    free(complete);
}

Test(older_structs, what_the_library_fills) {
    onnx_bytes b = {0};
    tort_model *model = sample(&b);
    check_filled(fill_input, model, sizeof(tort_port));
    check_filled(fill_output, model, sizeof(tort_port));
    check_filled(fill_provider, model, sizeof(tort_provider_info));
    tort_model_free(model);
    onnx_free(&b);
}

/* ---- read by the library ----------------------------------------------------------------------------------------- */

/* A copy of the first `size` bytes of an options struct, of that struct_size, in a block of that size. The caller
 * frees. */
static void *shortened(const void *whole, size_t size) {
    void *copy = malloc(size);
    cr_assert(copy);
    memcpy(copy, whole, size);
    memcpy(copy, &size, sizeof size);
    return copy;
}

static tort_status use(const onnx_bytes *b, const tort_env *env, const tort_load_options *load,
                       const tort_session_options *options, tort_error *error) {
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_status status = tort_model_load_buffer(env, b->data, b->size, load, &model, error);
    if (!status) status = tort_session_create(env, model, options, &session, error);
    tort_session_free(session);
    tort_model_free(model);
    return status;
}

Test(older_structs, what_the_library_reads) {
    const tort_env env = {.struct_size = sizeof env};
    const tort_load_options load = {.struct_size = sizeof load};
    const tort_session_options session = {.struct_size = sizeof session};
    onnx_bytes b = {0};
    tort_model_free(sample(&b));
    tort_error error;
    for (size_t size = sizeof size; size <= sizeof session; size++) {
        void *old_env = shortened(&env, size < sizeof env ? size : sizeof env);
        void *old_load = shortened(&load, size < sizeof load ? size : sizeof load);
        void *old_session = shortened(&session, size);
        cr_assert_eq(use(&b, old_env, old_load, old_session, &error), TORT_OK, "%zu: %s", size, error.msg);
        free(old_env);
        free(old_load);
        free(old_session);
    }
    onnx_free(&b);
}

Test(older_structs, what_a_probe_reads) {
    const tort_probe_options options = {.struct_size = sizeof options, .chain = "cpu"};
    tort_error error;
    for (size_t size = offsetof(tort_probe_options, disabled); size <= sizeof options; size++) {
        void *old = shortened(&options, size);
        tort_probe *probe;
        cr_assert_eq(tort_probe_providers(NULL, old, &probe, &error), TORT_OK, "%zu: %s", size, error.msg);
        cr_assert_eq(probe->provider_count, 1);
        tort_probe_free(probe);
        free(old);
    }
}

/* Options behind the caller's struct are not there, whatever bytes follow. */
Test(older_structs, options_behind_the_callers_struct_are_not_read) {
    tort_session_options options;
    onnx_bytes b = {0};
    tort_error error;
    tort_model_free(sample(&b));
    memset(&options, CANARY, sizeof options);
    options.struct_size = offsetof(tort_session_options, target);
    options.chain = "cpu";
    cr_assert_eq(use(&b, NULL, NULL, &options, &error), TORT_OK, "%s", error.msg);
    onnx_free(&b);
}
