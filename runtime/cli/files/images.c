/* images.c - decodes pictures and turns them into tensors by the steps of training pipelines: decode to 8-bit RGB,
 * rotate by the Exif orientation of a JPEG, resize (triangle filter, widened against aliasing when shrinking, rounded
 * to 8 bits per pass), crop the middle, scale, subtract the mean, divide by the deviation, order the channels. For an
 * input of one channel, grey is 0.299 R + 0.587 G + 0.114 B. Other formats' orientation tags are not applied. */
#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h> /* needs stdio.h before it */

#include "ops/numeric.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/files/tensor_file.h"
#include "runtime/cli/files/images.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/core/base/ascii.h"

#define MAX_PICTURE_BYTES ((size_t)512 << 20) /* of the file */
/* Pixels of a picture, and of what --resize makes of it. A pixel takes 9 bytes at most while it is decoded (a
 * progressive JPEG), 6 while it is resized. */
#define MAX_PIXELS ((size_t)1 << 26)
enum { MAX_SCANS = 100 }; /* of a progressive JPEG: each is a pass over the whole picture, however few its bytes */

typedef struct picture {
    int32_t width, height, channels;
    uint8_t *levels; /* [height][width][channels] */
} picture;

static uint8_t *new_levels(int32_t width, int32_t height, int32_t channels) {
    return cli_alloc((size_t)width * (size_t)height, (size_t)channels);
}

/* what: "" or what would have so many pixels. */
static tort_status check_size(const char *path, const char *what, size_t width, size_t height, tort_error *error) {
    if (width && height && height <= MAX_PIXELS / width) return TORT_OK;
    return tort_fail(error, TORT_E_INPUT, "%s: %s%zu x %zu pixels are more than the %zu that are read", path, what,
                     width, height, MAX_PIXELS);
}

/* ---- PNG --------------------------------------------------------------------------------------------------------- */

static tort_status read_png(const char *path, FILE *file, picture *out, tort_error *error) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_stdio(&image, file))
        return tort_fail(error, TORT_E_INPUT, "%s: %s", path, image.message);
    image.format = PNG_FORMAT_RGBA;
    tort_status status = check_size(path, "", image.width, image.height, error);
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
    *out = (picture){(int32_t)image.width, (int32_t)image.height, 3, cli_realloc(bytes, pixels, 3)};
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
static void turn(picture *p, int orientation) {
    if (orientation == 1) return;
    const bool swapped = orientation >= 5;
    const bool mirrored = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const bool upside_down = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    const int32_t width = swapped ? p->height : p->width, height = swapped ? p->width : p->height;
    uint8_t *levels = new_levels(width, height, p->channels), *to = levels;
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++, to += p->channels) {
            const int32_t u = swapped ? y : x, v = swapped ? x : y;
            const size_t column = (size_t)(mirrored ? p->width - 1 - u : u);
            const size_t row = (size_t)(upside_down ? p->height - 1 - v : v);
            memcpy(to, p->levels + (row * (size_t)p->width + column) * (size_t)p->channels, (size_t)p->channels);
        }
    free(p->levels);
    *p = (picture){width, height, p->channels, levels};
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
    job->status = check_size(path, "", info->image_width, info->image_height, error);
    if (job->status) return;
    jpeg_start_decompress(info);
    job->levels = new_levels((int32_t)info->output_width, (int32_t)info->output_height, 3);
    read_jpeg_lines(info, job->levels);
    jpeg_finish_decompress(info);
}

static tort_status read_jpeg(const char *path, FILE *file, picture *out, tort_error *error) {
    jpeg_job *job = cli_alloc(1, sizeof *job);
    job->info.err = jpeg_std_error(&job->guard.manager);
    job->guard.manager.error_exit = jpeg_escape;
    job->guard.manager.output_message = jpeg_silence;
    job->progress.progress_monitor = check_scans;
    decode_jpeg(job, path, file, error);
    tort_status status = job->status;
    *out = (picture){(int32_t)job->info.output_width, (int32_t)job->info.output_height, 3, job->levels};
    const int orientation = job->orientation;
    jpeg_destroy_decompress(&job->info);
    free(job);
    if (!status) turn(out, orientation);
    return status;
}

/* Decodes a picture by its first bytes, as the file's name may be wrong. */
static tort_status decode_picture(const char *path, FILE *file, picture *out, tort_error *error) {
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

static tort_status read_picture(const char *path, picture *out, tort_error *error) {
    FILE *file;
    size_t size;
    tort_status status = cli_open_file(path, MAX_PICTURE_BYTES, &file, &size, error);
    if (status) return status;
    status = decode_picture(path, file, out, error);
    fclose(file);
    return status;
}

/* ---- size -------------------------------------------------------------------------------------------------------- */

static uint8_t round_level(float level) {
    float rounded = floorf(level + 0.5f);
    return rounded < 0 ? 0 : rounded > 255 ? 255 : (uint8_t)rounded;
}

/* Resampling of `lines` lines from in_count to out_count pixels; steps between pixels and between lines are in levels.
 */
typedef struct axis {
    int32_t in_count, out_count, lines;
    size_t in_step, out_step, in_line, out_line;
} axis;

static void resample(const uint8_t *in, uint8_t *out, int32_t channels, const axis *a) {
    double ratio = (double)a->in_count / a->out_count, reach = ratio > 1 ? ratio : 1;
    float *weights = cli_alloc((size_t)a->in_count, sizeof *weights);
    for (int32_t x = 0; x < a->out_count; x++) {
        double centre = (x + 0.5) * ratio, total = 0;
        int32_t first = (int32_t)(centre - reach + 0.5), end = (int32_t)(centre + reach + 0.5);
        if (centre - reach + 0.5 < 0) first = 0;
        if (end > a->in_count) end = a->in_count;
        for (int32_t i = first; i < end; i++) {
            double far = fabs((i + 0.5 - centre) / reach);
            weights[i - first] = far < 1 ? (float)(1 - far) : 0;
            total += weights[i - first];
        }
        for (int32_t line = 0; line < a->lines; line++)
            for (int32_t c = 0; c < channels; c++) {
                const uint8_t *source = in + (size_t)line * a->in_line + c;
                double sum = 0;
                for (int32_t i = first; i < end; i++)
                    sum += (double)weights[i - first] * source[(size_t)i * a->in_step];
                out[(size_t)line * a->out_line + (size_t)x * a->out_step + (size_t)c] =
                    round_level((float)(sum / total));
            }
    }
    free(weights);
}

/* Across, then down. */
static void resize(picture *p, int32_t width, int32_t height) {
    size_t channels = (size_t)p->channels;
    if (width != p->width) {
        uint8_t *wide = new_levels(width, p->height, p->channels);
        axis across = {
            p->width, width, p->height, channels, channels, (size_t)p->width * channels, (size_t)width * channels};
        resample(p->levels, wide, p->channels, &across);
        free(p->levels);
        *p = (picture){width, p->height, p->channels, wide};
    }
    if (height != p->height) {
        uint8_t *tall = new_levels(width, height, p->channels);
        size_t row = (size_t)width * channels;
        axis down = {p->height, height, width, row, row, channels, channels};
        resample(p->levels, tall, p->channels, &down);
        free(p->levels);
        *p = (picture){width, height, p->channels, tall};
    }
}

static tort_status resize_as_asked(picture *p, const cli_image_options *options, const char *path, tort_error *error) {
    int64_t width = options->resize.width, height = options->resize.height;
    if (!width) return TORT_OK;
    if (!height) {
        const int64_t shorter = width;
        const bool upright = p->width <= p->height;
        const int64_t longer = shorter * (upright ? p->height : p->width) / (upright ? p->width : p->height);
        width = upright ? shorter : longer;
        height = upright ? longer : shorter;
    }
    tort_status status = check_size(path, "resized, ", (size_t)width, (size_t)height, error);
    if (!status) status = check_size(path, "resized across, ", (size_t)width, (size_t)p->height, error);
    if (!status) resize(p, (int32_t)width, (int32_t)height);
    return status;
}

static tort_status crop(picture *p, cli_extent asked, const char *path, tort_error *error) {
    const int32_t width = asked.width, height = asked.height ? asked.height : width;
    if (!width) return TORT_OK;
    if (width > p->width || height > p->height)
        return tort_fail(error, TORT_E_INPUT,
                         "%s: --crop %dx%d is larger than the picture, which is %dx%d; --resize first", path, width,
                         height, p->width, p->height);
    int32_t left = (int32_t)lrint((p->width - width) / 2.0), top = (int32_t)lrint((p->height - height) / 2.0);
    uint8_t *cut = new_levels(width, height, p->channels);
    size_t row = (size_t)width * (size_t)p->channels, old_row = (size_t)p->width * (size_t)p->channels;
    for (int32_t y = 0; y < height; y++)
        memcpy(cut + (size_t)y * row, p->levels + (size_t)(top + y) * old_row + (size_t)(left * p->channels), row);
    free(p->levels);
    *p = (picture){width, height, p->channels, cut};
    return TORT_OK;
}

static void make_grey(picture *p) {
    const size_t pixels = (size_t)p->width * (size_t)p->height;
    for (size_t i = 0; i < pixels; i++) { /* in place: pixel i is written behind what is still to be read */
        const uint8_t *rgb = p->levels + i * 3;
        p->levels[i] = round_level(0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2]);
    }
    p->channels = 1;
}

/* ---- the tensor -------------------------------------------------------------------------------------------------- */

/* Axes of an input that takes a picture; -1: it has no such axis. */
typedef struct placing {
    int32_t rank, batch, channel, row, column;
} placing;

static bool is_channel_count(int64_t dim) {
    return dim == 1 || dim == 3;
}

static tort_status find_placing(const tort_port *port, int32_t layout, placing *out, tort_error *error) {
    int32_t rank = port->rank < 0 ? 4 : port->rank;
    if (rank < 2 || rank > 4)
        return tort_fail(error, TORT_E_INPUT, "input '%s' has rank %d, which no picture has; give it an .npy",
                         port->name, rank);
    if (layout == CLI_LAYOUT_AUTO && port->rank > 2)
        layout =
            !is_channel_count(port->dims[rank - 3]) && is_channel_count(port->dims[rank - 1]) ? CLI_NHWC : CLI_NCHW;
    int32_t first = rank - 3;
    *out = (placing){rank, rank == 4 ? 0 : -1, first, first + 1, first + 2};
    if (rank == 2)
        *out = (placing){2, -1, -1, 0, 1};
    else if (layout == CLI_NHWC)
        *out = (placing){rank, out->batch, first + 2, first, first + 1};
    return TORT_OK;
}

static tort_status check_fit(const char *path, const picture *p, const tort_port *port, const placing *at,
                             tort_error *error) {
    if (port->rank < 0) return TORT_OK;
    if (at->batch >= 0 && port->dims[at->batch] > 1)
        return tort_fail(error, TORT_E_INPUT, "input '%s' is a batch of %lld, and %s is one picture; give it an .npy",
                         port->name, (long long)port->dims[at->batch], path);
    int64_t width = port->dims[at->column], height = port->dims[at->row];
    if ((width < 0 || width == p->width) && (height < 0 || height == p->height)) return TORT_OK;
    if (width < 0) width = p->width;
    if (height < 0) height = p->height;
    return tort_fail(error, TORT_E_INPUT, "%s is %dx%d, and input '%s' wants %lldx%lld: add --resize %lldx%lld", path,
                     p->width, p->height, port->name, (long long)width, (long long)height, (long long)width,
                     (long long)height);
}

static tort_status check_channels(const cli_image_options *o, int32_t channels, tort_error *error) {
    const struct {
        const char *name;
        int32_t count;
    } lists[] = {{"mean", o->mean.count}, {"std", o->std.count}};
    for (size_t i = 0; i < 2; i++)
        if (lists[i].count > 1 && lists[i].count != channels)
            return tort_fail(error, TORT_E_USAGE, "--%s has %d numbers, and the input %d channel%s", lists[i].name,
                             lists[i].count, channels, channels == 1 ? "" : "s");
    return TORT_OK;
}

static float normalized(const cli_image_options *o, float level, int32_t channel, float scale) {
    float value = level * scale;
    if (o->mean.count) value -= o->mean.values[o->mean.count > 1 ? channel : 0];
    if (o->std.count) value /= o->std.values[o->std.count > 1 ? channel : 0];
    return value;
}

/* Normalized levels of a row: of one channel, or of all of them pixel by pixel for channel -1. */
static void fill_row(const picture *p, const cli_image_options *o, int32_t row, int32_t channel, float scale,
                     float *values) {
    const uint8_t *levels = p->levels + (size_t)row * (size_t)p->width * (size_t)p->channels;
    const int32_t first = channel < 0 ? 0 : channel, end = channel < 0 ? p->channels : channel + 1;
    for (int32_t x = 0; x < p->width; x++, levels += p->channels)
        for (int32_t c = first; c < end; c++)
            *values++ = normalized(o, levels[o->bgr ? p->channels - 1 - c : c], c, scale);
}

static tort_status fill_tensor(const picture *p, const cli_image_options *o, const placing *at, tort_tensor *tensor,
                               tort_error *error) {
    tort_env env = tort_env_complete(NULL);
    const int64_t width = p->width, area = width * p->height, channels = p->channels;
    tort_status status = tort_tensor_file_alloc(&env, tensor, 0, error);
    if (status) return status;
    float *values = cli_alloc((size_t)(width * channels), sizeof *values);
    float scale = o->scale >= 0 ? (float)o->scale : tensor->type == TORT_UINT8 ? 1.0f : 1.0f / 255.0f;
    const bool last = at->channel > at->row;
    for (int32_t y = 0; y < p->height; y++) {
        if (last) {
            fill_row(p, o, y, -1, scale, values);
            tort_store_floats(tensor->type, tensor->data, y * width * channels, width * channels, values);
            continue;
        }
        for (int32_t c = 0; c < p->channels; c++) {
            fill_row(p, o, y, c, scale, values);
            tort_store_floats(tensor->type, tensor->data, c * area + y * width, width, values);
        }
    }
    free(values);
    return TORT_OK;
}

bool cli_is_image(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot && (tort_same_word(dot, ".png") || tort_same_word(dot, ".jpg") || tort_same_word(dot, ".jpeg"));
}

/* Resizes, crops and reduces the picture to the size and channels of `port`. */
static tort_status prepare(const char *path, const tort_port *port, const cli_image_options *options, const placing *at,
                           picture *p, tort_error *error) {
    int64_t channels = at->channel < 0 ? 1 : port->rank < 0 ? 3 : port->dims[at->channel];
    if (channels < 0) channels = 3;
    if (!is_channel_count(channels))
        return tort_fail(error, TORT_E_INPUT, "input '%s' wants %lld channels; a picture has 1 or 3 (--layout %s?)",
                         port->name, (long long)channels, at->channel > at->row ? "nchw" : "nhwc");
    tort_status status = check_channels(options, (int32_t)channels, error);
    if (status) return status;
    status = resize_as_asked(p, options, path, error);
    if (!status) status = crop(p, options->crop, path, error);
    if (!status && channels == 1) make_grey(p);
    return status ? status : check_fit(path, p, port, at, error);
}

tort_status cli_image_read(const char *path, const tort_port *port, const cli_image_options *options,
                           tort_tensor *tensor, tort_error *error) {
    placing at = {0};
    tort_status status = find_placing(port, options->layout, &at, error);
    if (!status && !tort_type_is_float(port->type) && port->type != TORT_UINT8)
        status = tort_fail(error, TORT_E_INPUT, "input '%s' is %s; a picture can fill floats and uint8", port->name,
                           tort_type_name(port->type));
    if (status) return status;
    picture p = {0};
    status = read_picture(path, &p, error);
    if (!status) status = prepare(path, port, options, &at, &p, error);
    if (!status) {
        *tensor = (tort_tensor){.type = port->type, .rank = at.rank};
        if (at.batch >= 0) tensor->dims[at.batch] = 1;
        if (at.channel >= 0) tensor->dims[at.channel] = p.channels;
        tensor->dims[at.row] = p.height;
        tensor->dims[at.column] = p.width;
        status = fill_tensor(&p, options, &at, tensor, error);
    }
    free(p.levels);
    return status;
}
