/* option_list.h - all options of the command line, one row each, in the order of the help. A new option is a new row
 * and, for its value, a member of cli_options.
 *
 * OPTION(number, name, argument, subcommands, destination, help): the number is OPTION_EP and so on; the argument is
 * named as in the help, is NULL for a flag, and may be left out if it begins with "[="; the destination says how the
 * value is read and which member of cli_options holds it, by the macros of option_table.c. HEADING(number, title)
 * begins a group of the help. There is no include guard: option_table.h makes the numbers, option_table.c the table. */

HEADING(NODES, "Where nodes run")
OPTION(EP, "ep", "CHAIN", PLACING | CLI_CMD_PROVIDERS | CLI_CMD_OPS | SAMPLING, TEXTS(chains),
       "providers in order, with options: cuda:device=1,cpu (default cpu)")
OPTION(TARGET, "target", "DEVICE", CLI_CMD_PLAN, TEXT(target), "plan for a device that this machine lacks: cuda:sm_87")
OPTION(REQUIRE, "require", "EP,...", PLACING | CLI_CMD_PROVIDERS, TEXT(require), "providers that must open")
OPTION(STRICT, "strict", NULL, PLACING, FLAG(strict), "every node must be on the first provider")
OPTION(ALLOW, "allow", "OP,...", PLACING, TEXT(allow), "operators that --strict lets pass")
OPTION(STRICT_INTEGERS, "strict-integers", NULL, PLACING | CLI_CMD_COMPILE, FLAG(strict_integers),
       "products of 8-bit numbers must be integers; compile: all steps")
OPTION(PIN, "pin", "NODE=EP", PLACING & ~(uint32_t)CLI_CMD_REDUCE, TEXTS(pins),
       "put a node, by name or as '#12', on this provider (repeatable)")
OPTION(BIND, "bind", "NAME=EP", CLI_CMD_PLAN | CLI_CMD_BENCH, TEXTS(bindings),
       "keep an input or output ('*': all) in this provider's memory (repeatable)")
OPTION(NO_FUSION, "no-fusion", "[=NAME,...]", PLACING | FIRMWARE, TEXT(no_fusion),
       "fuse no nodes, or not by these fusions ('tinyort ops --fusions')")
OPTION(STEP_BY_STEP, "step-by-step", NULL, RUNNING, FLAG(step_by_step),
       "wait for the device after every step, so that an error names its node")
HEADING(INPUTS, "Inputs")
OPTION(INPUT, "input", "[NAME=]FILE", FEEDING, TEXTS(inputs),
       ".npy .npz .pb .raw .png .jpg, a folder, '-': .npy on stdin (repeatable)")
OPTION(SHAPE, "shape", "NAME=2x3x224", PLANNING | CLI_CMD_INSPECT | FIRMWARE | SAMPLING,
       VALUE(cli_read_shapes, cli_shapes, fixed),
       "the shape of an input, or the size of a dimension: batch=1 (repeatable)")
OPTION(MAX, "max", "NAME=512", CLI_CMD_RUN | CLI_CMD_PLAN | CLI_CMD_BENCH, VALUE(cli_read_shapes, cli_shapes, max),
       "upper bound of a size or shape: memory is allocated once (repeatable)")
OPTION(OPEN, "open", "NAME", CLI_CMD_PLAN, TEXTS(open), "keep an input that has a default ('*': all) open (repeatable)")
OPTION(RANDOM, "random", "SEED|NAME=A..B", FEEDING | CLI_CMD_CONVERT, WHOLE(cli_read_random),
       "fill inputs without --input: floats 0..1, indices in range (repeatable)")
OPTION(RESIZE, "resize", "WxH|N", PICTURES, VALUE(cli_read_extent, cli_extent, image.resize),
       "picture: resize; N: length of the shorter side")
OPTION(CROP, "crop", "WxH|N", PICTURES, VALUE(cli_read_extent, cli_extent, image.crop), "picture: then crop the center")
OPTION(SCALE, "scale", "S", PICTURES, NUMBER(image.scale, 0),
       "picture: multiply levels 0..255 by S (default 1/255; uint8: 1)")
OPTION(MEAN, "mean", "R,G,B", PICTURES, VALUE(cli_read_channels, cli_channels, image.mean), "picture: then subtract")
OPTION(STD, "std", "R,G,B", PICTURES, VALUE(cli_read_channels, cli_channels, image.std), "picture: then divide by")
OPTION(LAYOUT, "layout", "nchw|nhwc", PICTURES, WORD(image.layout),
       "picture: layout of the tensor (default: by its shape)")
OPTION(BGR, "bgr", NULL, PICTURES, FLAG(image.bgr), "picture: channels in the order blue, green, red")
OPTION(DATA, "data", "FOLDER", SAMPLING, TEXT(data), "samples of what the model will see: files as of --input, folders")
OPTION(TRUTH, "truth", "FILE", CLI_CMD_QUANTIZE, TEXT(truth),
       "the right class of each sample, a number a line; else float32 is right")
HEADING(QUANTIZING, "What is in 8 bits")
OPTION(SCHEME, "scheme", "NAME", CLI_CMD_QUANTIZE, VALUE(cli_read_scheme, int32_t, scheme),
       "whose rules: ort (default; zero points), firmware, tensorrt (symmetric)")
OPTION(WEIGHT_TYPE, "weight-type", "int4|int8", CLI_CMD_QUANTIZE, WORD(weight_type),
       "matrices alone, values in float32: by GPTQ with --data, else rounded")
OPTION(BLOCK, "block", "N", CLI_CMD_QUANTIZE, INT32(block, 16), "their rows that share a scale (default 32)")
OPTION(DYNAMIC, "dynamic", NULL, CLI_CMD_QUANTIZE, FLAG(dynamic),
       "matrices in 8 bits, and their operands too, whose range each run finds")
OPTION(KEEP, "keep", "NODE", SAMPLING, TEXTS(keep), "a node that stays float32 (repeatable)")
OPTION(KEEP_OP, "keep-op", "OP", SAMPLING, TEXTS(keep_ops), "the same for an operator (repeatable)")
OPTION(MAX_ERROR, "max-error", "DB", CLI_CMD_QUANTIZE, NUMBER(max_error, 0),
       "keep the most sensitive units float32 until outputs reach DB decibels")
OPTION(MIN_AGREEMENT, "min-agreement", "SHARE", CLI_CMD_QUANTIZE, NUMBER(min_agreement, 0),
       "the same for the share 0..1 of decisions that are right")
OPTION(MAX_BYTES, "max-bytes", "BYTES", CLI_CMD_QUANTIZE, VALUE(cli_read_bytes, uint64_t, max_bytes),
       "keep no unit float32 with which the model would be larger")
OPTION(CHOICES, "choices", "FILE", CLI_CMD_QUANTIZE, TEXT(choices),
       "what --write-choices wrote, edited: units with 32 bits stay float32")
OPTION(WRITE_CHOICES, "write-choices", "FILE", CLI_CMD_QUANTIZE, TEXT(write_choices),
       "write the units as text, with tabs between columns, to edit")
OPTION(QUICK, "quick", NULL, CLI_CMD_QUANTIZE, FLAG(quick), "do not measure what each unit costs")
HEADING(CONVERTING, "What is converted")
OPTION(TYPE, "to", "TYPE", CLI_CMD_CONVERT, VALUE(cli_read_float_type, int32_t, type),
       "what floats become: float16, bfloat16 or float32")
OPTION(PORTS, "io", "keep|convert", CLI_CMD_CONVERT, WORD(ports),
       "inputs and outputs keep their type (default), or change it, too")
OPTION(MIN_DB, "min-db", "DB", CLI_CMD_CONVERT, NUMBER(min_db, 0),
       "decibels of each output (default 40): sensitive nodes stay; 0: none do")
HEADING(MEASURING, "Measuring")
OPTION(SECONDS, "seconds", "S", CLI_CMD_BENCH, NUMBER(seconds, 1e-9), "how long to measure (default 3)")
OPTION(REPEAT, "repeat", "N", CLI_CMD_BENCH, INT32(repeat, 1), "runs to measure of each context, instead of --seconds")
OPTION(WARMUP, "warmup", "N", CLI_CMD_BENCH, INT32(warmup, 0), "runs before measuring (default 2)")
OPTION(CONTEXTS, "contexts", "N", CLI_CMD_BENCH, INT32(contexts, 1),
       "contexts of the session side by side, each on its own thread (default 1)")
OPTION(SWEEP, "sweep", "NAME=1,2,4", CLI_CMD_BENCH, TEXT(sweep),
       "for several sizes of a dimension, threads or contexts")
OPTION(PROFILE, "profile", "[=all]", CLI_CMD_BENCH, WORD(profile_all),
       "time, FLOP/s and bytes/s of the 20 slowest units (or all), by operator")
OPTION(TRACE, "trace", "FILE", CLI_CMD_BENCH, TEXT(trace),
       "write the profiled runs for chrome://tracing or ui.perfetto.dev")
OPTION(PROFILE_HTML, "html", "FILE", CLI_CMD_BENCH, TEXT(html), "write the page of 'plan --html', with these times")
HEADING(EQUALITY, "What is equal")
OPTION(RTOL, "rtol", "R", CLI_CMD_TEST | CLI_CMD_COMPARE | CLI_CMD_REDUCE, NUMBER(rtol, 0),
       "equal means |a-b| <= A + R*|b|; without --atol, A grows with max |b| ...")
OPTION(ATOL, "atol", "A", CLI_CMD_TEST | CLI_CMD_COMPARE | CLI_CMD_REDUCE, NUMBER(atol, 0),
       "... (default: R 1e-3, A 1e-4; one node 1e-4, 1e-5; 16-bit floats 1e-2)")
OPTION(AGAINST, "against", "DIR", CLI_CMD_COMPARE, TEXT(against),
       "compare a run with files VALUE.npy, such as a framework's")
OPTION(OUTPUTS_ONLY, "outputs-only", NULL, CLI_CMD_COMPARE, FLAG(outputs_only),
       "compare only outputs, of the model as it normally runs: folded and fused")
OPTION(SHAPES_ONLY, "shapes-only", NULL, CLI_CMD_TEST, FLAG(shapes_only),
       "compare only types and shapes: for operators that draw random values")
HEADING(OUTPUTS, "Outputs")
OPTION(SAVE, "save", "DIR", CLI_CMD_RUN, TEXT(save), "write output_0.npy, output_1.npy ...")
OPTION(OUTPUT, "output", "PATH", CLI_CMD_PLAN | CLI_CMD_COMPILE | SAMPLING | PIECES, TEXT(output),
       "where what is made goes: a plan, a folder of C files, a model; also -o")
OPTION(LOCK, "lock", "FILE", CLI_CMD_PLAN, TEXT(lock), "write where every node runs, to keep under version control")
OPTION(CHECK, "check", "FILE", CLI_CMD_PLAN, TEXT(check),
       "compare with such a lock: a node that has moved is named, and ends with 4")
OPTION(GITHUB, "github", NULL, CLI_CMD_PLAN, FLAG(github), "what --check finds, as annotations of GitHub Actions")
OPTION(HTML, "html", "FILE", CLI_CMD_PLAN, TEXT(html), "write a page for a browser: the graph, reasons, copies, memory")
OPTION(QUANTIZED_HTML, "html", "FILE", CLI_CMD_QUANTIZE, TEXT(html),
       "write a page for a browser: all units and their costs")
OPTION(OPTIMIZED, "optimized", "OUT.onnx", CLI_CMD_PLAN, TEXT(optimized),
       "write the model folded, and fused into ONNX's own operators")
OPTION(PROCESSOR, "target", "NAME", FIRMWARE, TEXT(processor),
       "generic, cortex-m0plus m3 m4 m7 m23 m33 m55 m85 a53, riscv32, rv32imac")
OPTION(INPUT_LAYOUT, "input-layout", "nhwc", CLI_CMD_COMPILE, TEXT(input_layout),
       "take inputs in this layout of the kernels, if they would be converted")
OPTION(IO, "io", "integer|float", FIRMWARE, WORD(io),
       "ports of an 8-bit model: integer (with scales in the header), float")
OPTION(WEIGHTS, "weights", "c|bin", FIRMWARE, WORD(weights),
       "arrays of C (default), or bytes in NAME_weights.bin, given to the run")
OPTION(UPDATE, "update", NULL, FIRMWARE, FLAG(update),
       "put all that training changes into the weights: an update is new weights")
OPTION(ALIGN, "align", "N", FIRMWARE, INT32(align, 8),
       "bytes that addresses of arena and weights are multiples of (default 8)")
OPTION(ARENA, "arena", "fast=64K,slow=1M", FIRMWARE, VALUE(cli_read_arena, cli_arena, arena),
       "values in two memories of these sizes, given to the run")
OPTION(BANDS, "bands", NULL, FIRMWARE, FLAG(bands), "run layers in bands of rows where that takes less memory")
OPTION(NAME, "name", "NAME", FIRMWARE, TEXT(name), "prefix of files and functions (default: the model's name)")
OPTION(MAIN, "main", NULL, CLI_CMD_COMPILE, FLAG(main),
       "also write NAME_main.c and a Makefile: make -C DIR run ARGS=in0.raw")
OPTION(PROJECT, "project", "KIND", CLI_CMD_COMPILE, TEXT(project),
       "also files of cmake, zephyr, esp-idf, arduino, cmsis-pack, platformio")
OPTION(SERIAL, "serial", NULL, CLI_CMD_COMPILE, FLAG(serial),
       "also write NAME_serial.c: runs it on a board for 'tinyort validate'")
OPTION(PORT, "port", "PATH", CLI_CMD_VALIDATE, TEXT(port), "the serial port of the board: /dev/ttyACM0")
OPTION(BAUD, "baud", "N", CLI_CMD_VALIDATE, INT32(baud, 1), "its rate in bits a second (default 115200)")
OPTION(FORCE, "force", NULL, CLI_CMD_COMPILE, FLAG(force), "replace files that tinyort has not written, too")
OPTION(FORMAT, "format", "npy|pb", CLI_CMD_RUN, WORD(format), "format of --save (default npy; pb can hold sequences)")
OPTION(EXPECT, "expect", "finite|fp16", CLI_CMD_RUN, VALUE(cli_read_words, int32_t, expect),
       "the first NaN or infinity; what float16 cannot hold (repeatable)")
OPTION(STATS, "stats", NULL, CLI_CMD_RUN, FLAG(stats), "range, mean, NaN, infinities and zeros of every value")
OPTION(DUMP, "dump", "NODE|all=DIR", CLI_CMD_RUN, TEXTS(dumps), "write what a node makes, or every value, as .npy")
OPTION(TOP, "top", "K", CLI_CMD_RUN, INT32(top, 1), "show the K largest elements of the first output")
OPTION(LABELS, "labels", "FILE", CLI_CMD_RUN, TEXT(labels), "names of classes for --top, one per line")
OPTION(ONLY, "only", "WHICH", CLI_CMD_PLAN, TEXTS(only),
       "show only: an operator, #12, part of a name, fallback, unplaced or copies")
OPTION(FULL, "full", NULL, CLI_CMD_PLAN | SAMPLING, FLAG(full),
       "full names and reasons, also those of kernels made for other nodes")
OPTION(FROM, "from", "VALUE", CLI_CMD_EXTRACT, TEXTS(from),
       "a value that the part begins with (repeatable; default: inputs)")
OPTION(TO, "to", "VALUE", CLI_CMD_EXTRACT, TEXTS(to), "a value that the part makes (repeatable)")
HEADING(MODEL, "The model")
OPTION(ASSUME_OPSET, "assume-opset", "N", LOADING, INT32(load.assume_opset, 1), "treat newer opsets as this one")
OPTION(ALLOW_LINKS, "allow-links", NULL, LOADING, FLAG(load.allow_links),
       "allow external data that is a symbolic link or has hard links")
OPTION(MAP, "map", NULL, LOADING, FLAG(load.map_external),
       "map external data, or a saved plan; nobody may write the file meanwhile")
OPTION(PLAN, "plan", "FILE", CLI_CMD_RUN | CLI_CMD_PLAN | CLI_CMD_BENCH, TEXT(plan),
       "instead of MODEL: a plan that 'tinyort plan MODEL -o FILE' wrote")
OPTION(DYNAMIC_LIMIT, "dynamic-limit", "BYTES", LOADING, VALUE(cli_read_bytes, uint64_t, dynamic_limit),
       "memory for values whose shape depends on data, such as 512M (default 1G)")
OPTION(TRIP_LIMIT, "trip-limit", "N", LOADING, INT64(trip_limit, 1),
       "maximum trips of all loops of a run (default 2^31)")
OPTION(TIME_LIMIT, "time-limit", "S", LOADING, NUMBER(time_limit, 1e-9),
       "seconds that planning, and then each run, may take (default: any)")
HEADING(AND, "And")
OPTION(FUSIONS, "fusions", NULL, CLI_CMD_OPS, FLAG(fusions), "list the fusions: which nodes become which operator")
OPTION(MISSING, "missing", NULL, CLI_CMD_OPS, FLAG(missing), "list the operators that no provider of --ep supports")
OPTION(NODES_TOO, "nodes", NULL, CLI_CMD_INSPECT, FLAG(nodes), "what each node is: operands, shapes, attributes")
OPTION(OPS, "ops", NULL, CLI_CMD_INSPECT, FLAG(ops),
       "only the names of its operators, one a line: a file for make OPS=FILE")
OPTION(WIDTH, "width", "COLUMNS", TABLES, INT32(width, 40),
       "width of tables (default: the terminal's; unlimited in a pipe)")
OPTION(JSON, "json", NULL, EVERY ^ PRINTING, FLAG(json), "machine-readable output on stdout, after a failure too")
OPTION(HELP, "help", NULL, EVERY, FLAG(help), "this text")

#undef HEADING
#undef OPTION
