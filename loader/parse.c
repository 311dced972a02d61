/* parse.c - see parse.h: the allocator for protobuf-c.
 *
 * The structs, lists and texts of a model are freed together, so they come from an arena, and nothing walks the tree to
 * free them. The parser's temporary list of a message's fields takes 32 bytes per field and must not stay that long, so
 * blocks from LARGE bytes on are allocated one by one. All blocks are zeroed, because after a failure protobuf-c may
 * read lists that it has not filled yet. */
#include "loader/parse.h"

#include <string.h>

enum { LARGE = 1 << 10 /* the smallest list of fields has this size */, HEAD = 8 };

typedef struct tort_large_block {
    struct tort_large_block *before, *after;
    uint64_t size; /* of the whole block; this word is 0 before a small block */
} tort_large_block;

static void *take_large(tort_parsed *parsed, size_t size) {
    tort_large_block *block;
    size_t whole;
    if (!tort_add_size(size, sizeof *block, &whole)) return NULL;
    block = tort_alloc_zero(parsed->small.env, 1, whole);
    if (!block) return NULL;
    *block = (tort_large_block){.before = parsed->large, .size = whole};
    if (parsed->large) parsed->large->after = block;
    parsed->large = block;
    return block + 1;
}

static void *take(void *ud, size_t size) {
    tort_parsed *parsed = ud;
    char *block;
    if (size >= LARGE) {
        block = take_large(parsed, size);
    } else {
        block = tort_arena_alloc(&parsed->small, HEAD + size);
        if (block) block += HEAD;
    }
    if (!block) parsed->out_of_memory = true;
    return block;
}

static void give(void *ud, void *at) {
    tort_parsed *parsed = ud;
    uint64_t size;
    memcpy(&size, (char *)at - HEAD, sizeof size);
    if (size == 0) return; /* freed with the arena */
    tort_large_block *block = (tort_large_block *)at - 1;
    if (block->before) block->before->after = block->after;
    if (block->after)
        block->after->before = block->before;
    else
        parsed->large = block->before;
    tort_free(parsed->small.env, block, (size_t)size);
}

tort_status tort_parse(const tort_env *env, const tort_source *source, const ProtobufCMessageDescriptor *root,
                       tort_parsed *parsed, tort_error *error) {
    tort_slim slim;
    *parsed = (tort_parsed){.large = NULL};
    tort_arena_init(&parsed->small, env);
    tort_status status = tort_wire_slim(env, source, root, &slim, error);
    if (!status) {
        ProtobufCAllocator allocator = {.alloc = take, .free = give, .allocator_data = parsed};
        parsed->root = protobuf_c_message_unpack(root, &allocator, slim.size, slim.bytes);
    }
    if (!status && parsed->out_of_memory)
        status = tort_out_of_memory(error, slim.size);
    else if (!status && !parsed->root)
        status = tort_fail(error, TORT_E_MODEL, "protobuf-c refuses the file");
    tort_slim_free(env, &slim);
    return status;
}

void tort_parsed_free(tort_parsed *parsed) {
    for (tort_large_block *block = parsed->large, *before; block; block = before) {
        before = block->before;
        tort_free(parsed->small.env, block, (size_t)block->size);
    }
    tort_arena_free(&parsed->small);
    *parsed = (tort_parsed){.large = NULL};
}
