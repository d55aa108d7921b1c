# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""kill_campaign_test.py KILLS [SEED]: that many runs on the CPU, in each a kill -9 of a worker, a supervisor or
mpirun at a random moment. No finished trial may be lost, nothing may be left behind, and --resume must make the run
whole. Prints what was hit."""

import collections
import os
import pathlib
import random
import re
import shutil
import signal
import sys
import time
import unittest

from program_test_case import ProgramTest, mpirun

KILLS = int(sys.argv.pop(1)) if len(sys.argv) > 1 else 12
SEED = int(sys.argv.pop(1)) if len(sys.argv) > 1 else random.randrange(1 << 32)
PLAN = ["--backend", "host", "--sizes", "1K,64K", "--collectives", "all_reduce", "--batches", "1", "--iterations", "2",
        "--warmups", "0", "--no-sweep", "--repeat", "2"]


SHARED = pathlib.Path("/dev/shm")


def segments():
    """What would be ours in shared memory, or Open MPI's on our behalf."""
    return {name for name in os.listdir(SHARED) if name.startswith(("nccl-", "ncclprobe", "vader_segment."))}


class KillCampaign(ProgramTest):
    def read(self, run_file):
        done = self.run_program("report", str(run_file), "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.run_file, kept = run_file, self.run_file
        rows = self.report()
        self.run_file = kept
        return {trial: [row for row in rows if int(row["trial"]) == trial] for trial in {int(row["trial"]) for row in rows}}

    def wait_for_moment(self, run, chance):
        """Somewhere in the run; half of the time while a trial is stored or all are folded."""
        kind = chance.choice(["starting", "measuring", "storing", "storing", "folding", "folding"])
        if kind == "starting":
            time.sleep(chance.uniform(0, self.whole_s / 2))
            return kind
        parts = pathlib.Path(str(self.run_file) + ".parts")
        wanted = {"measuring": 0, "storing": chance.randint(1, self.trials), "folding": self.trials}[kind]
        end = time.monotonic() + 30
        while run.poll() is None and time.monotonic() < end and not self.run_file.exists():
            names = os.listdir(parts) if parts.exists() else []
            if "header.h5" in names and sum(name.startswith("trial-") for name in names) >= wanted:
                break
        time.sleep(chance.uniform(0, self.whole_s if kind == "measuring" else 0.03))
        return kind

    def victim(self, run, launched, chance):
        what = chance.choice(["worker", "supervisor", "mpirun"] if launched else ["worker", "supervisor"])
        if what == "worker" and (workers := self.processes("ncclprobe-worker")):
            return what, chance.choice(workers)
        if what == "mpirun":
            return what, run.pid
        if not launched:
            return "supervisor", run.pid
        supervisors = self.processes("ncclprobe")
        return ("supervisor", chance.choice(supervisors)) if supervisors else ("mpirun", run.pid)

    def check_shared_memory(self, left, begun):
        """Nothing is left, but for Open MPI's own file if the kill came inside MPI_Init, before its name could be
        removed, or inside MPI_Finalize, which needs an (empty) file of that name."""
        for name in sorted(left):
            own = not name.startswith("vader_segment.")
            in_mpi = not own and (not begun or (SHARED / name).stat().st_size == 0)
            self.assertTrue(in_mpi, f"{name} was left in {SHARED}")
            self.hits["(left Open MPI's file, inside MPI_Init or MPI_Finalize)"] += 1
            (SHARED / name).unlink(missing_ok=True)

    def one_kill(self, number, chance):
        self.run_file = self.folder / f"run-{number}.h5"
        shared_before = segments()
        launcher = mpirun(2) if chance.random() < 0.5 else []
        run = self.start_program(*PLAN, "--output", str(self.run_file), launcher=launcher)
        moment = self.wait_for_moment(run, chance)
        what, pid = self.victim(run, bool(launcher), chance)
        over = run.poll() is not None
        if not over:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                over = True
        run.wait(timeout=60)
        self.wait_until(lambda: not self.processes(), 10, "no process left")
        begun = self.run_file.exists() or pathlib.Path(str(self.run_file) + ".parts", "header.h5").exists()
        self.check_shared_memory(segments() - shared_before, begun)
        if over:
            self.hits["(too late: the run was over)"] += 1
        else:
            self.kills += 1
            self.hits[f"{what}, {moment}, {'mpirun' if launcher else 'alone'}"] += 1

        said = len(re.findall(r"^\[\d+/\d+\] .*  ok", (self.folder / "stderr").read_text(), re.MULTILINE))
        parts = pathlib.Path(str(self.run_file) + ".parts")
        if not begun:
            self.assertEqual(said, 0)
            self.hits["(before the run file was begun)"] += 1
            self.measure(*PLAN, launcher=launcher)  # nothing is in the way
            return
        if any(path.suffix == ".tmp" for path in [*parts.glob("*"), *self.folder.glob("run-*")]):
            self.hits["(left a file half written)"] += 1
        if self.run_file.exists() and parts.exists():
            self.hits["(left parts beside the folded file)"] += 1
        # Reading folds: in a copy, so that what is resumed lies as the kill left it.
        copy = self.folder / "copy"
        copy.mkdir()
        for path in (self.run_file, parts):
            if path.is_dir():
                shutil.copytree(path, copy / path.name)
            elif path.exists():
                shutil.copy(path, copy)
        before = self.read(copy / self.run_file.name)
        shutil.rmtree(copy)
        # A worker killed in its teardown leaves all cells ok, and yet a failed trial, which is tried again.
        crashed = {int(position) - 1 for position in
                   re.findall(r"^\[(\d+)/\d+\] .* crashed: ", (self.folder / "stderr").read_text(), re.MULTILINE)}
        finished = {trial: rows for trial, rows in before.items()
                    if {row["outcome"] for row in rows} == {"ok"} and trial not in crashed}
        self.assertGreaterEqual(len(finished), said)
        self.hits["(trials that had been finished)"] += len(finished)

        resumed = self.run_program("--resume", str(self.run_file), "--retry-failed", launcher=launcher)

        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        after = self.read(self.run_file)
        self.assertEqual(sorted(after), list(range(self.trials)))
        self.assertEqual({trial: after[trial] for trial in finished}, finished)
        self.assertEqual([path.name for path in self.folder.glob("run-*")], [self.run_file.name])
        self.assertEqual(self.processes(), [])

    def test_nothing_is_lost_and_the_run_can_be_made_whole(self):
        print(f"seed {SEED}", flush=True)
        chance = random.Random(SEED)
        self.hits = collections.Counter()
        self.kills = 0
        began = time.monotonic()
        self.measure(*PLAN)
        self.whole_s = time.monotonic() - began
        self.trials = len({row["trial"] for row in self.report()})
        self.run_file.unlink()
        number = 0
        while self.kills < KILLS and number < 2 * KILLS:
            number += 1
            with self.subTest(number=number, seed=SEED):
                self.one_kill(number, random.Random(chance.random()))
            for path in self.folder.glob("run-*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            shutil.rmtree(self.folder / "copy", ignore_errors=True)
        for what, count in sorted(self.hits.items()):
            print(f"{count:5} {what}")
        self.assertEqual(self.kills, KILLS, "too many runs were over before they could be hit")


if __name__ == "__main__":
    unittest.main(verbosity=2)
