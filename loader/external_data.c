/* external_data.c - opens an external file, folder by folder from the model's folder on. external_data.h says against
 * what this guards. */
#include "loader/external_data.h"
#include "runtime/core/base/locale.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static tort_status refuse_link(tort_error *error, const char *location, const char *what) {
    return tort_fail(error, TORT_E_MODEL,
                     "external data \"%s\" %s: it may be any file of this machine; replace it by a copy, or allow "
                     "links (--allow-links, tort_load_options.allow_links) if you trust the model",
                     location, what);
}

tort_status tort_external_check(const char *location, tort_error *error) {
    if (!*location) return tort_fail(error, TORT_E_MODEL, "external data has an empty location");
    if (*location == '/')
        return tort_fail(error, TORT_E_MODEL,
                         "external data \"%s\" is an absolute path; it must be in the model's folder", location);
    for (const char *part = location; *part;) {
        size_t length = strcspn(part, "/");
        if (length == 2 && part[0] == '.' && part[1] == '.')
            return tort_fail(error, TORT_E_MODEL, "external data \"%s\" leaves the model's folder (\"..\")", location);
        if (length > NAME_MAX)
            return tort_fail(error, TORT_E_MODEL, "external data has a location whose part is %zu characters long",
                             length);
        part += length;
        if (*part == '/' && part[1] == 0)
            return tort_fail(error, TORT_E_MODEL, "external data \"%s\" names a folder", location);
        if (*part) part++;
    }
    return TORT_OK;
}

/* Error for a failed open; a link that was not followed has a message of its own. */
static tort_status open_failure(int folder, const char *part, const char *location, int cause, tort_error *error) {
    struct stat facts;
    if (fstatat(folder, part, &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(facts.st_mode))
        return refuse_link(error, location, "is reached by a symbolic link");
    if (cause == ENOENT)
        return tort_fail(error, TORT_E_IO, "external data \"%s\" is missing: it must lie beside the model", location);
    return tort_fail(error, TORT_E_IO, "cannot open external data \"%s\": %s", location, tort_strerror(cause));
}

/* Opens `part` of a location in `folder`: the file if it is the last part, otherwise a folder. */
static int open_part(int folder, const char *part, bool last, bool allow_links) {
    int flags = O_RDONLY | O_CLOEXEC | (allow_links ? 0 : O_NOFOLLOW);
    /* O_NONBLOCK: opening a pipe must not block until there is a writer. */
    return openat(folder, part, flags | (last ? O_NONBLOCK : O_DIRECTORY));
}

static tort_status check_file(int fd, const char *location, bool allow_links, struct stat *facts, tort_error *error) {
    if (fstat(fd, facts) != 0)
        return tort_fail(error, TORT_E_IO, "cannot examine external data \"%s\": %s", location, tort_strerror(errno));
    if (!S_ISREG(facts->st_mode))
        return tort_fail(error, TORT_E_MODEL, "external data \"%s\" is not a regular file", location);
    if (facts->st_nlink > 1 && !allow_links) return refuse_link(error, location, "has several links");
    return TORT_OK;
}

tort_status tort_external_open(int folder, const char *location, bool allow_links, int *fd, struct stat *facts,
                               tort_error *error) {
    tort_status status = tort_external_check(location, error);
    if (status) return status;
    int at = folder;
    const char *rest = location;
    for (bool last = false; !last;) {
        char part[NAME_MAX + 1];
        size_t length = strcspn(rest, "/");
        memcpy(part, rest, length);
        part[length] = 0;
        rest += length;
        last = *rest == 0;
        rest += !last;
        if (length == 0) continue; /* a doubled slash */
        int next = open_part(at, part, last, allow_links);
        if (next < 0) status = open_failure(at, part, location, errno, error);
        if (at != folder) close(at);
        if (status) return status;
        at = next;
    }
    status = check_file(at, location, allow_links, facts, error);
    if (status)
        close(at);
    else
        *fd = at;
    return status;
}
