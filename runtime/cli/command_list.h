/* command_list.h - all subcommands, one row each, in the order of the first page of help.
 *
 * COMMAND(number, name, operands, summary): the function is cli_NAME, its bit in the rows of option_list.h
 * CLI_CMD_NUMBER. There is no include guard: options.h makes the bits, cli.h the declarations, commands.c the table. */

COMMAND(RUN, run, "MODEL", "Runs a model once, and reports where every node ran.")
COMMAND(PLAN, plan, "MODEL", "Shows where every node would run, and why; nothing is run.")
COMMAND(PROVIDERS, providers, "", "Lists the providers and whether they open here, with cause and cure.")
COMMAND(INSPECT, inspect, "MODEL", "Shows what a model is: inputs, outputs, operators, parameters, FLOPs.")
COMMAND(OPS, ops, "[OPERATOR]", "Lists operators and which providers run them, or one in full.")
COMMAND(TEST, test, "DIR...", "Runs ONNX test directories: model.onnx and test_data_set_N.")
COMMAND(COMPARE, compare, "MODEL...", "Compares two chains, or two models: the first node that differs.")
COMMAND(EXTRACT, extract, "MODEL", "Writes a part of a model, with its inputs, as a model of its own.")
COMMAND(REDUCE, reduce, "MODEL", "Writes the smallest part that two chains compute differently.")
COMMAND(BENCH, bench, "MODEL", "Measures the latency of a model; Ctrl-C ends it early.")
COMMAND(QUANTIZE, quantize, "MODEL", "Writes a model in 8 bits, and tells what each node costs.")
COMMAND(CONVERT, convert, "MODEL", "Writes a model in 16-bit floats or float32; nodes that would lose stay.")
COMMAND(COMPILE, compile, "MODEL", "Writes a model as C99 files for firmware, which need no library.")
COMMAND(VALIDATE, validate, "MODEL", "Runs a compiled model on a board, and compares it with the one here.")
COMMAND(VERSION, version, "", "Describes this build: commit, compiler, instruction sets, opsets.")
COMMAND(SCHEMA, schema, "", "Prints the JSON schema of the output of every command with --json.")
#undef COMMAND
