/* generator.c - MT19937, and uniform and normal numbers from it. */
#include "ops/generator.h"

#include <math.h>

#include "runtime/core/base/hash.h"

enum { WORDS = 624, DISTANCE = 397 };

void tort_resolve_seed(const tort_node_view *node, tort_seed *out) {
    const tort_attribute *seed = tort_attr(node, "seed");
    if (seed == NULL) return;
    const bool integer = seed->kind == TORT_ATTR_INT;
    out->given = integer || (seed->u.f > -0x1p63f && seed->u.f < 0x1p63f); /* NaN counts as no seed */
    if (out->given) out->value = (uint32_t)(uint64_t)(integer ? seed->u.i : (int64_t)seed->u.f);
}

static void fill(tort_generator *g) {
    for (int i = 0; i < WORDS; i++) {
        uint32_t joined = (g->state[i] & 0x80000000u) | (g->state[(i + 1) % WORDS] & 0x7fffffffu);
        g->state[i] = g->state[(i + DISTANCE) % WORDS] ^ joined >> 1 ^ (joined & 1 ? 0x9908b0dfu : 0);
    }
    g->next = 0;
}

void tort_generator_start(tort_generator *generator, const tort_seed *seed) {
    uint32_t value = seed->value;
    if (!seed->given) {
        uint64_t bits[2];
        tort_random_bits(bits);
        value = (uint32_t)bits[0];
    }
    *generator = (tort_generator){.next = WORDS};
    for (uint32_t i = 0; i < WORDS; i++) {
        generator->state[i] = value;
        value = 1812433253u * (value ^ value >> 30) + i + 1;
    }
}

static uint32_t next_word(tort_generator *g) {
    if (g->next == WORDS) fill(g);
    uint32_t y = g->state[g->next++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

double tort_generator_uniform(tort_generator *generator) {
    uint32_t high = next_word(generator) >> 5, low = next_word(generator) >> 6;
    return (high * 0x1p26 + low) * 0x1p-53;
}

/* Marsaglia's polar method. */
double tort_generator_normal(tort_generator *generator) {
    if (generator->has_spare) {
        generator->has_spare = false;
        return generator->spare;
    }
    double x, y, square;
    do {
        x = 2 * tort_generator_uniform(generator) - 1;
        y = 2 * tort_generator_uniform(generator) - 1;
        square = x * x + y * y;
    } while (square >= 1 || square == 0);
    double factor = sqrt(-2 * log(square) / square);
    generator->spare = factor * x;
    generator->has_spare = true;
    return factor * y;
}

bool tort_generator_decide(tort_generator *generator, double p) {
    double u = tort_generator_uniform(generator);
    return p <= 0.5 ? u > 1 - p : u <= p;
}
