/* functions.c - measures the errors of kernels/firmware/code/functions.h against the C library in double: over floats
 * of all sizes and signs, subnormal ones, infinities and NaN. Prints the functions whose error is above their limit. */
#include "kernels/firmware/code/functions.h"

#include <stdio.h>

/* Distance in units of the last place of the exact value; huge where only one is NaN or infinite. */
static double distance(float got, double exact) {
    int exponent;
    if (exact != exact || got != got) return exact != exact && got != got ? 0 : 1e9;
    if (fabs(exact) >= 3.4028235677973366e38) return got == (exact > 0 ? INFINITY : -INFINITY) ? 0 : 1e9;
    if (isinf(got)) return 1e9;
    frexp(exact, &exponent);
    return fabs((double)got - exact) / ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}
static double softplus(double x) {
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}
static double softsign(double x) {
    return isinf(x) ? copysign(1, x) : x / (1 + fabs(x));
}

static const struct {
    const char *name;
    float (*function)(float);
    double (*exact)(double);
    double limit, range; /* of the error, and of |x| */
    int flushes;         /* 0 may stand for a subnormal result */
} functions[] = {{"exp", tinyort_exp, exp, 1.5, INFINITY, 0},
                 {"expm1", tinyort_expm1, expm1, 5, INFINITY, 0},
                 {"log", tinyort_log, log, 2, INFINITY, 0},
                 {"tanh", tinyort_tanh, tanh, 2, INFINITY, 0},
                 {"sigmoid", tinyort_sigmoid, sigmoid, 3, INFINITY, 1},
                 {"erf", tinyort_erf, erf, 2, INFINITY, 0},
                 {"softplus", tinyort_softplus, softplus, 3, INFINITY, 1},
                 {"softsign", tinyort_softsign, softsign, 2, INFINITY, 0},
                 {"sin", tinyort_sin, sin, 1, 100000, 0},
                 {"cos", tinyort_cos, cos, 1, 100000, 0},
                 {"tan", tinyort_tan, tan, 2, 100000, 0},
                 {"sinh", tinyort_sinh, sinh, 1, INFINITY, 0},
                 {"cosh", tinyort_cosh, cosh, 1, INFINITY, 0},
                 {"asinh", tinyort_asinh, asinh, 1, INFINITY, 0},
                 {"acosh", tinyort_acosh, acosh, 1, INFINITY, 0},
                 {"atanh", tinyort_atanh, atanh, 1, INFINITY, 0},
                 {"asin", tinyort_asin, asin, 1, INFINITY, 0},
                 {"acos", tinyort_acos, acos, 1, INFINITY, 0},
                 {"atan", tinyort_atan, atan, 1, INFINITY, 0},
                 {"round", tinyort_round, rint, 0, INFINITY, 0}};

static const float special[] = {0.0f,  -0.0f,     1.0f,   -1.0f,   2.0f,        -2.0f,      0.5f,      -0.5f,   3.0f,
                                -3.0f, INFINITY,  NAN,    1e-40f,  -1e-40f,     FLT_MAX,    -FLT_MAX,  FLT_MIN, 88.7f,
                                89.0f, -INFINITY, -87.4f, -104.0f, 16777216.0f, 2097151.5f, 8388607.5f};

enum { SPECIAL = sizeof special / sizeof *special };

/* Powers that have functions of their own. */
static const struct {
    float exponent;
    float (*function)(float);
} powers[] = {{2, tinyort_square}, {3, tinyort_cube}, {0.5f, tinyort_root}, {-1, tinyort_reciprocal}};

/* How often these have other bits than tinyort_pow; NaN have none. */
static int differ(float a) {
    int count = 0;
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++) {
        const float own = powers[i].function(a), other = tinyort_pow(a, powers[i].exponent);
        const int same = own == own ? !memcmp(&own, &other, sizeof own) : other != other;
        if (!same) printf("%.9g to the power of %.9g is %.9g\n", (double)a, (double)powers[i].exponent, (double)own);
        count += !same;
    }
    return count;
}

int main(void) {
    int failed = 0;
    for (uint64_t i = 0; i < 0x100000000u && failed < 9; i += 4099) {
        const uint32_t bits = (uint32_t)i;
        float x;
        memcpy(&x, &bits, sizeof x);
        failed += differ(x);
    }
    for (int i = 0; i < SPECIAL; i++) failed += differ(special[i]);
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        double worst = 0;
        float at = 0;
        for (uint64_t i = 0; i < 0x100000000u + SPECIAL * 4099u; i += 4099) {
            const uint32_t bits = (uint32_t)i;
            float x;
            memcpy(&x, &bits, sizeof x);
            if (i >= 0x100000000u) x = special[(i - 0x100000000u) / 4099];
            if (fabs((double)x) > functions[k].range) continue;
            const float got = functions[k].function(x);
            const double exact = functions[k].exact((double)x);
            if (functions[k].flushes && got == 0 && fabs(exact) < (double)FLT_MIN) continue;
            const double error = distance(got, exact);
            if (error > worst) worst = error, at = x;
        }
        failed += worst > functions[k].limit;
        if (worst > functions[k].limit) printf("%s is %.2f ulp away at %.9g\n", functions[k].name, worst, (double)at);
    }
    for (int i = 0; i < SPECIAL * SPECIAL + 300000; i++) {
        const float a = i < SPECIAL * SPECIAL ? special[i / SPECIAL] : (float)(i % 977) * 0.03f - 3.0f;
        const float b = i < SPECIAL * SPECIAL ? special[i % SPECIAL]
                        : i % 3               ? (float)(i % 41) - 20
                                              : (float)(i % 1009) * 0.1f;
        const double exact = pow((double)a, (double)b);
        const float got = tinyort_pow(a, b);
        const int wrong_sign = exact == 0 && !signbit(got) != !signbit(exact);
        if (distance(got, exact) <= (b == 3 ? 1.5 : 1) && !wrong_sign) continue;
        if (failed++ < 9) printf("%.9g to the power of %.9g is %.9g\n", (double)a, (double)b, (double)got);
    }
    return failed > 0;
}
