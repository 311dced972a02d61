/* picture_png.c - PNG by libpng: palettes, grey, 16 bits and transparency become 8-bit RGB. */
#include "ops/extra/picture.h"

#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* State that must survive the longjmp out of the decoder. */
typedef struct png_job {
    png_structp png;
    png_infop info;
    png_bytep *rows;
    const uint8_t *at;
    size_t left;
    tort_picture *out;
} png_job;

static void give_bytes(png_structp png, png_bytep to, size_t count) {
    png_job *job = png_get_io_ptr(png);
    if (count > job->left) png_error(png, "too short");
    memcpy(to, job->at, count);
    job->at += count;
    job->left -= count;
}

static void escape(png_structp png, png_const_charp message) {
    (void)message;
    png_longjmp(png, 1);
}

static void silence(png_structp png, png_const_charp message) {
    (void)png, (void)message;
}

/* Decodes a picture; libpng leaves by longjmp if it is broken. */
static bool decode(png_job *job) {
    png_read_info(job->png, job->info);
    const size_t width = png_get_image_width(job->png, job->info), height = png_get_image_height(job->png, job->info);
    if (!tort_picture_new(job->out, width, height)) return false;
    png_set_expand(job->png);
    png_set_strip_16(job->png);
    png_set_strip_alpha(job->png);
    png_set_gray_to_rgb(job->png);
    png_set_interlace_handling(job->png);
    png_read_update_info(job->png, job->info);
    job->rows = malloc(height * sizeof *job->rows);
    if (!job->rows || png_get_rowbytes(job->png, job->info) != width * 3) return false;
    for (size_t y = 0; y < height; y++) job->rows[y] = job->out->pixels + y * width * 3;
    png_read_image(job->png, job->rows);
    png_read_end(job->png, NULL);
    return true;
}

static bool guarded_decode(png_job *job) {
    if (setjmp(png_jmpbuf(job->png))) return false;
    png_set_read_fn(job->png, job, give_bytes);
    png_set_user_limits(job->png, 0x7fffffff, 0x7fffffff); /* tort_picture_new limits the size */
    return decode(job);
}

bool tort_read_png(const uint8_t *bytes, size_t size, tort_picture *out) {
    png_job job = {.at = bytes, .left = size, .out = out};
    job.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, escape, silence);
    if (job.png) job.info = png_create_info_struct(job.png);
    const bool read = job.info && guarded_decode(&job);
    png_destroy_read_struct(&job.png, &job.info, NULL);
    free(job.rows);
    return read;
}
