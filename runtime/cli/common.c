/* common.c - small texts and the clock. */
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/core/base/watch.h"
#include "runtime/core/base/locale.h"

double cli_seconds(void) {
    return 1e-9 * (double)tort_now();
}

const char *cli_shape_text(int32_t rank, const int64_t *dims, const char *const *dim_names, char *buffer, size_t size) {
    if (rank <= 0) {
        snprintf(buffer, size, rank < 0 ? "of any rank" : "scalar");
        return buffer;
    }
    bool named = false;
    for (int32_t i = 0; i < rank; i++) named = named || (dims[i] < 0 && dim_names && *dim_names[i]);
    size_t used = 0;
    buffer[0] = 0;
    for (int32_t i = 0; i < rank && used < size; i++) {
        const char *by = i == 0 ? "" : named ? " x " : "x";
        int length;
        if (dims[i] >= 0)
            length = snprintf(buffer + used, size - used, "%s%lld", by, (long long)dims[i]);
        else
            length = snprintf(buffer + used, size - used, "%s%s", by, dim_names && *dim_names[i] ? dim_names[i] : "?");
        used += length > 0 ? (size_t)length : 0;
    }
    return buffer;
}

/* The unit of a number: it is divided by 1000 until it is below `most`, that of the first unit being `first`. */
static size_t scale(double *number, double first, double most) {
    size_t unit = 0;
    for (; *number >= (unit ? most : first) && unit < 4; unit++) *number /= 1000;
    return unit;
}

const char *cli_bytes_text(double bytes, char *buffer, size_t size) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    if (bytes < 0) return "?";
    const size_t unit = scale(&bytes, 999.5, 999.5);
    tort_snprintf(buffer, size, unit == 0 || bytes >= 99.95 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return buffer;
}

const char *cli_count_text(double count, char *buffer, size_t size) {
    static const char *const units[] = {"", " k", " M", " G", " T"};
    const size_t unit = scale(&count, 9999.5, 999.95);
    tort_snprintf(buffer, size, unit ? "%.1f%s" : "%.0f%s", count, units[unit]);
    return buffer;
}
