"""Holds random single operators of every row of tinyort against onnxruntime and onnx.reference, the shapes that it infers when a model is
loaded against onnx.shape_inference and against those of its own run.

run.py --harness H --tinyort T --folder F [--seed S] [--cases N] [--only Op,...] [--jobs J] [--alone] [--rows [--changing]] [--replay FOLDER]

Case i of a seed is always the same. Prints how often the three agreed, what explanations.toml explains and how often, and each
case that nothing explains with how to run it alone; exits with 1 if there is one, or an operator without a generator. With --alone every
case is spoilt and no oracle is asked: tinyort may refuse it, but not crash, hang or contradict itself. With --rows the oracle is tinyort
itself without its fast kernels (cpu:isa=plain), for every instruction set of this machine, in one part and in three; --changing is for the harness of
tests/changing.
"""

import argparse
import collections
import concurrent.futures
import json
import multiprocessing
import shutil
import subprocess
import sys
import time
from pathlib import Path

import generators  # noqa: F401 - fills GENERATORS
from engines import Answer, Harness, Oracle
from judge import Explanations, disagreement, never, rows_disagreement, shape_disagreement, shapes_known
from maker import GENERATORS, make_case

OWN_DOMAIN = "tinyort"  # of fused operators, which no other engine has
ORACLES = ("onnxruntime", "onnx.reference", "onnx.shape_inference")
SHOWN = 60


def rows_of(tinyort, only):
    text = subprocess.run([tinyort, "ops", "--json"], check=True, capture_output=True, text=True).stdout
    rows = [r for r in json.loads(text)["operators"] if r["domain"] != OWN_DOMAIN]
    rows = [r for r in rows if not only or r["name"] in only or f"{r['domain']}.{r['name']}" in only]
    missing = sorted({(r["domain"], r["name"]) for r in rows} - GENERATORS.keys())
    if missing:
        sys.exit(f"fuzz-ops: no generator for {', '.join('::'.join(key) for key in missing)}")
    if not rows:
        sys.exit(f"fuzz-ops: none of {only} is in this build")
    return rows


def instruction_sets(tinyort):
    """Those of this architecture that this machine has."""
    sets = ("v2", "v3", "v3_vnni", "v4", "v4_vnni", "v4_amx", "neon", "neon_dot", "rvv")
    opened = {name: subprocess.run([tinyort, "providers", "--ep", f"cpu:isa={name}", "--require", "cpu"], capture_output=True) for name in sets}
    return [name for name in sets if opened[name].returncode == 0] or ["auto"]


class RowsRunner:
    """The plain loops first, then each set with one thread and with three."""

    def __init__(self, options, name):
        self.survival = options.changing
        self.chains = ["cpu:isa=plain:threads=1"]
        sets = ["auto"] if options.changing else instruction_sets(options.tinyort)
        self.chains += [f"cpu:isa={name}:threads={threads}" for name in sets for threads in (1, 3)]
        self.engines = [Harness(options.harness, Path(options.folder) / f"stderr.{name}.{k}", chain) for k, chain in enumerate(self.chains)]

    def answers(self, case):
        for engine in self.engines:
            engine.send(case)
        return [engine.receive() for engine in self.engines]

    def judge(self, case, answers, counts):
        plain, *others = answers
        problems = [f"{chain}: {answer}" for chain, answer in zip(self.chains, answers) if never(case, answer)]
        if self.survival:
            return problems
        for k, answer in enumerate(others):
            one = others[k - 1] if k % 2 else None
            found = rows_disagreement(case, plain, answer, one)
            counts["rows: " + ("disagree" if found else "agree" if answer.code == "OK" else "refuse too")] += 1
            problems += [f"{self.chains[k + 1]}: {found}"] if found else []
        return problems

    def close(self):
        return next(filter(None, [engine.close() for engine in self.engines]), None)


class Runner:
    def __init__(self, options, name):
        self.harness = Harness(options.harness, Path(options.folder) / f"stderr.{name}")
        self.oracles = [] if options.alone else [Oracle(name) for name in ORACLES]
        self.explanations = Explanations()

    def answers(self, case):
        engines = [self.harness, *self.oracles]
        for engine in engines:
            engine.send(case)
        return [engine.receive() for engine in engines]

    def judge(self, case, answers, counts):
        return judge_case(case, answers, self.explanations, counts)

    def close(self):
        for oracle in self.oracles:
            oracle.close()
        return self.harness.close()


def save(folder, seed, index, case, problems, answers):
    """The case as `tinyort test` and `tinyort run` read it, and all that is known of it."""
    place = Path(folder) / "findings" / f"{case.name}-{case.since}-{seed}-{index}"
    shutil.rmtree(place, ignore_errors=True)
    data = place / "test_data_set_0"
    data.mkdir(parents=True)
    (place / "model.onnx").write_bytes(case.model.SerializeToString())
    for k, (name, tensor) in enumerate(case.feeds):
        (data / f"input_{k}.pb").write_bytes(tensor.proto(name).SerializeToString())
    names = ("tinyort", *ORACLES)
    (place / "case.json").write_text(json.dumps({
        "seed": seed, "index": index, "row": [case.domain, case.operator, case.since], "case": case.describe(), "chain": case.chain, "unfolded": case.unfolded,
        "problems": problems, **{name: str(answer)[:2000] for name, answer in zip(names, answers)}}, indent=1))
    return place


def judge_values(case, name, ours, answer, explanations):
    """What an oracle that computes says: a word for the counts, and the disagreement that nothing explains."""
    found = disagreement(case, name, ours, answer)
    if found is None:
        agreed = answer.code == "OK" and ours.code == "OK"
        return ("agrees" if agreed else "refuses too" if answer.code == "ERROR" else f"no opinion ({answer.code})"), None
    return ("explained", None) if explanations.of(case, found, ours, answer) else (f"UNEXPLAINED {found.kind}", found)


def judge_shapes(case, name, ours, answer, explanations):
    found = shape_disagreement(name, ours, answer)
    if found is None:
        return ("agrees" if shapes_known(ours, answer) else f"no opinion ({answer.code})"), None
    return ("explained", None) if explanations.of(case, found, ours, Answer()) else (f"UNEXPLAINED {found.kind}", found)


def judge_case(case, answers, explanations, counts):
    """The problems that nothing explains."""
    ours, *theirs = answers
    if never(case, ours):
        counts["tinyort " + ours.code] += 1
        return [f"tinyort {ours.code}: {ours.message}"]
    problems = []
    for name, answer in zip(ORACLES, theirs):
        judge = judge_shapes if name == "onnx.shape_inference" else judge_values
        said, found = judge(case, name, ours, answer, explanations)
        counts[f"{name}: {said}"] += 1
        if found:
            problems.append(str(found))
    return problems


def runner_of(options, name):
    return RowsRunner(options, name) if options.rows else Runner(options, name)


def work(options, rows, name, indices):
    """Runs some of the cases; returns counts, what was explained how often, and the findings."""
    counts, findings = collections.Counter(), []
    runner = runner_of(options, name)
    for index in indices:
        case = make_case(rows[index % len(rows)], options.seed, index, options.alone)
        answers = runner.answers(case)
        counts["tinyort: " + ("computes" if answers[0].code == "OK" else f"refuses ({answers[0].code})")] += 1
        problems = runner.judge(case, answers, counts)
        if problems:
            place = save(options.folder, options.seed, index, case, problems, answers)
            findings.append((index, case.describe(), problems, str(place)))
    late = runner.close()
    if late:
        findings.append((-1, "the whole of a process", [late], ""))
    explained = runner.explanations.counts if not options.rows else [0] * len(Explanations().entries)
    return counts, explained, findings


def work_packed(arguments):
    return work(*arguments)


def shards(options):
    """Slices of 1000 cases: a harness and oracles that live for a slice keep memory and leaks apart."""
    size = 1000
    return [range(first, min(first + size, options.cases)) for first in range(0, options.cases, size)]


def replay(options, rows):
    facts = json.loads((Path(options.replay) / "case.json").read_text())
    row = next(r for r in rows if [r["domain"], r["name"], r["since"]] == facts["row"])
    case = make_case(row, facts["seed"], facts["index"], options.alone)
    runner = runner_of(options, "replay")
    answers = runner.answers(case)
    print(case.describe())
    print(f"forms {case.forms}, chain {case.chain}, unfolded {case.unfolded}")
    for name, answer in zip(runner.chains if options.rows else ("tinyort", *ORACLES), answers):
        print(f"{name}: {str(answer)[:1500]}")
    problems = runner.judge(case, answers, collections.Counter())
    late = runner.close()
    print("\n".join(problems + ([late] if late else [])) or "nothing unexplained")
    sys.exit(1 if problems or late else 0)


def tell_agreement(counts, explained):
    """How often the three agreed, and what explained how often that they did not."""
    for key, count in sorted(counts.items()):
        print(f"{count:8d}  {key}")
    if not any(explained):
        return
    print("explained:")
    for entry, count in sorted(zip(Explanations().entries, explained), key=lambda pair: -pair[1]):
        operator = entry.get("operator", "all operators")
        operator = operator if isinstance(operator, str) else ", ".join(operator)
        print(f"{count:8d}  {entry.get('oracle', 'both')} {entry.get('kind', '')} {operator}: {entry['reason']}")


def report(options, counts, explained, findings, seconds):
    if not options.short:
        tell_agreement(counts, explained)
    for index, text, problems, place in sorted(findings)[:SHOWN]:
        print(f"UNEXPLAINED {index}: {text}")
        for problem in problems:
            print(f"    {problem[:400]}")
        again = "test-changing" if options.changing else "fuzz-ops ROWS=1" if options.rows else "fuzz-ops"
        print(f"    make {again} REPLAY={place}")
    if options.short:
        print(f"{options.short}: {options.cases - len(findings)} passed, {len(findings)} failed")
    else:
        print(f"fuzz-ops: seed {options.seed}, {options.cases} cases in {seconds:.0f} s, {len(findings)} unexplained")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--harness", required=True)
    parser.add_argument("--tinyort", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=100000)
    parser.add_argument("--only", help="names, of other domains also com.microsoft.Gelu", type=lambda text: text.split(","), default=[])
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--alone", action="store_true", help="spoil every case, and ask no oracle")
    parser.add_argument("--rows", action="store_true", help="hold fast kernels against the plain loops, and ask no oracle")
    parser.add_argument("--changing", action="store_true", help="with --rows: inputs change while nodes run, which must only survive that")
    parser.add_argument("--replay")
    parser.add_argument("--short", metavar="NAME", help="say what failed and, after this name, the sum, no more")
    options = parser.parse_args()
    Path(options.folder).mkdir(parents=True, exist_ok=True)
    rows = rows_of(options.tinyort, options.only)
    if options.replay:
        replay(options, rows_of(options.tinyort, []))
    shutil.rmtree(Path(options.folder) / "findings", ignore_errors=True)
    begin = time.time()
    counts, explained, findings = collections.Counter(), [0] * len(Explanations().entries), []
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:  # which tells when one of its processes is killed
        tasks = [(options, rows, str(k), indices) for k, indices in enumerate(shards(options))]
        for done, (some, entries, found) in enumerate(pool.map(work_packed, tasks), 1):
            counts += some
            explained = [a + b for a, b in zip(explained, entries)]
            findings += found
            if sys.stderr.isatty() or done % 40 == 0:
                print(f"{done * 100 // len(tasks)} %, {len(findings)} unexplained", file=sys.stderr)
    report(options, counts, explained, findings, time.time() - begin)
    sys.exit(1 if findings or not counts else 0)


if __name__ == "__main__":
    main()
