/* blocked_band.h - bands of rows of a picture in blocks of channels (blocked.h), on which convolutions work.
 *
 * A band is what some rows of outputs see. It is copied where windows reach beyond the picture, with padding around it,
 * or where the input must be stored otherwise; else it is the input itself. Elements are floats or bytes.
 * Read next: blocked_conv.c, blocked_byte_conv.c. */
#ifndef TORT_KERNELS_CPU_BLOCKED_BAND_H
#define TORT_KERNELS_CPU_BLOCKED_BAND_H

#include "kernels/cpu/blocked.h"

typedef struct tort_bands {
    tort_blocked_shape shape;
    int64_t channels;
    size_t element;                  /* bytes */
    bool flat;                       /* windows of one pixel: each output is a row, so that threads get equal shares */
    bool copied;                     /* the source of windows is a copied band, else the input */
    int64_t lanes;                   /* elements of a pixel of the source that lie together */
    int64_t planes;                  /* blocks, or channels, or sets of channels that lie together */
    int64_t planes_at_once;          /* of a band: all, unless the source is cut */
    int64_t pitch;                   /* elements from a row of the source to the next, ... */
    int64_t slice, plane;            /* ... from a slice, from a plane */
    int64_t row_length;              /* pixels of a row of outputs */
    int64_t together;                /* at most so many rows lie one behind the other, as one long row */
    int64_t rows;                    /* of outputs, of one image */
    int64_t band;                    /* rows that are made together */
    int64_t band_rows, band_columns; /* of a copied band */
    int64_t buffer;                  /* elements of a copied band, 0: nothing is copied */
    /* In a run. Padding gets bytes of `fill`. copy: `count` pixels of a plane from number `pixel` on; NULL: as they
     * lie, each byte turned over by `flip`. */
    uint8_t fill, flip;
    const void *x;
    size_t image; /* bytes of the input, of one of a batch */
    void (*copy)(const struct tort_bands *bands, const void *image, int64_t plane, int64_t pixel, int64_t count,
                 void *to);
    const void *copy_arg;
} tort_bands;

/* What is asked of a source of windows. */
typedef struct tort_band_source {
    int64_t channels;
    size_t element;
    int64_t lanes;
    bool copied;     /* always, not only where there is padding */
    bool cut;        /* where weights are many, a band has some of the planes */
    int64_t pixels;  /* of a tile */
    int64_t at_once; /* elements of a band that stay in a cache */
} tort_band_source;

/* False: sizes that nothing can be computed with. */
bool tort_bands_init(tort_bands *bands, const tort_sliding *window, const tort_band_source *source);
/* The spans of all planes and kernel positions, planes * positions of them, behind the first pixel of a tile. `unit`:
 * elements that a count of 1 stands for. */
void tort_bands_spans(const tort_bands *bands, int64_t unit, tort_span *spans);

/* What is made together: rows of outputs of image n, all of one slice, from some planes of the source. */
typedef struct tort_band {
    int64_t n, row, rows;
    int64_t first_plane, planes;
    const void *x;    /* the first pixel of the first row */
    int64_t row_step; /* elements */
} tort_band;

/* The next band from row `at` of all images on, at most to `last`, of the first planes; false: there is none. */
bool tort_bands_next(const tort_bands *bands, int64_t at, int64_t last, void *buffer, tort_band *band);
/* The next planes of the same rows; false: those were the last ones. */
bool tort_bands_next_planes(const tort_bands *bands, void *buffer, tort_band *band);
/* How many of its rows from `row` on are one long row. */
int64_t tort_bands_together(const tort_bands *bands, const tort_band *band, int64_t row);

#endif
