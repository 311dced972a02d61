/* sizes.c - the one reader of sizes that a user types: options of providers (mem_limit=2G) and of the command line.
 * Apart from the rest of the core, so that a provider in a shared object of its own needs only this. */
#include "runtime/provider.h"

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
