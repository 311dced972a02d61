/* semihost.c - host.h for boards without an operating system. */
#include "tests/embed/board/semihost.h"

#include "tests/embed/board/host.h"

#if defined(__arm__)
long semihost(long operation, const void *argument) {
    register long r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory", "cc");
    return r0;
}
#elif defined(__riscv)
/* The two shifts around ebreak, which do nothing, mark it as a call. All three must be uncompressed and in one page. */
long semihost(long operation, const void *argument) {
    register long a0 __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = argument;
    __asm__ volatile(".balign 16\n"
                     ".option push\n"
                     ".option norvc\n"
                     "slli x0, x0, 0x1f\n"
                     "ebreak\n"
                     "srai x0, x0, 7\n"
                     ".option pop"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
    return a0;
}
#endif

void semihost_exit(int status) {
    enum { APPLICATION_EXIT = 0x20026 };
    const long block[2] = {APPLICATION_EXIT, status};
    semihost(SYS_EXIT_EXTENDED, block);
    for (;;) {}
}

/* ---- host.h ------------------------------------------------------------------------------------------------------ */

typedef struct transfer {
    long file;
    const void *bytes;
    size_t count;
} transfer;

/* Modes are positions in the list "r", "rb", "r+", "r+b", "w", "wb", ... */
enum { MODE_READ = 1, MODE_WRITE = 5 };

static long open_file(const char *path, long mode) {
    struct {
        const char *path;
        long mode;
        size_t length;
    } block = {path, mode, 0};
    while (path[block.length]) block.length++;
    return semihost(SYS_OPEN, &block);
}

/* Reads and writes return the number of bytes that were not transferred. */
static int move_bytes(long operation, long file, const void *bytes, size_t count) {
    const transfer block = {file, bytes, count};
    if (file < 0) return -1;
    const long left = semihost(operation, &block);
    semihost(SYS_CLOSE, &file);
    return left == 0 ? 0 : -1;
}

int host_read(const char *path, void *to, size_t bytes) {
    return move_bytes(SYS_READ, open_file(path, MODE_READ), to, bytes);
}

int host_write(const char *path, const void *from, size_t bytes) {
    return move_bytes(SYS_WRITE, open_file(path, MODE_WRITE), from, bytes);
}

void host_print(const char *text) {
    semihost(SYS_WRITE0, text);
}
