/* picture_jpeg2000.c - JPEG 2000 by OpenJPEG: files (JP2) and bare codestreams. */
#include "ops/extra/picture.h"

#include <openjpeg-2.5/openjpeg.h>
#include <string.h>

/* Samples of all components, which are decoded though only three of them are used; OpenJPEG takes about 16 bytes for
 * each. */
#define MAX_SAMPLES TORT_MAX_PIXELS

typedef struct j2k_bytes {
    const uint8_t *bytes;
    size_t size, at;
} j2k_bytes;

static OPJ_SIZE_T give_bytes(void *to, OPJ_SIZE_T count, void *ud) {
    j2k_bytes *file = ud;
    const size_t left = file->size - file->at, given = count < left ? count : left;
    if (!given) return (OPJ_SIZE_T)-1;
    memcpy(to, file->bytes + file->at, given);
    file->at += given;
    return given;
}

static OPJ_OFF_T skip(OPJ_OFF_T count, void *ud) {
    j2k_bytes *file = ud;
    const size_t left = file->size - file->at;
    if (count < 0 || (size_t)count > left) return -1;
    file->at += (size_t)count;
    return count;
}

static OPJ_BOOL seek(OPJ_OFF_T to, void *ud) {
    j2k_bytes *file = ud;
    if (to < 0 || (size_t)to > file->size) return OPJ_FALSE;
    file->at = (size_t)to;
    return OPJ_TRUE;
}

static opj_stream_t *open_bytes(j2k_bytes *file) {
    opj_stream_t *stream = opj_stream_default_create(OPJ_TRUE);
    if (!stream) return NULL;
    opj_stream_set_user_data(stream, file, NULL);
    opj_stream_set_user_data_length(stream, file->size);
    opj_stream_set_read_function(stream, give_bytes);
    opj_stream_set_skip_function(stream, skip);
    opj_stream_set_seek_function(stream, seek);
    return stream;
}

/* Level 0..255 of a component at a pixel of the picture; a component of lower resolution is repeated. */
static int32_t level_at(const opj_image_t *image, OPJ_UINT32 c, size_t x, size_t y) {
    const opj_image_comp_t *comp = &image->comps[c];
    const size_t column = x / comp->dx < comp->w ? x / comp->dx : comp->w - 1;
    const size_t row = y / comp->dy < comp->h ? y / comp->dy : comp->h - 1;
    int64_t value = comp->data[row * comp->w + column];
    if (comp->sgnd) value += (int64_t)1 << (comp->prec - 1);
    const uint32_t max = comp->prec >= 32 ? UINT32_MAX : ((uint32_t)1 << comp->prec) - 1;
    return tort_picture_level(value < 0 ? 0 : value > max ? max : (uint32_t)value, max);
}

static uint8_t clamp(double level) {
    return level < 0 ? 0 : level > 255 ? 255 : (uint8_t)(level + 0.5);
}

static void put_pixel(const opj_image_t *image, bool colors, size_t x, size_t y, uint8_t *pixel) {
    const int32_t a = level_at(image, 0, x, y);
    const int32_t b = colors ? level_at(image, 1, x, y) : a, c = colors ? level_at(image, 2, x, y) : a;
    if (image->color_space != OPJ_CLRSPC_SYCC || !colors) {
        pixel[0] = (uint8_t)a;
        pixel[1] = (uint8_t)b;
        pixel[2] = (uint8_t)c;
        return;
    }
    pixel[0] = clamp(a + 1.402 * (c - 128));
    pixel[1] = clamp(a - 0.344 * (b - 128) - 0.714 * (c - 128));
    pixel[2] = clamp(a + 1.772 * (b - 128));
}

static bool is_whole(const opj_image_t *image) {
    const OPJ_UINT32 needed = image->numcomps >= 3 ? 3 : 1;
    for (OPJ_UINT32 c = 0; c < needed; c++) {
        const opj_image_comp_t *comp = &image->comps[c];
        if (!comp->data || !comp->w || !comp->h || !comp->dx || !comp->dy || !comp->prec || comp->prec > 32)
            return false;
    }
    return true;
}

static bool read_image(opj_codec_t *codec, opj_stream_t *stream, opj_image_t **image, tort_picture *out) {
    opj_dparameters_t parameters;
    opj_set_default_decoder_parameters(&parameters);
    if (!opj_setup_decoder(codec, &parameters) || !opj_decoder_set_strict_mode(codec, OPJ_TRUE)) return false;
    if (!opj_read_header(stream, codec, image)) return false;
    const opj_image_t *head = *image;
    if (head->numcomps < 1 || head->x1 <= head->x0 || head->y1 <= head->y0) return false;
    if (!tort_picture_new(out, head->x1 - head->x0, head->y1 - head->y0)) return false;
    if (head->numcomps > MAX_SAMPLES / (out->width * out->height)) return false;
    if (!opj_decode(codec, stream, *image) || !opj_end_decompress(codec, stream) || !is_whole(*image)) return false;
    for (size_t y = 0; y < out->height; y++)
        for (size_t x = 0; x < out->width; x++)
            put_pixel(*image, (*image)->numcomps >= 3, x, y, out->pixels + (y * out->width + x) * 3);
    return true;
}

bool tort_read_jpeg2000(const uint8_t *bytes, size_t size, tort_picture *out) {
    j2k_bytes file = {.bytes = bytes, .size = size};
    opj_stream_t *stream = open_bytes(&file);
    opj_codec_t *codec = opj_create_decompress(bytes[0] == 0xff ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
    opj_image_t *image = NULL;
    const bool read = stream && codec && read_image(codec, stream, &image, out);
    if (image) opj_image_destroy(image);
    if (codec) opj_destroy_codec(codec);
    if (stream) opj_stream_destroy(stream);
    return read;
}
