# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""What the fleet check must reach: of 16 hosts with the same low rate, one with 85% of it is named in at least 18
of 20 runs, and 20 runs without a slow one accuse at most one host in all.

usage: fleet_goal.py [RUNS]   (default 20; prints a line for each run)"""

import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

from hosts import Hosts, why_not
from shaped_network import shape

HOSTS = 16
# So little that a busy machine does not matter: a launch takes a fifth of a second.
FULL_MBIT_PER_S = 20
SLOW_MBIT_PER_S = 17
MEASURED = ["--size", "512K", "--iterations", "2", "--batches", "5", "--time", "8s"]
BIN = pathlib.Path(os.environ["NCCLPROBE_BIN"])


def check(hosts, names, number):
    ranks = {name: 1 for name in names}
    command = hosts.mpirun(ranks, "-x", "GLOO_SOCKET_IFNAME") + [
        str(BIN / "ncclprobe"), "fleet", "check", "--backend", "host", "--quiet", *MEASURED, "--seed", str(number),
        "--format", "json", "--force", "--output", "/tmp/home/check.h5"]
    done = hosts[names[0]].run(command, timeout=1200, GLOO_SOCKET_IFNAME="eth1")
    if "{" not in done.stdout:
        raise RuntimeError(f"exit code {done.returncode}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout[:done.stdout.rindex("}") + 1])


def series(hosts, names, runs, with_slow):
    """In how many runs the slow host was named, and how many others were accused in all."""
    named = accused = 0
    for number in range(runs):
        slow = random.Random(number).choice(names) if with_slow else None
        for name in names:
            shape(hosts[name], "eth1", SLOW_MBIT_PER_S if name == slow else FULL_MBIT_PER_S)
        begin = time.monotonic()
        report = check(hosts, names, number + 1)
        bad = [one["node"] for one in report["nodes"] if one["state"] in ("bad", "failed")]
        named += slow in bad
        accused += len([name for name in bad if name != slow])
        print(f"{'slow: ' + slow if slow else 'clean':12} named: {','.join(bad) or '-':12} "
              f"undecided: {report['counts']['undecided']} links: {len(report['links'])} "
              f"rounds: {report['measured']['rounds']} noise: {report['noise']:.3f} "
              f"{time.monotonic() - begin:.0f} s", flush=True)
    return named, accused


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    if reason := why_not():
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    names = [f"node{number}" for number in range(HOSTS)]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ncclprobe-fleet-"))
    try:
        with Hosts(folder / "shared", {name: 100 * (number + 1) for number, name in enumerate(names)}, kept=[BIN],
                   networks=2) as hosts:
            named, accused_beside = series(hosts, names, runs, with_slow=True)
            _, accused = series(hosts, names, runs, with_slow=False)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"named in {named} of {runs} runs, {accused_beside} others accused; {accused} accused in {runs} clean runs")
    sys.exit(0 if named >= 0.9 * runs and accused <= 1 else 1)


if __name__ == "__main__":
    main()
