"""`tinyort compile --project`: each folder is a package of its build system, built here or held to what that system's documents ask for.

Usage: projects.py TINYORT, from the root of the tree. CMake builds two models from nothing. Zephyr's and ESP-IDF's CMakeLists.txt run in CMake
with stubs of the commands that these systems define, Arduino's sketch with a stub of Serial: neither system is here. Packs of CMSIS and libraries
of PlatformIO are built from what their manifests list. The rules are those of zephyr_module.py and doc/develop/modules.rst (Zephyr), the
idf_component.yml reference (Espressif), library-specification.md (Arduino), PACK.xsd (Open-CMSIS-Pack), library.json's schema (PlatformIO).
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

import numpy as np

import belonging
from belonging import check, counts

DIGITS = Path("models/digits.onnx")
SEMVER = re.compile(r"\d+\.\d+\.\d+")
KINDS = {
    "cmake": ["CMakeLists.txt"],
    "zephyr": ["zephyr/CMakeLists.txt", "zephyr/Kconfig", "zephyr/module.yml"],
    "esp-idf": ["CMakeLists.txt", "idf_component.yml"],
    "arduino": ["examples/digits/digits.ino", "library.properties"],
    "cmsis-pack": ["tinyort.digits.pdsc"],
    "platformio": ["library.json"],
}
CATEGORIES = "Display, Communication, Signal Input/Output, Sensors, Device Control, Timing, Data Storage, Data Processing, Other".split(", ")

READ = """#include <stdio.h>
static void take(const char *path, void *to, size_t bytes) {
    FILE *file = fopen(path, "rb");
    if (!file || fread(to, 1, bytes, file) != bytes) printf("%s: not read\\n", path);
    if (file) fclose(file);
}
"""
MAIN = READ + """#include "digits.h"
int main(int argc, char **argv) {
    static float in0[DIGITS_IN0_SIZE], out0[DIGITS_OUT0_SIZE];
    static double arena[DIGITS_ARENA_BYTES / 8 + 1];
    take(argv[argc - 1], in0, sizeof in0);
    const int failed = digits_run(in0, out0, arena);
    for (int i = 0; i < DIGITS_OUT0_SIZE; i++) printf("%.9g\\n", out0[i]);
    return failed;
}
"""
SECOND = READ + """#include "net.h"
int second(const char *input, const char *bytes);
int second(const char *input, const char *bytes) {
    static float in0[NET_IN0_SIZE], out0[NET_OUT0_SIZE];
    static double arena[NET_ARENA_BYTES / 8 + 1], weights[NET_WEIGHTS_BYTES / 8 + 1];
    take(input, in0, sizeof in0);
    take(bytes, weights, NET_WEIGHTS_BYTES);
    const int failed = net_run(in0, out0, weights, arena);
    for (int i = 0; i < NET_OUT0_SIZE; i++) printf("%.9g\\n", out0[i]);
    return failed;
}
"""
STUBS = {  # of what a build system defines before it reads the package's CMakeLists.txt
    "zephyr": """set(CONFIG_TINYORT_DIGITS y)
add_library(zephyr_interface INTERFACE)
function(zephyr_library_named name)
  add_library(${name} STATIC "")
  set(ZEPHYR_CURRENT_LIBRARY ${name} PARENT_SCOPE)
  target_link_libraries(${name} PUBLIC zephyr_interface)
endfunction()
function(zephyr_library_sources)
  target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGV})
endfunction()
function(zephyr_include_directories)
  target_include_directories(zephyr_interface INTERFACE ${ARGV})
endfunction()
add_subdirectory("${PACKAGE}/zephyr" digits)
set(library tinyort_digits)
""",
    "esp-idf": """function(idf_component_register)
  cmake_parse_arguments(PARSE_ARGV 0 given "" "" "SRCS;INCLUDE_DIRS")
  if(given_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${given_UNPARSED_ARGUMENTS}")
  endif()
  add_library(component STATIC ${given_SRCS})
  target_include_directories(component PUBLIC ${given_INCLUDE_DIRS})
endfunction()
add_subdirectory("${PACKAGE}" digits)
set(library component)
""",
}
ARDUINO = """#pragma once
#include <cstdio>
struct Port {
    void begin(unsigned long) {}
    operator bool() const { return true; }
    void print(const char *text) { std::printf("%s", text); }
    void println(double value, int) { std::printf("%.9g\\n", value); }
    void println(long value) { std::printf("%ld\\n", value); }
    void println(int value) { std::printf("%d\\n", value); }
};
static Port Serial;
"""


def run(*command, **options):
    words = [str(word) for word in command]
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=300, **options)
    except FileNotFoundError:  # it was not built, which is told already
        return subprocess.CompletedProcess(words, 127, "", f"there is no {words[0]}")


def succeed(what, *command, **options):
    done = run(*command, **options)
    check(done.returncode == 0, f"{what}: {(done.stdout + done.stderr)[-1500:]}")
    return done.stdout


class Packages:
    """Digits as a package of every kind, beside inputs and what --ep firmware gives for them."""

    def __init__(self, tinyort, folder):
        self.tinyort, self.folder = tinyort, folder
        self.expected, self.input = self.reference(DIGITS, "image", (1, 1, 8, 8), "--shape", "N=1")
        for kind, files in KINDS.items():
            out = self.compile(DIGITS, kind, folder / kind, "--shape", "N=1", "--main")
            made = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
            own = [f"digits{end}" for end in (".c", ".h", "_main.c", "_weights.c")] + ["Makefile"]
            check(made == sorted(own + files), f"{kind}: {made}")
            for file in files:
                text = (out / file).read_text()
                check("tinyort" in text[:256] and str(folder) not in text and os.getcwd() not in text and max(map(len, text.splitlines())) <= 120, f"{kind}: {file}")

    def reference(self, model, name, shape, *options):
        """The output of --ep firmware for an input of chance, and the input as a raw file."""
        value = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
        np.save(self.folder / f"{name}.npy", value)
        value.tofile(self.folder / f"{name}.raw")
        succeed(f"run {model}", self.tinyort, "run", model, "--ep", "firmware", "--input", f"{name}={self.folder}/{name}.npy", *options, "--save", self.folder / f"of_{name}")
        return np.load(self.folder / f"of_{name}" / "output_0.npy").ravel(), self.folder / f"{name}.raw"

    def compile(self, model, kind, out, *options):
        for _ in range(2):  # the second time over its own files
            told = succeed(f"compile as {kind}", self.tinyort, "compile", model, "--project", kind, "-o", out, "--json", *options)
        check(all(Path(path).is_file() for path in json.loads(told or '{"files": [""]}')["files"]), f"{kind}: the files that --json names")
        return out

    def configure(self, what, source, *options):
        """Configures and builds a folder with a CMakeLists.txt in a folder that is not there yet; returns that."""
        built = self.folder / f"built_{what}"
        succeed(f"{what}: configure", "cmake", "-S", source, "-B", built, *options)
        succeed(f"{what}: build", "cmake", "--build", built)
        return built

    def same(self, what, printed, expected=None):
        expected = self.expected if expected is None else expected
        lines = printed.split()
        check(lines == [f"{number:.9g}" for number in expected], f"{what} prints {lines}, not {expected}")

    def build(self, what, sources, include):
        """Builds the sources that a manifest lists with a program, and runs it."""
        (self.folder / "main.c").write_text(MAIN)
        program = self.folder / f"program_{what}"
        succeed(f"{what}: build", "gcc", "-std=c99", "-O1", f"-I{include}", *sources, self.folder / "main.c", "-o", program, "-lm")
        self.same(what, succeed(what, program, self.input))


def check_cmake(packages):
    """Two models in a project: one by add_subdirectory, one by FetchContent, with its weights apart; for another processor, too."""
    folder = packages.folder
    expected, given = packages.reference(belonging.network(folder / "net.onnx", 1, True), "x", (1, 3, 5, 5))
    net = packages.compile(folder / "net.onnx", "cmake", folder / "cmake_net", "--weights", "bin", "--main")
    application = folder / "application"
    application.mkdir()
    (application / "main.c").write_text(MAIN.replace("int main", "int second(const char *, const char *);\nint main").replace("return failed;", "return failed || second(argv[1], argv[2]);"))
    (application / "second.c").write_text(SECOND)
    libraries = f'add_subdirectory("{folder}/cmake" digits)\ninclude(FetchContent)\nFetchContent_Declare(net SOURCE_DIR "{net}")\nFetchContent_MakeAvailable(net)\n'
    begin = "cmake_minimum_required(VERSION 3.14)\nproject(application C)\n" + libraries
    (application / "CMakeLists.txt").write_text(begin + "add_executable(application main.c second.c)\ntarget_link_libraries(application PRIVATE digits::digits net::net)\n")
    built = packages.configure("cmake", application, "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
    commands = {Path(entry["file"]).name: entry["command"] for entry in json.loads((built / "compile_commands.json").read_text())}
    check(set(commands) == {"main.c", "second.c", "digits.c", "digits_weights.c", "net.c"} and all("-std=c99" in commands[file] for file in ("digits.c", "net.c")), f"cmake: {commands}")
    printed = succeed("cmake", built / "application", given, net / "net_weights.bin", packages.input)
    packages.same("cmake", printed, np.concatenate([packages.expected, expected]))
    if not shutil.which("arm-none-eabi-gcc"):
        print("skipped: cmake for a Cortex-M4 (arm-none-eabi-gcc is not installed)")
        return
    (folder / "cortex-m4.cmake").write_text("set(CMAKE_SYSTEM_NAME Generic)\nset(CMAKE_SYSTEM_PROCESSOR arm)\nset(CMAKE_C_COMPILER arm-none-eabi-gcc)\n"
                                            "set(CMAKE_C_FLAGS_INIT -mcpu=cortex-m4)\nset(CMAKE_EXE_LINKER_FLAGS_INIT --specs=nosys.specs)\n")  # fmt: skip
    built = packages.configure("cortex-m4", application, f"-DCMAKE_TOOLCHAIN_FILE={folder}/cortex-m4.cmake")
    check((built / "digits" / "libdigits.a").is_file() and (built / "application").is_file(), "cmake: libraries and program for a Cortex-M4")


def check_stub(packages, kind):
    """Configures a package whose commands are stubs, builds it for this machine and runs it."""
    host = packages.folder / f"host_{kind}"
    host.mkdir()
    (host / "main.c").write_text(MAIN)
    (host / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.14)\nproject(host C)\n" + STUBS[kind] + "add_executable(host main.c)\ntarget_link_libraries(host PRIVATE ${library} m)\n")
    built = packages.configure(kind, host, f"-DPACKAGE={packages.folder / kind}")
    packages.same(kind, succeed(kind, built / "host", packages.input))
    check("digits_main" not in " ".join(map(str, built.rglob("*.o"))), f"{kind}: the program of --main is in the library")


def check_zephyr(packages):
    check_stub(packages, "zephyr")
    package = packages.folder / "zephyr"
    lines = [line for line in (package / "zephyr/module.yml").read_text().splitlines() if not line.startswith("#")]
    check(lines == ['name: "digits"', "build:", "  cmake: zephyr", "  kconfig: zephyr/Kconfig"], f"zephyr: module.yml {lines}")
    options = re.findall(r"^config (\w+)\n\tbool \"", (package / "zephyr/Kconfig").read_text(), re.M)
    check(options == ["TINYORT_DIGITS"] and f"if(CONFIG_{options[0]})" in (package / "zephyr/CMakeLists.txt").read_text(), f"zephyr: options {options}")


def check_esp_idf(packages):
    check_stub(packages, "esp-idf")
    text = (packages.folder / "esp-idf/idf_component.yml").read_text()
    fields = dict(re.findall(r"^(\w+): (.+)$", text, re.M))
    check(set(fields) == {"version", "description"} and SEMVER.fullmatch(fields["version"].strip('"')) and ": " not in fields["description"], f"esp-idf: {fields}")


def check_arduino(packages):
    """The flat layout: all sources of the library's folder are compiled, those of --main too, and the sketch as C++."""
    package = packages.folder / "arduino"
    fields = dict(line.split("=", 1) for line in (package / "library.properties").read_text().splitlines())
    required = {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures"}
    check(required <= set(fields) <= required | {"includes"}, f"arduino: fields {sorted(fields)}")
    check(re.fullmatch(r"[A-Za-z0-9][\w .-]*", fields["name"]) and SEMVER.fullmatch(fields["version"]) and fields["category"] in CATEGORIES, f"arduino: {fields}")
    check(all(fields.values()) and fields["url"].startswith("https://"), f"arduino: an empty field: {fields}")
    check((package / fields["includes"]).is_file() and not (package / "src").exists(), "arduino: the header is in the folder that is compiled")
    stub = packages.folder / "Arduino.h"
    stub.write_text(ARDUINO)
    (packages.folder / "sketch.cpp").write_text(f'#include "{stub}"\n#include "{package}/examples/digits/digits.ino"\nint main() {{ setup(); loop(); }}\n')
    objects = []
    for source in (*package.glob("*.c"), packages.folder / "sketch.cpp"):
        objects.append(packages.folder / f"arduino_{source.stem}.o")
        words = ["g++", "-std=gnu++11"] if source.suffix == ".cpp" else ["gcc", "-std=gnu11"]
        succeed(f"arduino: {source.name}", *words, "-Wall", "-Wextra", "-Werror", "-O1", "-DARDUINO=10819", f"-I{package}", "-c", source, "-o", objects[-1])
    succeed("arduino: link", "g++", *objects, "-o", packages.folder / "sketch")
    zeros = packages.folder / "zeros.raw"
    zeros.write_bytes(bytes(packages.input.stat().st_size))
    printed = succeed("arduino: the sketch", packages.folder / "sketch")
    succeed("arduino: make", "make", "-C", package, "run", f"ARGS={zeros}", "CFLAGS=-O1", env=belonging.MAKE)
    packages.same("arduino", printed, np.fromfile(package / "output_0.raw", np.float32))


def check_cmsis_pack(packages):
    package = packages.folder / "cmsis-pack"
    root = xml.etree.ElementTree.parse(package / "tinyort.digits.pdsc").getroot()
    check(root.tag == "package" and re.fullmatch(r"\d+\.\d+(\.\d+)?", root.get("schemaVersion")), "cmsis-pack: the root")
    check({child.tag for child in root} == {"vendor", "name", "description", "url", "releases", "components"}, "cmsis-pack: what a pack must have, and components")
    check(f"{root.findtext('vendor')}.{root.findtext('name')}.pdsc" == "tinyort.digits.pdsc", "cmsis-pack: the file's name")
    check(all(SEMVER.fullmatch(release.get("version")) for release in root.iter("release")), "cmsis-pack: releases")
    component = root.find("components/component")
    parts = [component.get(key) for key in ("Cclass", "Cgroup", "Csub")]
    check(all(re.fullmatch(r"[A-Za-z0-9][\w+()'/\s.-]{1,31}", part) for part in parts) and SEMVER.fullmatch(component.get("Cversion")), f"cmsis-pack: {parts}")
    files = [(file.get("category"), file.get("name")) for file in component.iter("file")]
    check(("header", "digits.h") in files and {kind for kind, _ in files} == {"header", "source"}, f"cmsis-pack: {files}")
    packages.build("cmsis-pack", [package / name for kind, name in files if kind == "source"], package)


def check_platformio(packages):
    package = packages.folder / "platformio"
    fields = json.loads((package / "library.json").read_text())
    check(set(fields) == {"description", "name", "version", "keywords", "headers", "frameworks", "platforms", "build"}, f"platformio: {sorted(fields)}")
    check(len(fields["name"]) <= 50 and not re.search(r"[:;/,@<>]|--", fields["name"]) and SEMVER.fullmatch(fields["version"]), f"platformio: {fields}")
    check(all(re.fullmatch(r"[a-z\d][a-z\d-]*", word) for word in fields["keywords"]) and (package / fields["headers"]).is_file(), f"platformio: {fields}")
    build = fields["build"]
    sources = re.findall(r"\+<([^>]+)>", " ".join(build.get("srcFilter", "")))
    check(set(build) == {"includeDir", "srcDir", "srcFilter", "flags"} and build["flags"] == "-lm" and sources == ["digits.c", "digits_weights.c"], f"platformio: {build}")
    packages.build("platformio", [package / name for name in sources], package)


def check_apart(packages):
    """With --weights bin, no file names an array of weights; the sketch wants the address of their bytes."""
    for kind, files in KINDS.items():
        out = packages.compile(DIGITS, kind, packages.folder / f"apart_{kind}", "--shape", "N=1", "--weights", "bin")
        texts = "".join((out / file).read_text() for file in files)
        check("weights.c" not in texts and "@" not in texts, f"{kind}: {texts}")
    sketch = ["g++", "-std=gnu++11", "-Wall", "-Werror", "-x", "c++", "-include", packages.folder / "Arduino.h", f"-I{out.parent}/apart_arduino", "-fsyntax-only"]
    sketch.append(out.parent / "apart_arduino/examples/digits/digits.ino")
    done = run(*sketch)
    check(done.returncode != 0 and "define DIGITS_WEIGHTS_ADDRESS as the address" in done.stderr, f"the sketch without an address: {done.stderr}")
    succeed("the sketch with an address", *sketch, "-DDIGITS_WEIGHTS_ADDRESS=0x10000")
    integers = packages.compile(packages.folder / "net.onnx", "arduino", packages.folder / "integers", "--io", "integer")
    succeed("the sketch of integers", *sketch[:-3], f"-I{integers}", "-fsyntax-only", integers / "examples/net/net.ino")
    check("Serial.println((long)out0[i]);" in (integers / "examples/net/net.ino").read_text(), "the sketch prints integers")


def check_refusals(packages):
    for kind, name, words in (("bazel", "digits", ["'bazel' is none of", *KINDS]), ("cmsis-pack", "d" * 33, ["2 to 32"]), ("arduino", "_digits", ["begin with a letter"])):
        out = packages.folder / "refused"
        done = run(packages.tinyort, "compile", DIGITS, "--shape", "N=1", "--project", kind, "--name", name, "-o", out)
        check(done.returncode == 2 and all(word in done.stderr for word in words) and not out.exists(), f"--project {kind} --name {name}: {done.returncode} {done.stderr}")
    listed = run(packages.tinyort, "compile", "--help").stdout
    check(all(re.search(rf"--project .*\b{kind}\b", listed) for kind in KINDS), "--help lists every kind")
    out = packages.folder / "theirs"
    (out / "zephyr").mkdir(parents=True)
    (out / "zephyr/Kconfig").write_text("config MINE\n")
    done = run(packages.tinyort, "compile", DIGITS, "--shape", "N=1", "--project", "zephyr", "-o", out)
    check(done.returncode == 3 and "zephyr/Kconfig" in done.stderr and not (out / "digits.c").exists(), f"a file of others: {done.returncode} {done.stderr}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        packages = Packages(sys.argv[1], Path(folder))
        for part in (check_cmake, check_zephyr, check_esp_idf, check_arduino, check_cmsis_pack, check_platformio, check_apart, check_refusals):
            part(packages)
    print(f"firmware-projects: {counts['passed']} passed, {counts['failed']} failed")
    sys.exit(1 if counts["failed"] or not counts["passed"] else 0)


if __name__ == "__main__":
    main()
