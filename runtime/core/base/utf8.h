/* utf8.h - decodes untrusted UTF-8. */
#ifndef TORT_RUNTIME_BASE_UTF8_H
#define TORT_RUNTIME_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Decodes the character at `text`, of which `left` >= 1 bytes exist; returns its length, 1 to 4. 0: not valid UTF-8:
 * truncated, overlong, a surrogate, or beyond U+10FFFF. */
size_t tort_utf8_decode(const char *text, size_t left, uint32_t *character);

#endif
