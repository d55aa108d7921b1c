# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""A program that knows nothing of ncclprobe is recorded."""

import collections
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

from played_nccl import JOB
from program_test_case import BIN, SCHEMAS, ProgramTest, mpirun, read_json

LIBRARY = "libncclprobe-profiler.so"


def on_host(name, **variables):
    """Starts a command with the name of another host, and as a launcher's child that gets these variables."""
    return ["unshare", "--uts", "sh", "-c", 'hostname "$0" && "$@"; exit $?', name, "env",
            *(f"{key}={value}" for key, value in variables.items())]


class Record(ProgramTest):
    def setUp(self):
        super().setUp()
        self.program = self.folder / "program.py"
        self.program.write_text(JOB)

    def job(self, *options, ranks=1, count=3, rest=0, end=0, launcher=(), **environment):
        arguments = [str(one) for one in (ranks, count, rest, end)]
        return self.run_program("record", *options, "--", sys.executable, str(self.program), *arguments,
                                launcher=launcher, **environment)

    def need_host_names(self):
        if subprocess.run(on_host("alpha") + ["true"], capture_output=True).returncode != 0:
            self.skipTest("a process cannot get a host name of its own here: it takes root (CAP_SYS_ADMIN)")

    def operations(self, folder="job"):
        """Collectives that each rank launched, by rank."""
        done = self.run_program("export", folder, "--csv", "tables", "--force")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.folder / "tables/nccl_operation.csv", newline="") as rows:
            return dict(collections.Counter(int(row["rank"]) for row in csv.DictReader(rows)))

    def findings(self, folder):
        """What the report says of a capture, by id."""
        done = self.run_program("report", folder, "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return {one["id"]: one["values"] for one in json.loads(done.stdout)["findings"]}

    def test_a_program_is_recorded_and_ends_as_without(self):
        done = self.job(end=7)

        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(f"ncclprobe report {self.folder.resolve()}/job/", done.stderr)
        self.assertEqual(self.operations(), {0: 3})
        self.assertEqual(self.findings("job")["recorder"]["level"], "kernels")
        self.assertEqual(self.job("-o", "killed", end="kill").returncode, -signal.SIGKILL)
        self.assertEqual(self.operations("killed"), {0: 3})

    def test_a_command_is_taken_as_it_is(self):
        show = "import os, signal, sys; print(sys.argv[1:], os.environ['NCCLPROBE_CAPTURE'], " \
               "signal.getsignal(signal.SIGXFSZ) is signal.SIG_IGN, sep='|')"
        words = ["", "--level", "a b", "--", "$HOME"]
        done = self.run_program("record", "--level", "full", "--", "sh", "-c", "trap '' XFSZ; exec \"$@\"", "-",
                                sys.executable, "-c", show, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.split("|")[:2], [str(words), "full"])
        default = self.run_program("record", "--force", "--", "sh", "-c", "grep SigIgn /proc/$$/status")
        self.assertEqual(int(default.stdout.split()[1], 16) >> (signal.SIGXFSZ - 1) & 1, 0)

    def test_ranks_share_a_folder_that_the_next_job_does_not_overwrite(self):
        def launched(*options, code):
            done = self.job(*options, ranks=2, launcher=mpirun(2))
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(self.operations(), {0: 3, 1: 3})
            self.assertEqual(len(list((self.folder / "job").glob("*.spool"))), 2)
            return done.stderr

        self.assertEqual(launched(code=0).count("recording"), 1)
        self.assertIn("already holds a capture", launched(code=2))
        launched("--force", code=0)

    def test_two_hosts_share_a_folder_that_their_next_job_does_not_overwrite(self):
        self.need_host_names()
        meeting = {"MASTER_ADDR": "alpha", "MASTER_PORT": "29500"}

        def torchruns_rank(rank):
            return {**meeting, "RANK": str(rank), "LOCAL_RANK": "0", "TORCHELASTIC_RUN_ID": "none"}

        def mpich_rank(rank):
            return {"PMI_RANK": str(rank), "PMI_SIZE": "2", "MPI_LOCALRANKID": "0"}

        def plain_rank(rank):
            return {**meeting, "RANK": str(rank), "WORLD_SIZE": "2"}

        for name, variables in (("torchrun", torchruns_rank), ("mpich", mpich_rank), ("plain", plain_rank)):
            for options in ((), ("--force",)):
                with self.subTest(name, options=options):
                    folder = f"{name}{len(options)}"
                    for rank, host in enumerate(("alpha", "beta")):
                        done = self.job("-o", folder, *options, ranks=2, launcher=on_host(host, **variables(rank)),
                                        PLAYED_RANK=str(rank))
                        self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(self.operations(folder), {0: 3, 1: 3})
                    again = self.job("-o", folder, launcher=on_host("alpha", **variables(0)))
                    self.assertIn("already holds a capture", again.stderr)
                    self.assertEqual(self.operations(folder), {0: 3, 1: 3})

    def test_a_torchrun_on_each_of_two_hosts_is_one_job(self):
        self.need_host_names()
        script = self.folder / "torchrun"
        script.write_text('#!/bin/sh\nshift 2; exec "$@"\n')
        script.chmod(0o755)
        for rank, host in enumerate(("alpha", "beta")):
            done = self.run_program("record", "--force", "--", str(script), "--rdzv-id=7", "--rdzv-endpoint=alpha:29500", sys.executable,
                                    str(self.program), "2", "3", "0", "0", launcher=on_host(host),
                                    PLAYED_RANK=str(rank))
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.operations(), {0: 3, 1: 3})

    def test_a_real_torchrun_is_recorded_and_so_is_each_of_its_ranks(self):
        torchrun = shutil.which("torchrun")
        if torchrun is None:
            self.skipTest("there is no torchrun (Debian: python3-torch)")
        # PyTorch 1.13 with Python 3.11 fails without --redirects and --tee.
        launcher = [torchrun, "--standalone", "--nproc_per_node", "2", "--redirects", "1", "--tee", "1"]
        program = [sys.executable, str(self.program), "2", "3", "0", "0"]

        whole = self.run_program("record", "-o", "whole", "--", *launcher, "--no_python", *program)
        each = self.run_program("record", "-o", "each", "--", *program, launcher=[*launcher, "--no_python"])
        # Every process fails at first, so torchrun starts them again.
        again = self.run_program("record", "-o", "again", "--", "sh", "-c",
                                 '"$@" && exit $((1 - TORCHELASTIC_RESTART_COUNT))', "-", *program,
                                 launcher=[*launcher, "--max_restarts", "1", "--no_python"])

        for done, folder, attempts in ((whole, "whole", 1), (each, "each", 1), (again, "again", 2)):
            with self.subTest(folder):
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotIn("already holds", done.stderr)
                self.assertEqual(len(list((self.folder / folder).glob("*.spool"))), 2 * attempts)
        self.assertEqual(self.operations("whole"), {0: 3, 1: 3})
        self.assertEqual(self.operations("each"), {0: 3, 1: 3})

    def test_limits_reach_the_plugin_and_the_report(self):
        self.assertEqual(self.job("--for", "100ms", count=300, rest=0.001).returncode, 0)
        found = self.findings("job")
        self.assertIn("100 ms", found["not_traced"]["what"])
        self.assertEqual(found["capture_stopped"]["operations"], 300 - self.operations()[0])

        self.assertEqual(self.job("-o", "steps", "--steps", "50", count=1500, rest=0.001).returncode, 0)
        self.assertIn("50 steps", self.findings("steps")["not_traced"]["what"])
        self.assertLess(self.operations("steps")[0], 1500)

        self.job("-o", "ring", "--last", "100ms", count=1500, rest=0.001, end="kill")
        self.assertLess(self.operations("ring")[0], 1500)
        with open(self.folder / "tables/nccl_operation.csv", newline="") as rows:
            sequences = [int(row["sequence"]) for row in csv.DictReader(rows)]
        self.assertEqual(sequences, list(range(sequences[0], 1500)))
        self.assertEqual(self.findings("ring")["recorder"]["kept"], "the last 100 ms")
        self.assertEqual(len(list((self.folder / "ring").glob("*.spool"))), 4)

    def test_a_promise_of_tuned_settings_is_verified_with_the_job(self):
        tuned = self.folder / "tuned"
        tuned.mkdir()

        def verified(settings, code, folder, promise="# gain: 1.500x the default's speed\n# interval: 1.400 to 1.600\n"):
            (tuned / "settings.sh").write_text(promise + settings)
            done = self.job("--verify", "tuned", "--repeats", "3", "--level", "kernels", "-o", folder, count=400,
                            PLAYED_STEP_NS="3000000")
            self.assertEqual(done.returncode, code, done.stderr)
            result = self.folder / folder / "verify.json"
            return read_json(result.read_text()) if result.exists() else done.stderr

        kept = verified("export PLAYED_STEP_NS=2000000\n", 0, "kept")
        self.assertEqual(kept["verdict"], "kept")
        self.assertAlmostEqual(kept["speed"], 1.5, delta=0.01)
        self.assertEqual([(run["pair"], run["settings"], run["step_ms"]) for run in kept["runs"]],
                         [(1, "without", 3), (1, "with", 2), (2, "with", 2), (2, "without", 3),
                          (3, "without", 3), (3, "with", 2)])
        self.assertEqual(self.operations("kept/2-with"), {0: 400})
        self.assertEqual(verified("unset NOTHING\n", 10, "no-gain")["verdict"], "no_gain")
        fails = verified("export NCCL_PROFILER_PLUGIN=/no/such/library\n", 10, "fails")
        self.assertEqual((fails["verdict"], len(fails["runs"])), ("fails", 2))
        other_clock = verified("export PLAYED_WITHOUT_GPU_TIMES=1\n", 11, "other-clock")
        self.assertEqual(other_clock["verdict"], "too_few")
        self.assertEqual({run["settings"]: "GPU's times" in run["problem"] for run in other_clock["runs"]},
                         {"without": False, "with": True})
        self.assertIn("names no gain", verified("export A=1\n", 2, "no-promise", promise=""))

    def test_what_cannot_be_verified_is_refused(self):
        (self.folder / "tuned").mkdir()
        (self.folder / "tuned/settings.sh").write_text("# gain: 1.1x\n# interval: 1.0 to 1.2\nexport A=1\n")
        for arguments, code, words, environment in (
                (["--verify", "none", "--", "true"], 2, "settings.sh cannot be read", {}),
                (["--verify", "tuned", "--repeats", "2", "--", "true"], 2, "repeats", {}),
                (["--repeats", "3", "--", "true"], 2, "verify", {}),
                (["--verify", "tuned", "--", "false"], 4, "fails without the settings", {}),
                (["--verify", "tuned", "--", "true"], 2, "this is one rank", {"RANK": "0"}),
                (["-o", "empty", "--verify", "tuned", "--repeats", "3", "--", "true"], 11, "", {})):
            with self.subTest(arguments):
                done = self.run_program("record", *arguments, **environment)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(words, " ".join(done.stderr.split()))
        self.assertIn("recorded anything", (self.folder / "empty/verify.json").read_text())

    def test_what_cannot_be_recorded_is_refused(self):
        for arguments, code, words, environment in (
                (["--", "true"], 2, "NCCL_PROFILER_PLUGIN is set to libother.so", {"NCCL_PROFILER_PLUGIN": "libother.so"}),
                (["--", "/no/such/program"], 127, "cannot start /no/such/program", {}),
                (["--force", "--", str(self.folder)], 126, "cannot start", {}),
                (["-o", "a:b", "--", "true"], 2, "contains : or ;", {}),
                (["true"], 2, "write -- before the command", {}),
                ([], 2, "the command to record is missing", {}),
                (["--max-size", "1M", "--", "true"], 2, "it must be 16M or more", {}),
                (["--for", "1s", "--last", "1s", "--", "true"], 2, "excludes", {}),
                (["--steps", "9", "--last", "1s", "--", "true"], 2, "--last never stops", {}),
                (["--cuda", "--level", "operations", "--", "true"], 2, "not record", {}),
                (["--cuda", "--every", "9", "--", "true"], 2, "steps", {}),
                (["--print-env", "--", "true"], 2, "--print-env takes no command", {})):
            with self.subTest(arguments):
                done = self.run_program("record", *arguments, **environment)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(words, " ".join(done.stderr.split()))
        self.job()
        again = self.job()
        self.assertEqual(again.returncode, 2)
        self.assertIn("already holds a capture", again.stderr)
        self.assertEqual(self.job("--force").returncode, 0)
        self.assertEqual(len(list((self.folder / "job").glob("*.spool"))), 1)

    def test_a_job_without_nccl_leaves_an_empty_capture(self):
        self.assertEqual(self.run_program("record", "--", "true").returncode, 0)
        done = self.run_program("report", "job")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no process of the job recorded anything", " ".join(done.stderr.split()))

    def test_a_launcher_that_cannot_be_wrapped_gets_the_variables(self):
        folder = "with a blank"
        printed = self.run_program("record", "--print-env", "-o", folder, LD_LIBRARY_PATH="/usr/lib").stdout
        done = subprocess.run(["sh", "-c", printed + "env"], env=self.environment | {"LD_LIBRARY_PATH": "/usr/lib"},
                              capture_output=True, text=True, check=True)
        variables = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
        job = self.folder.resolve() / folder
        self.assertEqual(variables["NCCL_PROFILER_PLUGIN"], LIBRARY)
        self.assertEqual(variables["NCCLPROBE_CAPTURE_DIR"], str(job))
        self.assertTrue(os.path.samefile(variables["NVTX_INJECTION64_PATH"], BIN / f"../lib/{LIBRARY}"))
        self.assertNotIn("NCCLPROBE_CAPTURE_CUDA", variables)
        first, ours = variables["LD_LIBRARY_PATH"].split(":")
        self.assertEqual(first, "/usr/lib")
        self.assertEqual(os.listdir(ours), [LIBRARY])
        self.assertTrue(os.path.samefile(f"{ours}/{LIBRARY}", BIN / f"../lib/{LIBRARY}"))

    def test_help_and_page_have_the_same_recipe_for_containers(self):
        def words(text):
            return text.replace("\\\n", " ").split()

        page = (SCHEMAS.parent / "traces.md").read_text()
        recipes = [part.partition("```")[0] for part in page.split("<!-- not run: a container -->\n```sh\n")[1:]]
        self.assertEqual(len(recipes), 2)
        wanted = " ".join(words(self.run_program("record", "--help").stdout))
        for recipe in recipes:
            self.assertIn(" ".join(words(recipe)), wanted)

    def test_ranges_of_nvtx_are_phases_of_steps(self):
        self.assertEqual(self.job(count=200, rest=0.001).returncode, 0)
        done = self.run_program("report", "job", "--format", "json")
        phases = json.loads(done.stdout)["phases"]
        self.assertEqual([(one["outer"], one["phase"]) for one in phases],
                         [(None, "iteration #"), ("iteration #", "rest")])
        self.assertLessEqual(phases[1]["mean_ns"], phases[0]["mean_ns"])
        self.assertIn("Phases of a step on the host", self.run_program("report", "job").stdout)
        self.operations() # exports tables
        with open(self.folder / "tables/range.csv", newline="") as rows:
            self.assertEqual(collections.Counter(row["level"] for row in csv.DictReader(rows)), {"0": 200, "1": 200})

        job = [sys.executable, str(self.program), "1", "3", "0", "0"]
        other = self.run_program("record", "-o", "other", "--", "env", "-u", "NVTX_INJECTION64_PATH", *job,
                                 NVTX_INJECTION64_PATH="/opt/other.so")
        self.assertEqual(other.returncode, 0, other.stderr)
        self.assertIn("NVTX_INJECTION64_PATH is set to /opt/other.so and stays so", " ".join(other.stderr.split()))
        printed = self.run_program("record", "--print-env", "-o", "none", NVTX_INJECTION64_PATH="/opt/other.so").stdout
        self.assertNotIn("NVTX_INJECTION64_PATH", printed)

    def test_kernels_are_asked_for_by_variables_too(self):
        def variables(*options, **environment):
            printed = self.run_program("record", "--print-env", "--force", "--cuda", *options, **environment).stdout
            return dict(line.removeprefix("export ").split("=", 1) for line in printed.splitlines())

        own = variables()
        self.assertEqual([own[f"NCCLPROBE_CAPTURE_{name}"] for name in ("CUDA", "STEPS", "EVERY")], ["1", "5", "100"])
        self.assertTrue(os.path.samefile(own["CUDA_INJECTION64_PATH"], BIN / f"../lib/{LIBRARY}"))
        all_of_some = variables("--steps", "20")
        self.assertEqual(all_of_some["NCCLPROBE_CAPTURE_STEPS"], "20")
        self.assertNotIn("NCCLPROBE_CAPTURE_EVERY", all_of_some)
        self.assertNotIn("CUDA_INJECTION64_PATH", variables(CUDA_INJECTION64_PATH="/opt/other.so"))
        done = self.job("--cuda", "--force", CUDA_INJECTION64_PATH="/opt/other.so")
        self.assertEqual(done.returncode, 0, done.stderr)
        words = " ".join(done.stderr.split())
        self.assertIn("torch.profiler that starts meanwhile may get nothing", words)
        self.assertIn("/opt/other.so", words)
        self.assertEqual(self.operations(), {0: 3})


if __name__ == "__main__":
    unittest.main()
