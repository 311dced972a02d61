/* picture_webp.c - WebP by libwebp, without animations. */
#include "ops/extra/picture.h"

#include <webp/decode.h>

bool tort_read_webp(const uint8_t *bytes, size_t size, tort_picture *out) {
    WebPBitstreamFeatures features;
    if (WebPGetFeatures(bytes, size, &features) != VP8_STATUS_OK || features.has_animation) return false;
    if (!tort_picture_new(out, (size_t)features.width, (size_t)features.height)) return false;
    return WebPDecodeRGBInto(bytes, size, out->pixels, out->width * out->height * 3, features.width * 3);
}
