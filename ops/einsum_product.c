/* einsum_product.c - see einsum_product.h; ops/einsum.c has the meaning. */
#include "ops/einsum_product.h"

typedef enum label_role { LOOP, ROW, COLUMN, DEPTH, ROLES } label_role;

/* True if the index of `outer` continues where `inner` ends, in all tensors. */
static bool continues(const tort_einsum_axis *outer, const tort_einsum_axis *inner) {
    return outer->a == inner->a * inner->size && outer->b == inner->b * inner->size &&
           outer->c == inner->c * inner->size;
}

static void fold(tort_einsum_axes *list) {
    for (int32_t i = 0; i < list->count; i++)
        for (int32_t j = 0; j < list->count; j++) {
            if (i == j || !continues(&list->axes[i], &list->axes[j])) continue;
            list->axes[j].size *= list->axes[i].size;
            list->axes[i] = list->axes[--list->count];
            i = -1;
            break;
        }
}

/* Assigns roles; false if a label is summed up in one operand alone. */
static bool assign_roles(const tort_einsum_params *p, tort_einsum_axes *lists) {
    for (int32_t l = 0; l < p->label_count; l++) {
        const bool a = p->uses[0] >> l & 1, b = p->uses[1] >> l & 1;
        const label_role role = p->in_output[l] ? a && b ? LOOP : a ? ROW : COLUMN : DEPTH;
        if (p->sizes[l] == 1 || (!a && !b)) continue;
        if (role == DEPTH && !(a && b)) return false;
        lists[role].axes[lists[role].count++] =
            (tort_einsum_axis){p->sizes[l], p->operands[0].strides[l], p->operands[1].strides[l], p->output.strides[l]};
    }
    for (int32_t role = 0; role < ROLES; role++) fold(&lists[role]);
    return true;
}

/* Takes one axis out of a list: one that is contiguous in the output if there is one, else the longest. The others
 * go to `rest`. */
static tort_einsum_axis take_axis(const tort_einsum_axes *list, tort_einsum_axes *rest) {
    tort_einsum_axis best = {.size = 1};
    int32_t at = -1;
    for (int32_t i = 0; i < list->count; i++)
        if (at < 0 || (best.c != 1 && (list->axes[i].c == 1 || list->axes[i].size > best.size)))
            best = list->axes[at = i];
    for (int32_t i = 0; i < list->count; i++)
        if (i != at) rest->axes[rest->count++] = list->axes[i];
    return best;
}

int64_t tort_einsum_count(const tort_einsum_axes *list) {
    int64_t count = 1;
    for (int32_t i = 0; i < list->count; i++) count *= list->axes[i].size;
    return count;
}

static void swap_axes(tort_einsum_axes *list) {
    for (int32_t i = 0; i < list->count; i++) {
        tort_einsum_axis *axis = &list->axes[i];
        *axis = (tort_einsum_axis){axis->size, axis->b, axis->a, axis->c};
    }
}

void tort_einsum_product_of(const tort_einsum_params *p, tort_einsum_product *product) {
    tort_einsum_axes lists[ROLES] = {{0}};
    *product = (tort_einsum_product){0};
    assign_roles(p, lists);
    product->loops = lists[LOOP];
    product->row = take_axis(&lists[ROW], &product->loops);
    product->column = take_axis(&lists[COLUMN], &product->loops);
    product->depth = take_axis(&lists[DEPTH], &product->sums);
    if (tort_einsum_count(&product->sums) == 0) {
        product->depth.size = 0;
        product->sums.count = 0;
    }
    /* Columns should be contiguous in the output; a single column becomes a row. */
    product->swapped = product->column.size == 1 || (product->row.c == 1 && product->column.c != 1);
    if (!product->swapped) return;
    const tort_einsum_axis row = product->row;
    product->row = (tort_einsum_axis){product->column.size, product->column.b, product->column.a, product->column.c};
    product->column = (tort_einsum_axis){row.size, row.b, row.a, row.c};
    product->depth = (tort_einsum_axis){product->depth.size, product->depth.b, product->depth.a, 0};
    swap_axes(&product->loops);
    swap_axes(&product->sums);
}

tort_verdict tort_einsum_claim_product(const tort_einsum_params *p) {
    tort_einsum_axes lists[ROLES] = {{0}};
    if (p->operand_count == 0) return tort_no(TORT_NO_DYNAMIC, "", "the ranks of the operands are not known");
    if (p->operand_count != 2) return tort_no(TORT_NO_ATTR, "", "is for two operands, there are %d", p->operand_count);
    if (!assign_roles(p, lists)) return tort_no(TORT_NO_ATTR, "", "is for sums of products, one operand is summed up");
    return tort_yes();
}

bool tort_einsum_sums(const tort_einsum_params *p) {
    bool sums = false;
    for (int32_t l = 0; l < p->label_count; l++) sums = sums || (!p->in_output[l] && p->sizes[l] != 1);
    return sums;
}
