/* provider_images.c - which code a device gets: machine code, PTX or none; what a plan for a target and an open device
 * say of it, and of TF32. Read first: provider_tester.h. */
#include <stdio.h>
#include <string.h>

#include "kernels/cuda/images.h"
#include "tests/cuda/provider_tester.h"
#include "tests/report_of.h"

/* ---- the choice ---- */

static void check_choice(tester *t) {
    static const char all[] = "sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_100 sm_110 sm_120 PTX-80";
    static const struct {
        const char *images;
        int32_t capability;
        cuda_image image;
    } cases[] = {
        {all, 50, {0, false}},
        {all, 70, {0, false}},
        {all, 72, {0, false}},
        {all, 75, {75, false}},
        {all, 80, {80, false}},
        {all, 88, {86, false}}, /* not that of a Jetson */
        {all, 87, {87, false}},
        {all, 89, {89, false}},
        {all, 90, {90, false}},
        {all, 103, {100, false}},
        {all, 110, {110, false}},
        {all, 121, {120, false}},
        {all, 130, {80, true}},
        {"sm_80 sm_86 PTX-75 PTX-80", 87, {80, true}}, /* a Jetson runs no other's machine code */
        {"sm_87 PTX-75", 89, {75, true}},
        {"sm_90 PTX-75 PTX-80", 75, {75, true}},
        {"sm_90 PTX-75 PTX-80", 80, {80, true}},
        {"sm_90 PTX-75 PTX-80", 100, {80, true}},
        {"sm_90", 89, {0, false}},
        {"sm_90", 100, {0, false}},
        {"PTX-80 PTX-75 sm_80", 86, {80, false}}, /* in any order */
        {"PTX-80 PTX-75 sm_80", 90, {80, true}},
        {"", 90, {0, false}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const cuda_image found = tort_cuda_pick_image(cases[i].images, cases[i].capability);
        char text[160];
        snprintf(text, sizeof text, "sm_%d of \"%s\" gets %s %d", cases[i].capability, cases[i].images,
                 found.ptx ? "PTX" : "sm", found.code);
        tester_check(t, found.code == cases[i].image.code && found.ptx == cases[i].image.ptx, "images", text);
    }
}

/* ---- what is said ---- */

/* The description that a plan for a target has, or the error where it is refused. */
static void tell_target(tester *t, const char *chain, const char *target, char *text, size_t size) {
    const tort_provider *const providers[] = {t->provider, NULL};
    tort_session_options options = {
        .struct_size = sizeof options, .chain = chain, .target = target, .providers = providers};
    tort_session *session = NULL;
    tort_error error;
    tort_status status = tort_session_create(&t->memory->env, t->model.model, &options, &session, &error);
    tort_report *report = status ? NULL : report_of(session);
    if (status)
        snprintf(text, size, "%s: %s", tort_status_name(status), error.msg);
    else
        snprintf(text, size, "%s", report->providers[0]->description);
    tort_report_free(report);
    tort_session_free(session);
}

static void check_targets(tester *t) {
    static const struct {
        const char *chain, *target, *said;
    } cases[] = {
        {"cudasim,cpu", "cudasim:sm_50", "TORT_E_USAGE: target cudasim:sm_50: NO_IMAGE, this tinyort has code for "},
        {"cudasim,cpu", "cudasim:sm_70", "; use a GPU of sm_75 or newer"},
        {"cudasim,cpu", "cudasim:sm_75", "target sm_75, not opened"},
        {"cudasim,cpu", "cudasim:sm_87:multiprocessors=8", "target sm_87, 8 multiprocessors, not opened"},
        {"cudasim,cpu", "cudasim:sm_87:multiprocessors=0", "cudasim:sm_87:multiprocessors=8 (up to 256)"},
        {"cudasim,cpu", "cudasim:sm_87:multiprocessors=257", "is not of the form cudasim:sm_87 "},
        {"cudasim,cpu", "cudasim:sm_87:multiprocessors=8x", "is not of the form cudasim:sm_87 "},
        {"cudasim,cpu", "cudasim:sm_87:device=1", "is not of the form cudasim:sm_87 "},
        {"cudasim,cpu", "cudasim:sm_88", "target sm_88, not opened"},
        {"cudasim,cpu", "cudasim:sm_103", "target sm_103, not opened"},
        {"cudasim,cpu", "cudasim:sm_121", "target sm_121, not opened"},
        {"cudasim,cpu", "cudasim:sm_130", "target sm_130, not opened, PTX-80 compiled at the first start"},
        {"cudasim:tf32=on,cpu", "cudasim:sm_90", "target sm_90, not opened, tf32=on for products"},
        {"cudasim:tf32=on,cpu", "cudasim:sm_75", "tf32=on without effect before sm_80"},
        {"cudasim:tf32=on:libraries=off,cpu", "cudasim:sm_90", "target sm_90, not opened, tf32=on for products"},
    };
    tester_configure(t, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[600];
        tell_target(t, cases[i].chain, cases[i].target, text, sizeof text);
        tester_check(t, strstr(text, cases[i].said), cases[i].target, text);
    }
    tester_check(t, t->provider->built_for && !strcmp(t->provider->built_for, tort_cuda_images), "built_for",
                 "is not what the build has");
    tester_check_leftovers(t, "after targets of images");
}

void provider_test_images(tester *t) {
    check_choice(t);
    check_targets(t);
}
