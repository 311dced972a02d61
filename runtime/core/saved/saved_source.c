/* saved_source.c - reads the bytes of a saved plan: a file, mapped or not, or the caller's buffer (saved_format.h).
 *
 * It knows nothing of the format. Callers have checked offsets against the size. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/core/saved/saved_format.h"
#include "runtime/core/base/locale.h"

#define LARGEST_READ ((size_t)1 << 30) /* a size that one call of pread accepts on every system */

static tort_status open_file(tort_saved_source *source, const char *path, bool map, tort_error *error) {
    struct stat facts;
    source->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (source->fd < 0 || fstat(source->fd, &facts) != 0)
        return tort_fail(error, TORT_E_IO, "cannot open \"%s\": %s", path, tort_strerror(errno));
    if (!S_ISREG(facts.st_mode)) return tort_fail(error, TORT_E_IO, "\"%s\" is not a regular file", path);
    source->size = (uint64_t)facts.st_size;
    if (!map || !source->size) return TORT_OK;
    void *mapping = mmap(NULL, (size_t)source->size, PROT_READ, MAP_PRIVATE, source->fd, 0);
    if (mapping == MAP_FAILED) return TORT_OK; /* then it is read instead */
    source->bytes = mapping;
    source->mapped = true;
    return TORT_OK;
}

tort_status tort_saved_open(const tort_env *env, const char *path, bool map, tort_saved_source **out,
                            tort_error *error) {
    tort_saved_source *source = tort_alloc_zero(env, 1, sizeof *source);
    if (!source) return tort_out_of_memory(error, sizeof *source);
    *source = (tort_saved_source){.env = *env, .fd = -1};
    tort_status status = open_file(source, path, map, error);
    if (status)
        tort_saved_source_close(source);
    else
        *out = source;
    return status;
}

tort_saved_source *tort_saved_open_buffer(const tort_env *env, const void *bytes, size_t size) {
    tort_saved_source *source = tort_alloc_zero(env, 1, sizeof *source);
    if (source) *source = (tort_saved_source){.env = *env, .fd = -1, .bytes = bytes, .size = bytes ? size : 0};
    return source;
}

tort_status tort_saved_source_read(void *ud, int32_t file, uint64_t offset, uint64_t length, void *dst,
                                   tort_error *error) {
    const tort_saved_source *source = ud;
    (void)file;
    if (source->bytes) {
        if (length) memcpy(dst, source->bytes + offset, (size_t)length);
        return TORT_OK;
    }
    for (uint64_t done = 0; done < length;) {
        const size_t part = length - done < LARGEST_READ ? (size_t)(length - done) : LARGEST_READ;
        const ssize_t got = pread(source->fd, (char *)dst + done, part, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0)
            return tort_fail(error, TORT_E_IO, "the saved plan cannot be read: %s",
                             got < 0 ? tort_strerror(errno) : "it has become shorter");
        done += (uint64_t)got;
    }
    return TORT_OK;
}

const void *tort_saved_source_view(void *ud, int32_t file, uint64_t offset, uint64_t length) {
    const tort_saved_source *source = ud;
    (void)file;
    (void)length;
    return source->bytes ? source->bytes + offset : NULL;
}

bool tort_saved_source_reads(const void *ud, uint64_t device, uint64_t inode) {
    const tort_saved_source *source = ud;
    struct stat facts;
    return fstat(source->fd, &facts) == 0 && facts.st_dev == device && facts.st_ino == inode;
}

void tort_saved_source_close(void *ud) {
    tort_saved_source *source = ud;
    if (!source) return;
    if (source->mapped) munmap((void *)(uintptr_t)source->bytes, (size_t)source->size);
    if (source->fd >= 0) close(source->fd);
    const tort_env env = source->env;
    tort_free(&env, source, sizeof *source);
}
