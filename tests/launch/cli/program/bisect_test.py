# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""The first slow or failing one of several workers is found. The bad ones read one of their variables under another name."""

import os
import pathlib
import re
import shutil
import unittest

from program_test_case import BIN, ProgramTest, read_json

WORKERS = pathlib.Path(os.environ["NCCLPROBE_TEST_WORKERS"])


class Bisect(ProgramTest):
    def make_workers(self, slow=(), failing=(), broken=()):
        """Workers 1, 2, 3, 9, 10 and 11. The slow ones take their latency from NCCLPROBE_SYNTHETIC_OMEGA_NS, the failing
        ones their failure from NCCLPROBE_SYNTHETIC_FALL."""
        shutil.copy(BIN / "ncclprobe-worker", self.folder / "good")
        code = (self.folder / "good").read_bytes()
        for name, read, instead in (("slow", b"SYNTHETIC_ALPHA", b"SYNTHETIC_OMEGA"), ("failing", b"SYNTHETIC_FAIL", b"SYNTHETIC_FALL")):
            self.assertIn(read, code)
            shutil.copy(self.folder / "good", self.folder / name)
            (self.folder / name).write_bytes(code.replace(read, instead))
        for number in (1, 2, 3, 9, 10, 11):
            name = self.folder / f"worker-{number}"
            if number in broken:
                name.write_text("#!/bin/sh\nexit 1\n")
                name.chmod(0o755)
            else:
                kind = "slow" if number in slow else "failing" if number in failing else "good"
                os.link(self.folder / kind, name)

    def search(self, code, versions=None, **environment):
        done = self.run_program("bisect", f"worker={versions or self.folder / 'worker-*'}", "--cell", "all_reduce:1K", "--backend",
                                "synthetic", "--ranks", "2", "--cell-timeout", "2s", "--format", "json", timeout=300,
                                **environment)
        self.assertEqual(done.returncode, code, done.stderr)
        self.progress = done.stderr
        return read_json(done.stdout)

    def name(self, number):
        return str(self.folder / f"worker-{number}")

    def test_the_first_slow_worker_is_found(self):
        self.make_workers(slow=(10, 11))
        found = self.search(10, NCCLPROBE_SYNTHETIC_OMEGA_NS="9000")
        self.assertEqual((found["first_bad"], found["last_good"]), (self.name(10), self.name(9)))
        self.assertEqual([row["answer"] for row in found["comparisons"]], ["slower", "same", "same", "slower"])

    def test_the_first_broken_worker_is_found(self):
        self.make_workers(broken=(3, 9, 10, 11))
        found = self.search(10)
        self.assertEqual((found["first_bad"], found["findings"][0]["id"]), (self.name(3), "fails"))
        self.assertEqual(found["findings"][0]["values"]["failure"], "cannot_start")
        self.assertEqual({row["failure"] for row in found["comparisons"] if row["answer"] == "failed"},
                         {"cannot_start"})

    def test_the_first_worker_that_hangs_or_crashes_is_found_after_one_failed_trial_each(self):
        self.make_workers(failing=(3, 9, 10, 11))
        for failure, said in (("hang", "hung"), ("crash", "crashed")):
            found = self.search(10, "worker-*", NCCLPROBE_SYNTHETIC_FALL=failure)
            if failure == "hang":  # of each version
                self.assertEqual(re.findall(r"^Trials .*\b(\d+) timed out", self.progress, re.MULTILINE), ["1", "1"])
            self.assertEqual((found["first_bad"], found["last_good"]), ("./worker-3", "./worker-2"))
            self.assertEqual(found["findings"][0]["values"]["failure"], said)
            self.assertEqual([(row["answer"], row["failure"]) for row in found["comparisons"]],
                             [("failed", said), ("failed", said), ("same", None)])

    def test_the_first_worker_with_wrong_data_is_found(self):
        self.make_workers()
        wrong = self.folder / "wrong_data"  # it behaves as its name says
        shutil.copy(WORKERS / "wrong_data", wrong)
        found = self.search(10, f"{self.name(1)},{self.name(2)},{wrong}")
        self.assertEqual((found["first_bad"], found["last_good"]), (str(wrong), self.name(2)))
        self.assertEqual(found["findings"][0]["values"]["failure"], "wrong_data")

    def test_equal_workers_have_no_first_slow_one(self):
        self.make_workers()
        found = self.search(0)
        self.assertEqual((found["first_bad"], len(found["comparisons"])), (None, 1))

    def test_wrong_words_are_refused(self):
        for words in (["worker=/bin/*h", "--cell", "all_reduce"], ["nccl", "--cell", "all_reduce:1M"],
                      ["worker=/bin/true", "--cell", "all_reduce:1M"],
                      ["worker=/bin/true,/bin/sh", "--cell", "no_collective:1M"]):
            self.assertEqual(self.run_program("bisect", *words).returncode, 2)


if __name__ == "__main__":
    unittest.main()
