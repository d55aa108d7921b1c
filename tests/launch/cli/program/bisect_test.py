# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""The first slow one of several workers is found. The slow ones read their latency from another variable."""

import os
import shutil
import unittest

from program_test_case import BIN, ProgramTest, read_json

VARIABLE = b"NCCLPROBE_SYNTHETIC_ALPHA_NS"
OTHER = VARIABLE.replace(b"ALPHA", b"OMEGA")


class Bisect(ProgramTest):
    def make_workers(self, slow, broken=()):
        """Workers 1, 2, 3, 9, 10 and 11."""
        shutil.copy(BIN / "ncclprobe-worker", self.folder / "good")
        shutil.copy(BIN / "ncclprobe-worker", self.folder / "slow")
        code = (self.folder / "slow").read_bytes()
        self.assertIn(VARIABLE, code)
        (self.folder / "slow").write_bytes(code.replace(VARIABLE, OTHER))
        for number in (1, 2, 3, 9, 10, 11):
            name = self.folder / f"worker-{number}"
            if number in broken:
                name.write_text("#!/bin/sh\nexit 1\n")
                name.chmod(0o755)
            else:
                os.link(self.folder / ("slow" if number in slow else "good"), name)

    def search(self, code, **environment):
        done = self.run_program("bisect", f"worker={self.folder}/worker-*", "--cell", "all_reduce:1K", "--backend",
                                "synthetic", "--ranks", "2", "--format", "json", timeout=300, **environment)
        self.assertEqual(done.returncode, code, done.stderr)
        return read_json(done.stdout)

    def name(self, number):
        return str(self.folder / f"worker-{number}")

    def test_the_first_slow_worker_is_found(self):
        self.make_workers(slow=(10, 11))
        found = self.search(10, NCCLPROBE_SYNTHETIC_OMEGA_NS="9000")
        self.assertEqual((found["first_bad"], found["last_good"]), (self.name(10), self.name(9)))
        self.assertEqual([row["answer"] for row in found["comparisons"]], ["slower", "same", "same", "slower"])

    def test_the_first_broken_worker_is_found(self):
        self.make_workers(slow=(), broken=(3, 9, 10, 11))
        found = self.search(10)
        self.assertEqual((found["first_bad"], found["findings"][0]["id"]), (self.name(3), "fails"))
        self.assertEqual(found["findings"][0]["values"]["failure"], "cannot_start")
        self.assertEqual({row["failure"] for row in found["comparisons"] if row["answer"] == "failed"},
                         {"cannot_start"})

    def test_equal_workers_have_no_first_slow_one(self):
        self.make_workers(slow=())
        found = self.search(0)
        self.assertEqual((found["first_bad"], len(found["comparisons"])), (None, 1))

    def test_wrong_words_are_refused(self):
        for words in (["worker=/bin/*h", "--cell", "all_reduce"], ["nccl", "--cell", "all_reduce:1M"],
                      ["worker=/bin/true", "--cell", "all_reduce:1M"],
                      ["worker=/bin/true,/bin/sh", "--cell", "no_collective:1M"]):
            self.assertEqual(self.run_program("bisect", *words).returncode, 2)


if __name__ == "__main__":
    unittest.main()
