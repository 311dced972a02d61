/* folder.h - a folder for the files of one test: .init = make_folder, .fini = remove_folder. */
#ifndef TORT_TESTS_UNIT_FOLDER_H
#define TORT_TESTS_UNIT_FOLDER_H

#include <stddef.h>

extern char folder[64]; /* its path, once it is made */

void make_folder(void);
void remove_folder(void); /* with all that is in it */
/* The path of a file there, until the next call. */
const char *in_folder(const char *name);
void write_file(const char *name, const void *bytes, size_t size);

#endif
