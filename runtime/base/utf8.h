/* utf8.h - reading UTF-8 that nobody has checked. */
#ifndef TORT_RUNTIME_BASE_UTF8_H
#define TORT_RUNTIME_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The character at `text`, of which `left` bytes, at least one, are there; the bytes it takes, 1 to 4. 0 where they are
 * no UTF-8: cut short, longer than they need be, a surrogate, or beyond U+10FFFF. */
size_t tort_utf8_decode(const char *text, size_t left, uint32_t *character);

#endif
