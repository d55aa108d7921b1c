# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""Supervisors that are frozen (SIGSTOP): the others end the job and say who it was. A job that is suspended as a whole
goes on."""

import os
import pathlib
import signal
import time
import unittest

from program_test_case import SMALL, ProgramTest, mpirun

LONG_RUN = ["--backend", "host", *SMALL, "--no-sweep", "--repeat", "10000", "--startup-timeout", "5s"]
# Until a silent leader is asked, what it then gets to answer, and mpirun's own time.
PATIENCE_S = 30 + 30 + 20


class Freeze(ProgramTest):
    def words(self):
        return (self.folder / "stderr").read_text()

    def supervisor(self, rank):
        mark = f"OMPI_COMM_WORLD_RANK={rank}".encode()
        return next(pid for pid in self.processes("ncclprobe")
                    if mark in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))

    def freeze(self, rank):
        """Freezes a supervisor in the midst of a run; returns mpirun and when that was."""
        job = self.start_program(*LONG_RUN, "--output", str(self.run_file), launcher=mpirun(2))
        self.wait_for_parts(2)
        os.kill(self.supervisor(rank), signal.SIGSTOP)
        return job, time.monotonic()

    def expect_end(self, job, since):
        self.assertNotEqual(job.wait(timeout=PATIENCE_S), 0)
        print(f"the job ended after {time.monotonic() - since:.1f} s", flush=True)
        self.wait_until(lambda: not self.processes(), 10, "no process left")

    def test_a_frozen_leader_is_given_up_and_nothing_stays(self):
        job, since = self.freeze(0)

        self.expect_end(job, since)

        self.assertRegex(self.words(), r"rank 1: the leader, rank 0 on \S+, no longer answers")
        self.assertGreaterEqual(len({row["trial"] for row in self.report()}), 2)

    def test_a_frozen_follower_is_named_and_nothing_stays(self):
        job, since = self.freeze(1)

        self.expect_end(job, since)

        self.assertRegex(self.words(), r"the supervisors of rank 1 on \S+ no longer answer")
        self.assertIn(f"`ncclprobe --resume {self.run_file}` resumes it", self.words())

    def signal_all(self, number):
        for pid in self.processes():
            os.kill(pid, number)

    def suspend(self, launcher):
        """A job in the midst of its cell. How long that takes follows from its first iterations, which a busy machine
        may delay, so that it is over too soon: then another one."""
        for attempt in range(5):
            self.run_file = self.folder / f"run-{len(launcher)}-{attempt}.h5"
            job = self.start_program("--backend", "host", "--no-sweep", "--collectives", "all_reduce", "--sizes", "4M",
                                     "--iterations", "1000000", "--budget", "4s", "--cell-timeout", "7s", "--repeat", "1",
                                     "--output", str(self.run_file), launcher=launcher)
            self.wait_until(lambda: len(self.measuring_workers()) == 2, what="two workers")
            time.sleep(1)  # well into the cell
            self.signal_all(signal.SIGSTOP)
            if "[1/1]" not in self.words():
                return job
            self.signal_all(signal.SIGCONT)
            job.wait(timeout=60)
        return self.fail("no job was under way when it was suspended")

    def test_a_job_that_is_suspended_as_a_whole_goes_on(self):
        for launcher in ((), mpirun(2)):
            with self.subTest(launcher=launcher):
                job = self.suspend(launcher)
                time.sleep(8)  # beyond the cell's deadline
                self.signal_all(signal.SIGCONT)

                self.assertEqual(job.wait(timeout=60), 0, self.words())
                self.assertRegex(self.words(), r"supervisor 0 was paused for [78]\.\d s: all deadlines move by as much")
                self.assertEqual({row["outcome"] for row in self.report()}, {"ok"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
