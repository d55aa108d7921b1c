#!/usr/bin/env python3
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of comparing two runs, beside the report of one of them. The runs are synthetic (large_run.cpp).

  tests/bench/compare_bench.py BUILD                    1,000 trials of 12 cells on 8 ranks
  tests/bench/compare_bench.py BUILD --trials 100,1000  how many
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

# Writing a run syncs each trial to the disk, which takes longer than all that is measured here.
MEMORY = "/dev/shm"


def measure(*command):
    """Peak memory in MiB and wall time in s."""
    begin = time.monotonic()
    with open(os.devnull, "w") as nowhere:
        child = subprocess.Popen(command, stdout=nowhere)
        _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{command[0]} ended with {child.returncode}")
    return used.ru_maxrss / 1024, time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--trials", default="1000")
    parser.add_argument("--cells", type=int, default=12)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--batches", type=int, default=5)
    options = parser.parse_args()
    program = options.build / "bin/ncclprobe-report"
    for trials in options.trials.split(","):
        with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as folder:
            files = [os.path.join(folder, name) for name in ("a.h5", "b.h5")]
            shape = [trials, str(options.cells), str(options.ranks), str(options.batches)]
            subprocess.run([options.build / "tests/bench/large_run", files[0], *shape, "--fold"], check=True,
                           capture_output=True)
            shutil.copy(*files)  # large_run always writes the same values
            for name, command in (("compare", ["compare", *files]), ("report", ["report", files[0]])):
                mib, seconds = measure(program, *command, "--format", "json")
                print(f"{trials} trials, {name:7} {mib:6.0f} MiB {seconds:6.2f} s", flush=True)


if __name__ == "__main__":
    main()
