# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""What may be compared besides variables: CPUs, and worker programs; and that settings of steps have verdicts."""

import os
import shutil
import signal
import unittest

from program_test_case import BIN, SMALL, ProgramTest

STEP = ["--workload", "ddp", "--ranks", "2", "--batch", "2"]
QUICK = ["--warmups", "1", "--iterations", "2", "--batches", "1", "--seed", "7"]


class Settings(ProgramTest):
    def test_cpus_are_an_axis_and_what_workers_ran_on_is_shown(self):
        cpus = sorted(os.sched_getaffinity(0))
        pair = f"{cpus[0]}/{cpus[-1]}"

        done = self.measure("--backend", "host", *SMALL, "--ranks", "2", "--repeat", "1", "--cpu-affinity",
                            f"none,{pair},8000", "--proof", "on", code=3)

        report = self.report("json")
        shown = {one["setting"]: one for one in report["cpus"]}
        self.assertEqual([worker["effect"] for worker in shown["cpu_affinity=none"]["workers"]], ["as by default"])
        by_rank = {rank: worker for worker in shown[f"cpu_affinity={pair}"]["workers"] for rank in worker["ranks"]}
        self.assertEqual({rank: worker["cpus"] for rank, worker in by_rank.items()},
                         {0: str(cpus[0]), 1: str(cpus[-1])})
        self.assertIn("CPU 8000 is not among", shown["cpu_affinity=8000"]["refused"])
        self.assertEqual({row["outcome"] for row in self.report() if "8000" in row["setting"]}, {"skipped"})
        self.assertIn("CPUs that the workers ran on", done.stdout)
        proof = {one["setting"]: one for one in report["proof"]}
        self.assertEqual({variable["effect"] for variable in proof[f"cpu_affinity={pair}"]["variables"]}, {"took effect"})

    def test_cpus_are_part_of_plans(self):
        printed = self.run_program("plan", "--backend", "host", "--cpu-affinity", "core,[0,2]")
        listed = self.run_program("plan", "--backend", "host", "--cpu-affinity", "core,[0,2]", "--dry-run")
        wrong = self.run_program("run", "--cpu-affinity", "near")

        self.assertIn("cpu_affinity = [ 'core', '0,2' ]", printed.stdout)
        self.assertIn("cpu_affinity=0,2", listed.stdout)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("--cpu-affinity: 'near' is not a choice of CPUs (numa, none, launcher, core, or CPUs", wrong.stderr)

    def test_workers_are_compared_over_steps_and_a_changed_one_stops_the_resume(self):
        workers = []
        for name in ("a", "b"):
            workers.append(self.folder / name / "ncclprobe-worker")
            workers[-1].parent.mkdir()
            shutil.copy2(BIN / "ncclprobe-worker", workers[-1])
        named = ["--compare-library", f"worker={workers[0]},{workers[1]}"]
        run = self.start_program("--backend", "host", *STEP, "--model", "linear:16x2", *QUICK, "--repeat", "2", *named,
                                 "--output", str(self.run_file))
        self.wait_for_parts(2)
        os.kill(run.pid, signal.SIGINT)
        run.wait(timeout=30)
        content = workers[1].read_bytes()

        workers[1].write_bytes(content + b"changed")
        refused = self.run_program("--resume", str(self.run_file), *named)
        workers[1].write_bytes(content)
        resumed = self.run_program("--resume", str(self.run_file), *named)

        self.assertEqual(refused.returncode, 6, refused.stderr)
        self.assertRegex(refused.stderr, rf"contents of {workers[1]}: was \d+ bytes, \w+, is \d+ bytes, \w+")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertEqual({row["outcome"] for row in self.report()}, {"ok"})
        loaded = {one["setting"]: {library["name"]: library["path"] for library in one["libraries"]}
                  for one in self.report("json")["libraries"]}
        self.assertEqual(loaded["default"]["worker"], str(BIN.resolve() / "ncclprobe-worker"))
        for worker in workers:
            self.assertEqual(loaded[f"worker={worker}"]["worker"], str(worker.resolve()))

    def test_a_worker_of_another_version_is_named(self):
        other = self.folder / "ncclprobe-worker"
        other.write_text(r"""#!/bin/sh
printf 'NCPB\001\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000' >&3
exec sleep 5
""")
        other.chmod(0o755)

        done = self.measure("--backend", "host", *SMALL, "--repeat", "1", "--compare-library", f"worker={other}", code=3)

        self.assertIn("uses protocol version 1, this side", " ".join(done.stdout.split()))

    def test_a_setting_has_a_verdict_on_the_step_and_a_claim_that_fits_it(self):
        self.measure("--backend", "synthetic", *STEP, "--model", "linear:1024x4", *QUICK, "--repeat", "5",
                     "--set", "NCCLPROBE_SYNTHETIC_GB_PER_S=25")

        text = self.report("table")
        self.assertRegex(text, r"Settings against the default, by step time")
        self.assertRegex(text, r"GB_PER_S=25 +2  all +[\d.]+ +[\d.]+ +0\.\d+x +[\d.]+-[\d.]+ +worse")
        claim = self.run_program("claim", str(self.run_file), "--setting", "NCCLPROBE_SYNTHETIC_GB_PER_S=25")
        self.assertIn("verdict on the step: worse", " ".join(claim.stdout.split()))
        self.assertIn("of the step's change: the two agree", " ".join(claim.stdout.split()))
        self.assertEqual(claim.returncode, 0)
        self.run_file.unlink()
        self.measure("--backend", "synthetic", *STEP, "--model", "linear:1024x4", *QUICK, "--repeat", "2",
                     "--set", "NCCLPROBE_SYNTHETIC_GB_PER_S=25")
        undecided = self.run_program("claim", str(self.run_file), "--setting", "NCCLPROBE_SYNTHETIC_GB_PER_S=25")
        self.assertIn("is not decided", undecided.stdout)
        self.assertIn("(run --repeat 5)", " ".join(undecided.stdout.split()))
        unknown = self.run_program("claim", str(self.run_file), "--setting", "NCCL_ALGO=Ring")
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("there are: NCCLPROBE_SYNTHETIC_GB_PER_S=25", unknown.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
