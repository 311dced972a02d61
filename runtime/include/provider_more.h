/* provider_more.h - what some providers need: packed weights, fitted data, segments, layouts, strides, recorded runs,
 * bands of rows, code for firmware. Each part stands for itself; provider.h has the members of tort_kernel and
 * tort_provider that use it.
 *
 * Read next: tests/segments/engine_provider.c, which compiles several nodes into one;
 * tests/layouts/channels_provider.c, which has a layout of its own; kernels/firmware/README.md for emit. */
#ifndef TORT_RUNTIME_PROVIDER_MORE_H
#define TORT_RUNTIME_PROVIDER_MORE_H

#include "runtime/include/op.h"

struct tort_target;
struct tort_prepare;
typedef struct tort_verdict tort_verdict;

/* ---- what is made once a session, and once for some shapes ------------------------------------------------------- */

/* Weights in the order in which run reads them, written by prepare. */
typedef struct tort_pack {
    /* Pure: bytes of packed weights that prepare will write, so that a plan knows them before a weight is read; bit i
     * of *consumed: input i is packed, and run never reads it. NULL: nothing is packed. Packed bytes hold no addresses:
     * a saved plan contains them, and a session loaded from it gets them without calling prepare, which must make
     * nothing else for a node that it packs. */
    tort_status (*size)(const struct tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                        tort_error *error);
    /* True if nodes with these params and the same packed inputs pack the same. NULL: they do if all their params and
     * all their constants are equal. Such nodes share one block. */
    bool (*alike)(const void *params, const void *others);
    /* What run needs besides, and no file holds, such as kernels loaded by a device. Called once for each node before
     * anything is packed, also where its packed weights come from a saved plan or are another node's. NULL: nothing. */
    tort_status (*ready)(struct tort_prepare *prepare);
    uint32_t in_parts; /* bit i: prepare accepts constant input i without data, and reads it in parts */
    bool writes_all;   /* prepare writes every byte of packed: no need to zero it */
} tort_pack;

enum { TORT_FIT_WORDS = 128 };
#define TORT_NEVER_TRIED UINT32_MAX /* tort_fit.choice: nothing may be tried */

/* Arguments and results of fit, which makes data that depends on the node's shapes, params and scratch, such as a
 * library's descriptors and its choice of an algorithm. Plans that agree on these share it. A step whose shapes depend
 * on data is fitted immediately before it runs. */
typedef struct tort_fit {
    const tort_node_view *node; /* shapes and params as for size: concrete */
    const struct tort_target *target;
    size_t scratch; /* bytes of scratch that run will have, or fewer, see needs */
    bool frugal;    /* memory is too short for what size stated: take what needs the least scratch */
    void *device;
    /* Stream of the context that is about to run the step; NULL while planning, when no other fit is in progress. */
    void *stream;
    const tort_env *env;
    /* To fill: passed to unfit and to run, which must not change it, as contexts share it; NULL: nothing. */
    void *fitted;
    /* To fill: bytes of scratch that run needs of those, where the choice made here needs fewer. */
    size_t needs;
    /* To fill: a literal that reports show as the kernel, if another one than the row's does the work; NULL. */
    const char *label;
    tort_error *error;
    /* The number, in the kernel's own terms, of what was found the fastest by trying: on entry what was found before
     * for such a node, shapes, types and params, in a saved plan perhaps, so a number that means nothing is as
     * TORT_NEVER_TRIED; 0: nothing yet. To fill: what is taken; 0: nothing that was tried. */
    uint32_t choice;
    char words[TORT_FIT_WORDS]; /* to fill when it was found: what reports show as the kernel from then on; else "" */
} tort_fit;

/* ---- memory that a kernel shares --------------------------------------------------------------------------------- */

/* Caches that a run extends: `count` pairs, of inputs from `input` on and outputs from `output` on. If an application
 * gives both of a pair one buffer, and they have one shape, run finds one pointer in both, and leaves there what it
 * does not replace. */
typedef struct tort_caches {
    int8_t input, output, count;
} tort_caches;

/* Inputs that run addresses by strides in params. Then a plan need not run the Transpose, Split, Slice or Gather that
 * would only make them contiguous. size must not depend on strides. */
typedef struct tort_strided {
    uint32_t inputs; /* bit i: input i */
    /* Changes params, which resolve made for these shapes in row-major order, so that neighbours along axis k of the
     * input are strides[k] elements apart. */
    void (*restride)(const tort_node_view *node, void *params, int32_t input, const int64_t *strides);
} tort_strided;

/* Where output 0 may lie although it overlaps input 0: it begins at least `below` bytes before the input, and the
 * kernel works upwards, or at least `rise` bytes behind the input's begin, and the kernel works downwards. So a kernel
 * reads an element before it writes over it. */
typedef struct tort_overlap {
    bool may;            /* false: never */
    int64_t below, rise; /* below >= 0, rise > 0 */
} tort_overlap;

/* ---- segments: nodes that are compiled into one ------------------------------------------------------------------ */

/* Use of a kernel row in segments: nodes that tort_provider.segments compiles together. An alias (Identity, Reshape),
 * which the executor would do otherwise, is only claimed for segments. */
typedef enum tort_in_segment {
    TORT_SEGMENT_NEVER,
    TORT_SEGMENT_MAY, /* also alone, as any node */
    TORT_SEGMENT_ONLY /* not alone: the row has a claim and nothing else */
} tort_in_segment;

/* A node of a segment. Its operands are values of the segment; -1: absent. */
typedef struct tort_segment_node {
    const tort_op *op;
    const char *name;
    const tort_attribute *attributes;
    const void *params; /* for the shapes in `values` */
    const int32_t *inputs, *outputs;
    int32_t attribute_count, input_count, output_count;
    int32_t opset; /* which the model imports of the operator's domain */
} tort_segment_node;

/* Nodes that are compiled into one: connected, and without a path between two of them through a node outside. All of
 * their operands are tensors, with shapes that the shapes of the model's inputs determine.
 *
 * The values: first those from outside, which are call->inputs of a run; then, for an engine that compiles ahead
 * (tort_engine), the constants, which it has taken by then and no run has; for others they are inputs, too. Then the
 * nodes' outputs. Those that are read outside are call->outputs, in the order of `outputs`; the others exist only if
 * the kernel keeps them, in memory that it requests by `size`. */
typedef struct tort_segment_view {
    const tort_segment_node *nodes; /* in topological order */
    /* In claim and tort_engine, a dimension may be a symbol; in size and fit all are numbers. Data of a constant is
     * available to tort_engine.compile always, to fit if the provider's memory is the host's, otherwise only if it is
     * small. */
    const tort_info *values;
    const char *const *names; /* of the values, in the graph; unique in it */
    const int32_t *outputs;   /* value numbers, ascending */
    int32_t node_count, value_count, input_count, constant_count, output_count;
    const struct tort_dims *dims; /* of the symbols: tort_dim_text writes one, as "batch" or "past+1" */
    /* Upper bounds of symbols, for tort_dim_evaluate; those without one are not in the list. */
    const struct tort_dim_binding *max;
    int32_t max_count;
} tort_segment_view;

/* ---- engines: devices that choose nodes and compile them ahead of runs ------------------------------------------- */

/* Arguments and results of choose: all nodes of one graph that a row of the provider claimed for segments. */
typedef struct tort_choice {
    const tort_node_view *node; /* node->segment has those nodes, connected or not */
    const struct tort_target *target;
    void *device;
    const tort_env *env;
    /* To fill, by node: the number of its segment, from 0 on, or -1, as on entry: it is declined. The core makes
     * several segments of one number where its nodes do not hang together, or depend on each other by way of others. */
    int32_t *groups;
    tort_verdict *declined; /* to fill: of all nodes that are */
    tort_error *error;
} tort_choice;

/* Arguments and results of compile. */
typedef struct tort_compiling {
    const tort_node_view *node; /* node->segment: what is compiled */
    const struct tort_target *target;
    void *device;
    const tort_env *env;
    struct tort_watch *watch; /* see tort_goes_on: once it says no, compile returns */
    const void *stored;       /* what `store` gave when a plan was saved, for the same nodes; NULL: nothing */
    size_t stored_bytes;
    void *compiled; /* to fill: call->prepared of runs, which `release` of the row frees */
    uint64_t held;  /* to fill: bytes of memory that the engine keeps for it; 0: unknown */
    /* To fill where the engine refuses, with its own words: then the nodes go on along the chain. YES on entry. */
    tort_verdict *verdict;
    char words[96]; /* to fill: what reports say of the segment, such as its precision; may be "" */
    tort_error *error;
} tort_compiling;

/* A line of a segment's profile: time that the engine spent in a part of it in the last run of a state. */
typedef struct tort_engine_time {
    char name[64], kind[32]; /* the node and its operator, as the engine names them */
    uint64_t ns;
} tort_engine_time;

/* Functions of an opened device, beside the row tort_provider.segments; called by one thread at a time unless said
 * otherwise. Contents of constants are only lent. */
typedef struct tort_engine {
    /* NULL: all of them, in one group. An error is a provider that fails, not one that declines. */
    tort_status (*choose)(tort_choice *choice);
    /* Compiles a segment once a session, before anything runs. A refusal is a verdict; an error, as of an allocator of
     * the application, ends the session. */
    tort_status (*compile)(tort_compiling *compile);
    /* Begins and ends what one context has of a segment, call->state of its runs. NULL: nothing. */
    tort_status (*begin)(void *device, const tort_env *env, void *compiled, void **state, tort_error *error);
    void (*end)(void *device, const tort_env *env, void *compiled, void *state);
    /* Gives bytes that stand for the compiled segment in a saved plan, allocated by tort_alloc of env, which the caller
     * frees; *bytes 0: it cannot be saved. Bytes that come back may be anybody's: compile checks them. NULL: never. */
    tort_status (*store)(void *device, const tort_env *env, void *compiled, void **data, size_t *bytes,
                         tort_error *error);
    /* Writes at most `max` lines of the state's last run; returns how many there are. NULL: none. */
    int32_t (*times)(void *device, void *compiled, void *state, tort_engine_time *times, int32_t max);
    /* Ends a run of the state that is in progress, from another thread. NULL: runs cannot be ended. */
    void (*cancel)(void *device, void *compiled, void *state);
} tort_engine;

/* ---- layouts: orders of elements other than row-major ------------------------------------------------------------ */

/* tort_kernel.layout.id of an elementwise row, which runs in any layout of its provider. */
enum { TORT_ANY_LAYOUT = -1 };

/* The layout of the operands of a kernel that are in the two masks; everything else is plain. Tensors have the shapes
 * of the node: only the order of their bytes differs. A layout pays if values stay in it between such kernels: a node
 * without such a neighbour goes to the provider's next row with a run that claims it, if there is one, unless `alone`
 * says otherwise. */
typedef struct tort_in_layout {
    /* Number from 1 on of a row of tort_provider.layouts; 0: all is plain. TORT_ANY_LAYOUT: plain, or the layout of a
     * neighbour. The inputs and outputs of the masks must then be of one shape; an input of one element stays plain. In
     * a layout, such a kernel sees lists (rank 1) of all elements of the layout, padding included. It has a run, and
     * neither size, pack.size nor fit. */
    int32_t id;
    uint32_t inputs, outputs; /* bit i: the kernel reads input i, or writes output i, in the layout */
    bool follows;             /* pays only beside a kernel of this layout that does not follow */
    bool enlarges;            /* pays only where its output, larger than its inputs, is read in this layout */
    /* Pure: true if the node is faster in this layout than by the next row even if all its operands are converted: then
     * it needs no neighbour. NULL: no. */
    bool (*alone)(const tort_node_view *node);
} tort_in_layout;

struct tort_emit; /* below */

/* An order of a tensor's elements other than row-major, possibly with padding, whose bits are undefined: channels last,
 * or channels in blocks. The place of an element, in elements, depends only on the dimensions. Only kernels of the
 * provider exchange values in a layout; for other readers the core converts them. */
typedef struct tort_layout {
    const char *name; /* shown in reports: "nhwc" */
    /* Pure: true if the layout can hold tensors of this type and shape, whose rank is known. A dimension may be a
     * symbol: then the answer is for all of its sizes. Only asked for types of whole bytes, and not for strings. */
    bool (*fits)(const tort_info *info);
    /* Pure: bytes of such a tensor, ignoring its data; no fewer than in plain form. As many: they are its elements, in
     * another order. False: overflow. */
    bool (*bytes)(const tort_tensor *tensor, size_t *bytes);
    /* Conversions: kernels of one input and one output of the same type and shape, not empty; params, scratch and
     * prepared data are NULL. */
    tort_status (*from_plain)(const tort_call *call);
    tort_status (*to_plain)(const tort_call *call);
    /* Prints the C statement of a conversion, as tort_kernel.emit; NULL: it cannot be compiled into firmware. */
    tort_status (*emit)(struct tort_emit *emit, bool to_plain);
} tort_layout;

/* ---- recorded runs ----------------------------------------------------------------------------------------------- */

enum { TORT_RECORDINGS = 4 }; /* of a stream */

/* The first steps of some plans, at best all, are only work on the stream, the same in each run but for the contents of
 * host memory: such work is recorded once, and launched as a whole. A stream has TORT_RECORDINGS of them, for an
 * application that runs some shapes, or some buffers, in turns. */
typedef struct tort_recorder {
    bool can; /* set also by a provider that can only describe a device */
    /* begin and end bracket these steps of a run. `which`: the recording that is its own; `same`: the last run with
     * that number was the same, at the same device addresses. begin returns true if the work is recorded already: then
     * only steps that copy between host and device are executed, and end launches the recording. Otherwise all steps
     * are executed, and begin may start recording them. end returns true if nothing of the work was executed, so that
     * all must be requested again. */
    bool (*begin)(void *device, void *stream, int32_t which, bool same);
    bool (*end)(void *device, void *stream, tort_status status);
    void (*note)(void *device, char *text, size_t size); /* why it does not record, or "" */
} tort_recorder;

/* ---- bands of rows (runtime/include/bands.h) --------------------------------------------------------------------- */

/* Rows that a kernel can work on by themselves, in bands (runtime/include/bands.h). The elements of a row are
 * neighbours, and rows follow each other, in output 0 and in the inputs of the mask; other inputs are whole. */
typedef struct tort_rows {
    uint32_t inputs; /* bit i: input i has rows; two bits at most; 0: the kernel works on all rows at once */
    /* out_rows 0: each element of the output comes from those at its place in these inputs, so that any number of rows
     * will do. The kernel then gets, and prints, operands of rank 1 that end with the band. */
    int32_t in_rows, out_rows;
    int32_t stride, above, reach; /* output row r reads `reach` input rows from r * stride - above on */
    /* The output, which is no rows, is complete with the last band. out_rows: those that are taken in; scratch keeps
     * its bytes from band to band. */
    bool reduces;
} tort_rows;

/* ---- code for firmware ------------------------------------------------------------------------------------------- */

/* An array of C within the packed weights of a node. */
typedef struct tort_packed_array {
    tort_type type;
    size_t offset, count; /* offset: bytes from the begin of the packed weights; count: elements */
} tort_packed_array;

/* Arguments and results of emit, which prints the C statement that does the work of run for one step, with its shapes
 * as constants: `tinyort compile` makes firmware of these statements. */
typedef struct tort_emit {
    const tort_node_view *node; /* shapes and params as for size: concrete */
    /* C expressions, by operand of the node: pointers to elements of its type, such as "in0", "digits_w3" or
     * "(float *)(values + 1152)"; "NULL": absent. */
    const char *const *inputs, *const *outputs;
    const char *scratch; /* C expression of the bytes by size, an unsigned char *; "NULL": none */
    const char *packed;  /* "digits_p3": packed weights are the arrays digits_p3_0, digits_p3_1 ...; "NULL": none */
    const void *weights; /* the packed weights themselves; NULL: none */
    const struct tort_target *target; /* of the provider */
    const char *processor;            /* "cortex-m4"; NULL: any */
    bool downwards;                   /* output 0 lies above input 0, see tort_overlap */
    bool banded; /* a band of rows, whose sizes are in the variable `band`, a tinyort_band. If any number of rows will
                  * do (tort_rows), the node's operands are one row, and the statement works on band.out_rows of it. */
    /* Return C expressions of what a call takes besides operands: the address of a constant struct, for its type, its
     * initializer and its members in order, which are int32_t; a number. `ud` is their first argument. NULL: out of
     * memory. */
    const char *(*constant)(void *ud, const char *type, const char *initializer, const int32_t *members, size_t count);
    const char *(*number)(void *ud, float number);
    void *ud;
    char call[32768];            /* to fill: the statement, with its ';', from column 0; "" at first */
    tort_packed_array arrays[8]; /* to fill: how the packed weights divide into arrays; count 0: no more */
    /* To fill: C sources of the functions that the statement calls, what others need first; static; NULL: no more. */
    const char *code[16];
    const char *defines[4]; /* to fill: lines of the preprocessor ahead of all code; static; NULL: no more */
    uint32_t stack_bytes;   /* to fill: below the call of a run, in the deepest function; UINT32_MAX: not known */
    tort_error *error;
} tort_emit;

#endif
