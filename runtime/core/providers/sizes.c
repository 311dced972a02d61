/* sizes.c - parses sizes as users write them, in options of providers (mem_limit=2G) and on the command line. A
 * separate file, so that a provider in a shared object need not link the rest of the core. */
#include "runtime/include/provider.h"

#include <string.h>

bool tort_read_size(const char *text, uint64_t *bytes) {
    static const char units[] = "kKmMgGtT";
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        const uint64_t digit = (uint64_t)(*at - '0');
        if (value > (UINT64_MAX - digit) / 10) return false;
        value = value * 10 + digit;
    }
    const char *unit = *at ? strchr(units, *at) : NULL;
    const int shift = unit ? 10 * (int)((unit - units) / 2 + 1) : 0;
    if (at == text || at[unit != NULL] || value > UINT64_MAX >> shift) return false;
    *bytes = value << shift;
    return true;
}
