/* program.c - prints a program that runs a compiled model on files, and its Makefile: for this machine, or for a board
 * that qemu emulates. */
#include <string.h>

#include "runtime/firmware/compile/compilation.h"

/* ---- boards ------------------------------------------------------------------------------------------------------ */

/* Build and run of a program for a target: a compiler with its flags, and a command before the program's path. */
typedef struct board {
    const char *target, *cc, *flags, *run;
    const char *stack; /* its top: there is no operating system, and the program begins at its vector table; NULL */
    const char *own;   /* the program's own name as its first argument; "": the library gives one */
} board;

#define QEMU_ARM(machine)                                                                                              \
    "qemu-system-arm -M " machine " -nographic -monitor none -serial none -semihosting-config enable=on,target=native"
/* Addresses at which the vectors, the code with its constants, and the variables begin. */
#define AT(abi, vectors, text, data)                                                                                   \
    " -mthumb -mfloat-abi=" abi                                                                                        \
    " --specs=rdimon.specs -Wl,--no-warn-rwx-segments -Wl,--section-start=.vectors=" vectors                           \
    " -Wl,-Ttext-segment=" text " -Wl,-Tdata=" data

#define RISCV(abi)                                                                                                     \
    "riscv64-unknown-elf-gcc",                                                                                         \
        "--specs=picolibc.specs " abi " -mcmodel=medany --oslib=semihost --crt0=semihost "                             \
        "-Wl,--defsym=__flash=0x80000000,--defsym=__flash_size=16M,--defsym=__ram=0x81000000,--defsym=__ram_size=16M", \
        "qemu-system-riscv32 -M virt -bios none -nographic -monitor none -serial none "                                \
        "-semihosting-config enable=on,target=native",                                                                 \
        NULL, ""

static const board boards[] = {
    {"cortex-m0plus", "arm-none-eabi-gcc", "-mcpu=cortex-m0plus" AT("soft", "0", "0x1000", "0x20000000"),
     QEMU_ARM("mps2-an385"), "0x20400000", "$<"},
    {"cortex-m3", "arm-none-eabi-gcc", "-mcpu=cortex-m3" AT("soft", "0", "0x1000", "0x20000000"),
     QEMU_ARM("mps2-an385"), "0x20400000", "$<"},
    {"cortex-m23", "arm-none-eabi-gcc", "-mcpu=cortex-m23" AT("soft", "0x10000000", "0x10001000", "0x38000000"),
     QEMU_ARM("mps2-an505"), "0x38200000", "$<"},
    {"cortex-m4", "arm-none-eabi-gcc", "-mcpu=cortex-m4 -mfpu=fpv4-sp-d16" AT("hard", "0", "0x1000", "0x20000000"),
     QEMU_ARM("mps2-an386"), "0x20400000", "$<"},
    {"cortex-m7", "arm-none-eabi-gcc", "-mcpu=cortex-m7 -mfpu=fpv5-d16" AT("hard", "0", "0x1000", "0x20000000"),
     QEMU_ARM("mps2-an500"), "0x20400000", "$<"},
    {"cortex-m33", "arm-none-eabi-gcc",
     "-mcpu=cortex-m33 -mfpu=fpv5-sp-d16" AT("hard", "0x10000000", "0x10001000", "0x38000000"), QEMU_ARM("mps2-an505"),
     "0x38200000", "$<"},
    {"cortex-m55", "arm-none-eabi-gcc", "-mcpu=cortex-m55" AT("hard", "0", "0x60000000", "0x21000000"),
     QEMU_ARM("mps3-an547"), "0x21400000", "$<"},
    {"riscv32", RISCV("-march=rv32imafc -mabi=ilp32f")},
    {"rv32imac", RISCV("-march=rv32imac -mabi=ilp32")},
    {"cortex-a53", "aarch64-linux-gnu-gcc", "-static -mcpu=cortex-a53", "qemu-aarch64", NULL, NULL},
};
static const board here = {"this machine", NULL, "", "", NULL, NULL};

static const board *board_of(const tort_compilation *c) {
    for (size_t i = 0; c->target && i < sizeof boards / sizeof *boards; i++)
        if (!strcmp(boards[i].target, c->target)) return &boards[i];
    return &here;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static const char start[] =
    "#if defined(__ARM_ARCH_PROFILE) && defined(STACK)\n"
    "#include <stddef.h>\n"
    "\n"
    "/* A board without an operating system: files are those of this machine, by semihosting; the heap is what files need. */\n"
    "extern void _start(void);\n"
    "void *_sbrk(ptrdiff_t bytes);\n"
    "void *_sbrk(ptrdiff_t bytes) {\n"
    "    static char heap[16384];\n"
    "    static ptrdiff_t used;\n"
    "    if (bytes > (ptrdiff_t)sizeof heap - used) {\n"
    "        return (void *)-1;\n"
    "    }\n"
    "    used += bytes;\n"
    "    return heap + used - bytes;\n"
    "}\n"
    "\n"
    "/* Switches the FPU on; vectors predicate no loop until one says so (FPSCR.LTPSIZE is 4). */\n"
    "static void reset(void) {\n"
    "    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20;\n"
    "    __asm__ volatile(\"dsb\\n\\tisb\");\n"
    "#if defined(__ARM_FEATURE_MVE)\n"
    "    __asm__ volatile(\"vmrs r0, fpscr\\n\\tbic r0, r0, #0x70000\\n\\torr r0, r0, #0x40000\\n\\tvmsr fpscr, r0\" ::: \"r0\");\n"
    "#endif\n"
    "    _start();\n"
    "}\n"
    "\n"
    "__attribute__((section(\".vectors\"), used)) static void (*const vectors[])(void) = {(void (*)(void))STACK, reset};\n"
    "#endif\n"
    "\n";

static const char reader[] =
    "static int read_file(const char *path, void *to, size_t bytes) {\n"
    "    FILE *file = fopen(path, \"rb\");\n"
    "    const size_t got = file ? fread(to, 1, bytes, file) : 0;\n"
    "    const int more = file ? fgetc(file) != EOF : 0;\n"
    "    if (file) {\n"
    "        fclose(file);\n"
    "    }\n"
    "    if (got == bytes && !more) {\n"
    "        return 0;\n"
    "    }\n"
    "    fprintf(stderr, \"%s: expected a file of %lu bytes\\n\", path, (unsigned long)bytes);\n"
    "    return 1;\n"
    "}\n\n";

static const char writer[] = "static int write_file(const char *path, const void *from, size_t bytes) {\n"
                             "    FILE *file = fopen(path, \"wb\");\n"
                             "    const size_t put = file ? fwrite(from, 1, bytes, file) : 0;\n"
                             "    if (file && !fclose(file) && put == bytes) {\n"
                             "        return 0;\n"
                             "    }\n"
                             "    fprintf(stderr, \"%s: cannot be written\\n\", path);\n"
                             "    return 1;\n"
                             "}\n\n";

/* Aligned bytes; C has no empty arrays. */
static void print_union(const tort_compilation *c, const char *name, uint64_t bytes, FILE *file) {
    fprintf(file, "static union {\n    double align;\n    unsigned char bytes[%llu];\n} %s",
            (unsigned long long)(bytes ? bytes : 1), name);
    if (c->align > 8) fprintf(file, " __attribute__((aligned(%u)))", (unsigned)c->align);
    fprintf(file, ";\n");
}

static void print_buffers(const tort_compilation *c, FILE *file) {
    print_union(c, "arena", c->arena_bytes, file);
    if (c->slow_bytes) print_union(c, "slow_arena", c->slow_bytes, file);
    if (c->apart) print_union(c, "weights", tort_compile_weights_bytes(c), file);
    tort_compile_fill(c, "@*static @t @p[@e];\n@;", file);
}

tort_status tort_compile_program(tort_compilation *c, FILE *file) {
    const tort_plan *plan = c->plan;
    fprintf(file,
            "/* %s_main.c - made by tinyort %s: runs %s on raw files of its inputs, one an argument, and writes\n"
            " * output_0.raw ... */\n",
            c->name, TORT_VERSION, c->name);
    fprintf(file, "#include \"%s.h\"\n\n#include <stdio.h>\n\n", c->name);
    fprintf(file, "#ifndef ARDUINO /* it compiles every file of a folder */\n\n");
    if (board_of(c)->stack) fprintf(file, "%s", start);
    print_buffers(c, file);
    fprintf(file, "\n%s%sint main(int argc, char **argv) {\n    int failed = 0;\n",
            plan->input_count || c->apart ? reader : "", writer);
    fprintf(file,
            "    if (argc != %d) {\n        fprintf(stderr, \"%s_main: expected %d files, got %%d\\n\", argc - 1);\n"
            "        return 2;\n    }\n    (void)argv;\n",
            (int)plan->input_count + 1, c->name, (int)plan->input_count);
    for (int32_t i = 0; i < plan->input_count; i++) {
        const tort_slot slot = tort_compile_input(c, i);
        fprintf(file, "    failed |= read_file(argv[%d], in%d, %lld * sizeof *in%d);\n", (int)i + 1, (int)i,
                (long long)tort_compile_elements(&slot), (int)i);
    }
    if (c->apart)
        fprintf(file, "    failed |= read_file(\"%s_weights.bin\", weights.bytes, %llu);\n", c->name,
                (unsigned long long)tort_compile_weights_bytes(c));
    tort_compile_fill(
        c,
        "    if (failed) {\n        return 3;\n    }\n    if (@n_run(@*@p, @;@{weights.bytes, @}arena.bytes@(, slow_arena.bytes@))) {\n        return 5;\n    }\n",
        file);
    for (int32_t i = 0; i < plan->output_count; i++)
        fprintf(file, "    failed |= write_file(\"output_%d.raw\", out%d, %lld * sizeof *out%d);\n", (int)i, (int)i,
                (long long)tort_compile_elements(tort_compile_output(c, i)), (int)i);
    fprintf(file, "    return failed ? 3 : 0;\n}\n\n#endif\n");
    return TORT_OK;
}

/* ---- its Makefile ------------------------------------------------------------------------------------------------ */

/* Arguments of a program without an operating system are words of the emulator's option. */
static void print_run(const board *to, const char *name, FILE *file) {
    if (!to->own)
        fprintf(file, "\t%s%s./%s_main $(ARGS)\n", to->run, *to->run ? " " : "", name);
    else
        fprintf(file, "\ttimeout 300 %s%s%s$(subst $(space),,$(addprefix $(comma)arg=,$(ARGS))) -kernel $<\n", to->run,
                *to->own ? ",arg=" : "", to->own);
}

tort_status tort_compile_makefile(tort_compilation *c, FILE *file) {
    const char *name = c->name;
    const board *to = board_of(c);
    fprintf(file, "# Made by tinyort %s: builds %s for %s%s. make run ARGS=\"in0.raw\" writes output_0.raw ...\n",
            TORT_VERSION, name, to->target, *to->run ? ", which qemu emulates" : "");
    if (to->cc) fprintf(file, "CC := %s\n", to->cc);
    fprintf(file,
            "CFLAGS ?= -O2\nSTRICT := -std=c99 -ffp-contract=off -Wall -Wextra -Wconversion -Wshadow -pedantic\n");
    if (*to->flags)
        fprintf(file, "BOARD := %s%s%s\n", to->flags, to->stack ? " -DSTACK=" : "", to->stack ? to->stack : "");
    if (to->own) fprintf(file, "comma := ,\nspace := $() $()\n");
    fprintf(
        file,
        "\n%s_main: %s_main.c %s.c %s_weights.%s %s.h\n\t$(CC) $(STRICT)%s $(CFLAGS) -o $@ $(filter %%.c,$^) -lm\n\n",
        name, name, name, name, c->apart ? "bin" : "c", name, *to->flags ? " $(BOARD)" : "");
    fprintf(file, ".PHONY: run\nrun: %s_main\n", name);
    print_run(to, name, file);
    return TORT_OK;
}
