# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""The two container recipes agree, and the files that Apptainer's copies are enough to build packages.

usage: container_recipes.py CMAKE"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCKER = (ROOT / "launch/container/Dockerfile").read_text()
APPTAINER = (ROOT / "launch/container/ncclprobe.def").read_text()


def sections(name):
    """The lines of each section of this name, in order."""
    found = re.findall(rf"^%{name}\b.*\n((?:(?!%|Bootstrap:).*\n)*)", APPTAINER, re.MULTILINE)
    return [[line.strip() for line in text.splitlines() if line.strip()] for text in found]


class Recipes(unittest.TestCase):
    def test_both_begin_with_the_same_images(self):
        cuda = re.search(r"^ARG CUDA=(.+)$", DOCKER, re.MULTILINE)[1]
        images = [image.replace("${CUDA}", cuda) for image in re.findall(r"^ARG \w+_IMAGE=(.+)$", DOCKER, re.MULTILINE)]

        self.assertEqual(re.findall(r"^From: (.+)$", APPTAINER, re.MULTILINE), images)
        self.assertIn("cuda-cupti-" + "-".join(cuda.split(".")[:2]), sections("post")[1][1])

    def test_both_install_the_same_packages(self):
        for words in ("launch/setup.sh --without-tests", "install -y --no-install-recommends dpkg-dev file",
                      "--output /packages", "/packages/ncclprobe_*.deb openmpi-bin openssh-client"):
            self.assertIn(words, DOCKER)
            self.assertIn(words, "\n".join(sum(sections("post"), [])))

    def test_what_apptainer_copies_can_be_built(self):
        with tempfile.TemporaryDirectory(prefix="ncclprobe-test-") as folder:
            for line in sections("files")[0]:
                source, destination = line.split()
                target = pathlib.Path(folder + destination)
                target.parent.mkdir(parents=True, exist_ok=True)
                (shutil.copytree if (ROOT / source).is_dir() else shutil.copy)(ROOT / source, target)
            build = folder + "/build"
            configured = subprocess.run(
                [CMAKE, "--preset", "release", "-S", folder + "/ncclprobe", "-B", build, "-DNCCLPROBE_PACKAGE=ON",
                 "-DNCCLPROBE_NVIDIA=OFF", "-DNCCLPROBE_COMMIT=unknown"], capture_output=True, text=True)
            self.assertEqual(configured.returncode, 0, configured.stdout + configured.stderr)

            # Ninja looks for every source before it would start anything.
            planned = subprocess.run(["ninja", "-C", build, "-n"], capture_output=True, text=True)

            self.assertEqual(planned.returncode, 0, planned.stdout[-1000:] + planned.stderr)
            for script in ["CPackConfig.cmake", *pathlib.Path(build).rglob("cmake_install.cmake")]:
                words = (pathlib.Path(build) / script).read_text()
                for path in re.findall(rf'"({folder}/ncclprobe/[^"]*)"', words):
                    self.assertTrue(pathlib.Path(path).exists(), f"{path} is packed, but not copied")


if __name__ == "__main__":
    CMAKE = sys.argv.pop(1)
    unittest.main(verbosity=2)
