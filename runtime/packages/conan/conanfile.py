"""The library as a Conan package, of the tree that this file lies in: `conan create runtime/packages/conan`.

The package has what `make install-library` installs, but for the library that the option `shared` does not name. CMake finds it by the
files that tinyort installs, so targets are those of runtime/README.md. protobuf-c is the system's, so that no remote is asked for anything.
"""

from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import build_jobs
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt

SOURCES = ["Makefile", "LICENSE", ".ci/*", "runtime/*", "loader/*", "ops/*", "kernels/*", "models/digits.onnx", "tests/*.[ch]", "tests/install/examples/*"]
PICTURES_LIBS = ["tiff", "webp", "openjp2", "png", "jpeg"]
PICTURES_PACKAGES = ["libpng-dev", "libjpeg-dev", "libtiff-dev", "libwebp-dev", "libopenjp2-7-dev"]


class Tinyort(ConanFile):
    name = "tinyort"
    description = "A small ONNX runtime that says where every node runs, and why"
    license = "MIT"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "pictures": [True, False], "regex": [True, False]}
    default_options = {"shared": False, "pictures": False, "regex": False}

    def set_version(self):
        header = load(self, Path(self.recipe_folder, "../../include/tinyort.h"))
        self.version = header.split('#define TORT_VERSION "')[1].split('"')[0]

    def export_sources(self):
        for pattern in SOURCES:
            copy(self, pattern, Path(self.recipe_folder, "../../.."), self.export_sources_folder, excludes="*/build/*")

    def configure(self):
        if not self.options.regex:  # of which re2 alone is C++
            self.settings.rm_safe("compiler.cppstd")
            self.settings.rm_safe("compiler.libcxx")

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("tinyort is for Linux")

    def system_requirements(self):
        packages = ["libprotobuf-c-dev", "protobuf-c-compiler"]
        packages += PICTURES_PACKAGES if self.options.pictures else []
        packages += ["libre2-dev"] if self.options.regex else []
        Apt(self).install(packages)

    def build(self):
        compilers = self.conf.get("tools.build:compiler_executables", default={}, check_type=dict)
        words = [f"{name}='{compilers[language]}'" for name, language in (("CC", "c"), ("CXX", "cpp")) if language in compilers]
        words += ["OPT='-O1 -g'"] if self.settings.build_type == "Debug" else []
        words += [f"{name.upper()}={int(bool(self.options.get_safe(name)))}" for name in ("pictures", "regex")]
        self.run(f"make -j{build_jobs(self)} CUDA=0 {' '.join(words)} PREFIX='{self.build_folder}/installed' install-library")

    def package(self):
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder, "licenses"))
        unwanted = ["lib/*.a"] if self.options.shared else ["lib/*.so*"]
        unwanted += ["lib/pkgconfig/*"]  # names the folder of the build; Conan's PkgConfigDeps writes its own
        copy(self, "*", Path(self.build_folder, "installed"), self.package_folder, excludes=unwanted)

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/tinyort"]
        extra = (PICTURES_LIBS if self.options.pictures else []) + (["re2", "stdc++"] if self.options.regex else [])
        self.cpp_info.libs = (["tinyort_extra"] if extra else []) + ["tinyort"]
        if not self.options.shared:
            self.cpp_info.system_libs = extra + ["protobuf-c", "m", "pthread"]
