/* new_file.c - removes a file that is not whole when a signal ends the program (new_file.h). */
#include "runtime/cli/files/new_file.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* The file that the handler removes; NULL: none. */
static const char *volatile unfinished_path;

static void remove_unfinished(void) {
    if (unfinished_path) unlink(unfinished_path);
}

static void on_interruption(int number) {
    remove_unfinished();
    signal(number, SIG_DFL);
    raise(number);
}

/* Once and for all: without an unfinished file the handler does what happens without it. */
static void watch_the_end(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    static bool watched;
    if (watched) return;
    watched = true;
    atexit(remove_unfinished); /* memory that runs out ends the program, too */
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (signal(numbers[i], on_interruption) == SIG_IGN) signal(numbers[i], SIG_IGN); /* as under nohup */
}

tort_status cli_new_file_open(const char *path, tort_new_file *file, tort_error *error) {
    tort_status status = tort_new_file_name(path, file, error);
    if (status) return status;
    unfinished_path = file->unfinished;
    watch_the_end();
    status = tort_new_file_open(file, error);
    return status ? cli_new_file_end(file, status, error) : TORT_OK;
}

tort_status cli_new_file_end(tort_new_file *file, tort_status status, tort_error *error) {
    status = tort_new_file_end(file, status, error);
    unfinished_path = NULL;
    return status;
}

tort_status cli_new_file_of(const char *path, const void *bytes, size_t size, tort_error *error) {
    tort_new_file file;
    tort_status status = cli_new_file_open(path, &file, error);
    if (status) return status;
    tort_new_file_write(&file, bytes, size);
    return cli_new_file_end(&file, TORT_OK, error);
}
