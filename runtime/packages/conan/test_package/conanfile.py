"""Compiles the program of the package's own examples that recognizes a digit, and runs it."""

from io import StringIO
from pathlib import Path

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain


class Digit(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "VirtualRunEnv"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        self.folders.build = self.folders.generators = "../../../../build/conan"  # what is built is in no folder of sources

    def _examples(self):
        return Path(self.dependencies["tinyort"].package_folder, "share/doc/tinyort/examples")

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False
        toolchain.cache_variables["STATIC"] = not self.dependencies["tinyort"].options.shared
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure(build_script_folder=self._examples())
        cmake.build(target="digit")

    def test(self):
        said = StringIO()
        self.run(str(Path(self.build_folder, "digit")), stdout=said, cwd=self._examples(), env="conanrun")
        self.output.info(f"digit says {said.getvalue()}")
        assert said.getvalue() == "7\n"
