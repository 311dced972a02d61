/* flops.c - number of floating-point operations of a node: 2 per multiply-add, of products and convolutions only.
 *
 * The count follows the operator's definition, whatever a kernel saves or wastes: attention counts all keys, also those
 * that a mask hides. Products of integers count as those of floats. One row serves all versions of an operator. Read
 * next: the headers of the families, which describe their params. */
#include "ops/einsum.h"
#include "ops/gemm.h"
#include "ops/heads.h"
#include "ops/integer_conv.h"
#include "ops/matmul.h"
#include "ops/microsoft/matmul_nbits.h"
#include "ops/microsoft/qgemm.h"
#include "ops/ops.h"
#include "ops/rnn.h"

static double volume(int32_t axes, const int64_t *sizes) {
    double product = 1;
    for (int32_t i = 0; i < axes; i++) product *= (double)sizes[i];
    return product;
}

static double product(int64_t m, int64_t n, int64_t k) {
    return 2 * (double)m * (double)n * (double)k;
}

/* Every output element applies a filter once. */
static double conv(const void *params) {
    const tort_conv_params *p = params;
    return product(p->batch, p->filters, p->channels / p->group) * volume(p->window.axes, p->window.kernel) *
           volume(p->window.axes, p->window.output);
}

/* Every input element is multiplied with a filter once. */
static double conv_transpose(const void *params) {
    const tort_conv_params *p = params;
    return product(p->batch, p->channels, p->filters / p->group) * volume(p->window.axes, p->window.kernel) *
           volume(p->window.axes, p->window.input);
}

static double either_conv(const void *params) {
    const tort_either_conv *p = params;
    return conv(&p->conv);
}

static double matmul(const void *params) {
    const tort_matmul_params *p = params;
    return (double)p->batches * product(p->m, p->n, p->k);
}

static double joined_matmul(const void *params) {
    const tort_joined_matmul_params *p = params;
    return p->count * matmul(&p->product);
}

static double gemm(const void *params) {
    const tort_gemm_params *p = params;
    return product(p->m, p->n, p->k);
}

static double qgemm(const void *params) {
    const tort_qgemm *p = params;
    return product(p->m, p->n, p->k);
}

static double matmul_nbits(const void *params) {
    const tort_nbits *p = params;
    return product(p->m, p->n, p->k);
}

/* -1 if the number of keys is the contents of an input, which shapes do not tell. */
static double heads(const void *params) {
    const tort_heads_params *p = params;
    if (p->past_count >= 0 || p->lengths >= 0) return -1;
    const double projection =
        p->projected_size > 0 ? (double)p->batch * product(p->queries, p->projected_size, p->input_size) : 0;
    return projection + (double)p->batch * (double)p->query_heads *
                            product(p->queries, p->past_length + p->new_keys, p->key_size + p->value_size);
}

/* Every sequence counts at its full length. */
static double rnn(const void *params) {
    const tort_rnn_params *p = params;
    return (double)p->length * (double)p->directions *
           product(p->batch, (int64_t)p->gates * p->hidden, p->input + p->hidden);
}

/* Two operands only: with more, the count depends on the order of the products. */
static double einsum(const void *params) {
    const tort_einsum_params *p = params;
    return p->operand_count == 2 ? 2 * volume(p->label_count, p->sizes) : -1;
}

enum {
    A_AND_B = 3,
    A_TO_C = 7
}; /* masks of operands; what only fusions make has none, since the model's nodes count */

const tort_flops tort_flops_table[] = {
    {"", "Conv", conv, A_AND_B},
    {"tinyort", "FusedConv", conv, 0},
    {"com.microsoft", "FusedConv", conv, A_AND_B},
    {"com.microsoft", "NhwcConv", conv, A_AND_B},
    {"com.microsoft", "NhwcFusedConv", conv, A_AND_B},
    {"", "ConvInteger", conv, TORT_OF_INTEGERS},
    {"", "QLinearConv", conv, TORT_OF_INTEGERS},
    {"com.microsoft", "QLinearConv", either_conv, TORT_OF_INTEGERS},
    {"tinyort", "QLinearConvAdd", conv, TORT_OF_INTEGERS},
    {"", "ConvTranspose", conv_transpose, A_AND_B},
    {"tinyort", "QLinearConvTranspose", conv_transpose, TORT_OF_INTEGERS},
    {"com.microsoft", "ConvTransposeWithDynamicPads", conv_transpose, A_AND_B},
    {"", "MatMul", matmul, A_AND_B},
    {"tinyort", "FusedMatMul", matmul, 0},
    {"tinyort", "JoinedMatMul", joined_matmul, 0},
    {"com.microsoft", "FusedMatMul", matmul, A_AND_B},
    {"com.microsoft", "TransposeMatMul", matmul, A_AND_B},
    {"com.microsoft", "FusedMatMulActivation", matmul, A_AND_B},
    {"com.microsoft", "GemmFastGelu", matmul, A_AND_B},
    {"", "MatMulInteger", matmul, TORT_OF_INTEGERS},
    {"", "QLinearMatMul", matmul, TORT_OF_INTEGERS},
    {"tinyort", "QLinearMatMul", matmul, TORT_OF_INTEGERS},
    {"com.microsoft", "MatMulInteger16", matmul, TORT_OF_INTEGERS},
    {"com.microsoft", "MatMulIntegerToFloat", matmul, TORT_OF_INTEGERS},
    {"com.microsoft", "DynamicQuantizeMatMul", matmul, TORT_OF_INTEGERS},
    {"", "Gemm", gemm, A_AND_B},
    {"tinyort", "FusedGemm", gemm, 0},
    {"com.microsoft", "FusedGemm", gemm, A_AND_B},
    {"com.microsoft", "QGemm", qgemm, TORT_OF_INTEGERS},
    {"com.microsoft", "MatMulNBits", matmul_nbits, 0},
    {"", "Attention", heads, A_TO_C},
    {"tinyort", "FusedAttention", heads, 0},
    {"com.microsoft", "Attention", heads, 0},
    {"com.microsoft", "MultiHeadAttention", heads, 0},
    {"com.microsoft", "DecoderMaskedMultiHeadAttention", heads, 0},
    {"com.microsoft", "GroupQueryAttention", heads, 0},
    {"", "RNN", rnn, A_TO_C},
    {"", "LSTM", rnn, A_TO_C},
    {"", "GRU", rnn, A_TO_C},
    {"com.microsoft", "DynamicQuantizeLSTM", rnn, TORT_OF_INTEGERS},
    {"", "Einsum", einsum, A_AND_B},
    {NULL, NULL, NULL, 0},
};
