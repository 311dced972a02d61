/* pictures.c - fuzz entry: any bytes are a picture of some kind, or none. What is read is whole: its size times three
 * bytes. */
#include "ops/extra/picture.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tort_picture picture;
    if (!tort_picture_read(data, size, &picture)) {
        if (picture.pixels) abort();
        return 0;
    }
    volatile uint8_t end; /* the end of each row is there to be read */
    for (size_t y = 1; y <= picture.height; y++) end = picture.pixels[y * picture.width * 3 - 1];
    (void)end;
    free(picture.pixels);
    return 0;
}
