/* picture_files.c - decodes PNG and JPEG to 8-bit RGB, by libpng and libjpeg, and rotates by the Exif orientation of a
 * JPEG; other formats' orientation tags are not applied. Left out of builds with PICTURES=0. */
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h> /* needs stdio.h before it */

#include "runtime/cli/cli.h"
#include "runtime/cli/files/images.h"
#include "runtime/cli/files/whole_file.h"

#define MAX_PICTURE_BYTES ((size_t)512 << 20) /* of the file */
enum { MAX_SCANS = 100 }; /* of a progressive JPEG: each is a pass over the whole picture, however few its bytes */

/* ---- PNG --------------------------------------------------------------------------------------------------------- */

static tort_status read_png(const char *path, FILE *file, cli_picture *out, tort_error *error) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_stdio(&image, file))
        return tort_fail(error, TORT_E_INPUT, "%s: %s", path, image.message);
    image.format = PNG_FORMAT_RGBA;
    tort_status status = cli_check_pixels(path, "", image.width, image.height, error);
    if (status) {
        png_image_free(&image);
        return status;
    }
    size_t pixels = (size_t)image.width * image.height;
    png_bytep bytes = cli_alloc(pixels, 4);
    if (!png_image_finish_read(&image, NULL, bytes, 0, NULL)) {
        free(bytes);
        return tort_fail(error, TORT_E_INPUT, "%s: %s", path, image.message);
    }
    for (size_t i = 0; i < pixels; i++) memmove(bytes + i * 3, bytes + i * 4, 3); /* without the opacity */
    *out = (cli_picture){(int32_t)image.width, (int32_t)image.height, 3, cli_realloc(bytes, pixels, 3)};
    return TORT_OK;
}

/* ---- JPEG -------------------------------------------------------------------------------------------------------- */

typedef struct jpeg_guard {
    struct jpeg_error_mgr manager; /* first member: libjpeg passes a pointer to it, which is cast back */
    jmp_buf escape;
    char message[JMSG_LENGTH_MAX];
} jpeg_guard;

static void jpeg_escape(j_common_ptr info) {
    jpeg_guard *guard = (jpeg_guard *)info->err;
    guard->manager.format_message(info, guard->message);
    longjmp(guard->escape, 1);
}

static void jpeg_silence(j_common_ptr info) {
    (void)info;
}

static void check_scans(j_common_ptr info) {
    jpeg_guard *guard = (jpeg_guard *)info->err;
    if (((j_decompress_ptr)info)->input_scan_number <= MAX_SCANS) return;
    snprintf(guard->message, sizeof guard->message, "it has more than %d scans", MAX_SCANS);
    longjmp(guard->escape, 1);
}

static void read_jpeg_lines(struct jpeg_decompress_struct *info, uint8_t *levels) {
    while (info->output_scanline < info->output_height) {
        JSAMPLE *line = levels + (size_t)info->output_scanline * info->output_width * 3;
        jpeg_read_scanlines(info, &line, 1);
    }
}

/* ---- orientation of the camera: tag 0x112 of Exif ---- */

/* A number of 2 or 4 bytes of a TIFF file, whose header states the byte order. */
static uint32_t tiff_number(const uint8_t *at, int bytes, bool big_end_first) {
    uint32_t number = 0;
    for (int i = 0; i < bytes; i++) number |= (uint32_t)at[big_end_first ? bytes - 1 - i : i] << 8 * i;
    return number;
}

/* Orientation 1 to 8 of Exif data; 1 (upright) if there is none, or it is malformed. */
static int orientation_of(const uint8_t *data, size_t length) {
    enum { HEADER = 6, ENTRY = 12, ORIENTATION = 0x112, SHORT = 3 };
    if (length < HEADER + 8 || memcmp(data, "Exif\0", HEADER) != 0) return 1;
    const uint8_t *tiff = data + HEADER;
    const bool big = tiff[0] == 'M';
    length -= HEADER;
    const size_t directory = tiff_number(tiff + 4, 4, big);
    if (directory > length - 2) return 1;
    const size_t entries = tiff_number(tiff + directory, 2, big);
    for (size_t i = 0; i < entries && directory + 2 + (i + 1) * ENTRY <= length; i++) {
        const uint8_t *entry = tiff + directory + 2 + i * ENTRY;
        if (tiff_number(entry, 2, big) != ORIENTATION || tiff_number(entry + 2, 2, big) != SHORT) continue;
        const uint32_t value = tiff_number(entry + 8, 2, big);
        return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

/* Rotates and mirrors a picture as its Exif orientation asks. */
static void turn(cli_picture *p, int orientation) {
    if (orientation == 1) return;
    const bool swapped = orientation >= 5;
    const bool mirrored = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const bool upside_down = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    const int32_t width = swapped ? p->height : p->width, height = swapped ? p->width : p->height;
    uint8_t *levels = cli_picture_levels(width, height, p->channels), *to = levels;
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++, to += p->channels) {
            const int32_t u = swapped ? y : x, v = swapped ? x : y;
            const size_t column = (size_t)(mirrored ? p->width - 1 - u : u);
            const size_t row = (size_t)(upside_down ? p->height - 1 - v : v);
            memcpy(to, p->levels + (row * (size_t)p->width + column) * (size_t)p->channels, (size_t)p->channels);
        }
    free(p->levels);
    *p = (cli_picture){width, height, p->channels, levels};
}

/* State that must survive the longjmp out of the decoder: locals changed after setjmp would be indeterminate. */
typedef struct jpeg_job {
    struct jpeg_decompress_struct info;
    jpeg_guard guard;
    struct jpeg_progress_mgr progress;
    uint8_t *levels;
    int orientation;
    tort_status status;
} jpeg_job;

static void decode_jpeg(jpeg_job *job, const char *path, FILE *file, tort_error *error) {
    struct jpeg_decompress_struct *info = &job->info;
    if (setjmp(job->guard.escape)) {
        job->status = tort_fail(error, TORT_E_INPUT, "%s: %s", path, job->guard.message);
        return;
    }
    jpeg_create_decompress(info);
    info->progress = &job->progress;
    jpeg_stdio_src(info, file);
    jpeg_save_markers(info, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(info, TRUE);
    if (info->num_components == 4) {
        job->status = tort_fail(error, TORT_E_INPUT, "%s has colours for print (CMYK): save it as RGB", path);
        return;
    }
    job->orientation = 1;
    for (const struct jpeg_marker_struct *m = info->marker_list; m && job->orientation == 1; m = m->next)
        job->orientation = orientation_of(m->data, m->data_length);
    info->out_color_space = JCS_RGB;
    job->status = cli_check_pixels(path, "", info->image_width, info->image_height, error);
    if (job->status) return;
    jpeg_start_decompress(info);
    job->levels = cli_picture_levels((int32_t)info->output_width, (int32_t)info->output_height, 3);
    read_jpeg_lines(info, job->levels);
    jpeg_finish_decompress(info);
}

static tort_status read_jpeg(const char *path, FILE *file, cli_picture *out, tort_error *error) {
    jpeg_job *job = cli_alloc(1, sizeof *job);
    job->info.err = jpeg_std_error(&job->guard.manager);
    job->guard.manager.error_exit = jpeg_escape;
    job->guard.manager.output_message = jpeg_silence;
    job->progress.progress_monitor = check_scans;
    decode_jpeg(job, path, file, error);
    tort_status status = job->status;
    *out = (cli_picture){(int32_t)job->info.output_width, (int32_t)job->info.output_height, 3, job->levels};
    const int orientation = job->orientation;
    jpeg_destroy_decompress(&job->info);
    free(job);
    if (!status) turn(out, orientation);
    return status;
}

static tort_status decode_picture(const char *path, FILE *file, cli_picture *out, tort_error *error) {
    static const uint8_t png[] = {0x89, 'P', 'N', 'G'}, jpeg[] = {0xff, 0xd8, 0xff};
    uint8_t begin[4] = {0};
    const size_t length = fread(begin, 1, sizeof begin, file);
    rewind(file);
    if (length >= sizeof png && !memcmp(begin, png, sizeof png)) return read_png(path, file, out, error);
    if (length >= sizeof jpeg && !memcmp(begin, jpeg, sizeof jpeg)) return read_jpeg(path, file, out, error);
    if (!length) return tort_fail(error, TORT_E_INPUT, "%s is empty", path);
    return tort_fail(error, TORT_E_INPUT, "%s is neither a PNG nor a JPEG picture: it begins with '%.*s'", path,
                     (int)length, (const char *)begin);
}

tort_status cli_picture_read(const char *path, cli_picture *out, tort_error *error) {
    FILE *file;
    size_t size;
    tort_status status = cli_open_file(path, MAX_PICTURE_BYTES, &file, &size, error);
    if (status) return status;
    status = decode_picture(path, file, out, error);
    fclose(file);
    return status;
}
