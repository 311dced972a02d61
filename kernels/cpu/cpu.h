/* cpu.h - what the kernels of this provider share: the device, parts of work, the tables of kernel rows.
 *
 * Work is cut into at most as many parts as the provider has threads, so that `size` can reserve a buffer for each
 * part before it is known how many run. Read next: cpu_provider.c, conv.c. */
#ifndef TORT_KERNELS_CPU_CPU_H
#define TORT_KERNELS_CPU_CPU_H

#include "kernels/cpu/bytes.h"
#include "kernels/cpu/sizes.h"
#include "runtime/include/provider.h"
#include "runtime/include/tinyort_profile.h"

/* Device of the provider: made by open, handed to kernels as call->device. */
typedef struct tort_cpu_device {
    tort_env env;
    const tort_simd *simd; /* NULL: plain loops only */
    const tort_bytes *bytes;
    const struct tort_bf16 *bf16; /* NULL: products of floats are in float32 */
    int32_t threads;
} tort_cpu_device;

/* Returns the number of threads that `work` nanoseconds of work are worth. */
int32_t tort_cpu_threads(const tort_cpu_device *device, int64_t work);
/* Runs body over parts 0..parts, in parallel if there are several. */
void tort_cpu_parts(const tort_call *call, int32_t parts, void (*body)(void *arg, int64_t begin, int64_t end),
                    void *arg);
/* Part number `part` of `parts` equal shares of 0..count, in multiples of `unit`. */
void tort_cpu_share(int64_t count, int64_t unit, int64_t part, int64_t parts, int64_t *begin, int64_t *end);

/* Split of a convolution among threads: each part makes its share of the pixels for its share of the filters. */
typedef struct tort_cpu_split {
    int32_t pixel_parts, filter_parts;
} tort_cpu_split;

/* Work to be split, in units that are not divided: pixels (or rows or tiles of them) and tiles of filters. */
typedef struct tort_cpu_products {
    int64_t pixels, filters;
    /* Overhead that a thread pays for each of its pixels, which another thread may have made, and for each of its
     * filters, whose weights come from a far cache: in units of one pixel times one filter. */
    int64_t pixel_cost, filter_cost;
} tort_cpu_products;

/* Returns the split whose largest share costs the least; on a tie, the one with more pixel parts. */
tort_cpu_split tort_cpu_split_of(const tort_cpu_products *products, int32_t threads);
/* Returns the split of a matrix product: pixels are its columns, filters its rows. Each part packs the columns that it
 * reads, which costs as much as `packing` tiles of rows. */
tort_cpu_split tort_cpu_split_tiles(int64_t rows, int32_t tile_rows, int64_t columns, int32_t tile_columns,
                                    int64_t packing, int32_t threads);

/* Accepts targets whose instruction set has inner loops here. */
tort_verdict tort_cpu_claim_processor(const tort_target *target);
/* Likewise, as the claim of a row. */
tort_verdict tort_cpu_claim_any(const tort_target *target, const tort_node_view *node);
/* Accepts nodes that are fp32 throughout, on such targets; every fast kernel for floats asks it. */
tort_verdict tort_cpu_claim_float(const tort_target *target, const tort_node_view *node);

/* Returns the epilogue if something follows the bias; NULL: nothing does. */
const tort_epilogue *tort_cpu_epilogue(const tort_epilogue *epilogue);
/* Returns input Z (the residual) of a fused operator, or NULL. */
const void *tort_cpu_residual(const tort_call *call, const tort_epilogue *epilogue);

/* Returns element i of a tensor as a float. */
float tort_cpu_number(const tort_tensor *tensor, int64_t i);

/* Adds `bytes`, rounded up to 64, to a total; false on overflow. */
bool tort_cpu_reserve(size_t *total, size_t bytes);
bool tort_cpu_reserve_floats(size_t *total, int64_t count);

/* Answers pack_size: `count` floats replace input 1; a negative count means overflow. */
tort_status tort_cpu_pack_floats(int64_t count, size_t *bytes, uint32_t *consumed, tort_error *error);

/* Takes the next part of scratch; sizes must come in the order in which they were reserved. */
void *tort_cpu_take(char **scratch, size_t bytes);

/* Implements tort_provider.peak. */
void tort_cpu_peak(void *device, const tort_env *env, tort_peak *peak);

extern const tort_kernel *const tort_cpu_kernels[]; /* the tables of the provider */

#endif
