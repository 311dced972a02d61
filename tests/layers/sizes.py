"""Tests .ci/check_sizes.py on trees made for it: what it counts as a function, and that it fails where something is too long.

Usage: sizes.py, from the root of the tree. Prints `sizes-check: N passed, N failed`."""

import subprocess
import sys
import tempfile
from pathlib import Path

SHORT = "int answer(void) {\n    return 42;\n}\n\n"


def function(lines):
    return "int f(void) {\n" + "    g();\n" * (lines - 2) + "}\n\n"


def check(files):
    """Exit status and words of the script on a tree of these files."""
    folders = sorted({name.split("/")[0] for name in files} & {"runtime", "loader", "ops", "kernels"})
    files = {".ci/rooms.txt": "".join(f"{folder} 9999 9999\n" for folder in folders), **files}
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, ".ci/check_sizes.py", root], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


def counted(files):
    """Functions and the longest, from the row of all folders."""
    words = next(line for line in check(files)[1].splitlines() if line.startswith("all ")).split()
    return int(words[1]), int(words[-1])


def test_short_functions_pass():
    status, said = check({"ops/a.c": SHORT * 20})
    assert status == 0 and "sizes: 1 passed, 0 failed" in said, said


def test_a_long_function_is_named():
    status, said = check({"ops/a.c": SHORT * 20 + function(61)})
    assert status == 1 and "ops/a.c:81: a function of 61 lines" in said, said
    assert check({"ops/a.c": SHORT * 20 + function(60)})[0] == 0


def test_a_long_file_is_named():
    status, said = check({"tests/a.cu": SHORT * 151})
    assert status == 1 and "tests/a.cu: 604 lines, more than 600" in said, said


def test_the_median():
    assert check({"runtime/a.c": SHORT * 2 + function(11) * 2})[0] == 0
    status, said = check({"runtime/a.c": SHORT * 2 + function(11) * 3})
    assert status == 1 and "more than half of all functions are longer than 10 lines" in said, said


def test_nine_in_ten():
    assert check({"runtime/a.c": SHORT * 9 + function(26)})[0] == 0
    status, said = check({"runtime/a.c": SHORT * 8 + function(26)})
    assert status == 1 and "more than a tenth of all functions are longer than 25 lines" in said, said


def test_a_signature_of_two_lines_counts():
    assert counted({"ops/a.c": "static int sum(int a,\n               int b) {\n    return a + b;\n}\n"}) == (1, 4)


def test_tables_structs_and_comments_are_no_functions():
    text = ("/* f(x) {\n   of old\n*/\n#define F(x) \\\n    {\n" + "typedef struct pair {\n    int (*a)(void);\n} pair;\n"
            "static const pair one = {\n    .a = NULL};\nint f(int);\nnamespace n {\n" + SHORT + "} // namespace n\n")
    assert counted({"ops/a.c": text}) == (1, 3)


def test_functions_of_scripts_count():
    assert counted({"tests/a.py": "class A:\n    def f(self):\n        return 1\n\n\ndef g():\n    pass\n"}) == (2, 2)


def rooms(text, files=None):
    return check({".ci/rooms.txt": text, **(files or {"ops/a.c": SHORT * 25, "ops/ml/b.c": SHORT * 10})})


def test_rooms_within_their_budgets():
    status, said = rooms("# a comment\nops 100 103\nops/ml 40 41\n")
    assert status == 0 and "ops/ml" in said and "all" in said, said


def test_a_room_that_is_full():
    status, said = rooms("ops 100 99\nops/ml 40 41\n")
    assert status == 1 and "ops: 100 lines, its budget is 99: remove something" in said, said
    status, said = rooms("ops 100 103\nops/ml 40 39 for a reason\n")
    assert status == 1 and "ops/ml: 40 lines" in said, said


def test_a_raise_wants_a_reason():
    status, said = rooms("ops 100 110\nops/ml 40 41\n")
    assert status == 1 and "ops: a budget of 110 for 100 lines wants a reason" in said, said
    assert rooms("ops 100 110 eleven operators of opset 29\nops/ml 40 41\n")[0] == 0


def test_a_file_in_no_room():
    status, said = rooms("ops/ml 40 41\n")
    assert status == 1 and "ops/a.c: in no room" in said, said
    assert check({"runtime/a.py": "a = 1\n", ".ci/rooms.txt": "ops 10 10\n", "ops/a.c": SHORT})[0] == 1


def test_a_room_that_is_empty():
    status, said = rooms("ops 100 103\nops/ml 40 41\nloader 10 10\n")
    assert status == 1 and "loader: a room without a source" in said, said


def test_an_empty_tree_fails():
    assert check({})[0] != 0


def main():
    failed, tests = 0, [test for name, test in sorted(globals().items()) if name.startswith("test_")]
    for test in tests:
        try:
            test()
        except AssertionError as error:
            failed += 1
            print(f"sizes-check: FAILED: {test.__name__}: {error}")
    print(f"sizes-check: {len(tests) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
