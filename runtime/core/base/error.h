/* error.h - fills the caller's tort_error. Functions return the status, so that a refusal is one statement: `return
 * tort_fail(error, TORT_E_MODEL, "axis %d is not in [-%d, %d)", ...)`. A message says what was found, what was expected
 * and what to do; callers prepend the node's name, operator and opset. */
#ifndef TORT_RUNTIME_BASE_ERROR_H
#define TORT_RUNTIME_BASE_ERROR_H

#include "runtime/include/tinyort.h"

TORT_API tort_status tort_fail(tort_error *error, tort_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
TORT_API tort_status tort_out_of_memory(tort_error *error, size_t bytes);
/* Prepends "<text>: " to the message. */
TORT_API void tort_error_prefix(tort_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends the text to the message. */
TORT_API void tort_error_append(tort_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* clang's analyzer sees one file at a time: it is told that these statuses are not TORT_OK. */
#ifdef __clang_analyzer__
#define tort_fail(error, code, ...) ((void)tort_fail(error, code, __VA_ARGS__), (code))
#define tort_out_of_memory(error, bytes) ((void)tort_out_of_memory(error, bytes), TORT_E_MEMORY)
#endif

/* A build with MESSAGES=0 has codes alone: the words are checked by the compiler, but neither they nor the functions
 * that only they call are linked. */
#ifdef TORT_NO_MESSAGES
int tort_words(const char *format, ...) __attribute__((format(printf, 1, 2))); /* has no body: it is never called */
tort_status tort_fail_without_words(tort_error *error, tort_status code);
#define tort_fail(error, code, ...) ((void)(0 && tort_words(__VA_ARGS__)), tort_fail_without_words(error, code))
#define tort_error_prefix(error, ...) ((void)(0 && tort_words(__VA_ARGS__)), (void)(error))
#define tort_error_append(error, ...) ((void)(0 && tort_words(__VA_ARGS__)), (void)(error))
#define TORT_WORDED(error, code, call) ((void)(0 && (call)), tort_fail_without_words(error, code))
#else
/* A call of a function that does nothing but find the words of this error, such as the name that was meant. */
#define TORT_WORDED(error, code, call) (call)
#endif

#endif
