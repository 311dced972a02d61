/* speaker.h - tokens of a decoder as onnxruntime's model builder makes it (networks.py), on one provider: its cache
 * lies in one buffer of the device, which is past and present at once and is extended there; or, for comparison, each
 * token gets a past of its exact length and a present of its own, on the host. */
#ifndef TORT_TESTS_CUDA_SPEAKER_H
#define TORT_TESTS_CUDA_SPEAKER_H

#include "runtime/include/tinyort.h"

enum { SPEAKER_LAYERS = 2, SPEAKER_CACHES = 2 * SPEAKER_LAYERS, SPEAKER_WORDS = 50, SPEAKER_ROOM = 104 };
enum { SPEAKER_TOKENS = 100 };

/* A session, and where its tokens are. */
typedef struct speaker {
    const char *provider; /* whose memory the caches are in; NULL: the host's, of the exact length, in turns */
    bool fixed_mask;      /* of SPEAKER_ROOM elements, whose ones grow; else as long as the text */
    tort_session *session;
    tort_context *context;
    tort_type type;
    char *caches[2][SPEAKER_CACHES]; /* on a device the first of each two alone */
    int64_t ids[1], mask[SPEAKER_ROOM];
    char logits[SPEAKER_WORDS * sizeof(float)];
} speaker;

/* Opens a session with these options, but for the bindings; `provider` and `fixed_mask` are set. Pair with
 * speaker_close, even after a failure. */
tort_status speaker_open(speaker *s, const tort_model *model, const tort_session_options *options, tort_error *error);
void speaker_close(speaker *s);
/* Runs the token of this number, from 0 on: a word that follows from the number alone. On a device it may be one that
 * was said before. */
tort_status speaker_say(speaker *s, int64_t number, tort_error *error);
/* The largest difference of two logits. */
double speaker_difference(const speaker *a, const speaker *b);

#endif
