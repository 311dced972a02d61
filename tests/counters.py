"""Programs that clang built with -fprofile-instr-generate -fcoverage-mapping: running them, and what their counters say."""

import json
import os
import subprocess


def tool(name):
    """The program of clang++'s own version, else the one on PATH."""
    found = subprocess.run(["clang++", f"-print-prog-name={name}"], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def run(commands, folder, pattern, **environment):
    """Runs commands whose counters go into files of the folder, named by the pattern; those of earlier runs are removed. The number
    of commands that failed, whose output is printed."""
    for old in folder.glob("*.profraw"):
        old.unlink()
    environment = dict(os.environ, LLVM_PROFILE_FILE=str(folder.resolve() / f"{pattern}.profraw"), **environment)
    failed = 0
    for command in commands:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace")
        if done.returncode:
            print(f"FAILED: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
            failed += 1
    return failed


def export(folder, first, *others):
    """llvm-cov's entries of the source files of these programs or libraries, with all counters in the folder added up."""
    merged = folder / "all.profdata"
    subprocess.run([tool("llvm-profdata"), "merge", "-o", merged, *folder.glob("*.profraw")], check=True)
    command = [tool("llvm-cov"), "export", "-skip-functions", f"-instr-profile={merged}", first, *(f"-object={other}" for other in others)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["data"][0]["files"]
