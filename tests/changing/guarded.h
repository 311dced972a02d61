/* guarded.h - memory that ends, to 16 bytes, at a page that nobody may touch. */
#ifndef TORT_TESTS_CHANGING_GUARDED_H
#define TORT_TESTS_CHANGING_GUARDED_H

#include <stddef.h>

void *guarded_realloc(void *block, size_t size);
void guarded_free(void *block);

#endif
