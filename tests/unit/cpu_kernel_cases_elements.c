/* cpu_kernel_cases_elements.c - random nodes of elementwise operators: broadcast shapes, all types that have a loop,
 * and numbers that are none. Read first: cpu_kernel_cases.c. */
#include <math.h>

#include "ops/numeric.h"
#include "tests/unit/cpu_kernel_cases.h"

#define MAX_RANK 4

static const tort_type types[] = {TORT_FLOAT, TORT_DOUBLE, TORT_INT32, TORT_INT64, TORT_INT8, TORT_UINT8};
#define TYPE_COUNT (int32_t)(sizeof types / sizeof *types)

/* Long and short rows, tails of every length, and now and then nothing at all. */
static int32_t draw_shape(random_source *r, int64_t *dims) {
    const int32_t rank = (int32_t)draw(r, 0, MAX_RANK);
    for (int32_t i = 0; i < rank; i++) {
        dims[i] = chance(r, 2) ? 0 : chance(r, 30) ? draw(r, 1, 3) : draw(r, 1, 12);
        if (i == rank - 1 && chance(r, 50)) dims[i] = draw(r, 30, 700) / (rank > 2 ? rank : 1);
    }
    return rank;
}

static void spoil(random_source *r, const tort_tensor *tensor) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 3e9, -1e20};
    const int64_t count = tort_count(tensor);
    for (int32_t i = 0; i < 3 && count > 0 && chance(r, 30); i++)
        tort_store_doubles(tensor->type, tensor->data, draw(r, 0, count - 1), 1, &odd[draw(r, 0, 6)]);
}

static void add_typed(random_node *n, random_source *r, tort_type type, int32_t rank, const int64_t *dims) {
    if (type == TORT_FLOAT) {
        add_tensor(n, r, rank, dims);
    } else if (type == TORT_DOUBLE) {
        const tort_tensor *tensor = add_buffer(n, type, rank, dims);
        for (int64_t i = 0; i < tort_count(tensor); i++) ((double *)tensor->data)[i] = (double)draw(r, -99, 99) / 8;
    } else {
        add_integers(n, r, type, rank, dims);
    }
    if (type == TORT_FLOAT || type == TORT_DOUBLE) spoil(r, &n->inputs[n->input_count - 1]);
}

/* Dimensions in front are left out, others are 1. */
static void add_broadcast(random_node *n, random_source *r, tort_type type, int32_t rank, const int64_t *dims) {
    int64_t own[MAX_RANK];
    const int32_t skipped = chance(r, 30) ? (int32_t)draw(r, 0, rank) : 0;
    const int percent = chance(r, 50) ? 0 : 40;
    for (int32_t i = skipped; i < rank; i++) own[i] = chance(r, percent) ? 1 : dims[i];
    add_typed(n, r, type, rank - skipped, own + skipped);
}

static void make_broadcast(random_node *n, random_source *r, tort_type type, int32_t inputs) {
    int64_t dims[MAX_RANK];
    const int32_t rank = draw_shape(r, dims);
    for (int32_t i = 0; i < inputs; i++) add_broadcast(n, r, type, rank, dims);
    n->opset = 14;
}

void make_pair(random_node *n, random_source *r) {
    make_broadcast(n, r, TORT_FLOAT, 2);
}

void make_prelu(random_node *n, random_source *r) {
    int64_t dims[MAX_RANK];
    const int32_t rank = draw_shape(r, dims);
    add_tensor(n, r, rank, dims);
    spoil(r, &n->inputs[0]);
    add_broadcast(n, r, TORT_FLOAT, rank, dims);
    n->opset = 16;
}

void make_extreme(random_node *n, random_source *r) {
    make_broadcast(n, r, types[draw(r, 0, TYPE_COUNT - 1)], (int32_t)draw(r, 2, 4));
}

void make_sum(random_node *n, random_source *r) {
    make_broadcast(n, r, types[draw(r, 0, 1)], (int32_t)draw(r, 2, 4));
}

void make_mean(random_node *n, random_source *r) {
    make_broadcast(n, r, types[draw(r, 0, 1)], (int32_t)draw(r, 2, 3));
}

void make_integer_map(random_node *n, random_source *r) {
    make_broadcast(n, r, types[draw(r, 2, 4)], 1);
}

void make_integer_clip(random_node *n, random_source *r) {
    const tort_type type = types[draw(r, 2, TYPE_COUNT - 1)];
    make_broadcast(n, r, type, 1);
    if (chance(r, 70))
        add_integers(n, r, type, 0, NULL);
    else if (chance(r, 50))
        n->inputs[n->input_count++] = (tort_tensor){.type = TORT_UNDEFINED};
    if (n->input_count == 2 && chance(r, 80)) add_integers(n, r, type, 0, NULL);
}

void make_where(random_node *n, random_source *r) {
    static const tort_type chosen[] = {TORT_FLOAT, TORT_DOUBLE, TORT_INT64, TORT_INT16, TORT_UINT8, TORT_BOOL};
    const tort_type type = chosen[draw(r, 0, 5)];
    int64_t dims[MAX_RANK];
    const int32_t rank = draw_shape(r, dims);
    add_broadcast(n, r, TORT_BOOL, rank, dims);
    add_broadcast(n, r, type, rank, dims);
    add_broadcast(n, r, type, rank, dims);
    n->opset = 16;
}

static const tort_type casts[][2] = {
    {TORT_FLOAT, TORT_DOUBLE}, {TORT_FLOAT, TORT_INT32}, {TORT_FLOAT, TORT_INT64},  {TORT_FLOAT, TORT_UINT8},
    {TORT_FLOAT, TORT_INT8},   {TORT_FLOAT, TORT_BOOL},  {TORT_DOUBLE, TORT_FLOAT}, {TORT_DOUBLE, TORT_INT32},
    {TORT_DOUBLE, TORT_INT64}, {TORT_INT32, TORT_FLOAT}, {TORT_INT32, TORT_DOUBLE}, {TORT_INT32, TORT_INT64},
    {TORT_INT32, TORT_UINT8},  {TORT_INT32, TORT_BOOL},  {TORT_INT64, TORT_FLOAT},  {TORT_INT64, TORT_DOUBLE},
    {TORT_INT64, TORT_INT32},  {TORT_INT64, TORT_BOOL},  {TORT_UINT8, TORT_FLOAT},  {TORT_UINT8, TORT_INT32},
    {TORT_UINT8, TORT_INT64},  {TORT_UINT8, TORT_BOOL},  {TORT_INT8, TORT_FLOAT},   {TORT_INT8, TORT_INT32},
    {TORT_BOOL, TORT_FLOAT},   {TORT_BOOL, TORT_INT16},  {TORT_BOOL, TORT_INT32},   {TORT_BOOL, TORT_INT64},
};

/* The type to cast to. */
static tort_type make_cast_input(random_node *n, random_source *r) {
    const tort_type *pair = casts[draw(r, 0, (int64_t)(sizeof casts / sizeof *casts) - 1)];
    make_broadcast(n, r, pair[0], 1);
    n->opset = 15;
    return pair[1];
}

void make_number_cast(random_node *n, random_source *r) {
    add_int(n, "to", make_cast_input(n, r));
}

void make_number_cast_like(random_node *n, random_source *r) {
    const int64_t one = 1;
    add_typed(n, r, make_cast_input(n, r), 1, &one);
}

/* ---- reductions -------------------------------------------------------------------------------------------------- */

/* Axes are an attribute; inputs are small multiples of 1/8, whose sums are exact. */
void make_reduce(random_node *n, random_source *r) {
    int64_t dims[MAX_RANK];
    const int32_t rank = draw_shape(r, dims);
    add_tensor(n, r, rank, dims);
    if (chance(r, 20)) spoil(r, &n->inputs[0]);
    n->opset = 11;
    add_int(n, "keepdims", draw(r, 0, 1));
    const uint32_t reduced = (uint32_t)draw(r, 0, (1 << rank) - 1);
    if (reduced == 0) return; /* all of them */
    int64_t *axes = add_list(n, "axes", __builtin_popcount(reduced));
    for (int32_t d = 0; d < rank; d++)
        if (reduced >> d & 1) *axes++ = chance(r, 50) ? d : d - rank;
}

void make_global_pool(random_node *n, random_source *r) {
    const int64_t dims[4] = {draw(r, 1, 3), draw(r, 1, 20), draw(r, 1, 30), draw(r, 1, 40)};
    add_tensor(n, r, (int32_t)draw(r, 3, 4), dims);
    spoil(r, &n->inputs[0]);
    n->opset = 1;
}

/* ---- what moves elements ----------------------------------------------------------------------------------------- */

static const tort_type moved[] = {TORT_FLOAT, TORT_DOUBLE, TORT_INT16, TORT_UINT8};

/* Planes that are whole tiles, more than that, or less. */
void make_transpose(random_node *n, random_source *r) {
    int64_t dims[MAX_RANK];
    const int32_t rank = (int32_t)draw(r, 1, MAX_RANK);
    for (int32_t i = 0; i < rank; i++) dims[i] = chance(r, 2) ? 0 : chance(r, 50) ? draw(r, 1, 5) : draw(r, 14, 40);
    add_typed(n, r, moved[draw(r, 0, 3)], rank, dims);
    n->opset = 13;
    if (chance(r, 20)) return; /* reversed */
    int64_t *perm = add_list(n, "perm", rank);
    for (int32_t i = 0; i < rank; i++) {
        const int64_t other = draw(r, 0, i);
        perm[i] = perm[other];
        perm[other] = i;
    }
}

void make_depth_to_space(random_node *n, random_source *r) {
    const int64_t block = draw(r, 1, 3);
    const int64_t dims[4] = {draw(r, 1, 2), block * block * draw(r, 1, 20), draw(r, 1, 20), draw(r, 1, 40)};
    add_typed(n, r, moved[draw(r, 0, 3)], 4, dims);
    add_int(n, "blocksize", block);
    add_string(n, "mode", chance(r, 50) ? "DCR" : "CRD");
    n->opset = 13;
}

void make_space_to_depth(random_node *n, random_source *r) {
    const int64_t block = draw(r, 1, 3);
    const int64_t dims[4] = {draw(r, 1, 2), draw(r, 1, 20), block * draw(r, 1, 10), block * draw(r, 1, 20)};
    add_typed(n, r, moved[draw(r, 0, 3)], 4, dims);
    add_int(n, "blocksize", block);
    n->opset = 13;
}
