/* widened.h - where the operands of a node of float16 or bfloat16 are while a row for float runs it.
 *
 * Sizes and places follow from types and shapes alone, so that planning and running come to the same. Read next:
 * widened.c. */
#ifndef TORT_KERNELS_CPU_WIDENED_H
#define TORT_KERNELS_CPU_WIDENED_H

#include "kernels/cpu/halves.h"

enum { TORT_WIDENED_INPUTS = 32, TORT_WIDENED_OUTPUTS = 8, TORT_WIDENED_TILE = 2048 /* elements */ };

typedef enum tort_widened_place {
    TORT_WIDENED_AS_IT_IS,  /* it has another type, is absent, or is packed by the row */
    TORT_WIDENED_PACKED,    /* a constant: widened when it was prepared */
    TORT_WIDENED_IN_SCRATCH /* all of it as floats; of an operand that is tiled, a tile for each thread */
} tort_widened_place;

typedef struct tort_widened_operand {
    tort_widened_place place;
    size_t offset; /* of the floats: in the packed bytes, in scratch, or in the tiles of a thread */
    int64_t count; /* elements */
    bool tiled;    /* a tile of it goes through the row at a time */
} tort_widened_operand;

typedef struct tort_widened {
    const tort_kernel *row; /* for float */
    int32_t input_count, output_count;
    uint32_t consumed;  /* inputs that the row packs */
    uint32_t constants; /* other inputs that are packed, as floats */
    size_t row_bytes;   /* that the row packs, behind the packed floats */
    /* What tort_widened_arrange fills in. */
    bool tiles; /* the row runs element by element, and so tile by tile, which stays in the first cache */
    tort_widened_operand in[TORT_WIDENED_INPUTS], out[TORT_WIDENED_OUTPUTS];
    size_t packed_bytes;  /* of the packed floats */
    size_t scratch_bytes; /* before the tiles */
    size_t tile_bytes;    /* of a thread */
} tort_widened;

/* For these operands of the node. False: more than a size_t. */
bool tort_widened_arrange(tort_widened *widened, const tort_tensor *inputs, const tort_tensor *outputs);

/* tort_provider.widening. */
extern const tort_kernel tort_cpu_widening;

#endif
