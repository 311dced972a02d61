"""Optimizes the models of the backend cases by `tinyort plan --optimized`, so that run.py can hold them against the same list.

Usage: optimize_cases.py TINYORT FOLDER TO
FOLDER is what make_cases.py wrote; TO gets cases.json, and a folder for each case with the new model and the old data. Fails
if a model cannot be optimized, but for reasons that are stated below, or if the onnx package accepts the old model and
refuses the new one.
"""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import onnx

REFUSED = ("an operator that loading splits (FlexAttention with graphs) cannot be written", "is a step of training")


def accepted(path):
    """What the onnx package says against the model; "" if nothing."""
    try:
        onnx.checker.check_model(onnx.load(path), full_check=True)
    except Exception as error:  # the checker's exceptions have no common class
        return str(error) or repr(error)
    return ""


def optimize(tinyort, case, to):
    """The case with its new model; and what is wrong, "" if it was refused for a stated reason."""
    old, new = Path(case["folder"]), to / case["kind"] / case["name"]
    new.mkdir(parents=True, exist_ok=True)
    for file in old.iterdir():
        link = new / file.name
        if file.name != "model.onnx" and not link.exists():
            link.symlink_to(file.resolve())
    model = new / "model.onnx"
    model.unlink(missing_ok=True)
    done = subprocess.run([tinyort, "plan", old / "model.onnx", "--optimized", model], capture_output=True, text=True, errors="replace")
    if not model.exists():
        return None, "" if any(why in done.stderr for why in REFUSED) else f"not written, status {done.returncode}: {done.stderr.strip()[-300:]}"
    wrong = accepted(model)
    if wrong and not accepted(old / "model.onnx"):
        return None, f"the onnx package refuses it: {wrong[:300]}"
    return dict(case, folder=str(new)), ""


def main():
    tinyort, source, to = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    cases, failures = [], 0
    with ThreadPoolExecutor(2) as pool:
        chosen = json.loads((source / "cases.json").read_text())
        for case, (made, wrong) in zip(chosen, pool.map(lambda case: optimize(tinyort, case, to), chosen)):
            if made:
                cases.append(made)
            elif wrong:
                print(f"FAILED {case['kind']}/{case['name']}: {wrong}")
                failures += 1
    (to / "cases.json").write_text(json.dumps(cases))
    print(f"optimized-cases: {len(cases)} passed, {failures} failed")
    sys.exit(1 if failures or not cases else 0)


if __name__ == "__main__":
    main()
