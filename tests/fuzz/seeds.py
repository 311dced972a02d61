"""Writes seeds for the fuzzer into the folder given: the models of ONNX's own node cases, those below 4 kB."""

import sys
import warnings
from pathlib import Path

from onnx.backend.test.case.node import collect_testcases

LARGEST = 4096

warnings.simplefilter("ignore")
folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
written = 0
for case in collect_testcases(None):
    seed = case.model.SerializeToString()
    if len(seed) <= LARGEST:
        (folder / f"{case.name}.onnx").write_bytes(seed)
        written += 1
print(f"fuzz: {written} seeds of ONNX's node cases")
