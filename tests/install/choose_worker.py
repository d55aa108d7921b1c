# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""A package's ncclprobe chooses its worker by the CUDA driver, and says which and why.

Usage: choose_worker.py <folder of the programs> <folder with a stand-in for libcuda.so.1> <version>
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN, DRIVER, VERSION = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]


class ChooseWorker(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(BIN / "ncclprobe", self.folder)
        # What a package has. They are equal here: the name alone decides.
        shutil.copy(BIN / "ncclprobe-worker", self.folder / "worker")
        self.install("cpu", "cuda12", "cuda13")

    def install(self, *workers):
        for old in self.folder.glob("ncclprobe-worker-*"):
            old.unlink()
        for name in workers:
            os.link(self.folder / "worker", self.folder / f"ncclprobe-worker-{name}")

    def call(self, *words, driver=None, version=None):
        environment = {name: value for name, value in os.environ.items() if name not in ("LD_LIBRARY_PATH", "FAKE_CUDA_DRIVER")}
        if driver:
            environment["LD_LIBRARY_PATH"] = driver
        if version:
            environment["FAKE_CUDA_DRIVER"] = version
        done = subprocess.run([self.folder / "ncclprobe", *words], env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def facts(self, **driver):
        return json.loads(self.call("--version", "--format", "json", **driver))

    def test_version_says_which_worker_and_why(self):
        for version, worker in (("13000", "cuda13"), ("12040", "cuda12"), ("11080", "cpu")):
            with self.subTest(version=version):
                facts = self.facts(driver=DRIVER, version=version)["worker"]
                self.assertEqual(facts["program"], f"ncclprobe-worker-{worker}")
                self.assertIn(f"the driver supports CUDA {version[:2]}.{version[3]}", facts["chosen_because"])
        facts = self.facts(driver=DRIVER)["worker"]
        self.assertEqual(facts["program"], "ncclprobe-worker-cpu")
        self.assertIn("cuDriverGetVersion of libcuda.so.1 returned 3", facts["chosen_because"])

    def test_a_package_for_cuda_11_and_13_serves_each_driver_from_11_on(self):
        self.install("cpu", "cuda11", "cuda13")
        for version, worker in (("10020", "cpu"), ("11080", "cuda11"), ("12040", "cuda11"), ("13000", "cuda13"), ("14000", "cuda13")):
            with self.subTest(version=version):
                self.assertEqual(self.facts(driver=DRIVER, version=version)["worker"]["program"], f"ncclprobe-worker-{worker}")

    def test_version_is_complete(self):
        programs = self.facts(driver=DRIVER, version="13000")
        for facts in programs.values():
            self.assertEqual(facts["version"], VERSION)
            self.assertRegex(facts["compiler"], r"^\w+ \d+\.\d+\.\d+, \w+$")
            self.assertRegex(facts["build"], "^([0-9a-f]{12})?$")
        self.assertRegex(programs["ncclprobe"]["commit"], r"^([0-9a-f]{12})?$")
        self.assertRegex(programs["ncclprobe"]["hdf5"], r"^\d+\.\d+\.\d+$")
        self.assertNotEqual(programs["ncclprobe"]["mpi"], "")
        self.assertRegex(programs["worker"]["gloo"], r"^\d+\.\d+\.\d+$")
        text = self.call("--version", driver=DRIVER, version="13000")
        for facts in programs.values():
            for value in facts.values():
                self.assertIn(value, text)

    def test_doctor_says_it_too(self):
        case = json.loads(self.call("doctor", "--backend", "host", "--no-run", "--format", "json", driver=DRIVER, version="12040"))
        self.assertIn({"part": "worker", "version": "ncclprobe-worker-cuda12", "path": "chosen: the driver supports CUDA 12.4"},
                      [{key: link[key] for key in ("part", "version", "path")} for link in case["chain"]])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
