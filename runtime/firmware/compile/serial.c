/* serial.c - prints a program for a board that runs a compiled model when the other end of a serial line asks for it,
 * and the frames of that line (serial.h). */
#include "runtime/firmware/compile/serial.h"
#include "runtime/firmware/compile/compilation.h"

static const char top[] =
    "/* @n_serial.c - made by tinyort @v: runs @n for `tinyort validate`, which asks for it over a serial line.\n *\n"
    " * main calls @n_serve again and again: it waits for a frame and answers. The board has three functions for it: a\n"
    " * byte from the line, which is waited for; a byte to the line; a counter that grows, of cycles or the like.\n *\n"
    " * A frame ends with 0xC0, as in SLIP (RFC 1055): a number, a kind, data, and the CRC-32 of these. One that was\n"
    " * damaged on the way is dropped, and asked for again; the answer to a second one of a run does not run again. */\n"
    "#include \"@n.h\"\n\n"
    "int board_read(void);\nvoid board_write(int byte);\nuint32_t board_ticks(void);\nvoid @n_serve(void);\n\n"
    "@{/* The address of the bytes of @n_weights.bin. */\n#if !defined(@N_WEIGHTS_ADDRESS)\n"
    "extern const unsigned char @n_weights_bin[];\n#define @N_WEIGHTS_ADDRESS @n_weights_bin\n#endif\n\n@}";

static const char frames[] =
    "enum { DATA = 128, HEAD = 2, CRC = 4, END = 0xC0, ESCAPE = 0xDB, ESCAPED_END = 0xDC, ESCAPED_ESCAPE = 0xDD };\n\n"
    "static union {\n    uint64_t align[(@N_ARENA_BYTES + 7) / 8];\n    unsigned char bytes[@N_ARENA_BYTES];\n"
    "} arena @N_SERIAL_ALIGN;\n"
    "@(static union {\n    uint64_t align[(@N_SLOW_ARENA_BYTES + 7) / 8];\n"
    "    unsigned char bytes[@N_SLOW_ARENA_BYTES];\n} slow_arena @N_SERIAL_ALIGN;\n@)"
    "static uint32_t ticks[@N_STEPS], done, stack; /* of each step; the number of the last run, what it used */\n"
    "static int32_t status;\n"
    "static unsigned char frame[HEAD + 5 + DATA + CRC];\n\n"
    "static uint32_t crc_of(uint32_t size) {\n    uint32_t crc = 0xFFFFFFFFu, i;\n    int bit;\n"
    "    for (i = 0; i < size; i++) {\n        crc ^= frame[i];\n"
    "        for (bit = 0; bit < 8; bit++) {\n            crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1u)));\n"
    "        }\n    }\n    return ~crc;\n}\n\n"
    "static uint32_t get(uint32_t at) {\n    return frame[at] | (uint32_t)frame[at + 1] << 8 | (uint32_t)frame[at + 2] << "
    "16 |\n           (uint32_t)frame[at + 3] << 24;\n}\n\n"
    "static void put(uint32_t at, uint32_t word) {\n    int i;\n    for (i = 0; i < 4; i++) {\n"
    "        frame[at + (uint32_t)i] = (unsigned char)(word >> 8 * i);\n    }\n}\n\n"
    "/* Reads a frame; the bytes of its data, or -1: it is none. */\n"
    "static int32_t receive(void) {\n    uint32_t size = 0;\n    int byte, escaped = 0;\n"
    "    while ((byte = board_read()) != END) {\n"
    "        if (byte == ESCAPE) {\n            escaped = 1;\n            continue;\n        }\n"
    "        if (escaped) {\n            byte = byte == ESCAPED_END ? END : ESCAPE;\n            escaped = 0;\n        }\n"
    "        if (size < sizeof frame) {\n            frame[size] = (unsigned char)byte;\n        }\n        size++;\n    }\n"
    "    if (size < HEAD + CRC || size > sizeof frame || get(size - CRC) != crc_of(size - CRC)) {\n        return -1;\n    }\n"
    "    return (int32_t)(size - HEAD - CRC);\n}\n\n"
    "static void send(uint32_t data) {\n    const uint32_t size = HEAD + data + CRC;\n    uint32_t i;\n"
    "    frame[1] |= 0x80;\n    put(HEAD + data, crc_of(HEAD + data));\n"
    "    for (i = 0; i < size; i++) {\n"
    "        if (frame[i] == END || frame[i] == ESCAPE) {\n            board_write(ESCAPE);\n"
    "            board_write(frame[i] == END ? ESCAPED_END : ESCAPED_ESCAPE);\n        } else {\n"
    "            board_write(frame[i]);\n        }\n    }\n    board_write(END);\n}\n\n";

static const char answers[] =
    "/* Bytes of stack that a run uses at most, where the board has this many to spare: the run meets what a function\n"
    " * wrote there, and another one, with a frame at the same place, finds how much of it is left. */\n"
    "#if defined(@N_STACK_PAINTED)\n"
    "static void paint(void) {\n    volatile unsigned char below[@N_STACK_PAINTED];\n    uint32_t i;\n"
    "    for (i = 0; i < sizeof below; i++) {\n        below[i] = 0xA5;\n    }\n}\n\n"
    "static uint32_t used(void) {\n    volatile unsigned char below[@N_STACK_PAINTED];\n    uint32_t i = 0;\n"
    "    below[sizeof below - 1] = 0; /* the rest is as the run left it */\n"
    "    while (i < sizeof below && below[i] == 0xA5) {\n        i++;\n    }\n    return (uint32_t)sizeof below - i;\n}\n"
    "#else\nstatic void paint(void) {}\n\nstatic uint32_t used(void) {\n    return 0;\n}\n#endif\n\n"
    "/* Runs the model step by step, and counts ticks. */\n"
    "static void run(void) {\n    @n_state state;\n    int step = 1, next, i;\n"
    "    for (i = 0; i < @N_STEPS; i++) {\n        ticks[i] = 0;\n    }\n";

static const char steps[] =
    "@*    state.@p = @p;\n@;"
    "@{    state.weights = @N_WEIGHTS_ADDRESS;\n@}"
    "    state.arena_bytes = @N_ARENA_BYTES;\n"
    "@(    state.slow_arena = slow_arena.bytes;\n    state.slow_arena_bytes = @N_SLOW_ARENA_BYTES;\n@)"
    "    state.next = 0;\n"
    "    do {\n        const uint32_t begin = board_ticks();\n        next = @n_step(&state, arena.bytes);\n"
    "        ticks[step - 1] += board_ticks() - begin;\n        step = next;\n    } while (next > 0);\n"
    "    status = next;\n}\n\n"
    "/* Calls by address are not made parts of others, so that all three frames begin at the same place. */\n"
    "static void (*volatile const paints)(void) = paint;\nstatic void (*volatile const runs)(void) = run;\n"
    "static uint32_t (*volatile const uses)(void) = used;\n\n"
    "/* Copies bytes of a port to or from the frame; the bytes that the answer has. */\n"
    "static uint32_t copy(const port *ports, uint32_t count, uint32_t data, int take) {\n"
    "    const uint32_t number = frame[HEAD], at = get(HEAD + 1);\n    uint32_t size = take ? data - 5 : DATA, i;\n"
    "    if (number >= count || at > ports[number].size || size > DATA) {\n        return 0;\n    }\n"
    "    if (size > ports[number].size - at) {\n        size = ports[number].size - at;\n    }\n"
    "    for (i = 0; i < size; i++) {\n        if (take) {\n            ports[number].bytes[at + i] = frame[HEAD + 5 + i];\n"
    "        } else {\n            frame[HEAD + i] = ports[number].bytes[at + i];\n        }\n    }\n"
    "    return take ? 0 : size;\n}\n\n"
    "static uint32_t answer(uint32_t data) {\n"
    "    static const uint64_t hashes[] = {@N_GRAPH_HASH, @N_CODE_HASH, @N_WEIGHTS_HASH};\n    uint32_t i, from;\n"
    "    switch (frame[1]) {\n"
    "    case 'H':\n        for (i = 0; i < 3; i++) {\n            put(HEAD + 8 * i, (uint32_t)hashes[i]);\n"
    "            put(HEAD + 8 * i + 4, (uint32_t)(hashes[i] >> 32));\n        }\n"
    "        put(HEAD + 24, @N_STEPS);\n        return 28;\n"
    "    case 'I':\n        return data < 5 ? 0 : copy(inputs, INPUTS, data, 1);\n"
    "    case 'O':\n        return data < 5 ? 0 : copy(outputs, OUTPUTS, data, 0);\n"
    "    case 'R':\n        if (data == 4 && get(HEAD) != done) {\n            done = get(HEAD);\n            paints();\n            runs();\n"
    "            stack = uses();\n        }\n"
    "        put(HEAD, (uint32_t)status);\n        put(HEAD + 4, stack);\n        return 8;\n"
    "    case 'T':\n        from = data == 4 ? get(HEAD) : @N_STEPS;\n"
    "        for (i = 0; i < DATA / 4 && i < @N_STEPS && from < @N_STEPS - i; i++) {\n"
    "            put(HEAD + 4 * i, ticks[from + i]);\n        }\n        return 4 * i;\n"
    "    default:\n        return 0;\n    }\n}\n\n"
    "void @n_serve(void) {\n    const int32_t data = receive();\n    if (data >= 0) {\n"
    "        send(answer((uint32_t)data));\n    }\n}\n";

static void print_ports(const tort_compilation *c, bool input, FILE *file) {
    const char *name = input ? "in" : "out";
    const int32_t count = input ? c->plan->input_count : c->plan->output_count;
    fprintf(file, "static const port %sputs[] = {", name);
    for (int32_t i = 0; i < count; i++)
        fprintf(file, "%s{(unsigned char *)%s%d, sizeof %s%d}", i ? ", " : "", name, (int)i, name, (int)i);
    fprintf(file, "%s};\n", count ? "" : "{0, 0}");
    fprintf(file, "#define %sPUTS %du\n", input ? "IN" : "OUT", (int)count);
}

tort_status tort_compile_serial(tort_compilation *c, FILE *file) {
    tort_compile_fill(c, top, file);
    tort_compile_fill(c,
                      "#if defined(__GNUC__)\n#define @N_SERIAL_ALIGN __attribute__((aligned(@N_ARENA_ALIGN)))\n"
                      "#else\n#define @N_SERIAL_ALIGN\n#endif\n\n",
                      file);
    tort_compile_fill(c, frames, file);
    tort_compile_fill(c,
                      "typedef struct port {\n    unsigned char *bytes;\n    uint32_t size;\n} port;\n\n"
                      "@*static @t @p[@e];\n@;",
                      file);
    print_ports(c, true, file);
    print_ports(c, false, file);
    fprintf(file, "\n");
    tort_compile_fill(c, answers, file);
    tort_compile_fill(c, steps, file);
    return TORT_OK;
}
