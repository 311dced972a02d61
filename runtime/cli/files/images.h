/* images.h - a PNG or JPEG picture as an input tensor. */
#ifndef TORT_CLI_FILES_IMAGES_H
#define TORT_CLI_FILES_IMAGES_H

#include "runtime/cli/options.h"

/* Pixels of a picture, and of what --resize makes of it. A pixel takes 9 bytes at most while it is decoded (a
 * progressive JPEG), 6 while it is resized. */
#define CLI_MAX_PIXELS ((size_t)1 << 26)

typedef struct cli_picture {
    int32_t width, height, channels;
    uint8_t *levels; /* [height][width][channels], by cli_picture_levels; the caller frees it */
} cli_picture;

uint8_t *cli_picture_levels(int32_t width, int32_t height, int32_t channels);
/* Refuses too many pixels; what: "" or what would have so many. */
tort_status cli_check_pixels(const char *path, const char *what, size_t width, size_t height, tort_error *error);
/* Decodes a file by its first bytes, as its name may be wrong (picture_files.c, in builds with pictures). */
tort_status cli_picture_read(const char *path, cli_picture *out, tort_error *error);

bool cli_is_image(const char *path); /* true for .png, .jpg and .jpeg */
/* Decodes, resizes, crops, scales and lays out a picture as `port` wants it, with batch 1. The caller frees the tensor
 * with tort_tensor_file_free and the default environment. */
tort_status cli_image_read(const char *path, const tort_port *port, const cli_image_options *options,
                           tort_tensor *tensor, tort_error *error);

#endif
