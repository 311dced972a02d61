/* images.h - a PNG or JPEG picture as an input tensor. */
#ifndef TORT_CLI_FILES_IMAGES_H
#define TORT_CLI_FILES_IMAGES_H

#include "runtime/cli/options.h"

bool cli_is_image(const char *path); /* true for .png, .jpg and .jpeg */
/* Decodes, resizes, crops, scales and lays out a picture as `port` wants it, with batch 1. The caller frees the tensor
 * with tort_tensor_file_free and the default environment. */
tort_status cli_image_read(const char *path, const tort_port *port, const cli_image_options *options,
                           tort_tensor *tensor, tort_error *error);

#endif
