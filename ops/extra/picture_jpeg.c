/* picture_jpeg.c - JPEG by libjpeg, also with four inks (CMYK). A truncated file counts as broken. */
#include "ops/extra/picture.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h> /* needs stdio.h before it */

#include <jerror.h>

enum { MAX_SCANS = 100 }; /* of a progressive picture: each scan is a pass over the whole picture */

/* State that must survive the longjmp out of the decoder. libjpeg passes back pointers to the first members. */
typedef struct jpeg_guard {
    struct jpeg_error_mgr manager;
    jmp_buf escape;
} jpeg_guard;

typedef struct jpeg_job {
    struct jpeg_decompress_struct info;
    jpeg_guard guard;
    struct jpeg_progress_mgr progress;
    JSAMPLE *line;
    tort_picture *out;
} jpeg_job;

static void escape(j_common_ptr info) {
    longjmp(((jpeg_guard *)info->err)->escape, 1);
}

static void check_message(j_common_ptr info, int level) {
    if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) escape(info);
}

static void check_scans(j_common_ptr info) {
    if (((j_decompress_ptr)info)->input_scan_number > MAX_SCANS) escape(info);
}

static void put_line(jpeg_job *job, size_t y) {
    const size_t width = job->out->width;
    uint8_t *row = job->out->pixels + y * width * 3;
    const bool inks = job->info.output_components == 4;
    for (size_t x = 0; x < width; x++)
        for (size_t c = 0; c < 3; c++) {
            if (!inks) {
                row[3 * x + c] = job->line[3 * x + c];
                continue;
            }
            const unsigned ink = job->line[4 * x + c], black = job->line[4 * x + 3];
            const bool inverted = job->info.saw_Adobe_marker;
            const unsigned product = inverted ? ink * black : (255 - ink) * (255 - black);
            row[3 * x + c] = tort_picture_level(product, 255 * 255);
        }
}

/* Decodes a picture; libjpeg leaves by longjmp if it is broken. */
static bool decode(jpeg_job *job, const uint8_t *bytes, size_t size) {
    struct jpeg_decompress_struct *info = &job->info;
    jpeg_create_decompress(info);
    info->progress = &job->progress;
    jpeg_mem_src(info, bytes, (unsigned long)size);
    jpeg_read_header(info, TRUE);
    const bool inks = info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK;
    info->out_color_space = inks ? JCS_CMYK : JCS_RGB;
    if (!tort_picture_new(job->out, info->image_width, info->image_height)) return false;
    jpeg_start_decompress(info);
    job->line = malloc((size_t)info->output_width * 4);
    if (!job->line || info->output_width != job->out->width) return false;
    while (info->output_scanline < info->output_height) {
        const size_t y = info->output_scanline;
        jpeg_read_scanlines(info, &job->line, 1);
        put_line(job, y);
    }
    jpeg_finish_decompress(info);
    return true;
}

static bool guarded_decode(jpeg_job *job, const uint8_t *bytes, size_t size) {
    if (setjmp(job->guard.escape)) return false;
    return decode(job, bytes, size);
}

bool tort_read_jpeg(const uint8_t *bytes, size_t size, tort_picture *out) {
    jpeg_job *job = calloc(1, sizeof *job);
    if (!job) return false;
    job->out = out;
    job->info.err = jpeg_std_error(&job->guard.manager);
    job->guard.manager.error_exit = escape;
    job->guard.manager.emit_message = check_message;
    job->progress.progress_monitor = check_scans;
    const bool read = guarded_decode(job, bytes, size);
    jpeg_destroy_decompress(&job->info);
    free(job->line);
    free(job);
    return read;
}
