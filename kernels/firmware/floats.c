/* floats.c - packed weights of loops over floats: filters in fours, whose weights take turns. */
#include "kernels/firmware/floats.h"

#include "ops/extent.h"

bool tort_firmware_fours_bytes(int64_t groups, int64_t filters, int64_t depth, size_t *bytes) {
    return tort_mul_size((uint64_t)groups, (uint64_t)(filters + 3) / 4 * 4, bytes) &&
           tort_mul_size(*bytes, (uint64_t)depth, bytes) && tort_mul_size(*bytes, sizeof(float), bytes);
}

void tort_firmware_pack_fours(const float *w, int64_t filters, int64_t depth, int64_t filter, int64_t step, float *to) {
    for (int64_t m = 0; m < filters; m++)
        for (int64_t k = 0; k < depth; k++) to[(m / 4 * depth + k) * 4 + m % 4] = w[m * filter + k * step];
}

void tort_firmware_fours_array(const tort_call *call, int64_t groups, int64_t filters, int64_t depth) {
    size_t bytes = 0;
    (void)tort_firmware_fours_bytes(groups, filters, depth, &bytes);
    tort_firmware_array(call, 0, TORT_FLOAT, 0, bytes / sizeof(float));
}
