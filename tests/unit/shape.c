/* Tests of runtime/core/graph/shape.c: one form for equal expressions, numbers that overflow, the budget, text. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/graph/shape.h"

static tort_env env;
static tort_arena arena;
static tort_dims dims;
static tort_dim batch, seq, h;

static void set_up(void) {
    env = tort_env_complete(NULL);
    tort_arena_init(&arena, &env);
    tort_dims_init(&dims, &env, &arena);
    batch = tort_dim_symbol(&dims, "batch");
    seq = tort_dim_symbol(&dims, "seq");
    h = tort_dim_symbol(&dims, "h");
}

static void tear_down(void) {
    tort_dims_free(&dims);
    tort_arena_free(&arena);
}

TestSuite(shape, .init = set_up, .fini = tear_down);

static void assert_text(tort_dim d, const char *expected) {
    char text[200];
    cr_assert_str_eq(tort_dim_text(&dims, d, text, sizeof text), expected);
}

static tort_scalar of(tort_dim d) {
    return tort_scalar_of_dim(d);
}

static tort_scalar number(int64_t v) {
    return tort_scalar_known(v);
}

Test(shape, names_are_interned_and_unknowns_are_not) {
    cr_assert_eq(tort_dim_symbol(&dims, "batch"), batch);
    cr_assert_neq(seq, batch);
    cr_assert_lt(batch, 0);
    cr_assert_neq(tort_dim_fresh(&dims, false), tort_dim_fresh(&dims, false));
    char name[16];
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "s%d", i);
        tort_dim d = tort_dim_symbol(&dims, name);
        cr_assert_eq(tort_dim_symbol(&dims, name), d);
    }
    cr_assert_eq(tort_dim_symbol(&dims, "batch"), batch);
}

Test(shape, known_sizes_are_numbers) {
    cr_assert_eq(tort_dim_add(&dims, 2, 3), 5);
    cr_assert_eq(tort_dim_mul(&dims, 4, 5), 20);
    cr_assert_eq(tort_dim_floordiv(&dims, 7, 2), 3);
    cr_assert_eq(tort_dim_ceildiv(&dims, 7, 2), 4);
    cr_assert_eq(tort_dim_ceildiv(&dims, INT64_MAX, 2), (int64_t)1 << 62);
    cr_assert_eq(tort_dim_min(&dims, 7, 2), 2);
    cr_assert_eq(tort_dim_max(&dims, 7, 2), 7);
    cr_assert_eq(tort_dim_add_const(&dims, 3, -5), 0);
    cr_assert_eq(tort_scalar_div(&dims, number(-7), number(2)).value, -3);
    cr_assert_eq(tort_scalar_sub(&dims, number(2), number(7)).value, -5);
}

Test(shape, order_and_grouping_do_not_matter) {
    cr_assert_eq(tort_dim_add(&dims, batch, seq), tort_dim_add(&dims, seq, batch));
    cr_assert_eq(tort_dim_mul(&dims, batch, tort_dim_mul(&dims, seq, h)),
                 tort_dim_mul(&dims, tort_dim_mul(&dims, h, batch), seq));
    tort_dim twice = tort_dim_mul(&dims, tort_dim_add_const(&dims, seq, 1), 2);
    cr_assert_eq(twice, tort_dim_add_const(&dims, tort_dim_add(&dims, seq, seq), 2));
    cr_assert_eq(tort_dim_min(&dims, batch, seq), tort_dim_min(&dims, seq, batch));
    cr_assert_eq(tort_dim_add_const(&dims, tort_dim_add_const(&dims, seq, 5), -5), seq);
    cr_assert_eq(tort_dim_mul(&dims, seq, 1), seq);
    cr_assert_eq(tort_dim_mul(&dims, seq, 0), 0);
    cr_assert(tort_scalar_same(tort_scalar_sub(&dims, of(seq), of(seq)), number(0)));
    cr_assert_neq(tort_dim_add(&dims, batch, seq), tort_dim_add(&dims, batch, h));
}

Test(shape, quotients_meet) {
    cr_assert_eq(tort_dim_ceildiv(&dims, h, 2), tort_dim_floordiv(&dims, tort_dim_add_const(&dims, h, 1), 2));
    /* (h + 2*1 - 3)/2 + 1 of a strided convolution is ceil(h/2) */
    tort_dim strided = tort_dim_floordiv(&dims, tort_dim_add_const(&dims, h, -1), 2);
    cr_assert_eq(tort_dim_add_const(&dims, strided, 1), tort_dim_ceildiv(&dims, h, 2));
    cr_assert_eq(tort_dim_floordiv(&dims, tort_dim_floordiv(&dims, h, 2), 3), tort_dim_floordiv(&dims, h, 6));
    cr_assert_eq(tort_dim_floordiv(&dims, tort_dim_mul(&dims, h, 6), 3), tort_dim_mul(&dims, h, 2));
    cr_assert_eq(tort_dim_floordiv(&dims, tort_dim_mul(&dims, h, 6), 4),
                 tort_dim_floordiv(&dims, tort_dim_mul(&dims, h, 3), 2));
    cr_assert_eq(tort_dim_floordiv(&dims, tort_dim_add(&dims, tort_dim_mul(&dims, h, 4), seq), 4),
                 tort_dim_add(&dims, h, tort_dim_floordiv(&dims, seq, 4)));
}

Test(shape, factors_cancel) {
    tort_dim all = tort_dim_mul(&dims, tort_dim_mul(&dims, batch, seq), 768);
    tort_scalar rest = tort_scalar_div(&dims, of(all), of(tort_dim_mul(&dims, batch, 12)));
    cr_assert(tort_scalar_same(rest, of(tort_dim_mul(&dims, seq, 64))));
    cr_assert(tort_scalar_same(tort_scalar_div(&dims, of(batch), of(batch)), number(1)));
    tort_dim longer = tort_dim_add_const(&dims, seq, 1);
    cr_assert(tort_scalar_same(tort_scalar_div(&dims, of(tort_dim_mul(&dims, longer, batch)), of(longer)), of(batch)));
    cr_assert(tort_scalar_div(&dims, of(batch), of(seq)).symbolic);
    cr_assert(tort_scalar_div(&dims, of(batch), number(0)).symbolic);
}

Test(shape, the_smaller_is_chosen_where_it_is_known) {
    tort_dim longer = tort_dim_add_const(&dims, seq, 1);
    cr_assert_eq(tort_dim_min(&dims, seq, longer), seq);
    cr_assert_eq(tort_dim_max(&dims, seq, longer), longer);
    cr_assert(tort_scalar_same(tort_scalar_min(&dims, of(seq), number(INT64_MAX)), of(seq)));
    cr_assert(tort_scalar_same(tort_scalar_max(&dims, number(0), of(seq)), of(seq)));
    cr_assert(tort_scalar_same(tort_scalar_min(&dims, of(seq), number(-3)), number(-3)));
    cr_assert(tort_scalar_max(&dims, of(tort_dim_add_const(&dims, seq, -1)), number(0)).value != seq);
    tort_scalar data = tort_scalar_unknown(&dims, true);
    cr_assert_not(tort_scalar_same(tort_scalar_max(&dims, data, number(0)), data));
}

Test(shape, what_depends_on_data_stays_marked) {
    tort_dim found = tort_dim_fresh(&dims, true);
    cr_assert(tort_dim_dynamic(&dims, found));
    cr_assert(tort_dim_dynamic(&dims, tort_dim_floordiv(&dims, tort_dim_add(&dims, found, batch), 2)));
    cr_assert_not(tort_dim_dynamic(&dims, tort_dim_add(&dims, seq, batch)));
    cr_assert_not(tort_dim_dynamic(&dims, 5));
}

Test(shape, overflow_and_large_expressions_become_unknowns) {
    cr_assert_lt(tort_dim_mul(&dims, INT64_MAX, 2), 0);
    cr_assert_lt(tort_dim_add(&dims, INT64_MAX, 2), 0);
    cr_assert(tort_scalar_div(&dims, number(INT64_MIN), number(-1)).symbolic);
    cr_assert_lt(tort_dim_mul(&dims, tort_dim_mul(&dims, seq, INT64_MAX), 2), 0);
    tort_dim power = tort_dim_add(&dims, seq, batch);
    for (int i = 0; i < 100; i++) power = tort_dim_mul(&dims, power, tort_dim_add_const(&dims, power, 1));
    char text[8192];
    cr_assert_lt(strlen(tort_dim_text(&dims, power, text, sizeof text)), 2000);
    cr_assert_lt(dims.count, 2000);
    cr_assert_not(dims.failed);
}

Test(shape, text_reads_like_arithmetic) {
    assert_text(7, "7");
    assert_text(batch, "batch");
    assert_text(tort_dim_mul(&dims, batch, tort_dim_add_const(&dims, seq, 1)), "batch*(seq+1)");
    assert_text(tort_dim_mul(&dims, batch, 3), "3*batch");
    assert_text(tort_dim_ceildiv(&dims, h, 2), "(h+1)/2");
    assert_text(tort_dim_add_const(&dims, h, -4), "h-4");
    assert_text(tort_scalar_sub(&dims, of(batch), of(seq)).value, "batch-seq");
    assert_text(tort_scalar_sub(&dims, of(batch), of(tort_dim_mul(&dims, seq, 2))).value, "batch-2*seq");
    assert_text(tort_dim_min(&dims, seq, tort_dim_add(&dims, h, 5)), "min(seq, h+5)");
    char text[6];
    cr_assert_str_eq(tort_dim_text(&dims, tort_dim_add(&dims, batch, seq), text, sizeof text), "batch");
    cr_assert_str_eq(tort_dim_text(&dims, tort_dim_fresh(&dims, false), text, 2), "?");
}

Test(shape, expressions_are_evaluated) {
    const tort_dim_binding bindings[] = {{batch, 3}, {h, 7}};
    int64_t out;
    tort_dim all = tort_dim_mul(&dims, batch, tort_dim_ceildiv(&dims, tort_dim_add_const(&dims, h, -2), 2));
    cr_assert(tort_dim_evaluate(&dims, all, bindings, 2, &out) && out == 9);
    cr_assert(tort_dim_evaluate(&dims, tort_dim_max(&dims, batch, h), bindings, 2, &out) && out == 7);
    cr_assert(tort_dim_evaluate(&dims, tort_dim_min(&dims, batch, h), bindings, 2, &out) && out == 3);
    cr_assert(tort_dim_evaluate(&dims, 5, NULL, 0, &out) && out == 5);
    cr_assert_not(tort_dim_evaluate(&dims, tort_dim_add(&dims, batch, seq), bindings, 2, &out));
    const tort_dim_binding large = {batch, INT64_MAX};
    cr_assert_not(tort_dim_evaluate(&dims, tort_dim_mul(&dims, batch, 2), &large, 1, &out));
}

static int32_t allocations_left;

static void *failing_alloc(void *ud, void *ptr, size_t old_size, size_t new_size) {
    (void)ud;
    (void)old_size;
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    return allocations_left-- > 0 ? realloc(ptr, new_size) : NULL;
}

Test(shape, without_memory_dims_say_so) {
    for (int32_t n = 0; n < 4; n++) {
        tort_env poor = {.struct_size = sizeof poor, .alloc = failing_alloc};
        poor = tort_env_complete(&poor);
        allocations_left = n;
        tort_arena small;
        tort_dims few;
        tort_arena_init(&small, &poor);
        tort_dims_init(&few, &poor, &small);
        for (int i = 0; i < 200; i++) {
            tort_dim d = tort_dim_add_const(&few, tort_dim_symbol(&few, "a"), i);
            cr_assert(tort_dim_mul(&few, d, tort_dim_fresh(&few, false)) < 0);
        }
        char text[50];
        tort_dim_text(&few, tort_dim_symbol(&few, "other"), text, sizeof text);
        cr_assert(few.failed);
        tort_dims_free(&few);
        tort_arena_free(&small);
    }
}

/* ---- against plain arithmetic ---- */

enum { SYMBOLS = 3, NODES = 12 };

/* A random expression: leaves, then operations on two earlier entries. */
typedef struct expression {
    char op[NODES]; /* 's' symbol a, 'n' number a, else of entries a and b */
    int64_t a[NODES], b[NODES];
} expression;

static expression random_expression(void) {
    expression e;
    for (int i = 0; i < NODES; i++) {
        const bool leaf = i < 5;
        e.op[i] = leaf ? (i < SYMBOLS ? 's' : 'n') : "+-*/<>"[rand() % 6];
        e.a[i] = leaf ? (i < SYMBOLS ? i : rand() % 9 - 3) : rand() % i;
        e.b[i] = leaf ? 0 : rand() % i;
    }
    return e;
}

/* False where the operation has no value: a division by zero. */
static bool calculate(const expression *e, const int64_t *symbols, int64_t *values) {
    for (int i = 0; i < NODES; i++) {
        const int64_t a = i < 5 ? 0 : values[e->a[i]], b = i < 5 ? 0 : values[e->b[i]];
        if (e->op[i] == '/' && b == 0) return false;
        if (llabs(a) > 1 << 20 || llabs(b) > 1 << 20) return false;
        values[i] = e->op[i] == 's'   ? symbols[e->a[i]]
                    : e->op[i] == 'n' ? e->a[i]
                    : e->op[i] == '+' ? a + b
                    : e->op[i] == '-' ? a - b
                    : e->op[i] == '*' ? a * b
                    : e->op[i] == '/' ? a / b
                    : e->op[i] == '<' ? (a < b ? a : b)
                                      : (a > b ? a : b);
    }
    return true;
}

static void build_symbolic(const expression *e, tort_scalar *values) {
    const tort_dim symbols[SYMBOLS] = {batch, seq, h};
    for (int i = 0; i < NODES; i++) {
        const tort_scalar a = i < 5 ? number(0) : values[e->a[i]], b = i < 5 ? number(0) : values[e->b[i]];
        values[i] = e->op[i] == 's'   ? of(symbols[e->a[i]])
                    : e->op[i] == 'n' ? number(e->a[i])
                    : e->op[i] == '+' ? tort_scalar_add(&dims, a, b)
                    : e->op[i] == '-' ? tort_scalar_sub(&dims, a, b)
                    : e->op[i] == '*' ? tort_scalar_mul(&dims, a, b)
                    : e->op[i] == '/' ? tort_scalar_div(&dims, a, b)
                    : e->op[i] == '<' ? tort_scalar_min(&dims, a, b)
                                      : tort_scalar_max(&dims, a, b);
    }
}

/* Whatever form an expression is brought into, its number is that of plain integers; sizes of 0 included. */
Test(shape, symbols_calculate_as_numbers_do) {
    srand(5);
    int64_t compared = 0, symbols[SYMBOLS], values[NODES];
    for (int round = 0; round < 20000; round++) {
        const expression e = random_expression();
        tort_scalar symbolic[NODES];
        build_symbolic(&e, symbolic);
        cr_assert_not(dims.failed);
        for (int trial = 0; trial < 8; trial++) {
            for (int s = 0; s < SYMBOLS; s++) symbols[s] = rand() % 7;
            if (!calculate(&e, symbols, values)) continue;
            const tort_dim_binding bindings[] = {{batch, symbols[0]}, {seq, symbols[1]}, {h, symbols[2]}};
            for (int i = 5; i < NODES; i++) {
                int64_t found = symbolic[i].value;
                if (symbolic[i].symbolic && !tort_dim_evaluate(&dims, found, bindings, SYMBOLS, &found)) continue;
                compared++;
                cr_assert_eq(found, values[i], "%c of %d and %d: %d, expected %d", e.op[i], (int)e.a[i], (int)e.b[i],
                             (int)found, (int)values[i]);
            }
        }
    }
    cr_assert_gt(compared, 100000);
}
