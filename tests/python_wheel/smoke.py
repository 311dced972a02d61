"""What a user tries first, without numpy: import, run, look. Usage: smoke.py models/digits.onnx"""

import sys

import tinyort

assert not any(name.split(".")[0] == "numpy" for name in sys.modules)
session = tinyort.InferenceSession(sys.argv[1])
(result,) = session.run(None, {"image": [[[[0.0] * 8] * 8]]})
(row,) = memoryview(result._value).tolist() if isinstance(result, tinyort.OrtValue) else result.tolist()
assert len(row) == 10 and abs(sum(row) - 1) < 1e-5, row
assert session.placement().line().startswith("7 cpu, 1 host (of 8")
print(sys.version.split()[0], session.placement().line())
