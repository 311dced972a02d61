/* hash.c - universal hashing by multiplication (Carter and Wegman, "Universal Classes of Hash Functions", 1979): the
 * key is the factor, and the halves of the product of 128 bits are joined, so that high bits of a word reach low ones.
 * Another part of the key hides the words' differences. */
#define _DEFAULT_SOURCE /* getrandom */
#include "runtime/core/base/hash.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <unistd.h>

#include "runtime/core/base/watch.h"

static uint64_t multiply(const uint64_t key[2], uint64_t word) {
    const uint64_t a = word ^ key[0], b = key[1] | 1; /* an odd factor loses nothing */
#ifdef __SIZEOF_INT128__
    const uint64_t high = (uint64_t)((unsigned __int128)a * b >> 64);
#else
    const uint64_t a_low = a & UINT32_MAX, b_low = b & UINT32_MAX, a_high = a >> 32, b_high = b >> 32;
    const uint64_t one = a_high * b_low + (a_low * b_low >> 32), other = a_low * b_high + (one & UINT32_MAX);
    const uint64_t high = a_high * b_high + (one >> 32) + (other >> 32);
#endif
    return a * b ^ high;
}

/* Makes low bits, which tables use, depend on all. A product alone keeps what is regular in names: 'v0', 'v1' ... lie
 * in lumps under one key of a thousand. The factor is 2^64 by the golden ratio (Knuth, "Sorting and Searching", 6.4).
 */
static uint64_t scatter(uint64_t hash) {
    hash = (hash ^ hash >> 32) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
}

uint64_t tort_hash_word(const uint64_t key[2], uint64_t word) {
    return scatter(multiply(key, word));
}

uint64_t tort_hash(const uint64_t key[2], const void *data, size_t length) {
    const char *bytes = data, *const end = bytes + length;
    uint64_t hash = length, word = 0;
    for (; end - bytes >= (ptrdiff_t)sizeof word; bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = multiply(key, hash ^ word);
    }
    if (bytes < end) {
        word = 0;
        memcpy(&word, bytes, (size_t)(end - bytes));
        hash = multiply(key, hash ^ word);
    }
    return scatter(hash);
}

/* Without the system call (a kernel before Linux 3.17, a sandbox that forbids it) the bits are those that every process
 * is started with, hashed with the time, the process and an address of the caller's thread. */
void tort_random_bits(uint64_t bits[2]) {
    enum { SIZE = 2 * sizeof *bits };
    if (getrandom(bits, SIZE, GRND_NONBLOCK) == SIZE) return;
    const void *given = (const void *)getauxval(AT_RANDOM);
    uint64_t key[2] = {0};
    if (given) memcpy(key, given, SIZE);
    const uint64_t now[] = {(uint64_t)tort_now(), (uint64_t)getpid(), (uintptr_t)bits};
    bits[0] = tort_hash(key, now, sizeof now);
    bits[1] = tort_hash_word(key, bits[0]);
}

void tort_env_choose_key(tort_env *env) {
    uint64_t *key = env->hash_key;
    if (key[0] || key[1]) return;
    tort_random_bits(key);
    key[1] |= 1; /* chosen, even if all bits were 0 */
}
