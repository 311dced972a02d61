"""Prints a source with the change that the lesson tells its reader to make: the block ```diff of the page. Nothing but an exact match will do.

Usage: exercise.py PAGE SOURCE
"""

import re
import sys
from pathlib import Path


def changed(text, diff):
    """Hunks begin with @@; lines with " " and "-" must stand in the text, once, and "+" is added."""
    for hunk in re.split(r"^@@.*\n", diff, flags=re.M):
        lines = hunk.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        if text.count(before) != 1:
            sys.exit(f"the change of the lesson does not fit: these lines stand {text.count(before)} times in the source\n{before}")
        text = text.replace(before, after)
    return text


def main():
    page, source = (Path(path).read_text() for path in sys.argv[1:])
    (diff,) = re.findall(r"^```diff\n(.*?)^```$", page, re.M | re.S)
    print(changed(source, diff), end="")


if __name__ == "__main__":
    main()
