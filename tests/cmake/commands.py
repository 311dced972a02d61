"""Holds the commands that CMake would compile the library with against those of make: sources, instruction sets, flags.

Usage: commands.py MAKE_OUTPUT COMPILE_COMMANDS: what `make -n` prints, and CMake's compile_commands.json.
"""

import json
import re
import shlex
import sys
from pathlib import Path


def flags_of(command):
    """The source, a path from the root, with its flags: without where files lie, warnings and debugging information."""
    words = shlex.split(command)
    words = words[next(i for i, word in enumerate(words) if word.startswith("-")) :]
    kept, source = set(), None
    for before, word in zip([""] + words, words):
        if word.endswith(".c") and before != "-o":
            source = re.sub(r".*/(?=(runtime|loader|ops|kernels)/)", "", word)
        elif word.startswith("-") and not re.match(r"-(o|c|W.+|MD|MP|I.*|g1|ffile-prefix-map=.*)$", word):
            kept.add(word)
    return source, tuple(sorted(kept))


def main(make_output, compile_commands):
    made = {flags_of(line) for line in Path(make_output).read_text().splitlines() if " -c -o " in line}
    found = {flags_of(entry["command"]) for entry in json.loads(Path(compile_commands).read_text())}
    for who, rest in (("make", made - found), ("CMake", found - made)):
        for source, flags in sorted(rest):
            print(f"only {who}: {source} {' '.join(flags)}")
    print(len(made & found), "are the same")
    return made != found or not made


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
