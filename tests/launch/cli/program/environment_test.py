# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""No output holds the value of a variable that is not known to be harmless, or a foreign command line."""

import gzip
import json
import os
import pathlib
import unittest

from program_test_case import LARGE, SMALL, ProgramTest, mpirun

try:
    import h5py
except ImportError:
    h5py = None

CANARY = "canary4f1c"
SECRETS = {name: f"{CANARY}-{number}" for number, name in enumerate([
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN",
    "WANDB_API_KEY", "GITHUB_TOKEN", "GH_TOKEN", "CUDA_API_KEY", "CUDA_PASSWORD", "NCCL_TOKEN", "NCCL_SECRET",
    "NCCLPROBE_KEY", "GLOO_PASSWORD", "OMP_TOKEN", "UCX_SECRET", "LD_SECRET", "https_proxy", "MLFLOW_TRACKING_PASSWORD"])}
WORKERS = pathlib.Path(os.environ["NCCLPROBE_TEST_WORKERS"])
RUN = ["--backend", "host", *SMALL, "--repeat", "1"]


class Secrets(ProgramTest):
    def expect_none_in(self, text, what):
        self.assertNotIn(CANARY, text, what)

    def contents(self, path):
        """All that a file holds, unpacked."""
        data = path.read_bytes()
        found = [data]
        if path.suffix == ".gz":
            found.append(gzip.decompress(data))
        if h5py is not None and data.startswith(b"\x89HDF"):
            with h5py.File(path) as file:
                file.visititems(lambda _, item: found.append(item[()].tobytes() if isinstance(item, h5py.Dataset) else b""))
                file.visititems(lambda _, item: found.extend(str(value).encode() for value in item.attrs.values()))
        return b"\n".join(found)

    def expect_none_in_folder(self):
        for path in self.folder.rglob("*"):
            if path.is_file():
                self.assertNotIn(CANARY.encode(), self.contents(path), path)

    def expect_none_of(self, *arguments, code=0, **how):
        done = self.run_program(*arguments, **{**SECRETS, **how})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.expect_none_in(done.stdout, arguments)
        self.expect_none_in(done.stderr, arguments)
        self.expect_none_in_folder()
        return done

    def test_a_run_and_its_reports(self):
        self.expect_none_of(*RUN, "--no-sweep", "--verbose", "--output", str(self.run_file))
        self.expect_none_of(*RUN, "--set", "NCCL_TOKEN=1,2", "--output", str(self.folder / "pinned.h5"))
        for form in ("table", "csv", "json"):
            self.expect_none_of("report", str(self.run_file), "--format", form)
        self.expect_none_of("plan", "--dry-run", *RUN, "--set", "NCCL_TOKEN=1,2")
        self.expect_none_of("--resume", str(self.run_file))

    def test_that_they_are_set_is_told_and_harmless_values_are_told_too(self):
        self.expect_none_of(*RUN, "--no-sweep", "--output", str(self.run_file), NCCL_DEBUG="WARN")
        report = self.report("json")
        environment = {one["name"]: one["value"] for one in report["run"]["environment"]}
        self.assertEqual(environment["NCCL_DEBUG"], "WARN")
        self.assertEqual(environment["CUDA_API_KEY"], "(set)")
        self.assertNotIn("AWS_SECRET_ACCESS_KEY", environment)

    def test_ranks_that_differ_in_a_secret(self):
        launcher = [*mpirun(1), *self.command(*RUN, "--no-sweep", "--output", str(self.run_file)), ":", "-np", "1", "env",
                    f"NCCL_TOKEN={CANARY}-other"]
        done = self.expect_none_of(*RUN, "--no-sweep", "--output", str(self.run_file), launcher=launcher)
        self.assertIn("NCCL_TOKEN is '(set)' on rank 1, unlike on rank 0", done.stderr)

    def test_a_traced_run(self):
        self.expect_none_of(*RUN, "--no-sweep", "--trace", "api", "--output", str(self.run_file))
        self.expect_none_of("report", str(self.run_file), "--timeline", "--format", "json")
        self.expect_none_of("export", str(self.run_file), "--chrome", str(self.folder / "trace.json"))

    def test_a_run_that_fails(self):
        self.expect_none_of("--backend", "host", *LARGE, "--repeat", "1", "--no-sweep", "--cell-timeout", "1ms", "--verbose",
                            "--output", str(self.run_file), code=4)

    def test_an_examination_and_a_machine(self):
        done = self.run_program("doctor", "--backend", "host", "--format", "json", "--output", str(self.folder / "case.json"),
                                **SECRETS)
        self.assertIn(done.returncode, (0, 8, 9), done.stderr)
        self.expect_none_in(done.stderr, "doctor")
        case = json.loads((self.folder / "case.json").read_text())["case"]
        names = {one["name"]: one["value"] for one in case["surveys"][0]["process"]["environment"]}
        self.assertEqual(names["CUDA_API_KEY"], "(set)")
        self.run_program("doctor", "--backend", "host", "--output", str(self.folder / "doctor.txt"), **SECRETS)
        self.run_program("topo", "--record", str(self.folder / "machine"), **SECRETS)
        self.expect_none_in_folder()

    def test_a_worker_that_prints_its_environment(self):
        worker = self.folder / "worker"
        worker.write_text("#!/bin/sh\nenv\nexit 3\n")
        worker.chmod(0o755)
        self.expect_none_of(*RUN, "--compare-library", f"worker={worker}", "--verbose", "--output", str(self.run_file), code=3)
        for form in ("table", "json"):
            done = self.run_program("report", str(self.run_file), "--format", form)
            self.expect_none_in(done.stdout, form)
        self.assertIn("HF_TOKEN=(set)", done.stdout)  # it was kept, but for the values

    def test_a_secret_in_all_that_a_worker_says_and_in_the_users_words(self):
        names = ("AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "WANDB_API_KEY", "GITHUB_TOKEN")
        how = {"LEAK": " ".join(names), "MISBEHAVE": "yes", "MISBEHAVE_ONCE": str(self.folder / "once")}
        again = ["--compare-library", f"worker={WORKERS / 'leak'}", "--verbose"]
        note = " ".join(SECRETS[name] for name in names)
        self.expect_none_of(*RUN, *again, "--note", note, "--output", str(self.run_file), code=3, **how)
        self.expect_none_of("--resume", str(self.run_file), *again, code=3, **how)
        for form in ("table", "csv", "markdown", "html"):
            done = self.expect_none_of("report", str(self.run_file), "--format", form)
            self.assertNotEqual(done.stdout, "")
        report = self.report("json")
        hidden = " ".join(["(set)"] * len(names))
        self.assertEqual(report["run"]["note"], hidden)
        self.expect_none_in(json.dumps(report), "json")
        self.assertIn(f"the failure has {hidden}", json.dumps(report))
        self.assertIn(f"the output has {hidden}", json.dumps(report))
        if h5py is not None:
            self.assertIn(f"INFO the log has {hidden}".encode(), self.contents(self.run_file))

    def test_a_recording_and_job_files(self):
        self.expect_none_of("record", "--output", str(self.folder / "job"), "--", "/bin/true")
        self.expect_none_of("record", "--print-env", "--force", "--output", str(self.folder / "job"))
        for kind in ("sbatch", "mpijob", "jobset", "compose"):
            self.expect_none_of("emit", kind)

    def test_a_file_of_settings(self):
        (self.folder / "nccl.conf").write_text(f"NCCL_DEBUG=WARN\nNCCL_TOKEN={CANARY}\nmachine x password={CANARY}\n")
        self.run_program("doctor", "--backend", "host", "--no-run", "--format", "json", "--output",
                         str(self.folder / "case.json"), NCCL_CONF_FILE=str(self.folder / "nccl.conf"))
        (self.folder / "nccl.conf").unlink()
        self.expect_none_in_folder()


if __name__ == "__main__":
    unittest.main(verbosity=2)
