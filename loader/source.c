/* source.c - reads a model's bytes from its file, a buffer, its external files or the application's callbacks.
 *
 * The model's file stays open. An external file is opened for each read, because a model may have one per tensor and
 * file descriptors are limited; each time it must still be the file that was checked. */
#include "loader/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loader/external_data.h"
#include "runtime/core/base/names.h"
#include "runtime/core/base/locale.h"

#define LARGEST_READ ((size_t)1 << 30) /* always within the limit of one call of pread */

typedef struct external_file {
    char *location;
    size_t location_size; /* size of the allocation */
    struct stat facts;    /* at the time of the check */
    void *mapping;        /* of the whole file, NULL if not mapped */
} external_file;

struct tort_source {
    const tort_env *env;
    tort_load_options options;
    int fd, folder;     /* model in a file; -1 otherwise */
    const char *buffer; /* model in memory; NULL otherwise */
    tort_reader reader; /* model read by the application; its function is NULL otherwise */
    uint64_t size;
    tort_names numbers;       /* location -> number */
    external_file *externals; /* number 1 is externals[0] */
    int32_t external_count, external_capacity;
};

/* ---- opening ---------------------------------------------------------------------------------------------------- */

/* Opens the folder that contains `path`; -1 on failure. */
static int open_folder(const tort_env *env, const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    size_t length = (size_t)(slash - path) + 1;
    char *folder = tort_alloc(env, length + 1);
    if (!folder) {
        errno = ENOMEM;
        return -1;
    }
    memcpy(folder, path, length);
    folder[length] = 0;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int cause = errno;
    tort_free(env, folder, length + 1);
    errno = cause;
    return fd;
}

static tort_status open_model(tort_source *source, const char *path, tort_error *error) {
    struct stat facts;
    source->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (source->fd < 0 || fstat(source->fd, &facts) != 0)
        return tort_fail(error, TORT_E_IO, "cannot open \"%s\": %s", path, tort_strerror(errno));
    if (S_ISDIR(facts.st_mode)) return tort_fail(error, TORT_E_IO, "\"%s\" is a folder, not a file", path);
    if (!S_ISREG(facts.st_mode)) return tort_fail(error, TORT_E_IO, "\"%s\" is not a regular file", path);
    source->size = (uint64_t)facts.st_size;
    source->folder = open_folder(source->env, path);
    if (source->folder < 0 && errno == ENOMEM) return tort_out_of_memory(error, strlen(path));
    return TORT_OK; /* a missing folder only makes external data fail */
}

tort_status tort_source_open(const tort_env *env, const tort_origin *from, const tort_load_options *options,
                             tort_source **out, tort_error *error) {
    tort_source *source = tort_alloc_zero(env, 1, sizeof *source);
    if (!source) return tort_out_of_memory(error, sizeof *source);
    source->env = env;
    if (options) source->options = *options;
    source->fd = source->folder = -1;
    tort_names_init(&source->numbers, env);
    tort_status status = TORT_OK;
    if (from->path) {
        status = open_model(source, from->path, error);
    } else if (from->reader) {
        source->reader = *from->reader;
        source->size = from->reader->size;
    } else {
        source->buffer = from->bytes ? from->bytes : "";
        source->size = from->bytes ? from->size : 0;
    }
    if (status)
        tort_source_close(source);
    else
        *out = source;
    return status;
}

/* True if the model is a file, and external files lie beside it; otherwise the application reads them. */
static bool is_file(const tort_source *source) {
    return source->fd >= 0;
}

void tort_source_close(void *opened) {
    tort_source *source = opened;
    if (!source) return;
    const tort_env *env = source->env;
    for (int32_t i = 0; i < source->external_count; i++) {
        external_file *file = &source->externals[i];
        if (file->mapping) munmap(file->mapping, (size_t)file->facts.st_size);
        tort_free(env, file->location, file->location_size);
    }
    tort_free(env, source->externals, (size_t)source->external_capacity * sizeof *source->externals);
    tort_names_free(&source->numbers);
    if (source->fd >= 0) close(source->fd);
    if (source->folder >= 0) close(source->folder);
    tort_free(env, source, sizeof *source);
}

const tort_load_options *tort_source_options(const tort_source *source) {
    return &source->options;
}

uint64_t tort_source_size(const tort_source *source) {
    return source->size;
}

bool tort_source_is_ours(const tort_source *source) {
    return is_file(source) || (!source->reader.read && !source->options.external);
}

const void *tort_source_buffer(const tort_source *source) {
    return source->buffer;
}

/* ---- external files --------------------------------------------------------------------------------------------- */

static tort_status open_external(const tort_source *source, const char *location, int *fd, struct stat *facts,
                                 tort_error *error) {
    if (source->folder < 0)
        return tort_fail(error, TORT_E_IO, "external data \"%s\": the model's folder cannot be opened", location);
    return tort_external_open(source->folder, location, source->options.allow_links, fd, facts, error);
}

/* Checks an external file when it is named for the first time. */
static tort_status examine(tort_source *source, external_file *file, tort_error *error) {
    if (!is_file(source)) return tort_external_check(file->location, error);
    int fd;
    tort_status status = open_external(source, file->location, &fd, &file->facts, error);
    if (status) return status;
    if (source->options.map_external && file->facts.st_size > 0) {
        void *mapping = mmap(NULL, (size_t)file->facts.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (mapping != MAP_FAILED) file->mapping = mapping; /* if mmap fails, the file is read */
    }
    close(fd);
    return TORT_OK;
}

static tort_status add_external(tort_source *source, const char *location, int32_t *number, tort_error *error) {
    if (!tort_grow(source->env, (void **)&source->externals, &source->external_capacity, source->external_count + 1,
                   sizeof *source->externals))
        return tort_out_of_memory(error, sizeof *source->externals);
    external_file *file = &source->externals[source->external_count];
    *file = (external_file){.location_size = strlen(location) + 1};
    file->location = tort_alloc(source->env, file->location_size);
    if (!file->location) return tort_out_of_memory(error, file->location_size);
    memcpy(file->location, location, file->location_size);
    source->external_count++;
    tort_status status = examine(source, file, error);
    if (status) return status;
    *number = source->external_count;
    if (!tort_names_add(&source->numbers, file->location, *number))
        return tort_out_of_memory(error, sizeof *source->externals);
    return TORT_OK;
}

tort_status tort_source_external(tort_source *source, const char *location, uint64_t offset, uint64_t length,
                                 int32_t *file, tort_error *error) {
    if (!is_file(source) && !source->options.external)
        return tort_fail(error, TORT_E_MODEL,
                         "external data \"%s\" of a model that is not a file needs tort_load_options.external",
                         location);
    if (!tort_names_find(&source->numbers, location, file)) {
        tort_status status = add_external(source, location, file, error);
        if (status) return status;
    }
    if (!is_file(source)) return TORT_OK; /* only the application knows its size */
    uint64_t size = (uint64_t)source->externals[*file - 1].facts.st_size;
    if (offset > size || length > size - offset)
        return tort_fail(error, TORT_E_MODEL,
                         "%llu bytes at offset %llu of external data \"%s\" are not in the file, which has %llu bytes",
                         (unsigned long long)length, (unsigned long long)offset, location, (unsigned long long)size);
    return TORT_OK;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static tort_status read_fully(int fd, const char *name, uint64_t offset, uint64_t length, void *dst,
                              tort_error *error) {
    char *at = dst;
    while (length > 0) {
        size_t part = length < LARGEST_READ ? (size_t)length : LARGEST_READ;
        ssize_t got = pread(fd, at, part, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return tort_fail(error, TORT_E_IO, "cannot read %s: %s", name, tort_strerror(errno));
        if (got == 0)
            return tort_fail(error, TORT_E_IO, "%s became shorter since it was opened: %llu bytes are missing", name,
                             (unsigned long long)length);
        at += got;
        offset += (uint64_t)got;
        length -= (uint64_t)got;
    }
    return TORT_OK;
}

static tort_status read_model(const tort_source *source, uint64_t offset, uint64_t length, void *dst,
                              tort_error *error) {
    if (offset > source->size || length > source->size - offset)
        return tort_fail(error, TORT_E_MODEL, "%llu bytes at offset %llu are outside the model",
                         (unsigned long long)length, (unsigned long long)offset);
    if (is_file(source)) return read_fully(source->fd, "the model", offset, length, dst, error);
    if (source->buffer) {
        if (length) memcpy(dst, source->buffer + offset, (size_t)length);
        return TORT_OK;
    }
    if (!length || source->reader.read(source->reader.ud, offset, length, dst) == 0) return TORT_OK;
    return tort_fail(error, TORT_E_IO, "the application's reader gave no %llu bytes at offset %llu of the model",
                     (unsigned long long)length, (unsigned long long)offset);
}

static bool same_time(struct timespec a, struct timespec b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* The same file with the same contents, as far as its times tell: ctime moves with every write, whatever sets mtime. */
static bool is_unchanged(const struct stat *now, const struct stat *then) {
    return now->st_dev == then->st_dev && now->st_ino == then->st_ino && now->st_size == then->st_size &&
           same_time(now->st_mtim, then->st_mtim) && same_time(now->st_ctim, then->st_ctim);
}

static tort_status read_external(const tort_source *source, const external_file *file, uint64_t offset, uint64_t length,
                                 void *dst, tort_error *error) {
    if (!is_file(source)) {
        if (source->options.external(source->options.external_ud, file->location, offset, length, dst) == 0)
            return TORT_OK;
        return tort_fail(error, TORT_E_IO, "the application gave no %llu bytes at offset %llu of external data \"%s\"",
                         (unsigned long long)length, (unsigned long long)offset, file->location);
    }
    int fd;
    struct stat facts;
    tort_status status = open_external(source, file->location, &fd, &facts, error);
    if (status) return status;
    if (!is_unchanged(&facts, &file->facts))
        status = tort_fail(error, TORT_E_IO,
                           "external data \"%s\" was replaced or written since the model was loaded: load it again",
                           file->location);
    else
        status = read_fully(fd, file->location, offset, length, dst, error);
    close(fd);
    return status;
}

tort_status tort_source_read(void *opened, int32_t file, uint64_t offset, uint64_t length, void *dst,
                             tort_error *error) {
    const tort_source *source = opened;
    if (file == 0) return read_model(source, offset, length, dst, error);
    return read_external(source, &source->externals[file - 1], offset, length, dst, error);
}

static bool is_identity(const struct stat *facts, uint64_t device, uint64_t inode) {
    return facts->st_dev == device && facts->st_ino == inode;
}

bool tort_source_reads(const void *opened, uint64_t device, uint64_t inode) {
    const tort_source *source = opened;
    struct stat facts;
    if (!is_file(source)) return false;
    for (int32_t i = 0; i < source->external_count; i++)
        if (is_identity(&source->externals[i].facts, device, inode)) return true;
    return fstat(source->fd, &facts) == 0 && is_identity(&facts, device, inode);
}

const void *tort_source_view(void *opened, int32_t file, uint64_t offset, uint64_t length) {
    const tort_source *source = opened;
    const char *base = file == 0 ? source->buffer : source->externals[file - 1].mapping;
    if (!base) return NULL;
    const uint64_t readable = file > 0 ? (uint64_t)source->externals[file - 1].facts.st_size : source->size;
    if (offset > readable || length > readable - offset) return NULL;
    return (uintptr_t)(base + offset) % TORT_HOST_ALIGN == 0 ? base + offset : NULL;
}
