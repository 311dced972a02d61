"""Writes or checks the table of README.md in this folder: which exporters were compared with onnxruntime, and on what. It is made of
what the runners have kept of the last run of each case (compare.py), so that the table says nothing that did not happen.

    table.py --folder build/models [--write]

Without --write it ends with 1 where README.md says something else, for an exporter that was run here. The last line is the sum.
"""

import argparse
import collections
import json
import pathlib
import re
import sys

README = pathlib.Path(__file__).parent / "README.md"
FIRST, LAST = "<!-- made by table.py -->\n", "<!-- end -->\n"


def read_results(folder):
    """The records of all sets, by exporter."""
    exporters = collections.defaultdict(list)
    for file in sorted((folder / "results").glob("*.json")):
        for record in json.loads(file.read_text()):
            exporters[record["exporter"]].append(record)
    return exporters


def row(name, records):
    passed = [record for record in records if record["result"] == "PASS"]
    names = sorted({record["architecture"] for record in passed if record["architecture"]})
    programs = sum(not record["architecture"] for record in passed)
    words = ", ".join(names + [f"{programs} programs"] * bool(programs))
    skipped = sum(record["result"] == "SKIP" for record in records)
    versions = "/".join(sorted({record["version"] for record in records}))
    return f"| {name} | {versions} | {len(passed)} | {skipped} | {words} |"


def sum_of(exporters):
    passed = [record for records in exporters.values() for record in records if record["result"] == "PASS"]
    architectures = {record["architecture"] for record in passed} - {""}
    programs = {record["label"].split()[0] for record in passed if not record["architecture"]}
    by = {record["exporter"] for record in passed}
    return f"{len(passed)} models of {len(architectures)} architectures and {len(programs)} programs, by {len(by)} exporters and tools"


def lines_of(exporters):
    """The sum, and a row for each exporter."""
    head = ["| exporter or tool | version | models | skipped | architectures |", "|---|---|---|---|---|"]
    rows = [row(name, records) for name, records in sorted(exporters.items(), key=lambda item: item[0].lower())]
    return [f"{sum_of(exporters)}:", "", *head, *rows]


def untrue(told, made):
    """The lines that README.md does not have; the sum is that of the table, so it counts where all of it was run."""
    names = [{line.split("|")[1].strip() for line in lines[4:]} for lines in (told, made)]
    return [line for line in (made if names[0] <= names[1] else made[4:]) if line not in told]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/models"))
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    options = parser.parse_args()
    exporters = read_results(options.folder)
    failed = [record["label"] for records in exporters.values() for record in records if record["result"] == "FAIL"]
    text, made = README.read_text(), lines_of(exporters)
    told = re.search(re.escape(FIRST) + "(.*?)" + re.escape(LAST), text, re.DOTALL)
    if options.write:
        README.write_text(text[: told.start(1)] + "\n".join(made) + "\n" + text[told.end(1) :])
    elif untrue(told[1].splitlines(), made):
        print(f"{README} does not say what was run; with --write it will:", *untrue(told[1].splitlines(), made), sep="\n")
        failed.append("the table")
    print(f"{sum_of(exporters)}: {f'failed: {chr(44).join(failed)}' if failed else 'all agree'}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
