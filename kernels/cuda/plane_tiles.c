/* plane_tiles.c - see plane_tiles.h. */
#include "kernels/cuda/plane_tiles.h"

#include <limits.h>
#include <math.h>

enum {
    THREADS = 256,
    COLUMNS = 128,
    ROUNDS = 8,               /* output rows of a thread */
    TILE_BYTES = 16 * 1024,   /* of input: six blocks and more on a multiprocessor */
    SECTOR_ELEMENTS = 32 / 2, /* of 16 bits: columns of tiles begin at whole sectors if the output's rows do */
};

static int64_t parts_of(int64_t size, int64_t part) {
    return (size + part - 1) / part;
}

static int32_t seen_by(const gpu_tiled_axis *axis, int64_t count) {
    const double seen = ceil((double)(count - 1) * axis->step) + axis->reach;
    return (int32_t)(seen < (double)axis->in ? seen : (double)axis->in);
}

/* Returns the number of lines that a block has threads for, lowered to where whole sectors are written if it can be. */
static int64_t lines_of(int64_t columns) {
    const int64_t max = THREADS / columns;
    int64_t lines = max;
    while (lines > 0 && lines * columns % SECTOR_ELEMENTS) lines--;
    return lines ? lines : max;
}

bool tort_cuda_plane_tiles(const gpu_tiled_axis *h, const gpu_tiled_axis *w, int element_bytes,
                           gpu_plane_tiles *tiles) {
    if (h->in > INT_MAX || h->out > INT_MAX || w->in > INT_MAX || w->out > INT_MAX) return false;
    const int64_t parts = parts_of(w->out, COLUMNS);
    const int64_t even = parts_of(parts_of(w->out, parts), SECTOR_ELEMENTS) * SECTOR_ELEMENTS;
    const int64_t columns = parts > 1 ? even : w->out, lines = lines_of(columns);
    int64_t rows = parts_of(h->out, parts_of(h->out, ROUNDS * lines));
    for (;; rows = parts_of(rows, 2)) {
        *tiles =
            (gpu_plane_tiles){(int32_t)rows, (int32_t)columns, (int32_t)lines, seen_by(h, rows), seen_by(w, columns)};
        const bool fits = tiles->in_columns <= TILE_BYTES &&
                          (int64_t)tiles->in_rows * tiles->in_columns * element_bytes <= TILE_BYTES;
        if (fits) return parts * parts_of(h->out, rows) <= INT_MAX;
        if (rows == 1) return false;
    }
}
