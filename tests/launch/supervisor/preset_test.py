# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""launch/preset.sh chooses what src/cmake/Nvidia.cmake then takes, for nvcc and g++ of any age."""

import os
import pathlib
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[3]
TELLS_COMPILER = ("CUDAHOSTCXX", "NVCC_CCBIN", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "CUDAFLAGS")


class Preset(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="ncclprobe-test-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.environment = {name: value for name, value in os.environ.items() if name not in TELLS_COMPILER}
        self.environment["CUDA_HOME"] = str(self.folder / "cuda")
        self.environment["PATH"] = f"{self.folder}:{os.environ['PATH']}"

    def program(self, name, words):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho '{words}'\n")
        path.chmod(0o755)

    def machine(self, release, gxx):
        self.program("cuda/bin/nvcc", f"compute_80, {release}")
        self.program("g++", gxx)

    def preset(self, *arguments, **environment):
        return subprocess.run([SOURCE / "launch" / "preset.sh", *arguments], env={**self.environment, **environment},
                              capture_output=True, text=True, check=True).stdout.strip()

    def words_of_cmake(self, **environment):
        """Of a project that only looks for CUDA."""
        (self.folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.22)\nproject(looks NONE)\n"
            f"include({SOURCE / 'src' / 'cmake' / 'Nvidia.cmake'})\n")
        done = subprocess.run(["cmake", "-S", self.folder, "-B", self.folder / "build"], capture_output=True,
                              env={**self.environment, **environment}, text=True)
        self.assertNotEqual(done.returncode, 0)  # such an nvcc compiles nothing
        return " ".join(done.stderr.split())

    def test_a_new_enough_cuda_is_taken(self):
        for release, gxx in (("13.0", "14"), ("12.0", "12"), ("11.8", "11")):
            with self.subTest(release=release):
                self.machine(f"release {release}, V{release}.1", gxx)
                self.assertEqual(self.preset(), "nvidia")
                self.assertIn(f"is CUDA {release}", self.preset("--why"))

    def test_too_old_or_unknown_is_not(self):
        for words in ("release 11.7, V11.7.1", "release 9.2, V9.2", "nothing of it"):
            with self.subTest(words=words):
                self.machine(words, "11")
                self.assertEqual(self.preset(), "host")
                self.assertIn("older than 11.8", self.preset("--why"))

    def test_an_old_nvcc_beside_a_new_gxx_is_not_taken_unless_it_is_told_of_another(self):
        self.machine("release 11.8, V11.8.89", "12")

        self.assertEqual(self.preset(), "host")
        self.assertIn("CUDAHOSTCXX=g++-11", self.preset("--why"))
        self.assertIn("needs g++ 11 or older", self.words_of_cmake())
        for told in ({"CUDAHOSTCXX": "g++-11"}, {"NVCC_CCBIN": "g++-11"}, {"NVCC_PREPEND_FLAGS": "-ccbin g++-11"}):
            with self.subTest(told=told):
                self.assertEqual(self.preset(**told), "nvidia")
                self.assertNotIn("needs g++ 11 or older", self.words_of_cmake(**told))

    def test_cmake_says_what_is_wrong_with_an_nvcc_that_names_no_release(self):
        self.machine("nothing of it", "11")

        self.assertIn("names no release of CUDA", self.words_of_cmake())


if __name__ == "__main__":
    unittest.main()
