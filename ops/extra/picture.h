/* picture.h - pictures in files of many kinds, as 8-bit RGB. */
#ifndef TORT_OPS_EXTRA_PICTURE_H
#define TORT_OPS_EXTRA_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tort_picture {
    size_t width, height;
    uint8_t *pixels; /* [height][width][3], rows from the top; of malloc */
    bool too_large;  /* more pixels than are read, TORT_MAX_PIXELS; then only the size is known */
} tort_picture;

#define TORT_MAX_PIXELS ((size_t)1 << 27)

/* Reads a picture. False: it is broken, of no known kind, too large, or memory is out; then it holds no pixels. The
 * caller frees them. Transparency is left out; more than 8 bits a level become 8. */
bool tort_picture_read(const uint8_t *bytes, size_t size, tort_picture *out);

/* For the readers: takes memory for this size, zeroed; false: not this large. */
bool tort_picture_new(tort_picture *picture, size_t width, size_t height);
/* The level of a number of 0..most. */
uint8_t tort_picture_level(uint32_t value, uint32_t max);

/* The readers, a file each. What they leave of a picture that is broken is freed by tort_picture_read. */
bool tort_read_bmp(const uint8_t *bytes, size_t size, tort_picture *out);
bool tort_read_pnm(const uint8_t *bytes, size_t size, tort_picture *out);
bool tort_read_png(const uint8_t *bytes, size_t size, tort_picture *out);
bool tort_read_jpeg(const uint8_t *bytes, size_t size, tort_picture *out);
bool tort_read_jpeg2000(const uint8_t *bytes, size_t size, tort_picture *out);
bool tort_read_tiff(const uint8_t *bytes, size_t size, tort_picture *out);
bool tort_read_webp(const uint8_t *bytes, size_t size, tort_picture *out);

#endif
