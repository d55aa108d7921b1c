# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""A run that was stopped goes on: what is missing is run, and nothing else."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import unittest

from program_test_case import BIN, SMALL, ProgramTest, mpirun

try:
    import h5py
except ImportError:
    h5py = None

SWEEP = ["--backend", "host", *SMALL, "--set", "NCCLPROBE_GLOO_ALGORITHM=ring", "--repeat", "3", "--seed", "5"]
QUICK = ["--backend", "host", *SMALL, "--no-sweep", "--repeat", "1", "--seed", "5"]


class Resume(ProgramTest):
    def resume(self, *arguments, code=0, **how):
        done = self.run_program("--resume", str(self.run_file), *arguments, **how)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def identities(self):
        """What was measured, and how often."""
        return sorted((int(row["trial"]), row["setting"], row["replicate"], row["size_bytes"], row["outcome"])
                      for row in self.report())

    def schedules(self):
        """What the workers were to run, in each cell."""
        if h5py is None:
            return []
        with h5py.File(self.run_file) as file:
            blob, at = file["strings/blob"][:].tobytes(), file["strings/offset"][:]
            return sorted(blob[at[i]:at[i + 1]] for i in file["cells/schedule"][:])

    def measured(self):
        """The numbers of each finished trial: one that was stopped may have some of its cells."""
        rows = {}
        for row in self.report():
            if row["outcome"] == "ok":
                rows.setdefault(row["trial"], []).append((row["size_bytes"], row["time_us"]))
        whole = max(map(len, rows.values()), default=0)
        return {trial: cells for trial, cells in rows.items() if len(cells) == whole}

    def stop(self, how, launcher, name):
        self.run_file = self.folder / name
        run = self.start_program(*SWEEP, "--output", str(self.run_file), launcher=launcher)
        self.wait_for_parts(3)
        os.kill(run.pid, how)
        run.wait(timeout=30)
        self.wait_until(lambda: not self.processes(), 10, "no process left")

    def test_a_stopped_or_killed_run_becomes_the_run_it_would_have_been(self):
        self.measure(*SWEEP)
        whole, whole_keys = self.identities(), self.schedules()
        for how, launcher in ((signal.SIGINT, ()), (signal.SIGKILL, ()), (signal.SIGINT, mpirun(2)), (signal.SIGKILL, mpirun(2))):
            with self.subTest(signal=how, launcher=launcher):
                self.stop(how, launcher, f"run-{how}-{len(launcher)}.h5")
                before = self.measured()
                self.assertGreaterEqual(len(before), 3)

                done = self.resume(launcher=launcher)

                self.assertRegex(done.stderr, rf"continuing .*: {len(before)} of {len({one[0] for one in whole})} trials are done")
                self.assertEqual(self.identities(), whole)
                self.assertEqual(self.schedules(), whole_keys)
                after = self.measured()
                self.assertEqual({trial: after[trial] for trial in before}, before)
                self.assertIn(str(self.run_file), done.stdout)
                self.assertEqual(self.processes(), [])

    def test_a_run_whose_follower_was_stopped_is_unfinished_and_not_failed(self):
        for parts in (1, 2, 3):
            with self.subTest(parts=parts):
                self.run_file = self.folder / f"run-{parts}.h5"
                run = self.start_program(*SWEEP, "--output", str(self.run_file), launcher=mpirun(2))
                self.wait_for_parts(parts)
                follower = next(pid for pid in self.processes("ncclprobe")
                                if b"OMPI_COMM_WORLD_RANK=1" in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
                os.kill(follower, signal.SIGTERM)
                self.assertEqual(run.wait(timeout=10), 130)  # soon: nobody waits for a supervisor that has left

                self.wait_until(lambda: not self.processes(), 10, "no process left")
                self.assertIn(f"`ncclprobe --resume {self.run_file}` resumes it", (self.folder / "stderr").read_text())
                self.assertLessEqual({row["outcome"] for row in self.report()}, {"ok", "not_run"})
                self.resume(launcher=mpirun(2))
                self.assertEqual({row["outcome"] for row in self.report()}, {"ok"})

    def test_a_stopped_run_says_how_it_goes_on(self):
        self.stop(signal.SIGINT, (), "run.h5")

        words = (self.folder / "stderr").read_text()
        self.assertIn(f"`ncclprobe --resume {self.run_file}` resumes it", words)
        self.assertNotIn("failed so far", words)

    def test_a_run_that_chose_its_backend_itself_goes_on(self):
        """It looked for GPUs and their libraries; the run that goes on knows that it does not use them."""
        self.measure(*SMALL, "--no-sweep", "--repeat", "1")

        self.resume()

    def test_a_whole_run_has_nothing_to_go_on_with(self):
        self.measure(*QUICK)
        before = self.run_file.read_bytes()

        done = self.resume()

        self.assertNotRegex(done.stderr, r"\[\d+/\d+\]")
        self.assertIn("all_reduce", done.stdout)
        self.assertEqual(self.run_file.read_bytes(), before)
        self.assertEqual(sorted(entry.name for entry in self.folder.iterdir()), ["run.h5"])

    def test_what_failed_is_run_again_only_when_asked(self):
        self.measure("--backend", "host", *SMALL, "--repeat", "1", "--set", "NCCLPROBE_GLOO_ALGORITHM=nonsense", code=3)
        whole = self.identities()

        self.assertNotRegex(self.resume(code=3).stderr, r"\[\d+/\d+\]")
        again = self.resume("--retry-failed", code=3)

        self.assertEqual(len(re.findall(r"\[\d+/\d+\]", again.stderr)), 1, again.stderr)
        self.assertEqual(self.identities(), whole)

    def test_another_environment_is_refused_with_every_difference_and_marked_when_forced(self):
        self.measure(*QUICK, NCCL_DEBUG="WARN")

        refused = self.resume(code=6, NCCL_BUFFSIZE="1")
        self.assertIn("NCCL_DEBUG in the environment: was 'WARN', is not there\n", refused.stderr)
        self.assertIn("NCCL_BUFFSIZE in the environment: was not there, is '1'\n", refused.stderr)
        self.assertIn("--force", refused.stderr)
        self.assertNotIn("FORCED", self.report("table"))
        self.resume("--force", NCCL_BUFFSIZE="1")
        self.assertRegex(self.report("table"), r"FORCED +resumed with --force")

    def test_another_number_of_ranks_is_refused(self):
        self.measure(*QUICK, launcher=mpirun(2))

        self.assertIn("rank 2: was not there, is device 2 of", self.resume(code=6, launcher=mpirun(3)).stderr)
        self.assertIn("MPI: was Open MPI", self.resume(code=6).stderr)

    def test_other_options_are_refused(self):
        done = self.resume("--sizes", "1K", code=2)
        self.assertIn("--sizes cannot be changed", done.stderr)

    def test_a_run_that_is_not_there_is_named(self):
        for launcher in ((), mpirun(2)):
            with self.subTest(launcher=launcher):
                self.assertIn("there is no run at", self.resume(code=2, launcher=launcher).stderr)

    def test_a_run_that_is_going_on_is_not_resumed(self):
        run = self.start_program("--backend", "host", *SMALL, "--repeat", "10000", "--no-sweep", "--output", str(self.run_file))
        self.wait_for_parts()

        refused = self.resume(code=6)

        self.assertIn(f"is being written by process {run.pid} on ", refused.stderr)


class ForeignFiles(ProgramTest):
    """A run file is data: it makes ncclprobe load or start nothing that the command line does not name."""

    def setUp(self):
        super().setUp()
        self.worker = self.folder / "worker"
        self.touched = self.folder / "touched"  # made by the program that must not be started
        shutil.copy(BIN / "ncclprobe-worker", self.worker)

    def replace_worker(self):
        self.worker.write_text(f"#!/bin/sh\ntouch {self.touched}\n")

    def expect_refusal(self, *named, launcher=()):
        done = self.run_program("--resume", str(self.run_file), launcher=launcher)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("at the request of a data file alone"), 1, done.stderr)
        self.assertIn(f"`ncclprobe --resume {self.run_file} {' '.join(named)}`", done.stderr)
        self.assertFalse(self.touched.exists())
        self.assertEqual(self.processes(), [])
        return done

    def test_the_program_that_a_run_file_names_is_not_started(self):
        for launcher in ((), mpirun(2)):
            with self.subTest(launcher=launcher):
                self.run_file = self.folder / f"run-{len(launcher)}.h5"
                shutil.copy(BIN / "ncclprobe-worker", self.worker)
                self.measure(*QUICK, "--library", f"worker={self.worker}", launcher=launcher)
                self.replace_worker()
                self.expect_refusal(f"--library worker={self.worker}", launcher=launcher)

    def test_the_command_that_is_printed_goes_on(self):
        named = ["--rank-set", f"0-1:NCCL_DEBUG_FILE={self.folder}/log", "--library", f"worker={self.worker}"]
        self.measure(*QUICK, *named)
        self.expect_refusal("--library", f"worker={self.worker}", "--rank-set", f"0-1:NCCL_DEBUG_FILE={self.folder}/log")
        self.assertEqual(self.run_program("--resume", str(self.run_file), *named).returncode, 0)

    def test_a_stopped_run_says_what_must_be_named(self):
        run = self.start_program("--backend", "host", *SMALL, "--no-sweep", "--repeat", "10000", "--library",
                                 f"worker={self.worker}", "--output", str(self.run_file))
        self.wait_for_parts(2)
        os.kill(run.pid, signal.SIGINT)
        run.wait(timeout=30)
        self.assertIn(f"`ncclprobe --resume {self.run_file} --library worker={self.worker}` resumes it",
                      (self.folder / "stderr").read_text())

    def test_what_is_named_otherwise_is_refused(self):
        self.measure(*QUICK, "--library", f"worker={self.worker}")
        other = self.run_program("--resume", str(self.run_file), "--library", "worker=/bin/true")
        self.assertEqual(other.returncode, 2)
        self.assertIn("--library worker=/bin/true cannot be changed", other.stderr)

    def test_looking_at_a_plan_starts_nothing_that_it_names(self):
        self.replace_worker()
        (self.folder / "plan.toml").write_text(f'backend = "host"\nlibrary = ["worker={self.worker}"]\n')
        for arguments in (["plan", "--dry-run"], ["plan"]):
            done = self.run_program(*arguments, "--plan", "plan.toml")
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(self.touched.exists())


class FullDisk(ProgramTest):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        if self.mount("size=160k") != 0:
            self.skipTest("cannot mount a small tmpfs: that takes root")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.addCleanup(subprocess.run, ["umount", str(self.disk)], check=True)

    def mount(self, options):
        return subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(self.disk)], capture_output=True).returncode

    def tearDown(self):
        pass  # the disk goes first: see the clean-ups

    def test_a_disk_that_fills_up_loses_nothing_and_the_run_goes_on_when_there_is_room(self):
        self.run_file = self.disk / "run.h5"
        stopped = self.measure(*SWEEP, code=7)
        self.assertIn("No space left on device", stopped.stderr)
        self.assertIn(f"`ncclprobe --resume {self.run_file}` resumes it", stopped.stderr)
        stored = len(list((self.disk / "run.h5.parts").glob("trial-*.h5")))
        self.assertGreaterEqual(stored, 1)
        self.assertEqual(self.mount("remount,size=20m"), 0)

        resumed = self.run_program("--resume", str(self.run_file))

        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertIn(f": {stored} of 9 trials are done", resumed.stderr)
        self.assertEqual({row["outcome"] for row in self.report()}, {"ok"})
        self.assertEqual(len({row["trial"] for row in self.report()}), 9)


if __name__ == "__main__":
    unittest.main(verbosity=2)
