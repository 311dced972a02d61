/* vector_math.c - our exp, log, tanh, erf and kin against the C library's in double, over a million floats of every
 * magnitude and sign: the errors that vector_math.h promises, in units of the last place. */
#include <criterion/criterion.h>

#include "ops/vector_math.h"

/* Distance of `got` from `exact` in units of the last place of a float there. */
static double error_of(float got, double exact) {
    if (isnan(exact)) return isnan(got) ? 0 : INFINITY;
    float nearest = (float)exact;
    if (isinf(nearest) || isinf(got)) return got == nearest ? 0 : isinf(exact) ? INFINITY : 1;
    double unit = (double)nextafterf(fabsf(nearest), INFINITY) - fabs((double)nearest);
    return fabs((double)got - exact) / unit;
}

static void check(const char *name, float (*ours)(float), double (*exact)(double), double bound) {
    for (uint64_t bits = 0; bits < (1ull << 32); bits += 4099) {
        float x = tort_float_of_bits((uint32_t)bits);
        double error = error_of(ours(x), exact((double)x));
        cr_assert_leq(error, bound, "%s(%a) is %a, exactly %a: %.2f units off", name, (double)x, (double)ours(x),
                      exact((double)x), error);
    }
}

/* 0 where it would be no normal number. */
static double sigmoid(double x) {
    if (x < -87.33654) return 0;
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

static double softplus(double x) {
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

/* Of the C library beyond TORT_TURNS_LIMIT, as the loops over these functions are. */
#define WITHIN_TURNS(name, ours, beyond)                                                                               \
    static float name(float x) {                                                                                       \
        return fabsf(x) > TORT_TURNS_LIMIT ? beyond(x) : ours(x);                                                      \
    }
WITHIN_TURNS(sine, tort_sinf, sinf)
WITHIN_TURNS(cosine, tort_cosf, cosf)
WITHIN_TURNS(tangent, tort_tanf, tanf)

/* clang-format off */
Test(vector_math, exp_is_within_its_bound) { check("exp", tort_expf, exp, 1.5); }
Test(vector_math, expm1_is_within_its_bound) { check("expm1", tort_expm1f, expm1, 5); }
Test(vector_math, log_is_within_its_bound) { check("log", tort_logf, log, 2); }
Test(vector_math, log1p_is_within_its_bound) { check("log1p", tort_log1pf, log1p, 3); }
Test(vector_math, tanh_is_within_its_bound) { check("tanh", tort_tanhf, tanh, 2); }
Test(vector_math, erf_is_within_its_bound) { check("erf", tort_erff, erf, 2); }
Test(vector_math, sigmoid_is_within_its_bound) { check("sigmoid", tort_sigmoidf, sigmoid, 3); }
Test(vector_math, softplus_is_within_its_bound) { check("softplus", tort_softplusf, softplus, 3); }
Test(vector_math, sin_is_within_its_bound) { check("sin", sine, sin, 2); }
Test(vector_math, cos_is_within_its_bound) { check("cos", cosine, cos, 2); }
Test(vector_math, tan_is_within_its_bound) { check("tan", tangent, tan, 4); }
Test(vector_math, atan_is_within_its_bound) { check("atan", tort_atanf, atan, 3); }
/* clang-format on */
