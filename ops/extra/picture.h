/* picture.h - decodes pictures of many file formats into 8-bit RGB. */
#ifndef TORT_OPS_EXTRA_PICTURE_H
#define TORT_OPS_EXTRA_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tort_picture {
    size_t width, height;
    uint8_t *pixels; /* [height][width][3], rows from the top; by malloc */
    bool too_large;  /* more pixels than TORT_MAX_PIXELS: only the size is known */
} tort_picture;

#define TORT_MAX_PIXELS ((size_t)1 << 26)

/* Reads a picture. The caller frees its pixels. False, with pixels NULL, if it is broken, of unknown format or too
 * large, or memory runs out. Transparency is ignored; levels of more than 8 bits are reduced to 8. */
bool tort_picture_read(const uint8_t *bytes, size_t size, tort_picture *out);

/* For the readers: allocates zeroed pixels of this size; false if it is 0 or too large, or memory runs out. */
bool tort_picture_new(tort_picture *picture, size_t width, size_t height);
/* Scales a number of 0..max to a level of 0..255. */
uint8_t tort_picture_level(uint32_t value, uint32_t max);

/* The readers, one per file. After a failure tort_picture_read frees the pixels. */
bool tort_read_bmp(const uint8_t *bytes, size_t size, tort_picture *out);
bool tort_read_pnm(const uint8_t *bytes, size_t size, tort_picture *out);
bool tort_read_png(const uint8_t *bytes, size_t size, tort_picture *out);
bool tort_read_jpeg(const uint8_t *bytes, size_t size, tort_picture *out);
bool tort_read_jpeg2000(const uint8_t *bytes, size_t size, tort_picture *out);
bool tort_read_tiff(const uint8_t *bytes, size_t size, tort_picture *out);
bool tort_read_webp(const uint8_t *bytes, size_t size, tort_picture *out);

#endif
