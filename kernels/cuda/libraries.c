/* libraries.c - finds cuBLAS and cuDNN by name and fills the tables of their functions.
 *
 * They are large and often missing, so nothing links them; a node that would use one asks, and the answer is its
 * verdict: which files are not there, or are broken, or too old. Likewise of the driver, where it does not answer.
 * Read next: library_file.h, library_api.h. */
#if defined(TORT_CUDA) || defined(TORT_CUDASIM)
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/machine.h"
#include "runtime/core/base/locale.h"

#include <errno.h>
#include <stdarg.h>
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

/* Fills the table; returns the first symbol that the library lacks, or NULL. */
static const char *fill_table(void *library, const library_symbol *symbols, void *table) {
    for (; symbols->name; symbols++) {
        void *function = cuda_library_symbol(library, symbols->name);
        if (!function) return symbols->name;
        memcpy((char *)table + symbols->offset, &function, sizeof function);
    }
    return NULL;
}

/* ---- files: not there, broken, too old --------------------------------------------------------------------------- */

/* True if the loader found no such file: it then says the name alone, and otherwise the path. */
static bool is_absent(const char *file_name, const char *words) {
    const size_t length = strlen(file_name);
    return !strncmp(words, file_name, length) && words[length] == ':' && strstr(words, strerror(ENOENT));
}

typedef struct library_files {
    const char *title, *versions; /* "cuBLAS", "13 or 12" */
    const char *names[3];         /* in the order of trial; ends with NULL */
    const char *old;              /* name of a version that is too old */
} library_files;

static const library_files cublas_files = {
    "cuBLAS", "13 or 12", {"libcublas.so.13", "libcublas.so.12", NULL}, "libcublas.so.11"};
static const library_files cudnn_files = {"cuDNN", "9", {"libcudnn.so.9", NULL}, "libcudnn.so.8"};

/* Buffers for an answer. */
typedef struct answer {
    char *message, *cure;
    size_t message_size, cure_size;
} answer;

static void *refuse(const answer *a, const char *cure, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void *refuse(const answer *a, const char *cure, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    tort_vsnprintf(a->message, a->message_size, format, arguments);
    va_end(arguments);
    snprintf(a->cure, a->cure_size, "%s; until then the own kernel serves", cure);
    return NULL;
}

/* Refuses a library that is too old. cuDNN encodes 8.9.7 as 8907 and, from 9 on, 9.19.0 as 91900. */
static void *refuse_old(const answer *a, const library_files *files, void *library) {
    char cure[80];
    size_t (*get_version)(void);
    void *symbol = cuda_library_symbol(library, "cudnnGetVersion");
    snprintf(cure, sizeof cure, "install %s %s beside it", files->title, files->versions);
    if (!symbol) return refuse(a, cure, "%s was found, %s %s is needed", files->old, files->title, files->versions);
    memcpy(&get_version, &symbol, sizeof get_version);
    const size_t version = get_version();
    return refuse(a, cure, "%s %zu.%zu.%zu was found (%s), %s is needed", files->title, version / 1000,
                  version / 100 % 10, version % 100, files->old, files->names[0]);
}

/* Opens a file in the folder that the user gave; without one, where the loader looks (LD_LIBRARY_PATH, the program's
 * run path, the system), and then among the packages of the system's Python. path gets where it is, "" if the loader
 * knew; on NULL words are the loader's. */
static void *open_found(const char *folder, const char *name, char *path, size_t size, const char **words) {
    *path = 0;
    if (*folder && !cuda_find_library(folder, name, path, size)) snprintf(path, size, "%s/%s", folder, name);
    void *library = cuda_library_open(*folder ? path : name);
    *words = library ? "" : cuda_library_error();
    if (library || *folder || !is_absent(name, *words) || !cuda_machine_library(name, path, size)) return library;
    library = cuda_library_open(path);
    *words = library ? "" : cuda_library_error();
    return library;
}

/* Opens the first of the names that loads; on NULL the answer says what is wrong with the files found. */
static void *open_first(const library_files *files, const char *folder, char *path, size_t size, const answer *a) {
    char broken[160] = "", absent[64] = "", cure[144];
    for (const char *const *name = files->names; *name; name++) {
        const char *words;
        void *library = open_found(folder, *name, path, size, &words);
        if (library) return library;
        const size_t used = strlen(absent);
        if (is_absent(*path ? path : *name, words))
            snprintf(absent + used, sizeof absent - used, "%s%s", used ? " or " : "", *name);
        else if (!*broken)
            snprintf(broken, sizeof broken, "%s was found but does not load: %s", *name, words);
    }
    *path = 0;
    if (*broken) {
        snprintf(cure, sizeof cure, "install %s %s anew, whole and for this machine", files->title, files->versions);
        return refuse(a, cure, "%s", broken);
    }
    void *old = *folder ? NULL : cuda_library_open(files->old);
    if (old) {
        refuse_old(a, files, old);
        cuda_library_close(old);
        return NULL;
    }
    snprintf(
        cure, sizeof cure,
        "install %s %s where the loader finds it, or name its folder or Python environment (libraries=$VIRTUAL_ENV)",
        files->title, files->versions);
    if (*folder) return refuse(a, cure, "%s has no %s", folder, absent);
    return refuse(a, cure, "the loader finds no %s", absent);
}

/* Opens the library and fills its table. */
static void *open_library(const library_files *files, const library_symbol *symbols, void *table, const char *folder,
                          char path[CUDA_LIBRARY_PATH], const answer *a) {
    char cure[80];
    void *library = open_first(files, folder, path, CUDA_LIBRARY_PATH, a);
    const char *missing = library ? fill_table(library, symbols, table) : NULL;
    if (!missing) return library;
    cuda_library_close(library);
    snprintf(cure, sizeof cure, "install %s %s anew: this is not the whole of it", files->title, files->versions);
    return refuse(a, cure, "%s was found but has no %s", files->title, missing);
}

bool cuda_driver_is_absent(char *message, size_t message_size, char *cure, size_t cure_size) {
    static const char name[] = "libcuda.so.1";
    void *library = cuda_library_open(name);
    const char *words = library ? "" : cuda_library_error();
    if (!library && is_absent(name, words)) {
        snprintf(message, message_size, "no NVIDIA driver on this machine (%s was not found)", name);
        snprintf(cure, cure_size, "install the NVIDIA driver for this GPU, or take cuda out of the chain");
        return true;
    }
    const bool whole = library && cuda_library_symbol(library, "cuInit");
    if (!library)
        snprintf(message, message_size, "the NVIDIA driver's %s was found but does not load: %s", name, words);
    else if (!whole)
        snprintf(message, message_size, "%s was found but has no cuInit: it is not the NVIDIA driver's", name);
    else
        snprintf(message, message_size, "the NVIDIA driver's %s loads, but the driver tells no version", name);
    snprintf(cure, cure_size,
             whole ? "see whether nvidia-smi works"
                   : "install the NVIDIA driver anew, or take the folder of this file out of LD_LIBRARY_PATH");
    if (library) cuda_library_close(library);
    return false;
}

/* ---- versions ---------------------------------------------------------------------------------------------------- */

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

/* A library that is not where the loader looks is told with its folder. */
static void tell_path(const char *path, char *message, size_t size) {
    const size_t used = strlen(message);
    const char *end = strrchr(path, '/');
    if (end) snprintf(message + used, size - used, " in %.*s", (int)(end - path), path);
}

bool cuda_libraries_open_cublas(cuda_libraries *libraries, char *message, size_t message_size, char *cure,
                                size_t cure_size) {
    const answer a = {message, cure, message_size, cure_size};
    if (!libraries->cublas_handle)
        libraries->cublas_handle = open_library(&cublas_files, cublas_symbols, &libraries->cublas, libraries->folder,
                                                libraries->cublas_path, &a);
    if (!libraries->cublas_handle) return false;
    tell_cublas_version(libraries, message, message_size);
    tell_path(libraries->cublas_path, message, message_size);
    return true;
}

bool cuda_libraries_open_cudnn(cuda_libraries *libraries, char *message, size_t message_size, char *cure,
                               size_t cure_size) {
    const answer a = {message, cure, message_size, cure_size};
    if (!libraries->cudnn_handle)
        libraries->cudnn_handle =
            open_library(&cudnn_files, cudnn_symbols, &libraries->cudnn, libraries->folder, libraries->cudnn_path, &a);
    if (!libraries->cudnn_handle) return false;
    tell_cudnn_version(libraries, message, message_size);
    tell_path(libraries->cudnn_path, message, message_size);
    return true;
}

void cuda_libraries_close(cuda_libraries *libraries) {
    if (libraries->cublas_handle) cuda_library_close(libraries->cublas_handle);
    if (libraries->cudnn_handle) cuda_library_close(libraries->cudnn_handle);
    *libraries = (cuda_libraries){0};
}
#else
typedef int cuda_libraries_are_in_builds_with_cuda; /* ISO C requires a declaration */
#endif
