/* code.c - the headers of kernels/firmware/code as text, which the build makes of them: what `tinyort compile` prints
 * is what the rows run. */
#include "kernels/firmware/firmware.h"

const char tort_code_average_pool[] =
#include "kernels/firmware/code/average_pool.inc"
    ;
const char tort_code_bound[] =
#include "kernels/firmware/code/bound.inc"
    ;
const char tort_code_clamp[] =
#include "kernels/firmware/code/clamp.inc"
    ;
const char tort_code_clip[] =
#include "kernels/firmware/code/clip.inc"
    ;
const char tort_code_conv[] =
#include "kernels/firmware/code/conv.inc"
    ;
const char tort_code_gemm[] =
#include "kernels/firmware/code/gemm.inc"
    ;
const char tort_code_max_pool[] =
#include "kernels/firmware/code/max_pool.inc"
    ;
const char tort_code_pair[] =
#include "kernels/firmware/code/pair.inc"
    ;
const char tort_code_softmax[] =
#include "kernels/firmware/code/softmax.inc"
    ;
