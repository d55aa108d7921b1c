# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Every example does what it says, where no GPU is needed for it."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/launch/cli/program"))
from program_test_case import BIN, SMALL, ProgramTest, read_json

EXAMPLES = ROOT / "examples"


class Examples(ProgramTest):
    def test_no_example_is_forgotten_here(self):
        self.assertEqual({path.name for path in EXAMPLES.iterdir() if path.is_file()},
                         {"model.toml", "ddp_scaling.toml", "nccl_sweep.toml", "two_hosts_on_one.toml", "read_run.py", "write_model.py",
                          "suitability_policy.toml", "train.log", "all_reduce.log", "compare_on_github.yml", "compare_in_epilog.sh",
                          "nodes.toml", "measure_nodes.sh", "tuner_table.csv", "t4_against_a100.toml",
                          "nodes_two_h100.txt",  # what nodes.toml gave on GPUs
                          "read_trace.py",  # run by tests/store/trace_h5py_test.cpp
                          "read_run.ipynb"})  # run by tests/analysis/python/notebook_test.py

    def test_the_sweep_is_a_grid_and_the_default(self):
        dry = self.run_program("plan", "--dry-run", "--backend", "host", "--ranks", "8",
                               "--plan", str(EXAMPLES / "nccl_sweep.toml"))
        self.assertEqual(dry.returncode, 0, dry.stderr)
        self.assertIn("40 trials on 8 ranks", dry.stdout)  # 5 x (2 x 3 + default twice)
        self.assertIn("NCCL_ALGO=Tree NCCL_PROTO=LL128", dry.stdout)

    def test_the_policy_tells_which_gpus_suit(self):
        policy = str(EXAMPLES / "suitability_policy.toml")
        h200 = self.run_program("doctor", "--gpu", "H200", "--policy", policy)
        self.assertEqual(h200.returncode, 0, h200.stdout + h200.stderr)
        self.assertIn("H200: suits", h200.stdout)
        t4 = self.run_program("doctor", "--gpu", "T4", "--policy", policy)
        self.assertEqual(t4.returncode, 9, t4.stderr)
        self.assertIn("NO       interconnect NVLink: PCIe", t4.stdout)
        (self.folder / "bad.toml").write_text("min_gpus = 8\nmin_memory = 40\n")
        bad = self.run_program("doctor", "--gpu", "T4", "--policy", "bad.toml")
        self.assertEqual(bad.returncode, 2)
        self.assertIn("bad.toml:2: 'min_memory' is not a key", bad.stderr)

    def test_the_tuner_table_is_one_that_nccl_can_follow(self):
        done = self.run_program("tuner", "check", str(EXAMPLES / "tuner_table.csv"), "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({row["state"] for row in json.loads(done.stdout)["rows"]}, {"unchecked"})

    def test_the_nodes_are_measured_and_compared(self):
        shutil.copy(EXAMPLES / "nodes.toml", self.folder)
        script = [str(EXAMPLES / "measure_nodes.sh"), str(self.folder / "nodes"), "--backend", "synthetic", "--seed", "1"]
        made = subprocess.run(script, env={**self.environment, "NCCLPROBE": str(BIN / "ncclprobe")}, capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        gpus = (self.folder / "nodes.toml").read_text().replace('# gpu = "H200"', 'gpu = "H200"')  # a model has none
        (self.folder / "nodes.toml").write_text(gpus)
        done = self.run_program("compare", "--procure", "nodes.toml", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = read_json(done.stdout)
        self.assertTrue(answer["synthetic"])
        self.assertEqual({step["from"] for step in answer["steps"]}, {"synthetic"})
        self.assertEqual(len(answer["turning_prices"]), 2)

    def test_nodes_that_nobody_measured_have_limits_with_sources(self):
        done = self.run_program("compare", "--procure", str(EXAMPLES / "t4_against_a100.toml"), "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = read_json(done.stdout)
        self.assertEqual([step["from"] for step in answer["steps"]], ["published", "published"])
        t4, a100 = (step["step_range_ms"] for step in answer["steps"])
        self.assertIsNone(t4[1])
        self.assertLess(a100[0], a100[1])
        self.assertLess(a100[1], t4[0])  # even the worst A100 is faster than the best T4

    def test_the_log_tells_which_rank_failed_first_and_why(self):
        done = self.run_program("doctor", "--log", str(EXAMPLES / "train.log"))
        self.assertEqual(done.returncode, 9, done.stderr)
        # The part that the README shows.
        for line in ("Diagnosis    /dev/shm is too small",
                     "First        rank 2 on node1 failed first: line 4 is the earliest",
                     "Passes on    a system or network call inside NCCL failed (1 line, rank 2; first line 6, rank 2)"):
            self.assertIn(line + "\n", done.stdout)

    def test_the_log_of_nccl_tests_becomes_a_run_file(self):
        done = self.run_program("import", str(EXAMPLES / "all_reduce.log"), "-o", "old.h5")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("all_reduce, f32 sum, 2 ranks", self.run_program("report", "old.h5").stdout)

    def run_script(self, script, **environment):
        return subprocess.run(["sh", "-c", script], cwd=self.folder, text=True, capture_output=True, timeout=100,
                              env={**self.environment, "PATH": f"{os.environ['NCCLPROBE_BIN']}:{os.environ['PATH']}",
                                   **environment})

    def make_baseline(self, name, *options):
        for seed in range(3):
            self.run_file = self.folder / f"baseline-{seed}.h5"
            self.measure("--backend", "synthetic", "--no-sweep", "--repeat", "5", "--seed", str(seed), *options)
            added = self.run_program("baseline", "add", name, str(self.run_file))
            self.assertEqual(added.returncode, 0, added.stderr)
        self.run_file = self.folder / "run.h5"

    def test_the_workflow_compares_with_the_baseline(self):
        text = (EXAMPLES / "compare_on_github.yml").read_text()
        commands = [line.split("run: ")[-1].strip() for line in text.splitlines()
                    if line.strip().removeprefix("run: ").startswith("ncclprobe ")]
        self.assertEqual(len(commands), 3)
        self.make_baseline("main", "--collectives", "all_reduce", "--sizes", "1M:64M:x4")
        for command in commands:
            done = self.run_script(command.replace(" -q ", " -q --backend synthetic "),
                                   GITHUB_STEP_SUMMARY=str(self.folder / "summary.md"))
            self.assertIn(done.returncode, (0, 11), done.stderr)
        self.assertIn("<testcase", (self.folder / "compare.xml").read_text())
        self.assertIn("| :-- |", (self.folder / "summary.md").read_text())

    def test_the_epilog_says_how_the_node_is(self):
        self.make_baseline("node7", *SMALL)
        script = str(EXAMPLES / "compare_in_epilog.sh")
        done = self.run_script(script, SLURMD_NODENAME="node7", NCCLPROBE_BASELINES="baselines",
                               NCCLPROBE_OPTIONS=" ".join(["--backend", "synthetic", *SMALL]))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("node7: the baseline is of another machine", done.stdout)  # no cell of 1M
        done = self.run_script(script, SLURMD_NODENAME="node8", NCCLPROBE_BASELINES="baselines",
                               NCCLPROBE_OPTIONS=" ".join(["--backend", "synthetic", *SMALL]))
        self.assertIn("node8: not compared", done.stdout)
        self.assertIn("baselines/node8", done.stderr)

    def test_steps_are_planned_on_every_number_of_ranks(self):
        dry = self.run_program("plan", "--dry-run", "--backend", "synthetic", "--ranks", "8",
                               "--plan", str(EXAMPLES / "ddp_scaling.toml"))
        self.assertEqual(dry.returncode, 0, dry.stderr)
        self.assertIn("20 trials on 8 ranks", dry.stdout)  # 5 x (2 settings + default twice)
        words = " ".join(dry.stdout.split()) # long lines are wrapped
        for bucket in ("25MiB", "100MiB"):
            for ranks in ("0", "0,1", "0-3", "0-7"):
                self.assertIn(f"gpt2-124m ranks={ranks} batch=8 sequence=1024 parts=all bucket={bucket} view", words)

    def test_two_hosts_on_one_runs_on_the_cpu_too(self):
        self.measure("--backend", "host", "--ranks", "4", "--plan", str(EXAMPLES / "two_hosts_on_one.toml"),
                     "--sizes", "64K", "--repeat", "1", "--batches", "1", "--iterations", "1")
        self.assertEqual({row["setting"] for row in self.report()},
                         {"default", "NCCL_SOCKET_NTHREADS=4 NCCL_NSOCKS_PERTHREAD=4"})

    def test_the_model_is_read_with_all_that_it_says(self):
        shown = self.run_program("models", str(EXAMPLES / "model.toml"))
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("small-classifier: 8,723,712 parameters", shown.stdout)
        self.assertIn("8 of 128x128x32", shown.stdout)
        buckets = self.run_program("models", str(EXAMPLES / "model.toml"), "--buckets")
        self.assertIn("2 DDP buckets", buckets.stdout)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
    def test_a_model_of_pytorch_is_written_and_read(self):
        (self.folder / "net.py").write_text(
            "from torch import nn\n"
            "def make(): return nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(8 * 36, 10))\n")
        done = subprocess.run([sys.executable, str(EXAMPLES / "write_model.py"), "net:make", "--input", "2x3x8x8",
                               "-o", "net.json"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = self.run_program("models", "net.json")
        self.assertIn("36x8x27", shown.stdout)
        self.assertIn("1x10x288", shown.stdout)

    @unittest.skipUnless(importlib.util.find_spec("h5py"), "python3-h5py is not installed")
    def test_a_run_file_reads_with_h5py_alone(self):
        self.measure("--backend", "host", *SMALL, "--no-sweep", "--repeat", "1")
        done = subprocess.run([sys.executable, str(EXAMPLES / "read_run.py"), str(self.run_file)],
                              env=dict(os.environ), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual([line.split()[:3] for line in lines],
                         [["default", "all_reduce", "1024"], ["default", "all_reduce", "65536"]])


if __name__ == "__main__":
    unittest.main(verbosity=2)
