/* changing.c - inputs that change while a run reads them, without a race: stands in for the run-time library of the
 * thread sanitizer, which every load of instrumented code tells its address first.
 *
 * The elements of a run's inputs are watched. From the second, third ... time that one is read it has another value,
 * the worst that there is: so what was checked by one read and used by the next is never what was checked. Each run of
 * the harness is done with each such value first, and whatever it answers then: only that it answers is asked for.
 * Inputs, and all memory of the library, end at a page that nobody may touch (guarded.c); wild addresses are mapped as
 * little. The bytes of strings change; their pointers and lengths cannot be checked. The linker puts the __wrap_
 * functions in the place of those of the library, and of the C library's copies, which are not instrumented. */
#define _XOPEN_SOURCE 700 /* setitimer */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "runtime/include/tinyort.h"
#include "tests/changing/guarded.h"

enum { MAX_INPUTS = 64, VALUES = 7, READS = 5, SECONDS = 20, MAX_READS = 3000000 };

typedef struct watched {
    uint8_t *data, *reads; /* reads: by element */
    size_t bytes, size;    /* size: of an element */
} watched;

static struct {
    watched inputs[MAX_INPUTS];
    void *strings[MAX_INPUTS];
    int32_t count, string_count;
    int value, read; /* which value elements have from which read on, counted from 1 */
    bool changed;
    tort_context *context; /* cancelled after many reads: a number of trips may have become any number */
    int64_t all_reads;
} now;

/* ---- reads ------------------------------------------------------------------------------------------------------- */

static void change(uint8_t *element, size_t size) {
    static const uint8_t bytes[] = {0x7f, 0x80, 0xff, 0x01, 0x00};
    if (now.value < (int)sizeof bytes) {
        memset(element, bytes[now.value], size);
    } else if (now.value == sizeof bytes) { /* just beyond */
        element[0]++;
    } else { /* not so far off that a limit of memory would refuse it */
        memset(element, 0, size);
        element[size > 2 ? 2 : 0] = 1;
    }
    now.changed = true;
}

static void note_read(const void *address, size_t bytes) {
    if (now.count && now.all_reads++ == MAX_READS) tort_context_cancel(now.context);
    for (int32_t i = 0; i < now.count; i++) {
        const watched *w = &now.inputs[i];
        const uintptr_t begin = (uintptr_t)w->data, from = (uintptr_t)address, to = from + bytes;
        if (to <= begin || from >= begin + w->bytes) continue;
        const size_t first = from > begin ? (from - begin) / w->size : 0;
        for (size_t k = first; k * w->size < w->bytes && begin + k * w->size < to; k++)
            if (++w->reads[k] >= now.read) {
                w->reads[k] = (uint8_t)now.read;
                change(w->data + k * w->size, w->size);
            }
    }
}

/* ---- the run-time library ---------------------------------------------------------------------------------------- */

#define ACCESS(SIZE)                                                                                                   \
    void __tsan_read##SIZE(const void *address);                                                                       \
    void __tsan_write##SIZE(const void *address);                                                                      \
    void __tsan_unaligned_read##SIZE(const void *address);                                                             \
    void __tsan_unaligned_write##SIZE(const void *address);                                                            \
    void __tsan_read##SIZE(const void *address) {                                                                      \
        note_read(address, SIZE);                                                                                      \
    }                                                                                                                  \
    void __tsan_unaligned_read##SIZE(const void *address) {                                                            \
        note_read(address, SIZE);                                                                                      \
    }                                                                                                                  \
    void __tsan_write##SIZE(const void *address) {                                                                     \
        (void)address;                                                                                                 \
    }                                                                                                                  \
    void __tsan_unaligned_write##SIZE(const void *address) {                                                           \
        (void)address;                                                                                                 \
    }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

#define ATOMIC(BITS)                                                                                                   \
    uint##BITS##_t __tsan_atomic##BITS##_load(const volatile uint##BITS##_t *p, int order);                            \
    void __tsan_atomic##BITS##_store(volatile uint##BITS##_t *p, uint##BITS##_t value, int order);                     \
    uint##BITS##_t __tsan_atomic##BITS##_exchange(volatile uint##BITS##_t *p, uint##BITS##_t value, int order);        \
    uint##BITS##_t __tsan_atomic##BITS##_fetch_add(volatile uint##BITS##_t *p, uint##BITS##_t value, int order);       \
    uint##BITS##_t __tsan_atomic##BITS##_fetch_sub(volatile uint##BITS##_t *p, uint##BITS##_t value, int order);       \
    int __tsan_atomic##BITS##_compare_exchange_strong(volatile uint##BITS##_t *p, uint##BITS##_t *expected,            \
                                                      uint##BITS##_t value, int order, int failed);                    \
    int __tsan_atomic##BITS##_compare_exchange_weak(volatile uint##BITS##_t *p, uint##BITS##_t *expected,              \
                                                    uint##BITS##_t value, int order, int failed);                      \
    uint##BITS##_t __tsan_atomic##BITS##_load(const volatile uint##BITS##_t *p, int order) {                           \
        (void)order;                                                                                                   \
        note_read((const void *)(uintptr_t)p, BITS / 8);                                                               \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                                   \
    }                                                                                                                  \
    void __tsan_atomic##BITS##_store(volatile uint##BITS##_t *p, uint##BITS##_t value, int order) {                    \
        (void)order;                                                                                                   \
        __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                                  \
    }                                                                                                                  \
    uint##BITS##_t __tsan_atomic##BITS##_exchange(volatile uint##BITS##_t *p, uint##BITS##_t value, int order) {       \
        (void)order;                                                                                                   \
        return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                                                        \
    }                                                                                                                  \
    uint##BITS##_t __tsan_atomic##BITS##_fetch_add(volatile uint##BITS##_t *p, uint##BITS##_t value, int order) {      \
        (void)order;                                                                                                   \
        return __atomic_fetch_add(p, value, __ATOMIC_SEQ_CST);                                                         \
    }                                                                                                                  \
    uint##BITS##_t __tsan_atomic##BITS##_fetch_sub(volatile uint##BITS##_t *p, uint##BITS##_t value, int order) {      \
        (void)order;                                                                                                   \
        return __atomic_fetch_sub(p, value, __ATOMIC_SEQ_CST);                                                         \
    }                                                                                                                  \
    int __tsan_atomic##BITS##_compare_exchange_strong(volatile uint##BITS##_t *p, uint##BITS##_t *expected,            \
                                                      uint##BITS##_t value, int order, int failed) {                   \
        (void)order, (void)failed;                                                                                     \
        return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);             \
    }                                                                                                                  \
    int __tsan_atomic##BITS##_compare_exchange_weak(volatile uint##BITS##_t *p, uint##BITS##_t *expected,              \
                                                    uint##BITS##_t value, int order, int failed) {                     \
        return __tsan_atomic##BITS##_compare_exchange_strong(p, expected, value, order, failed);                       \
    }
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

void __tsan_init(void);
void __tsan_func_entry(void *from);
void __tsan_func_exit(void);
void __tsan_read_range(const void *address, size_t bytes);
void __tsan_write_range(const void *address, size_t bytes);
void __tsan_atomic_thread_fence(int order);
void __tsan_init(void) {}
void __tsan_func_entry(void *from) {
    (void)from;
}
void __tsan_func_exit(void) {}
void __tsan_read_range(const void *address, size_t bytes) {
    note_read(address, bytes);
}
void __tsan_write_range(const void *address, size_t bytes) {
    (void)address, (void)bytes;
}
void __tsan_atomic_thread_fence(int order) {
    (void)order;
}

void *__real_memcpy(void *to, const void *from, size_t bytes);
void *__real_memmove(void *to, const void *from, size_t bytes);
int __real_memcmp(const void *a, const void *b, size_t bytes);
void *__wrap_memcpy(void *to, const void *from, size_t bytes);
void *__wrap_memmove(void *to, const void *from, size_t bytes);
int __wrap_memcmp(const void *a, const void *b, size_t bytes);

void *__wrap_memcpy(void *to, const void *from, size_t bytes) {
    note_read(from, bytes);
    return __real_memcpy(to, from, bytes);
}

void *__wrap_memmove(void *to, const void *from, size_t bytes) {
    note_read(from, bytes);
    return __real_memmove(to, from, bytes);
}

int __wrap_memcmp(const void *a, const void *b, size_t bytes) {
    note_read(a, bytes);
    note_read(b, bytes);
    return __real_memcmp(a, b, bytes);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

tort_status __real_tort_context_run(tort_context *context, const tort_tensor *inputs, int32_t input_count,
                                    tort_tensor *outputs, int32_t output_count, tort_error *error);
tort_status __wrap_tort_context_run(tort_context *context, const tort_tensor *inputs, int32_t input_count,
                                    tort_tensor *outputs, int32_t output_count, tort_error *error);

/* A copy of an input that ends at a page of its own, watched in elements of `size`. */
static void *watch(const void *data, size_t bytes, size_t size) {
    watched *w = &now.inputs[now.count++];
    *w = (watched){.data = guarded_realloc(NULL, bytes), .reads = calloc(bytes, 1), .bytes = bytes, .size = size};
    if (!w->data || !w->reads) abort();
    __real_memcpy(w->data, data, bytes);
    return w->data;
}

/* The bytes of strings are watched: copies of all texts, one after the other, which the strings then point to. */
static void watch_texts(tort_tensor *input, int64_t count) {
    tort_string *strings = guarded_realloc(NULL, (size_t)count * sizeof *strings);
    size_t bytes = 0, at = 0;
    if (!strings) abort();
    __real_memcpy(strings, input->data, (size_t)count * sizeof *strings);
    now.strings[now.string_count++] = input->data = strings;
    for (int64_t i = 0; i < count; i++) bytes += strings[i].length;
    char *all = calloc(bytes + 1, 1);
    if (!all) abort();
    for (int64_t i = 0; i < count; at += strings[i++].length)
        if (strings[i].length) __real_memcpy(all + at, strings[i].data, strings[i].length);
    const char *texts = bytes ? watch(all, bytes, 1) : NULL;
    for (int64_t i = 0; i < count; texts += strings[i++].length)
        if (bytes) strings[i].data = texts;
    free(all);
}

static void watch_input(tort_tensor *input) {
    const int bits = tort_type_bits(input->type);
    size_t bytes = 0;
    int64_t count = 0;
    if (!tort_tensor_count(input, &count) || !tort_tensor_bytes(input, &bytes) || !bytes) return;
    if (input->type == TORT_STRING)
        watch_texts(input, count);
    else
        input->data = watch(input->data, bytes, bits < 8 ? 1 : (size_t)bits / 8);
}

static void end_watch(void) {
    for (int32_t i = 0; i < now.count; i++) {
        guarded_free(now.inputs[i].data);
        free(now.inputs[i].reads);
    }
    for (int32_t i = 0; i < now.string_count; i++) guarded_free(now.strings[i]);
    now.count = now.string_count = 0;
}

/* False: no element was read as often. */
static bool run_once(tort_context *context, const tort_tensor *inputs, int32_t input_count, int32_t output_count) {
    const struct itimerval processor = {.it_value = {.tv_sec = SECONDS}};
    tort_tensor changing[MAX_INPUTS], outputs[MAX_INPUTS] = {{0}};
    tort_error error = {0};
    setitimer(ITIMER_PROF, &processor, NULL);
    for (int32_t i = 0; i < input_count; i++) {
        changing[i] = inputs[i];
        watch_input(&changing[i]);
    }
    now.changed = false;
    now.context = context;
    now.all_reads = 0;
    __real_tort_context_run(context, changing, input_count, outputs, output_count, &error);
    end_watch();
    return now.changed;
}

tort_status __wrap_tort_context_run(tort_context *context, const tort_tensor *inputs, int32_t input_count,
                                    tort_tensor *outputs, int32_t output_count, tort_error *error) {
    for (now.value = 0; now.value < VALUES; now.value++)
        for (now.read = 2; now.read <= READS && run_once(context, inputs, input_count, output_count); now.read++) {}
    return __real_tort_context_run(context, inputs, input_count, outputs, output_count, error);
}
