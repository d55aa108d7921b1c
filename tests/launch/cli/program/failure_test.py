# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""What a run survives, and what it says."""

import os
import pathlib
import signal
import subprocess
import time
import unittest

from program_test_case import SMALL, ProgramTest, mpirun

ONE_CELL = ["--backend", "host", "--no-sweep", "--collectives", "all_reduce", "--sizes", "4M", "--iterations", "1000000"]
ENDLESS = [*ONE_CELL, "--budget", "1h", "--cell-timeout", "2h"]


class BadInput(ProgramTest):
    def expect(self, code, words, *arguments, **environment):
        done = self.run_program(*arguments, **environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(self.processes(), [])

    def test_bad_arguments(self):
        self.expect(2, ["64Q", "--sizes"], "--sizes", "64Q")
        self.expect(2, ["plan.toml"], "--plan", "plan.toml")
        self.expect(2, ["backend"], "--backend", "rocm")

    def test_an_output_that_cannot_be_written_is_noticed_before_measuring(self):
        self.expect(7, ["/proc/nowhere"], "--backend", "host", *SMALL, "--output", "/proc/nowhere/run.h5")

    def test_an_existing_run_file_is_never_overwritten(self):
        self.run_file.write_text("precious")
        self.expect(2, [str(self.run_file)], "--backend", "host", *SMALL, "--output", str(self.run_file))
        self.assertEqual(self.run_file.read_text(), "precious")

    def test_a_launcher_that_starts_lone_tasks_is_found_out(self):
        self.expect(6, ["srun started 8 tasks", "Open MPI: pmix"], "--backend", "host", *SMALL, SLURM_STEP_NUM_TASKS="8")

    def test_a_report_of_something_else(self):
        self.expect(2, ["nothing.h5"], "report", "nothing.h5")
        (self.folder / "text.h5").write_text("hello")
        self.expect(2, ["text.h5"], "report", "text.h5")


class Trouble(ProgramTest):
    """Things that stop one supervisor, or that must not stop any."""

    def test_a_problem_of_one_rank_is_named_by_all(self):
        program = self.command("--backend", "host", *SMALL)
        launcher = [*mpirun(1), *program, ":", "-np", "1", "env", "OMPI_COMM_WORLD_SIZE=7"]
        done = self.run_program("--backend", "host", *SMALL, launcher=launcher, timeout=30)
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertRegex(done.stderr, r"rank 1 on \S+: mpirun started 7 tasks, but MPI sees 2")

    def test_a_plan_file_that_is_missing_is_named_once(self):
        done = self.run_program("--plan", "gone.toml", launcher=mpirun(2), timeout=30)
        self.assertEqual(done.stderr.count("gone.toml"), 1, done.stderr)
        self.assertIn("Exit code:    2", done.stderr)

    def test_devices_per_worker_is_refused_under_mpirun(self):
        done = self.run_program("--devices-per-worker", "2", launcher=mpirun(2), timeout=30)
        self.assertIn("--devices-per-worker is for runs without mpirun", done.stderr)

    def test_a_full_stderr_stops_nothing(self):
        for launcher in ((), mpirun(2)):
            with self.subTest(launcher=launcher):
                self.run_file = self.folder / f"run-{len(launcher)}.h5"
                words = self.command("--backend", "host", *SMALL, "--no-sweep", "--output", str(self.run_file))
                done = subprocess.run([*launcher, "bash", "-c", 'exec "$@" 2>/dev/full', "bash", *words],
                                      env=self.environment, cwd=self.folder, timeout=60, capture_output=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(self.run_file.exists())

    def test_a_full_stdout_is_an_output_error(self):
        words = self.command("--backend", "host", *SMALL, "--no-sweep", "--repeat", "1")
        done = subprocess.run(["bash", "-c", 'exec "$@" >/dev/full', "bash", *words], env=self.environment,
                              cwd=self.folder, timeout=60, capture_output=True, text=True)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("cannot write to standard output", done.stderr)

    def test_nohup_protects_a_run(self):
        run = self.start_program(*ONE_CELL, "--budget", "3s", "--cell-timeout", "60s", "--repeat", "1",
                                 "--output", str(self.run_file), launcher=["nohup"])
        self.wait_until(self.measuring_workers, what="workers")
        os.kill(run.pid, signal.SIGHUP)
        self.assertEqual(run.wait(timeout=60), 0)


class Failures(ProgramTest):
    def test_a_setting_that_fails_costs_its_trial_only(self):
        done = self.measure("--backend", "host", *SMALL, "--repeat", "1", "--set", "NCCLPROBE_GLOO_ALGORITHM=ring,nonsense",
                            code=3)

        self.assertIn("nonsense", done.stdout)
        outcomes = {row["setting"]: row["outcome"] for row in self.report()}
        self.assertEqual(outcomes["default"], "ok")
        self.assertEqual(outcomes["NCCLPROBE_GLOO_ALGORITHM=ring"], "ok")
        self.assertNotEqual(outcomes["NCCLPROBE_GLOO_ALGORITHM=nonsense"], "ok")

    def test_a_killed_worker_is_named_and_the_next_trial_runs(self):
        run = self.start_program(*ONE_CELL, "--budget", "5s", "--cell-timeout", "90s", "--repeat", "2",
                                 "--output", str(self.run_file), "--ranks", "3")
        worker = self.wait_until(lambda: len(found := self.measuring_workers()) == 3 and found, what="three workers")[0]
        time.sleep(1)  # well into the cell; earlier is a crash all the same
        os.kill(worker, signal.SIGKILL)

        self.assertEqual(run.wait(timeout=90), 3, (self.folder / "stderr").read_text())
        rows = {row["replicate"]: row for row in self.report()}
        self.assertEqual(rows["0"]["outcome"], "crashed")
        self.assertIn("signal 9", rows["0"]["reason"])
        self.assertEqual(len(rows["0"]["failed_ranks"]), 1)
        self.assertEqual(rows["1"]["outcome"], "ok")
        self.assertEqual(self.processes(), [])

    def test_a_stopped_worker_is_a_hang_that_costs_its_deadline(self):
        run = self.start_program(*ONE_CELL, "--budget", "1h", "--cell-timeout", "4s", "--repeat", "1",
                                 "--output", str(self.run_file))
        worker = self.wait_until(lambda: len(found := self.measuring_workers()) == 2 and found, what="two workers")[0]
        time.sleep(1)
        os.kill(worker, signal.SIGSTOP)

        self.assertEqual(run.wait(timeout=60), 4)
        row = self.report()[0]
        self.assertEqual(row["outcome"], "timed_out")
        self.assertEqual(self.processes(), [])

    def test_interrupted_runs_keep_what_was_finished(self):
        for launcher in ((), mpirun(2)):
            with self.subTest(launcher=launcher):
                self.run_file = self.folder / f"run-{len(launcher)}.h5"
                run = self.start_program("--backend", "host", *SMALL, "--repeat", "10000", "--no-sweep",
                                         "--output", str(self.run_file), launcher=launcher)
                self.wait_for_parts(2)
                os.kill(run.pid, signal.SIGINT)
                run.wait(timeout=20)
                self.wait_until(lambda: not self.processes(), 10, "no process left")
                self.assertGreaterEqual(len({row["trial"] for row in self.report() if row["outcome"] == "ok"}), 2)

    def test_kill_9_of_a_supervisor_or_mpirun_leaves_no_process_and_keeps_finished_trials(self):
        for victim in ("ncclprobe", "mpirun"):
            with self.subTest(victim=victim):
                self.run_file = self.folder / f"run-{victim}.h5"
                run = self.start_program("--backend", "host", *SMALL, "--repeat", "10000", "--no-sweep",
                                         "--output", str(self.run_file), launcher=mpirun(3))
                self.wait_for_parts(2)
                # The first three are the supervisors. A later one may be a worker that is just being started.
                os.kill(run.pid if victim == "mpirun" else self.processes("ncclprobe")[2], signal.SIGKILL)
                run.wait(timeout=20)
                self.wait_until(lambda: not self.processes(), 10, "no process left")
                self.assertGreaterEqual(len({row["trial"] for row in self.report() if row["outcome"] == "ok"}), 2)


class Isolation(ProgramTest):
    def live(self, *arguments, launcher=(), **environment):
        self.start_program(*ENDLESS, "--output", str(self.run_file), *arguments, launcher=launcher, **environment)
        return self.wait_until(self.measuring_workers, what="workers")

    def test_a_worker_gets_the_launching_environment_less_the_launchers_variables(self):
        self.start_program(*ENDLESS, "--output", str(self.run_file), "--rank-set", "1:NCCL_HOSTID=b",
                           launcher=mpirun(2), NCCL_DEBUG="WARN", MY_SITE="x")
        workers = self.wait_until(lambda: len(found := self.measuring_workers()) == 2 and found, what="two workers")

        environments = [dict(entry.split("=", 1) for entry in pathlib.Path(f"/proc/{pid}/environ").read_text().split("\0")
                             if "=" in entry) for pid in workers]
        for environment in environments:
            self.assertEqual(environment["NCCL_DEBUG"], "WARN")
            self.assertEqual(environment["MY_SITE"], "x")
            self.assertEqual([name for name in environment if name.startswith(("OMPI_COMM", "PMIX_", "ORTE_", "PRTE_"))], [])
        self.assertEqual(sorted(environment.get("NCCL_HOSTID", "") for environment in environments), ["", "b"])

    def test_a_live_supervisor_maps_no_gpu_library_and_no_gloo(self):
        self.live(launcher=mpirun(2))

        for pid in self.processes("ncclprobe"):
            maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
            self.assertIn("libmpi", maps)
            for name in ("libcuda", "libnccl", "libcudart", "libcupti", "libnvidia-ml", "libgloo"):
                self.assertNotIn(name, maps)

    def test_a_worker_has_the_channel_as_descriptor_3_and_maps_no_hdf5(self):
        worker = self.live(launcher=mpirun(2))[0]

        # Only 3 is looked at: the worker opens and closes others while it starts.
        self.assertTrue(os.readlink(f"/proc/{worker}/fd/3").startswith("socket:"))
        maps = pathlib.Path(f"/proc/{worker}/maps").read_text()
        self.assertNotIn("libhdf5", maps)
        # What it links itself, MPI included, is the architecture test's: Ubuntu's Gloo brings MPI along.

    def test_a_run_without_mpirun_never_starts_mpi(self):
        self.live()
        supervisor = self.processes("ncclprobe")[0]
        threads = len(list(pathlib.Path(f"/proc/{supervisor}/task").iterdir()))
        self.assertEqual(threads, 1)  # MPI_Init starts progress threads


if __name__ == "__main__":
    unittest.main(verbosity=2)
