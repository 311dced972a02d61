/* fuse_activation.c - fusions of the arithmetic that exporters write for Gelu, Swish and HardSwish into one operator.
 *
 * Each family of rows combines the ways to begin with the ways to end: x * (1 + f) / 2 is written in three orders. Read
 * next: activation.c, fuse_epilogue.c, which fuses the result with the product before it. */
#include "runtime/include/pattern.h"

/* ---- Gelu: x / 2 * (1 + f) with f = erf(x / sqrt 2), or tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)) ---------------- */

#define THREE_ENDS(name_, f_, attributes_)                                                                             \
    {name_, f_ " o=Add(f,#1) m=Mul(x,o) y=Mul(m,#0.5)", "Gelu(x){" attributes_ "}", NULL},                             \
        {name_, f_ " o=Add(f,#1) h=Mul(x,#0.5) y=Mul(h,o)", "Gelu(x){" attributes_ "}", NULL}, {                       \
        name_, f_ " o=Add(f,#1) h=Mul(o,#0.5) y=Mul(x,h)", "Gelu(x){" attributes_ "}", NULL                            \
    }

#define ERF "approximate=none"
#define TANH "approximate=tanh"
#define OF_CUBE " k=Mul(p,#0.044715) a=Add(x,k) s=Mul(a,#0.79788456) f=Tanh(s)"

/* ---- HardSwish: x * min(max(x + 3, 0), 6) / 6 -------------------------------------------------------------------- */

#define THREE_SIXTHS(clipped_)                                                                                         \
    {"hard_swish", clipped_ " m=Mul(x,c) y=Div(m,#6)", "HardSwish(x)", NULL},                                          \
        {"hard_swish", clipped_ " d=Div(c,#6) y=Mul(x,d)", "HardSwish(x)", NULL}, {                                    \
        "hard_swish", clipped_ " d=Mul(c,#0.16666667) y=Mul(x,d)", "HardSwish(x)", NULL                                \
    }

const tort_pattern tort_patterns_activation[] = {
    THREE_ENDS("gelu_erf", "d=Div(x,#1.41421356) f=Erf(d)", ERF),
    THREE_ENDS("gelu_erf", "d=Mul(x,#0.70710678) f=Erf(d)", ERF),
    THREE_ENDS("gelu_tanh", "p=Pow(x,#3)" OF_CUBE, TANH),
    THREE_ENDS("gelu_tanh", "q=Mul(x,x) p=Mul(x,q)" OF_CUBE, TANH),
    THREE_ENDS("gelu_tanh", "k=Mul(x,#0.044715) q=Mul(k,x) a=Add(q,#1) b=Mul(x,#0.79788456) s=Mul(b,a) f=Tanh(s)",
               TANH),
    {"silu", "s=Sigmoid(x) y=Mul(x,s)", "Swish(x)", NULL},
    {"hard_swish", "s=HardSigmoid{alpha=0.16666667,beta=0.5}(x) y=Mul(x,s)", "HardSwish(x)", NULL},
    THREE_SIXTHS("a=Add(x,#3) c=Clip(a,#0,#6)"),
    THREE_SIXTHS("a=Add(x,#3) c=Clip{min==0,max==6}(a)"),
    {0},
};
