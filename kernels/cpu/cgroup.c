/* cgroup.c - reads the limits of control groups (Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/).
 *
 * A limit holds for a group and all groups inside it, so the groups are walked from that of this process to the
 * outermost one. A container may see its own group as the outermost, under the name that it has outside: groups whose
 * files are not there are passed over. */
#include "kernels/cpu/cgroup.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PATH = 1024 };

/* Where a controller has its files, and the path of this process below that. */
typedef struct group {
    char folder[MAX_PATH]; /* ends where `path` begins */
    size_t path;
    bool unified; /* version 2 */
} group;

/* True if the list "cpu,cpuacct" has the name. */
static bool lists(const char *list, size_t length, const char *name) {
    const size_t wanted = strlen(name);
    for (const char *end = list + length; list < end;) {
        const size_t item = strcspn(list, ",:");
        if (item == wanted && !memcmp(list, name, item)) return true;
        list += item + 1;
    }
    return false;
}

/* A line is "4:cpu,cpuacct:/path", or "0::/path" in version 2, whose controllers share a folder. */
static bool find_group(const char *root, const char *controller, group *found) {
    char line[MAX_PATH], path[MAX_PATH];
    bool there = false;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        const char *list = strchr(line, ':'), *at = list ? strchr(++list, ':') : NULL;
        if (!at) continue;
        const bool unified = at == list;
        if (!unified && !lists(list, (size_t)(at - list), controller)) continue;
        if (unified && there) continue; /* the controller is in version 1 */
        found->unified = unified;
        found->path = (size_t)snprintf(found->folder, MAX_PATH, "%s/sys/fs/cgroup%s%s", root, unified ? "" : "/",
                                       unified ? "" : controller);
        there = found->path < MAX_PATH;
        if (there)
            snprintf(found->folder + found->path, MAX_PATH - found->path, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
    }
    if (file) fclose(file);
    return there;
}

/* The first two numbers of a file of the group; false: it is not there, or begins with "max", or -1. */
static bool read_numbers(const group *g, const char *name, uint64_t numbers[2]) {
    char path[2 * MAX_PATH], line[64] = "";
    snprintf(path, sizeof path, "%s/%s", g->folder, name);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    const bool read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    return read && line[0] != '-' && sscanf(line, "%" SCNu64 " %" SCNu64, &numbers[0], &numbers[1]) > 0;
}

/* Leaves a group for the one around it; false: it is the outermost. */
static bool step_out(group *g) {
    char *slash = strrchr(g->folder + g->path, '/');
    if (!slash) return false;
    *slash = '\0';
    return true;
}

static uint64_t quota_of(const group *g) {
    uint64_t numbers[2] = {0, 100000}, period[2] = {0};
    if (!read_numbers(g, g->unified ? "cpu.max" : "cpu.cfs_quota_us", numbers)) return UINT64_MAX;
    if (!g->unified && read_numbers(g, "cpu.cfs_period_us", period)) numbers[1] = period[0];
    return numbers[1] ? numbers[0] / numbers[1] + (numbers[0] % numbers[1] != 0) : UINT64_MAX;
}

static uint64_t memory_of(const group *g) {
    uint64_t numbers[2];
    return read_numbers(g, g->unified ? "memory.max" : "memory.limit_in_bytes", numbers) ? numbers[0] : UINT64_MAX;
}

static uint64_t least(const char *root, const char *controller, uint64_t (*limit_of)(const group *g)) {
    group g;
    uint64_t min = UINT64_MAX;
    if (!find_group(root, controller, &g)) return min;
    do {
        const uint64_t limit = limit_of(&g);
        if (limit < min) min = limit;
    } while (step_out(&g));
    return min;
}

int32_t tort_cgroup_processors(const char *root) {
    const uint64_t processors = least(root, "cpu", quota_of);
    return processors < 1 ? 1 : processors < INT32_MAX ? (int32_t)processors : INT32_MAX;
}

uint64_t tort_cgroup_memory(const char *root) {
    return least(root, "memory", memory_of);
}
