# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""Runs the real ncclprobe on hosts made of namespaces, as a user with as many machines would with mpirun."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from hosts import Hosts, why_not

BIN = pathlib.Path(os.environ["NCCLPROBE_BIN"])
CPU = ["--backend", "host"]
SMALL = [*CPU, "--no-sweep", "--sizes", "1K,64K", "--collectives", "all_reduce", "--batches", "2", "--iterations", "3",
         "--warmups", "1"]
# The offsets of the hosts' clocks from each other and from the machine's.
AHEAD_S = {"alpha": 100, "beta": 5000, "gamma": 86400, "delta": 7}
TWO = {"alpha": 2, "beta": 2}
ONE_EACH = {"alpha": 1, "beta": 1}


class HostsTest(unittest.TestCase):
    """Hosts alpha, beta, ... for all tests of a class; MPI goes over eth0, eth1 is another network."""

    names = ("alpha", "beta")

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="ncclprobe-hosts-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        clocks = {name: AHEAD_S[name] for name in cls.names}
        cls.hosts = cls.enterClassContext(Hosts(cls.folder / "shared", clocks, kept=[BIN], networks=2))
        cls.shared = cls.folder / "shared"

    def command(self, *arguments, ranks=TWO, export=()):
        """On the first host; `export`: variables that mpirun takes along."""
        words = [word for name in export for word in ("-x", name)]
        return self.hosts.mpirun(ranks, *words) + [str(BIN / "ncclprobe"), *arguments]

    def run_program(self, *arguments, ranks=TWO, export=(), on=None, timeout=60, **environment):
        host = self.hosts[on or next(iter(ranks))]
        return host.run(self.command(*arguments, ranks=ranks, export=export), timeout, **environment)

    def succeed(self, *arguments, code=0, **more):
        done = self.run_program(*arguments, **more)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def start_program(self, *arguments, ranks=TWO, export=(), **environment):
        host = self.hosts[next(iter(ranks))]
        program = subprocess.Popen(host.call(self.command(*arguments, ranks=ranks, export=export), **environment),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        return program

    def doctor(self, *arguments, **more):
        """The findings, by severity and what is wrong."""
        done = self.run_program("doctor", *CPU, "--format", "json", *arguments, **more)
        self.assertIn('"findings"', done.stdout, done.stderr)
        return json.loads(done.stdout[:done.stdout.rindex("}") + 1])

    def finding(self, report, check, words):
        for one in report["findings"]:
            if one["id"] == check and words in one["what"]:
                return one
        self.fail(f"no finding {check} '{words}' in {json.dumps(report['findings'], indent=1)}")

    def local(self, host, *arguments):
        """What a program of ours prints on that host alone."""
        done = self.hosts[host].run([str(BIN / "ncclprobe"), *arguments])
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def workers(self, host):
        text = self.hosts[host].run(["sh", "-c", "cat /proc/[0-9]*/comm"]).stdout
        return text.split().count("ncclprobe-worke")

    def wait_until(self, condition, seconds=30, what="condition"):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                self.fail(f"{what} not reached within {seconds} s")
            time.sleep(0.05)

    def expect_true_offsets(self, timeline):
        """The clocks of hosts as ncclprobe found them, against what they are. Returns the worst error and bound."""
        worst = (0, 0)
        for rank in timeline["clock"]["ranks"]:
            model = rank["to_first_host"]
            if model is None:
                continue
            host = self.hosts.hosts[rank["host"]]
            truth_ns = (self.hosts.hosts[0].clock_ahead_s - host.clock_ahead_s) * 10**9
            error_ns = abs(model["offset_ns"] - truth_ns)
            self.assertLessEqual(error_ns, model["error_ns"], rank)
            worst = max(worst, (error_ns, model["error_ns"]))
        return worst

    def expect_possible_order(self, text):
        """No collective ends before all have begun, but for what the clocks may be wrong by on a busy machine."""
        self.assertRegex(" ".join(text.split()), r" 0 violations in 12 collectives|\(0 beyond the clocks' error\)")


def main():
    if os.environ.get("NCCLPROBE_REQUIRE_HOSTS") != "1" and (reason := why_not()):
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    unittest.main()
