# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""The Python package installs into a virtual environment without a network, and works there."""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import unittest

from python_test_case import BIN, PACKAGE, ROOT, scratch, setUpModule, sweep

NEEDED = {"ensurepip": "python3-venv", "setuptools": "python3-setuptools", "wheel": "python3-wheel"}
ABSENT = [package for module, package in NEEDED.items() if not importlib.util.find_spec(module)]

# Runs in the virtual environment, whose bin folder has ncclprobe-report.
USE = """
import pathlib, sys
import ncclprobe
assert pathlib.Path(ncclprobe.__file__).is_relative_to(sys.prefix), ncclprobe.__file__
run = ncclprobe.load(sys.argv[1])
print(len(run.samples), len(run.results))
"""


class Installation(unittest.TestCase):
    def run_in(self, folder, *command, **variables):
        environment = {name: text for name, text in os.environ.items() if not name.startswith(("PIP_", "PYTHON", "NCCLPROBE_"))}
        done = subprocess.run(command, cwd=folder, env={**environment, **variables}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=200, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    @unittest.skipIf(ABSENT, f"not installed: {', '.join(ABSENT)}")
    def test_pip_installs_it_from_the_tree_without_an_index(self):
        folder = scratch()
        # pip builds in the folder of the package.
        source = shutil.copytree(PACKAGE, folder / "package", ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        self.run_in(folder, sys.executable, "-m", "venv", "--system-site-packages", "venv")
        python = folder / "venv/bin/python"
        self.run_in(folder, python, "-m", "pip", "install", "--no-index", "--no-build-isolation", source,
                    PIP_CONFIG_FILE=os.devnull, PIP_DISABLE_PIP_VERSION_CHECK="1")

        (folder / "venv/bin/ncclprobe-report").symlink_to(BIN / "ncclprobe-report")
        elsewhere = folder / "elsewhere"
        elsewhere.mkdir()
        self.assertEqual(self.run_in(elsewhere, python, "-c", USE, sweep(), PATH="/usr/bin:/bin"), "2400 18\n")
        [installed] = (folder / "venv").glob("lib/python3*/site-packages/ncclprobe")
        modules = [{path.relative_to(tree) for path in tree.rglob("*.py")} for tree in (PACKAGE / "ncclprobe", installed)]
        self.assertEqual(*modules)

    def test_its_version_is_that_of_ncclprobe(self):
        versions = [re.search(pattern, (ROOT / file).read_text())[1] for file, pattern in (
            ("CMakeLists.txt", r"project\(ncclprobe VERSION ([\d.]+)"), ("analysis/python/pyproject.toml", r'\nversion = "([\d.]+)"'),
            ("CITATION.cff", r"\nversion: ([\d.]+)"))]
        self.assertEqual(len(set(versions)), 1, versions)


if __name__ == "__main__":
    unittest.main(verbosity=2)
