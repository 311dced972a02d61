/* old_glibc.c - lets wheels run on systems whose C library is older than the one that they were linked with.
 *
 * A library asks for the newest version of each function of glibc that the linker saw, and does not load where there is
 * an older one only; 2.34, which moved the threads into libc, has a new version of all of theirs. Here functions whose
 * newest version is later than 2.28 are defined once more, hidden in the wheel's library, as a jump to the first
 * version that this architecture has. Each has a section of its own, so that what is not used is left out. Linked into
 * wheels alone; `make wheel` lets auditwheel say how old a system may be. */
#include <sys/stat.h>

#ifdef __x86_64__
#define JUMP(name) "jmp *old_" name "@GOTPCREL(%rip)\n"
#define FIRST "GLIBC_2.2.5"
#define LATER(version) version
#define STAT_VERSION 1
#else /* aarch64 */
#define JUMP(name) "adrp x16, :got:old_" name "\nldr x16, [x16, :got_lo12:old_" name "]\nbr x16\n"
#define FIRST "GLIBC_2.17"
#define LATER(version) FIRST
#define STAT_VERSION 0
#endif

#define OLD(name, version)                                                                                             \
    __asm__(".symver old_" #name ", " #name "@" version "\n"                                                           \
            ".section .text.old_" #name ", \"ax\", @progbits\n"                                                        \
            ".globl " #name "\n.hidden " #name "\n.type " #name ", @function\n" #name                                  \
            ":\n" JUMP(#name) ".size " #name ", . - " #name "\n.text\n")

OLD(exp, FIRST);
OLD(log, FIRST);
OLD(pow, FIRST);

OLD(dlclose, FIRST);
OLD(dlerror, FIRST);
OLD(dlmopen, LATER("GLIBC_2.3.4"));
OLD(dlopen, FIRST);
OLD(dlsym, FIRST);
OLD(dlvsym, FIRST);

OLD(pthread_attr_setstacksize, FIRST);
OLD(pthread_condattr_setpshared, FIRST);
OLD(pthread_create, FIRST);
OLD(pthread_detach, FIRST);
OLD(pthread_getaffinity_np, LATER("GLIBC_2.3.4"));
OLD(pthread_getspecific, FIRST);
OLD(pthread_join, FIRST);
OLD(pthread_key_create, FIRST);
OLD(pthread_key_delete, FIRST);
OLD(pthread_kill, FIRST);
OLD(pthread_mutex_trylock, FIRST);
OLD(pthread_mutexattr_destroy, FIRST);
OLD(pthread_mutexattr_init, FIRST);
OLD(pthread_mutexattr_setpshared, FIRST);
OLD(pthread_mutexattr_settype, FIRST);
OLD(pthread_once, FIRST);
OLD(pthread_rwlock_destroy, FIRST);
OLD(pthread_rwlock_init, FIRST);
OLD(pthread_rwlock_rdlock, FIRST);
OLD(pthread_rwlock_timedrdlock, FIRST);
OLD(pthread_rwlock_timedwrlock, FIRST);
OLD(pthread_rwlock_tryrdlock, FIRST);
OLD(pthread_rwlock_trywrlock, FIRST);
OLD(pthread_rwlock_unlock, FIRST);
OLD(pthread_rwlock_wrlock, FIRST);
OLD(pthread_rwlockattr_destroy, FIRST);
OLD(pthread_rwlockattr_init, FIRST);
OLD(pthread_rwlockattr_setpshared, FIRST);
OLD(pthread_setaffinity_np, LATER("GLIBC_2.3.4"));
OLD(pthread_setspecific, FIRST);
OLD(pthread_spin_destroy, FIRST);
OLD(pthread_spin_init, FIRST);
OLD(pthread_spin_lock, FIRST);
OLD(pthread_spin_trylock, FIRST);
OLD(pthread_spin_unlock, FIRST);

OLD(sem_destroy, FIRST);
OLD(sem_init, FIRST);
OLD(sem_post, FIRST);
OLD(sem_timedwait, FIRST);
OLD(sem_trywait, FIRST);
OLD(sem_wait, FIRST);
OLD(shm_open, FIRST);
OLD(shm_unlink, FIRST);

/* The stats were inline then, around functions that glibc still has. */
int __fxstat(int version, int file, struct stat *status);
int __fxstatat(int version, int folder, const char *path, struct stat *status, int flags);
int __lxstat(int version, const char *path, struct stat *status);
int __xstat(int version, const char *path, struct stat *status);
__attribute__((visibility("hidden"))) int fstat(int file, struct stat *status) {
    return __fxstat(STAT_VERSION, file, status);
}
__attribute__((visibility("hidden"))) int fstatat(int folder, const char *restrict path, struct stat *restrict status,
                                                  int flags) {
    return __fxstatat(STAT_VERSION, folder, path, status, flags);
}
__attribute__((visibility("hidden"))) int lstat(const char *restrict path, struct stat *restrict status) {
    return __lxstat(STAT_VERSION, path, status);
}
__attribute__((visibility("hidden"))) int stat(const char *restrict path, struct stat *restrict status) {
    return __xstat(STAT_VERSION, path, status);
}
