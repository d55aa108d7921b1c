# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""compare --procure: what it refuses, and its formats. tests/examples/ has whole comparisons."""

import csv
import io
import unittest

from program_test_case import ProgramTest, read_json

T4 = """[[node]]
name = "T4"
gpu = "T4"
gpus = 4
published = true
price_per_hour = 4
tflops = 65
"""
STEP = """[[workload]]
step = "ddp:linear:1024x4"
batch = 64
type = "f16"
"""


class Procure(ProgramTest):
    def compare(self, text, *arguments, code=0):
        (self.folder / "nodes.toml").write_text(text)
        done = self.run_program("compare", "--procure", "nodes.toml", *arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_a_mistake_has_its_file_and_line(self):
        refused = self.compare(T4 + "tflop = 65\n" + STEP, code=2)
        self.assertIn("nodes.toml:8: 'tflop' is not a key here; did you mean tflops?", refused.stderr)
        self.assertEqual(refused.stdout, "")
        self.assertEqual(self.run_program("compare").returncode, 2)
        self.assertEqual(self.run_program("compare", "--procure", "none.toml").returncode, 2)

    def test_what_is_mistyped_ends_with_its_line_and_what_to_do(self):
        model = self.compare(T4 + STEP.replace("linear:1024x4", "nomodel"), code=2)
        self.assertIn("nodes.toml:8: workload 'ddp:nomodel': ", model.stderr)
        share = self.compare(T4.replace("price_per_hour = 4", "purchase = 9\nyears = 4\nutilisation = 70") + STEP, code=2)
        self.assertIn("nodes.toml:8: utilisation = 70: give a share from 0 to 1, such as 0.7", share.stderr)
        self.measure("--backend", "synthetic", "--ranks", "2", "--sizes", "64K", "--no-sweep", "--repeat", "1", "--quiet")
        self.run_file.rename(self.folder / "run.h5")
        node = '[[node]]\nname = "a"\nruns = ["run.h5"]\ngpu = "H200"\ngpus = 2\nsetting = "NCCL_ALGO=Rign"\n'
        setting = self.compare(node + STEP, code=2)
        self.assertIn("nodes.toml:1: node 'a': none of its runs has the setting 'NCCL_ALGO=Rign'", setting.stderr)
        self.assertIn("they have: default", setting.stderr)

    def test_a_run_is_refused_that_is_not_there_or_of_another_node(self):
        node = '[[node]]\nname = "a"\nruns = ["run.h5"]\n'
        self.assertIn("run.h5", self.compare(node + STEP, code=2).stderr)
        self.measure("--backend", "synthetic", "--ranks", "2", "--sizes", "64K", "--no-sweep", "--repeat", "1", "--quiet")
        self.run_file.rename(self.folder / "run.h5")
        self.assertIn("measured without GPUs", self.compare(node + STEP, code=2).stderr)
        node = node.replace('"run.h5"', '"run.h5", "./run.h5"')
        unknown = self.compare(node + 'gpu = "H200"\ngpus = 2\n' + STEP)
        self.assertIn("a, ddp:linear:1024x4: unknown:", unknown.stdout)
        self.assertIn("./run.h5 is left out: it is the same run as another file", unknown.stderr)
        self.assertIn("a: its cost is unknown:", unknown.stdout.split("\n\n")[1])

    def test_a_synthetic_node_is_not_compared_with_a_measured_one(self):
        step = '[[workload]]\nstep = "ddp:linear:256x2"\n'
        nodes = ""
        for backend in ("synthetic", "host"):
            self.run_file = self.folder / f"{backend}.h5"
            self.measure("--backend", backend, "--ranks", "2", "--workload", "ddp", "--model", "linear:256x2", "--batch", "4", "--repeat", "1",
                         "--no-sweep", "--quiet")
            nodes += f'[[node]]\nname = "{backend} node"\nruns = ["{backend}.h5"]\ngpu = "T4"\ngpus = 2\nprice_per_hour = 9\n'
        refused = self.compare(nodes + step, code=2)
        self.assertIn("'synthetic node' has runs of the synthetic backend, 'host node' has measured runs", refused.stderr)
        self.assertEqual(refused.stdout, "")

    def test_every_format_has_the_limits(self):
        rows = list(csv.DictReader(io.StringIO(self.compare(T4 + STEP, "--format", "csv").stdout)))
        self.assertEqual([row["from"] for row in rows], ["published"])
        self.assertGreater(float(rows[0]["step_range_ms_low"]), 0)
        self.assertEqual(rows[0]["step_range_ms_high"], "")
        self.assertIn("| published |", self.compare(T4 + STEP, "--format", "markdown").stdout)
        self.compare(T4 + STEP, "-o", "nodes.json")
        self.assertEqual(read_json((self.folder / "nodes.json").read_text())["steps"][0]["from"], "published")
        self.compare(T4 + STEP, "-o", "nodes.toml", code=2)


if __name__ == "__main__":
    unittest.main()
