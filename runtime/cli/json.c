/* json.c - prints JSON that any parser accepts and that cannot control a terminal (json.h). */
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/json.h"
#include "runtime/cli/text.h"

static void *json_alloc(size_t size) {
    return cli_check_memory(malloc(size ? size : 1));
}

void cli_json_start(void) {
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = json_alloc, .free_fn = free});
}

cJSON *cli_json_new(const char *command) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "schema", 1);
    cli_json_text(root, "command", command);
    return root;
}

/* Escapes unsafe characters wherever they stand: outside of strings a document is ASCII, so all of them are inside of
 * strings. embedded: '<', too. */
static void print_safely(FILE *file, const char *text, bool embedded) {
    const char *end = text + strlen(text);
    for (const char *from = text; from < end;) {
        const char *p = from, *next = from;
        uint32_t c = 0;
        bool valid = true;
        for (; p < end; p = next) {
            valid = cli_next_character(&next, end, &c);
            if (!valid || (c != '\n' && c != '\t' && cli_is_unsafe(c)) || (embedded && c == '<')) break;
        }
        fwrite(from, 1, (size_t)(p - from), file);
        if (p == end) return;
        if (!valid)
            cli_print(file, "\\ufffd");
        else if (c > 0xffff)
            cli_print(file, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
        else
            cli_print(file, "\\u%04x", c);
        from = next;
    }
}

void cli_json_print(cJSON *root, bool one_line) {
    char *text = one_line ? cJSON_PrintUnformatted(root) : cJSON_Print(root);
    print_safely(stdout, text, false);
    cli_print(stdout, "\n");
    cJSON_free(text);
    cJSON_Delete(root);
}

void cli_json_write(FILE *file, cJSON *item, bool embedded) {
    char *text = cJSON_PrintUnformatted(item);
    print_safely(file, text, embedded);
    cJSON_free(text);
    cJSON_Delete(item);
}

void cli_json_text(cJSON *object, const char *key, const char *text) {
    if (text)
        cJSON_AddStringToObject(object, key, text);
    else
        cJSON_AddNullToObject(object, key);
}

void cli_json_number(cJSON *object, const char *key, int64_t number) {
    if (number < 0)
        cJSON_AddNullToObject(object, key);
    else
        cJSON_AddNumberToObject(object, key, (double)number);
}

void cli_json_texts(cJSON *object, const char *key, const char *const *texts, int32_t count) {
    cJSON *list = cJSON_AddArrayToObject(object, key);
    for (int32_t i = 0; i < count; i++) cJSON_AddItemToArray(list, cJSON_CreateString(texts[i]));
}
