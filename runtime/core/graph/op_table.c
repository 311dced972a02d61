/* op_table.c - finds the row of an operator by domain, name and version; the application's rows precede the build's.
 *
 * Read next: check.c, which checks a node against its row. */
#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/build.h"
#include "runtime/core/graph/check.h"

static int compare_rows(const void *a, const void *b) {
    const tort_op *x = *(const tort_op *const *)a, *y = *(const tort_op *const *)b;
    int order = strcmp(x->domain, y->domain);
    if (!order) order = strcmp(x->name, y->name);
    return order ? order : (x->since > y->since) - (x->since < y->since);
}

static int32_t count_rows(const tort_op *const *families) {
    int32_t count = 0;
    for (; families && *families; families++)
        for (const tort_op *row = *families; row->name; row++) count++;
    return count;
}

/* Fills `rows`, which has capacity for all of them, and sorts them. */
static void put_rows(const tort_op **rows, const tort_op *const *families) {
    size_t count = 0;
    for (; families && *families; families++)
        for (const tort_op *row = *families; row->name; row++) rows[count++] = row;
    qsort(rows, count, sizeof *rows, compare_rows);
}

static void count_all(tort_op_table *table, const tort_op *const *operators) {
    table->own = count_rows(operators);
    table->count = table->own + count_rows(tort_build.families);
}

static void put_all(const tort_op_table *table, const tort_op *const *operators) {
    put_rows(table->rows, operators);
    put_rows(table->rows + table->own, tort_build.families);
}

bool tort_op_table_build(tort_op_table *table, const tort_op *const *operators, const tort_env *env) {
    count_all(table, operators);
    table->rows = tort_alloc(env, (size_t)table->count * sizeof *table->rows + 1);
    if (table->rows) put_all(table, operators);
    return table->rows;
}

void tort_op_table_free(tort_op_table *table, const tort_env *env) {
    tort_free(env, table->rows, (size_t)table->count * sizeof *table->rows + 1);
    table->rows = NULL;
}

tort_status tort_model_look_up(tort_model *model, tort_error *error) {
    tort_op_table *table = tort_arena_alloc(&model->arena, sizeof *table);
    if (!table) return tort_out_of_memory(error, sizeof *table);
    count_all(table, model->operators);
    table->rows = tort_arena_array(&model->arena, (size_t)table->count, sizeof *table->rows);
    if (!table->rows) return tort_out_of_memory(error, (size_t)table->count * sizeof *table->rows);
    put_all(table, model->operators);
    model->op_table = table;
    return TORT_OK;
}

bool tort_op_is_own(const tort_op *const *operators, const tort_op *row) {
    for (; operators && *operators; operators++)
        for (const tort_op *own = *operators; own->name; own++)
            if (own == row) return true;
    return false;
}

/* An application's row may have the same name as one of the build, but other params: it is not counted. */
const tort_flops *tort_op_products(const tort_op *row) {
    const tort_flops *counted = tort_build.flops;
    while (counted && counted->name && (strcmp(counted->name, row->name) || strcmp(counted->domain, row->domain)))
        counted++;
    return counted && counted->name && tort_op_is_own(tort_build.families, row) ? counted : NULL;
}

bool tort_op_multiplies_integers(const tort_op *row) {
    const tort_flops *products = row ? tort_op_products(row) : NULL;
    return products && products->operands == TORT_OF_INTEGERS;
}

bool tort_op_is_counted(const tort_op *row) {
    return tort_op_products(row) != NULL;
}

double tort_op_flops(const tort_op *row, const void *params) {
    const tort_flops *counted = tort_op_products(row);
    return counted ? counted->count(params) : -1;
}

static int compare_name(const tort_op *row, const char *domain, const char *name) {
    int order = strcmp(row->domain, domain);
    return order ? order : strcmp(row->name, name);
}

int32_t tort_op_versions(const tort_op_table *table, bool own, const char *domain, const char *name,
                         const tort_op *const **family) {
    int32_t low = own ? 0 : table->own, high = own ? table->own : table->count, count = 0;
    const int32_t end = high;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (compare_name(table->rows[middle], domain, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *family = table->rows + low;
    while (low + count < end && !compare_name(table->rows[low + count], domain, name)) count++;
    return count;
}

static const tort_op *find_among(const tort_op_table *table, bool own, const char *domain, const char *name,
                                 int64_t opset, const tort_op *const **family, int32_t *count) {
    const tort_op *found = NULL;
    *count = tort_op_versions(table, own, domain, name, family);
    for (int32_t i = 0; i < *count; i++)
        if ((*family)[i]->since <= opset && opset <= (*family)[i]->until) found = (*family)[i];
    if (*count && (*family)[0]->flags & TORT_OP_EARLY && opset < (*family)[0]->since) found = (*family)[0];
    return found;
}

const tort_op *tort_op_find(const tort_op_table *table, const char *domain, const char *name, int64_t opset,
                            const tort_op *const **family, int32_t *family_count) {
    const tort_op *const *own_family;
    int32_t own_count;
    const tort_op *own = find_among(table, true, domain, name, opset, &own_family, &own_count);
    const tort_op *found = own ? NULL : find_among(table, false, domain, name, opset, family, family_count);
    if (!own && (found || *family_count || !own_count)) return found;
    *family = own_family;
    *family_count = own_count;
    return own;
}
