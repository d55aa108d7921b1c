# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""What a user sees of a run that goes well."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from program_test_case import SMALL, ProgramTest, mpirun


class Run(ProgramTest):
    def test_two_ranks_without_mpirun_are_measured_checked_stored_and_reported(self):
        done = self.measure("--backend", "host", *SMALL, "--no-sweep")

        self.assertIn("all_reduce", done.stdout)
        self.assertIn(str(self.run_file), done.stdout)
        rows = self.report()
        self.assertEqual({row["size_bytes"] for row in rows}, {"1024", "65536"})
        self.assertEqual({(row["outcome"], row["data"]) for row in rows}, {("ok", "checked")})
        for row in rows:
            self.assertGreater(float(row["busbw_gb_per_s"]), 0)
        self.assertEqual(self.processes(), [])

    def test_every_collective_type_and_operation_is_checked(self):
        self.measure("--backend", "host", "--ranks", "4", "--no-sweep", "--repeat", "1", "--sizes", "1000",
                     "--collectives", "all_reduce,all_gather,reduce_scatter,broadcast,reduce,all_to_all,gather,scatter,"
                                      "send_recv,all_to_all_v,hypercube",
                     "--types", "f32,bf16,u8,i64,f8e4m3",
                     "--ops", "sum,prod,max,min,avg,premul_sum", "--placement", "out_of_place,in_place",
                     "--root", "1", "--batches", "1", "--iterations", "1", "--warmups", "0")

        rows = self.report()
        # 3 reducing collectives x 6 operations + 8 others, out of place; 3 of the others have no in-place form.
        self.assertEqual(len(rows), 5 * ((3 * 6 + 8) + (3 * 6 + 5)))
        self.assertEqual({(row["outcome"], row["data"], row["wrong_elements"]) for row in rows}, {("ok", "checked", "0")})

    def test_odd_counts_off_alignment_split_and_on_several_streams_are_checked(self):
        for ranks, seats in ((1, 1), (3, 1), (4, 2)):
            with self.subTest(ranks=ranks):
                self.run_file = self.folder / f"run-{ranks}.h5"
                self.measure("--backend", "host", "--ranks", str(ranks), "--devices-per-worker", str(seats), "--no-sweep",
                             "--repeat", "1", "--collectives", "all_reduce,broadcast,all_to_all_v,hypercube",
                             "--counts", "0,1,1023", "--offset", "0,1", "--split", "1,2", "--streams", "1,2", "--roots",
                             "0" if ranks == 1 else "0,1", "--batches", "1", "--iterations", "1", "--warmups", "0")

                rows = self.report()
                self.assertEqual({(row["outcome"], row["wrong_elements"]) for row in rows}, {("ok", "0")})
                for row in rows:
                    self.assertEqual(int(row["checked_elements"]) > 0, int(row["size_bytes"]) > 0, row)
                variants = {row["variant"] for row in rows}
                self.assertEqual("split=2 streams=2 offset=1" in variants, ranks == 4)
                self.assertEqual("hypercube" in {row["workload"] for row in rows}, ranks != 3)

    def test_companions_show_what_each_setting_did_and_are_no_measurements(self):
        for launcher in ((), mpirun(2)):
            with self.subTest(launcher=launcher):
                self.run_file = self.folder / f"run-{len(launcher)}.h5"
                self.measure("--backend", "host", *SMALL, "--proof", "on", "--repeat", "1",
                             "--set", "NCCLPROBE_GLOO_ALGORITHM=ring", "--rank-set", "1:NCCL_NOT_OURS=1", launcher=launcher)

                # The default twice and the setting once; two sizes each.
                self.assertEqual(len(self.report()), 6)
                proofs = {proof["setting"]: proof for proof in self.report("json")["proof"]}
                self.assertEqual(set(proofs), {"default", "NCCLPROBE_GLOO_ALGORITHM=ring"})
                ring = proofs["NCCLPROBE_GLOO_ALGORITHM=ring"]
                effects = {one["name"]: (one["effect"], one["ranks"]) for one in ring["variables"]}
                self.assertEqual(effects, {"NCCLPROBE_GLOO_ALGORITHM": ("took effect", [0, 1]),
                                           "NCCL_NOT_OURS": ("ignored", [1])})
                used = {rank["used"][0]["algorithm"] for cell in ring["cells"] for rank in cell["ranks"]}
                self.assertEqual(used, {"ring"})
                self.assertFalse(ring["changed_nothing"])

    def test_a_search_path_is_an_axis_and_the_libraries_that_it_leads_to_are_stored(self):
        self.environment.pop("LD_LIBRARY_PATH", None)
        self.measure("--backend", "host", *SMALL, "--no-sweep", "--repeat", "1")
        usual = self.loaded_gloo()["default"]
        if ".so" not in usual:
            self.skipTest("Gloo is linked statically")
        copy = self.folder / "lib" / pathlib.Path(usual).name
        copy.parent.mkdir()
        shutil.copy(usual, copy)
        # Programs ask for the library by the name that is written in it, here libgloo.so.0.
        for link in pathlib.Path(usual).parent.glob("libgloo.so*"):
            if link.is_symlink() and link.resolve() == pathlib.Path(usual):
                (copy.parent / link.name).symlink_to(copy.name)
        empty = self.folder / "empty"
        empty.mkdir()
        self.run_file = self.folder / "compared.h5"

        self.measure("--backend", "host", *SMALL, "--repeat", "1", "--proof", "on",
                     "--set", f"LD_LIBRARY_PATH={copy.parent},{empty}")

        loaded = self.loaded_gloo()
        self.assertEqual(loaded, {"default": usual, f"LD_LIBRARY_PATH={copy.parent}": str(copy.resolve()),
                                  f"LD_LIBRARY_PATH={empty}": usual})
        report = self.report("json")
        itself = {one["setting"] for one in report["libraries"] if one["same_as_default"]}
        self.assertEqual(itself, {f"LD_LIBRARY_PATH={empty}"})
        for proof in report["proof"]:
            for variable in proof["variables"]:
                self.assertIn(loaded[proof["setting"]], variable["reason"])
        self.assertIn("Libraries that were loaded", self.report("table"))

    def loaded_gloo(self):
        return {one["setting"]: library["path"] for one in self.report("json")["libraries"]
                for library in one["libraries"] if library["name"] == "gloo"}

    def test_libraries_that_cannot_be_compared_are_refused_before_anything_is_measured(self):
        missing = self.measure("--compare-library", "nccl=/nowhere/libnccl.so.2", *SMALL, code=2)
        self.assertIn("'/nowhere/libnccl.so.2' is not a file", missing.stderr)
        there = self.folder / "libnccl.so.2"
        there.write_bytes(b"")
        no_gpus = self.measure("--backend", "host", "--compare-library", f"nccl={there}", *SMALL, code=2)
        self.assertIn("--set LD_LIBRARY_PATH", no_gpus.stderr)
        self.assertFalse(self.run_file.exists())

    def test_a_sweep_measures_the_default_and_each_setting_in_fresh_processes(self):
        self.measure("--backend", "host", *SMALL, "--set", "NCCLPROBE_GLOO_ALGORITHM=ring,bcube", "--repeat", "2")

        settings = [row["setting"] for row in self.report() if row["size_bytes"] == "1024"]
        self.assertEqual(settings.count("default"), 4)
        self.assertEqual(settings.count("NCCLPROBE_GLOO_ALGORITHM=ring"), 2)
        self.assertEqual(settings.count("NCCLPROBE_GLOO_ALGORITHM=bcube"), 2)

    def test_what_the_environment_sets_is_pinned_unless_overridden(self):
        sweep = ["--backend", "host", *SMALL, "--repeat", "1", "--set", "NCCLPROBE_GLOO_ALGORITHM=ring"]

        done = self.measure(*sweep, NCCLPROBE_GLOO_ALGORITHM="bcube")

        self.assertIn("NCCLPROBE_GLOO_ALGORITHM=bcube is set in the environment", done.stderr)
        self.assertEqual({row["setting"] for row in self.report()}, {"default"})
        self.run_file.unlink()
        self.measure(*sweep, "--override", "NCCLPROBE_GLOO_ALGORITHM", NCCLPROBE_GLOO_ALGORITHM="bcube")
        self.assertEqual({row["setting"] for row in self.report()}, {"default", "NCCLPROBE_GLOO_ALGORITHM=ring"})

    def test_one_worker_may_drive_several_ranks(self):
        self.measure("--backend", "host", "--ranks", "4", "--devices-per-worker", "2", "--no-sweep",
                     *SMALL[:2], "--collectives", "all_reduce,all_to_all,send_recv")

        self.assertEqual({(row["outcome"], row["data"]) for row in self.report()}, {("ok", "checked")})

    def test_synthetic_numbers_say_so_wherever_they_appear(self):
        done = self.measure("--backend", "synthetic", "--ranks", "8", *SMALL, "--seed", "7")

        self.assertIn("synthetic", done.stdout.lower())
        rows = self.report()
        self.assertEqual({row["synthetic"] for row in rows}, {"true"})
        self.assertEqual({row["data"] for row in rows}, {"unchecked"})
        again = self.folder / "again.h5"
        first = [(row["setting"], row["time_us"]) for row in rows]
        self.run_file = again
        self.measure("--backend", "synthetic", "--ranks", "8", *SMALL, "--seed", "7")
        self.assertEqual([(row["setting"], row["time_us"]) for row in self.report()], first)

    def test_the_plan_printed_is_the_plan_run(self):
        sweep = ["--backend", "host", *SMALL, "--set", "NCCLPROBE_GLOO_ALGORITHM=ring", "--repeat", "1", "--seed", "5"]
        plan = self.run_program("plan", *sweep)
        self.assertEqual(plan.returncode, 0, plan.stderr)
        (self.folder / "sweep.toml").write_text(plan.stdout)

        dry = self.run_program("plan", "--dry-run", "--plan", "sweep.toml")
        self.measure("--plan", "sweep.toml")

        planned = re.findall(r"^ +(\d+) +(\d+) .* (default|NCCLPROBE_\S+)$", dry.stdout, re.MULTILINE)
        ran = sorted({(row["trial"], row["replicate"], row["setting"]) for row in self.report()}, key=lambda one: int(one[0]))
        self.assertEqual(planned, ran)

    def test_json_carries_every_number_with_its_unit(self):
        self.measure("--backend", "host", *SMALL, "--no-sweep", "--repeat", "1")

        report = self.report("json")
        self.assertEqual(report["schema"], "ncclprobe.report")
        self.assertFalse(report["synthetic"])

    def test_a_note_stays_with_the_run(self):
        done = self.measure("--backend", "synthetic", *SMALL, "--no-sweep", "--note", "new driver")

        self.assertIn("Note         new driver\n", done.stdout)
        self.assertEqual(self.report("json")["run"]["note"], "new driver")

    def test_progress_goes_to_stderr_and_quiet_silences_it(self):
        done = self.measure("--backend", "host", *SMALL, "--no-sweep", "--repeat", "1")
        self.assertIn("[1/1] default", done.stderr)
        self.run_file.unlink()
        quiet = self.measure("--backend", "host", *SMALL, "--no-sweep", "--repeat", "1", "--quiet")
        self.assertEqual(quiet.stderr, "")

    def test_on_a_terminal_progress_is_one_line_that_is_erased(self):
        here, terminal = os.openpty()
        with os.fdopen(here, "rb", buffering=0) as shown, subprocess.Popen(
                self.command("--backend", "host", *SMALL, "--no-sweep", "--repeat", "3", "-o", "run.h5"), cwd=self.folder,
                env=self.environment, stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal) as run:
            os.close(terminal)
            text = b""
            with contextlib.suppress(OSError):  # how a terminal ends
                while more := shown.read(4096):
                    text += more
        self.assertEqual(run.returncode, 0, text)
        drawn = text.decode().split("\r\x1b[K")
        self.assertRegex(drawn[1], r"^about [\d.]+ s left  1/3 default  starting  \[\.+")
        self.assertIn("ncclprobe report", drawn[-1])  # stands where the line was
        for line in drawn[1:-1]:
            self.assertNotIn("\n", line)

    def test_expected_times_are_near_those_that_were_seen(self):
        """In seconds, from runs on two H200, and on two busy cores."""
        small = ["--no-sweep", "--repeat", "1", "--collectives", "all_reduce"]
        for seen, arguments in ((45, ["--backend", "nvidia", "--gpus", "2"]),
                                (1.7, ["--backend", "synthetic", "--ranks", "8"]),
                                (0.2, ["--backend", "host", "--ranks", "2", "--sizes", "1K", *small]),
                                (1.3, ["--backend", "host", "--ranks", "8", "--sizes", "1K,64K,1M", *small]),
                                (20, ["--backend", "host", "--ranks", "2", "--workload", "ddp", "--model", "linear:2048x4", "--repeat", "1"])):
            with self.subTest(arguments=arguments):
                plan = self.run_program("plan", "--dry-run", "--format", "json", *arguments)
                self.assertEqual(plan.returncode, 0, plan.stderr)
                expected = json.loads(plan.stdout)["expected_s"]
                self.assertGreater(expected, seen / 2)
                self.assertLess(expected, seen * 2)

    def test_version_tells_libraries_build_options_and_architectures(self):
        done = self.run_program("--version")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"ncclprobe \d+\.\d+\.\d+")
        self.assertRegex(done.stdout, r"\n  nvidia backend +\S")


class RunUnderMpi(ProgramTest):
    def test_one_rank_a_supervisor(self):
        for ranks in (1, 2, 4):
            with self.subTest(ranks=ranks):
                self.run_file = self.folder / f"run-{ranks}.h5"
                self.measure("--backend", "host", *SMALL, "--no-sweep", launcher=mpirun(ranks))
                self.assertEqual({(row["ranks"], row["outcome"], row["data"]) for row in self.report()},
                                 {(str(ranks), "ok", "checked")})
                self.assertEqual(self.processes(), [])

    def test_ranks_that_disagree_on_arguments_are_named(self):
        program = self.command("--backend", "host", *SMALL)
        launcher = ["mpirun", "--oversubscribe", "-np", "2", *program, ":", "-np", "1"]
        done = self.run_program("--backend", "host", "--sizes", "1M", launcher=launcher)
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertIn("rank 2 started with different arguments from rank 0", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
