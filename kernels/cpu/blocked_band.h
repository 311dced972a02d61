/* blocked_band.h - bands: the part of a blocked input (blocked.h) that a few rows of outputs see. Convolutions work
 * band by band.
 *
 * A band is copied, with padding around it, where windows reach beyond the picture or the input needs another form;
 * otherwise it points into the input. Elements are floats or bytes. Read next: blocked_conv.c, blocked_byte_conv.c. */
#ifndef TORT_KERNELS_CPU_BLOCKED_BAND_H
#define TORT_KERNELS_CPU_BLOCKED_BAND_H

#include "kernels/cpu/blocked.h"

typedef struct tort_bands {
    tort_blocked_shape shape;
    int64_t channels;
    size_t element;         /* bytes */
    bool flat;              /* 1 x 1 windows: each output is a row of its own, so that threads get equal shares */
    bool copied;            /* windows read a copied band, not the input */
    int64_t lanes;          /* contiguous elements of a pixel of the source */
    int64_t planes;         /* planes of the source, each of `lanes` channels */
    int64_t planes_at_once; /* planes of a band: all, unless the source is cut */
    int64_t pitch;          /* elements from a row of the source to the next */
    int64_t slice, plane;   /* elements from a slice to the next, from a plane to the next */
    int64_t row_length;     /* pixels of a row of outputs */
    int64_t together;       /* maximum number of rows that are contiguous, treated as one long row */
    int64_t rows;           /* rows of outputs of one image */
    int64_t band;           /* rows of outputs of a band */
    int64_t band_rows, band_columns; /* rows and columns of a copied band */
    int64_t buffer;                  /* elements of a copied band; 0: nothing is copied */
    /* Set for a run, with whose end bands end, also within a copy. Padding gets bytes of `fill`. `copy` copies `count`
     * pixels of a plane from number `pixel` on; if NULL, bytes are copied as they are, XORed with `flip`. */
    const tort_call *call;
    uint8_t fill, flip;
    const void *x;
    size_t image; /* bytes of one image of the input */
    void (*copy)(const struct tort_bands *bands, const void *image, int64_t plane, int64_t pixel, int64_t count,
                 void *to);
    const void *copy_arg;
} tort_bands;

/* Requirements that a kernel has for the source of its windows. */
typedef struct tort_band_source {
    int64_t channels;
    size_t element;
    int64_t lanes;
    bool copied;     /* always, not only where windows are padded */
    bool cut;        /* where weights are many, a band has only some of the planes */
    int64_t pixels;  /* of one call of the inner loop */
    int64_t at_once; /* elements of a band that stay in the cache */
} tort_band_source;

/* Returns false on overflow. */
bool tort_bands_init(tort_bands *bands, const tort_sliding *window, const tort_band_source *source);
/* Fills the spans of all planes and kernel positions, planes * positions of them, as offsets from a tile's first
 * pixel. `unit`: elements per unit of a span's count. */
void tort_bands_spans(const tort_bands *bands, int64_t unit, tort_span *spans);

/* One band: rows of outputs of image n, all of one slice, and some planes of the source below them. */
typedef struct tort_band {
    int64_t n, row, rows;
    int64_t first_plane, planes;
    const void *x;    /* first pixel of the first row */
    int64_t row_step; /* elements from a row to the next */
} tort_band;

/* Finds the next band, with the first planes, from row `at` of all images on and not beyond `last`; false if there
 * is none, or the run has ended. */
bool tort_bands_next(const tort_bands *bands, int64_t at, int64_t last, void *buffer, tort_band *band);
/* Moves a band to the next planes of the same rows; false if those were the last planes, or the run
 * has ended. */
bool tort_bands_next_planes(const tort_bands *bands, void *buffer, tort_band *band);
/* Bands of one block of channels, where `blocks` blocks of the whole batch count as images: splits them among threads
 * by rows, and by blocks. The cost of a block is the rows that two parts both see, and both copy. */
tort_cpu_split tort_bands_split(const tort_bands *bands, int64_t blocks, int32_t threads);
/* Calls `make` for each band of such a part; `room` is the part's memory besides the buffer. */
void tort_bands_each(const tort_bands *bands, int64_t blocks, const tort_cpu_split *split, int64_t part, void *buffer,
                     void (*make)(const void *job, const tort_band *band, void *room), const void *job, void *room);
/* Returns how many rows of the band, from `row` on, are one long row. */
int64_t tort_bands_together(const tort_bands *bands, const tort_band *band, int64_t row);

#endif
