/* pictures.c - fuzz entry: any bytes are a picture of some kind, or none. What is read is whole: its size times three
 * bytes. */
#include "ops/extra/picture.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tort_picture picture;
    if (!tort_picture_read(data, size, &picture)) {
        if (picture.pixels) abort();
        return 0;
    }
    uint8_t any = 0; /* every byte is there to be read */
    for (size_t i = 0; i < picture.width * picture.height * 3; i++) any |= picture.pixels[i];
    free(picture.pixels);
    (void)any;
    return 0;
}
