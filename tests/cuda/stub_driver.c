/* stub_driver.c - a libcuda.so.1 of VERSION (12040 for CUDA 12.4) on a machine without a GPU, for NVIDIA's cudart: it
 * starts, counts no device, and every other function of the driver fails. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { NO_DEVICE = 100 };

int cuInit(unsigned flags) {
    (void)flags;
    return 0;
}

int cuDriverGetVersion(int *version) {
    *version = VERSION;
    return 0;
}

int cuDeviceGetCount(int *count) {
    *count = 0;
    return 0;
}

static int fail(void) {
    return NO_DEVICE;
}

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *found) {
    static const struct {
        const char *name;
        void *function;
    } functions[] = {{"cuInit", (void *)cuInit},
                     {"cuDriverGetVersion", (void *)cuDriverGetVersion},
                     {"cuDeviceGetCount", (void *)cuDeviceGetCount},
                     {"cuGetProcAddress", (void *)cuGetProcAddress_v2}};
    (void)version, (void)flags;
    *function = (void *)fail;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(functions[i].name, name)) *function = functions[i].function;
    if (found) *found = 0;
    return 0;
}
