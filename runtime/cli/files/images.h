/* images.h - a PNG or JPEG picture as an input tensor. */
#ifndef TORT_CLI_FILES_IMAGES_H
#define TORT_CLI_FILES_IMAGES_H

#include "runtime/cli/options.h"

bool cli_is_image(const char *path); /* by its ending */
/* Decodes, resizes, crops, scales and lays out a picture as `port` wants it, batch 1. tensor->data comes from
 * tort_alloc_aligned of the default environment; the caller frees it. */
tort_status cli_image_read(const char *path, const tort_port *port, const cli_image_options *options,
                           tort_tensor *tensor, tort_error *error);

#endif
