"""A plugin of pytest: the last line is what .ci/test.sh reads."""


def pytest_terminal_summary(terminalreporter):
    counts = {name: len(terminalreporter.stats.get(name, [])) for name in ("passed", "failed", "error", "skipped")}
    print(f"\npython: {counts['passed']} passed, {counts['failed'] + counts['error']} failed, {counts['skipped']} skipped")
