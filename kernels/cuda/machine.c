/* machine.c - see machine.h. A container may have any of a machine's GPUs, so every /dev/nvidiaN counts; Jetson boards
 * have other names (nvhost-gpu, and igpu0 on newer kernels), and WSL has dxg. */
#if defined(TORT_CUDA) || defined(TORT_CUDASIM)
#include "kernels/cuda/machine.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* True for "nvidia5", not for "nvidiactl" or "nvidia-uvm". */
static bool is_numbered(const char *name) {
    static const char prefix[] = "nvidia";
    const char *number = name + sizeof prefix - 1;
    return !strncmp(name, prefix, sizeof prefix - 1) && *number && !number[strspn(number, "0123456789")];
}

static bool take(const char *root, const char *name, cuda_gpu_file *file) {
    char path[512];
    const int length = snprintf(path, sizeof path, "%s/dev/%s", root, name);
    if (length < 0 || (size_t)length >= sizeof path || access(path, F_OK)) return false;
    snprintf(file->path, sizeof file->path, "/dev/%.50s", name);
    file->forbidden = access(path, R_OK | W_OK) != 0;
    return true;
}

cuda_gpu_file cuda_gpu_in(const char *root) {
    static const char *const others[] = {"nvhost-gpu", "nvgpu/igpu0", "dxg"};
    char folder[512];
    cuda_gpu_file file = {.path = ""};
    snprintf(folder, sizeof folder, "%s/dev", root);
    DIR *devices = opendir(folder);
    for (const struct dirent *entry; devices && (entry = readdir(devices));)
        if (is_numbered(entry->d_name) && take(root, entry->d_name, &file) && !file.forbidden) break;
    if (devices) closedir(devices);
    for (size_t i = 0; i < sizeof others / sizeof *others && !*file.path; i++) (void)take(root, others[i], &file);
    return file;
}

void cuda_driver_in(const char *root, char *number, size_t size) {
    char path[512], line[32] = "";
    snprintf(path, sizeof path, "%s/sys/module/nvidia/version", root);
    FILE *file = fopen(path, "r");
    if (file && !fgets(line, sizeof line, file)) *line = 0;
    if (file) fclose(file);
    line[strspn(line, "0123456789.")] = 0;
    snprintf(number, size, "%s", line);
}

uint64_t cuda_memory_in(const char *root) {
    char path[512], line[128];
    uint64_t bytes = 0;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    FILE *file = fopen(path, "r");
    while (file && !bytes && fgets(line, sizeof line, file))
        if (!strncmp(line, "MemAvailable:", 13)) bytes = strtoull(line + 13, NULL, 10) * 1024; /* it says kB */
    if (file) fclose(file);
    return bytes;
}

/* True if the library is in a folder; path then tells where. */
static bool is_at(const char *folder, const char *below, const char *file_name, char *path, size_t size) {
    const int length = snprintf(path, size, "%s/%s%s", folder, below, file_name);
    return length > 0 && (size_t)length < size && access(path, R_OK) == 0;
}

static bool find_at(const char *folder, const char *file_name, char *path, size_t size) {
    static const char *const folders[] = {"", "nvidia/cublas/lib/", "nvidia/cudnn/lib/", "nvidia/cu13/lib/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (is_at(folder, folders[i], file_name, path, size)) return true;
    return false;
}

bool cuda_find_library(const char *folder, const char *file_name, char *path, size_t size) {
    static const char *const packages[] = {"site-packages", "dist-packages"};
    char inner[512], python[1024];
    bool found = find_at(folder, file_name, path, size);
    snprintf(inner, sizeof inner, "%s/lib", folder);
    DIR *pythons = found ? NULL : opendir(inner);
    for (const struct dirent *entry; pythons && !found && (entry = readdir(pythons));)
        for (size_t i = 0; i < 2 && !found && !strncmp(entry->d_name, "python3", 7); i++) {
            snprintf(python, sizeof python, "%s/%s/%s", inner, entry->d_name, packages[i]);
            found = find_at(python, file_name, path, size);
        }
    if (pythons) closedir(pythons);
    if (!found) *path = 0;
    return found;
}

#ifndef TORT_CUDASIM
bool cuda_machine_library(const char *file_name, char *path, size_t size) {
    return cuda_find_library("/usr/local", file_name, path, size) || cuda_find_library("/usr", file_name, path, size);
}

cuda_gpu_file cuda_machine_gpu(void) {
    return cuda_gpu_in("");
}

uint64_t cuda_machine_memory(void) {
    return cuda_memory_in("");
}

void cuda_machine_driver(char *number, size_t size) {
    cuda_driver_in("", number, size);
}
#endif
#else
typedef int cuda_machines_are_in_builds_with_cuda; /* ISO C requires a declaration */
#endif
