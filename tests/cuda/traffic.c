/* traffic.c - what single nodes ask of global memory, in shapes as networks have them: the sectors of 32 bytes that the
 * warp accesses of their kernels touch, over the least that a node must read and write. Memory-bound kernels are as
 * fast as this ratio lets them.
 *
 * Usage: check_traffic [--kernels] [OPERATOR]: one operator's cases alone; --kernels tells each kernel of a case apart.
 * libtinyort-cudasim.so must be of the mode `traffic` (kernels/cudasim/traffic.cpp). Lines are those of kernel_case.h
 * with numbers for letters. A case above its budget fails, and one a fifth below: then write the better figure into the
 * table. Caches are not simulated: what a second access finds in one counts here all the same, so a ratio of 2 may mean
 * that memory is read twice, or once and a cache the second time. */
#include <stdio.h>
#include <string.h>

#include "tests/cuda/kernel_case.h"
#include "tests/cuda/simulator.h"

enum { FLOAT_AND_HALF = 2, MAX_KERNELS = 8 };

/* What must be read and written: each operand once; of the first input as much as of y; or, with inputs 3 and 4 in the
 * buffers of outputs 1 and 2, which are caches, the inputs and output 0. TF32: all, with tf32=on. PACKED: all, where
 * the inputs behind the first are constants, which were packed before the run. */
typedef enum traffic_kind { ALL, AS_MUCH_AS_Y, EXTENDED, TF32, PACKED } traffic_kind;

enum { FIRST_CACHE = 3, CACHES = 2 };

typedef struct traffic_case {
    const char *line;
    double budgets[FLOAT_AND_HALF]; /* sector bytes over the least; the first alone for a line without T */
    traffic_kind kind;
} traffic_case;

static const traffic_case table[] = {
    {"Add 14; ; T[256,768] T[256,768]", {1.1, 1.1}, ALL},
    {"Add 14; ; T[256,768] T[768]", {1.55, 1.55}, ALL},
    {"Add 14; ; T[256,768] T[]", {1.1, 1.1}, ALL},
    {"Add 14; ; T[4,64,28,28] T[64,1,1]", {1.1, 1.1}, ALL},
    {"Relu 14; ; T[256,768]", {1.1, 1.1}, ALL},
    {"Gelu 20; ; T[256,768]", {1.1, 1.1}, ALL},
    {"Cast 13; to=10; f32[256,768]", {1.1}, ALL},
    {"Cast 13; to=1; f16[256,768]", {1.1}, ALL},
    {"QuantizeLinear 19; ; T[256,768] T[] u8[]", {1.1, 1.1}, ALL},
    /* Scales are read once a row, mostly out of a cache. */
    {"DequantizeLinear 19; axis=-1; i8[256,768] T[768] i8[768]", {2.0, 2.0}, ALL},
    {"DequantizeLinear 21; block_size=32 axis=-1; i4[256,768] T[256,24] i4[256,24]", {1.55, 1.95}, ALL},
    {"DynamicQuantizeLinear 11; ; f32[256,768]; 3", {1.95}, ALL}, /* x is read for its range, and again */
    {"Where 16; ; bool[256,768] T[256,768] T[256,768]", {1.1, 1.1}, ALL},
    {"Softmax 13; axis=-1; T[1536,128]", {1.1, 1.1}, ALL},
    {"Softmax 13; axis=-1; T[4096,64]", {1.1, 1.1}, ALL},
    {"Softmax 13; axis=-1; T[128,1000]", {1.1, 1.1}, ALL},
    {"Softmax 13; axis=-1; T[8,32000]", {1.05, 1.05}, ALL}, /* registers and shared memory hold a row */
    {"Softmax 13; axis=-1; T[8,30523]", {1.05, 1.05}, ALL}, /* likewise, of rows that are no multiples of packs */
    {"LayerNormalization 17; axis=-1; T[256,768] T[768] T[768]", {1.15, 1.15}, ALL},
    {"LayerNormalization 17; axis=-1; T[8192,256] T[256] T[256]", {1.15, 1.15}, ALL},
    {"RMSNormalization 23; ; T[256,768] T[768]", {1.1, 1.1}, ALL},
    {"com.microsoft.SkipLayerNormalization 1; ; T[256,768] T[256,768] T[768] T[768] T[768]; 4", {1.15, 1.15}, ALL},
    {"com.microsoft.SkipLayerNormalization 1; ; T[8192,256] T[8192,256] T[256] T[256]", {1.15, 1.15}, ALL},
    {"com.microsoft.SkipSimplifiedLayerNormalization 1; ; T[256,768] T[256,768] T[768]; 4", {1.1, 1.1}, ALL},
    {"com.microsoft.EmbedLayerNormalization 1; ; i32[1,256]~0,255 - T[256,768] T[256,768] - T[768] T[768]; 1",
     {1.15, 1.15},
     ALL},
    /* Each row reads its row of a table of two segments. */
    {"com.microsoft.EmbedLayerNormalization 1; ; i32[1,256]~0,255 i32[1,256]~0,1 T[256,768] T[256,768] T[2,768] T[768] "
     "T[768]; 1",
     {1.5, 1.5},
     ALL},
    {"InstanceNormalization 22; ; T[4,64,28,28] T[64] T[64]", {1.1, 1.1}, ALL},
    {"BatchNormalization 15; ; T[4,64,28,28] T[64] T[64] T[64] T[64]~0.5,2", {1.1, 1.1}, ALL},
    {"Transpose 21; perm=1,0; T[384,512]", {1.1, 1.1}, ALL},
    {"Transpose 21; perm=0,2,1,3; T[2,128,12,64]", {1.1, 1.1}, ALL},
    {"Transpose 21; perm=0,2,3,1; T[2,64,40,40]", {1.1, 1.1}, ALL},
    {"Concat 13; axis=1; T[4,32,28,28] T[4,32,28,28]", {1.1, 1.1}, ALL},
    {"Concat 13; axis=-1; T[256,256] T[256,512]", {1.1, 1.1}, ALL},
    {"Split 18; axis=-1; T[256,768] i64[3]=256,256,256; 3", {1.1, 1.1}, ALL},
    {"Slice 13; ; T[256,768] i64[1]=256 i64[1]=512 i64[1]=1", {1.1, 1.1}, AS_MUCH_AS_Y},
    {"Gather 13; axis=0; T[1000,768] i64[256]~0,999", {1.1, 1.1}, AS_MUCH_AS_Y},
    {"Pad 21; ; T[4,32,28,28] i64[8]=0,0,1,1,0,0,1,1", {1.15, 1.3}, ALL},
    {"Expand 13; ; T[64,1,256] i64[3]=64,12,256", {1.05, 1.05}, ALL},
    {"Expand 13; ; T[1,2048] i64[2]=70,2048", {1.1, 1.1}, ALL},
    {"Expand 13; ; T[512,1] i64[2]=512,256", {1.3, 1.55}, ALL},
    {"ReduceSum 13; ; T[256,768] i64[1]=-1", {1.1, 1.1}, ALL},
    {"ReduceSum 13; ; T[4,128,384] i64[1]=1", {1.1, 1.1}, ALL},
    {"ReduceMax 20; ; T[512,2304] i64[1]=0", {1.05, 1.05}, ALL},
    {"ReduceSum 13; keepdims=0; T[2048,512] i64[1]=0", {1.05, 1.05}, ALL}, /* shares of blocks, too */
    {"ReduceMean 18; ; T[4,64,28,28] i64[2]=2,3", {1.1, 1.1}, ALL},
    {"GlobalAveragePool 1; ; T[4,64,28,28]", {1.1, 1.1}, ALL},
    {"MaxPool 22; kernel_shape=2,2 strides=2,2; T[2,32,56,56]", {1.05, 1.05}, ALL},
    {"MaxPool 22; kernel_shape=3,3 strides=2,2 pads=1,1,1,1; T[1,32,112,112]", {1.05, 1.05}, ALL},
    {"AveragePool 22; kernel_shape=3,3 pads=1,1,1,1; T[1,32,35,35]", {1.25, 1.5}, ALL},
    {"Resize 19; mode=nearest coordinate_transformation_mode=asymmetric nearest_mode=floor; T[1,32,28,28] - "
     "f32[4]=1,1,2,2",
     {1.1, 1.25},
     ALL},
    {"Resize 19; coordinate_transformation_mode=asymmetric nearest_mode=floor; T[1,16,40,80] - f32[4]=1,1,2,2",
     {1.1, 1.3},
     ALL},
    {"Resize 19; mode=linear; T[1,32,28,28] - f32[4]=1,1,2,2", {1.15, 1.25}, ALL},
    {"Resize 19; mode=linear; T[1,3,100,300] - - i64[4]=1,3,224,224", {1.3, 1.55}, ALL},
    {"Resize 19; mode=linear; T[1,16,64,64] - f32[4]=1,1,0.5,0.5", {1.05, 1.05}, ALL},
    {"Resize 19; mode=linear coordinate_transformation_mode=align_corners; T[4,64,7,7] - - i64[4]=4,64,14,14",
     {1.45, 2.0},
     ALL},
    {"Conv 22; group=32 pads=1,1,1,1; T[1,32,56,56] T[32,1,3,3] T[32]", {1.15, 1.25}, ALL},
    {"Conv 22; group=32 pads=1,1,1,1 strides=2,2; T[1,32,56,56] T[32,1,3,3] T[32]", {1.1, 1.1}, ALL},
    /* Bound by arithmetic: their budgets hold what tiles fetch again. */
    /* An sm_80 multiplies floats at half the rate of sm_90, so that more parts pay in these small products (tiling.c);
     * what they write and read counts here. */
    {"Conv 22; pads=1,1,1,1; T[1,64,28,28] T[64,64,3,3] T[64]", {34, 12.3}, ALL},
    {"Conv 22; ; T[1,128,28,28] T[128,128,1,1] T[128]", {19.8, 6}, ALL},
    {"Conv 22; pads=3,3,3,3 strides=2,2; T[1,3,64,64] T[64,3,7,7] T[64]", {38.5, 9.25}, ALL},
    {"MatMul 13; ; T[256,256] T[256,256]", {19.2, 3.1}, ALL},
    {"MatMul 13; ; T[128,768] T[768,256]", {10.6, 2.55}, ALL},
    {"MatMul 13; ; T[1,768] T[768,768]", {1.1, 1.1}, ALL},
    {"MatMul 13; ; T[4,768] T[768,768]", {1.1, 1.2}, ALL},
    {"Gemm 13; transB=1; T[1,2048] T[1024,2048] T[1024]", {1.1, 1.1}, ALL},
    {"Gemm 13; transB=1; T[4,2048] T[512,2048] T[512]", {1.2, 1.2}, ALL},
    /* Each block reads all of A, which is then in a cache: of many columns it has more, so that fewer do. */
    {"com.microsoft.MatMulNBits 1; N=512 K=1024 block_size=32; T[1,1024] u8[512,32,16]~0,255 T[512,32]",
     {1.2, 1.15},
     ALL},
    {"com.microsoft.MatMulNBits 1; N=512 K=1024 block_size=32; T[4,1024] u8[512,32,16]~0,255 T[512,32] u8[512,16]~0,255",
     {1.75, 1.45},
     ALL},
    {"com.microsoft.MatMulNBits 1; N=8192 K=1024 block_size=32; T[1,1024] u8[8192,32,16]~0,255 T[8192,32]",
     {1.1, 1.1},
     ALL},
    {"com.microsoft.MatMulNBits 1; N=32768 K=512 block_size=32; T[4,512] u8[32768,16,16]~0,255 T[32768,16]",
     {1.1, 1.1},
     ALL},
    /* Each tile of 64 queries reads all keys and values that one of them sees. */
    {"Attention 23; ; T[1,2,256,64] T[1,2,256,64] T[1,2,256,64]", {2.55, 2.55}, ALL},
    {"Attention 23; is_causal=1; T[1,2,256,64] T[1,2,256,64] T[1,2,256,64]", {1.8, 1.8}, ALL},
    {"Attention 23; ; T[1,2,128,64] T[1,2,128,64] T[1,2,128,64] T[128,128]", {1.65, 1.65}, ALL},
    {"Attention 24; ; T[1,8,1,128] T[1,2,1024,128] T[1,2,1024,128]", {1.1, 1.15}, ALL},
    {"FusedAttention 1; q_perm=0,2,1,3 k_perm=0,2,3,1 v_perm=0,2,1,3 y_perm=0,2,1,3; T[1,128,4,64] T[1,128,4,64] "
     "T[1,128,4,64]",
     {1.55, 1.55},
     ALL},
    {"com.microsoft.GroupQueryAttention 1; num_heads=8 kv_num_heads=2; T[1,1,1024] T[1,1,256] T[1,1,256] T[1,2,511,128] "
     "T[1,2,511,128] i32[1]=511 i32[]=512; 3",
     {1.6, 1.65},
     ALL},
    /* In place. The rest is sums of parts of 64 keys, of which halves have half the bytes. */
    {"com.microsoft.GroupQueryAttention 1; num_heads=8 kv_num_heads=2; T[1,1,1024] T[1,1,256] T[1,1,256] T[1,2,512,128] "
     "T[1,2,512,128] i32[1]=511 i32[]=512; 3",
     {1.1, 1.15},
     EXTENDED},
    {"MatMul 13; ; T[12,128,64] T[12,64,128]", {1.55, 1.55}, ALL},
    /* Of bytes: B is packed in the run, as it is no constant here; sums of A's rows are one more reading. */
    {"MatMulInteger 10; ; u8[512,256]~0,255 i8[256,512]~-128,127 u8[]=3 i8[]=0", {4.55}, ALL},
    {"QLinearMatMul 10; ; u8[512,256]~0,255 f32[]=0.02 u8[]=3 i8[256,512]~-128,127 f32[]=0.01 i8[]=0 f32[]=1 u8[]=5",
     {8},
     ALL},
    /* Of packed weights, what tiles fetch again: each tile of 128 pixels the filters, each of 64 filters the windows.
     */
    {"QLinearMatMul 10; ; u8[512,256]~0,255 f32[]=0.02 u8[]=3 i8[256,512]~-128,127 f32[]=0.01 i8[]=0 f32[]=1 u8[]=5",
     {5.75},
     PACKED},
    {"com.microsoft.QLinearConv 1; channels_last=1 pads=1,1,1,1; u8[1,28,28,64]~0,255 f32[]=0.02 u8[]=3 "
     "i8[64,64,3,3]~-128,127 f32[]=0.01 i8[]=0 f32[]=1 u8[]=5",
     {7.45},
     PACKED},
    {"com.microsoft.QLinearConv 1; channels_last=1; u8[1,28,28,128]~0,255 f32[]=0.02 u8[]=3 i8[128,128,1,1]~-128,127 "
     "f32[]=0.01 i8[]=0 f32[]=1 u8[]=5",
     {3.7},
     PACKED},
    {"com.microsoft.QLinearConv 1; channels_last=1 group=96 pads=1,1,1,1; u8[1,56,56,96]~0,255 f32[]=0.02 u8[]=3 "
     "i8[96,1,3,3]~-128,127 f32[]=0.01 i8[]=0 f32[]=1 u8[]=5",
     {9.2},
     PACKED},
    {"QLinearConv 10; strides=2,2 pads=3,3,3,3; u8[1,3,64,64]~0,255 f32[]=0.02 u8[]=3 i8[64,3,7,7]~-128,127 f32[]=0.01 "
     "i8[]=0 f32[]=1 u8[]=5",
     {13},
     PACKED},
    {"com.microsoft.QLinearAdd 1; ; u8[256,768]~0,255 f32[]=0.02 u8[]=3 u8[256,768]~0,255 f32[]=0.02 u8[]=3 f32[]=0.03 u8[]=5",
     {1.15},
     ALL},
    {"com.microsoft.QLinearGlobalAveragePool 1; ; u8[8,64,28,28]~0,255 f32[]=0.02 u8[]=3 f32[]=0.03 u8[]=5",
     {1.75},
     ALL},
    {"MatMul 13; ; f32[512,256] f32[256,512]", {4.6}, TF32},
    {"Gemm 13; transB=1; f32[512,256] f32[512,256] f32[512]", {4.85}, TF32},
    {"Attention 23; ; f32[1,2,256,64] f32[1,2,256,64] f32[1,2,256,64]", {2.55}, TF32},
};

/* ---- a run ------------------------------------------------------------------------------------------------------- */

typedef struct measurement {
    cudasim_traffic kernels[MAX_KERNELS];
    size_t kernel_count;
    cudasim_traffic_counts all;
    double min_bytes;
} measurement;

static double bytes_of(const tort_tensor *tensor) {
    size_t bytes = 0;
    return tort_tensor_bytes(tensor, &bytes) ? (double)bytes : 0;
}

/* Constants are axes and the like, which kernels have as arguments. */
static double min_bytes(const kernel_case *c, traffic_kind kind, const tort_tensor *outputs) {
    double written = 0, read = 0;
    for (int32_t i = 0; i < (kind == EXTENDED ? 1 : c->output_count); i++) written += bytes_of(&outputs[i]);
    for (int32_t i = 0; i < c->input_count; i++)
        if (c->inputs[i].tensor.type && (kind == PACKED || !c->inputs[i].constant))
            read += i == 0 && kind == AS_MUCH_AS_Y ? written : bytes_of(&c->inputs[i].tensor);
    return read + written;
}

/* Moves the inputs to the device, and gives caches' buffers to the outputs that extend them. The session frees them. */
static tort_status bind_caches(tort_session *session, tort_context *context, tort_tensor *inputs, int32_t count,
                               tort_tensor *outputs, tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < count; i++) {
        const void *values = inputs[i].data;
        size_t bytes = 0;
        (void)tort_tensor_bytes(&inputs[i], &bytes);
        status = tort_memory_alloc(session, "cudasim", bytes, &inputs[i].data, error);
        if (!status)
            status = tort_memory_copy(context, "cudasim", inputs[i].data, values, bytes, TORT_TO_DEVICE, error);
    }
    for (int32_t i = 0; i < CACHES; i++) outputs[1 + i] = inputs[FIRST_CACHE + i];
    return status;
}

static void configure(const cudasim_control *control, bool meter) {
    cudasim_settings settings = control->defaults();
    settings.meter_traffic = meter;
    control->configure(&settings);
}

static void read_meter(const cudasim_control *control, measurement *m) {
    m->kernel_count = control->traffic(m->kernels, MAX_KERNELS);
    m->all = (cudasim_traffic_counts){0};
    for (size_t i = 0; i < m->kernel_count && i < MAX_KERNELS; i++) {
        const cudasim_traffic_counts *counts = &m->kernels[i].counts;
        m->all.launches += counts->launches;
        m->all.read_bytes += counts->read_bytes;
        m->all.written_bytes += counts->written_bytes;
        m->all.sectors += counts->sectors;
        m->all.bank_conflicts += counts->bank_conflicts;
    }
}

static tort_status run_metered(const tort_provider *provider, const cudasim_control *control, const tort_model *model,
                               const kernel_case *c, traffic_kind kind, measurement *m) {
    const tort_provider *const providers[] = {provider, NULL};
    const char *const all = "*=cudasim";
    const tort_session_options options = {.struct_size = sizeof options,
                                          .providers = providers,
                                          .chain =
                                              kind == TF32 ? "cudasim:libraries=off:tf32=on" : "cudasim:libraries=off",
                                          .unfolded = true,
                                          .bindings = &all,
                                          .binding_count = kind == EXTENDED};
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_tensor inputs[CASE_TENSORS], outputs[CASE_TENSORS] = {{.data = NULL}};
    tort_error error;
    int32_t count = 0;
    for (int32_t i = 0; i < c->input_count; i++)
        if (c->inputs[i].tensor.type && !c->inputs[i].constant) inputs[count++] = c->inputs[i].tensor;
    configure(control, false);
    tort_status status = tort_session_create(NULL, model, &options, &session, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    if (!status && kind == EXTENDED) status = bind_caches(session, context, inputs, count, outputs, &error);
    configure(control, true);
    if (!status) status = tort_context_run(context, inputs, count, outputs, c->output_count, &error);
    if (status) printf("%s: %s\n", c->line, error.msg);
    read_meter(control, m);
    m->min_bytes = min_bytes(c, kind, outputs);
    tort_context_free(context);
    tort_session_free(session);
    return status;
}

static tort_status measure(const tort_provider *provider, const cudasim_control *control, const traffic_case *t,
                           tort_type type, measurement *m) {
    uint64_t random = 88172645463325252u;
    onnx_bytes bytes = {0};
    tort_model *model = NULL;
    kernel_case c;
    tort_error error;
    if (!kernel_case_make(t->line, type, 0, t->kind == PACKED, &random, &c)) return TORT_E_USAGE;
    kernel_case_write(&c, &bytes);
    tort_status status = tort_model_load_buffer(NULL, bytes.data, bytes.size, NULL, &model, &error);
    if (status) printf("%s: %s\n", t->line, error.msg);
    if (!status) status = run_metered(provider, control, model, &c, t->kind, m);
    tort_model_free(model);
    onnx_free(&bytes);
    kernel_case_free(&c);
    return status;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static double ratio_of(const cudasim_traffic_counts *counts, double min_bytes) {
    return (double)counts->sectors * 32 / min_bytes;
}

static void print_counts(const char *name, const char *type, const cudasim_traffic_counts *counts, double min_bytes) {
    printf("%-84.84s %-8s %10llu %9llu %6.2f", name, type,
           (unsigned long long)(counts->read_bytes + counts->written_bytes), (unsigned long long)counts->sectors,
           ratio_of(counts, min_bytes));
}

static void print_kernels(const measurement *m) {
    for (size_t i = 0; i < m->kernel_count && i < MAX_KERNELS; i++) {
        char name[160];
        snprintf(name, sizeof name, "    %s", m->kernels[i].kernel);
        print_counts(name, "", &m->kernels[i].counts, m->min_bytes);
        printf(" %6s %9llu\n", "", (unsigned long long)m->kernels[i].counts.bank_conflicts);
    }
}

/* Prints the line of the table, and what is wrong with it. */
static bool hold(const traffic_case *t, tort_type type, double budget, const measurement *m) {
    const double ratio = ratio_of(&m->all, m->min_bytes);
    print_counts(t->line, tort_type_name(type), &m->all, m->min_bytes);
    printf(" %6.2f %9llu\n", budget, (unsigned long long)m->all.bank_conflicts);
    if (m->kernel_count > MAX_KERNELS) printf("FAILED: %zu kernels; the table has room for fewer\n", m->kernel_count);
    if (!m->all.sectors) printf("FAILED: no kernel of the mode `traffic` ran\n");
    if (ratio > budget) printf("FAILED: %.3f is above the budget of %.2f\n", ratio, budget);
    if (m->all.sectors && ratio < 0.8 * budget)
        printf("FAILED: %.3f is far below the budget of %.2f: write the better one into the table\n", ratio, budget);
    return m->kernel_count <= MAX_KERNELS && m->all.sectors && ratio <= budget && ratio >= 0.8 * budget;
}

/* "Add" of "Add 14; ..." */
static bool is_of(const char *line, const char *operator) {
    const size_t length = strlen(operator);
    return !strncmp(line, operator, length) && line[length] == ' ';
}

int main(int argc, char **argv) {
    static const tort_type types[FLOAT_AND_HALF] = {TORT_FLOAT, TORT_FLOAT16};
    const tort_provider *provider;
    const cudasim_control *control;
    int passed = 0, failed = 0;
    const bool kernels = argc > 1 && !strcmp(argv[1], "--kernels");
    const char *only = argc > 1 + kernels ? argv[1 + kernels] : NULL;
    if (!simulator_open(&provider, &control)) {
        printf("libtinyort-cudasim.so is not where the loader looks\n");
        return 2;
    }
    printf("%-84s %-8s %10s %9s %6s %6s %9s\n", "", "", "requested", "sectors", "ratio", "budget", "bank");
    printf("%-84s %-8s %10s %9s %6s %6s %9s\n", "case", "T", "bytes", "of 32", "", "", "conflicts");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const int variants = kernel_case_has_type_letter(table[i].line) ? FLOAT_AND_HALF : 1;
        if (only && !is_of(table[i].line, only)) continue;
        for (int k = 0; k < variants; k++) {
            measurement m = {.kernel_count = 0};
            const bool good = !measure(provider, control, &table[i], types[k], &m) &&
                              hold(&table[i], types[k], table[i].budgets[k], &m);
            if (kernels) print_kernels(&m);
            passed += good;
            failed += !good;
        }
    }
    printf("cuda-traffic: %d passed, %d failed\n", passed, failed);
    return failed != 0 || passed == 0;
}
