/* host.c - a program in C that uses onnxruntime, with the lines of runtime/plugin/README.md (lines.h); run.py builds
 * it.
 *
 * Usage: host LIBONNXRUNTIME MODEL. Runs models/digits.onnx on an image of zeros and prints its first output. Slots of
 * onnxruntime's table that it calls are declared here, as its header is in no package for Python. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct OrtEpDevice OrtEpDevice;
typedef void *status; /* NULL: success */

typedef struct OrtApi {
    void *unused_0[2];
    const char *(*GetErrorMessage)(const void *status); /* 2 */
    status (*CreateEnv)(int level, const char *name, void **env);
    void *unused_4[3];
    status (*CreateSession)(void *env, const char *path, const void *options, void **session); /* 7 */
    void *unused_8[1];
    status (*Run)(void *session, const void *options, const char *const *inputs, void *const *values, size_t count,
                  const char *const *outputs, size_t output_count, void **results); /* 9 */
    status (*CreateSessionOptions)(void **options);
    void *unused_11[38];
    status (*CreateTensorWithDataAsOrtValue)(const void *memory, void *data, size_t bytes, const int64_t *dims,
                                             size_t rank, int type, void **value); /* 49 */
    void *unused_50[1];
    status (*GetTensorMutableData)(void *value, void **data); /* 51 */
    void *unused_52[17];
    status (*CreateCpuMemoryInfo)(int allocator, int memory, void **info); /* 69 */
    void *unused_70[22];
    void (*ReleaseEnv)(void *env); /* 92 */
    void *unused_93[2];
    void (*ReleaseSession)(void *session); /* 95 */
    void (*ReleaseValue)(void *value);
    void *unused_97[3];
    void (*ReleaseSessionOptions)(void *options); /* 100 */
    void *unused_101[200];
    status (*RegisterExecutionProviderLibrary)(void *env, const char *name, const char *path); /* 301 */
    status (*UnregisterExecutionProviderLibrary)(void *env, const char *name);
    status (*GetEpDevices)(const void *env, const OrtEpDevice *const **devices, size_t *count);
    status (*SessionOptionsAppendExecutionProvider_V2)(void *options, void *env, const OrtEpDevice *const *devices,
                                                       size_t count, const char *const *keys, const char *const *values,
                                                       size_t option_count);
    void *unused_305[7];
    const char *(*EpDevice_EpName)(const OrtEpDevice *device); /* 312 */
} OrtApi;

_Static_assert(offsetof(OrtApi, EpDevice_EpName) == 312 * sizeof(void *), "slot 312");
_Static_assert(offsetof(OrtApi, CreateCpuMemoryInfo) == 69 * sizeof(void *), "slot 69");
_Static_assert(offsetof(OrtApi, ReleaseSessionOptions) == 100 * sizeof(void *), "slot 100");

typedef struct OrtApiBase {
    const OrtApi *(*GetApi)(uint32_t version);
} OrtApiBase;

static int failed(const OrtApi *ort, status s) {
    if (s) fprintf(stderr, "%s\n", ort->GetErrorMessage(s));
    return s != NULL;
}

int main(int count_of_words, char **words) {
    if (count_of_words != 3) return 2;
    void *library = dlopen(words[1], RTLD_NOW);
    const OrtApiBase *(*base)(void) = NULL;
    void *found = library ? dlsym(library, "OrtGetApiBase") : NULL;
    memcpy(&base, &found, sizeof found);
    const OrtApi *ort = base ? base()->GetApi(24) : NULL;
    void *env, *options, *session, *memory, *image, *result = NULL, *data;
    float pixels[64] = {0};
    if (!ort || failed(ort, ort->CreateEnv(3, "host", &env)) || failed(ort, ort->CreateSessionOptions(&options)))
        return 1;
    {
#include "lines.h"
    }
    const char *inputs[] = {"image"}, *outputs[] = {OUTPUT};
    if (failed(ort, ort->CreateSession(env, words[2], options, &session)) ||
        failed(ort, ort->CreateCpuMemoryInfo(0, 0, &memory)) ||
        failed(ort, ort->CreateTensorWithDataAsOrtValue(memory, pixels, sizeof pixels, (int64_t[]){1, 1, 8, 8}, 4, 1,
                                                        &image)) ||
        failed(ort, ort->Run(session, NULL, inputs, &image, 1, outputs, 1, &result)) ||
        failed(ort, ort->GetTensorMutableData(result, &data)))
        return 1;
    for (int i = 0; i < 10; i++) printf("%.6f ", (double)((float *)data)[i]);
    ort->ReleaseValue(result);
    ort->ReleaseValue(image);
    ort->ReleaseSession(session);
    ort->ReleaseSessionOptions(options);
    if (failed(ort, ort->UnregisterExecutionProviderLibrary(env, "tinyort"))) return 1;
    ort->ReleaseEnv(env);
    return 0;
}
