/* byte_table.c - ByteTable, QLinearSigmoid and QLinearLeakyRelu: y[i] = table[x[i]] with a table of 256 bytes;
 * and QLinearSoftmax, whose table has powers of e.
 *
 * Read next: ops/byte_table.c for the meaning; simd/byte_table.c. */
#include "kernels/cpu/cpu.h"
#include "ops/microsoft/qlinear.h"

static tort_verdict claim_table(const tort_target *target, const tort_node_view *node) {
    if (node->inputs[1].rank != 1 || node->inputs[1].dims[0] != 256)
        return tort_no(TORT_NO_SHAPE, "", "is for a table of 256 bytes");
    return tort_cpu_claim_any(target, node);
}

typedef struct table_job {
    const tort_simd *simd;
    const uint8_t *table, *x;
    uint8_t *y;
} table_job;

static void look_up(void *arg, int64_t begin, int64_t end) {
    const table_job *job = arg;
    job->simd->byte_table(job->table, job->x + begin, job->y + begin, end - begin);
}

static tort_status run(const tort_call *call, const uint8_t *table) {
    const tort_cpu_device *device = call->device;
    table_job job = {.simd = device->simd, .table = table, .x = call->inputs[0].data, .y = call->outputs[0].data};
    tort_parallel(call, tort_count(&call->outputs[0]), 1, look_up, &job);
    return TORT_OK;
}

static tort_status run_table(const tort_call *call) {
    return run(call, call->inputs[1].data);
}

static tort_status run_sigmoid(const tort_call *call) {
    uint8_t table[256];
    tort_qlinear_sigmoid_table(call, table);
    return run(call, table);
}

static tort_status run_leaky_relu(const tort_call *call) {
    uint8_t table[256];
    tort_qlinear_leaky_relu_table(call, table);
    return run(call, table);
}

static tort_status run_softmax(const tort_call *call) {
    const tort_cpu_device *device = call->device;
    return tort_run_linear_softmax(call, device->simd ? device->simd->softmax_bytes : NULL);
}

#define ROW(domain_, op_, claim_, run_)                                                                                \
    {                                                                                                                  \
        .domain = domain_, .op = op_, .name = "byte_table_vectors", .claim = claim_, .run = run_, .in_place = 1,       \
        .layout.id = TORT_ANY_LAYOUT, .layout.inputs = 1, .layout.outputs = 1                                          \
    }

const tort_kernel tort_cpu_byte_table[] = {
    ROW("tinyort", "ByteTable", claim_table, run_table),
    ROW("com.microsoft", "QLinearSigmoid", tort_cpu_claim_any, run_sigmoid),
    ROW("com.microsoft", "QLinearLeakyRelu", tort_cpu_claim_any, run_leaky_relu),
    {"com.microsoft", "QLinearSoftmax", "softmax_bytes", .claim = tort_cpu_claim_any, .run = run_softmax},
    {.op = NULL},
};
