/* old_glibc.c - lets the wheel run on systems whose C library is older than the one that it was linked with.
 *
 * A program asks for the newest version of each function of glibc that the linker saw, and does not start where there
 * is an older one only. Here the functions whose newest version is later than 2.28 are defined once more, hidden in the
 * wheel's library, and call the first version that this architecture has. The two stats were inline then, around
 * functions that glibc still has. Linked into wheels alone; `make wheel` lets auditwheel say how old a system may be.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>

#ifdef __x86_64__
#define FIRST "GLIBC_2.2.5"
#define AFFINITY "GLIBC_2.3.4"
#define AT "GLIBC_2.4"
#define STAT_VERSION 1
#else /* aarch64 */
#define FIRST "GLIBC_2.17"
#define AFFINITY FIRST
#define AT FIRST
#define STAT_VERSION 0
#endif

#define HIDDEN __attribute__((visibility("hidden")))
/* `old_NAME` is glibc's NAME of this version. */
#define OLD(name, version) __asm__(".symver old_" #name "," #name "@" version)

OLD(dlopen, FIRST);
OLD(dlclose, FIRST);
OLD(dlsym, FIRST);
OLD(dlerror, FIRST);
void *old_dlopen(const char *file, int mode);
int old_dlclose(void *library);
void *old_dlsym(void *library, const char *name);
char *old_dlerror(void);
HIDDEN void *dlopen(const char *file, int mode) {
    return old_dlopen(file, mode);
}
HIDDEN int dlclose(void *library) {
    return old_dlclose(library);
}
HIDDEN void *dlsym(void *library, const char *name) {
    return old_dlsym(library, name);
}
HIDDEN char *dlerror(void) {
    return old_dlerror();
}

OLD(exp, FIRST);
OLD(log, FIRST);
OLD(pow, FIRST);
double old_exp(double x);
double old_log(double x);
double old_pow(double x, double y);
HIDDEN double exp(double x) {
    return old_exp(x);
}
HIDDEN double log(double x) {
    return old_log(x);
}
HIDDEN double pow(double x, double y) {
    return old_pow(x, y);
}

OLD(pthread_create, FIRST);
OLD(pthread_join, FIRST);
OLD(pthread_getaffinity_np, AFFINITY);
OLD(pthread_setaffinity_np, AFFINITY);
int old_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *arg);
int old_pthread_join(pthread_t thread, void **result);
int old_pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set);
int old_pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set);
HIDDEN int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *arg) {
    return old_pthread_create(thread, attributes, start, arg);
}
HIDDEN int pthread_join(pthread_t thread, void **result) {
    return old_pthread_join(thread, result);
}
HIDDEN int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set) {
    return old_pthread_getaffinity_np(thread, size, set);
}
HIDDEN int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set) {
    return old_pthread_setaffinity_np(thread, size, set);
}

OLD(__fxstat, FIRST);
OLD(__fxstatat, AT);
int old___fxstat(int version, int file, struct stat *status);
int old___fxstatat(int version, int folder, const char *path, struct stat *status, int flags);
HIDDEN int fstat(int file, struct stat *status) {
    return old___fxstat(STAT_VERSION, file, status);
}
HIDDEN int fstatat(int folder, const char *restrict path, struct stat *restrict status, int flags) {
    return old___fxstatat(STAT_VERSION, folder, path, status, flags);
}
