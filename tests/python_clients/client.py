"""What every client's script ends with: main(prepare), where prepare() makes the client and returns its main call.

    X_client.py OUT                              saves the result of one call as JSON
    X_client.py OUT --seconds S [--threads N]    saves the median time of calls over S seconds
"""

import argparse
import inspect
import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np


def folder():
    """Where OUT is, and what several clients share."""
    return Path(sys.argv[1]).resolve().parent


def plain(value):
    """The value in what JSON has: an array with its type, an object by its attributes."""
    if isinstance(value, np.ndarray):
        return {"dtype": str(value.dtype), "shape": value.shape, "values": value.tolist()}
    if isinstance(value, (np.generic, str, int, float)) or value is None:
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    return [plain(part) for part in value]


def times(call, seconds):
    """Seconds of each call, after one that is not counted; three calls at least."""
    call()
    found = []
    while len(found) < 3 or sum(found) < seconds:
        begin = time.perf_counter()
        call()
        found.append(time.perf_counter() - begin)
    return found


def main(prepare, tolerance=1e-4):
    """Runs the client as the command line says. Floats of its results may differ by `tolerance` of the larger of 1 and
    their size; all else must be equal. A prepare(threads) takes the number of threads, 0 for the client's default."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()
    call = prepare(arguments.threads) if inspect.signature(prepare).parameters else prepare()
    if arguments.seconds:
        found = {"seconds": statistics.median(times(call, arguments.seconds))}
    else:
        found = {"tolerance": tolerance, "result": plain(call())}
    arguments.out.write_text(json.dumps(found))
