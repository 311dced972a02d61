/* images.c - turns pictures into tensors by the steps of training pipelines: decode to 8-bit RGB (picture_files.c),
 * resize (triangle filter, widened against aliasing when shrinking, rounded to 8 bits per pass), crop the middle,
 * scale, subtract the mean, divide by the deviation, order the channels. For an input of one channel, grey is 0.299 R +
 * 0.587 G
 * + 0.114 B. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/files/tensor_file.h"
#include "runtime/cli/files/images.h"
#include "runtime/core/base/ascii.h"

uint8_t *cli_picture_levels(int32_t width, int32_t height, int32_t channels) {
    return cli_alloc((size_t)width * (size_t)height, (size_t)channels);
}

tort_status cli_check_pixels(const char *path, const char *what, size_t width, size_t height, tort_error *error) {
    if (width && height && height <= CLI_MAX_PIXELS / width) return TORT_OK;
    return tort_fail(error, TORT_E_INPUT, "%s: %s%zu x %zu pixels are more than the %zu that are read", path, what,
                     width, height, CLI_MAX_PIXELS);
}

static tort_status read_picture(const char *path, cli_picture *out, tort_error *error) {
#ifdef TORT_PICTURES
    return cli_picture_read(path, out, error);
#else
    (void)out;
    return tort_fail(error, TORT_E_INPUT, "%s: this build reads no pictures (PICTURES=0); give the input an .npy",
                     path);
#endif
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
static void resize(cli_picture *p, int32_t width, int32_t height) {
    size_t channels = (size_t)p->channels;
    if (width != p->width) {
        uint8_t *wide = cli_picture_levels(width, p->height, p->channels);
        axis across = {
            p->width, width, p->height, channels, channels, (size_t)p->width * channels, (size_t)width * channels};
        resample(p->levels, wide, p->channels, &across);
        free(p->levels);
        *p = (cli_picture){width, p->height, p->channels, wide};
    }
    if (height != p->height) {
        uint8_t *tall = cli_picture_levels(width, height, p->channels);
        size_t row = (size_t)width * channels;
        axis down = {p->height, height, width, row, row, channels, channels};
        resample(p->levels, tall, p->channels, &down);
        free(p->levels);
        *p = (cli_picture){width, height, p->channels, tall};
    }
}

static tort_status resize_as_asked(cli_picture *p, const cli_image_options *options, const char *path,
                                   tort_error *error) {
    int64_t width = options->resize.width, height = options->resize.height;
    if (!width) return TORT_OK;
    if (!height) {
        const int64_t shorter = width;
        const bool upright = p->width <= p->height;
        const int64_t longer = shorter * (upright ? p->height : p->width) / (upright ? p->width : p->height);
        width = upright ? shorter : longer;
        height = upright ? longer : shorter;
    }
    tort_status status = cli_check_pixels(path, "resized, ", (size_t)width, (size_t)height, error);
    if (!status) status = cli_check_pixels(path, "resized across, ", (size_t)width, (size_t)p->height, error);
    if (!status) resize(p, (int32_t)width, (int32_t)height);
    return status;
}

static tort_status crop(cli_picture *p, cli_extent asked, const char *path, tort_error *error) {
    const int32_t width = asked.width, height = asked.height ? asked.height : width;
    if (!width) return TORT_OK;
    if (width > p->width || height > p->height)
        return tort_fail(error, TORT_E_INPUT,
                         "%s: --crop %dx%d is larger than the picture, which is %dx%d; --resize first", path, width,
                         height, p->width, p->height);
    int32_t left = (int32_t)lrint((p->width - width) / 2.0), top = (int32_t)lrint((p->height - height) / 2.0);
    uint8_t *cut = cli_picture_levels(width, height, p->channels);
    size_t row = (size_t)width * (size_t)p->channels, old_row = (size_t)p->width * (size_t)p->channels;
    for (int32_t y = 0; y < height; y++)
        memcpy(cut + (size_t)y * row, p->levels + (size_t)(top + y) * old_row + (size_t)(left * p->channels), row);
    free(p->levels);
    *p = (cli_picture){width, height, p->channels, cut};
    return TORT_OK;
}

static void make_grey(cli_picture *p) {
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

static tort_status check_fit(const char *path, const cli_picture *p, const tort_port *port, const placing *at,
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
static void fill_row(const cli_picture *p, const cli_image_options *o, int32_t row, int32_t channel, float scale,
                     float *values) {
    const uint8_t *levels = p->levels + (size_t)row * (size_t)p->width * (size_t)p->channels;
    const int32_t first = channel < 0 ? 0 : channel, end = channel < 0 ? p->channels : channel + 1;
    for (int32_t x = 0; x < p->width; x++, levels += p->channels)
        for (int32_t c = first; c < end; c++)
            *values++ = normalized(o, levels[o->bgr ? p->channels - 1 - c : c], c, scale);
}

static tort_status fill_tensor(const cli_picture *p, const cli_image_options *o, const placing *at, tort_tensor *tensor,
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
                           cli_picture *p, tort_error *error) {
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
    cli_picture p = {0};
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
