/* Tests of runtime/core/base/hash.c: names and numbers collide no more than by chance under a key that whoever chose
 * them does not know. */
#define _DEFAULT_SOURCE /* syscall */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ops/generator.h"
#include "ops/ml/lookup.h"
#include "runtime/core/base/hash.h"
#include "runtime/core/base/new_file.h"
#include "tests/unit/folder.h"

static int refusal; /* errno of the system's random bits; 0: they are given */

/* In the place of the C library's, in the whole program. */
ssize_t getrandom(void *bits, size_t size, unsigned flags);
ssize_t getrandom(void *bits, size_t size, unsigned flags) {
    if (!refusal) return syscall(SYS_getrandom, bits, size, flags);
    errno = refusal;
    return -1;
}

Test(hash, environments_get_different_keys_unless_the_application_chose_one) {
    tort_env one = {0}, other = {0}, chosen = {.hash_key = {0, 5}};
    tort_env_choose_key(&one);
    tort_env_choose_key(&other);
    tort_env_choose_key(&chosen);
    cr_expect(memcmp(one.hash_key, other.hash_key, sizeof one.hash_key));
    cr_expect(chosen.hash_key[0] == 0 && chosen.hash_key[1] == 5);
}

Test(hash, without_random_bits_of_the_system_keys_seeds_and_names_of_files_differ, .init = make_folder,
     .fini = remove_folder) {
    static const int refusals[] = {ENOSYS, EPERM, EAGAIN};
    const char *path = in_folder("written");
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        refusal = refusals[i];
        tort_env one = {0}, other = {0};
        tort_env_choose_key(&one);
        tort_env_choose_key(&other);
        cr_expect(one.hash_key[0] != other.hash_key[0] && one.hash_key[1] != other.hash_key[1]);
        tort_generator x, y;
        tort_generator_start(&x, &(tort_seed){0});
        tort_generator_start(&y, &(tort_seed){0});
        cr_expect(tort_generator_uniform(&x) != tort_generator_uniform(&y));
        tort_new_file first, second;
        cr_assert_not(tort_new_file_name(path, &first, NULL) || tort_new_file_open(&first, NULL));
        cr_assert_not(tort_new_file_name(path, &second, NULL) || tort_new_file_open(&second, NULL));
        cr_expect(tort_new_file_write(&first, "1", 1) && tort_new_file_write(&second, "2", 1));
        cr_expect_not(tort_new_file_end(&first, TORT_OK, NULL) || tort_new_file_end(&second, TORT_OK, NULL));
    }
}

enum { SLOTS = 1 << 16, WORDS = 1 << 14 };

/* The largest number of hashes that share one slot. */
static int32_t in_one_slot(const uint64_t *hashes, int32_t count) {
    static int32_t slots[SLOTS];
    int32_t max = 0;
    memset(slots, 0, sizeof slots);
    for (int32_t i = 0; i < count; i++) {
        const int32_t there = ++slots[hashes[i] % SLOTS];
        max = there > max ? there : max;
    }
    return max;
}

Test(hash, words_that_collide_under_one_key_are_spread_by_another) {
    const uint64_t known[2] = {0x243F6A8885A308D3u, 0x13198A2E03707345u};
    tort_env secret = {0};
    tort_env_choose_key(&secret);
    static uint64_t hashes[WORDS];
    int32_t count = 0;
    for (uint64_t word = 0; count < WORDS / 4; word++)
        if (tort_hash_word(known, word) % SLOTS == 7) hashes[count++] = tort_hash_word(secret.hash_key, word);
    cr_expect_lt(in_one_slot(hashes, count), 16);
    for (int32_t shift = 0; shift <= 48; shift += 8) {
        for (int32_t i = 0; i < WORDS; i++) hashes[i] = tort_hash_word(secret.hash_key, (uint64_t)i << shift);
        cr_expect_lt(in_one_slot(hashes, WORDS), 64, "multiples of 2^%d", (int)shift);
    }
}

Test(hash, texts_that_collide_under_one_key_are_spread_by_another) {
    const uint64_t known[2] = {0x243F6A8885A308D3u, 0x13198A2E03707345u};
    tort_env secret = {0};
    tort_env_choose_key(&secret);
    static uint64_t hashes[WORDS];
    int32_t count = 0;
    char text[24] = "name_0000000000";
    for (uint64_t number = 0; count < WORDS / 16; number++) {
        snprintf(text + 5, sizeof text - 5, "%llu", (unsigned long long)number);
        if (tort_hash(known, text, strlen(text)) % SLOTS == 7)
            hashes[count++] = tort_hash(secret.hash_key, text, strlen(text));
    }
    cr_expect_lt(in_one_slot(hashes, count), 16);
}

/* The steps that a name is away, on average, from where its probes begin, in a half-full table of v0, v1 ... v2047. */
static double steps_of_numbered_names(const uint64_t key[2]) {
    enum { NAMES = 2048 };
    bool taken[2 * NAMES] = {false};
    int32_t steps = 0;
    for (int32_t i = 0; i < NAMES; i++) {
        char name[16];
        const size_t length = (size_t)snprintf(name, sizeof name, "v%d", (int)i);
        uint64_t at = tort_hash(key, name, length) % (2 * NAMES);
        for (; taken[at]; steps++) at = (at + 1) % (2 * NAMES);
        taken[at] = true;
    }
    return (double)steps / NAMES;
}

Test(hash, numbered_names_are_scattered_under_every_key) {
    for (int32_t i = 0; i < 1000; i++) {
        tort_env env = {0};
        tort_env_choose_key(&env);
        cr_expect_lt(steps_of_numbered_names(env.hash_key), 1, "key %llx %llx", (unsigned long long)env.hash_key[0],
                     (unsigned long long)env.hash_key[1]);
    }
}

Test(hash, a_text_that_is_the_beginning_of_another_has_another_hash) {
    const uint64_t key[2] = {0x243F6A8885A308D3u, 0x13198A2E03707345u};
    const char zeros[24] = {0};
    static uint64_t hashes[24];
    for (size_t i = 0; i < 24; i++) {
        hashes[i] = tort_hash(key, zeros, i);
        for (size_t k = 0; k < i; k++) cr_expect_neq(hashes[i], hashes[k], "%zu and %zu zeros", i, k);
    }
}

/* The steps that all keys together are away from the slot where their probes begin. */
static uint64_t displacement(const tort_lookup *lookup, const int64_t *keys) {
    uint64_t sum = 0;
    for (uint64_t at = 0; at <= lookup->mask; at++) {
        if (lookup->slots[at] < 0) continue;
        const uint64_t home = tort_hash_word(lookup->hash_key, (uint64_t)keys[lookup->slots[at]]) & lookup->mask;
        sum += (at - home) & lookup->mask;
    }
    return sum;
}

/* Multiples of 2^48 had one slot under a multiplication by any constant, which made each look-up a search. */
Test(hash, lists_of_chosen_integers_are_looked_up_in_few_steps) {
    enum { KEYS = 20000 };
    int64_t *keys = malloc(KEYS * sizeof *keys);
    int32_t *scratch = malloc(tort_lookup_bytes(KEYS));
    cr_assert(keys && scratch);
    tort_env env = {0};
    tort_env_choose_key(&env);
    for (int64_t shift = 0; shift <= 48; shift += 16) {
        for (int64_t i = 0; i < KEYS; i++) keys[i] = (int64_t)((uint64_t)i << shift);
        const tort_call call = {.params = keys, .env = &env};
        const tort_lookup lookup =
            tort_lookup_build(&call, (tort_list){.offset = 0, .count = KEYS}, TORT_INT64, true, scratch);
        for (int64_t i = 0; i < KEYS; i++) cr_assert_eq(tort_lookup_integer(&lookup, keys[i]), i);
        cr_expect_lt(displacement(&lookup, keys), 16 * KEYS, "multiples of 2^%d", (int)shift);
    }
    free(keys);
    free(scratch);
}
