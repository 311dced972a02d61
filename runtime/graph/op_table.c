/* op_table.c - finds the row of an operator by domain, name and version; the application's rows go before the build's.
 *
 * Read next: check.c, which holds a node against its row. */
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/check.h"

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

/* Fills `rows`, which has room for all of them. */
static void put_rows(const tort_op **rows, const tort_op *const *families) {
    size_t count = 0;
    for (; families && *families; families++)
        for (const tort_op *row = *families; row->name; row++) rows[count++] = row;
    qsort(rows, count, sizeof *rows, compare_rows);
}

bool tort_op_table_build(tort_op_table *table, const tort_op *const *operators, const tort_env *env) {
    table->own = count_rows(operators);
    table->count = table->own + count_rows(tort_op_families);
    table->rows = tort_alloc(env, (size_t)table->count * sizeof *table->rows + 1);
    if (!table->rows) return false;
    put_rows(table->rows, operators);
    put_rows(table->rows + table->own, tort_op_families);
    return true;
}

void tort_op_table_free(tort_op_table *table, const tort_env *env) {
    tort_free(env, table->rows, (size_t)table->count * sizeof *table->rows + 1);
    table->rows = NULL;
}

bool tort_op_is_own(const tort_op *const *operators, const tort_op *row) {
    for (; operators && *operators; operators++)
        for (const tort_op *own = *operators; own->name; own++)
            if (own == row) return true;
    return false;
}

/* A row of the application may have the name of one of the build, and other params. */
static const tort_flops *flops_of(const tort_op *row) {
    if (!tort_op_is_own(tort_op_families, row)) return NULL;
    const tort_flops *counted = tort_flops_table;
    while (counted->name && (strcmp(counted->name, row->name) || strcmp(counted->domain, row->domain))) counted++;
    return counted->name ? counted : NULL;
}

bool tort_op_is_counted(const tort_op *row) {
    return flops_of(row) != NULL;
}

double tort_op_flops(const tort_op *row, const void *params) {
    const tort_flops *counted = flops_of(row);
    return counted ? counted->count(params) : -1;
}

static int compare_name(const tort_op *row, const char *domain, const char *name) {
    int order = strcmp(row->domain, domain);
    return order ? order : strcmp(row->name, name);
}

/* Among rows low .. high of the table. */
static const tort_op *find_between(const tort_op_table *table, int32_t low, int32_t high, const char *domain,
                                   const char *name, int64_t opset, const tort_op *const **family, int32_t *count) {
    const int32_t end = high;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (compare_name(table->rows[middle], domain, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *family = table->rows + low;
    *count = 0;
    const tort_op *found = NULL;
    for (int32_t i = low; i < end && !compare_name(table->rows[i], domain, name); i++) {
        ++*count;
        if (table->rows[i]->since <= opset && opset <= table->rows[i]->until) found = table->rows[i];
    }
    if (*count && (*family)[0]->flags & TORT_OP_EARLY && opset < (*family)[0]->since) found = (*family)[0];
    return found;
}

const tort_op *tort_op_find(const tort_op_table *table, const char *domain, const char *name, int64_t opset,
                            const tort_op *const **family, int32_t *family_count) {
    const tort_op *const *own_family;
    int32_t own_count;
    const tort_op *own = find_between(table, 0, table->own, domain, name, opset, &own_family, &own_count);
    const tort_op *found =
        own ? NULL : find_between(table, table->own, table->count, domain, name, opset, family, family_count);
    if (!own && (found || *family_count || !own_count)) return found;
    *family = own_family;
    *family_count = own_count;
    return own;
}
