#!/usr/bin/env python3
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Rows per second of CPU time that the Python package reads, beside a loop over rows with h5py, on a run whose values are synthetic.

  tests/bench/python_bench.py BUILD                 10 million samples (large_run.cpp)
  tests/bench/python_bench.py BUILD --trials 4      1 million
"""

import argparse
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import h5py

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "analysis/python"))
import ncclprobe

LOOP_ROWS = 300_000 # the loop's speed does not depend on how many follow


def timed(read):
    begin = time.process_time()
    result = read()
    return result, time.process_time() - begin


def loop(path):
    """The first samples as a list of rows with the names of their cells, one by one."""
    with h5py.File(path) as run:
        blob, at = run["strings/blob"][:].tobytes(), run["strings/offset"][:]
        trials, sizes, trial_of_cell = run["trials/name"][:], run["cells/bytes"][:], run["cells/trial"][:]
        collective = run["collective_cells/collective"]
        labels = collective.attrs["labels"]
        names = {cell: labels[value] for cell, value in zip(run["collective_cells/cell"][:], collective[:])}
        table = {name: run["samples"][name][:LOOP_ROWS] for name in ("cell", "rank", "batch", "iterations", "elapsed_ns")}
    rows = []
    for i in range(len(table["cell"])):
        cell = table["cell"][i]
        text = trials[trial_of_cell[cell]]
        rows.append({"setting": blob[at[text]:at[text + 1]].decode(), "workload": names[cell], "size_bytes": sizes[cell],
                     "rank": table["rank"][i], "batch": table["batch"][i],
                     "time_us": table["elapsed_ns"][i] / table["iterations"][i] / 1000})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--trials", type=int, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "run.h5")
        subprocess.run([options.build / "tests/bench/large_run", path, str(options.trials), "100", "512", "5", "--fold"], check=True,
                       stdout=subprocess.DEVNULL)
        samples, seconds = timed(lambda: ncclprobe.load(path).samples)
        rows, loop_seconds = timed(lambda: loop(path))
        for name in rows[0]:
            if [row[name] for row in rows] != samples[name].iloc[:len(rows)].tolist():
                raise SystemExit(f"the loop and the package differ in {name}")
        speed, loop_speed = len(samples) / seconds, len(rows) / loop_seconds
        print(f"ncclprobe.load().samples: {len(samples):,} rows of {samples.shape[1]} columns in {seconds:.2f} s, {speed:,.0f} rows/s, "
              f"{samples.memory_usage(deep=True).sum() / len(samples):.0f} bytes a row, "
              f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB with the loop's rows")
        print(f"a loop over rows:         {len(rows):,} rows of {len(rows[0])} columns in {loop_seconds:.2f} s, {loop_speed:,.0f} rows/s")
        values = samples.shape[1] / len(rows[0])
        print(f"ratio:                    {speed / loop_speed:.1f} of rows, {speed / loop_speed * values:.0f} of values")


if __name__ == "__main__":
    main()
