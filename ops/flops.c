/* flops.c - number of floating-point operations of a node: 2 per multiply-add, of products and convolutions only.
 *
 * The count follows the operator's definition, whatever a kernel saves or wastes: attention counts all keys, also those
 * that a mask hides. Products of integers count as those of floats. One row serves all versions of an operator. Read
 * next: the headers of the families, which describe their params. */
#include "ops/attention.h"
#include "ops/einsum.h"
#include "ops/fused_attention.h"
#include "ops/gemm.h"
#include "ops/integer_conv.h"
#include "ops/matmul.h"
#include "ops/microsoft/heads.h"
#include "ops/microsoft/matmul_nbits.h"
#include "ops/microsoft/qgemm.h"
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

static double attention(const void *params) {
    const tort_attention_params *p = params;
    return (double)p->batch * (double)p->query_heads *
           product(p->query_length, p->total_length, p->key_size + p->value_size);
}

static double fused_attention(const void *params) {
    const tort_fused_attention_params *p = params;
    return (double)p->outer * (double)p->inner * product(p->queries, p->keys, p->key_size + p->value_size);
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

const tort_flops tort_flops_table[] = {
    {"", "Conv", conv},
    {"tinyort", "FusedConv", conv},
    {"com.microsoft", "FusedConv", conv},
    {"com.microsoft", "NhwcConv", conv},
    {"com.microsoft", "NhwcFusedConv", conv},
    {"", "ConvInteger", conv},
    {"", "QLinearConv", conv},
    {"com.microsoft", "QLinearConv", either_conv},
    {"", "ConvTranspose", conv_transpose},
    {"com.microsoft", "ConvTransposeWithDynamicPads", conv_transpose},
    {"", "MatMul", matmul},
    {"tinyort", "FusedMatMul", matmul},
    {"tinyort", "JoinedMatMul", joined_matmul},
    {"com.microsoft", "FusedMatMul", matmul},
    {"com.microsoft", "TransposeMatMul", matmul},
    {"com.microsoft", "FusedMatMulActivation", matmul},
    {"com.microsoft", "GemmFastGelu", matmul},
    {"", "MatMulInteger", matmul},
    {"", "QLinearMatMul", matmul},
    {"com.microsoft", "MatMulInteger16", matmul},
    {"com.microsoft", "MatMulIntegerToFloat", matmul},
    {"com.microsoft", "DynamicQuantizeMatMul", matmul},
    {"", "Gemm", gemm},
    {"tinyort", "FusedGemm", gemm},
    {"com.microsoft", "FusedGemm", gemm},
    {"com.microsoft", "QGemm", qgemm},
    {"com.microsoft", "MatMulNBits", matmul_nbits},
    {"", "Attention", attention},
    {"tinyort", "FusedAttention", fused_attention},
    {"com.microsoft", "Attention", heads},
    {"com.microsoft", "MultiHeadAttention", heads},
    {"com.microsoft", "DecoderMaskedMultiHeadAttention", heads},
    {"com.microsoft", "GroupQueryAttention", heads},
    {"", "RNN", rnn},
    {"", "LSTM", rnn},
    {"", "GRU", rnn},
    {"com.microsoft", "DynamicQuantizeLSTM", rnn},
    {"", "Einsum", einsum},
    {NULL, NULL, NULL},
};
