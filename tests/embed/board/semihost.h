/* semihost.h - Arm's semihosting, which RISC-V has taken over: a trap that the emulator answers. */
#ifndef TORT_TESTS_EMBED_SEMIHOST_H
#define TORT_TESTS_EMBED_SEMIHOST_H

/* Operations, numbered by Arm's "Semihosting for AArch32 and AArch64". */
enum {
    SYS_OPEN = 0x01,
    SYS_CLOSE = 0x02,
    SYS_WRITE0 = 0x04,
    SYS_WRITE = 0x05,
    SYS_READ = 0x06,
    SYS_EXIT_EXTENDED = 0x20
};

/* Runs one operation; its argument is a string or a block of words. */
long semihost(long operation, const void *argument);

/* Ends the emulator with this exit status. */
void semihost_exit(int status);

#endif
