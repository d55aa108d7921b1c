# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""Two hosts: what each command says of them, and one clock for both. The short ones; see faults_test.py."""

import json
import subprocess

from hosts_test_case import BIN, ONE_EACH, SMALL, HostsTest, main


class TwoHosts(HostsTest):
    def test_the_map_shows_both_and_nothing_between(self):
        machine = json.loads(self.succeed("topo", "--format", "json", ranks=ONE_EACH).stdout)
        self.assertEqual([host["name"]["value"] for host in machine["hosts"]], ["alpha", "beta"])
        self.assertEqual(len({host["id"]["value"] for host in machine["hosts"]}), 2)

    def test_the_doctor_finds_two_healthy_hosts_and_data_between_them(self):
        report = self.doctor()
        self.assertEqual(report["counts"]["fail"] + report["counts"]["warn"], 0, report["findings"])
        self.finding(report, "D18", "12 connections between ranks over these interfaces carried data")
        self.finding(report, "D27", "ran without a GPU on all ranks (4 ranks)")

    def test_a_variable_that_mpirun_did_not_take_along_is_named_with_ranks_and_hosts(self):
        report = self.doctor("--no-run", NCCL_ALGO="Ring")
        finding = self.finding(report, "D14", "ranks disagree on NCCL_ALGO")
        self.assertEqual(finding["evidence"], ["(not set): ranks 2,3 on beta", "Ring: ranks 0,1 on alpha"])
        self.assertEqual(finding["fix"], "give all ranks the same value: mpirun -x NCCL_ALGO")

    def test_a_traced_run_has_all_ranks_their_environments_and_one_clock(self):
        run_file = "/tmp/home/traced.h5"  # each host has its own /tmp
        done = self.succeed("run", *SMALL, "--repeat", "1", "--trace", "kernels", "--output", run_file, NCCL_ALGO="Ring")
        self.assertIn("NCCL_ALGO is not set on ranks 2,3", done.stderr)
        self.assertIn("no NCCL_ALGO on ranks 2,3", done.stdout)
        self.assertIn("2 hosts (alpha, beta)", done.stdout)
        report = json.loads(self.local("alpha", "report", run_file, "--format", "json"))
        self.assertEqual(report["run"]["environment_of_ranks"], [{"ranks": [2, 3], "name": "NCCL_ALGO", "value": None}])

        document = json.loads(self.local("alpha", "report", run_file, "--timeline", "--format", "json"))
        timeline = document["timeline"] if "ranks" not in document else document
        self.assertEqual(timeline["clock"]["hosts"], 2)
        self.assertEqual([rank["rank"] for rank in timeline["clock"]["ranks"]], [0, 1, 2, 3])
        self.expect_true_offsets(timeline)
        text = self.local("alpha", "report", run_file, "--timeline")
        self.assertIn("2 hosts, ", text)
        self.expect_possible_order(text)
        self.assertFalse(self.hosts["beta"].shell("ls /tmp/home | grep traced || true"))

    def test_without_mpi_the_ranks_of_both_hosts_meet_by_the_variables_of_torchrun(self):
        run_file = "/tmp/home/env.h5"
        programs = []
        for rank, name in ((3, "beta"), (0, "alpha"), (2, "beta"), (1, "alpha")):
            command = self.hosts[name].call(
                [str(BIN / "ncclprobe"), "run", *SMALL, "--repeat", "1", "--output", run_file, "--format", "json"],
                RANK=str(rank), LOCAL_RANK=str(rank % 2), WORLD_SIZE="4", MASTER_ADDR="alpha", MASTER_PORT="29500",
                NCCLPROBE_LAUNCHER="env", NCCLPROBE_JOB_SECRET="only for us")
            programs.append((rank, subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                                    stderr=subprocess.PIPE, text=True)))
            self.addCleanup(programs[-1][1].wait)
            self.addCleanup(programs[-1][1].kill)
        printed = {}
        for rank, program in programs:
            out, complaints = program.communicate(timeout=100)
            self.assertEqual(program.returncode, 0, f"rank {rank}: {complaints}")
            printed[rank] = out
        self.assertEqual([printed[rank] for rank in (1, 2, 3)], ["", "", ""])
        report = json.loads(printed[0])
        self.assertEqual([host["hostname"] for host in report["run"]["hosts"]], ["alpha", "beta"])
        self.assertEqual((report["run"]["complete"], report["problems"], len(report["results"])), (True, [], 2))


if __name__ == "__main__":
    main()
