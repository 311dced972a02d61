/* widened.h - places of the operands of a node of float16 or bfloat16 while a row for float runs it.
 *
 * Sizes and places depend only on types and shapes, so planning and running agree. Read next: widened.c. */
#ifndef TORT_KERNELS_CPU_WIDENED_H
#define TORT_KERNELS_CPU_WIDENED_H

#include "kernels/cpu/halves.h"

enum { TORT_WIDENED_INPUTS = 32, TORT_WIDENED_OUTPUTS = 8, TORT_WIDENED_TILE = 2048 /* elements */ };

typedef enum tort_widened_place {
    TORT_WIDENED_AS_IT_IS,  /* of another type, absent, or packed by the row */
    TORT_WIDENED_PACKED,    /* a constant, widened when it was prepared */
    TORT_WIDENED_IN_SCRATCH /* floats of the whole operand or, if it is tiled, of one tile per thread */
} tort_widened_place;

typedef struct tort_widened_operand {
    tort_widened_place place;
    size_t offset; /* of the floats: in the packed bytes, in scratch, or in a thread's tiles */
    int64_t count; /* elements */
    bool tiled;    /* passes through the row tile by tile */
} tort_widened_operand;

typedef struct tort_widened {
    const tort_kernel *row; /* the row for float */
    int32_t input_count, output_count;
    uint32_t consumed;  /* inputs that the row packs */
    uint32_t constants; /* other constant inputs, packed as floats */
    size_t row_bytes;   /* bytes that the row packs, behind the packed floats */
    /* Set by tort_widened_arrange: */
    bool tiles; /* the row runs element by element, so it runs tile by tile, which stays in the L1 cache */
    tort_widened_operand in[TORT_WIDENED_INPUTS], out[TORT_WIDENED_OUTPUTS];
    size_t packed_bytes;  /* of the packed floats */
    size_t scratch_bytes; /* before the tiles */
    size_t tile_bytes;    /* per thread */
} tort_widened;

/* Places these operands of the node; false on overflow. */
bool tort_widened_arrange(tort_widened *widened, const tort_tensor *inputs, const tort_tensor *outputs);

/* Implements tort_provider.widening. */
extern const tort_kernel tort_cpu_widening;

#endif
