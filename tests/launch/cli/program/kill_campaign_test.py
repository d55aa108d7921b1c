# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""kill_campaign_test.py KILLS [SEED]: that many times kill -9 of a worker, a supervisor or mpirun at a random moment of a
run on the CPU: while it starts, measures, stores, folds, resumes, or while a report reads or folds it. No finished trial
may be lost, nothing may be left behind, and --resume must make the run whole. Prints what was hit. It works on a copy of
the programs and in a /dev/shm of its own, so neither a build nor other jobs of the machine are in the way, or disturbed."""

import collections
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import program_test_case
from program_test_case import ProgramTest, mpirun

KILLS = int(sys.argv.pop(1)) if len(sys.argv) > 1 else 12
SEED = int(sys.argv.pop(1)) if len(sys.argv) > 1 else random.randrange(1 << 32)
PLAN = ["--backend", "host", "--sizes", "1K,64K", "--collectives", "all_reduce", "--batches", "1", "--iterations", "2",
        "--warmups", "0", "--no-sweep", "--repeat", "2"]
SHARED = pathlib.Path("/dev/shm")
OWN_SHARED_MEMORY = "NCCLPROBE_TEST_OWN_SHARED_MEMORY"


def take_own_shared_memory():
    """Starts this script again in a mount namespace where /dev/shm is empty. Returns where that is not allowed."""
    if OWN_SHARED_MEMORY in os.environ:
        return
    for enter in (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"]):
        if subprocess.run([*enter, "mount", "-t", "tmpfs", "none", str(SHARED)], capture_output=True).returncode == 0:
            script = f'mount -t tmpfs -o size=1g none {SHARED} && exec "$@"'
            os.environ[OWN_SHARED_MEMORY] = "1"
            os.execvp(enter[0], [*enter, "bash", "-c", script, "bash", sys.executable, __file__, str(KILLS), str(SEED)])


def segments():
    """All files in shared memory are of this script's programs. Nothing is looked at if that is not certain."""
    return set(os.listdir(SHARED)) if OWN_SHARED_MEMORY in os.environ else set()


class KillCampaign(ProgramTest):
    def setUp(self):
        super().setUp()
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        program_test_case.BIN = pathlib.Path(shutil.copytree(program_test_case.BIN, self.folder / "bin", symlinks=True))
        self.environment["TMPDIR"] = str(self.temporary)
        self.hits = collections.Counter()
        self.kills = 0

    def finished(self):
        """The rows of each trial that is stored whole. A worker killed in its teardown leaves all cells ok, and yet a
        failed trial, which is tried again."""
        failed = {one["trial"] for one in self.report("json")["problems"]}
        rows = collections.defaultdict(list)
        for row in self.report():
            rows[int(row["trial"])].append(row)
        return {trial: cells for trial, cells in rows.items()
                if trial not in failed and {cell["outcome"] for cell in cells} == {"ok"}}

    def parts(self):
        return pathlib.Path(str(self.run_file) + ".parts")

    def begun(self):
        return self.run_file.exists() or (self.parts() / "header.h5").exists()

    def said(self):
        """How many trials the program has called ok."""
        return len(re.findall(r"^\[\d+/\d+\] .*  ok", (self.folder / "stderr").read_text(), re.MULTILINE))

    def wait_for(self, program, condition):
        end = time.monotonic() + 30
        while program.poll() is None and time.monotonic() < end and not condition():
            time.sleep(0.0005)

    def moment_of_run(self, run, chance):
        """Somewhere in the run; half of the time while a trial is stored or all are folded."""
        kind = chance.choice(["starting", "measuring", "storing", "storing", "folding", "folding"])
        if kind == "starting":
            time.sleep(chance.uniform(0, self.whole_s / 2))
            return kind
        wanted = {"measuring": 0, "storing": chance.randint(1, self.trials), "folding": self.trials}[kind]

        def reached():
            names = os.listdir(self.parts()) if self.parts().exists() else []
            return self.run_file.exists() or \
                "header.h5" in names and sum(name.startswith("trial-") for name in names) >= wanted
        self.wait_for(run, reached)
        time.sleep(chance.uniform(0, self.whole_s if kind == "measuring" else 0.03))
        return kind

    def moment_of_resuming(self, run, chance):
        kind = chance.choice(["resuming: starting", "resuming: measuring", "resuming: folding"])
        if kind == "resuming: starting":
            time.sleep(chance.uniform(0, self.whole_s / 2))
            return kind
        wanted = 0 if kind == "resuming: measuring" else self.trials - len(self.before)
        self.wait_for(run, lambda: "are done" in (self.folder / "stderr").read_text() and self.said() >= wanted)
        time.sleep(chance.uniform(0, self.whole_s if kind == "resuming: measuring" else 0.03))
        return kind

    def moment_of_report(self, _, chance):
        time.sleep(chance.uniform(0, self.report_s))
        return "reporting"

    def moment_of_fold(self, _, chance):
        time.sleep(chance.uniform(0, self.report_s))
        return "folding for a report"

    def victim(self, run, launched, chance):
        what = chance.choice(["worker", "supervisor", "mpirun"] if launched else ["worker", "supervisor"])
        if what == "worker":  # they live for a part of the run only
            self.wait_for(run, lambda: self.processes("ncclprobe-worker"))
            if workers := self.processes("ncclprobe-worker"):
                return what, chance.choice(workers)
        if what == "mpirun":
            return what, run.pid
        if not launched:
            return "supervisor", run.pid
        supervisors = self.processes("ncclprobe")
        return ("supervisor", chance.choice(supervisors)) if supervisors else ("mpirun", run.pid)

    def check_shared_memory(self, left):
        """Nothing is left, but for Open MPI's own file if the kill came inside MPI_Init, before its name could be
        removed, or inside MPI_Finalize, which needs an (empty) file of that name."""
        for name in sorted(left):
            own = not name.startswith("vader_segment.")
            in_mpi = not own and (self.said() == 0 or (SHARED / name).stat().st_size == 0)
            self.assertTrue(in_mpi, f"{name} was left in {SHARED}")
            self.hits["(left Open MPI's file, inside MPI_Init or MPI_Finalize)"] += 1
            (SHARED / name).unlink(missing_ok=True)

    def check_temporary_files(self):
        """A killed mpirun leaves the folder of its session; nothing is ours."""
        for path in self.temporary.iterdir():
            self.assertTrue(path.name.startswith(("ompi.", "openmpi-sessions")), path)
            shutil.rmtree(path)
        sockets = pathlib.Path("/proc/net/unix").read_text()
        self.assertNotIn(str(self.temporary), sockets)

    def attack(self, arguments, launcher, wait_for_moment, chance):
        """Starts the program, kills it or what belongs to it, and checks that nothing but files is left."""
        shared_before = segments()
        run = self.start_program(*arguments, launcher=launcher)
        moment = wait_for_moment(run, chance)
        what, pid = self.victim(run, bool(launcher), chance)
        over = run.poll() is not None
        if not over:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                over = True
        run.wait(timeout=60)
        self.wait_until(lambda: not self.processes(), 10, "no process left")
        self.check_shared_memory(segments() - shared_before)
        self.check_temporary_files()
        if over:
            self.hits["(too late: the program was over)"] += 1
        else:
            self.kills += 1
            self.hits[f"{what}, {moment}, {'mpirun' if launcher else 'alone'}"] += 1
        if any(path.suffix == ".tmp" for path in [*self.parts().glob("*"), *self.folder.glob("run-*")]):
            self.hits["(left a file half written)"] += 1
        if self.run_file.exists() and self.parts().exists():
            self.hits["(left parts beside the folded file)"] += 1

    def attack_again(self, launcher, chance):
        """What comes after a run, killed too: it loses nothing of what the file had."""
        how = chance.choice(["resume", "resume", "report", "fold"])
        if how == "resume":
            self.attack(["--resume", str(self.run_file), "--retry-failed"], launcher, self.moment_of_resuming, chance)
        elif how == "report":
            self.attack(["report", str(self.run_file)], (), self.moment_of_report, chance)
        else:
            self.attack(["report", str(self.run_file), "--fold"], (), self.moment_of_fold, chance)
        after = self.finished()
        self.assertGreaterEqual(len(after), len(self.before) + self.said())
        self.assertEqual({trial: after[trial] for trial in self.before}, self.before)
        self.before = after

    def one_run(self, number, chance):
        self.run_file = self.folder / f"run-{number}.h5"
        launcher = mpirun(2) if chance.random() < 0.5 else []
        self.attack([*PLAN, "--output", str(self.run_file)], launcher, self.moment_of_run, chance)
        if not self.begun():
            self.assertEqual(self.said(), 0)
            self.hits["(before the run file was begun)"] += 1
            self.measure(*PLAN, launcher=launcher)  # nothing is in the way
            return
        self.before = self.finished()
        self.assertGreaterEqual(len(self.before), self.said())
        for _ in range(chance.choice([0, 1, 2])):
            self.attack_again(launcher, chance)
        self.hits["(trials that had been finished)"] += len(self.before)

        resumed = self.run_program("--resume", str(self.run_file), "--retry-failed", launcher=launcher)

        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        after = self.finished()
        self.assertEqual(sorted(after), list(range(self.trials)))
        self.assertEqual({trial: after[trial] for trial in self.before}, self.before)
        self.assertEqual([path.name for path in self.folder.glob("run-*")], [self.run_file.name])
        self.assertEqual(self.processes(), [])

    def test_nothing_is_lost_and_the_run_can_be_made_whole(self):
        print(f"seed {SEED}", flush=True)
        chance = random.Random(SEED)
        began = time.monotonic()
        self.measure(*PLAN)
        self.whole_s = time.monotonic() - began
        self.trials = len({row["trial"] for row in self.report()})
        began = time.monotonic()
        self.report("table")
        self.report_s = time.monotonic() - began
        self.run_file.unlink()
        number = 0
        while self.kills < KILLS and number < 2 * KILLS:
            number += 1
            with self.subTest(number=number, seed=SEED):
                self.one_run(number, random.Random(chance.random()))
            for path in self.folder.glob("run-*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for what, count in sorted(self.hits.items()):
            print(f"{count:5} {what}")
        self.assertGreaterEqual(self.kills, KILLS, "too many runs were over before they could be hit")


if __name__ == "__main__":
    take_own_shared_memory()
    unittest.main(verbosity=2)
