# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""A build without MPI and without NVIDIA: its programs run alone and as the ranks of a launcher that sets variables, and say what they lack.

usage: without_mpi.py CMAKE BUILD"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAUNCHER = ROOT / "tests/launch/supervisor/env_launcher.py"
# CMake may not even look for MPI. This is how a machine looks that has none.
OPTIONS = ["-DNCCLPROBE_MPI=OFF", "-DNCCLPROBE_NVIDIA=OFF", "-DNCCLPROBE_TESTS=OFF", "-DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON"]
SMALL = ["--backend", "host", "--no-sweep", "--collectives", "all_reduce", "--sizes", "64K", "--repeat", "1", "--batches", "2"]
MARKS = ("OMPI_", "PMIX_", "PMI_", "SLURM_", "RANK", "WORLD_SIZE", "MASTER_", "NCCLPROBE_")


class WithoutMpi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.environment = {name: value for name, value in os.environ.items() if not name.startswith(MARKS)}
        cls.build("host", BUILD)
        cls.program = BUILD / "bin/ncclprobe"

    @classmethod
    def build(cls, preset, folder, *more):
        for command in ([CMAKE, "--preset", preset, "-S", ROOT, "-B", folder, *OPTIONS, *more], [CMAKE, "--build", folder]):
            done = subprocess.run(command, env=cls.environment, capture_output=True, text=True)
            if done.returncode != 0:
                raise AssertionError(done.stdout[-3000:] + done.stderr)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ncclprobe-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def call(self, *command, code=0, **variables):
        done = subprocess.run(command, env=self.environment | variables, cwd=self.folder, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr

    def ranks_of(self, file):
        run = json.loads(self.call(self.program, "report", file, "--format", "json"))["run"]
        self.assertTrue(run["complete"])
        return len(run["ranks"])

    def test_no_program_needs_mpi(self):
        for program in (BUILD / "bin").glob("ncclprobe*"):
            self.assertNotRegex(self.call("readelf", "-d", program), r"NEEDED.*lib(mpi|pmi|open-)")

    def test_alone(self):
        self.call(self.program, "run", *SMALL, "-o", "alone.h5")

        self.assertEqual(self.ranks_of("alone.h5"), 2)

    def test_two_ranks_of_a_launcher_without_mpi(self):
        self.call(sys.executable, LAUNCHER, "2", "--", self.program, "run", *SMALL, "-o", "two.h5")

        self.assertEqual(self.ranks_of("two.h5"), 2)

    def test_version_and_doctor_say_what_is_missing(self):
        versions = json.loads(self.call(self.program, "--version", "--format", "json"))
        self.assertEqual(versions["ncclprobe"]["mpi"], "not built (NCCLPROBE_MPI=OFF)")
        self.assertIn("not built", self.call(self.program, "--version").split("nvidia backend")[1])

        words = self.call(sys.executable, LAUNCHER, "2", "--", self.program, "doctor", "--backend", "host")
        self.assertIn("2 ranks started and exchanged data", words)
        self.assertIn("no GPU here: only the CPU backend was tested", words)

    def test_a_launcher_of_mpi_is_refused_with_the_way_out(self):
        words = self.call(self.program, "run", *SMALL, code=6, OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="0")

        self.assertIn("this build has no MPI (NCCLPROBE_MPI=OFF)", words)
        self.assertIn("NCCLPROBE_LAUNCHER=env", words)

    def test_packages_can_be_configured(self):
        self.call(CMAKE, "--preset", "release", "-S", ROOT, "-B", f"{self.folder}/package", *OPTIONS, "-DNCCLPROBE_PACKAGE=ON")

        self.assertNotIn("bin/ncclprobe-mpi", self.call("ninja", "-C", f"{self.folder}/package", "-t", "targets", "all"))


if __name__ == "__main__":
    CMAKE, BUILD = sys.argv[1], pathlib.Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1], verbosity=2)
