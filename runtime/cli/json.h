/* json.h - documents for programs, the second border of the command line: strict UTF-8 whatever a file's names are.
 *
 * A byte that is no UTF-8 becomes U+FFFD; what is unsafe on a terminal (text.h) is written as \u202e, so that a
 * document may be looked at. report_json.c has what all commands have in common. */
#ifndef TORT_CLI_JSON_H
#define TORT_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

/* Before the first document: who has no memory left can only end. */
void cli_json_start(void);

/* {"schema": 1, "command": "run"}, to be filled. Every key of every command is in schema.json. */
cJSON *cli_json_new(const char *command);
/* Prints on stdout, on one line or on many, and frees. */
void cli_json_print(cJSON *root, bool one_line);

/* Writes an object that is a part of a document, without a line end, and frees. */
void cli_json_write(FILE *file, cJSON *item);

void cli_json_text(cJSON *object, const char *key, const char *text); /* NULL: null */
void cli_json_number(cJSON *object, const char *key, int64_t number); /* negative: null, not known */
void cli_json_texts(cJSON *object, const char *key, const char *const *texts, int32_t count);

#endif
