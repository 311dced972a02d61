/* saved_hostile.c - saved plans that are damaged, or made to do harm: they are refused, or harmless. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/counting_env.h"
#include "tests/unit/saved_models.h"

/* Whatever it says: an error with a message, or a session that runs, or fails to, and leaves nothing behind. */
static tort_status survive(const uint8_t *data, size_t size) {
    tort_counting_env counting;
    tort_value *outputs[MAX_PORTS];
    tort_session *session = NULL;
    tort_error error = {.msg = ""};
    tort_counting_env_init(&counting);
    const tort_status status = tort_session_load_buffer(&counting.env, data, size, NULL, &session, &error);
    cr_expect(!status || *error.msg, "%s without a message", tort_status_name(status));
    cr_expect_neq(status, TORT_E_INTERNAL, "%s", error.msg);
    if (session && tort_model_output_count(tort_session_model(session)) <= MAX_PORTS &&
        tort_model_input_count(tort_session_model(session)) <= MAX_PORTS) {
        saved_run(session, outputs, &error);
        saved_release(outputs);
    }
    tort_session_free(session);
    cr_expect_eq(counting.live_blocks, 0);
    cr_expect_eq(counting.wrong_sizes, 0);
    return status;
}

Test(saved_hostile, a_file_that_ends_early_is_refused) {
    for (int m = 0; m < SAVED_MODELS; m++) {
        saved_original o = saved_original_make(saved_models[m].write, &saved_on_cpu);
        for (size_t size = 0; size < o.bytes.size; size += size % 64 == 63 ? 1 : 7) {
            uint8_t *exact = malloc(size + 1); /* so that a read behind it is seen */
            memcpy(exact, o.bytes.data, size);
            cr_expect_eq(survive(exact, size), TORT_E_MODEL, "%s: %zu bytes", saved_models[m].name, size);
            free(exact);
        }
        saved_original_free(&o);
    }
}

/* What is between the sections counts for nothing. */
Test(saved_hostile, a_byte_that_changed_is_seen) {
    saved_original o = saved_original_make(saved_shape_arithmetic, &saved_on_cpu);
    size_t unseen = 0;
    for (size_t at = 0; at < o.bytes.size; at++) {
        o.bytes.data[at] ^= 0x10;
        unseen += survive(o.bytes.data, o.bytes.size) == TORT_OK;
        o.bytes.data[at] ^= 0x10;
    }
    cr_expect_lt(unseen, 64 * 8, "%zu", unseen);
    saved_original_free(&o);
}

/* The same behind checksums that are right: the reader believes nothing. */
Test(saved_hostile, hostile_bytes_do_no_harm) {
    static const uint8_t changes[] = {0x01, 0x80, 0xff};
    for (int m = 0; m < SAVED_MODELS; m++) {
        saved_original o = saved_original_make(saved_models[m].write, &saved_on_cpu);
        uint8_t *copy = malloc(o.bytes.size);
        for (size_t at = 0; at < o.bytes.size; at++) {
            memcpy(copy, o.bytes.data, o.bytes.size);
            copy[at] ^= changes[at % 3];
            saved_reseal(copy, o.bytes.size);
            survive(copy, o.bytes.size);
        }
        free(copy);
        saved_original_free(&o);
    }
}

/* A number, wherever it begins, is another one: indices, counts and places that the format has, but not there. */
Test(saved_hostile, numbers_that_are_others_do_no_harm) {
    static const int32_t numbers[] = {0, 1, 2, 9, 12, -1, -2, -4, 1 << 16, INT32_MAX};
    const size_t count = sizeof numbers / sizeof *numbers;
    for (int m = 0; m < SAVED_MODELS; m++) {
        saved_original o = saved_original_make(saved_models[m].write, &saved_on_cpu);
        uint8_t *copy = malloc(o.bytes.size);
        for (size_t at = (size_t)m; at + sizeof *numbers <= o.bytes.size; at += 3) {
            memcpy(copy, o.bytes.data, o.bytes.size);
            memcpy(copy + at, &numbers[at % count], sizeof *numbers);
            saved_reseal(copy, o.bytes.size);
            survive(copy, o.bytes.size);
        }
        free(copy);
        saved_original_free(&o);
    }
}
