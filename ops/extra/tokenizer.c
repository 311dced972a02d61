/* tokenizer.c - Tokenizer: splits texts into the matches of a pattern, or into the parts between separators.
 *
 * The number of tokens depends on data: infer counts them. Marks are the characters 2 and 3 around the tokens. Patterns
 * are compiled when a model is loaded and again in each run, since params hold no pointers. */
#include "ops/extra/regex.h"
#include "runtime/core/base/error.h"
#include "runtime/include/op.h"

#include <stdio.h>
#include <string.h>

enum { MAX_SEPARATORS = 64 };

typedef struct tokenizer_params {
    tort_list separators; /* strings; empty: `token` is the pattern of the tokens */
    tort_list token, pad;
    int64_t min; /* least number of characters of a token */
    bool mark;
} tokenizer_params;

/* A compiled tokenizer. Owns the patterns: close_splitter is called also after open_splitter fails. */
typedef struct splitter {
    tort_regex *patterns[MAX_SEPARATORS]; /* of the separators, or one of the tokens */
    int32_t separators;                   /* 0: patterns[0] matches tokens */
    bool characters;                      /* every character is a token */
    int64_t min;
} splitter;

/* ---- patterns ---------------------------------------------------------------------------------------------------- */

static tort_status check_node(const tort_node_view *node, tort_error *error) {
    const tort_attribute *separators = tort_attr(node, "separators"), *token = tort_attr(node, "tokenexp");
    const int64_t min = tort_attr_int(node, "mincharnum");
    if (min < 1) return tort_fail(error, TORT_E_MODEL, "mincharnum is %lld, expected 1 or more", (long long)min);
    if (separators && separators->count > MAX_SEPARATORS)
        return tort_fail(error, TORT_E_UNSUPPORTED, "has %d separators; tinyort takes at most %d", separators->count,
                         MAX_SEPARATORS);
    if ((separators && separators->count) || (token && token->u.s.length)) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "has neither separators nor tokenexp; expected one of them");
}

static tort_status open_pattern(tort_string text, const char *name, tort_regex **pattern, tort_error *error) {
    char message[200];
    *pattern = tort_regex_open(text.data, text.length, message, sizeof message);
    if (*pattern) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "%s is \"%.*s\": %s (syntax of RE2)", name,
                     text.length < 60 ? (int)text.length : 60, text.data, message);
}

static tort_status open_separator(tort_string text, int32_t i, tort_regex **pattern, tort_error *error) {
    char name[32];
    snprintf(name, sizeof name, "separators[%d]", i);
    tort_status status = open_pattern(text, name, pattern, error);
    if (status || !tort_regex_matches(*pattern, "", 0)) return status;
    return tort_fail(error, TORT_E_MODEL, "%s is \"%.*s\", which separates where there is nothing", name,
                     text.length < 60 ? (int)text.length : 60, text.data);
}

static void close_splitter(splitter *split) {
    for (int32_t i = 0; i < MAX_SEPARATORS; i++)
        if (split->patterns[i]) tort_regex_close(split->patterns[i]);
}

/* Compiles the separators in `texts` or, if there are none, the pattern of a token in texts[0]. */
static tort_status open_splitter(splitter *split, const tort_string *texts, int32_t separators, tort_error *error) {
    const tort_string first = texts[0];
    split->separators = separators;
    split->characters = separators ? separators == 1 && first.length == 0 : first.length == 1 && *first.data == '.';
    tort_status status = TORT_OK;
    if (split->characters && split->min > 1)
        return tort_fail(error, TORT_E_MODEL, "mincharnum is %lld, but tokens are single characters",
                         (long long)split->min);
    if (!separators && !split->characters) status = open_pattern(first, "tokenexp", &split->patterns[0], error);
    for (int32_t i = 0; i < separators && !split->characters && !status; i++)
        status = open_separator(texts[i], i, &split->patterns[i], error);
    return status;
}

/* ---- splitting --------------------------------------------------------------------------------------------------- */

/* Collects the tokens of a text. */
typedef struct tokens {
    const splitter *split;
    struct tort_watch *watch;
    int64_t done;        /* see tort_work_goes_on */
    bool over;           /* the run is: tokens are missing */
    tort_string *out;    /* NULL: tokens are only counted */
    int64_t count, room; /* room: in `out`, as many as were counted; the text may have changed since */
} tokens;

static bool goes_on(tokens *t, int64_t work) {
    t->over = t->over || !tort_work_goes_on(t->watch, &t->done, work);
    return !t->over;
}

/* tort_regex_find; false also if the run is over. */
static bool find(tokens *t, const tort_regex *pattern, tort_string text, size_t from, size_t *at, size_t *length) {
    const bool found = tort_regex_find(pattern, text.data, text.length, from, at, length);
    return goes_on(t, 16 + (int64_t)((found ? *at + *length : text.length) - from)) && found;
}

/* Bytes of the first UTF-8 character of a text that is not empty: up to the next byte that begins a character. */
static size_t character_length(const char *data, size_t length) {
    size_t at = 1;
    while (at < length && ((unsigned char)data[at] & 0xC0) == 0x80) at++;
    return at;
}

/* Adds a token; false if it has too few characters, there is no room, or the run is over. */
static bool put_token(tokens *t, const char *data, size_t length) {
    int64_t characters = 0;
    if (t->over || (t->out && t->count == t->room)) return false;
    for (size_t at = 0; at < length; characters++) at += character_length(data + at, length - at);
    if (characters < t->split->min) return false;
    if (t->out) t->out[t->count] = (tort_string){data, length};
    t->count++;
    return true;
}

static void split_characters(tokens *t, tort_string text) {
    for (size_t at = 0, length; at < text.length && goes_on(t, 8); at += length) {
        length = character_length(text.data + at, text.length - at);
        put_token(t, text.data + at, length);
    }
}

/* Adds the matches of the pattern. After a match that is too short, the search goes on at its second character. */
static void split_matches(tokens *t, tort_string text) {
    size_t at, length;
    for (size_t from = 0; find(t, t->split->patterns[0], text, from, &at, &length); from = at + length)
        if (!put_token(t, text.data + at, length)) length = character_length(text.data + at, length);
}

/* Splits by one separator, and the parts recursively by those after it in the list: at most MAX_SEPARATORS deep. */
static void split_between(tokens *t, tort_string text, int32_t separator) {
    const splitter *split = t->split;
    size_t at, length, from = 0;
    if (separator == split->separators) {
        put_token(t, text.data, text.length);
        return;
    }
    const tort_regex *pattern = split->patterns[separator];
    for (; find(t, pattern, text, from, &at, &length); from = at + length)
        split_between(t, (tort_string){text.data + from, at - from}, separator + 1);
    split_between(t, (tort_string){text.data + from, text.length - from}, separator + 1);
}

static int64_t split_text(tokens *t, tort_string text, tort_string *out, int64_t room) {
    t->out = out;
    t->room = room;
    t->count = 0;
    if (!goes_on(t, 16) || text.length == 0) return 0;
    if (t->split->characters)
        split_characters(t, text);
    else if (t->split->separators == 0)
        split_matches(t, text);
    else
        split_between(t, text, 0);
    return t->count;
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static tort_status find_widest(const tort_infer *infer, const splitter *split, const tort_string *texts, int64_t count,
                               int64_t *max) {
    tokens t = {.split = split, .watch = infer->watch};
    *max = 0;
    for (int64_t i = 0; i < count && !t.over; i++) {
        const int64_t made = split_text(&t, texts[i], NULL, 0);
        if (made > *max) *max = made;
    }
    return t.over ? tort_run_is_over(infer->error) : TORT_OK;
}

static tort_status open_node(const tort_infer *infer, splitter *split) {
    const tort_attribute *list = tort_attr(infer->node, "separators"), *token = tort_attr(infer->node, "tokenexp");
    const int32_t separators = list ? list->count : 0;
    split->min = tort_attr_int(infer->node, "mincharnum");
    return open_splitter(split, separators ? list->u.strings : &token->u.s, separators, infer->error);
}

/* Infers the shape [C, tokens] or [N, C, tokens]. */
static tort_status infer_tokens(tort_infer *infer, const splitter *split) {
    const tort_info *x = &infer->node->inputs[0];
    if (x->rank < 0) return TORT_OK;
    if (x->rank != 1 && x->rank != 2)
        return tort_fail(infer->error, TORT_E_MODEL, "X has rank %d, expected [C] or [N, C]", x->rank);
    tort_dim dims[3];
    for (int32_t k = 0; k < x->rank; k++) dims[k] = x->dims[k];
    const tort_dim count = x->rank == 1 ? x->dims[0] : tort_dim_mul(infer->dims, x->dims[0], x->dims[1]);
    dims[x->rank] = tort_dim_fresh(infer->dims, true);
    if (count == 0) dims[x->rank] = 0;
    if (x->data && tort_dim_known(count)) {
        int64_t max;
        tort_status status = find_widest(infer, split, x->data, count, &max);
        if (status) return status;
        dims[x->rank] = max && tort_attr_int(infer->node, "mark") ? max + 2 : max;
    }
    tort_infer_shape(infer, 0, TORT_STRING, x->rank + 1, dims);
    return TORT_OK;
}

static tort_status tokenizer_infer(tort_infer *infer) {
    splitter split = {0};
    tort_infer_shape(infer, 0, TORT_STRING, -1, NULL);
    tort_status status = check_node(infer->node, infer->error);
    if (!status) status = open_node(infer, &split);
    if (!status) status = infer_tokens(infer, &split);
    close_splitter(&split);
    return status;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static tort_status tokenizer_resolve(tort_resolve *resolve) {
    tokenizer_params *params = resolve->params;
    params->separators = tort_resolve_list(resolve, "separators");
    params->token = tort_resolve_list(resolve, "tokenexp");
    params->pad = tort_resolve_list(resolve, "pad_value");
    params->min = tort_attr_int(resolve->node, "mincharnum");
    params->mark = tort_attr_int(resolve->node, "mark") != 0;
    return TORT_OK;
}

static tort_status open_params(const tort_call *call, splitter *split) {
    const tokenizer_params *params = call->params;
    tort_string texts[MAX_SEPARATORS] = {{tort_list_at(params, params->token), (size_t)params->token.count}};
    const int32_t separators = (int32_t)params->separators.count;
    split->min = params->min;
    for (int32_t i = 0; i < separators; i++) texts[i] = tort_list_string(params, params->separators, i);
    return open_splitter(split, texts, separators, call->error);
}

/* Writes the tokens, which borrow bytes of X, marks and padding. */
static void write_tokens(const tort_call *call, const splitter *split, tort_string pad) {
    const tokenizer_params *params = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const int64_t count = tort_count(x), width = y->dims[x->rank];
    tokens t = {.split = split, .watch = call->watch};
    for (int64_t i = 0; i < count && width && !t.over; i++) {
        tort_string *row = (tort_string *)y->data + i * width;
        const tort_string text = ((const tort_string *)x->data)[i];
        int64_t made = split_text(&t, text, row + params->mark, width - 2 * params->mark) + params->mark;
        if (params->mark) {
            row[0] = (tort_string){"\x02", 1};
            row[made++] = (tort_string){"\x03", 1};
        }
        while (made < width && goes_on(&t, 1)) row[made++] = pad;
    }
}

/* Copies the padding, since outputs outlive params. */
static tort_status tokenizer_reference(const tort_call *call) {
    const tokenizer_params *params = call->params;
    const size_t pad_length = (size_t)params->pad.count;
    splitter split = {0};
    char *pad = tort_call_text(call, pad_length + 1);
    if (!pad) return tort_out_of_memory(call->error, pad_length);
    if (pad_length) memcpy(pad, tort_list_at(params, params->pad), pad_length);
    tort_status status = open_params(call, &split);
    if (!status) write_tokens(call, &split, (tort_string){pad, pad_length});
    close_splitter(&split);
    return status;
}

const tort_op tort_ops_tokenizer[] = {
    {"com.microsoft", "Tokenizer", 1, 1, "X:T", "Y:T", "T=string",
     "mark:int! mincharnum:int! pad_value:string! separators:strings tokenexp:string", .shape_inputs = 1u << 0,
     .flags = TORT_OP_LISTS, .params_size = sizeof(tokenizer_params), tokenizer_infer, tokenizer_resolve,
     tokenizer_reference},
    {0},
};
