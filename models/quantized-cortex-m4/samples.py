"""Writes data for three networks: NET/ranges.npy for `tinyort quantize`, and NET/test.raw with NET/right.raw, other samples and their classes, for the board.

The digits are scikit-learn's, as ../digits.py divides them; gestures and sounds are made by the functions that made what the networks learned from, with other seeds.
"""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parent), str(HERE.parent / "gesture-cortex-m4")]
from digits import load_data  # noqa: E402
from gestures import gestures  # noqa: E402
from sounds import sounds  # noqa: E402

RANGES, TEST = 200, 360


def write(name, ranges, test, right):
    folder = Path(name)
    folder.mkdir(exist_ok=True)
    np.save(folder / "ranges.npy", ranges)
    test.astype("<f4").tofile(folder / "test.raw")
    right.astype(np.uint8).tofile(folder / "right.raw")
    print(f"{name:8} {len(ranges)} samples for ranges, {len(test)} to judge")


def main():
    pictures, _, held_back, digits = load_data()
    write("digits", pictures[:RANGES], held_back, digits)
    for name, make in (("gesture", gestures), ("sounds", sounds)):
        write(name, make(np.random.default_rng(11), RANGES)[0], *make(np.random.default_rng(12), TEST))


if __name__ == "__main__":
    main()
