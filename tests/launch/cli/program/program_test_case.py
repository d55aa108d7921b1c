# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""Runs the real ncclprobe for the tests in this folder. NCCLPROBE_BIN names the folder of the programs."""

import contextlib
import csv
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

try:
    import jsonschema
except ImportError:  # python3-jsonschema
    jsonschema = None

BIN = pathlib.Path(os.environ["NCCLPROBE_BIN"])
SMALL = ["--sizes", "1K,64K", "--collectives", "all_reduce", "--batches", "2", "--iterations", "3", "--warmups", "1"]
# Takes longer than any limit of a millisecond, on any machine.
LARGE = [argument.replace("1K,64K", "64M") for argument in SMALL]
SKIPPED = 77  # exit code, for ctest
SCHEMAS = pathlib.Path(__file__).resolve().parents[4] / "docs/schemas"


def read_json(text):
    """A document of ncclprobe, checked against its published schema if it has one."""
    document = json.loads(text)
    schema = SCHEMAS / (document["schema"].removeprefix("ncclprobe.") + ".json")
    if jsonschema and schema.exists():
        jsonschema.validate(document, json.loads(schema.read_text()))
    return document


def main_on_gpus(least):
    """Runs the tests of the main module. Where fewer GPUs than that are visible, says so and ends with 77, or with 1 under
    NCCLPROBE_REQUIRE_GPU=1."""
    done = subprocess.run([str(BIN / "ncclprobe"), "topo", "--format", "json"], capture_output=True, text=True, check=True, timeout=60)
    gpus = sum(len(host["gpus"]) for host in json.loads(done.stdout)["hosts"])
    if gpus < least:
        print(f"SKIPPED: {gpus} GPUs, and the test needs {least}")
        sys.exit(1 if os.environ.get("NCCLPROBE_REQUIRE_GPU") == "1" else SKIPPED)
    unittest.main(verbosity=2)


def mpirun(ranks):
    return ["mpirun", "--oversubscribe", "-np", str(ranks)]


class ProgramTest(unittest.TestCase):
    """A scratch folder, and a mark in the environment by which everything that a test started is found."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ncclprobe-test-"))
        self.run_file = self.folder / "run.h5"
        self.started = []
        self.mark = f"NCCLPROBE_TEST_MARK={uuid.uuid4()}"
        name, value = self.mark.split("=")
        self.environment = {key: text for key, text in os.environ.items()
                            if not key.startswith(("NCCL", "OMPI_", "PMIX_")) or key.startswith("OMPI_ALLOW")}
        self.environment[name] = value
        if os.geteuid() == 0:
            self.environment["OMPI_ALLOW_RUN_AS_ROOT"] = self.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"

    def tearDown(self):
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError): # it may have ended meanwhile
                os.kill(pid, signal.SIGKILL)
        for program in self.started:
            program.wait(timeout=20)
        shutil.rmtree(self.folder, ignore_errors=True)

    def command(self, *arguments, launcher=()):
        return [*launcher, str(BIN / "ncclprobe"), *arguments]

    def run_program(self, *arguments, launcher=(), timeout=100, **environment):
        return subprocess.run(self.command(*arguments, launcher=launcher), cwd=self.folder, timeout=timeout,
                              env={**self.environment, **environment}, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)

    def start_program(self, *arguments, launcher=(), **environment):
        with open(self.folder / "stderr", "w") as stderr:
            self.started.append(subprocess.Popen(self.command(*arguments, launcher=launcher), cwd=self.folder,
                                                 env={**self.environment, **environment},
                                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                                 stderr=stderr, start_new_session=True))
        return self.started[-1]

    def measure(self, *arguments, code=0, launcher=(), **environment):
        """Runs with an output file, expects an exit code and returns the completed process."""
        done = self.run_program(*arguments, "--output", str(self.run_file), launcher=launcher, **environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def report(self, form="csv"):
        done = self.run_program("report", str(self.run_file), "--format", form)
        self.assertEqual(done.returncode, 0, done.stderr)
        if form == "csv":
            return list(csv.DictReader(io.StringIO(done.stdout)))
        return read_json(done.stdout) if form == "json" else done.stdout

    def processes(self, name=None):
        """Living processes of this test, by the mark in their environment; zombies are gone."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if self.mark.encode() not in (entry / "environ").read_bytes().split(b"\0"):
                    continue
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
                program = (entry / "comm").read_text().strip()
            except OSError:
                continue
            if state not in "ZX" and (name is None or program == name[:15]):
                found.append(int(entry.name))
        return found

    def measuring_workers(self):
        """Workers of a trial. A worker with arguments only answers a question, such as which GPUs there are, and ends."""
        return [pid for pid in self.processes("ncclprobe-worker") if len(self.command_line(pid)) == 1]

    @staticmethod
    def command_line(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
        except OSError:  # it has ended
            return []

    def wait_until(self, condition, seconds=30, what="condition"):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            result = condition()
            if result:
                return result
            time.sleep(0.02)
        self.fail(f"{what} not reached within {seconds} s")

    def wait_for_parts(self, count=1):
        """Until that many finished trials are on disk."""
        folder = pathlib.Path(str(self.run_file) + ".parts")
        self.wait_until(lambda: len(list(folder.glob("trial-*.h5"))) >= count, what=f"{count} finished trials")
