/* saved_format.h - the file of a saved plan: what a session decided, and the weights as its kernels read them.
 *
 * Little-endian, no padding inside of sections. Numbers are u8, u32, i32, u64, i64; a text is a u32 length, its bytes
 * and a 0; a list is a u32 count and its entries.
 *
 *   header   "tinyplan", u32 TORT_SAVED_VERSION, u32 0
 *   sections each at a multiple of 64, in this order:
 *     DATA   contents of constants that are still read, then packed weights, each at a multiple of 64
 *     MADE   by whom (version, a sum over the tables of operators and kernels), on which chain and machine, options
 *     FACT   what the model says of itself
 *     WGHT   the constants: type, dims, where in DATA; what only a packed weight was made of has no contents
 *     GRPH   the lowered graphs: values, nodes with their attributes, units with kernel, place, reasons, packed bytes
 *   table    an entry a section: 4 letters, u32 0, u64 offset, size, checksum
 *   trailer  u64 offset and checksum of the table, "tinyplan"
 *
 * A checksum is against accidents. A file may be hostile all the same, so the reader believes in decisions only, not in
 * what follows from them: nodes are held against their rows as those of a model file are, types and shapes are
 * inferred again, the kernel that is named is asked again whether it takes the node and how much it packs, params are
 * resolved, and steps and offsets laid out and checked as ever. What is not done again: folding, the search of
 * placement and of fusions, reading what they made superfluous, packing. A new input shape needs nothing of the file.
 *
 * Nodes that only stand in the report (folded to constants, unread, fused away) have no operands and no row.
 * TORT_SAVED_VERSION grows with each change of this layout, and of how a kernel packs. Private to runtime/. Read next:
 * saved_write.c, saved_read.c, saved_load.c. */
#ifndef TORT_RUNTIME_SAVED_SAVED_FORMAT_H
#define TORT_RUNTIME_SAVED_SAVED_FORMAT_H

#include "runtime/lowered/lowered.h"
#include "runtime/tinyort_plan.h"

#define TORT_SAVED_MAGIC "tinyplan"
#define TORT_SAVED_VERSION 4u
#define TORT_SAVED_NESTING 64 /* of bodies */

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

/* How a dimension is written. */
enum { TORT_SAVED_KNOWN, TORT_SAVED_SYMBOL, TORT_SAVED_FRESH, TORT_SAVED_DYNAMIC };
/* Bits of a value. */
enum { TORT_SAVED_READ = 1u << 0 };
/* Bits of a constant. */
enum {
    TORT_SAVED_CONTENTS = 1u << 0, /* in DATA */
    TORT_SAVED_RESIDENT = 1u << 1, /* in memory while the session lives, for shape rules and claims to see */
    TORT_SAVED_ALIAS = 1u << 2     /* the contents of an earlier one, under another shape */
};
/* Bits of a unit. */
enum { TORT_SAVED_PINNED = 1u << 0, TORT_SAVED_ASKED = 1u << 1, TORT_SAVED_GHOST = 1u << 2 };

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* A checksum of bytes that come in parts. */
typedef struct tort_sum {
    uint64_t hash, word;
    uint32_t filled;
} tort_sum;

void tort_sum_add(tort_sum *sum, const void *bytes, size_t size);
uint64_t tort_sum_end(const tort_sum *sum);

/* A section while it is written. */
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
void tort_put_indices(tort_saved_out *out, const int32_t *list, int32_t count); /* the count, too */

/* A section while it is read. Once it is bad, all that comes is 0 and "". */
typedef struct tort_saved_in {
    const uint8_t *at, *end;
    bool bad;
} tort_saved_in;

uint32_t tort_get_u8(tort_saved_in *in);
uint32_t tort_get_u32(tort_saved_in *in);
int32_t tort_get_i32(tort_saved_in *in);
uint64_t tort_get_u64(tort_saved_in *in);
int64_t tort_get_i64(tort_saved_in *in);
float tort_get_float(tort_saved_in *in);
tort_string tort_get_string(tort_saved_in *in); /* terminated, in the section's bytes */
const char *tort_get_text(tort_saved_in *in);   /* the same without a 0 inside */
/* A count of entries of at least `least` bytes each, so many of which there can be. */
int32_t tort_get_count(tort_saved_in *in, size_t min);
/* A number of first..last, both included. */
int32_t tort_get_within(tort_saved_in *in, int32_t first, int32_t last);

/* ---- where the bytes are ----------------------------------------------------------------------------------------- */

/* A file, mapped or not, or the caller's buffer. */
typedef struct tort_saved_source {
    tort_env env;
    int fd;               /* -1: none */
    const uint8_t *bytes; /* mapped, or the caller's; NULL */
    bool mapped;
    uint64_t size;
} tort_saved_source;

tort_status tort_saved_open(const tort_env *env, const char *path, bool map, tort_saved_source **source,
                            tort_error *error);
tort_saved_source *tort_saved_open_buffer(const tort_env *env, const void *bytes, size_t size);
/* As tort_model has them; `source` is a tort_saved_source. */
tort_status tort_saved_source_read(void *source, int32_t file, uint64_t offset, uint64_t length, void *dst,
                                   tort_error *error);
const void *tort_saved_source_view(void *source, int32_t file, uint64_t offset, uint64_t length);
void tort_saved_source_close(void *source);

/* ---- what is read ------------------------------------------------------------------------------------------------ */

/* What the file decided of a node. */
typedef struct tort_saved_unit {
    tort_unit unit;      /* place, pin, reasons, parts: what needs no provider to be known */
    const char *kernel;  /* of its provider; "" */
    bool ghost;          /* stands in the report alone */
    int32_t since;       /* of the operator's row */
    const char *name;    /* of the model's node in the place that a fusion's has now; NULL: the same */
    const char *op_type; /* of that */
    uint64_t packed_at, packed_bytes;
} tort_saved_unit;

typedef struct tort_saved_graph {
    bool lowered;
    const char *refused;  /* why a body does not fit, which is then not lowered; "": it does */
    int32_t refused_node; /* that is at fault, as errors number it */
    tort_saved_unit *units;
} tort_saved_graph;

/* A provider of the chain, where the plan was made. */
typedef struct tort_saved_link {
    const char *provider, *description;
    bool ready;
    uint32_t instructions;
    int32_t compute_capability;
    uint64_t kernels; /* tort_saved_kernels of it */
} tort_saved_link;

/* All of it; in the arena of the model, which it is read into. */
typedef struct tort_saved {
    tort_model *model;
    tort_session_options options; /* that the session has; strings are the file's */
    tort_saved_link *links;
    int32_t link_count;
    tort_saved_graph *graphs;
    int32_t *same;  /* a weight of the model: the one whose contents it has, or itself */
    uint8_t *flags; /* a weight of the model: TORT_SAVED_CONTENTS ... */
} tort_saved;

/* Reads and checks a file; the model is the caller's, and owns the source from the start. */
tort_status tort_saved_read(const tort_env *env, tort_saved_source *source, const tort_plan_options *options,
                            tort_saved **saved, tort_error *error);
/* GRPH of it. Every index is one that there is; every value that is read is made before. */
tort_status tort_saved_read_graphs(tort_saved *saved, tort_saved_in *in, uint64_t data_at, uint64_t data_end,
                                   tort_error *error);
/* "the saved plan is damaged: ..." */
tort_status tort_saved_damaged(tort_error *error, const char *what);
/* Sums over the rows of this build's operators, and over those of a provider's kernels. */
uint64_t tort_saved_operators(void);
uint64_t tort_saved_kernels(const tort_provider *provider);

/* ---- a session out of it: saved_load.c --------------------------------------------------------------------------- */

/* Has this machine what the plan was made for? After chain.c. */
tort_status tort_saved_check_chain(const tort_session *session, tort_error *error);
/* What was decided, for units of the lowered graphs; before fold.c. */
tort_status tort_saved_apply(tort_session *session, tort_error *error);
/* Asks the kernels that are named for their units. In place of place.c and fuse.c. */
tort_status tort_saved_place(tort_session *session, tort_error *error);
/* Packed weights of a unit, in place of its kernel's prepare. */
tort_status tort_saved_unpack(tort_session *session, const tort_lowered *lowered, int32_t unit, tort_error *error);

/* GRPH of a session, while it is saved: saved_graphs.c. */
typedef struct tort_saved_offsets {
    int32_t *entry_of;   /* a value: its constant in WGHT, -1 */
    uint64_t *packed_at; /* a node */
} tort_saved_offsets;

/* Is the node one of those that only stand in the report? */
bool tort_saved_is_ghost(const tort_lowered *lowered, int32_t node);
/* entries: of tensors of attributes, by weight of the model, -1. */
void tort_saved_put_graphs(tort_saved_out *out, const tort_session *session, const tort_saved_offsets *places,
                           const int32_t *attribute_entries);

#endif
