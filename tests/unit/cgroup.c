/* Tests of kernels/cpu/cgroup.c: quotas and limits of a process in a container, from files as Linux writes them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kernels/cpu/cgroup.h"

typedef struct file {
    const char *path, *text;
} file;

typedef struct container {
    const char *what;
    file files[6];
    int32_t processors;
    uint64_t memory;
} container;

static const container containers[] = {
    {"no control groups", {{NULL, NULL}}, INT32_MAX, UINT64_MAX},
    {"version 2, half a processor",
     {{"proc/self/cgroup", "0::/\n"},
      {"sys/fs/cgroup/cpu.max", "50000 100000\n"},
      {"sys/fs/cgroup/memory.max", "268435456\n"}},
     1,
     268435456},
    {"version 2, no limits",
     {{"proc/self/cgroup", "0::/a/b\n"},
      {"sys/fs/cgroup/a/b/cpu.max", "max 100000\n"},
      {"sys/fs/cgroup/a/b/memory.max", "max\n"}},
     INT32_MAX,
     UINT64_MAX},
    {"version 2, the group around it has less",
     {{"proc/self/cgroup", "0::/a/b\n"},
      {"sys/fs/cgroup/a/b/cpu.max", "800000 100000\n"},
      {"sys/fs/cgroup/a/cpu.max", "250000 100000\n"},
      {"sys/fs/cgroup/a/b/memory.max", "1000\n"},
      {"sys/fs/cgroup/a/memory.max", "2000\n"}},
     3,
     1000},
    {"version 2, named as outside, seen from inside",
     {{"proc/self/cgroup", "0::/docker/0123\n"}, {"sys/fs/cgroup/cpu.max", "200000 100000\n"}},
     2,
     UINT64_MAX},
    {"version 1",
     {{"proc/self/cgroup", "9:name=systemd:/\n4:cpu,cpuacct:/x\n3:memory:/x\n0::/\n"},
      {"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "150000\n"},
      {"sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "50000\n"},
      {"sys/fs/cgroup/memory/x/memory.limit_in_bytes", "4096\n"}},
     3,
     4096},
    {"version 1, no quota",
     {{"proc/self/cgroup", "4:cpuacct,cpu:/\n"}, {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"}},
     INT32_MAX,
     UINT64_MAX},
    {"nonsense",
     {{"proc/self/cgroup", "::::\n\n0:\ncpu\n0::/a\n"}, {"sys/fs/cgroup/a/cpu.max", "many\n"}},
     INT32_MAX,
     UINT64_MAX},
    {"a period of 0", {{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "5 0\n"}}, INT32_MAX, UINT64_MAX},
};

static void write_file(const char *root, const file *f) {
    char path[400];
    snprintf(path, sizeof path, "%s/%s", root, f->path);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(path, 0700);
    }
    FILE *out = fopen(path, "w");
    cr_assert(out, "%s", path);
    fputs(f->text, out);
    fclose(out);
}

Test(cgroup, quotas_and_limits) {
    for (size_t i = 0; i < sizeof containers / sizeof *containers; i++) {
        const container *c = &containers[i];
        char root[] = "/tmp/tinyort_cgroup_XXXXXX", remove[80];
        cr_assert(mkdtemp(root));
        for (const file *f = c->files; f < c->files + 6 && f->path; f++) write_file(root, f);
        cr_expect_eq(tort_cgroup_processors(root), c->processors, "%s: %d processors", c->what,
                     (int)tort_cgroup_processors(root));
        cr_expect_eq(tort_cgroup_memory(root), c->memory, "%s: %llu bytes", c->what,
                     (unsigned long long)tort_cgroup_memory(root));
        snprintf(remove, sizeof remove, "rm -r %s", root);
        cr_expect_eq(system(remove), 0);
    }
}
