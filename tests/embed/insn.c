/* insn.c - a plugin of qemu that counts guest instructions between two addresses, and where they were executed.
 *
 *   -plugin insn.so,begin=ADDRESS,end=ADDRESS,out=FILE   (addresses in hexadecimal)
 *
 * Both addresses must start a translation block, as functions do. A block is executed whole, so an execution of it
 * counts for all its instructions. At exit FILE has a line "address instructions executions" for each block that was
 * executed after the block at `begin` and before the one at `end`.
 *
 * Debian has no qemu-plugin.h, so the declarations used stand here. They are the same in versions 1 and 2 of the
 * interface; qemu 9 and later refuse plugins of version 1. */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- qemu's interface -------------------------------------------------------------------------------------------- */

#ifndef PLUGIN_VERSION
#define PLUGIN_VERSION 1
#endif
#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef struct qemu_info qemu_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { QEMU_PLUGIN_CB_NO_REGS = 0 };

typedef void (*translated_function)(qemu_plugin_id_t id, struct qemu_plugin_tb *block);
typedef void (*executed_function)(unsigned cpu, void *data);
typedef void (*exit_function)(qemu_plugin_id_t id, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, translated_function function);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, executed_function function, int flags,
                                          void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, exit_function function, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);

EXPORT extern int qemu_plugin_version;
EXPORT int qemu_plugin_version = PLUGIN_VERSION;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info *info, int count, char **arguments);

/* ---- counting ---------------------------------------------------------------------------------------------------- */

typedef struct block {
    struct block *next;
    uint64_t address;
    uint64_t instructions;
    uint64_t executions;
} block;

static block *blocks; /* one for each translation: qemu may translate code again */
static bool counting;
static uint64_t begin, end;
static const char *out;

static void executed(unsigned cpu, void *data) {
    block *its = data;
    (void)cpu;
    if (its->address == end) counting = false;
    if (counting) its->executions++;
    if (its->address == begin) counting = true;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *translation) {
    block *its = calloc(1, sizeof *its);
    (void)id;
    if (!its) abort();
    its->address = qemu_plugin_tb_vaddr(translation);
    its->instructions = qemu_plugin_tb_n_insns(translation);
    its->next = blocks;
    blocks = its;
    qemu_plugin_register_vcpu_tb_exec_cb(translation, executed, QEMU_PLUGIN_CB_NO_REGS, its);
}

static void write_blocks(qemu_plugin_id_t id, void *data) {
    FILE *file = fopen(out, "w");
    (void)id;
    (void)data;
    if (!file) abort();
    for (const block *its = blocks; its; its = its->next)
        if (its->executions)
            fprintf(file, "%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", its->address, its->instructions, its->executions);
    fclose(file);
}

/* The value of an argument NAME=VALUE, or NULL if the argument has another name. */
static const char *value_of(const char *argument, const char *name) {
    const size_t length = strlen(name);
    return strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1 : NULL;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info *info, int count, char **arguments) {
    (void)info;
    for (int i = 0; i < count; i++) {
        const char *value;
        if ((value = value_of(arguments[i], "begin"))) begin = strtoull(value, NULL, 16);
        if ((value = value_of(arguments[i], "end"))) end = strtoull(value, NULL, 16);
        if ((value = value_of(arguments[i], "out"))) out = strdup(value);
    }
    if (!begin || !end || !out) {
        fprintf(stderr, "insn: needs begin=ADDRESS,end=ADDRESS,out=FILE\n");
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, write_blocks, NULL);
    return 0;
}
