/* json.h - JSON documents in strict UTF-8, whatever bytes a file's names have. With print.h, one of two places that
 * write untrusted text.
 *
 * A byte that is not UTF-8 becomes U+FFFD; a character that is unsafe on a terminal (text.h) is escaped, as \u202e, so
 * that a document can be shown there. report_json.h has the parts that commands share. */
#ifndef TORT_CLI_JSON_H
#define TORT_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

/* Called before the first document: makes cJSON end the program if memory runs out. */
void cli_json_start(void);

/* A new document {"schema": 1, "command": "run"}, to be filled. schema.json lists every key of every command. */
cJSON *cli_json_new(const char *command);
/* Prints a document on stdout, on one line or indented, and frees it. */
void cli_json_print(cJSON *root, bool one_line);

/* Writes a part of a document without a newline, and frees it. embedded: in HTML, where a '<' could end the element. */
void cli_json_write(FILE *file, cJSON *item, bool embedded);

void cli_json_text(cJSON *object, const char *key, const char *text); /* NULL becomes null */
void cli_json_number(cJSON *object, const char *key, int64_t number); /* negative (unknown) becomes null */
void cli_json_texts(cJSON *object, const char *key, const char *const *texts, int32_t count);

#endif
