/* picture_tiff.c - TIFF by libtiff: the first picture. Error handlers are set per file, not for the whole process. */
#include "ops/extra/picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

typedef struct tiff_bytes {
    const uint8_t *bytes;
    uint64_t size, at;
} tiff_bytes;

static tmsize_t give_bytes(thandle_t handle, void *to, tmsize_t count) {
    tiff_bytes *file = handle;
    const uint64_t left = file->at < file->size ? file->size - file->at : 0;
    const uint64_t given = (uint64_t)count < left ? (uint64_t)count : left;
    memcpy(to, file->bytes + file->at, (size_t)given);
    file->at += given;
    return (tmsize_t)given;
}

static tmsize_t take_no_bytes(thandle_t handle, void *from, tmsize_t count) {
    (void)handle, (void)from, (void)count;
    return -1;
}

static toff_t seek(thandle_t handle, toff_t offset, int whence) {
    tiff_bytes *file = handle;
    const uint64_t base = whence == SEEK_CUR ? file->at : whence == SEEK_END ? file->size : 0;
    file->at = base + offset <= file->size ? base + offset : file->size;
    return file->at;
}

static int close_nothing(thandle_t handle) {
    (void)handle;
    return 0;
}

static toff_t size_of(thandle_t handle) {
    return ((tiff_bytes *)handle)->size;
}

static int silence(TIFF *tiff, void *ud, const char *module, const char *format, va_list arguments) {
    (void)tiff, (void)ud, (void)module, (void)format, (void)arguments;
    return 1;
}

static TIFF *open_bytes(tiff_bytes *file) {
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options) return NULL;
    TIFFOpenOptionsSetErrorHandlerExtR(options, silence, NULL);
    TIFFOpenOptionsSetWarningHandlerExtR(options, silence, NULL);
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)(4 * TORT_MAX_PIXELS));
    TIFF *tiff = TIFFClientOpenExt("picture", "rm", file, give_bytes, take_no_bytes, seek, close_nothing, size_of, NULL,
                                   NULL, options);
    TIFFOpenOptionsFree(options);
    return tiff;
}

static bool read_pixels(TIFF *tiff, tort_picture *out) {
    const size_t count = out->width * out->height;
    uint32_t *raster = malloc(count * sizeof *raster);
    const bool read = raster && TIFFReadRGBAImageOriented(tiff, (uint32_t)out->width, (uint32_t)out->height, raster,
                                                          ORIENTATION_TOPLEFT, 1);
    for (size_t i = 0; read && i < count; i++) {
        out->pixels[3 * i] = (uint8_t)TIFFGetR(raster[i]);
        out->pixels[3 * i + 1] = (uint8_t)TIFFGetG(raster[i]);
        out->pixels[3 * i + 2] = (uint8_t)TIFFGetB(raster[i]);
    }
    free(raster);
    return read;
}

bool tort_read_tiff(const uint8_t *bytes, size_t size, tort_picture *out) {
    tiff_bytes file = {.bytes = bytes, .size = size};
    TIFF *tiff = open_bytes(&file);
    if (!tiff) return false;
    uint32_t width = 0, height = 0;
    TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
    const bool read = tort_picture_new(out, width, height) && read_pixels(tiff, out);
    TIFFClose(tiff);
    return read;
}
