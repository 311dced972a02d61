/* guarded.c - see guarded.h, and the counting allocator (tests/counting_env.h) on top of it. Where a block is mapped,
 * and how much, stands in front of it. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "tests/changing/guarded.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, ALIGN = 16 };

typedef struct front {
    size_t size, mapped;
} front;

void *guarded_realloc(void *block, size_t size) {
    const size_t rounded = (size + ALIGN - 1) / ALIGN * ALIGN;
    const size_t pages = (rounded + sizeof(front) + PAGE - 1) / PAGE * PAGE;
    uint8_t *base = mmap(NULL, pages + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return NULL;
    if (mprotect(base + pages, PAGE, PROT_NONE)) return NULL;
    uint8_t *moved = base + pages - rounded;
    ((front *)(void *)moved)[-1] = (front){size, pages + PAGE};
    if (block) {
        const size_t had = ((front *)block)[-1].size;
        memcpy(moved, block, had < size ? had : size);
        guarded_free(block);
    }
    return moved;
}

void guarded_free(void *block) {
    if (!block) return;
    const front *f = (front *)block - 1;
    const size_t rounded = (f->size + ALIGN - 1) / ALIGN * ALIGN, mapped = f->mapped;
    munmap((uint8_t *)block + rounded + PAGE - mapped, mapped);
}

#define realloc guarded_realloc
#define free guarded_free
#include "tests/counting_env.c"
