"""Holds sources and pages to this: no command that they print or show installs from an index under a name of tinyort's. The project
owns none there, and a name that is free may be taken by anybody: the reader of a cure would run a stranger's code.

Usage: names.py, from the root of the tree. Prints `readme-names: N passed, N failed`.
"""

import re
import sys
from pathlib import Path

ENDINGS = {".c", ".h", ".cu", ".cuh", ".cpp", ".py", ".pyi", ".md", ".html", ".sh", ".mk", ".toml", ".yml", ".awk", ".bash", ".fish", ".zsh", ".json", ".txt"}
ROOMS = ("runtime", "kernels", "ops", "loader", "models", "tests", ".ci")
INSTALLS = re.compile(r"\b(?:pip3?|pipx|uv(?: pip)?|poetry|conda|mamba|brew|npm|cargo|gem|apt(?:-get)?|dnf|docker|vcpkg|conan)\s+(?:install|add|get|pull|run)\b([^\n`;|&)]*)")


def joined(text):
    """Texts of C and Python that go on in the next line are one."""
    return re.sub(r'"\s*\n\s*f?"', "", text)


def foreign_installs(text):
    """Names of tinyort's that a command would look up on an index: neither a path nor a file."""
    found = []
    for words in INSTALLS.findall(joined(text)):
        for word in words.replace("'", " ").replace('"', " ").split():
            if re.match(r"tinyort(?![\w.*-]*\.(?:whl|deb|tar))", word) and "/" not in word:
                found.append(word)
    return found


def main():
    passed = failed = 0
    planted = {"pip install tinyort": 1, "pip3 install -q 'tinyort-cuda[libraries]'": 1, 'f("for Python: pip install "\n  "tinyort-cuda");': 1, "docker pull tinyort": 1,
               "pip install build/wheel/tinyort-*.whl": 0, "pip install ./tinyort": 0, "pip install numpy; tinyort run": 0, "conda install numpy tinyort": 1, "sudo apt install ./tinyort_0.1.0.deb": 0}  # fmt: skip
    for text, count in planted.items():
        good = len(foreign_installs(text)) == count
        passed, failed = passed + good, failed + (not good)
        if not good:
            print(f"FAILED the rule itself: {text!r} has {foreign_installs(text)}")
    files = [Path("README.md"), Path("Makefile")] + [path for room in ROOMS for path in Path(room).rglob("*") if path.suffix in ENDINGS]
    for path in files:
        names = foreign_installs(path.read_text(errors="replace")) if path != Path(__file__).resolve().relative_to(Path.cwd()) else []
        passed, failed = passed + (not names), failed + bool(names)
        if names:
            print(f"FAILED {path}: {', '.join(names)} would come from an index, under a name that the project does not own: say a file or a make target")
    print(f"readme-names: {passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
