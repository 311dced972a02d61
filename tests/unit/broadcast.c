/* broadcast.c - the loop over broadcast tensors: merged dimensions, any range of elements. */
#include <criterion/criterion.h>

#include "ops/broadcast.h"

typedef struct walk {
    int64_t rows, elements, sum[2];
} walk;

static void count_row(void *arg, const tort_loop *loop, int64_t first, int64_t count, const int64_t *offsets) {
    walk *w = arg;
    (void)first;
    w->rows++;
    w->elements += count;
    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; i < count; i++) w->sum[k] += offsets[k] + i * loop->steps[k];
    }
}

Test(broadcast, dimensions_that_are_walked_alike_are_merged) {
    tort_tensor out = {.type = TORT_FLOAT, .rank = 4, .dims = {2, 3, 4, 5}};
    tort_tensor inputs[2] = {out, {.type = TORT_FLOAT, .rank = 3, .dims = {3, 1, 1}}};
    tort_loop loop = tort_loop_broadcast(&out, inputs, 2);
    cr_assert_eq(loop.rank, 3);
    cr_assert_eq(loop.dims[2], 20);
    cr_assert_eq(loop.steps[0], 1);
    cr_assert_eq(loop.steps[1], 0);
    walk w = {0};
    tort_loop_run(&loop, 0, loop.count, count_row, &w);
    cr_assert_eq(w.rows, 6);
    cr_assert_eq(w.sum[0], 120 * 119 / 2);
    cr_assert_eq(w.sum[1], (0 + 1 + 2) * 40);
    walk halves = {0};
    tort_loop_run(&loop, 0, 33, count_row, &halves);
    tort_loop_run(&loop, 33, 120, count_row, &halves);
    cr_assert_eq(halves.elements, 120);
    cr_assert_arr_eq(halves.sum, w.sum, sizeof w.sum);

    inputs[1] = out;
    loop = tort_loop_broadcast(&out, inputs, 2);
    cr_assert_eq(loop.rank, 1);
    cr_assert_eq(loop.dims[0], 120);
    tort_tensor scalar = {.type = TORT_FLOAT};
    loop = tort_loop_broadcast(&scalar, &scalar, 1);
    cr_assert_eq(loop.count, 1);
}

Test(broadcast, operands_of_short_rows_are_laid_out_side_by_side) {
    tort_tensor out = {.type = TORT_FLOAT, .rank = 3, .dims = {4, 5, 3}};
    tort_tensor inputs[2] = {{.type = TORT_FLOAT, .rank = 3, .dims = {4, 1, 3}},
                             {.type = TORT_FLOAT, .rank = 1, .dims = {3}}};
    uint32_t data[12], laid_out[60];
    for (uint32_t i = 0; i < 12; i++) data[i] = i;
    tort_loop loop = tort_loop_broadcast(&out, inputs, 2);
    cr_assert(tort_loop_short(&loop));
    for (int64_t first = 0; first < 60; first += 7) {
        int64_t count = 60 - first < 7 ? 60 - first : 7;
        tort_loop_gather(&loop, 0, first, count, 4, data, laid_out);
        for (int64_t i = 0; i < count; i++) cr_assert_eq(laid_out[i], (first + i) / 15 * 3 + (first + i) % 3);
        tort_loop_gather(&loop, 1, first, count, 4, data, laid_out);
        for (int64_t i = 0; i < count; i++) cr_assert_eq(laid_out[i], (first + i) % 3);
    }
}
