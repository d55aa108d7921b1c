# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""A run with --trace leaves one trace for each traced trial, which the timeline and the exports read."""

import json
import os
import signal
import unittest

from program_test_case import SMALL, ProgramTest, mpirun, read_json


# The budget: a busy machine must not reduce the number of launches, which the tests count.
def traced(backend="host", repeats=2):
    return ["--backend", backend, *SMALL, "--budget", "30s", "--no-sweep", "--repeat", str(repeats), "--seed", "5", "--trace", "kernels"]


class Trace(ProgramTest):
    def traces(self):
        return sorted(self.run_file.with_suffix(".trace").glob("trial-*.h5"))

    def timeline(self, *arguments):
        done = self.run_program("report", str(self.run_file), "--timeline", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def export(self, *arguments):
        done = self.run_program("export", str(self.run_file), *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)

    def check_whole_traces_and_their_cost(self, launcher):
        done = self.measure(*traced(), launcher=launcher)
        self.assertIn("What tracing cost", done.stdout)
        self.assertEqual(len(self.traces()), 2)
        self.assertFalse((self.folder / "run.h5.parts").exists())
        costs = self.report("json")["tracing_cost"]
        self.assertEqual([cost["size_bytes"] for cost in costs], [1024, 65536])
        self.assertEqual([cost["traced_processes"] for cost in costs], [2, 2])
        text = self.timeline()
        self.assertIn("2 ranks, 12 steps", text)  # 2 sizes x 2 batches x 3 launches
        self.assertIn("0 lost + 0 unexplained", text)
        self.assertIn("0 violations in 12 collectives", text)
        self.assertNotIn("SYNTHETIC", text)
        read_json(self.timeline("--format", "json"))

    def test_one_supervisor_leaves_whole_traces_and_their_cost(self):
        self.check_whole_traces_and_their_cost(())

    def test_several_supervisors_leave_whole_traces_and_their_cost(self):
        self.check_whole_traces_and_their_cost(mpirun(2))

    def test_a_traced_trial_is_exported(self):
        self.measure(*traced())
        self.export("--chrome", "out.json")
        self.export("--perfetto", "out.pftrace")
        events = json.loads((self.folder / "out.json").read_text())["traceEvents"]
        self.assertTrue(any(event.get("name") == "all_reduce" for event in events))
        self.assertGreater((self.folder / "out.pftrace").stat().st_size, 1000)

    def test_made_up_times_say_so_wherever_they_appear(self):
        self.measure("--ranks", "2", *traced("synthetic"))
        self.assertIn("SYNTHETIC", self.timeline())
        self.assertIn("SYNTHETIC", read_json(self.timeline("--format", "json"))["timeline"])
        self.export("--chrome", "out.json")
        self.assertIn("synthetic", (self.folder / "out.json").read_text())

    def test_made_up_ranks_wait_for_each_other(self):
        for workload in ("ddp", "pipeline"):
            self.run_file = self.folder / f"{workload}.h5"
            self.measure("--ranks", "4", "--backend", "synthetic", "--workload", workload, "--model", "gpt2-124m", "--trace",
                         "kernels", "--repeat", "1", "--proof", "off")
            self.assertRegex(self.timeline(), r"\b0 violations in [1-9]")

    def test_kernels_that_never_run_alone_are_compared_with_the_cell_that_leaves_the_rest_out(self):
        self.measure("--backend", "synthetic", "--ranks", "2", "--trace", "kernels", "--repeat", "1", "--batches", "2",
                     "--workload", "ddp", "--model", "resnet50", "--no-sweep")
        timeline = read_json(self.timeline("--format", "json"))
        names = {cell["cell"]: cell["name"] for rank in timeline["ranks"] for cell in rank["cells"]}
        compared = [one for one in timeline["slowdowns"] if one["ratio"] is not None]
        self.assertTrue(any(one["communication"] for one in compared))
        self.assertTrue(any(not one["communication"] for one in compared))
        elsewhere = [one for one in compared if one["alone_in_cell"] != one["cell"]]
        self.assertTrue(elsewhere)
        for one in elsewhere:
            self.assertIn("all, 2 ranks", names[one["cell"]])
            self.assertIn("communication" if one["communication"] else "compute", names[one["alone_in_cell"]])

    def test_report_and_timeline_have_one_figure_of_hidden_and_of_exposed_communication(self):
        done = self.measure("--backend", "synthetic", "--ranks", "1,2", "--trace", "kernels", "--repeat", "2", "--batches", "2",
                            "--workload", "ddp", "--model", "resnet50", "--set", "NCCL_MAX_CTAS=4")
        self.assertIn("Communication by kernels", done.stdout)
        compared = 0
        for step in self.report("json")["steps"]:
            kernels = step["by_kernels"]
            self.assertIsNotNone(kernels, step["setting"])
            if step["parts"] != "all" or len(step["ranks"]) != 2:
                continue
            compared += 1
            timeline = read_json(self.timeline("--trial", str(kernels["trial"]), "--format", "json"))
            cells = [cell for rank in timeline["ranks"] for cell in rank["cells"] if "all, 2 ranks" in cell["name"]]
            self.assertEqual(len(cells), 2)
            steps = sum(cell["steps"] for cell in cells)
            self.assertGreater(kernels["communication_ms"], 0)
            for name, parts in (("hidden_ms", ["hidden_ns"]), ("exposed_ms", ["exposed_wait_ns", "exposed_transfer_ns"])):
                by_timeline = sum(cell[part] for cell in cells for part in parts) / steps / 1e6
                self.assertAlmostEqual(kernels[name], by_timeline, delta=kernels["communication_ms"] / 1e4)
        self.assertEqual(compared, 2)  # the default and the setting

    def test_a_killed_run_keeps_the_traces_of_its_finished_trials(self):
        program = self.start_program(*traced(repeats=40), "--output", str(self.run_file))
        self.wait_for_parts(6)
        os.killpg(program.pid, signal.SIGKILL)
        program.wait(timeout=20)
        self.wait_until(lambda: not self.processes(), what="the end of all processes")
        done = self.run_program("report", str(self.run_file), "--fold")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(len(self.traces()), 1)
        self.assertIn("0 unexplained", self.timeline())


if __name__ == "__main__":
    unittest.main()
