/* saved_format.h - the file format of a saved plan: the decisions of a session, and the weights as its
 * kernels read them.
 *
 * Little-endian, no padding inside sections. Numbers are u8, u32, i32, u64, i64; a text is a u32 length, its bytes and
 * a 0; a list is a u32 count and its entries.
 *
 *   header   "tinyplan", u32 TORT_SAVED_VERSION, u32 0
 *   sections each at a multiple of 64, in this order:
 *     DATA   contents of constants that are still read, then packed weights, each at a multiple of 64
 *     MADE   the maker (version, checksums of the rows of operators and kernels), chain and machine, options, choices
 *            that kernels made by trying
 *     FACT   metadata of the model
 *     WGHT   the constants: type, dims, place in DATA; no contents if only packed weights were made of it
 *     GRPH   the lowered graphs: values, nodes with attributes, units with kernel, place, verdicts, packed bytes
 *   table    for each section: 4 letters, u32 0, u64 offset, size, checksum
 *   trailer  u64 offset and checksum of the table, "tinyplan"
 *
 * Checksums detect accidents. A file may still be hostile, so the reader trusts decisions, but nothing that follows
 * from them: nodes are checked against their rows like those of a model file, types and shapes are inferred again, the
 * named kernel is asked again whether it claims the node and how much it packs, params are resolved, plans are made and
 * checked. Not repeated are folding, the search for placement and fusions, reading weights that these made unnecessary,
 * and packing. New input shapes need nothing from the file.
 *
 * Segments are made again of the nodes that were in one, and compiled; an engine (tort_engine) gets what it stored for
 * them, in the place of packed weights of the last node, and checks it.
 *
 * Nodes that exist only for reports (folded to constants, unread, fused away: "ghosts") have no operands and no row.
 * Increment TORT_SAVED_VERSION with each change of this format, and of how a kernel packs. Private to runtime/. Read
 * next: saved_write.c, saved_read.c, saved_load.c. */
#ifndef TORT_RUNTIME_SAVED_SAVED_FORMAT_H
#define TORT_RUNTIME_SAVED_SAVED_FORMAT_H

#include "runtime/core/lowered/lowered.h"
#include "runtime/include/tinyort_plan.h"

#define TORT_SAVED_MAGIC "tinyplan"
#define TORT_SAVED_VERSION 8u
#define TORT_SAVED_NESTING 64 /* maximum depth of bodies */

enum { TORT_SAVED_ALIGN = 64, TORT_SAVED_HEADER = 16, TORT_SAVED_ENTRY = 32, TORT_SAVED_TRAILER = 24 };

typedef enum tort_section {
    TORT_SECTION_DATA,
    TORT_SECTION_MADE,
    TORT_SECTION_FACT,
    TORT_SECTION_WGHT,
    TORT_SECTION_GRPH,
    TORT_SECTION_COUNT
} tort_section;

extern const char *const tort_section_names[TORT_SECTION_COUNT];

/* The tag of a dimension in the file. */
enum { TORT_SAVED_KNOWN, TORT_SAVED_SYMBOL, TORT_SAVED_FRESH, TORT_SAVED_DYNAMIC };
/* Bits of a value. */
enum { TORT_SAVED_READ = 1u << 0 };
/* Bits of a constant. */
enum {
    TORT_SAVED_CONTENTS = 1u << 0, /* contents are in DATA */
    TORT_SAVED_RESIDENT = 1u << 1, /* kept in memory by the session, as shape rules and claims look at the contents */
    TORT_SAVED_ALIAS = 1u << 2     /* the contents of an earlier constant, with another shape */
};
/* Bits of a unit. */
enum {
    TORT_SAVED_PINNED = 1u << 0,
    TORT_SAVED_STILL_INFERRED = 1u << 1,
    TORT_SAVED_GHOST = 1u << 2,
    TORT_SAVED_PART = 1u << 3 /* of a segment */
};

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* A checksum that is computed piece by piece. */
typedef struct tort_sum {
    uint64_t hash, word;
    uint32_t filled;
} tort_sum;

void tort_sum_add(tort_sum *sum, const void *bytes, size_t size);
uint64_t tort_sum_end(const tort_sum *sum);

/* A section being written. */
typedef struct tort_saved_out {
    const tort_env *env;
    uint8_t *bytes;
    int32_t used, capacity;
    bool failed; /* out of memory */
} tort_saved_out;

void tort_put(tort_saved_out *out, const void *bytes, size_t size);
void tort_put_u8(tort_saved_out *out, uint32_t value);
void tort_put_u32(tort_saved_out *out, uint32_t value);
void tort_put_i32(tort_saved_out *out, int32_t value);
void tort_put_u64(tort_saved_out *out, uint64_t value);
void tort_put_i64(tort_saved_out *out, int64_t value);
void tort_put_string(tort_saved_out *out, tort_string string);
void tort_put_text(tort_saved_out *out, const char *text);
void tort_put_indices(tort_saved_out *out, const int32_t *list, int32_t count); /* with the count */

/* A section being read. After an error (`bad`) all reads return 0 and "". */
typedef struct tort_saved_in {
    const uint8_t *at, *end;
    bool bad;
} tort_saved_in;

void tort_get(tort_saved_in *in, void *out, size_t size);
uint32_t tort_get_u8(tort_saved_in *in);
uint32_t tort_get_u32(tort_saved_in *in);
int32_t tort_get_i32(tort_saved_in *in);
uint64_t tort_get_u64(tort_saved_in *in);
int64_t tort_get_i64(tort_saved_in *in);
tort_string tort_get_string(tort_saved_in *in); /* NUL-terminated; points into the section */
const char *tort_get_text(tort_saved_in *in);   /* the same; a 0 inside is an error */
/* A count of entries of at least `min` bytes each; an error if so many cannot follow. */
int32_t tort_get_count(tort_saved_in *in, size_t min);
/* A number in first..last, inclusive. */
int32_t tort_get_within(tort_saved_in *in, int32_t first, int32_t last);

/* ---- source of the bytes ----------------------------------------------------------------------------------------- */

/* A file, mapped or not, or the caller's buffer. */
typedef struct tort_saved_source {
    tort_env env;
    int fd;               /* -1: none */
    const uint8_t *bytes; /* the mapping, or the caller's buffer; NULL */
    bool mapped;
    uint64_t size;
} tort_saved_source;

tort_status tort_saved_open(const tort_env *env, const char *path, bool map, tort_saved_source **source,
                            tort_error *error);
tort_saved_source *tort_saved_open_buffer(const tort_env *env, const void *bytes, size_t size);
/* The callbacks of tort_model; `source` is a tort_saved_source. */
tort_status tort_saved_source_read(void *source, int32_t file, uint64_t offset, uint64_t length, void *dst,
                                   tort_error *error);
const void *tort_saved_source_view(void *source, int32_t file, uint64_t offset, uint64_t length);
bool tort_saved_source_reads(const void *source, uint64_t device, uint64_t inode);
void tort_saved_source_close(void *source);

/* ---- contents ---------------------------------------------------------------------------------------------------- */

/* The file's decisions about a node. */
typedef struct tort_saved_unit {
    tort_unit unit;      /* place, pin, verdicts, parts: all that needs no provider */
    const char *kernel;  /* the name of its provider's kernel; "" */
    bool ghost;          /* exists only for reports */
    bool part;           /* of a segment of its provider, with all nodes of its group */
    int32_t group;       /* the segment's last node */
    int32_t since;       /* of the operator's row */
    const char *name;    /* of the model's node that a fused node replaced; NULL: it replaced none */
    const char *op_type; /* of the same node */
    uint64_t packed_at, packed_bytes;
} tort_saved_unit;

typedef struct tort_saved_graph {
    bool lowered;
    const char *refused;  /* why a body does not fit, and is not lowered; "": it fits */
    int32_t refused_node; /* the node at fault, numbered as in errors */
    tort_saved_unit *units;
} tort_saved_graph;

/* A provider of the chain with which the plan was made. */
typedef struct tort_saved_link {
    const char *provider, *description;
    bool ready;
    uint32_t instructions;
    uint64_t kernels; /* tort_saved_kernels of the provider */
} tort_saved_link;

/* The whole file, in the arena of the model that is read from it. */
typedef struct tort_saved {
    tort_model *model;
    bool chain_given;             /* options.chain is the caller's, not the file's */
    tort_session_options options; /* for the session; strings point into the file's sections */
    tort_saved_link *links;
    int32_t link_count;
    tort_tried *tried;
    tort_saved_graph *graphs;
    int32_t *same;  /* by weight of the model: the weight that has its contents, or itself */
    uint8_t *flags; /* by weight of the model: TORT_SAVED_ bits */
} tort_saved;

/* Reads and checks a file. The model belongs to the caller, and owns the source from the start, even on failure. */
tort_status tort_saved_read(const tort_env *env, tort_saved_source *source, const tort_plan_options *options,
                            tort_saved **saved, tort_error *error);
/* Reads GRPH. Afterwards every index is valid, and every value is made before it is read. */
tort_status tort_saved_read_graphs(tort_saved *saved, tort_saved_in *in, uint64_t data_at, uint64_t data_end,
                                   tort_error *error);
/* "the saved plan is damaged: ..." */
tort_status tort_saved_damaged(tort_error *error, const char *what);
/* Checksums of the operator rows of this build, and of a provider's kernel rows. */
uint64_t tort_saved_operators(void);
uint64_t tort_saved_kernels(const tort_provider *provider);

/* ---- making a session of it: saved_load.c ------------------------------------------------------------------------ */

/* Makes the decisions of a session as the file has them; for tort_session_open. */
tort_status tort_saved_decide(tort_session *session, tort_error *error);
/* Checks where packed weights lie in the file of a saved plan: one behind the other, but for units that share them,
 * which have one place, or their own in plans of before. */
tort_status tort_saved_check_places(tort_session *session, tort_error *error);

/* Places in the file that GRPH refers to, by graph, while a session is saved: saved_graphs.c. */
typedef struct tort_saved_offsets {
    int32_t *entry_of;   /* by value: its constant in WGHT, -1 */
    uint64_t *packed_at; /* by node */
    uint64_t *stored;    /* by node: bytes there that its engine stored for a segment; 0: none */
} tort_saved_offsets;

/* True if the node exists only for reports. */
bool tort_saved_is_ghost(const tort_lowered *lowered, int32_t node);
/* attribute_entries: by weight of the model: the constant in WGHT for tensor attributes, -1. */
void tort_saved_put_graphs(tort_saved_out *out, const tort_session *session, const tort_saved_offsets *places,
                           const int32_t *attribute_entries);

#endif
