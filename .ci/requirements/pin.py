"""Writes a set of PyPI packages, with all that they need, as exact versions with hashes, for pip's --require-hashes.

Usage: pin.py NAME PACKAGE... writes NAME.txt beside this file; `.ci/setup.sh pins` calls it for each set. It needs uv on PATH (pip install uv).
Hashes are those of the wheels for Linux on x86-64 and aarch64 and CPython 3.11 to 3.14, or of the archive of sources where there is none.
"""

import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

WHEEL = re.compile(r"-(py3|py2\.py3|cp3\d+)-(none|abi3|cp31[1-4])-(any|.*manylinux.*_(x86_64|aarch64))\.whl$")


def hashes(name, version):
    """Of the files of a package that pip may take; newer versions of Python take an abi3 wheel for an older one."""
    request = urllib.request.Request(f"https://pypi.org/simple/{name}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    files = [f for f in json.load(urllib.request.urlopen(request))["files"] if not f.get("yanked")]
    mine = [f for f in files if f["filename"].lower().replace("_", "-").startswith(f"{name}-{version}".replace("_", "-") + ("-" if f["filename"].endswith(".whl") else ".tar"))]
    wheels = [f for f in mine if WHEEL.search(f["filename"])]
    return sorted(f["hashes"]["sha256"] for f in wheels or mine)


def main():
    name, *packages = sys.argv[1:]
    command = ["uv", "pip", "compile", "-q", "--universal", "--python-version", "3.11", "--no-header", "--no-annotate", "-"]
    told = subprocess.run(command, input="\n".join(packages), capture_output=True, text=True, check=True).stdout
    lines = []
    for line in told.splitlines():
        if "win32" in line or "darwin" in line:
            continue
        package, version = re.match(r"([\w.-]+)(?:\[.*\])?==([\w.+!-]+)", line).groups()
        found = hashes(package.lower(), version)
        assert found, f"no file of {package} {version}"
        lines.append(" \\\n".join([line] + [f"    --hash=sha256:{one}" for one in found]))
    Path(__file__).with_name(f"{name}.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
