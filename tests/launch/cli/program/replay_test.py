# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""A recorded job whose times are known is replayed."""

import shutil
import sys
import unittest

from played_nccl import PLUGIN
from program_test_case import BIN, ProgramTest, mpirun, read_json

MS = 1_000_000
STEPS = 40
FIRST_MS, SECOND_MS, OPERATION_MS, LATE_MS = 4, 2, 0.3, 1
OPERATIONS = (("AllGather", 65536), ("AllReduce", 262144))

# Loads the plugin as NCCL 2.28 does, and reports the operations of 40 steps. The times of its GPU are planted: computing,
# an operation, computing, an operation. Rank 1 comes late in every fifth step.
PROGRAM = f"""
import ctypes as c, os, time
rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
""" + PLUGIN + f"""
context, handle, mask = c.c_void_p(), c.c_void_p(), c.c_int()
assert init(c.byref(context), 42, c.byref(mask), b"job", 1, 2, rank, None) == 0
at = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
for step in range({STEPS}):
    for (function, count), computing in zip({OPERATIONS}, ({FIRST_MS}, {SECOND_MS})):
        late = int({LATE_MS} * {MS}) if computing == {FIRST_MS} and step % 5 == 2 else 0
        at += computing * {MS}
        begin, end = at + late * rank, at + late + int({OPERATION_MS} * {MS})
        one = Collective(2, None, 0, step, function.encode(), None, None, count, 0, b"ncclFloat32", 1, 16, b"RING", b"SIMPLE")
        assert start(context, c.byref(handle), c.byref(one)) == 0 and stop(handle) == 0
        assert start(context, c.byref(handle), c.byref(Channel(64, handle, 0, 0, 0, begin))) == 0
        assert enter(handle, 22, c.byref(c.c_uint64(end))) == 0 and stop(handle) == 0
        at = end
time.sleep(0.5) # the writer's period, twice
"""


class Replay(ProgramTest):
    def setUp(self):
        super().setUp()
        program = self.folder / "program.py"
        program.write_text(PROGRAM)
        done = self.run_program("record", "--", sys.executable, str(program), launcher=mpirun(2))
        self.assertEqual(done.returncode, 0, done.stderr)

    def replay(self, *options, code=0, **environment):
        done = self.run_program("replay", "job", "--format", "json", "-o", "replay.h5", "--force", *options, timeout=300,
                                **environment)
        self.assertEqual(done.returncode, code, done.stderr)
        return read_json(done.stdout) if code == 0 else done.stderr

    def test_the_replay_is_the_captured_step_on_the_cpu_and_in_the_model(self):
        step_ns = (FIRST_MS + SECOND_MS + 2 * OPERATION_MS) * MS

        # The CPU: real collectives, whose data is checked.
        report = self.replay("--backend", "host", "--ranks", "2", "--repeat", "1", "--batches", "2", "--iterations", "3")
        replay = report["replay"]
        self.assertEqual((replay["step_kind"], replay["ranks"], replay["replayed_ranks"]), (0, [0, 1], [0, 1]))
        self.assertTrue(replay["device_times"])
        step, exposed = replay["times"]
        self.assertAlmostEqual(step["captured_ns"], step_ns, delta=1000)
        self.assertAlmostEqual(exposed["captured_ns"], 2 * OPERATION_MS * MS, delta=1000)
        self.assertGreater(step["replayed_ns"], (FIRST_MS + SECOND_MS) * MS)
        self.assertEqual(sorted((one["collective"], one["bytes"], one["times"]) for one in replay["operations"]),
                         [("all_gather", 4 * 65536, 1), ("all_reduce", 4 * 262144, 1)])
        # The report can be read again.
        again = self.run_program("report", "replay.h5", "--format", "json")
        self.assertEqual(read_json(again.stdout)["replay"], replay)

        # The model has no noise of a machine: computing is as planted, and nothing else is added.
        self.assertEqual(replay["compute"], "gemm")
        report = self.replay("--backend", "synthetic", "--ranks", "2", "--repeat", "5", "--compute", "spin", "--set",
                             "NCCLPROBE_SYNTHETIC_ALPHA_NS=2000")
        self.assertEqual(report["replay"]["compute"], "spin")
        step, _ = report["replay"]["times"]
        of_operations = sum(one["times"] * one["replayed_ns"] for one in report["replay"]["operations"])
        planted = (FIRST_MS + SECOND_MS) * MS + of_operations
        self.assertAlmostEqual(step["replayed_ns"] / planted, 1, delta=0.02)
        found = {one["id"]: one["values"] for one in report["findings"]}
        self.assertAlmostEqual(found["verdict_of_replay"]["step_percent"], 100 * (step["ratio"] - 1), delta=0.1)

    def test_libraries_are_compared_on_a_replay_which_can_be_traced(self):
        variable = b"NCCLPROBE_SYNTHETIC_ALPHA_NS"
        slow = self.folder / "slow"
        shutil.copy(BIN / "ncclprobe-worker", slow)
        slow.write_bytes(slow.read_bytes().replace(variable, variable.replace(b"ALPHA", b"OMEGA")))
        report = self.replay("--backend", "synthetic", "--ranks", "2", "--repeat", "5", "--trace", "kernels",
                             "--compare-library", f"worker={slow}", NCCLPROBE_SYNTHETIC_OMEGA_NS="900000")

        # The step and its communication are slower, its computing is not.
        (compared,) = report["verdicts"]["settings"]
        self.assertEqual(compared["setting"], f"worker={slow}")
        self.assertEqual((compared["worse"], compared["no_difference"], compared["cells"]), (2, 1, 3))
        done = self.run_program("report", "replay.h5", "--timeline", "--format", "json")
        traced = read_json(done.stdout)
        self.assertIn("of replay.h5, level kernels", traced["timeline"])
        for rank in traced["ranks"]:
            (whole,) = [cell for cell in rank["cells"] if "parts=all" in cell["name"]]
            self.assertAlmostEqual(whole["compute_ns"] / whole["steps"], (FIRST_MS + SECOND_MS) * MS, delta=1000)
            self.assertGreater(whole["exposed_transfer_ns"], 0)

    def test_settings_are_tuned_for_a_recorded_job(self):
        done = self.run_program("tune", "--for", "job/", "--backend", "synthetic", "--ranks", "2", "--seed", "2",
                                "--min-gain", "0.1%", "--budget", "5m", "--format", "json", timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = read_json(done.stdout)
        targets = {one["target"]: one for one in found["targets"]}
        self.assertEqual(list(targets), ["replay of job, 2 ranks", "all_reduce 1M", "all_gather 512K"])
        step = targets["replay of job, 2 ranks"]
        self.assertTrue(found["recommended"], found)
        self.assertTrue(step["proven"])
        # Computing, which is nearly all of the step, stays.
        self.assertGreater(step["interval"][0], 1.001)
        self.assertLess(step["interval"][1], 1.01)
        self.assertIn("settings.sh", [path.name for path in (self.folder / "tuned").iterdir()])

    def test_what_cannot_be_replayed_is_refused(self):
        for options, words in ((["--captured-ranks", "0,5"], "rank 5 was not captured"),
                               (["--step-kind", "3"], "there is no kind 3 of steps")):
            self.assertIn(words, self.replay("--backend", "synthetic", "--ranks", "2", *options, code=2))


if __name__ == "__main__":
    unittest.main()
