/* Tests of runtime/core/base/memory.c: the allocator hook, aligned blocks, checked sizes, the arena. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/memory.h"

/* An allocator that keeps count of the bytes that are out, and that fails from the n-th allocation on. */
typedef struct ledger {
    size_t out;
    int32_t blocks, fail_after;
} ledger;

static void *counting_alloc(void *ud, void *ptr, size_t old_size, size_t new_size) {
    ledger *book = ud;
    if (new_size && book->fail_after-- == 0) return NULL;
    book->out += new_size - old_size;
    if (!ptr) book->blocks++;
    if (new_size == 0) {
        book->blocks--;
        free(ptr);
        return NULL;
    }
    return realloc(ptr, new_size);
}

static tort_env counting_env(ledger *book) {
    *book = (ledger){.fail_after = -1};
    tort_env env = {.struct_size = sizeof env, .alloc = counting_alloc, .alloc_ud = book};
    return tort_env_complete(&env);
}

Test(memory, defaults_are_filled_in_and_members_beyond_the_callers_struct_are_ignored) {
    tort_env env = tort_env_complete(NULL);
    cr_assert(env.alloc);
    cr_assert_null(env.parallel_for, "who runs in parallel is a session's to decide");
    cr_assert_eq(env.struct_size, sizeof env);
    ledger book;
    tort_env older = counting_env(&book);
    older.struct_size = offsetof(tort_env, parallel_for);
    older.parallel_ud = &book;
    env = tort_env_complete(&older);
    cr_assert_eq((void *)env.alloc_ud, (void *)&book);
    cr_assert_null(env.parallel_ud);
}

Test(memory, every_byte_that_is_allocated_is_freed_with_its_size) {
    ledger book;
    tort_env env = counting_env(&book);
    void *empty = tort_alloc(&env, 0);
    cr_assert(empty);
    tort_free(&env, empty, 0);
    int64_t *zeros = tort_alloc_zero(&env, 3, sizeof *zeros);
    cr_assert(zeros && zeros[0] == 0 && zeros[2] == 0);
    tort_free(&env, zeros, 3 * sizeof *zeros);
    tort_free(&env, NULL, 7);
    cr_assert_eq(book.out, 0);
    cr_assert_eq(book.blocks, 0);
    cr_assert_null(tort_alloc_zero(&env, SIZE_MAX / 2, 4));
}

Test(memory, an_array_grows_by_doubling_and_stays_when_growing_fails) {
    ledger book;
    tort_env env = counting_env(&book);
    int32_t *array = NULL, capacity = 0;
    for (int32_t i = 0; i < 1000; i++) {
        cr_assert(tort_grow(&env, (void **)&array, &capacity, i + 1, sizeof *array));
        array[i] = i;
    }
    cr_assert_eq(array[999], 999);
    int32_t before = capacity;
    book.fail_after = 0;
    cr_assert_not(tort_grow(&env, (void **)&array, &capacity, before + 1, sizeof *array));
    cr_assert_eq(capacity, before);
    cr_assert_eq(array[999], 999);
    tort_free(&env, array, (size_t)capacity * sizeof *array);
    cr_assert_eq(book.out, 0);
}

Test(memory, aligned_blocks_are_aligned) {
    ledger book;
    tort_env env = counting_env(&book);
    for (size_t size = 0; size < 200; size += 7) {
        unsigned char *block = tort_alloc_aligned(&env, size);
        cr_assert(block);
        cr_assert_eq((uintptr_t)block % TORT_HOST_ALIGN, 0);
        memset(block, 0xff, size);
        cr_assert_eq(book.out, tort_aligned_bytes(size));
        tort_free_aligned(&env, block, size);
    }
    cr_assert_eq(book.out, 0);
    cr_assert_null(tort_alloc_aligned(&env, SIZE_MAX - 8));
    tort_free_aligned(&env, NULL, 8);
}

Test(memory, sizes_that_overflow_are_refused) {
    size_t out;
    cr_assert(tort_add_size(SIZE_MAX - 1, 1, &out) && out == SIZE_MAX);
    cr_assert_not(tort_add_size(SIZE_MAX, 1, &out));
    cr_assert(tort_mul_size(SIZE_MAX, 1, &out) && out == SIZE_MAX);
    cr_assert_not(tort_mul_size(SIZE_MAX / 2, 3, &out));
    cr_assert(tort_align_size(65, 64, &out) && out == 128);
    cr_assert(tort_align_size(64, 64, &out) && out == 64);
    cr_assert_not(tort_align_size(SIZE_MAX - 3, 64, &out));
}

Test(memory, an_arena_gives_zeroed_aligned_memory_and_frees_it_at_once) {
    ledger book;
    tort_env env = counting_env(&book);
    tort_arena arena;
    tort_arena_init(&arena, &env);
    for (size_t size = 0; size < 3000; size += 13) {
        unsigned char *bytes = tort_arena_alloc(&arena, size);
        cr_assert(bytes);
        cr_assert_eq((uintptr_t)bytes % 16, 0);
        for (size_t i = 0; i < size; i++) cr_assert_eq(bytes[i], 0);
        memset(bytes, 0xff, size);
    }
    cr_assert(tort_arena_alloc(&arena, (size_t)3 << 20));
    cr_assert_lt(book.blocks, 20);
    cr_assert_str_eq(tort_arena_text(&arena, "abcdef", 3), "abc");
    cr_assert_str_eq(tort_arena_text(&arena, NULL, 0), "");
    cr_assert_str_eq(tort_arena_format(&arena, "%s_%d", "Conv", 12), "Conv_12");
    cr_assert_null(tort_arena_array(&arena, SIZE_MAX / 4, 8));
    cr_assert_null(tort_arena_alloc(&arena, SIZE_MAX - 20));
    tort_arena_free(&arena);
    cr_assert_eq(book.out, 0);
    cr_assert_eq(book.blocks, 0);
}
