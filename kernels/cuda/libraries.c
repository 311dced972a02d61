/* libraries.c - finds cuBLAS and cuDNN by name and fills the tables of their functions.
 *
 * They are large and often missing, so nothing links them; a node that would use one asks, and the answer with the
 * file names that were tried is its verdict. Versions 13 and 12 of cuBLAS, 9 of cuDNN; 8 is refused by name. */
#if defined(TORT_CUDA) || defined(TORT_CUDASIM)
#include "kernels/cuda/libraries.h"

#include <stdio.h>
#include <string.h>

typedef struct library_symbol {
    const char *name;
    size_t offset; /* of the pointer in the table */
} library_symbol;

#define CUBLAS_ROW(type, name, parameters) {#name, offsetof(cublas_functions, name)},
static const library_symbol cublas_symbols[] = {CUBLAS_FUNCTIONS(CUBLAS_ROW){NULL, 0}};

#define CUDNN_ROW(type, name, parameters) {#name, offsetof(cudnn_functions, name)},
static const library_symbol cudnn_symbols[] = {CUDNN_FUNCTIONS(CUDNN_ROW){NULL, 0}};

/* The name of the first symbol that the library lacks; NULL: all were found. */
static const char *fill_table(void *library, const library_symbol *symbols, void *table) {
    for (; symbols->name; symbols++) {
        void *function = cuda_library_symbol(library, symbols->name);
        if (!function) return symbols->name;
        memcpy((char *)table + symbols->offset, &function, sizeof function);
    }
    return NULL;
}

/* Opens the first of the names; on failure message ends up with all of them and the loader's last words. */
static void *open_first(const char *const *names, char *message, size_t size) {
    char tried[96] = "", reason[96] = "";
    for (; *names; names++) {
        void *library = cuda_library_open(*names);
        if (library) return library;
        snprintf(reason, sizeof reason, "%s", cuda_library_error());
        size_t used = strlen(tried);
        snprintf(tried + used, sizeof tried - used, "%s%s", used ? ", " : "", *names);
    }
    snprintf(message, size, "tried %s: %s", tried, reason);
    return NULL;
}

static void tell_cublas_version(const cuda_libraries *libraries, char *message, size_t size) {
    int major, minor;
    cublasStatus_t code = libraries->cublas.cublasGetProperty(MAJOR_VERSION, &major);
    if (code == CUBLAS_STATUS_SUCCESS) code = libraries->cublas.cublasGetProperty(MINOR_VERSION, &minor);
    if (code == CUBLAS_STATUS_SUCCESS)
        snprintf(message, size, "%d.%d", major, minor);
    else
        snprintf(message, size, "of unknown version");
}

static void tell_cudnn_version(const cuda_libraries *libraries, char *message, size_t size) {
    const size_t version = libraries->cudnn.cudnnGetVersion(); /* 91900 is 9.19 */
    snprintf(message, size, "%zu.%zu", version / 10000, version % 10000 / 100);
}

bool cuda_libraries_open_cublas(cuda_libraries *libraries, char *message, size_t message_size, char *cure,
                                size_t cure_size) {
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", NULL};
    if (libraries->cublas_handle) {
        tell_cublas_version(libraries, message, message_size);
        return true;
    }
    void *library = open_first(names, message, message_size);
    snprintf(cure, cure_size, "install cuBLAS 13 or 12 where the loader finds it; until then the own kernel serves");
    if (!library) return false;
    const char *missing = fill_table(library, cublas_symbols, &libraries->cublas);
    if (missing) {
        snprintf(message, message_size, "cuBLAS was found but has no %s", missing);
        cuda_library_close(library);
        return false;
    }
    libraries->cublas_handle = library;
    tell_cublas_version(libraries, message, message_size);
    *cure = '\0';
    return true;
}

/* cuDNN counts 8907 for 8.9.7 and, from 9 on, 91900 for 9.19.0. */
static void tell_old_cudnn(void *library, char *message, size_t size) {
    size_t (*get_version)(void);
    void *symbol = cuda_library_symbol(library, "cudnnGetVersion");
    snprintf(message, size, "libcudnn.so.8 was found, libcudnn.so.9 is needed");
    if (!symbol) return;
    memcpy(&get_version, &symbol, sizeof get_version);
    const size_t version = get_version();
    snprintf(message, size, "cuDNN %zu.%zu.%zu was found (libcudnn.so.8), libcudnn.so.9 is needed", version / 1000,
             version / 100 % 10, version % 100);
}

bool cuda_libraries_open_cudnn(cuda_libraries *libraries, char *message, size_t message_size, char *cure,
                               size_t cure_size) {
    static const char *const names[] = {"libcudnn.so.9", NULL}, *const old_names[] = {"libcudnn.so.8", NULL};
    if (libraries->cudnn_handle) {
        tell_cudnn_version(libraries, message, message_size);
        return true;
    }
    void *library = open_first(names, message, message_size);
    snprintf(cure, cure_size, "install cuDNN 9 where the loader finds it; until then the own kernel serves");
    if (!library) {
        char unused[8];
        void *old = open_first(old_names, unused, sizeof unused);
        if (old) {
            tell_old_cudnn(old, message, message_size);
            cuda_library_close(old);
        }
        return false;
    }
    const char *missing = fill_table(library, cudnn_symbols, &libraries->cudnn);
    if (missing) {
        snprintf(message, message_size, "cuDNN was found but has no %s", missing);
        cuda_library_close(library);
        return false;
    }
    libraries->cudnn_handle = library;
    tell_cudnn_version(libraries, message, message_size);
    *cure = '\0';
    return true;
}

void cuda_libraries_close(cuda_libraries *libraries) {
    if (libraries->cublas_handle) cuda_library_close(libraries->cublas_handle);
    if (libraries->cudnn_handle) cuda_library_close(libraries->cudnn_handle);
    *libraries = (cuda_libraries){0};
}
#else
typedef int cuda_libraries_are_in_builds_with_cuda; /* ISO C wants a declaration */
#endif
