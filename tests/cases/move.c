/* move.c - random nodes for kernels/cpu/move.c beside those of planes: pixels of a few channels. */
#include "ops/numeric.h"
#include "tests/cases/cases.h"

static void add_any(random_node *n, random_source *r, tort_type type, int32_t rank, const int64_t *dims) {
    if (type == TORT_FLOAT)
        add_tensor(n, r, rank, dims);
    else
        add_integers(n, r, type, rank, dims);
}

/* Channels last to channels first, and backwards. */
static void make_pixels(random_node *n, random_source *r) {
    const bool back = chance(r, 30);
    const int64_t channels = draw(r, 2, 5), height = draw(r, 1, 90), width = draw(r, 1, 90), batch = draw(r, 1, 3);
    const int64_t last[4] = {batch, height, width, channels}, first[4] = {batch, channels, height, width};
    const tort_type types[] = {TORT_FLOAT, TORT_UINT8, TORT_INT32, TORT_INT64};
    add_any(n, r, types[draw(r, 0, 3)], 4, back ? first : last);
    int64_t *perm = add_list(n, "perm", 4);
    for (int32_t i = 0; i < 4; i++) perm[i] = (int64_t[2][4]){{0, 3, 1, 2}, {0, 2, 3, 1}}[back][i];
    n->opset = 13;
}

const kernel_case tort_rows_move[] = {
    {"", "Transpose", "move_tiles", make_pixels, NULL},
    {.op = NULL},
};
