/* utf8.c - see utf8.h; RFC 3629. */
#include "runtime/core/base/utf8.h"

size_t tort_utf8_decode(const char *text, size_t left, uint32_t *character) {
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000}; /* that needs so many bytes */
    const uint8_t *bytes = (const uint8_t *)text;
    const uint8_t first = bytes[0];
    *character = first;
    if (first < 0x80) return 1;
    const size_t length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (length == 0 || length > left) return 0;
    uint32_t value = first & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80) return 0;
        value = value << 6 | (bytes[i] & 0x3fu);
    }
    if (value < smallest[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return 0;
    *character = value;
    return length;
}
