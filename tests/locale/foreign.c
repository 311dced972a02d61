/* foreign.c - is loaded before a program, and sets the locale of the environment, as programs with windows do. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void set_locale(void) {
    if (setlocale(LC_ALL, "")) return;
    fprintf(stderr, "foreign: there is no locale %s in %s\n", getenv("LC_ALL"), getenv("LOCPATH"));
    exit(99);
}
