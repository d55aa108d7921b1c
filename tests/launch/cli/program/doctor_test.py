# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""What a user sees of `ncclprobe doctor` on the CPU."""

import json
import pathlib
import time
import unittest

from program_test_case import ProgramTest, mpirun, read_json

MACHINES = pathlib.Path(__file__).resolve().parents[3] / "machines"
OK, WARNINGS, FAILURES = 0, 8, 9


class DoctorCase(ProgramTest):
    def examine(self, *arguments, launcher=(), **environment):
        """Runs with JSON output; the exit code and the document."""
        done = self.run_program("doctor", "--backend", "host", "--format", "json", "--output", "case.json", "--force", *arguments,
                                launcher=launcher, **environment)
        self.assertEqual(done.stdout, "")
        return done.returncode, read_json((self.folder / "case.json").read_text())

    def found(self, document, check):
        return [one for one in document["findings"] if one["id"] == check]


class Alone(DoctorCase):
    def test_a_host_without_gpus_is_examined_in_seconds_and_ends_with_a_collective(self):
        begun = time.monotonic()
        done = self.run_program("doctor", "--backend", "host")

        self.assertLess(time.monotonic() - begun, 3)
        self.assertIn(done.returncode, (OK, WARNINGS, FAILURES), done.stderr)
        self.assertIn("D27 end_to_end: an all-reduce ran without a GPU on all ranks (2 ranks)", done.stdout)
        self.assertIn("=> no GPU here", done.stdout)
        self.assertEqual(self.processes(), [])

    def test_a_document_that_quotes_errors_is_not_diagnosed(self):
        done = self.run_program("doctor", "--log", str(pathlib.Path(__file__).resolve().parents[4] / "docs/logs-and-binaries.md"))

        self.assertEqual(done.returncode, WARNINGS, done.stderr)
        self.assertIn("this is a Markdown document, not a log", done.stdout)
        self.assertNotIn("Cause", done.stdout)

    def test_a_worker_of_another_version_is_a_broken_installation_and_no_broken_driver(self):
        old = self.folder / "old-worker"
        old.write_text("#!/bin/sh\nprintf 'frames of another protocol' >&3\nsleep 0.1\n")
        old.chmod(0o755)

        code, document = self.examine("--library", f"worker={old}")

        self.assertEqual(code, FAILURES)
        self.assertEqual({one["id"] for one in document["findings"]}, {"D01", "D32"})
        self.assertIn("have different versions", self.found(document, "D32")[0]["what"])

        old.unlink()
        code, document = self.examine("--library", f"worker={old}")

        self.assertEqual(code, FAILURES)
        self.assertEqual({one["id"] for one in document["findings"]}, {"D01", "D32"})

    def test_a_planted_variable_is_found_and_is_in_the_exit_code(self):
        code, clean = self.examine()
        before = {one["what"] for one in clean["findings"]}
        self.assertFalse(any("NCCL_P2P_DISABEL" in what for what in before))

        code, document = self.examine(NCCL_P2P_DISABEL="1")

        self.assertIn(code, (WARNINGS, FAILURES))
        finding = self.found(document, "D14")[0]
        self.assertEqual(finding["status"], "warn")
        self.assertIn("NCCL_P2P_DISABLE", finding["what"])
        self.assertTrue(finding["cost"] and finding["fix"] and finding["evidence"])

    def test_what_is_installed_and_not_loaded_is_listed_beside_what_is(self):
        (self.folder / "lib").mkdir()
        (self.folder / "lib/libnccl.so.2.1.99").write_text("")
        done = self.run_program("doctor", "--backend", "host", "--no-run", LD_LIBRARY_PATH=str(self.folder / "lib"))

        self.assertRegex(done.stdout, r"installed,\s+not loaded")
        self.assertRegex(done.stdout, r"NCCL +2\.1\.99 +\S*/lib/libnccl\.so\.2\.1\.99 +LD_LIBRARY_PATH")

    def test_a_stored_case_is_judged_the_same_on_any_machine(self):
        code, document = self.examine(NCCL_P2P_DISABLE="1")
        again = self.run_program("doctor", "--offline", "case.json", "--format", "json")

        self.assertEqual(again.returncode, code)
        self.assertEqual(json.loads(again.stdout), document)

    def test_nodes_are_read_from_topologies(self):
        for machine in ("two-h200-vm.json", "two-h200-vm-p2p.h5", "two-h100.q.xml"):
            done = self.run_program("doctor", "--explain-gpu", "--node", str(MACHINES / machine))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, "2 x NVIDIA H[12]00")
        done = self.run_program("doctor", "--explain-gpu", "--node", str(MACHINES / "two-h200-vm.xml"))
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("does not say what its GPUs are", done.stderr)

    def test_bad_input_is_one_message_and_exit_code_2(self):
        (self.folder / "bad.json").write_text('{"surveys": [{}]}')
        for arguments, words in ((("--offline", "absent.json"), "absent.json"), (("--offline", "bad.json"), "bad.json"),
                                 (("--load-time", "5s"), "--deep"), (("--deep", "--load-time", "1ms"), "between"),
                                 (("--format", "xml"), "xml"), (("--deep", "--no-run"), "--no-run")):
            with self.subTest(arguments=arguments):
                done = self.run_program("doctor", *arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_looking_only_runs_nothing(self):
        _, document = self.examine("--no-run")

        self.assertEqual(document["case"]["smoke_tests"], [])
        self.assertEqual([one["status"] for one in self.found(document, "D27")], ["unknown"])

    def test_deep_adds_load(self):
        _, document = self.examine("--deep", "--load-time", "2s")

        names = [one["name"] for one in document["case"]["smoke_tests"]]
        self.assertEqual(names, ["all ranks", "sustained load"])
        self.assertEqual({one["outcome"]["kind"] for one in document["case"]["smoke_tests"]}, {"ok"})

    def test_an_output_that_cannot_be_written_is_exit_code_7(self):
        done = self.run_program("doctor", "--no-run", "--output", "no/such/folder/case.json")
        self.assertEqual(done.returncode, 7, done.stderr)


class UnderMpi(DoctorCase):
    def test_a_rank_with_another_variable_is_named(self):
        program = self.command("doctor", "--backend", "host", "--format", "json", "--output", "case.json")
        launcher = ["mpirun", "--oversubscribe", "-np", "2", *program, ":", "-np", "1", "-x", "NCCL_BUFFSIZE=8388608"]
        done = self.run_program("doctor", "--backend", "host", "--format", "json", "--output", "case.json", launcher=launcher)

        self.assertEqual(done.returncode, FAILURES, done.stderr)
        document = json.loads((self.folder / "case.json").read_text())
        finding = self.found(document, "D14")[0]
        self.assertEqual((finding["what"], finding["ranks"]), ("ranks disagree on NCCL_BUFFSIZE", [2]))
        names = [one["name"] for one in document["case"]["smoke_tests"]]
        self.assertEqual(names, ["2 ranks", "all ranks"])
        self.assertEqual(self.processes(), [])

    def test_ranks_try_to_reach_each_other(self):
        _, document = self.examine("--deep", "--load-time", "2s", launcher=mpirun(2))

        connections = document["case"]["connections"]
        self.assertEqual({(one["from_rank"], one["to_rank"]) for one in connections}, {(0, 1), (1, 0)})
        self.assertEqual({one["problem"] for one in connections}, {""})

    def test_ranks_with_different_arguments_are_refused(self):
        program = self.command("doctor", "--no-run")
        launcher = ["mpirun", "--oversubscribe", "-np", "1", *program, ":", "-np", "1"]
        done = self.run_program("doctor", launcher=launcher)

        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertIn("the arguments of rank 1 differ from rank 0's", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
