/* cgroup.h - what a container may use of the machine, in either version of Linux's control groups. */
#ifndef TORT_KERNELS_CPU_CGROUP_H
#define TORT_KERNELS_CPU_CGROUP_H

#include <stdint.h>

/* root: "" or, in tests, a folder that stands for the root of the file system.
 *
 * Processors that the quota of this process and of the groups around it is worth, at least 1; INT32_MAX: no quota. */
int32_t tort_cgroup_processors(const char *root);
/* Bytes of memory, likewise; UINT64_MAX: no limit. */
uint64_t tort_cgroup_memory(const char *root);

#endif
