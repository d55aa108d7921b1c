# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""PyTorch's own torchrun starts the ranks: on one host, as two nodes, with a killed rank, Ctrl-C and restarts."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import unittest

from program_test_case import SMALL, ProgramTest

# Options with underscores, which every version takes. The last two change nothing for ranks below 9. Without them,
# PyTorch 1.13 fails with Python 3.11.
TORCHRUN = [shutil.which("torchrun") or "torchrun", "--no_python", "--redirects", "9:1", "--tee", "9:1"]
CPU = ["run", *SMALL, "--backend", "host", "--no-sweep"]
LONG = [*CPU, "--repeat", "40"]
SAYS_RANK = 'echo "rank $RANK, restart $TORCHELASTIC_RESTART_COUNT"; exec "$0" "$@"'
FAILS_FIRST_ON_NODE_1 = 'if [ "$GROUP_RANK$TORCHELASTIC_RESTART_COUNT" = 10 ]; then exit 1; fi; ' + SAYS_RANK


def why_not():
    """Empty if torchrun can start a program here."""
    if not shutil.which("torchrun"):
        return "there is no torchrun (Debian and Ubuntu: apt-get install python3-torch)"
    tried = subprocess.run([*TORCHRUN, "--standalone", "--nproc_per_node", "1", "true"], capture_output=True, text=True,
                           timeout=100, stdin=subprocess.DEVNULL)
    return "" if tried.returncode == 0 else f"torchrun cannot start a program here: {tried.stderr[-300:]}"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def one_host(ranks, *options):
    return [*TORCHRUN, "--standalone", "--nproc_per_node", str(ranks), *options]


class Torchrun(ProgramTest):
    def setUp(self):
        super().setUp()
        # Two torchruns of one test may not use the same port.
        self.nodes = [*TORCHRUN, "--nnodes", "2", "--nproc_per_node", "2", "--rdzv_id", self.folder.name, "--rdzv_backend",
                      "c10d", "--rdzv_endpoint", f"127.0.0.1:{free_port()}", "--monitor_interval", "1"]

    def start(self, *arguments, launcher, **environment):
        """In a process group of its own, as a shell starts it. All that it prints goes to a file."""
        output = self.folder / f"output-{len(self.started)}"
        with output.open("w") as stream:
            program = subprocess.Popen(self.command(*arguments, launcher=launcher), cwd=self.folder,
                                       env={**self.environment, **environment}, stdin=subprocess.DEVNULL, stdout=stream,
                                       stderr=subprocess.STDOUT, process_group=0)
        program.output = output
        self.started.append(program)
        return program

    def expect_all_ok(self, ranks):
        report = self.report("json")
        self.assertEqual((report["run"]["complete"], report["problems"]), (True, []))
        self.assertEqual(len(report["run"]["ranks"]), ranks)

    def expect_nothing_left(self):
        self.wait_until(lambda: not self.processes(), 20, "no process left")

    def test_ranks_of_one_host_measure_and_one_of_them_speaks(self):
        for ranks in (2, 4):
            done = self.measure(*CPU, "--repeat", "1", "--force", launcher=one_host(ranks))
            self.assertEqual(done.stdout.count("ncclprobe report, run "), 1, done.stdout)
            self.assertEqual(done.stderr.count(f"{ranks} ranks on 1 host"), 1, done.stderr)
            self.expect_all_ok(ranks)
        self.expect_nothing_left()

    def test_a_variable_that_torchrun_sets_for_pytorch_is_not_blamed_on_the_user(self):
        done = self.measure(*CPU, "--repeat", "1", launcher=one_host(2))
        self.assertNotIn("ASYNC_ERROR_HANDLING", done.stdout + done.stderr)
        self.assertNotIn("ASYNC_ERROR_HANDLING", self.report("table"))

    def test_the_usual_port_is_left_to_torchrun(self):
        """Without --standalone, torchrun listens on MASTER_PORT itself."""
        port = ["--master_port", str(free_port())]
        self.measure(*CPU, "--repeat", "1", launcher=[*TORCHRUN, "--nproc_per_node", "2", *port])
        self.expect_all_ok(2)

    def test_two_nodes_are_one_job(self):
        both = [self.start(*CPU, "--repeat", "1", "--output", str(self.run_file), launcher=self.nodes) for _ in range(2)]

        codes = [one.wait(timeout=100) for one in both]

        printed = [one.output.read_text() for one in both]
        self.assertEqual(codes, [0, 0], printed)
        self.assertEqual("".join(printed).count("ncclprobe report, run "), 1, printed)
        self.expect_all_ok(4)
        self.expect_nothing_left()

    def test_a_killed_rank_is_named_and_the_run_can_be_resumed(self):
        program = self.start(*LONG, "--output", str(self.run_file), launcher=one_host(2))
        self.wait_for_parts(2)
        by_rank = {pathlib.Path(f"/proc/{pid}/environ").read_text().split("\0RANK=")[1][0]: pid
                   for pid in self.processes("ncclprobe")}

        os.kill(by_rank["1"], signal.SIGKILL)

        self.assertNotEqual(program.wait(timeout=60), 0)
        self.assertIn("the supervisors of rank 1 on", program.output.read_text())
        self.expect_nothing_left()
        self.assertIn("unfinished: ", self.report("table"))
        done = self.run_program("--resume", str(self.run_file), launcher=one_host(2))
        self.assertRegex(self.report("table"), "40: 39 ok, 1 (failed|crashed)", done.stderr)

    def test_ctrl_c_leaves_a_run_that_can_be_read(self):
        program = self.start(*LONG, "--output", str(self.run_file), launcher=one_host(2))
        self.wait_for_parts(2)

        os.killpg(program.pid, signal.SIGINT)

        self.assertNotEqual(program.wait(timeout=60), 0)
        words = program.output.read_text()
        self.assertIn(f"`ncclprobe --resume {self.run_file}` resumes it", words)
        self.assertNotIn("failed so far", words)
        self.expect_nothing_left()
        self.assertIn("ok", {row["outcome"] for row in self.report()})

    def test_a_restart_on_one_node_is_joined_by_the_other(self):
        """Each node's torchrun counts restarts for itself: node 1 has one, and node 0 none."""
        script = ["bash", "-c", FAILS_FIRST_ON_NODE_1]
        both = [self.start(*CPU, "--repeat", "1", "--output", str(self.run_file),
                           launcher=[*self.nodes, "--max_restarts", "1", *script], NCCLPROBE_JOIN_TIMEOUT="30")
                for _ in range(2)]

        codes = [one.wait(timeout=100) for one in both]

        printed = "".join(one.output.read_text() for one in both)
        self.assertEqual(codes, [0, 0], printed)
        self.assertIn("rank 3, restart 1", printed)
        self.assertIn("rank 0, restart 0", printed)
        self.expect_all_ok(4)


if __name__ == "__main__":
    if reason := why_not():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
