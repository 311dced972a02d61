/* byte_table.c - ByteTable of the domain `tinyort`: maps every byte through a table of 256 constants.
 * core/passes/integers.c puts it in place of functions of one 8-bit tensor whose scales are constants. */
#include "ops/microsoft/qlinear.h"

static tort_status infer(tort_infer *infer) {
    const tort_info *table = &infer->node->inputs[1];
    tort_infer_same(infer, 0, 0);
    infer->outputs[0].type = table->type;
    if (table->rank < 0 || (table->rank == 1 && (!tort_dim_known(table->dims[0]) || table->dims[0] == 256)))
        return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "Table is not a list of 256 bytes");
}

/* Looks up each element by its byte, whatever its 8-bit type. */
static tort_status run(const tort_call *call) {
    const tort_tensor *x = &call->inputs[0], *table = &call->inputs[1];
    if (tort_count(table) != 256)
        return tort_fail(call->error, TORT_E_MODEL, "Table has %lld elements, expected 256",
                         (long long)tort_count(table));
    tort_linear_map(call, table->data, x->data, call->outputs[0].data, tort_count(x));
    return TORT_OK;
}

const tort_op tort_ops_byte_table[] = {
    {"tinyort", "ByteTable", 1, 1, "X:T1 Table:T2", "Y:T2", "T1=uint8|int8 T2=uint8|int8", "", .infer = infer,
     .reference = run},
    {0},
};
