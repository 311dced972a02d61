"""Times two builds of tinyort in turns: the program of a target beside that of this machine.

Usage: bench.py FIRST SECOND [--ep CHAIN] [--rounds N] MODEL... Each round runs both programs on each model, first one and then the other. The
table has the smallest latency of all rounds and the peak memory of the process, and the second one's ratios to the first.
"""

import argparse
import json
import os
import subprocess
from math import prod
from pathlib import Path


def measure(program, model, chain):
    command = [program, "bench", model, "--ep", chain, "--random", "1", "--seconds", "1", "--json"]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return told["latency_ms"]["min"], told["peak_rss_bytes"] / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--ep", default="cpu:threads=1")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    programs = options.first, options.second
    sizes = [os.path.getsize(program) / 1e6 for program in programs]
    print(f"{options.ep}, {options.rounds} rounds; programs: {sizes[0]:.2f} and {sizes[1]:.2f} MB")
    print(f"{'model':<28}{'ms':>10}{'ms':>10}{'ratio':>8}{'MB':>9}{'MB':>9}{'ratio':>8}")
    ratios = []
    for model in options.models:
        rounds = [[measure(program, model, options.ep) for program in programs] for _ in range(options.rounds)]
        ms = [min(turn[i][0] for turn in rounds) for i in (0, 1)]
        mb = [max(turn[i][1] for turn in rounds) for i in (0, 1)]
        ratios.append(ms[1] / ms[0])
        name = Path(model).name.split(".")[0]
        print(f"{name:<28}{ms[0]:10.3f}{ms[1]:10.3f}{ms[1] / ms[0]:8.3f}{mb[0]:9.1f}{mb[1]:9.1f}{mb[1] / mb[0]:8.3f}", flush=True)
    print(f"geometric mean {prod(ratios) ** (1 / len(ratios)):.3f}")


if __name__ == "__main__":
    main()
