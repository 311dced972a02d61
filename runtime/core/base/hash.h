/* hash.h - keyed hashes. Whoever writes a file does not know the key, and so cannot choose names or numbers that
 * collide, which would make look-ups take time in the square of their number. */
#ifndef TORT_RUNTIME_BASE_HASH_H
#define TORT_RUNTIME_BASE_HASH_H

#include "runtime/core/base/memory.h"

/* Random bits of the system. Where it gives none, they are others each time, and unknown to whoever writes a file. */
void tort_random_bits(uint64_t bits[2]);
/* Sets env->hash_key to random bits of the system, unless the application chose some. */
void tort_env_choose_key(tort_env *env);

/* Words in a row are hashed by tort_hash_word(key, hash of those before ^ word). All bits of the result depend on all
 * bits of the word, so a table may take the lowest. */
uint64_t tort_hash_word(const uint64_t key[2], uint64_t word);
uint64_t tort_hash(const uint64_t key[2], const void *data, size_t length);

#endif
