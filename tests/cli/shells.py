"""The manual page and the completions, as .ci/pages.sh makes them: all that the help lists is in them, and they do what their readers expect."""

import re
import shutil
import subprocess

SHELLS = ("bash", "zsh", "fish")
REQUESTS = {".TH", ".SH", ".SS", ".TP", ".PP", ".br", ".nf", ".fi"}


def commands(suite):
    """As the page of commands lists them."""
    return re.findall(r"^  tinyort (\w+) .*  ?[A-Z]", suite.run("--help").out, re.M)


def options(suite):
    """(command, option, argument) of everything that the help of a command lists."""
    listed = set()
    for command in commands(suite):
        for line in suite.run(command, "--help").out.splitlines():
            found = re.match(r"  (--[a-z-]+)(\[=\S+| \S+)? ", line)
            listed |= {(command, found[1], (found[2] or "-").strip())} if found else set()
    return listed


def has_program(suite, name, what):
    there = shutil.which(name) is not None
    if not there:
        suite.skip(f"{what}: there is no {name} here")
    return there


def page_of(suite, kind):
    """What `make install` puts beside the program: the manual page ("man"), or what completes in a shell."""
    return subprocess.run([".ci/pages.sh", suite.tinyort, kind], check=True, capture_output=True, text=True, timeout=60).stdout


def output_of(*arguments, **more):
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, **more)
    return done.returncode, done.stdout, done.stderr


# ---- the manual page ----------------------------------------------------------------------------------------------------


def plain(roff):
    """Text of a line of roff, without fonts and escapes."""
    roff = re.sub(r"\\f[BIR]|\\&", "", roff)
    for escape, character in ((r"\-", "-"), (r"\(aq", "'"), (r"\(ha", "^"), (r"\(ti", "~"), (r"\(ga", "`"), (r"\e", "\\")):
        roff = roff.replace(escape, character)
    return roff


def test_manual_has_all_options(suite, folder):
    page = page_of(suite, "man")
    suite.check(page.startswith(".TH TINYORT 1"), "the manual has a title")
    lines = page.splitlines()
    told = set()
    for tag, *paragraph in (part.split("\n") for part in page.split(".TP\n")[1:]):
        words = re.match(r"(--[a-z-]+)(?: ?(\S+))?$", plain(tag))
        if words:
            of = re.fullmatch(r"Of (.*)\.", plain(paragraph[2]))
            told |= {(command, words[1], words[2] or "-") for command in of[1].split(", ")}
    wanted = options(suite)
    suite.check(len(wanted) > 150 and told == wanted, f"options of the manual and of the help: {sorted(told ^ wanted)}")
    for command in commands(suite):
        suite.check(re.search(rf"^\.TP\n\\fB{command}\\fR", page, re.M), f"the manual describes {command}")
    for said in ("cpu:threads=", "TINYORT_DISABLE=", ".SH EXIT STATUS", "4 placement refused", ".SH EXAMPLES"):
        suite.check(said in plain(page), f"the manual says nothing of {said}")
    requests = {line.split()[0] for line in lines if line.startswith((".", "'"))}
    suite.check(requests <= REQUESTS, f"text of the manual that roff reads as a request: {requests - REQUESTS}")
    suite.check(all(lines), "a line of the manual is empty")
    suite.check(not re.search(r"\\(?!f[BIR]|-|e|&|\((aq|ha|ti|ga))", page), "the manual has no other escapes")


def test_manual_is_rendered(suite, folder):
    (folder / "tinyort.1").write_text(page_of(suite, "man"))
    if has_program(suite, "groff", "rendering the manual"):
        status, shown, warnings = output_of("groff", "-man", "-Tascii", "-P-cbou", "-rLL=200n", "-ww", folder / "tinyort.1")
        suite.check(status == 0 and not warnings, f"groff warns: {warnings}")
        for said in ("--ep CHAIN", "--profile[=all]", ".npy .npz .pb", "--random SEED|NAME=A..B", "(default 2^31)", "'-': .npy on stdin"):
            suite.check(said in shown, f"the manual shows no {said}")
    if has_program(suite, "mandoc", "checking the manual"):
        status, told, _ = output_of("mandoc", "-T", "lint", "-W", "error", folder / "tinyort.1")
        suite.check(status == 0, f"mandoc: {told}")


# ---- completions --------------------------------------------------------------------------------------------------------


def test_completions_have_all_options(suite, folder):
    wanted, helps = options(suite), {command: suite.run(command, "--help").out for command in commands(suite)}
    for shell in SHELLS:
        script = page_of(suite, shell)
        rows = [line.replace("'\\''", "'").split("\t") for line in script.splitlines() if line.count("\t") == 5]
        rows = [[row[0].rpartition("'")[2], *row[1:]] for row in rows]
        named = {row[1] for row in rows if row[0] == "tinyort"}
        rows = [row for row in rows if row[0] != "tinyort"]
        told = {(row[0], row[1], row[2]) for row in rows}
        suite.check(told == wanted, f"options of {shell} and of the help: {sorted(told ^ wanted)}")
        suite.check(named == {*commands(suite), "help"}, f"commands of {shell}: {named}")
        suite.check("@TABLE@" not in script, f"the script of {shell} has its table")
        for command, option, argument, _, what, said in rows:
            suite.check(said in helps[command], f"{shell}: help of {command} {option}: {said}")
            for kind in ("FILE", "DIR", "MODEL"):
                suite.check(kind not in argument or what == kind, f"{shell}: {option} {argument} completes {what}")


def folder_of_files(folder):
    for name in ("first.onnx", "my model.onnx", "notes.txt", "x.npy"):
        (folder / name).touch()
    (folder / "data").mkdir()
    (folder / "data" / "y.npy").touch()


def in_bash(folder, *words):
    """What bash would put in place of the last of the words, which are cut at '=' and ':' as bash cuts them."""
    code = 'source tinyort.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tinyort; printf "%s\\n" "${COMPREPLY[@]}"'
    status, told, errors = output_of("bash", "-uc", code, "--", *words, cwd=folder)
    return sorted(filter(None, told.splitlines())) if status == 0 and not errors else f"status {status}: {errors}"


def test_bash_completes(suite, folder):
    if not has_program(suite, "bash", "completing in bash"):
        return
    (folder / "tinyort.bash").write_text(page_of(suite, "bash"))
    folder_of_files(folder)
    providers = sorted(provider["name"] for provider in suite.run("providers", "--json").json()["providers"])
    models, files = ["data", "first.onnx", "my model.onnx"], sorted(path.name for path in folder.iterdir())
    for typed, wanted in (
        ([""], [*commands(suite), "help"]),
        (["compi"], ["compile"]),
        (["help", "compi"], ["compile"]),
        (["run", ""], models),
        (["run", "no"], ["notes.txt"]),  # a model may have any name
        (["run", "--strict", "f"], ["first.onnx"]),
        (["run", "first.onnx", "--st"], ["--stats", "--std", "--step-by-step", "--strict", "--strict-integers"]),
        (["version", "--"], ["--help", "--json"]),
        (["run", "--ep", ""], providers),
        (["run", "--ep", "cuda,fi"], ["cuda,firmware"]),
        (["run", "--ep", "="], providers),
        (["run", "--ep", "=", "fi"], ["firmware"]),
        (["run", "--ep", "cuda", ":", "device", "=", "1,fi"], ["1,firmware"]),
        (["run", "--pin", "node", "=", "fi"], ["firmware"]),
        (["run", "--pin", "fi"], []),  # the name of a node, which a script cannot know
        (["run", "--format", "=", "n"], ["npy"]),
        (["bench", "--profile", "="], ["all"]),
        (["bench", "--profile", ""], models),  # an argument that may be left out stands behind a '='
        (["run", "--labels", ""], files),
        (["run", "--input", "x"], ["x.npy"]),
        (["run", "--input", "x", "=", "data/"], ["data/y.npy"]),
        (["run", "--save", ""], ["data"]),
        (["plan", "--output", "no"], ["notes.txt"]),
        (["run", "--dump", "all", "=", "d"], ["data"]),
        (["run", "--top", ""], []),
        (["test", ""], ["data"]),
        (["nothing", ""], []),
        (["nothing", "--"], []),
    ):
        found = in_bash(folder, "tinyort", *typed)
        suite.check(found == sorted(wanted), f"bash completes {typed} with {found}, expected {sorted(wanted)}")


def test_zsh_completes(suite, folder):
    """What is handed to zsh's own functions, without a terminal."""
    if not has_program(suite, "zsh", "completing in zsh"):
        return
    script = folder / "_tinyort"
    script.write_text(page_of(suite, "zsh"))
    status, _, errors = output_of("zsh", "-fn", script)
    suite.check(status == 0 and not errors, f"zsh -n: {errors}")
    code = '_describe() { print -l -- "${(P@)2}" }; _arguments() { print -l -- "$@" }; words=("${(@)argv[2,-1]}"); CURRENT=$#words; source $1'
    listed = options(suite)
    for command in commands(suite):
        status, told, errors = output_of("zsh", "-fc", code, "--", script, "tinyort", command, "")
        wanted = {option for of, option, _ in listed if of == command}
        found = set(re.findall(r"^\*?(--[a-z-]+?)(?:=-?)?\[", told, re.M))
        suite.check(found == wanted and not errors, f"zsh is told of {command}: {sorted(found ^ wanted)} {errors}")
    status, told, errors = output_of("zsh", "-fc", code, "--", script, "tinyort", "")
    found = {line.partition(":")[0] for line in told.splitlines()}
    suite.check(found == {*commands(suite), "help"} and not errors, f"commands in zsh: {found} {errors}")


def test_fish_completes(suite, folder):
    if not has_program(suite, "fish", "completing in fish"):
        return
    (folder / "tinyort.fish").write_text(page_of(suite, "fish"))
    folder_of_files(folder)
    for typed, wanted in (
        ("compi", ["compile"]),
        ("help compi", ["compile"]),
        ("run f", ["first.onnx"]),
        ("run first.onnx --st", ["--stats", "--std", "--step-by-step", "--strict", "--strict-integers"]),
        ("run --ep cuda,fi", ["cuda,firmware"]),
        ("run --ep=cuda,fi", ["--ep=cuda,firmware"]),
        ("run --pin node=fi", ["node=firmware"]),
        ("run --pin fi", []),
        ("bench --profile=", ["--profile=all"]),
        ("run --input x=da", ["x=data/"]),
        ("run --labels no", ["notes.txt"]),
        ("run --save ", ["data/"]),
        ("run --top ", []),
    ):
        status, told, errors = output_of("fish", "--no-config", "-c", 'source tinyort.fish; complete -C "$argv"', f"tinyort {typed}", cwd=folder)
        found = sorted(line.partition("\t")[0] for line in told.splitlines())
        suite.check(status == 0 and found == wanted and not errors, f"fish completes {typed!r} with {found}, expected {wanted} {errors}")
