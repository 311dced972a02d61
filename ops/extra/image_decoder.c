/* image_decoder.c - ImageDecoder: decodes the bytes of a picture into [height, width, channels].
 *
 * The shape is only known after decoding, so a picture is decoded twice, first by infer for its size. If it cannot be
 * decoded, the output is an empty picture, as the specification says; one that is too large is an error. Grey is
 * computed from RGB as in Pillow. Source: ONNX operator ImageDecoder-20. */
#include "ops/extra/picture.h"
#include "runtime/core/base/error.h"
#include "runtime/include/op.h"

#include <stdlib.h>
#include <string.h>

typedef enum pixel_format { FORMAT_RGB, FORMAT_BGR, FORMAT_GREY } pixel_format;

typedef struct decoder_params {
    pixel_format format;
} decoder_params;

static tort_status read_format(const tort_node_view *node, pixel_format *format, tort_error *error) {
    const char *name = tort_attr_string(node, "pixel_format");
    *format = !strcmp(name, "BGR") ? FORMAT_BGR : !strcmp(name, "Grayscale") ? FORMAT_GREY : FORMAT_RGB;
    if (*format != FORMAT_RGB || !strcmp(name, "RGB")) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "pixel_format \"%.40s\" is not RGB, BGR or Grayscale", name);
}

/* Decodes a picture. Bytes that cannot be decoded give a size of 0; a picture that is too large is an error. */
static tort_status decode(const void *bytes, int64_t size, tort_picture *picture, tort_error *error) {
    if (size == 0 || !tort_picture_read(bytes, (size_t)size, picture)) {
        if (size && picture->too_large)
            return tort_fail(error, TORT_E_RUN, "the picture has %zu x %zu pixels; at most %zu are decoded",
                             picture->width, picture->height, TORT_MAX_PIXELS);
        *picture = (tort_picture){.pixels = NULL};
    }
    return TORT_OK;
}

static tort_status decoder_infer(tort_infer *infer) {
    const tort_info *input = &infer->node->inputs[0];
    pixel_format format;
    tort_status status = read_format(infer->node, &format, infer->error);
    if (status) return status;
    if (input->rank >= 0 && input->rank != 1)
        return tort_fail(infer->error, TORT_E_MODEL, "the bytes of a picture are of rank 1, not %d", input->rank);
    tort_dim dims[3] = {tort_dim_fresh(infer->dims, true), tort_dim_fresh(infer->dims, true),
                        format == FORMAT_GREY ? 1 : 3};
    if (input->data && tort_shape_known(input)) {
        tort_picture picture;
        status = decode(input->data, input->dims[0], &picture, infer->error);
        if (status) return status;
        dims[0] = (tort_dim)picture.height;
        dims[1] = (tort_dim)picture.width;
        free(picture.pixels);
    }
    tort_infer_shape(infer, 0, TORT_UINT8, 3, dims);
    return TORT_OK;
}

static tort_status decoder_resolve(tort_resolve *resolve) {
    decoder_params *params = resolve->params;
    return read_format(resolve->node, &params->format, resolve->error);
}

static void put_pixels(const tort_picture *picture, pixel_format format, uint8_t *out) {
    const size_t count = picture->width * picture->height;
    if (format == FORMAT_RGB && count) memcpy(out, picture->pixels, count * 3);
    for (size_t i = 0; i < count && format != FORMAT_RGB; i++) {
        const uint8_t *rgb = picture->pixels + 3 * i;
        if (format == FORMAT_GREY) {
            out[i] = (uint8_t)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >> 16);
            continue;
        }
        for (size_t c = 0; c < 3; c++) out[3 * i + c] = rgb[2 - c];
    }
}

static tort_status decoder_reference(const tort_call *call) {
    const decoder_params *params = call->params;
    const tort_tensor *input = &call->inputs[0], *output = &call->outputs[0];
    tort_picture picture;
    if (tort_count(output) == 0) return TORT_OK;
    tort_status status = decode(input->data, input->dims[0], &picture, call->error);
    if (status) return status;
    if ((int64_t)picture.height == output->dims[0] && (int64_t)picture.width == output->dims[1])
        put_pixels(&picture, params->format, output->data);
    else /* infer could decode it */
        status = tort_fail(call->error, TORT_E_MEMORY, "the picture could not be decoded a second time");
    free(picture.pixels);
    return status;
}

const tort_op tort_ops_image_decoder[] = {
    {"", "ImageDecoder", 20, TORT_NEWEST_OPSET, "encoded_stream:T1", "image:T2", "T1=uint8 T2=uint8",
     "pixel_format:string=RGB", .shape_inputs = 1u << 0, .params_size = sizeof(decoder_params), decoder_infer,
     decoder_resolve, decoder_reference},
    {0},
};
