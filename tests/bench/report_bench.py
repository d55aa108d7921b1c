#!/usr/bin/env python3
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Memory and time of the report of large runs, whose values are synthetic (large_run.cpp).

  tests/bench/report_bench.py BUILD                     trials of 100 cells on 512 ranks
  tests/bench/report_bench.py BUILD --beside OTHER      the same by the program of another build, and the ratio
  tests/bench/report_bench.py BUILD --trials 20,1000    how many
"""

import argparse
import os
import pathlib
import subprocess
import tempfile
import time


def measure(program, run_file, report_format):
    """Peak memory in MiB and wall time in s."""
    begin = time.monotonic()
    with open(os.devnull, "w") as nowhere:
        child = subprocess.Popen([program, run_file, "--format", report_format], stdout=nowhere)
        _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{program} ended with {child.returncode}")
    return used.ru_maxrss / 1024, time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--beside", type=pathlib.Path)
    parser.add_argument("--trials", default="10,40")
    parser.add_argument("--cells", type=int, default=100)
    parser.add_argument("--ranks", type=int, default=512)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--formats", default="table,csv,json")
    parser.add_argument("--readings", action="store_true", help="with the state of GPUs before and after each cell")
    parser.add_argument("--fold", action="store_true", help="read the run file, not its parts")
    options = parser.parse_args()
    flags = ["--readings"] * options.readings + ["--fold"] * options.fold
    for trials in options.trials.split(","):
        with tempfile.TemporaryDirectory() as folder:
            run_file = os.path.join(folder, "run.h5")
            shape = [trials, str(options.cells), str(options.ranks), str(options.batches)]
            said = subprocess.run([options.build / "tests/bench/large_run", run_file, *shape, *flags],
                                  check=True, capture_output=True, text=True).stdout
            print(f"{trials} trials:{said.split(':')[-1].rstrip()}")
            for report_format in options.formats.split(","):
                mib, seconds = measure(options.build / "bin/ncclprobe-report", run_file, report_format)
                line = f"  {report_format:5} {mib:8.0f} MiB {seconds:7.1f} s"
                if options.beside:
                    other_mib, other_s = measure(options.beside / "bin/ncclprobe-report", run_file, report_format)
                    line += (f"   beside {other_mib:8.0f} MiB {other_s:7.1f} s"
                             f"   ratio {mib / other_mib:.2f} {seconds / other_s:.2f}")
                print(line, flush=True)


if __name__ == "__main__":
    main()
