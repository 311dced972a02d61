/* case_table.c - the cases of kernels.c, in the language of kernel_case.h, by family. A new row needs one at least; a
 * claim with several ways through needs one for each. */
#include <stddef.h>

extern const char *const kernel_cases[];

const char *const kernel_cases[] = {
    /* ---- unary.c ---- */
    "Abs 13; ; T[a,b]",
    "Ceil 13; ; T[a,b]",
    "Cos 22; ; T[a,b]",
    "Elu 22; alpha=0.7; T[a,b]",
    "Erf 13; ; T[a,b]",
    "Exp 13; ; T[a,b]",
    "Floor 13; ; T[a,b]",
    "Gelu 20; ; T[a,b]",
    "Gelu 20; approximate=tanh; T[a,b]",
    "HardSigmoid 22; alpha=0.3; T[a,b]",
    "HardSwish 22; ; T[a,b]",
    "LeakyRelu 16; alpha=0.2; T[a,b]",
    "Log 13; ; T[a,b]~0.1,9",
    "Neg 13; ; T[a,b]",
    "Reciprocal 13; ; T[a,b]~0.1,9",
    "Relu 14; ; T[a,b,c]",
    "Sigmoid 13; ; T[a,b]",
    "Sin 22; ; T[a,b]",
    "Softplus 22; ; T[a,b]",
    "Sqrt 13; ; T[a,b]~0,9",
    "Tanh 13; ; T[a,b]",
    NULL,
};
