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
const char tort_code_arg_reduce[] =
#include "kernels/firmware/code/arg_reduce.inc"
    ;
const char tort_code_batch_norm[] =
#include "kernels/firmware/code/batch_norm.inc"
    ;
const char tort_code_cast[] =
#include "kernels/firmware/code/cast.inc"
    ;
const char tort_code_conv_transpose[] =
#include "kernels/firmware/code/conv_transpose.inc"
    ;
const char tort_code_dot[] =
#include "kernels/firmware/code/dot.inc"
    ;
const char tort_code_exp[] =
#include "kernels/firmware/code/exp.inc"
    ;
const char tort_code_fill[] =
#include "kernels/firmware/code/fill.inc"
    ;
const char tort_code_flip[] =
#include "kernels/firmware/code/flip.inc"
    ;
const char tort_code_gather[] =
#include "kernels/firmware/code/gather.inc"
    ;
const char tort_code_gru[] =
#include "kernels/firmware/code/gru.inc"
    ;
const char tort_code_load[] =
#include "kernels/firmware/code/load.inc"
    ;
const char tort_code_log[] =
#include "kernels/firmware/code/log.inc"
    ;
const char tort_code_log_softmax[] =
#include "kernels/firmware/code/log_softmax.inc"
    ;
const char tort_code_lp_norm[] =
#include "kernels/firmware/code/lp_norm.inc"
    ;
const char tort_code_lrn[] =
#include "kernels/firmware/code/lrn.inc"
    ;
const char tort_code_lstm[] =
#include "kernels/firmware/code/lstm.inc"
    ;
const char tort_code_map[] =
#include "kernels/firmware/code/map.inc"
    ;
const char tort_code_map_by[] =
#include "kernels/firmware/code/map_by.inc"
    ;
const char tort_code_move[] =
#include "kernels/firmware/code/move.inc"
    ;
const char tort_code_normalize[] =
#include "kernels/firmware/code/normalize.inc"
    ;
const char tort_code_offset[] =
#include "kernels/firmware/code/offset.inc"
    ;
const char tort_code_pad[] =
#include "kernels/firmware/code/pad.inc"
    ;
const char tort_code_polynomial[] =
#include "kernels/firmware/code/polynomial.inc"
    ;
const char tort_code_recurrent[] =
#include "kernels/firmware/code/recurrent.inc"
    ;
const char tort_code_reduce[] =
#include "kernels/firmware/code/reduce.inc"
    ;
const char tort_code_resize[] =
#include "kernels/firmware/code/resize.inc"
    ;
const char tort_code_rnn[] =
#include "kernels/firmware/code/rnn.inc"
    ;
const char tort_code_store[] =
#include "kernels/firmware/code/store.inc"
    ;
const char tort_code_where[] =
#include "kernels/firmware/code/where.inc"
    ;
const char tort_code_zip[] =
#include "kernels/firmware/code/zip.inc"
    ;
const char tort_code_einsum[] =
#include "kernels/firmware/code/einsum.inc"
    ;
