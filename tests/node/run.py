"""Runs ONNX's backend cases through `tinyort test` and holds what happens against expected.txt.

Usage: run.py TINYORT FOLDER EXPECTED [--and EXPECTED] [--ep CHAIN] [--kinds K,...] [--without WORD]... [--print] [--placement FILE [--write]] [PATTERN...]
FOLDER is what make_cases.py wrote. Cases run in batches, several a process; when a process dies, the case after the last
one that it reported has crashed, and the rest of the batch is run again. --print shows the outcome of each case in the
form of the list, for editing it.

What a case did is `yes` (passed), a code such as NO_OP (skipped: refused for that reason) or `no` (wrong, failed or crashed).
The list has lines `PATTERN PROVIDER=OUTCOME...`; of several that fit a case, the last counts. Besides the outcomes above it
knows `shape`: values are random, so that only types and shapes are compared. `rtol=R` and `atol=A` on a line set a tolerance.
Whatever the list does not state is a failure: a wrong result, a skip, and a pass where a refusal is listed.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path

BATCH = 60
PLACED = Counter()  # (operator, provider, why not on the first) -> nodes, over all cases
FALLEN = {}  # (operator, provider, why not on the first, in words) -> names of the cases
SECONDS_A_BATCH = 240


def read_expectations(path):
    """[(pattern, {word: value}, line number)] of every line."""
    expectations = []
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        words = line.split("#")[0].split()
        if words:
            expectations.append((words[0], dict(word.split("=", 1) for word in words[1:]), number))
    return expectations


def expect(case, expectations, provider, used):
    """Adds to a case what the list says of it."""
    case["expected"] = None
    for pattern, words, number in expectations:
        if fnmatchcase(case["kind"] + "/" + case["name"], pattern):
            used.add(number)
            case["expected"] = words.get(provider, words.get("cpu", case["expected"]))
            case["rtol"] = words.get("rtol", case["rtol"])
            case["atol"] = words.get("atol", case["atol"])


def run_process(tinyort, chain, cases):
    """Runs one process; the reports it printed, and how it ended if not in order (a sanitizer may speak up at the end)."""
    first = cases[0]
    command = [tinyort, "test", "--json", "--ep", chain]
    for name in ("rtol", "atol"):
        if first[name] is not None:
            command += ["--" + name, str(first[name])]
    if first["expected"] == "shape":
        command += ["--shapes-only"]
    command += [case["folder"] for case in cases]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS_A_BATCH)
        text, end = done.stdout, f"ended with {done.returncode}: {done.stderr.strip()[-200:]}"
        orderly = done.returncode in (0, 5)
    except subprocess.TimeoutExpired as late:
        text, end = (late.stdout or b"").decode(errors="replace"), f"took more than {SECONDS_A_BATCH} s"
        orderly = False
    reports = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return reports, None if orderly else end


def run_batch(tinyort, chain, cases):
    """(case, outcome, reason) of every case."""
    results = []
    while cases:
        reports, end = run_process(tinyort, chain, cases)
        for case, report in zip(cases, reports):
            outcome = {"PASS": "yes", "FAIL": "no"}.get(report["outcome"], report["code"])
            for operator, where, code, words in report["nodes"]:
                PLACED[operator, where, code] += 1
                if code:
                    FALLEN.setdefault((operator, where, f"{code} {words}"), set()).add(f"{case['kind']}/{case['name']}")
            results.append((case, outcome, report["reason"]))
        if len(reports) < len(cases):
            results.append((cases[len(reports)], "no", "crashed: the process " + (end or "stopped reporting")))
        elif end:
            results[-1] = (cases[-1], "no", f"crashed: after this and {len(cases) - 1} other cases, the process {end}")
        cases = cases[len(reports) + 1 :]
    return results


def batches(cases):
    """Cases of one process share a tolerance."""
    groups = {}
    for case in cases:
        groups.setdefault((case["rtol"], case["atol"], case["expected"] == "shape"), []).append(case)
    for group in groups.values():
        for start in range(0, len(group), BATCH):
            yield group[start : start + BATCH]


def verdict(case, outcome):
    """passed, failed or skipped, and what is wrong."""
    expected = "yes" if case["expected"] == "shape" else case["expected"]
    if expected is None:
        return "failed", "the list does not name this case"
    if outcome == expected:
        return ("passed", "") if outcome == "yes" else ("skipped", "")
    if outcome == "yes":
        return "failed", f"passes, but the list says {expected}: update the list"
    return "failed", f"expected {expected}, found {outcome}"


def placement_lines():
    """An operator a line: how many of its nodes ran where. Then the cases that fell back, under the reason."""
    operators = {}
    for (operator, provider, code), count in sorted(PLACED.items()):
        operators.setdefault(operator, []).append(f"{count} {provider}{' ' + code if code else ''}")
    lines = ["# Nodes of the backend cases by operator: where they run."]
    lines += [f"{operator}: {', '.join(parts)}" for operator, parts in operators.items()]
    lines += ["", "# Cases with nodes that are not on the first provider, and why. All others run there, or are folded."]
    for (operator, provider, why), names in sorted(FALLEN.items()):
        lines += [f"{operator} on {provider}: {why}"] + [f"    {operator} {name}" for name in sorted(names)]
    return lines


def check_placement(path, write):
    """Holds the placement of all nodes against the list; the number of differing lines."""
    lines = placement_lines()
    if write:
        Path(path).write_text("\n".join(lines) + "\n")
    known = Path(path).read_text().splitlines()
    for line in sorted(set(lines) - set(known)):
        print(f"FAILED {path} does not say: {line}")
    for line in sorted(set(known) - set(lines)):
        print(f"FAILED {path} says, but it is not so: {line}")
    return len(set(lines) ^ set(known))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tinyort")
    parser.add_argument("folder")
    parser.add_argument("list")
    parser.add_argument("patterns", nargs="*", help="run only cases whose name contains one of these")
    parser.add_argument("--and", dest="more", help="a second list, for a build of another kind: its lines come last")
    parser.add_argument("--without", action="append", default=[], help="leave out cases whose name contains this")
    parser.add_argument("--ep", default="cpu")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kinds", help="run only these kinds of cases: node,older,simple ...")
    parser.add_argument("--print", action="store_true")
    parser.add_argument("--placement", help="file that says where the nodes of the cases run, and why")
    parser.add_argument("--write", action="store_true", help="write that file anew")
    options = parser.parse_args()

    provider = options.ep.split(",")[0].split(":")[0]
    expectations, used = read_expectations(options.list), set()
    if options.more:
        expectations += [(*line[:2], f"of {options.more}: {line[2]}") for line in read_expectations(options.more)]
    cases = json.loads((Path(options.folder) / "cases.json").read_text())
    for case in cases:
        expect(case, expectations, provider, used)
    if options.kinds:
        cases = [case for case in cases if case["kind"] in options.kinds.split(",")]
    if options.patterns:
        cases = [case for case in cases if any(pattern in case["name"] for pattern in options.patterns)]
    cases = [case for case in cases if not any(word in case["name"] for word in options.without)]

    counts, reasons = Counter(), Counter()
    with ThreadPoolExecutor(options.jobs) as pool:
        for results in pool.map(lambda batch: run_batch(options.tinyort, options.ep, batch), batches(cases)):
            for case, outcome, reason in results:
                name = case["kind"] + "/" + case["name"]
                kind, problem = verdict(case, outcome)
                counts[kind] += 1
                if kind == "skipped":
                    reasons[outcome] += 1
                if options.print:
                    print(f"{name} {provider}={outcome}  # {reason}")
                elif problem:
                    print(f"FAILED {name}: {problem}: {reason}")
    for _, _, number in expectations:
        if number not in used and not options.patterns and not options.without:
            counts["failed"] += 1
            print(f"FAILED {options.list}:{number}: no case has this name")
    if options.placement and not options.patterns:
        wrong = check_placement(options.placement, options.write)
        counts["failed" if wrong else "passed"] += max(wrong, 1)
    if reasons:
        print("skipped as listed: " + ", ".join(f"{count} {code}" for code, count in reasons.most_common()))
    print(f"node: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    sys.exit(1 if counts["failed"] or not counts["passed"] else 0)


if __name__ == "__main__":
    main()
