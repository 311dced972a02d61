/* generator.h - the random numbers of the random operators: the Mersenne Twister MT19937 (Matsumoto and Nishimura,
 * 1998).
 *
 * A seed gives the numbers that numpy's RandomState(seed) gives, and so those of ONNX's reference implementation; ONNX
 * itself prescribes none. Not for cryptography. Knows no tensors. */
#ifndef TORT_OPS_GENERATOR_H
#define TORT_OPS_GENERATOR_H

#include "runtime/include/op.h"

typedef struct tort_generator {
    uint32_t state[624];
    int32_t next;
    bool has_spare; /* normal numbers come in pairs */
    double spare;
} tort_generator;

/* The attribute `seed` (FLOAT or INT) as resolve finds it. */
typedef struct tort_seed {
    bool given;
    uint32_t value;
} tort_seed;

void tort_resolve_seed(const tort_node_view *node, tort_seed *out); /* out: zeroed, in the params */

/* Starts the generator; without a seed, from random bits of the system, so that runs differ. */
void tort_generator_start(tort_generator *generator, const tort_seed *seed);
double tort_generator_uniform(tort_generator *generator); /* in [0, 1), 53 random bits */
double tort_generator_normal(tort_generator *generator);  /* mean 0, deviation 1 */
/* True with probability p. */
bool tort_generator_decide(tort_generator *generator, double p);

#endif
