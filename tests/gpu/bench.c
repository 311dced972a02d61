/* bench.c - times single kernels on a GPU and prints tables in Markdown.
 *
 *   bench [--tiny] [OPERATOR]
 *
 * A case (bench_table.c) is a model of one node. One session plans it with libraries=off, one with them, so that the
 * own row and the library's are those that users get. The row's run is called again and again between two events on the
 * context's stream, its tensors in device memory: no copies, no planning. Own row, library row and a copy on the device
 * (cudaMemcpyAsync of as many bytes, read and written) take turns; medians are shown, and the ratio of speeds with the
 * smallest and largest of its rounds. Outputs of both rows are compared. --tiny shrinks every size and runs everything
 * once, to see that it works: on the simulated device this same file is linked with kernels/cudasim. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/cuda/cuda_provider.h"
#include "kernels/cuda/device.h"
#include "ops/numeric.h"
#include "tests/cuda/kernel_case.h"
#include "tests/cuda/wrapped.h"
#include "tests/report_of.h"

extern const char *const bench_lines[];
extern const tort_provider CUDA_PROVIDER_SYMBOL;

enum {
    ROUNDS = 7,
    FEWEST_REPEATS = 5,
    MAX_REPEATS = 2000,
    TINY_REPEATS = 2,
    TINY_DIVISOR = 16,
    SMALLEST_SHRUNK = 9,
    LINE = 256
};
static const double round_ms = 20; /* of one side of a round */

/* ---- timing: the run of every wrapped row ---- */

/* What run_timed does next, and what it found. */
static struct {
    const tort_kernel *row; /* NULL: the copy */
    int repeats;
    cudaEvent_t begin, end;
    void *copy_from, *copy_to;
    size_t copy_bytes;
    double ms, bytes, flops; /* of one run; bytes and flops only of a row */
} timed;

static double bytes_of(const tort_tensor *tensor) {
    size_t bytes = 0;
    return tort_present(tensor) && tort_tensor_bytes(tensor, &bytes) ? (double)bytes : 0;
}

/* Bytes that must be read and written. Gather reads no more of its first input than it writes. */
static double traffic(const tort_call *call) {
    double written = 0, read = 0;
    for (int32_t i = 0; i < call->output_count; i++) written += bytes_of(&call->outputs[i]);
    for (int32_t i = 0; i < call->input_count; i++) {
        double bytes = bytes_of(&call->inputs[i]);
        if (timed.row->host_inputs >> i & 1) continue;
        read += !strcmp(timed.row->op, "Gather") && i == 0 ? fmin(bytes, written) : bytes;
    }
    return read + written;
}

/* What a fused operator fuses; the name of any other. */
static const char *core_of(const char *op) {
    return strncmp(op, "Fused", 5) ? op : op + 5;
}

static bool is_product(const char *op) {
    const char *core = core_of(op);
    return !strcmp(core, "MatMul") || !strcmp(core, "Gemm") || !strcmp(core, "Conv") ||
           !strcmp(core, "MatMulInteger") || !strcmp(core, "QLinearConv");
}

/* Multiplications and additions of a product, or of the two of an attention; 0: another operator. */
static double arithmetic(const tort_call *call) {
    const tort_tensor *a = &call->inputs[0], *w = &call->inputs[1];
    const char *op = core_of(timed.row->op);
    double terms = 0;
    if (!strcmp(op, "Attention"))
        return 4 * (double)tort_count(&call->outputs[0]) *
               (double)call->inputs[1].dims[2]; /* as if nothing is masked */
    if (!strcmp(op, "MatMulNBits")) terms = (double)a->dims[a->rank - 1];
    if (!strcmp(op, "MatMul") || !strcmp(op, "Gemm") || !strcmp(op, "MatMulInteger"))
        terms = (double)a->dims[a->rank - 1]; /* A is not transposed */
    if (!strcmp(op, "QLinearConv")) w = &call->inputs[3];
    if (!strcmp(op, "Conv") || !strcmp(op, "QLinearConv")) terms = (double)tort_count(w) / (double)w->dims[0];
    return 2 * terms * (double)tort_count(&call->outputs[0]);
}

/* The right operand of a product, as often as a cache of a GPU cannot hold it: in a network, too, the weights of the
 * other layers pass through the cache before it comes again. */
typedef struct cycle {
    char *data;  /* NULL: the operand itself is used each time */
    size_t step; /* bytes */
    int count;
} cycle;

enum { CACHE_BYTES = 160 << 20 };

static cudaError_t open_cycle(cycle *c, const tort_call *call) {
    *c = (cycle){.step = (size_t)bytes_of(&call->inputs[1])};
    if (!timed.row || !is_product(timed.row->op) || call->packed || timed.repeats == 1) return cudaSuccess;
    c->step = (c->step + 255) / 256 * 256;
    c->count = c->step > CACHE_BYTES ? 0 : (int)(CACHE_BYTES / c->step) + 1;
    if (c->count > timed.repeats) c->count = timed.repeats;
    if (c->count < 2) return cudaSuccess;
    void *data;
    cudaError_t code = cudaMalloc(&data, c->step * (size_t)c->count);
    if (code == cudaSuccess) c->data = data;
    for (int i = 0; code == cudaSuccess && i < c->count; i++)
        code = cudaMemcpy(c->data + (size_t)i * c->step, call->inputs[1].data, (size_t)bytes_of(&call->inputs[1]),
                          cudaMemcpyDeviceToDevice);
    return code;
}

static tort_status run_once(const tort_call *call) {
    const cuda_stream *stream = call->stream;
    if (timed.row) return timed.row->run(call);
    return cuda_status(
        call->error,
        cudaMemcpyAsync(timed.copy_to, timed.copy_from, timed.copy_bytes, cudaMemcpyDeviceToDevice, stream->stream),
        "copying");
}

static tort_status run_timed(const tort_call *call) {
    const cuda_stream *stream = call->stream;
    float ms = 0;
    cycle weights;
    tort_call each = *call;
    tort_tensor inputs[CASE_TENSORS];
    for (int32_t i = 0; i < call->input_count; i++) inputs[i] = call->inputs[i];
    each.inputs = inputs;
    tort_status status = run_once(call); /* so that the caches and clocks are as in the runs that follow */
    if (status) return status;
    cudaError_t code = open_cycle(&weights, call);
    if (code == cudaSuccess) code = cudaEventRecord(timed.begin, stream->stream);
    for (int i = 0; code == cudaSuccess && !status && i < timed.repeats; i++) {
        if (weights.data) inputs[1].data = weights.data + (size_t)(i % weights.count) * weights.step;
        status = run_once(&each);
    }
    if (code == cudaSuccess) code = cudaEventRecord(timed.end, stream->stream);
    if (code == cudaSuccess) code = cudaEventSynchronize(timed.end);
    if (code == cudaSuccess) code = cudaEventElapsedTime(&ms, timed.begin, timed.end);
    if (weights.data) cudaFree(weights.data);
    if (status) return status;
    timed.ms = (double)ms / timed.repeats;
    if (timed.row) timed.bytes = traffic(call);
    if (timed.row) timed.flops = arithmetic(call);
    return cuda_status(call->error, code, "timing");
}

/* ---- a side: one case on one chain ---- */

typedef struct side {
    tort_session *session;
    tort_context *context;
    const tort_kernel *row;
    tort_tensor inputs[CASE_TENSORS], output;
    int32_t input_count;
    int repeats;
    double ms[ROUNDS];
    tort_error error;
} side;

static tort_status upload(side *s, const kernel_case *c) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < c->input_count; i++) {
        if (!c->inputs[i].tensor.type || c->inputs[i].constant) continue;
        tort_tensor *tensor = &s->inputs[s->input_count++];
        size_t bytes = 0;
        *tensor = c->inputs[i].tensor;
        tensor->data = NULL;
        (void)tort_tensor_bytes(tensor, &bytes);
        status = tort_memory_alloc(s->session, CUDA_PROVIDER_NAME, bytes, &tensor->data, &s->error);
        if (!status)
            status = tort_memory_copy(s->context, CUDA_PROVIDER_NAME, tensor->data, c->inputs[i].tensor.data, bytes,
                                      TORT_TO_DEVICE, &s->error);
    }
    return status;
}

static tort_status open_side(side *s, const kernel_case *c, const tort_model *model, const tort_provider *provider,
                             bool libraries, bool tf32) {
    static const char *const bindings[] = {"*=" CUDA_PROVIDER_NAME};
    const tort_provider *const providers[] = {provider, NULL};
    char chain[64];
    snprintf(chain, sizeof chain, "%s%s%s", CUDA_PROVIDER_NAME, libraries ? "" : ":libraries=off",
             tf32 ? ":tf32=on" : "");
    tort_session_options options = {.struct_size = sizeof options,
                                    .chain = chain,
                                    .require = CUDA_PROVIDER_NAME,
                                    .providers = providers,
                                    .bindings = bindings,
                                    .binding_count = 1,
                                    .unfolded = true};
    *s = (side){.repeats = 1};
    tort_status status = tort_session_create(NULL, model, &options, &s->session, &s->error);
    if (!status) status = tort_context_create(s->session, &s->context, &s->error);
    if (!status) status = upload(s, c);
    if (status) return status;
    tort_report *report = report_of(s->session);
    const tort_report_node *node = report->nodes[0];
    s->row = node->kernel ? wrapped_row(node->domain, node->op, node->kernel) : NULL;
    tort_report_free(report);
    return s->row ? TORT_OK : tort_fail(&s->error, TORT_E_PLACEMENT, "no kernel of the device serves it");
}

static void close_side(side *s) {
    for (int32_t i = 0; i < s->input_count; i++) {
        size_t bytes = 0;
        (void)tort_tensor_bytes(&s->inputs[i], &bytes);
        if (s->inputs[i].data) tort_memory_free(s->session, CUDA_PROVIDER_NAME, s->inputs[i].data, bytes);
    }
    tort_context_free(s->context);
    tort_session_free(s->session);
}

/* One side of a round: `row`, or the copy where it is NULL. */
static tort_status time_side(side *s, const tort_kernel *row, int repeats, double *ms) {
    tort_tensor outputs[CASE_TENSORS] = {{.data = NULL}};
    timed.row = row;
    timed.repeats = repeats;
    tort_status status = tort_context_run(s->context, s->inputs, s->input_count, outputs, 1, &s->error);
    if (row) s->output = outputs[0];
    *ms = timed.ms;
    return status;
}

/* How often to repeat for a round of round_ms. */
static int repeats_for(double ms) {
    return ms <= 0 ? MAX_REPEATS : (int)fmin(fmax(round_ms / ms, FEWEST_REPEATS), MAX_REPEATS);
}

/* ---- comparing the two rows ---- */

static void *fetch(side *s, size_t bytes) {
    void *host = malloc(bytes ? bytes : 1);
    if (host &&
        tort_memory_copy(s->context, CUDA_PROVIDER_NAME, host, s->output.data, bytes, TORT_TO_HOST, &s->error)) {
        free(host);
        return NULL;
    }
    return host;
}

/* The largest difference of the two outputs as a part of the largest value; NaN: could not be compared. */
static double difference(side *own, side *library) {
    size_t bytes = 0;
    double worst = 0, largest = 0;
    (void)tort_tensor_bytes(&own->output, &bytes);
    void *a = fetch(own, bytes), *b = fetch(library, bytes);
    for (int64_t i = 0; a && b && i < tort_count(&own->output); i++) {
        double x, y;
        tort_load_doubles(own->output.type, a, i, 1, &x);
        tort_load_doubles(own->output.type, b, i, 1, &y);
        worst = fabs(x - y) <= worst ? worst : fabs(x - y); /* a NaN stays */
        largest = fmax(largest, fabs(y));
    }
    bool compared = a && b;
    free(a);
    free(b);
    return !compared ? NAN : largest > 0 ? worst / largest : worst;
}

/* ---- one case: rounds ---- */

typedef struct measured {
    double own_ms, library_ms, copy_ms, ratio, min_ratio, max_ratio, bytes, flops, difference;
} measured;

static int by_size(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[count / 2];
}

static tort_status rounds(side *own, side *library, bool tiny, measured *m) {
    double copy_ms[ROUNDS], ratios[ROUNDS];
    const int count = tiny ? 1 : ROUNDS;
    double ms = 0;
    tort_status status = time_side(own, own->row, 1, &ms);
    m->bytes = timed.bytes;
    m->flops = timed.flops;
    timed.copy_bytes = (size_t)m->bytes / 2 ? (size_t)m->bytes / 2 : 1;
    own->repeats = tiny ? TINY_REPEATS : repeats_for(ms);
    if (!status && library) {
        status = time_side(library, library->row, 1, &ms);
        library->repeats = tiny ? TINY_REPEATS : repeats_for(ms);
    }
    if (!status)
        status = tort_memory_alloc(own->session, CUDA_PROVIDER_NAME, timed.copy_bytes, &timed.copy_from, &own->error);
    if (!status)
        status = tort_memory_alloc(own->session, CUDA_PROVIDER_NAME, timed.copy_bytes, &timed.copy_to, &own->error);
    int copies = 1;
    if (!status) status = time_side(own, NULL, 1, &ms);
    if (!tiny) copies = repeats_for(ms);
    for (int i = 0; !status && i < count; i++) {
        status = time_side(own, own->row, own->repeats, &own->ms[i]);
        if (!status && library) status = time_side(library, library->row, library->repeats, &library->ms[i]);
        if (!status) status = time_side(own, NULL, copies, &copy_ms[i]);
        if (!status && library) ratios[i] = library->ms[i] / own->ms[i];
    }
    if (timed.copy_from) tort_memory_free(own->session, CUDA_PROVIDER_NAME, timed.copy_from, timed.copy_bytes);
    if (timed.copy_to) tort_memory_free(own->session, CUDA_PROVIDER_NAME, timed.copy_to, timed.copy_bytes);
    timed.copy_from = timed.copy_to = NULL;
    if (status) return status;
    m->own_ms = median(own->ms, count);
    m->copy_ms = median(copy_ms, count);
    if (!library) return TORT_OK;
    m->library_ms = median(library->ms, count);
    m->ratio = median(ratios, count);
    m->min_ratio = ratios[0];
    m->max_ratio = ratios[count - 1];
    m->difference = difference(own, library);
    return TORT_OK;
}

/* ---- printing ---- */

static const char *const memory_heading =
    "| case | kernel | MB moved | us | GB/s | copy GB/s | of the copy | TFLOP/s |\n|---|---|---|---|---|---|---|---|\n";
static const char *const product_heading =
    "| case | own kernel | us | TFLOP/s | library kernel | us | TFLOP/s | own speed / library speed (range) | difference "
    "|\n|---|---|---|---|---|---|---|---|---|\n";

static void print_memory(const char *name, const side *own, const measured *m) {
    printf("| %s | %s | %.1f | %.1f | %.0f | %.0f | %.0f %% | ", name, own->row->name, m->bytes / 1e6, 1e3 * m->own_ms,
           m->bytes / m->own_ms / 1e6, 2.0 * (double)timed.copy_bytes / m->copy_ms / 1e6,
           100 * (m->bytes / m->own_ms) / (2.0 * (double)timed.copy_bytes / m->copy_ms));
    if (m->flops > 0) printf("%.2f ", m->flops / m->own_ms / 1e9);
    printf("|\n");
}

/* Why no library row serves. */
static void print_refusal(const side *library) {
    tort_report *report = report_of(library->session);
    const tort_report_node *node = report->nodes[0];
    for (int32_t i = 0; i < node->verdict_count; i++) {
        const tort_report_verdict *verdict = node->verdicts[i];
        const tort_kernel *row = wrapped_row(node->domain, node->op, verdict->kernel);
        if (!row || !row->needs) continue;
        printf("%s: %s %s | | | | |\n", verdict->kernel, tort_verdict_name(verdict->code), verdict->message);
        tort_report_free(report);
        return;
    }
    printf("none | | | | |\n");
    tort_report_free(report);
}

static void print_product(const char *name, const side *own, const side *library, const measured *m) {
    printf("| %s | %s | %.1f | %.2f | ", name, own->row->name, 1e3 * m->own_ms, m->flops / m->own_ms / 1e9);
    if (!library->row->needs) {
        print_refusal(library);
        return;
    }
    printf("%s | %.1f | %.2f | %.2f (%.2f to %.2f) | %.1e |\n", library->row->name, 1e3 * m->library_ms,
           m->flops / m->library_ms / 1e9, m->ratio, m->min_ratio, m->max_ratio, m->difference);
}

/* ---- the table ---- */

typedef struct variant {
    tort_type type;
    bool tf32;
    double tolerance; /* of the difference between the own row and the library's */
} variant;

/* The line with every number in [] and {} from SMALLEST_SHRUNK up divided, the same number always to the same; the last
 * dimension of bytes stays, as they are blocks of weights. */
static void shrink(const char *line, char *out) {
    bool inside = false, bytes = false;
    size_t used = 0;
    while (*line && used + 24 < LINE) {
        if (*line == '[') bytes = used > 1 && !strncmp(out + used - 2, "u8", 2);
        inside = *line == '[' || *line == '{' || (inside && *line != ']' && *line != '}');
        if (inside && isdigit((unsigned char)*line)) {
            long long number = strtoll(line, (char **)&line, 10);
            const bool kept = bytes && *line == ']';
            if (number >= SMALLEST_SHRUNK && !kept) number = (number + TINY_DIVISOR - 1) / TINY_DIVISOR;
            used += (size_t)sprintf(out + used, "%lld", number);
        } else {
            out[used++] = *line++;
        }
    }
    out[used] = '\0';
}

/* False: something failed, and was said. */
static bool run_case(const char *line, const variant *v, bool tiny) {
    uint64_t random = 88172645463325252u;
    const bool product = is_product(kernel_case_row(line)->name);
    kernel_case c;
    onnx_bytes bytes = {0};
    tort_model *model = NULL;
    side own = {0}, library = {0};
    measured m = {0};
    tort_error error = {.msg = ""};
    char name[LINE];
    if (!kernel_case_make(line, v->type, 0, product, &random, &c)) return false;
    kernel_case_write(&c, &bytes);
    kernel_case_describe(&c, name, sizeof name);
    if (v->tf32) strncat(name, " TF32", sizeof name - strlen(name) - 1);
    const tort_provider *provider = wrapped_provider(&CUDA_PROVIDER_SYMBOL, true, run_timed);
    tort_status status = tort_model_load_buffer(NULL, bytes.data, bytes.size, NULL, &model, &error);
    if (!status && (status = open_side(&own, &c, model, provider, false, v->tf32))) error = own.error;
    if (!status && product && (status = open_side(&library, &c, model, provider, true, v->tf32))) error = library.error;
    const bool two = product && !status && library.row->needs;
    if (!status && (status = rounds(&own, two ? &library : NULL, tiny, &m)))
        error = own.error.code ? own.error : library.error;
    if (!status && product)
        print_product(name, &own, &library, &m);
    else if (!status)
        print_memory(name, &own, &m);
    else
        printf("| %s | FAILED: %s |\n", name, error.msg);
    const bool agree = !two || m.difference <= (c.inputs[0].tensor.type == TORT_BFLOAT16 ? 3e-2 : v->tolerance);
    if (!status && !agree) printf("| %s | FAILED: the own kernel and the library differ |\n", name);
    fflush(stdout);
    close_side(&own);
    close_side(&library);
    tort_model_free(model);
    onnx_free(&bytes);
    kernel_case_free(&c);
    return !status && agree;
}

static void run_lines(const char *only, bool products, bool tiny, int *passed, int *failed) {
    static const variant variants[] = {
        {TORT_FLOAT, false, 1e-4}, {TORT_FLOAT, true, 1e-2}, {TORT_FLOAT16, false, 1e-2}};
    printf("\n%s\n\n%s", products ? "### Products" : "### Bound by memory",
           products ? product_heading : memory_heading);
    for (int i = 0; bench_lines[i]; i++) {
        char line[LINE];
        const tort_op *op = kernel_case_row(bench_lines[i]);
        if (!op || is_product(op->name) != products || (only && strcmp(only, op->name))) continue;
        snprintf(line, sizeof line, "%s", bench_lines[i]);
        if (tiny) shrink(bench_lines[i], line);
        for (size_t k = 0; k < sizeof variants / sizeof *variants; k++) {
            if ((variants[k].tf32 && !products) || (k && !kernel_case_has_type_letter(line))) continue;
            if (run_case(line, &variants[k], tiny))
                ++*passed;
            else
                ++*failed;
        }
    }
}

/* The device that opens for a model of this one node, in the provider's own words, with the library that serves it. */
static bool print_device(const char *line) {
    const tort_provider *const providers[] = {&CUDA_PROVIDER_SYMBOL, NULL};
    kernel_case c;
    onnx_bytes bytes = {0};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_error error = {.msg = ""};
    uint64_t random = 1;
    tort_session_options options = {.struct_size = sizeof options,
                                    .chain = CUDA_PROVIDER_NAME,
                                    .require = CUDA_PROVIDER_NAME,
                                    .providers = providers,
                                    .unfolded = true};
    if (!kernel_case_make(line, TORT_FLOAT, 0, false, &random, &c)) return false;
    kernel_case_write(&c, &bytes);
    tort_status status = tort_model_load_buffer(NULL, bytes.data, bytes.size, NULL, &model, &error);
    if (!status) status = tort_session_create(NULL, model, &options, &session, &error);
    tort_report *report = status ? NULL : report_of(session);
    printf("%s\n", report ? report->providers[0]->description : error.msg);
    tort_report_free(report);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&bytes);
    kernel_case_free(&c);
    return !status;
}

static bool print_heading(int argc, char **argv) {
    char date[32];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", gmtime(&now));
    printf("%s, `", date);
    for (int i = 0; i < argc; i++) printf("%s%s", i ? " " : "", argv[i]);
    printf("`\n\n");
    return print_device("MatMul 13; ; f32[2,2] f32[2,2]") && print_device("Conv 11; ; f32[1,3,8,8] f32[4,3,3,3]");
}

int main(int argc, char **argv) {
    const bool tiny = argc > 1 && !strcmp(argv[1], "--tiny");
    const char *only = argc > 1 + tiny ? argv[1 + tiny] : NULL;
    int passed = 0, failed = 0;
    if (!print_heading(argc, argv)) return 1;
    if (cudaEventCreate(&timed.begin) != cudaSuccess || cudaEventCreate(&timed.end) != cudaSuccess) {
        printf("bench: no event could be made\n");
        return 1;
    }
    run_lines(only, false, tiny, &passed, &failed);
    run_lines(only, true, tiny, &passed, &failed);
    cudaEventDestroy(timed.begin);
    cudaEventDestroy(timed.end);
    printf("\ngpu-bench: %d passed, %d failed\n", passed, failed);
    return failed != 0 || passed == 0;
}
