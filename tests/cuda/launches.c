/* launches.c - how many launches a node costs on the simulated device: kernels of our own and products and convolutions
 * of the libraries. Small inputs are bound by them, so a node should be one.
 *
 * Usage: launches BERT FOLDER: a model of two inputs (batch, sequence) of int64, and what networks.py --write wrote.
 * Lines are those of kernel_case.h with numbers for letters. Read next: network_calls.c, decoding.c, library_rows.c. */
#include <stdio.h>

#include "tests/cuda/decoding.h"
#include "tests/cuda/kernel_case.h"
#include "tests/cuda/network_calls.h"
#include "tests/cuda/simulator.h"

/* Launches of one run. */
typedef struct expectation {
    const char *line;
    int with_libraries, own;
} expectation;

static const expectation table[] = {
    {"Add 14; ; T[2,5,7] T[7]", 1, 1},
    {"Gelu 20; ; T[2,5,7]", 1, 1},
    {"Softmax 13; axis=-1; T[2,3,5,7]", 1, 1},
    {"LayerNormalization 17; axis=-1; T[2,5,7] T[7] T[7]", 1, 1},
    {"com.microsoft.SkipLayerNormalization 1; ; T[2,5,7] T[2,5,7] T[7] T[7] T[7]", 1, 1},
    {"Transpose 21; perm=0,2,1,3; T[2,3,5,7]", 1, 1},
    {"GlobalAveragePool 1; ; T[2,3,5,7]", 1, 1},
    /* One product, whatever lies around its matrices. */
    {"MatMul 13; ; T[2,5,7] T[7,3]", 1, 1},
    {"MatMul 13; ; T[2,3,5,7] T[2,3,7,4]", 1, 1},
    {"MatMul 13; ; T[3,1,5,7] T[3,1,7,4]", 1, 1},
    {"MatMul 13; ; T[1,3,5,7] T[3,7,4]", 1, 1},
    {"Gemm 13; ; T[5,7] T[7,3]", 1, 1},
    {"Gemm 13; ; T[5,7] T[7,3] T[3]", 1, 1},
    {"Gemm 13; ; T[5,200] T[200,3] T[3]", 1, 1},
    {"Gemm 13; beta=2; T[5,200] T[200,3] T[3]", 2, 1}, /* cuBLAS adds to what is there, so C goes first */
    {"Gemm 13; ; T[5,200] T[200,3] T[5,1]", 2, 1},
    /* cublasLt does bias, residual, Relu and Gelu by tanh; other activations are a launch behind the product. */
    {"FusedMatMul 1; ; T[2,5,200] T[200,3] T[3]", 1, 1},
    {"FusedMatMul 1; ; T[2,5,200] T[200,3] T[3] T[2,5,3]", 1, 1},
    {"FusedMatMul 1; activation=relu; T[2,5,200] T[200,3] - T[2,5,3]", 1, 1},
    {"FusedMatMul 1; activation=relu; T[2,5,200] T[2,200,3] T[3]", 2, 1},
    {"FusedMatMul 1; activation=gelu_tanh; T[2,5,200] T[200,3] T[3]", 1, 1},
    {"FusedMatMul 1; activation=gelu; T[2,5,7] T[7,3] T[3] T[2,5,3]", 1, 1},
    {"FusedMatMul 1; activation=gelu; T[2,5,200] T[200,3] T[3] T[2,5,3]", 2, 1},
    {"FusedGemm 1; activation=relu; T[5,7] T[7,3] T[3] T[5,3]", 1, 1},
    {"FusedGemm 1; activation=relu transA=1 transB=1; T[200,5] T[3,200] T[3] T[5,3]", 1, 1},
    {"FusedAttention 1; scale=0.3; T[2,3,5,7] T[2,3,7,4] T[2,3,4,6] T[2,1,1,4]", 1, 1},
    {"FusedAttention 1; q_perm=0,2,1,3 k_perm=0,2,3,1 v_perm=0,2,1,3 y_perm=0,2,1,3; T[2,5,3,7] T[2,4,3,7] T[2,4,3,6]",
     1, 1},
    /* With bias, residual and Relu a Conv is one call of cuDNN's, whatever its size. */
    {"Conv 22; pads=1,1,1,1; T[1,20,9,9] T[4,20,3,3]", 1, 1},
    {"Conv 22; pads=1,1,1,1; T[1,20,9,9] T[4,20,3,3] T[4]", 1, 1},
    {"FusedConv 1; pads=1,1,1,1 activation=relu; T[1,20,9,9] T[4,20,3,3] T[4]", 1, 1},
    {"FusedConv 1; pads=1,1,1,1 activation=relu; T[1,20,9,9] T[4,20,3,3] T[4] T[1,4,9,9]", 1, 1},
    {"FusedConv 1; pads=1,1,1,1; T[1,20,9,9] T[4,20,3,3] T[4] T[1,4,9,9]", 1, 1},
    {"FusedConv 1; pads=1,1,1,1 activation=silu; T[1,20,9,9] T[4,20,3,3] T[4]", 2, 1},
    {"FusedConv 1; activation=silu; T[1,20,9,9] T[4,20,1,1] T[4]", 1, 1},
    {"FusedConv 1; pads=1,1,1,1 group=20 activation=clip activation_beta=6; T[1,20,9,9] T[20,1,3,3] T[20]", 1, 1},
};

/* Launches of a run, and its status; models of the cases have one output. */
static tort_status run_counted(const tort_provider *provider, const cudasim_control *control, const tort_model *model,
                               const tort_session_options *given, const tort_tensor *inputs, int32_t count,
                               int *launches) {
    const tort_provider *const providers[] = {provider, NULL};
    tort_session_options options = *given;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_tensor output = {.data = NULL};
    tort_error error;
    options.struct_size = sizeof options;
    options.providers = providers;
    tort_status status = tort_session_create(NULL, model, &options, &session, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    const tort_device_calls before = simulator_saw(control); /* what was tried while planning */
    if (!status) status = tort_context_run(context, inputs, count, &output, 1, &error);
    if (status) printf("%s: %s\n", options.chain, error.msg);
    *launches = (int)simulator_saw_since(control, &before).launches;
    tort_context_free(context);
    tort_session_free(session);
    return status;
}

/* Launches of a run; < 0: it failed, which is said on stdout. */
static int launches_of(const tort_provider *provider, const cudasim_control *control, const kernel_case *c,
                       const char *chain) {
    const tort_session_options options = {.chain = chain, .unfolded = true};
    onnx_bytes bytes = {0};
    tort_model *model = NULL;
    tort_tensor inputs[CASE_TENSORS];
    tort_error error;
    int32_t count = 0;
    int launches = -1;
    for (int32_t i = 0; i < c->input_count; i++)
        if (c->inputs[i].tensor.type) inputs[count++] = c->inputs[i].tensor;
    kernel_case_write(c, &bytes);
    tort_status status = tort_model_load_buffer(NULL, bytes.data, bytes.size, NULL, &model, &error);
    if (status) printf("%s: %s\n", c->line, error.msg);
    if (!status) status = run_counted(provider, control, model, &options, inputs, count, &launches);
    tort_model_free(model);
    onnx_free(&bytes);
    return status ? -1 : launches;
}

/* ---- a network --------------------------------------------------------------------------------------------------- */

enum { BERT_MAX = 125 }; /* launches of BERT-base: what its mask and embeddings need, and 8 or 9 a layer */

/* How many launches a BERT needs is stated; a plan with nothing joined must need more than twice as many. */
static bool check_bert(const tort_provider *provider, const cudasim_control *control, const char *path,
                       const char *chain) {
    int64_t ids[6] = {1, 2, 3, 4, 5, 6}, mask[6] = {1, 1, 1, 1, 1, 0};
    const tort_tensor inputs[2] = {{.type = TORT_INT64, .rank = 2, .dims = {1, 6}, .data = ids},
                                   {.type = TORT_INT64, .rank = 2, .dims = {1, 6}, .data = mask}};
    const tort_session_options fused = {.chain = chain}, plain = {.chain = chain, .fusions_off = "*"};
    tort_model *model = NULL;
    tort_error error;
    int launches = 0, unfused = 0;
    tort_status status = tort_model_load(NULL, path, NULL, &model, &error);
    if (status) printf("%s: %s\n", path, error.msg);
    if (!status) status = run_counted(provider, control, model, &fused, inputs, 2, &launches);
    if (!status) status = run_counted(provider, control, model, &plain, inputs, 2, &unfused);
    tort_model_free(model);
    printf("BERT on %s: %d launches, %d without fusion\n", chain, launches, unfused);
    return !status && launches > 0 && launches <= BERT_MAX && unfused > 2 * launches;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static bool check(const expectation *e, tort_type type, int found, int expected, const char *chain) {
    if (found == expected) return true;
    printf("FAILED: %s (%s, %s): %d launches, expected %d\n", e->line, tort_type_name(type), chain, found, expected);
    return false;
}

int main(int argc, char **argv) {
    static const tort_type types[] = {TORT_FLOAT, TORT_FLOAT16};
    const tort_provider *provider;
    const cudasim_control *control;
    uint64_t random = 88172645463325252u;
    int passed = 0, failed = 0;
    if (!simulator_open(&provider, &control)) {
        printf("libtinyort-cudasim.so is not where the loader looks\n");
        return 2;
    }
    const cudasim_settings settings = control->defaults();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int k = 0; k < 2; k++) {
            const expectation *e = &table[i];
            kernel_case c;
            if (!kernel_case_make(e->line, types[k], 0, false, &random, &c)) return 2;
            control->configure(&settings);
            bool good = check(e, types[k], launches_of(provider, control, &c, "cudasim"), e->with_libraries, "cudasim");
            good &= check(e, types[k], launches_of(provider, control, &c, "cudasim:libraries=off"), e->own,
                          "cudasim:libraries=off");
            kernel_case_free(&c);
            passed += good;
            failed += !good;
        }
    for (int libraries = 0; argc == 3 && libraries < 2; libraries++) {
        control->configure(&settings);
        const bool good = check_bert(provider, control, argv[1], libraries ? "cudasim" : "cudasim:libraries=off");
        passed += good;
        failed += !good;
    }
    control->configure(&settings);
    if (argc == 3) network_calls_check(provider, control, argv[2], &passed, &failed);
    if (argc == 3) decoding_check(provider, control, argv[2], &passed, &failed);
    printf("cuda-launches: %d passed, %d failed\n", passed, failed);
    return failed != 0 || passed == 0;
}
