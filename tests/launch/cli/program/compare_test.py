# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""ncclprobe compare and ncclprobe baseline on runs of the synthetic backend."""

import csv
import io
import json
import shutil
import unittest
import xml.etree.ElementTree

from program_test_case import SMALL, ProgramTest

SYNTHETIC = ["--backend", "synthetic", *SMALL, "--no-sweep", "--repeat", "5"]
GATE = "busbw(all_reduce,>=1K) -50%"


class Compare(ProgramTest):
    def run_named(self, name, seed, **environment):
        self.run_file = self.folder / name
        self.measure(*SYNTHETIC, "--seed", str(seed), **environment)
        return str(self.run_file)

    def compare(self, *arguments, code=0):
        done = self.run_program("compare", *arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def make_baseline(self, runs):
        for seed in range(runs):
            added = self.run_program("baseline", "add", "nightly", self.run_named(f"{seed}.h5", seed))
            self.assertEqual(added.returncode, 0, added.stderr)

    def test_two_runs_are_compared_in_every_format(self):
        runs = [self.run_named("a.h5", 1), self.run_named("b.h5", 2)]
        answer = json.loads(self.compare(*runs, "--format", "json"))["comparisons"][0]
        self.assertEqual(answer["basis"], "two_runs")
        self.assertEqual(len(answer["cells"]), 2)
        self.assertNotIn(answer["conclusion"], ("regression", "improvement"))
        rows = list(csv.DictReader(io.StringIO(self.compare(*runs, "--format", "csv"))))
        self.assertEqual([row["size_bytes"] for row in rows], ["1024", "65536"])
        self.assertIn("Answer", self.compare(*runs))
        self.assertIn("| verdict", self.compare(*runs, "--format", "markdown"))
        suites = xml.etree.ElementTree.fromstring(self.compare(*runs, "--format", "junit"))
        self.assertEqual(len(suites.findall("testsuite/testcase")), 3)
        self.compare(*runs, "-o", "result.xml")
        self.assertEqual(xml.etree.ElementTree.parse(self.folder / "result.xml").getroot().tag, "testsuites")

    def test_a_gate_has_exit_codes(self):
        runs = [self.run_named("a.h5", 1), self.run_named("b.h5", 2)]
        self.compare(*runs, "--gate", GATE, code=11)  # one run each
        self.make_baseline(3)
        self.compare(runs[1], "--against", "nightly", "--gate", GATE)
        slow = self.run_named("slow.h5", 3, NCCLPROBE_SYNTHETIC_GB_PER_S="1")
        self.assertIn("Regression", self.compare(slow, "--against", "nightly", "--gate", GATE, code=10))
        done = self.run_program("compare", "1.h5", "--against", "nightly")
        self.assertIn("nightly (2 runs, without B, which is one of its runs)", done.stdout)
        self.compare(runs[1], "--against", "nightly", "--gate", "busbw(broadcast) -3%", code=12)
        self.compare(runs[1], "--against", "nightly", "--gate", "busbw(all_reduce) 3%", code=2)

    def test_a_baseline_refuses_what_does_not_match(self):
        self.make_baseline(1)
        again = self.run_program("baseline", "add", "nightly", str(self.folder / "0.h5"))
        self.assertEqual(again.returncode, 2)
        self.run_file = self.folder / "four.h5"
        self.measure(*SYNTHETIC, "--ranks", "4")
        done = self.run_program("compare", str(self.run_file), "--against", "nightly")
        self.assertEqual(done.returncode, 12)
        self.assertIn("ranks", done.stderr)
        text = " ".join(self.compare("--help").split())
        self.assertIn("it is 12 with --against if no run of the baseline matches the new one.", text)
        missing = self.run_program("compare", str(self.run_file), "--against", "weekly")
        self.assertEqual(missing.returncode, 2)

    def test_copies_of_a_run_count_once(self):
        self.make_baseline(3)
        run = self.run_named("new.h5", 7)
        for number in range(2):
            shutil.copy(run, self.folder / f"copy{number}.h5")
        copies = ["new.h5", "copy0.h5", "copy1.h5"]
        done = self.run_program("compare", *copies, "--against", "nightly", "--format", "json")
        self.assertEqual(json.loads(done.stdout)["comparisons"][0]["runs_b"], 1)
        self.assertIn("copy1.h5 is left out: it is the same run as new.h5", done.stderr)
        done = self.run_program("compare", "--history", ".", "--format", "json")
        self.assertEqual(json.loads(done.stdout)["runs"], 4)
        done = self.run_program("compare", *copies[:2])
        self.assertEqual(done.returncode, 0)
        self.assertIn("copy0.h5 is the same run as new.h5", done.stderr)

    def test_commands_run_in_turns(self):
        program = " ".join(self.command("run", "-q", *SYNTHETIC))
        answer = json.loads(self.compare("--interleave", program, program + " --seed 1 -o {}", "--pairs", "3",
                                         "--keep", "runs", "--format", "json"))["comparisons"][0]
        self.assertEqual((answer["basis"], answer["runs_a"], answer["runs_b"]), ("interleaved", 3, 3))
        self.assertIsNotNone(answer["overall"])
        self.assertEqual(len(list((self.folder / "runs").glob("*.h5"))), 6)
        self.assertIn("Trials", (self.folder / "runs/a-001.txt").read_text())
        again = self.run_program("compare", "--interleave", program, program, "--pairs", "3", "--keep", "runs")
        self.assertEqual(again.returncode, 2)
        self.assertIn("a-001.h5 exists already", again.stderr)

    def test_commands_in_turns_print_only_if_they_fail(self):
        program = " ".join(self.command("run", *SYNTHETIC))
        done = self.run_program("compare", "-q", "--interleave", program, program, "--pairs", "3")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.run_program("compare", "--interleave", "echo the cause; false", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("the cause", done.stderr)
        done = self.run_program("compare", "--interleave", program + " -o own.h5", program)
        self.assertEqual(done.returncode, 2)
        self.assertIn("it gives --output already: write {} as the path there", done.stderr)

    def test_what_does_not_go_together_is_refused(self):
        self.assertIn("--pairs goes with --interleave", self.run_program("compare", "a", "b", "--pairs", "5").stderr)
        self.assertIn("RUN.h5 is required", self.run_program("baseline", "add", "nightly").stderr)

    def test_the_history_of_a_folder(self):
        for seed in range(3):
            self.run_named(f"{seed}.h5", seed)
        (self.folder / "other.json").write_text("{}")
        done = self.run_program("compare", "--history", ".", "--format", "json")
        self.assertIn("other.json is not a baseline file", done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["runs"], 3)
        self.assertEqual(answer["changes"], [])
        self.assertEqual(answer["findings"][-1]["id"], "too_few_runs")


if __name__ == "__main__":
    unittest.main()
