"""Runs the blocks of "Five lines to a digit" in runtime/README.md as they stand there, each in a clean clone of the last commit, and looks
for the seven.

sudo and docker are stand-ins (stand_ins/): a package is unpacked, not installed (make test-deb does that), and where no docker answers the
program of the container is built here and runs in an empty root (make test-container builds the container by buildah). What has not run
for that reason counts as skipped.

Usage: run.py SCRATCH [BLOCK]..., from the root of the tree. Prints `five-lines: N passed, N failed[, N skipped]`.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PAGE = "runtime/README.md"
BLOCKS = ("make", "CMake", "pkg-config", "Conan", "deb", "wheel", "container")
LINES = 5
SEVEN = r"^(7|\s*1\s+7\s+0\.99\d+|.*digit says 7)\s*$"  # of a program, of `tinyort run --top 1`, of Conan's test
FROM_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "BUILD", "CUDA", "CC", "TARGET", "BLOCKS", "VENV")


def blocks():
    section = re.search(r"^## Five lines to a digit\n(.*?)^## ", Path(PAGE).read_text(), re.M | re.S)
    return dict(re.findall(r"^### (\S+)\n\n```sh\n(.*?)^```$", section[1] if section else "", re.M | re.S))


def environment(scratch, clone):
    """What another checkout has compiled is the same, by CMake too; nothing is left outside of SCRATCH."""
    kept = {name: value for name, value in os.environ.items() if name not in FROM_MAKE}
    kept["PATH"] = f"{Path(__file__).resolve().parent}/stand_ins:{scratch}/installed/usr/bin:{kept['PATH']}"
    return kept | {"STAND_IN": str(scratch), "CONAN_HOME": f"{scratch}/conan", "CCACHE_BASEDIR": str(clone), "CMAKE_C_COMPILER_LAUNCHER": os.environ.get("CCACHE", "")}


def run(block, scratch):
    """What is wrong with a block, or None."""
    if len(block.splitlines()) > LINES:
        return f"{len(block.splitlines())} lines, more than {LINES}"
    clone = scratch / "tinyort"  # always here, for ccache
    subprocess.run(["git", "clone", "-q", ".", clone], check=True)
    done = subprocess.run(["sh", "-euc", block], cwd=clone, env=environment(scratch, clone), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    end = "\n".join(done.stdout.splitlines()[-20:])
    if done.returncode:
        return f"exit status {done.returncode}:\n{end}"
    return None if re.search(SEVEN, done.stdout, re.M) else f"no seven:\n{end}"


def main():
    scratch, chosen = Path(sys.argv[1]).resolve(), sys.argv[2:] or BLOCKS
    found, failed, skipped = blocks(), 0, 0
    for name in chosen:
        shutil.rmtree(scratch, ignore_errors=True)
        wrong = run(found[name], scratch) if name in found else f"{PAGE} has no such block"
        failed += wrong is not None
        if wrong:
            print(f"FAILED {name}: {wrong}")
        for line in (scratch / "skipped").read_text().splitlines() if (scratch / "skipped").exists() else ():
            print(f"skipped ({name}): {line}")
            skipped += 1
    extra = sorted(set(found) - set(BLOCKS))
    if extra:
        print(f"FAILED: blocks that are not tried: {', '.join(extra)}")
    print(f"five-lines: {len(chosen) - failed} passed, {failed + bool(extra)} failed, {skipped} skipped")
    return failed > 0 or bool(extra)


if __name__ == "__main__":
    sys.exit(main())
