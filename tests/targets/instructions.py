"""Counts the instructions of a run of each model on targets, by the plugin of qemu that tests/embed has, and compares them.

Usage: instructions.py PROGRAM@CHAIN[@QEMU OPTIONS]... -- MODEL...: PROGRAM is tests/targets/count.c linked for a target (build/TARGET/tests/count).
The table has millions of instructions, and from the second column on the ratio to the first.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, "tests/embed")
sys.dont_write_bytecode = True
import boards  # noqa: E402  (tests/embed/boards.py)

EMULATORS = {"aarch64": ("qemu-aarch64", "aarch64-linux-gnu-nm"), "arm": ("qemu-arm", "arm-linux-gnueabihf-nm"),
             "riscv64": ("qemu-riscv64", "riscv64-linux-gnu-nm")}


def count(program, chain, words, model, plugins, folder):
    target = next(part for part in Path(program).parts if "-linux-" in part)
    emulator, nm = EMULATORS[target.split("-")[0]]
    symbols = [line.split() for line in subprocess.run([nm, program], capture_output=True, text=True, check=True).stdout.splitlines()]
    at = {symbol[2]: int(symbol[0], 16) & ~1 for symbol in symbols if len(symbol) == 3}
    out = folder / "blocks"
    plugin = f"{plugins[emulator]},begin={at['count_begin']:x},end={at['count_end']:x},out={out}"
    subprocess.run([emulator, *words, "-plugin", plugin, program, model, chain], check=True)
    return sum(int(instructions) * int(executions) for _, instructions, executions in map(str.split, out.read_text().splitlines()))


def main():
    split = sys.argv.index("--")
    ways, models = [way.split("@", 2) for way in sys.argv[1:split]], sys.argv[split + 1 :]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plugins = boards.build_plugins("cc", [SimpleNamespace(emulator=pair) for pair in EMULATORS.values()], folder)
        for number, (program, chain, *words) in enumerate(ways, 1):
            print(f"{number}: {program} {chain} {' '.join(words)}")
        for model in models:
            found = [count(program, chain, words[0].split() if words else [], model, plugins, folder) for program, chain, *words in ways]
            cells = [f"{found[0] / 1e6:10.2f}"] + [f"{one / 1e6:10.2f} {one / found[0]:5.2f}" for one in found[1:]]
            print(f"{Path(model).stem:<32}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
