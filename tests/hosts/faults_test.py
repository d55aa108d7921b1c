# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""What goes wrong between hosts: what the doctor says of it, and what a run makes of it."""

import csv
import io
import itertools
import json
import time

from hosts_test_case import BIN, CPU, ONE_EACH, SMALL, HostsTest, main

# One cell, and time enough to pull a cable.
LONG = [*CPU, "--no-sweep", "--collectives", "all_reduce", "--sizes", "4M", "--iterations", "1000000",
        "--startup-timeout", "30s"]
ETH1 = {"GLOO_SOCKET_IFNAME": "eth1", "NCCL_SOCKET_IFNAME": "eth1"}
# The largest extra duration of a trial beyond its deadline.
SLACK_S = 5


class DoctorBetweenHosts(HostsTest):
    def run_doctor(self, *arguments, **variables):
        return self.doctor("--no-run", *arguments, export=variables.keys(), **variables)

    def test_a_cable_that_is_out(self):
        self.hosts["beta"].cable(False, network=1)
        self.addCleanup(self.hosts["beta"].cable, True, network=1)
        finding = self.finding(self.run_doctor(**ETH1), "D18", "cannot connect")
        self.assertIn("rank 0 on alpha to rank 2 on beta at 10.78.0.2", finding["evidence"][0])
        self.assertIn("ip -br link", finding["fix"])

    def test_an_interface_that_is_down(self):
        self.hosts["beta"].ip(["link set eth1 down"])
        self.addCleanup(self.hosts["beta"].ip, ["link set eth1 up"])
        finding = self.finding(self.run_doctor(**ETH1), "D18", "GLOO_SOCKET_IFNAME=eth1 is not a running interface")
        self.assertEqual(finding["hosts"], ["beta"])
        self.assertIn("(not running)", " ".join(finding["evidence"]))

    def test_a_route_that_leads_nowhere(self):
        self.hosts["alpha"].ip(["route add blackhole 10.78.0.2/32"])
        self.addCleanup(self.hosts["alpha"].ip, ["route del blackhole 10.78.0.2/32"])
        finding = self.finding(self.run_doctor(**ETH1), "D18", "cannot connect")
        self.assertEqual(finding["hosts"], ["alpha", "beta"])

    def test_a_name_that_is_no_interface(self):
        finding = self.finding(self.run_doctor(GLOO_SOCKET_IFNAME="ib7"), "D18", "GLOO_SOCKET_IFNAME=ib7")
        self.assertEqual(finding["ranks"], [0, 1, 2, 3])

    def test_packets_of_different_sizes_where_the_large_ones_are_lost(self):
        for host in ("alpha", "beta"):
            self.hosts.in_switch([f"link set {host}1 mtu 9000"])
            self.hosts[host].ip(["link set eth1 mtu 9000"])
        self.hosts.in_switch(["link set beta1 mtu 1500"])  # as a switch in between that does not take them
        try:
            finding = self.finding(self.run_doctor(**ETH1), "D18", "cannot connect")
            self.assertIn("large packets are lost", finding["evidence"][0])
            self.hosts["beta"].ip(["link set eth1 mtu 1500"])
            self.finding(self.run_doctor(**ETH1), "D18", "packets of different sizes")
        finally:
            for host in ("alpha", "beta"):
                self.hosts[host].ip(["link set eth1 mtu 1500"])
                self.hosts.in_switch([f"link set {host}1 mtu 1500"])

    def test_a_name_that_leads_to_the_loopback(self):
        self.hosts["beta"].shell("cat /etc/hosts > /tmp/hosts; sed -i 's/.* beta$/127.0.1.1 beta/' /tmp/hosts; "
                                 "mount --bind /tmp/hosts /etc/hosts")
        self.addCleanup(self.hosts["beta"].shell, "umount /etc/hosts")
        finding = self.finding(self.run_doctor(), "D18", "loopback address")
        self.assertEqual(finding["hosts"], ["beta"])

    def test_files_of_settings_that_only_one_host_has(self):
        self.hosts["beta"].shell("echo NCCL_PROTO=Simple > /tmp/nccl.conf; touch /tmp/etc; "
                                 "mkdir -p /tmp/upper /tmp/work; mount -t overlay -o "
                                 "lowerdir=/etc,upperdir=/tmp/upper,workdir=/tmp/work overlay /etc; "
                                 "cp /tmp/nccl.conf /etc/nccl.conf; mount --bind "
                                 f"{self.shared}/etc-hosts /etc/hosts")
        self.addCleanup(self.hosts["beta"].shell, "umount /etc/hosts; umount /etc")
        finding = self.finding(self.run_doctor(), "D14", "ranks disagree on NCCL_PROTO")
        self.assertIn("Simple: ranks 2,3 on beta", finding["evidence"])


class RunBetweenHosts(HostsTest):
    def test_a_program_that_one_host_lacks(self):
        beta = self.hosts["beta"]
        beta.shell(f"mkdir -p /tmp/half; cp {BIN}/ncclprobe /tmp/half; mount --bind /tmp/half {BIN}")
        try:
            done = self.run_program("run", *SMALL)
        finally:
            beta.shell(f"umount {BIN}")
        self.assertIn("rank 2 on beta: cannot start", done.stderr)
        self.assertEqual(done.stderr.count("ncclprobe: error"), 1, done.stderr)

    def test_a_data_link_that_goes_down_costs_its_trial_and_the_next_goes_on(self):
        run_file = "/tmp/home/cut.h5"
        program = self.start_program("run", *LONG, "--cell-timeout", "6s", "--budget", "3s", "--repeat", "2", "--output",
                                     run_file, export=ETH1, **ETH1)
        self.wait_until(lambda: self.workers("beta") == 2, what="workers on beta")
        time.sleep(2)
        self.hosts["beta"].cable(False, network=1)
        self.addCleanup(self.hosts["beta"].cable, True, network=1)
        cut = time.monotonic()
        self.wait_until(lambda: self.hosts["alpha"].run(["ls", f"{run_file}.parts/trial-000000.h5"]).returncode == 0,
                        what="the end of the first trial")
        self.assertLess(time.monotonic() - cut, 6 + SLACK_S)
        self.hosts["beta"].cable(True, network=1)
        output, words = program.communicate(timeout=60)
        self.assertIn("timed_out: ranks 0-3 did not finish all_reduce 4M f32 within 6 s", words)
        self.assertIn("no data comes through between alpha, beta", words)
        rows = json.loads(self.local("alpha", "report", run_file, "--format", "json"))["run"]
        self.assertTrue(rows["complete"], output)
        self.assertIn("[2/2] default  ", words)
        self.assertRegex(words, r"\[2/2\] default  .* ok")


class AHostThatIsCutOff(HostsTest):
    def test_the_run_ends_and_names_its_ranks(self):
        program = self.start_program("run", *LONG, "--cell-timeout", "5s", "--budget", "60s", "--repeat", "2", "--output",
                                     "/tmp/home/lost.h5")
        self.wait_until(lambda: self.workers("beta") == 2, what="workers on beta")
        time.sleep(1)
        cut = time.monotonic()
        self.hosts["beta"].cable(False)
        # The leader's own end; mpirun then takes another two seconds to end the rank beside it.
        self.wait_until(lambda: len(self.hosts["alpha"].run(["pidof", "ncclprobe"]).stdout.split()) < 2,
                        5 + 3 * SLACK_S, "the end of the run")
        print(f"a host is cut off: the run ended after {time.monotonic() - cut:.1f} s; the deadline is 5 s", flush=True)
        self.wait_until(lambda: self.hosts["alpha"].run(["pidof", "ncclprobe"]).returncode != 0, what="the end of all on alpha")
        # Nothing stays there either, although nobody can report it.
        self.wait_until(lambda: self.workers("beta") == 0, what="the end of the workers on beta")
        print(f"and its workers have ended after {time.monotonic() - cut:.1f} s", flush=True)
        self.wait_until(lambda: self.hosts["beta"].run(["pidof", "ncclprobe"]).returncode != 0, 60, "the end of all on beta")
        self.hosts["beta"].end()
        self.hosts["alpha"].shell("kill -9 $(pidof mpirun)")  # it waits on for its own daemon over there
        output, words = program.communicate(timeout=10)
        self.assertIn("the supervisors of ranks 2,3 on beta no longer answer", words)
        report = " ".join(output.split())
        self.assertIn("no report from the supervisors of ranks 2,3 on beta", report)
        self.assertIn("did not finish all_reduce 4M f32 within 5 s", report)

        # Its trials last longer than their deadline. With the host back, both end there.
        self.hosts["beta"].start_again()
        resumed = self.run_program("run", "--resume", "/tmp/home/lost.h5", "--retry-failed")
        self.assertEqual(resumed.returncode, 4, resumed.stderr)
        self.assertNotIn("no longer answer", resumed.stderr)
        self.assertIn("[2/2] default", resumed.stderr)
        self.assertEqual(resumed.stderr.count("did not finish all_reduce 4M f32 within 5 s"), 2, resumed.stderr)


class HostsThatDoNotHearEachOther(HostsTest):
    def test_the_start_is_given_up_and_says_who_did_not_answer(self):
        self.hosts["beta"].cable(False, network=1)
        self.addCleanup(self.hosts["beta"].cable, True, network=1)
        command = [word.replace("eth0", "eth1") if before == "btl_tcp_if_include" else word
                   for before, word in itertools.pairwise(["", *self.command("run", *SMALL)])]
        done = self.hosts["alpha"].run(command, 150)  # mpirun itself hears all of them, over eth0
        self.assertIn("error: ranks 2,3 did not answer over MPI within 60 s", done.stderr)
        self.assertEqual(done.returncode, 6, done.stderr)


class AHostThatDies(HostsTest):
    def test_the_run_ends_and_what_was_finished_is_kept(self):
        run_file = "/tmp/home/killed.h5"
        program = self.start_program("run", *SMALL, "--repeat", "40", "--output", run_file)
        self.wait_until(lambda: int(self.hosts["alpha"].shell(f"ls {run_file}.parts 2>/dev/null | wc -l")) > 3,
                        what="finished trials")
        self.hosts["beta"].end()
        program.communicate(timeout=60)
        report = self.local("alpha", "report", run_file)
        self.assertIn("unfinished: ", " ".join(report.split()))
        self.wait_until(lambda: self.workers("alpha") == 0, what="the end of the workers on alpha")

        finished = self.times_of_trials(run_file)
        self.assertGreater(len(finished), 1)
        self.hosts["beta"].start_again()
        done = self.succeed("run", "--resume", run_file, "--retry-failed", timeout=120)
        self.assertIn("40: all ok", done.stdout)
        after = self.times_of_trials(run_file)
        self.assertEqual(len(after), 40)
        self.assertEqual({trial: after[trial] for trial in finished}, finished)

    def times_of_trials(self, run_file):
        """Of each trial that succeeded, the rows of its cells."""
        rows = {}
        for row in csv.DictReader(io.StringIO(self.local("alpha", "report", run_file, "--format", "csv"))):
            rows.setdefault(int(row["trial"]), []).append(row)
        return {trial: cells for trial, cells in rows.items() if {cell["outcome"] for cell in cells} == {"ok"}}


class MoreOfTwoHosts(HostsTest):
    def test_a_run_is_resumed_only_with_the_hosts_in_their_places(self):
        run_file = str(self.shared / "resume.h5")
        program = self.start_program("run", *SMALL, "--repeat", "30", "--output", run_file)
        self.wait_until(lambda: int(self.hosts["alpha"].shell(f"ls {run_file}.parts 2>/dev/null | wc -l")) > 3,
                        what="finished trials")
        self.hosts["alpha"].shell("kill -INT $(pidof mpirun)")
        program.communicate(timeout=60)
        swapped = self.run_program("run", "--resume", run_file, ranks={"beta": 2, "alpha": 2})
        self.assertIn("rank 0: was device 0 of alpha, is device 0 of beta", swapped.stderr)
        self.assertEqual(swapped.returncode, 6, swapped.stderr)
        other = self.run_program("run", "--resume", run_file, NCCL_ALGO="Ring")
        self.assertIn("NCCL_ALGO in the environment", other.stderr)
        done = self.succeed("run", "--resume", run_file)
        self.assertIn("30: all ok", done.stdout)

    def test_the_map_in_its_other_forms(self):
        for form in ("tree", "matrix"):
            text = self.succeed("topo", "--format", form).stdout
            for name in ("alpha", "beta"):
                self.assertIn(name, text, form)

    def test_links_between_hosts_are_measured(self):
        done = self.succeed("p2p", *CPU, "--sizes", "64K", ranks=ONE_EACH)
        self.assertIn("2 hosts", done.stdout)

    def test_steps_of_training_run_over_both(self):
        done = self.succeed("run", *CPU, "--workload", "ddp", "--model", "linear:64x3", "--no-sweep", "--repeat", "1", "--output",
                            "/tmp/home/ddp.h5", ranks=ONE_EACH, timeout=120)
        self.assertIn("2 hosts (alpha, beta)", done.stdout)


class ThreeHosts(HostsTest):
    names = ("alpha", "beta", "gamma")

    def test_clocks_are_compared_down_the_tree(self):
        run_file = "/tmp/home/three.h5"
        ranks = {"alpha": 1, "beta": 1, "gamma": 2}
        for level in ("kernels", "full"):
            self.hosts["alpha"].shell(f"rm -rf {run_file} /tmp/home/three.trace")
            self.succeed("run", *SMALL, "--repeat", "2", "--trace", level, "--output", run_file, ranks=ranks)
            document = json.loads(self.local("alpha", "report", run_file, "--timeline", "--format", "json"))
            timeline = document["timeline"] if "ranks" not in document else document
            error_ns, bound_ns = self.expect_true_offsets(timeline)
            print(f"three hosts, --trace {level}: worst error {error_ns} ns, bound {bound_ns:.0f} ns", flush=True)
            self.assertEqual([rank["host"] for rank in timeline["clock"]["ranks"]], [0, 1, 2, 2])
            self.expect_possible_order(self.local("alpha", "report", run_file, "--timeline"))


if __name__ == "__main__":
    main()
