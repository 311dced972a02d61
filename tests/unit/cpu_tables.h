/* cpu_tables.h - the tables of inner loops that this machine can run, for tests that call them one by one. */
#ifndef TORT_TESTS_UNIT_CPU_TABLES_H
#define TORT_TESTS_UNIT_CPU_TABLES_H

#include "kernels/cpu/bytes.h"
#include "kernels/cpu/simd.h"

enum { CPU_TABLES = 5 };

/* Of instruction set i < CPU_TABLES; NULL: this machine has not its instructions. */
const tort_simd *cpu_table(int i);
/* The instructions of this machine, as a provider tells them. */
uint32_t cpu_instructions(void);

#endif
