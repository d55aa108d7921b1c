# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""Steps of training, as a user asks for them."""

import unittest

from program_test_case import ProgramTest, mpirun

# Two layers that are shared by tensor parallelism and cut by pipelines, with weights of an even size.
MODEL = """
name = "tiny"
sequence = 8
"""
for BLOCK in range(2):
    MODEL += f"""
[[layers]]
name = "{BLOCK}.attention"
kind = "attention"
block = {BLOCK}
output = 128
parameters = [{{ name = "{BLOCK}.qkv", shape = [48, 16] }}, {{ name = "{BLOCK}.out", shape = [16, 16] }}]
products = [{{ rows = 8, n = 48, k = 16 }}, {{ rows = 8, n = 8, k = 4, count = 4, kind = "activations" }},
            {{ rows = 8, n = 16, k = 16 }}]
[[layers]]
name = "{BLOCK}.mlp"
kind = "mlp"
block = {BLOCK}
output = 128
parameters = [{{ name = "{BLOCK}.up", shape = [64, 16] }}, {{ name = "{BLOCK}.bias", shape = [64] }},
              {{ name = "{BLOCK}.down", shape = [16, 64] }}]
products = [{{ rows = 8, n = 64, k = 16 }}, {{ rows = 8, n = 16, k = 64 }}]
"""
EXPERTS = """
name = "experts"
[[layers]]
name = "gate"
kind = "other"
block = 0
output = 32
parameters = [{ name = "gate", shape = [4, 16] }]
products = [{ rows = 8, n = 4, k = 16 }]
[[layers]]
name = "experts"
kind = "experts"
block = 0
output = 128
experts = 4
experts_per_token = 2
parameters = [{ name = "0", shape = [16, 16] }, { name = "1", shape = [16, 16] }, { name = "2", shape = [16, 16] },
              { name = "3", shape = [16, 16] }]
products = [{ rows = 16, n = 16, k = 16 }]
"""
PARAMETERS = 2 * (48 * 16 + 16 * 16 + 64 * 16 + 64 + 16 * 64)
QUICK = ["--warmups", "1", "--iterations", "3", "--batches", "2", "--repeat", "1", "--budget", "5s"]


class Workload(ProgramTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "tiny.toml"
        self.model.write_text(MODEL)

    def steps(self, *arguments, launcher=()):
        """Rows of the report of the whole steps' cells, after a run in which nothing was wrong."""
        self.run_file.unlink(missing_ok=True)
        self.measure("--backend", "host", "--model", str(self.model), *QUICK, *arguments, launcher=launcher)
        rows = self.report()
        self.assertEqual({(row["outcome"], row["wrong_elements"]) for row in rows}, {("ok", "0")}, rows)
        return rows

    def test_ddp_is_measured_whole_and_in_parts_and_its_sums_are_checked(self):
        rows = self.steps("--workload", "ddp", "--batch", "2", "--bucket", "4K", "--ranks", "1,2")

        variants = {row["variant"]: row for row in rows}
        whole = "tiny ranks=0,1 batch=2 sequence=8 parts={} bucket=4KiB"
        self.assertEqual(set(variants), {"tiny ranks=0 batch=2 sequence=8 parts=all bucket=4KiB",
                                         *(whole.format(part) for part in ("all", "compute", "communication"))})
        row = variants[whole.format("all")]
        self.assertEqual(row["workload"], "ddp_step")
        self.assertEqual(int(row["size_bytes"]), 4 * PARAMETERS)
        self.assertEqual(row["data"], "checked")
        self.assertGreater(int(row["checked_elements"]), 0)
        self.assertEqual(variants[whole.format("communication")]["data"], "checked")

    def test_every_pattern_runs_and_moves_the_right_data(self):
        for arguments in (["--workload", "ddp", "--bucket-view", "--compress", "bf16,f16", "--accumulate", "2"],
                          ["--workload", "fsdp", "--prefetch", "0,1"],
                          ["--workload", "fsdp", "--reshard", "off", "--type", "bf16"],
                          ["--workload", "tp"], ["--workload", "tp", "--sequence-parallel"],
                          ["--workload", "pipeline", "--micro-batches", "2"],
                          ["--workload", "pipeline", "--pipeline-order", "gpipe"]):
            with self.subTest(arguments=arguments):
                rows = self.steps(*arguments, "--ranks", "2", "--batch", "2")
                checked = {row["variant"] for row in rows if row["data"] == "checked"}
                self.assertTrue(any("parts=all" in variant for variant in checked), checked)
                self.assertTrue(any("parts=communication" in variant for variant in checked), checked)

    def test_a_pipelines_timeline_names_the_stages_of_its_rows(self):
        self.steps("--workload", "pipeline", "--ranks", "2", "--batch", "2")

        text = self.report("table")
        self.assertRegex(text, r"ranks +communication +ready ms")
        self.assertRegex(text, r"\n +0 +send forward 0")
        self.assertRegex(text, r"\n +1 +receive forward 0")
        self.assertNotIn("the schedule does not describe its results", text)
        buckets = [bucket for step in self.report("json")["steps"] for bucket in step["buckets"]]
        self.assertEqual({tuple(bucket["ranks"]) for bucket in buckets}, {(0,), (1,)})

    def test_the_ranks_of_a_plan_are_those_of_the_run_and_its_listing_fits(self):
        plan = self.folder / "plan.toml"
        plan.write_text(f"workload = 'ddp'\nmodel = '{self.model}'\nranks = [1, 2, 3]\n")
        done = self.run_program("plan", "--dry-run", "--backend", "synthetic", "--plan", str(plan))

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("on 3 ranks", done.stdout)
        self.assertLessEqual(max(len(line) for line in done.stdout.splitlines()), 100)

    def test_input_is_copied_beside_the_step_and_what_arrives_is_checked(self):
        rows = self.steps("--workload", "ddp", "--ranks", "2", "--input-copy", "pageable:64K")

        parts = {row["variant"].split("parts=")[1].split(" ")[0]: row for row in rows if "copy=" in row["variant"]}
        self.assertEqual(set(parts), {"all", "compute", "communication", "copy"})
        self.assertEqual(len(rows), (4 + 3) + (2 + 1))  # two ranks and one, each without a copy too
        self.assertEqual({row["data"] for row in parts.values()}, {"checked"})
        self.assertGreaterEqual(int(parts["copy"]["checked_elements"]), 16384)

    def test_memory_of_cpu_ranks_is_not_pinned_and_the_report_says_so(self):
        self.measure("--backend", "host", "--model", str(self.model), *QUICK, "--workload", "ddp", "--ranks", "2",
                     "--input-copy", "pinned:64K", code=3)

        rows = [row for row in self.report() if "copy=" in row["variant"]]
        self.assertEqual({row["outcome"] for row in rows}, {"skipped"})
        self.assertTrue(all("not applicable" in row["reason"] for row in rows), rows)

    def test_tokens_travel_to_their_experts_and_back(self):
        self.model.write_text(EXPERTS)
        rows = self.steps("--workload", "moe", "--ranks", "1,2", "--batch", "2")

        tokens = 2 * 16 * 16  # of a rank: samples, each at two experts, wide
        self.assertEqual({int(row["size_bytes"]) for row in rows}, {0, 4 * (4 * tokens + 4 * 16)})
        self.assertEqual({row["data"] for row in rows if "communication" in row["variant"]}, {"checked"})

    def test_mixes_run_on_four_ranks(self):
        for pattern in ("ddp+tp", "fsdp+tp"):
            with self.subTest(pattern=pattern):
                rows = self.steps("--workload", pattern, "--ranks", "1,4", "--batch", "2")
                self.assertEqual(len(rows), 4)

    def test_a_plan_file_says_the_same_also_under_mpirun_and_is_resumed(self):
        options = ["--workload", "ddp", "--model", str(self.model), "--batch", "2", "--compute", "calibrated:2",
                   "--ranks", "1,2", *QUICK]
        plan = self.folder / "plan.toml"
        printed = self.run_program("plan", "--backend", "host", *options)
        self.assertEqual(printed.returncode, 0, printed.stderr)
        self.assertIn("workload = 'ddp'", printed.stdout)
        plan.write_text(printed.stdout)

        self.measure("--plan", str(plan), launcher=mpirun(2))

        first = self.report()
        self.assertEqual(len(first), 4)
        self.assertEqual({row["outcome"] for row in first}, {"ok"})
        resumed = self.run_program("--resume", str(self.run_file), "--model", str(self.model), launcher=mpirun(2))
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertEqual(self.report(), first)

    def test_what_cannot_be_is_said_before_anything_runs(self):
        for arguments, words in ((["--workload", "ddp"], "--model"),
                                 (["--workload", "ddp", "--model", "gpt5"], "gpt5"),
                                 (["--batch", "4"], "--batch is for training steps"),
                                 (["--ranks", "1,2"], "several numbers of --ranks"),
                                 (["--workload", "moe", "--model", str(self.model)], "tiny has no experts")):
            with self.subTest(arguments=arguments):
                done = self.run_program("--backend", "host", *arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
