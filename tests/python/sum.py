"""A plugin of pytest: the last line is what .ci/test.sh reads. The runner has the name of its folder of tests."""

from pathlib import Path


def pytest_terminal_summary(terminalreporter):
    folder = next(part for part in Path(terminalreporter.config.args[0]).parts if part.startswith("python"))
    counts = {name: len(terminalreporter.stats.get(name, [])) for name in ("passed", "failed", "error", "skipped")}
    print(f"\n{folder.replace('_', '-')}: {counts['passed']} passed, {counts['failed'] + counts['error']} failed, "
          f"{counts['skipped']} skipped")
