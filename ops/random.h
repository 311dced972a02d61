/* random.h - params of RandomNormal, RandomUniform, Bernoulli and Multinomial, for every provider. */
#ifndef TORT_OPS_RANDOM_H
#define TORT_OPS_RANDOM_H

#include "ops/generator.h"

typedef struct tort_distribution {
    tort_seed seed;
    double base, scale; /* uniform: low and width; normal: mean and deviation */
} tort_distribution;

#endif
