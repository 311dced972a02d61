"""Tests .ci/sass.py and .ci/check_sass.py on machine code made for it (recorded.sass): which loops it finds, what it counts, what
a table of budgets makes of that. Needs no compiler of NVIDIA's.

Usage: machine_code.py, from the root of the tree. Prints `sass-reader: N passed, N failed`."""

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, ".ci")
import sass  # noqa: E402

RECORDED = Path("tests/sass/recorded.sass")
PRODUCT, DIVIDE, COPY = "_Z7productIfEvPKT_PS0_i", "_Z6dividePiS_", "_Z4copyPfS_"
HOLDS = """compiler 13.0
product  sm_80  per tensor <= 6, LDGSTS.128 >= 1, LDSM.x4 >= 1, LDG.16 <= 0, registers <= 100
divide   *      innermost calls <= 2, innermost divisions <= 2, spills <= 20
*        *      spills <= 0, innermost calls <= 0, innermost divisions <= 0
"""


def measured(name, **given):
    kernels, resources = sass.read_kernels(RECORDED.read_text()), sass.read_resources(RECORDED.with_suffix(".ptxas").read_text())
    return sass.measure(kernels[name], resources[name], **given)


def checked(table, *options):
    """Exit status and words of the check with this table of budgets."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(table)
        file.flush()
        command = [sys.executable, ".ci/check_sass.py", "--budgets", file.name, "--compiler", "13.0", *options, str(RECORDED)]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


def holds(table, *words, status=1):
    found, said = checked(table)
    assert found == status and all(word in said for word in words), said


def test_kernels_are_found():
    kernels = sass.read_kernels(RECORDED.read_text())
    assert list(kernels) == [PRODUCT, DIVIDE, COPY], list(kernels)
    assert {kernel.architecture for kernel in kernels.values()} == {"sm_80"}
    assert [len(kernel.code) for kernel in kernels.values()] == [23, 19, 3]


def test_instructions_keep_their_source():
    code = sass.read_kernels(RECORDED.read_text())[PRODUCT].code
    assert code[0].source == ("product.cu", 10) and code[4].source == ("product.cu", 12), code[4]
    assert code[1].guard == "@!P0" and code[2].opcode == "LDGSTS.E.BYPASS.LTC128B.128", code[1:3]


def test_resources():
    found = sass.read_resources(RECORDED.with_suffix(".ptxas").read_text())
    assert found[PRODUCT] == sass.Resources(100, 40000, 0, 0), found
    assert found[DIVIDE] == sass.Resources(24, 0, 16, 20), found


def test_three_loops_and_no_padding():
    loops = sass.find_loops(sass.read_kernels(RECORDED.read_text())[PRODUCT])
    assert sorted((len(loop.code), len(loop.own), loop.innermost) for loop in loops) == \
        [(3, 3, True), (5, 5, True), (12, 9, False)], [(len(loop.code), len(loop.own)) for loop in loops]


def test_a_branch_with_a_predicate_may_go_on():
    assert 0x130 // 16 in sass.cut_blocks(sass.read_kernels(RECORDED.read_text())[PRODUCT])


def test_a_moved_constant_is_no_multiply_add():
    kernel = sass.read_kernels(RECORDED.read_text())[PRODUCT]
    assert dict(sass.count_kinds(kernel, kernel.code[14:19])) == {"FFMA": 3}


def test_tensor_cores_make_the_inner_loop():
    figures, loop = measured(PRODUCT)
    assert (loop.code[0].address, loop.code[-1].address) == (0x20, 0xD0), hex(loop.code[-1].address)
    wanted = {"loop length": 12, "tensor": 2, "per tensor": 6, "FFMA": 2, "LDGSTS": 2, "LDGSTS.128": 1, "LDSM": 2, "LDSM.x4": 1,
              "BAR": 1, "calls": 0, "innermost calls": 0, "instructions": 23, "STG.128": 0}
    assert {name: figures[name] for name in wanted} == wanted, figures


def test_calls_divisions_and_widths():
    figures, loop = measured(DIVIDE)
    wanted = {"loop length": 13, "calls": 2, "divisions": 2, "innermost divisions": 2, "LDG.16": 1, "LDG.32": 1, "LDG.64": 1,
              "LDG.128": 0, "per tensor": float("inf"), "tensor": 0}
    assert {name: figures[name] for name in wanted} == wanted, figures
    assert max(instruction.address for instruction in loop.code) == 0xD0


def test_no_loop_has_no_figures_of_one():
    figures, loop = measured(COPY)
    assert loop is None and "loop length" not in figures and figures["innermost calls"] == 0, figures


def test_resident_warps():
    assert measured(PRODUCT)[0]["threads"] == 128
    assert measured(PRODUCT)[0]["warps"] == 16  # of shared memory, 4 blocks of 4 warps
    assert measured(PRODUCT, dynamic_shared=43000)[0]["warps"] == 4
    assert measured(PRODUCT, threads=1024)[0]["warps"] == 0  # of registers, 16 warps at most
    assert measured(COPY)[0]["warps"] == 64
    assert sass.resident_warps("sm_90", 128, 128, 40000) == 16
    assert sass.resident_warps("sm_80", 32, 8, 0) == 32  # 32 blocks
    assert sass.resident_warps("sm_75", 32, 8, 0) == 16  # 16 blocks; none of their shared memory is the system's
    assert sass.resident_warps("sm_75", 256, 64, 65536) == 8
    assert sass.resident_warps("sm_70", 32, 8, 0) is None


def test_budgets_that_hold():
    holds(HOLDS, "product<float>", "cuda-sass: 3 passed, 0 failed", status=0)
    assert "tighten" not in checked(HOLDS)[1]


def test_each_budget_that_is_passed_fails():
    for was, now in (("per tensor <= 6", "per tensor <= 5.9"), ("LDSM.x4 >= 1", "LDSM.x4 >= 2"), ("LDGSTS.128 >= 1", "LDGSTS.128 >= 2"),
                     ("registers <= 100", "registers <= 99")):
        holds(HOLDS.replace(was, now), f"FAILED: product<float> on sm_80: {was.split()[0]}", "cuda-sass: 2 passed, 1 failed")
    for was in ("innermost calls <= 2", "innermost divisions <= 2", "spills <= 20"):
        holds(HOLDS.replace(was, was[:-1].rstrip("2") + "1"), "FAILED: divide on sm_80", was.split(" <=")[0])


def test_the_rule_for_all_kernels():
    holds(HOLDS.replace("divide   *      innermost calls <= 2, ", "divide   *      "), "innermost calls is 2, the budget <= 0")


def test_what_is_better_may_be_tightened():
    holds(HOLDS.replace("per tensor <= 6", "per tensor <= 8"), "tighten: ", "per tensor <= 8 could be <= 6", status=0)


def test_lines_that_decide_nothing_fail():
    holds(HOLDS + "gone<*>  *  registers <= 9\n", "no kernel is named gone<*>", "cuda-sass: 3 passed, 1 failed")
    holds(HOLDS + "copy  *  spills <= 7\n", "spills <= 7 decides nothing")
    holds(HOLDS + "gone  sm_90  registers <= 9\n", "cuda-sass: 3 passed, 0 failed", status=0)  # no code of sm_90 here
    holds(HOLDS.replace("divide   *", "divide  sm_80  spills <= 20\ndivide   *"), "3 passed, 0 failed", status=0)  # the rest is for others


def test_a_loop_that_is_gone_fails():
    holds(HOLDS.replace("*        *", "copy  *  loop length <= 9\n*        *"), "FAILED: copy on sm_80: has no loop")


def test_bad_tables():
    holds("compiler 13.0\n*  *  speed <= 1\n", "'speed <= 1' is no FIGURE")
    holds("compiler 13.0\n* * spills <= 0\n", "two blanks or more")
    holds("*  *  spills <= 0\n", "compiler RELEASE")


def test_another_compiler_is_shown_and_not_judged():
    holds(HOLDS.replace("13.0", "12.9").replace("spills <= 20", "spills <= 0"), "0 passed, 0 failed, 1 skipped", "product<float>", status=0)


def test_one_kernel_is_shown_with_its_loop():
    status, said = checked(HOLDS, "--only", "product")
    assert status == 0 and "HMMA.16816.F32" in said and "// product.cu:12" in said and "cuda-sass: 1 passed" in said, said
    assert "STG.E.128" not in said and checked(HOLDS, "--only", "gone")[0] == 1


def main():
    failed, tests = 0, [test for name, test in sorted(globals().items()) if name.startswith("test_")]
    for test in tests:
        try:
            test()
        except AssertionError as error:
            failed += 1
            print(f"sass-reader: FAILED: {test.__name__}: {error}")
    print(f"sass-reader: {len(tests) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
