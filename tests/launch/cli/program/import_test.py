# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""Logs of other programs become run files that all commands read."""

import csv
import io
import json
import pathlib
import shutil
import subprocess
import unittest

from program_test_case import ProgramTest

LOGS = pathlib.Path(__file__).resolve().parents[3] / "analysis/imports/logs"
LOG = "all_reduce_2.19.6.log"


class Import(ProgramTest):
    def setUp(self):
        super().setUp()
        for log in LOGS.iterdir():
            shutil.copy(log, self.folder)

    def imported(self, *arguments):
        done = self.run_program("import", *arguments, "-o", "old.h5")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def reported(self, form):
        done = self.run_program("report", "old.h5", "--format", form)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, *arguments, words, code=2):
        done = self.run_program("import", *arguments, "-o", "old.h5")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn(words, done.stderr)
        self.assertFalse((self.folder / "old.h5").exists())
        self.assertFalse((self.folder / "old.h5.parts").exists())

    def test_every_form_of_the_report_says_that_a_run_is_imported(self):
        self.imported(LOG)
        self.assertIn("IMPORTED from", self.reported("table"))
        document = json.loads(self.reported("json"))
        self.assertEqual([one["path"] for one in document["run"]["imported"]], [LOG])
        self.assertEqual(document["run"]["imported"][0]["format"], "nccl_tests_text")
        rows = list(csv.DictReader(io.StringIO(self.reported("csv"))))
        self.assertEqual(len(rows), 26)
        self.assertEqual({row["imported"] for row in rows}, {"true"})
        largest = next(row for row in rows if row["size_bytes"] == "134217728" and row["placement"] == "in_place")
        self.assertAlmostEqual(float(largest["time_us"]), 504.87)
        self.assertAlmostEqual(float(largest["busbw_gb_per_s"]), 265.85, places=1)

    def test_several_logs_and_standard_input_are_processes_of_one_run(self):
        log = (self.folder / LOG).read_text().replace("504.87", "505.87")
        done = subprocess.run(self.command("import", "-", LOG, "-o", "old.h5"), cwd=self.folder, input=log,
                              env=self.environment, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(self.reported("json"))
        self.assertEqual([one["trials"] for one in document["run"]["imported"]], [[0], [1]])

    def test_a_log_counts_once(self):
        shutil.copy(self.folder / LOG, self.folder / "copy.log")
        self.assertIn("copy.log is left out: its content is that of " + LOG, self.imported(LOG, "copy.log").stderr)
        self.assertEqual(len(json.loads(self.reported("json"))["run"]["imported"]), 1)

    def test_one_launch_of_a_log_can_be_chosen(self):
        both = (self.folder / LOG).read_text() + (self.folder / "all_gather_unchecked_2.19.6.log").read_text()
        (self.folder / "both.log").write_text(both)
        self.imported("both.log", "--launch", "2")
        rows = list(csv.DictReader(io.StringIO(self.reported("csv"))))
        self.assertEqual({row["workload"] for row in rows}, {"all_gather"})
        (self.folder / "old.h5").unlink()
        self.refused("both.log", "--launch", "3", words="--launch 3")

    def test_nvbandwidth_gives_matrices_and_inspector_a_process_of_all_its_files(self):
        self.assertIn("all_to_host_memcpy_ce", self.imported("nvbandwidth_0.8.json").stderr)
        self.assertIn("copy engine of the source (ce), one way, 512M", self.reported("table"))
        (self.folder / "old.h5").unlink()
        self.imported("inspector_rank0.log", "inspector_rank1_verbose.log")
        document = json.loads(self.reported("json"))
        self.assertEqual(len(document["run"]["imported"]), 2)
        self.assertEqual(document["run"]["finished_trials"], 1)

    def test_what_cannot_be_imported_is_refused_before_anything_is_written(self):
        (self.folder / "other.txt").write_text("hello\n")
        (self.folder / "other.log").write_text((self.folder / LOG).read_text().replace("NVIDIA H200", "Tesla T4"))
        self.refused("other.txt", words="looked for")
        self.refused(".", words="is a folder")
        self.refused("absent.log", words="absent.log")
        self.refused(LOG, "other.log", words="differ in the GPUs")
        self.refused("other.log", "--format", "nvbandwidth_json", words="other.log")
        self.imported(LOG)
        again = self.run_program("import", LOG, "-o", "old.h5")
        self.assertEqual(again.returncode, 2)
        self.assertIn("--force", again.stderr)
        self.assertEqual(self.run_program("import", LOG, "-o", "old.h5", "--force").returncode, 0)
        self.assertEqual(self.run_program("import", LOG, "-o", LOG, "--force").returncode, 2)


if __name__ == "__main__":
    unittest.main()
