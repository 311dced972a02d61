/* gpu_here.c - prints the compute capabilities of this machine's GPUs, each once ("86 90"), as CUDA_ARCHS takes them,
 * but for those that are too old; nothing where NVIDIA's driver cannot be opened. It asks the driver itself, for
 * nvidia-smi is not on every machine that has one. */
#include <dlfcn.h>
#include <stdio.h>

enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 }; /* CUdevice_attribute of cuda.h */
enum { OLDEST = 75 };                                  /* that CUDA 13 compiles for */

int main(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) return 0;
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    int (*count_devices)(int *) = (int (*)(int *))dlsym(driver, "cuDeviceGetCount");
    int (*attribute)(int *, int, int) = (int (*)(int *, int, int))dlsym(driver, "cuDeviceGetAttribute");
    int count = 0, seen[64] = {0};
    if (!init || !count_devices || !attribute || init(0) || count_devices(&count)) return 0;
    for (int i = 0; i < count && i < 64; i++) {
        int major = 0, minor = 0, known = 0;
        if (attribute(&major, CAPABILITY_MAJOR, i) || attribute(&minor, CAPABILITY_MINOR, i)) continue;
        seen[i] = 10 * major + minor;
        for (int k = 0; k < i; k++) known |= seen[k] == seen[i];
        if (!known && seen[i] >= OLDEST) printf("%s%d", i ? " " : "", seen[i]);
    }
    return 0;
}
