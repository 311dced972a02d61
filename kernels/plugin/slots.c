/* slots.c - the tables of functions that a plugin calls: what is given, and an answer for everything else.
 *
 * A function that is absent returns an error with its name; one that has no status does nothing. The numbers of slots
 * come from slots.inc, and prove those of runtime/include/ort.h. */
#include "kernels/plugin/host.h"

typedef void (*slot)(void);

static ort_status *lacks(const char *table, const char *name, int number) {
    TORT_HOST_FAIL(ORT_NOT_IMPLEMENTED, "tinyort's host of plugins has no %s::%s (slot %d)", table, name, number);
}

static void *nothing(void) {
    return NULL;
}

#define NUMBER(table, name) number_##table##_##name,
#define NUMBER_GIVEN(table, name, member) number_##table##_##name,
#define ABSENT(table, name)                                                                                            \
    static ort_status *lacks_##table##_##name(void) {                                                                  \
        return lacks(title_##table, #name, number_##table##_##name);                                                   \
    }
#define PROOF(table, name, member)                                                                                     \
    _Static_assert(offsetof(table, member) == number_##table##_##name * sizeof(void *), "the slot of " #name);
#define ENTRY_ABSENT(table, name) (slot) lacks_##table##_##name,
#define ENTRY_NOTHING(table, name) (slot) nothing,
#define ENTRY_GIVEN(table, name, member) (slot) tort_host_##member,

/* A table by a list of slots.inc. */
#define TABLE(type, title, list)                                                                                       \
    enum { list(type, NUMBER, NUMBER, NUMBER_GIVEN) count_##type };                                                    \
    static const char title_##type[] = title;                                                                          \
    list(type, ABSENT, TORT_NOTHING,                                                                                   \
         PROOF) static const slot slots_##type[] = {list(type, ENTRY_ABSENT, ENTRY_NOTHING, ENTRY_GIVEN)};

typedef struct ort_none ort_none;
TABLE(ort_api, "OrtApi", TORT_HOST_API)
TABLE(ort_ep_api, "OrtEpApi", TORT_HOST_EP_API)
TABLE(ort_editor_api, "OrtModelEditorApi", TORT_HOST_EDITOR_API)
TABLE(ort_compile_api, "OrtCompileApi", TORT_HOST_COMPILE_API)
_Static_assert(count_ort_api == 426 && count_ort_ep_api == 74, "the tables of version 30");
_Static_assert(count_ort_editor_api == 20 && count_ort_compile_api == 16, "the tables of version 30");

const ort_ep_api *tort_host_ep_api(void) {
    return (const void *)slots_ort_ep_api;
}

const void *tort_host_model_editor(void) {
    return slots_ort_editor_api;
}

const void *tort_host_compile_api(void) {
    return slots_ort_compile_api;
}

const char *tort_host_build_text(void) {
    return "tinyort";
}

/* The newest version that this thread was asked for in CreateEpFactories: a plugin that is given no table may not say
 * why it fails. */
static _Thread_local uint32_t newest;

uint32_t tort_host_newest_asked(bool reset) {
    if (reset) newest = 0;
    return newest;
}

/* Tables only grow: an older one is the begin of a newer one. */
static const ort_api *get(uint32_t version) {
    if (version > newest) newest = version;
    return version >= 1 && version <= TORT_HOST_VERSION ? (const void *)slots_ort_api : NULL;
}

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

/* Plugins read the version of the tables from it. */
static const char *version(void) {
    return "1." TEXT(TORT_HOST_VERSION) ".0";
}

const ort_api_base tort_host_base = {get, version};
