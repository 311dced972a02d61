/* strings.c - StringConcat, StringSplit, StringNormalizer. Strings are UTF-8; their bytes are shared where they can be.
 *
 * The numbers of parts of StringSplit and of strings that StringNormalizer keeps depend on data: infer counts them. */
#include "ops/broadcast.h"
#include "ops/shapes.h"

#include <string.h>

/* ---- StringConcat -------------------------------------------------------------------------------------------- */

typedef struct concat_job {
    const tort_call *call;
    bool failed;
} concat_job;

static void concat_row(void *arg, const tort_loop *loop, int64_t first, int64_t count, const int64_t *offsets) {
    concat_job *job = arg;
    const tort_string *a = (const tort_string *)job->call->inputs[0].data + offsets[0];
    const tort_string *b = (const tort_string *)job->call->inputs[1].data + offsets[1];
    tort_string *out = (tort_string *)job->call->outputs[0].data + first;
    for (int64_t i = 0; i < count && !job->failed; i++, a += loop->steps[0], b += loop->steps[1]) {
        if (!tort_row_goes_on(job->call->watch, first + i)) return;
        char *text = tort_call_text(job->call, a->length + b->length);
        if (!text) {
            job->failed = true;
            return;
        }
        if (a->length) memcpy(text, a->data, a->length);
        if (b->length) memcpy(text + a->length, b->data, b->length);
        out[i] = (tort_string){text, a->length + b->length};
    }
}

static tort_status concat_reference(const tort_call *call) {
    concat_job job = {call, false};
    tort_loop loop = tort_loop_broadcast(&call->outputs[0], call->inputs, 2);
    tort_loop_run(&loop, 0, loop.count, concat_row, &job);
    return job.failed ? tort_fail(call->error, TORT_E_MEMORY, "out of memory for strings") : TORT_OK;
}

/* ---- StringSplit --------------------------------------------------------------------------------------------- */

typedef struct split_params {
    tort_list delimiter;
    int64_t limit; /* maximum number of splits */
} split_params;

/* Rule of a split: an empty delimiter stands for runs of white space. */
typedef struct splitter {
    tort_string delimiter;
    int64_t limit;
} splitter;

static int64_t split_limit(const tort_node_view *node) {
    bool limited = tort_attr(node, "maxsplit") && tort_attr_int(node, "maxsplit") >= 0;
    return limited ? tort_attr_int(node, "maxsplit") : INT64_MAX;
}

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static size_t find_space(tort_string text) {
    size_t at = 0;
    while (at < text.length && !is_space(text.data[at])) at++;
    return at;
}

static size_t find_delimiter(tort_string text, tort_string delimiter) {
    for (size_t at = 0; at + delimiter.length <= text.length; at++) {
        if (!memcmp(text.data + at, delimiter.data, delimiter.length)) return at;
    }
    return text.length;
}

static void skip(tort_string *text, size_t count) {
    text->data += count;
    text->length -= count;
}

/* Splits a text into `parts` (NULL: only counts); the rest after the last allowed split is one part. */
static int64_t split_text(const splitter *how, tort_string text, tort_string *parts) {
    bool spaces = how->delimiter.length == 0;
    int64_t count = 0;
    for (;;) {
        while (spaces && text.length > 0 && is_space(*text.data)) skip(&text, 1);
        if (spaces && text.length == 0) return count;
        size_t end = spaces ? find_space(text) : find_delimiter(text, how->delimiter);
        bool last = count >= how->limit || end == text.length;
        if (last) end = text.length;
        if (parts) parts[count] = (tort_string){text.data, end};
        count++;
        if (last) return count;
        skip(&text, end + (spaces ? 0 : how->delimiter.length));
    }
}

/* Finds the largest number of parts of a string of known contents. */
static tort_status widest_split(const tort_infer *infer, int64_t count, tort_dim *widest) {
    const tort_node_view *node = infer->node;
    const tort_string *texts = node->inputs[0].data;
    const tort_attribute *delimiter = tort_attr(node, "delimiter");
    const splitter how = {delimiter ? delimiter->u.s : (tort_string){"", 0}, split_limit(node)};
    *widest = 0;
    for (int64_t i = 0, done = 0; i < count; i++) {
        if (!tort_work_goes_on(infer->watch, &done, 64 + (int64_t)texts[i].length))
            return tort_run_is_over(infer->error);
        int64_t parts = split_text(&how, texts[i], NULL);
        if (parts > *widest) *widest = parts;
    }
    return TORT_OK;
}

static tort_status split_infer(tort_infer *infer) {
    const tort_info *input = &infer->node->inputs[0];
    tort_infer_unknown(infer, 0, TORT_STRING);
    tort_infer_unknown(infer, 1, TORT_INT64);
    if (input->rank < 0) return TORT_OK;
    tort_status status = tort_check_rank(infer->error, input->rank + 1);
    if (status) return status;
    tort_dim dims[TORT_MAX_RANK], count = tort_dim_product(infer->dims, input->rank, input->dims);
    for (int32_t k = 0; k < input->rank; k++) dims[k] = input->dims[k];
    tort_infer_shape(infer, 1, TORT_INT64, input->rank, dims);
    dims[input->rank] = tort_dim_fresh(infer->dims, true);
    if (count == 0) dims[input->rank] = 0;
    if (input->data && tort_dim_known(count)) status = widest_split(infer, count, &dims[input->rank]);
    tort_infer_shape(infer, 0, TORT_STRING, input->rank + 1, dims);
    return status;
}

static tort_status split_resolve(tort_resolve *resolve) {
    split_params *params = resolve->params;
    params->delimiter = tort_resolve_list(resolve, "delimiter");
    params->limit = split_limit(resolve->node);
    return TORT_OK;
}

static tort_status split_reference(const tort_call *call) {
    const split_params *params = call->params;
    const tort_list delimiter = params->delimiter;
    const splitter how = {{tort_list_at(params, delimiter), (size_t)delimiter.count}, params->limit};
    const tort_tensor *input = &call->inputs[0], *parts = &call->outputs[0];
    int64_t count = tort_count(input), width = parts->dims[input->rank];
    for (int64_t i = 0, done = 0; i < count; i++) {
        if (!tort_work_goes_on(call->watch, &done, 64 + (int64_t)((const tort_string *)input->data)[i].length + width))
            return TORT_OK;
        tort_string *row = (tort_string *)parts->data + i * width;
        int64_t made = split_text(&how, ((const tort_string *)input->data)[i], row);
        if (tort_present(&call->outputs[1])) ((int64_t *)call->outputs[1].data)[i] = made;
        for (; made < width; made++) row[made] = (tort_string){"", 0};
    }
    return TORT_OK;
}

/* ---- StringNormalizer ---------------------------------------------------------------------------------------- */

typedef enum letter_case { CASE_NONE, CASE_LOWER, CASE_UPPER } letter_case;

typedef struct normalizer_params {
    letter_case change;
    bool case_sensitive;
    tort_list stopwords;
} normalizer_params;

typedef struct stopwords {
    const tort_string *words;
    int64_t count;
    bool case_sensitive;
} stopwords;

/* Changes the case of a letter of one or two bytes in UTF-8 (ASCII, Latin-1, Latin Extended-A, Greek, Cyrillic).
 * Letters whose other case has another length, and all further alphabets, stay as they are. */
static uint32_t change_letter(uint32_t c, bool lower) {
    static const struct {
        uint32_t first, last, distance; /* first, last: capitals; distance: to the small letters */
    } ranges[] = {{'A', 'Z', 32},     {0xC0, 0xD6, 32},   {0xD8, 0xDE, 32},   {0x388, 0x38A, 37},
                  {0x391, 0x3A1, 32}, {0x3A3, 0x3AB, 32}, {0x386, 0x386, 38}, {0x38E, 0x38F, 63},
                  {0x38C, 0x38C, 64}, {0x410, 0x42F, 32}, {0x400, 0x40F, 80}};
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
        uint32_t distance = ranges[k].distance, shift = lower ? 0 : distance;
        if (c < ranges[k].first + shift || c > ranges[k].last + shift) continue;
        return lower ? c + distance : c - distance;
    }
    bool even_capital = (c >= 0x100 && c <= 0x12F) || (c >= 0x132 && c <= 0x137) || (c >= 0x14A && c <= 0x177);
    bool odd_capital = (c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E);
    if (even_capital) return lower ? c | 1 : c & ~1u;
    if (odd_capital) return lower ? c + (c & 1) : c - !(c & 1);
    return c;
}

static void change_case(const char *in, size_t length, bool lower, char *out) {
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)in[i];
        if (c < 0x80) {
            out[i] = (char)change_letter(c, lower);
        } else if ((c & 0xE0) == 0xC0 && i + 1 < length) {
            uint32_t letter = change_letter((c & 31u) << 6 | ((unsigned char)in[i + 1] & 63u), lower);
            out[i] = (char)(0xC0 | letter >> 6);
            out[++i] = (char)(0x80 | (letter & 63));
        } else {
            out[i] = in[i];
        }
    }
}

/* True if equal, or equal but for the case. Changing case keeps lengths, so it can go letter by letter. */
static bool same_text(tort_string a, tort_string b, bool case_sensitive) {
    if (a.length != b.length) return false;
    for (size_t i = 0; i < a.length; i++) {
        size_t letter = ((unsigned char)a.data[i] & 0xE0) == 0xC0 && i + 1 < a.length ? 2 : 1;
        char x[2], y[2];
        memcpy(x, a.data + i, letter);
        memcpy(y, b.data + i, letter);
        if (!case_sensitive) {
            change_case(a.data + i, letter, true, x);
            change_case(b.data + i, letter, true, y);
        }
        if (memcmp(x, y, letter)) return false;
        i += letter - 1;
    }
    return true;
}

static bool is_stopword(const stopwords *stop, tort_string text) {
    for (int64_t k = 0; k < stop->count; k++)
        if (same_text(text, stop->words[k], stop->case_sensitive)) return true;
    return false;
}

/* Counts strings of known contents that stay; at least one, which is then empty. */
static tort_status count_kept(const tort_infer *infer, int64_t length, tort_dim *kept) {
    const tort_node_view *node = infer->node;
    const tort_string *texts = node->inputs[0].data;
    const tort_attribute *words = tort_attr(node, "stopwords");
    const stopwords stop = {words ? words->u.strings : NULL, words ? words->count : 0,
                            tort_attr_int(node, "is_case_sensitive") != 0};
    *kept = 0;
    for (int64_t i = 0, done = 0; i < length; i++) {
        if (!tort_work_goes_on(infer->watch, &done, 64 + stop.count)) return tort_run_is_over(infer->error);
        *kept += !is_stopword(&stop, texts[i]);
    }
    if (*kept == 0) *kept = 1;
    return TORT_OK;
}

static tort_status normalizer_change(const tort_node_view *node, tort_error *error, letter_case *out) {
    const char *change = tort_attr_string(node, "case_change_action");
    *out = !strcmp(change, "LOWER") ? CASE_LOWER : !strcmp(change, "UPPER") ? CASE_UPPER : CASE_NONE;
    if (*out != CASE_NONE || !strcmp(change, "NONE")) return TORT_OK;
    return tort_fail(error, TORT_E_MODEL, "case_change_action \"%s\" is not LOWER, UPPER or NONE", change);
}

static tort_status normalizer_infer(tort_infer *infer) {
    const tort_info *input = &infer->node->inputs[0];
    letter_case change;
    tort_status status = normalizer_change(infer->node, infer->error, &change);
    if (status) return status;
    tort_infer_unknown(infer, 0, TORT_STRING);
    if (input->rank < 0) return TORT_OK;
    bool row = input->rank == 2 && (!tort_dim_known(input->dims[0]) || input->dims[0] == 1);
    if (input->rank != 1 && !row) {
        return tort_fail(infer->error, TORT_E_MODEL, "the input must be [C] or [1,C]; it has rank %d",
                         (int)input->rank);
    }
    tort_dim dims[2] = {1, 1}, length = input->dims[input->rank - 1], kept = tort_dim_fresh(infer->dims, true);
    if (input->data && tort_dim_known(length)) status = count_kept(infer, length, &kept);
    dims[input->rank - 1] = kept;
    tort_infer_shape(infer, 0, TORT_STRING, input->rank, dims);
    return status;
}

static tort_status normalizer_resolve(tort_resolve *resolve) {
    normalizer_params *params = resolve->params;
    params->case_sensitive = tort_attr_int(resolve->node, "is_case_sensitive") != 0;
    params->stopwords = tort_resolve_list(resolve, "stopwords");
    resolve->scratch_bytes = (size_t)params->stopwords.count * sizeof(tort_string);
    return normalizer_change(resolve->node, resolve->error, &params->change);
}

static tort_status change_string(const tort_call *call, letter_case change, tort_string *text) {
    if (change == CASE_NONE || text->length == 0) return TORT_OK;
    char *changed = tort_call_text(call, text->length);
    if (!changed) return tort_out_of_memory(call->error, text->length);
    change_case(text->data, text->length, change == CASE_LOWER, changed);
    text->data = changed;
    return TORT_OK;
}

static tort_status normalizer_reference(const tort_call *call) {
    const normalizer_params *params = call->params;
    const tort_string *in = call->inputs[0].data;
    tort_string *out = call->outputs[0].data, *words = call->scratch;
    const stopwords stop = {words, params->stopwords.count, params->case_sensitive};
    for (int64_t k = 0; k < stop.count; k++) words[k] = tort_list_string(params, params->stopwords, k);
    int64_t count = tort_count(&call->inputs[0]), kept = 0;
    for (int64_t i = 0, done = 0; i < count; i++) {
        if (!tort_work_goes_on(call->watch, &done, 64 + stop.count + (int64_t)in[i].length)) return TORT_OK;
        if (is_stopword(&stop, in[i])) continue;
        out[kept] = in[i];
        tort_status status = change_string(call, params->change, &out[kept]);
        if (status) return status;
        kept++;
    }
    if (kept == 0) out[0] = (tort_string){"", 0};
    return TORT_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

const tort_op tort_ops_strings[] = {
    {"", "StringConcat", 20, TORT_NEWEST_OPSET, "X:T Y:T", "Z:T", "T=string", "", .infer = tort_infer_binary,
     .reference = concat_reference},
    {"", "StringSplit", 20, TORT_NEWEST_OPSET, "X:T1", "Y:T2 Z:T3", "T1=string T2=string T3=int64",
     "delimiter:string maxsplit:int", .shape_inputs = 1u << 0, .flags = TORT_OP_LISTS,
     .params_size = sizeof(split_params), split_infer, split_resolve, split_reference},
    {"", "StringNormalizer", 10, TORT_NEWEST_OPSET, "X:string", "Y:string", "",
     "case_change_action:string=NONE is_case_sensitive:int=0 locale:string stopwords:strings", .shape_inputs = 1u << 0,
     .flags = TORT_OP_LISTS, .params_size = sizeof(normalizer_params), normalizer_infer, normalizer_resolve,
     normalizer_reference},
    {0},
};
