/* picture.c - selects the reader of a picture by its first bytes. */
#include "ops/extra/picture.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *begins;
    size_t length, at; /* offset in the file */
    bool (*read)(const uint8_t *bytes, size_t size, tort_picture *out);
} kinds[] = {
    {"BM", 2, 0, tort_read_bmp},
    {"\x89PNG\r\n\x1a\n", 8, 0, tort_read_png},
    {"\xff\xd8\xff", 3, 0, tort_read_jpeg},
    {"jP  \r\n\x87\n", 8, 4, tort_read_jpeg2000},
    {"\xff\x4f\xff\x51", 4, 0, tort_read_jpeg2000},
    {"II*\0", 4, 0, tort_read_tiff},
    {"MM\0*", 4, 0, tort_read_tiff},
    {"II+\0", 4, 0, tort_read_tiff},
    {"MM\0+", 4, 0, tort_read_tiff},
    {"WEBP", 4, 8, tort_read_webp},
    {"P", 1, 0, tort_read_pnm},
};

bool tort_picture_read(const uint8_t *bytes, size_t size, tort_picture *out) {
    *out = (tort_picture){.pixels = NULL};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (size < kinds[k].at + kinds[k].length || memcmp(bytes + kinds[k].at, kinds[k].begins, kinds[k].length))
            continue;
        if (kinds[k].read(bytes, size, out)) return true;
        free(out->pixels);
        out->pixels = NULL;
        return false;
    }
    return false;
}

bool tort_picture_new(tort_picture *picture, size_t width, size_t height) {
    picture->width = width;
    picture->height = height;
    picture->too_large = width && height > TORT_MAX_PIXELS / width;
    if (!width || !height || picture->too_large) return false;
    picture->pixels = calloc(width * height, 3);
    return picture->pixels;
}

uint8_t tort_picture_level(uint32_t value, uint32_t max) {
    if (value >= max) return 255;
    return (uint8_t)(((uint64_t)value * 255 + max / 2) / max);
}
