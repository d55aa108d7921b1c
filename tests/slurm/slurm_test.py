# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""ncclprobe under a real Slurm: srun with its kinds of PMI, the batch scripts that `ncclprobe emit` writes, and recorded jobs."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from slurm_cluster import SlurmCluster, why_not

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "launch/cli/program"))
from played_nccl import JOB  # noqa: E402

BIN = pathlib.Path(os.environ["NCCLPROBE_BIN"])
def mpi_of_this_build():
    done = subprocess.run([BIN / "ncclprobe", "--version", "--format", "json"], capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout)["ncclprobe"]["mpi"]


MPI = mpi_of_this_build()
SMALL = ["run", "--backend", "host", "--no-sweep", "--sizes", "64K", "--collectives", "all_reduce", "--repeat", "1", "--batches", "2"]
TASKS = ["--nodes=2", "--ntasks=4", "--ntasks-per-node=2"]
# The PMIx servers of two nodes on one machine get in each other's way.
TASKS_OF_ONE_NODE = ["--nodes=1", "--ntasks=4"]


class UnderSlurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="ncclprobe-slurm-"))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.cluster = cls.enterClassContext(SlurmCluster(folder))
        cls.path = f"{BIN}:{os.environ['PATH']}"

    def setUp(self):
        self.run_file = self.cluster.folder / f"{self.id().rsplit('.', 1)[1]}.h5"

    def expect_four_ranks(self):
        report = subprocess.run([BIN / "ncclprobe", "report", self.run_file, "--format", "json"], capture_output=True, text=True,
                                timeout=120)
        self.assertEqual(report.returncode, 0, report.stderr)
        run = json.loads(report.stdout)["run"]
        self.assertTrue(run["complete"])
        self.assertEqual(len(run["ranks"]), 4)

    def srun(self, mpi, tasks=TASKS, **variables):
        done = self.cluster.run("srun", f"--mpi={mpi}", *tasks, str(BIN / "ncclprobe"), *SMALL, "-o", str(self.run_file), **variables)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.expect_four_ranks()

    def emit(self, *arguments):
        file = self.run_file.with_suffix(".sbatch")
        done = subprocess.run([BIN / "ncclprobe", "emit", "sbatch", "-o", file, *arguments], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return file

    @unittest.skipUnless("Open MPI" in MPI, "this build has no Open MPI")
    def test_srun_with_pmix(self):
        self.srun("pmix", TASKS_OF_ONE_NODE)

    @unittest.skipUnless("MPICH" in MPI, "this build has no MPICH")
    def test_srun_with_pmi2(self):
        self.srun("pmi2")

    @unittest.skipUnless("MPICH" in MPI, "this build has no MPICH")
    def test_mpich_is_alone_where_it_does_not_know_the_kind_of_pmi_and_that_is_refused(self):
        done = self.cluster.run("srun", "--mpi=pmix", *TASKS_OF_ONE_NODE, str(BIN / "ncclprobe"), *SMALL, "-o", str(self.run_file))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("NCCLPROBE_LAUNCHER=env", done.stderr)
        self.assertFalse(self.run_file.exists())

    @unittest.skipUnless("Open MPI" in MPI, "this build has no Open MPI")
    def test_open_mpi_ends_where_it_does_not_know_the_kind_of_pmi(self):
        done = self.cluster.run("srun", "--mpi=pmi2", *TASKS, str(BIN / "ncclprobe"), *SMALL, "-o", str(self.run_file))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("OMPI was not built with SLURM's PMI support", done.stderr)
        self.assertFalse(self.run_file.exists())

    def test_srun_with_pmi2_for_a_job_without_mpi(self):
        self.srun("pmi2", NCCLPROBE_LAUNCHER="env", MASTER_ADDR="127.0.0.1", MASTER_PORT="29611")

    def test_srun_without_pmi(self):
        self.srun("none", MASTER_ADDR="127.0.0.1", MASTER_PORT="29612")

    def test_srun_without_pmi_and_without_a_place_to_meet_is_refused(self):
        done = self.cluster.run("srun", "--mpi=none", *TASKS, str(BIN / "ncclprobe"), *SMALL, "-o", str(self.run_file))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("srun started 4 tasks", done.stderr)
        self.assertFalse(self.run_file.exists())

    def test_each_rank_of_srun_is_recorded_into_a_folder_that_the_next_job_does_not_overwrite(self):
        program = self.cluster.folder / "job.py"
        program.write_text(JOB)
        capture = self.run_file.with_suffix(".job")

        def recorded(operations, *options):
            return self.cluster.run("srun", "--mpi=none", *TASKS, str(BIN / "ncclprobe"), "record", "-o", str(capture), *options, "--",
                                    sys.executable, str(program), "4", str(operations), "0", "0")

        def expect(operations):
            done = subprocess.run([BIN / "ncclprobe", "report", capture, "--format", "json"], capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(done.stdout)
            self.assertEqual([one["rank"] for one in report["ranks"]], [0, 1, 2, 3])
            self.assertEqual(report["job"]["operations"], 4 * operations)

        first = recorded(3)
        self.assertEqual(first.returncode, 0, first.stderr)
        expect(3)
        refused = recorded(5)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("already holds a capture", refused.stderr)
        expect(3)
        self.assertEqual(recorded(5, "--force").returncode, 0)
        expect(5)

    def submit_emitted(self, mpi, nodes, **variables):
        file = self.emit("--nodes", str(nodes), "--gpus", "0", "--ranks-per-node", str(4 // nodes), "--mpi", mpi, "--time", "00:05:00", "--", *SMALL,
                         "-o", str(self.run_file))
        state, code, output = self.cluster.submit(file, PATH=self.path, **variables)
        self.assertEqual((state, code), ("COMPLETED", 0), output)
        self.expect_four_ranks()

    @unittest.skipUnless("Open MPI" in MPI, "this build has no Open MPI")
    def test_the_emitted_script_with_pmix(self):
        self.submit_emitted("pmix", 1)

    @unittest.skipUnless("MPICH" in MPI, "this build has no MPICH")
    def test_the_emitted_script_with_pmi2(self):
        self.submit_emitted("pmi2", 2)

    def test_the_emitted_script_without_mpi(self):
        self.submit_emitted("none", 2, MASTER_ADDR="127.0.0.1")  # n1 is no name that leads anywhere

    def test_the_emitted_script_for_the_health_of_each_node(self):
        file = self.emit("--nodes", "2", "--gpus", "0", "--ranks-per-node", "2", "--each-node", "--", "doctor", "--backend", "host",
                         "--no-run")
        _, _, output = self.cluster.submit(file, PATH=self.path)
        for node in ("0: ", "1: "):
            self.assertTrue(any(line.startswith(f"{node}Conclusion") for line in output.splitlines()), output)

    def test_a_node_that_lacks_a_gpu_is_named_before_anything_runs(self):
        tools = self.cluster.folder / "tools"
        tools.mkdir()
        (tools / "nvidia-smi").write_text('#!/bin/sh\nn=8; [ "$SLURMD_NODENAME" = n2 ] && n=7\n'
                                          'for i in $(seq $n); do echo "GPU $i: fake"; done\n')
        (tools / "nvidia-smi").chmod(0o755)
        file = self.emit("--nodes", "2", "--gpus", "8", "--", *SMALL, "-o", str(self.run_file))
        state, code, output = self.cluster.submit(file, PATH=f"{tools}:{self.path}")
        self.assertEqual((state, code), ("FAILED", 6), output)
        self.assertIn("preflight: n2 has 7 of 8 GPUs", output)
        self.assertNotIn("n1 has", output)
        self.assertFalse(self.run_file.exists())


if __name__ == "__main__":
    if reason := why_not():
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    unittest.main()
