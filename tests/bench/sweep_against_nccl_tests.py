#!/usr/bin/env python3
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""A sweep of 90 cells within one process (`ncclprobe run --in-process`) beside a shell loop of nccl-tests over the same cells: 15 sizes,
each with 6 choices of algorithm and protocol, with the same numbers of launches. Trials that only prove what a setting did are off,
because nccl-tests has none; the tuner plugin asks NCCL within each cell whether it followed. The loop starts one program for each
cell, under NCCL's variables. It prints both times and their ratio.

    tests/bench/sweep_against_nccl_tests.py --bin build/nvidia/bin --nccl-tests ~/nccl-tests/build                    # 2 GPUs
    tests/bench/sweep_against_nccl_tests.py --bin build/nvidia/bin --nccl-tests ~/nccl-tests/build --one-gpu          # needs MPI=1
    ... --loop-cells 12         # runs 12 cells of the loop, in random order, and scales their time: says so

--one-gpu: both ranks use GPU 0, as two hosts over sockets (NCCL_HOSTID). It takes root, Open MPI, and nccl-tests built with MPI=1.
"""

import argparse
import csv
import itertools
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

SIZES = [4096 << step for step in range(15)] # 4K to 64M
# Of each backend: the setting of `--in-process`, the variable that does the same, and their values.
GRIDS = {
    "nvidia": [("algorithm", "NCCL_ALGO", ["Ring", "Tree"]), ("protocol", "NCCL_PROTO", ["LL", "LL128", "Simple"])],
    "synthetic": [("alpha_ns", "NCCLPROBE_SYNTHETIC_ALPHA_NS", ["2000", "10000"]),
                  ("gb_per_s", "NCCLPROBE_SYNTHETIC_GB_PER_S", ["50", "100", "200"])],
}
HOST_IDS = ["sweep-0", "sweep-1"]
# A host is known by its boot id.
AS_ANOTHER_HOST = """id=$(mktemp) && cat /proc/sys/kernel/random/uuid >"$id"
mount --bind "$id" /proc/sys/kernel/random/boot_id && rm "$id"
NCCL_HOSTID=sweep-$OMPI_COMM_WORLD_RANK NCCL_SOCKET_IFNAME=lo exec "$@" """
# size, count, type, operation, root, then time, algbw, busbw and wrong, out of place
NCCL_TESTS_ROW = re.compile(r"^\s+(\d+)\s+\d+\s+\w+\s+\w+\s+-?\d+\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s+(?:\d+|N/A)", re.MULTILINE)


def choices(backend):
    """Each combination of values: (variables, the name of the setting in ncclprobe's table)."""
    names, variables, values = zip(*GRIDS[backend])
    for words in itertools.product(*values):
        yield dict(zip(variables, words)), " ".join(f"{name}={word}" for name, word in zip(names, words))


def times_of_nccl_tests(text):
    """Microseconds by size, out of place."""
    return {int(size): float(time_us) for size, time_us in NCCL_TESTS_ROW.findall(text)}


def times_of_sweep(text):
    """Microseconds by size and setting, of the cells of `ncclprobe --format csv` that ran with a setting."""
    return {(int(row["size_bytes"]), row["setting"]): float(row["time_us"])
            for row in csv.DictReader(text.splitlines()) if row["outcome"] == "ok" and row["is_default"] == "false"}


SOME_LEFT_OUT = 3 # exit code of ncclprobe: cells were skipped, the others have figures


def run(command, environment, accepted=(0,)):
    """Wall time and output; the output is empty if the program failed."""
    begin = time.monotonic()
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    took = time.monotonic() - begin
    if done.returncode not in accepted:
        print(f"{command[0]}: exit code {done.returncode}: {done.stderr.strip()[-300:]}", file=sys.stderr)
    return took, done.stdout if done.returncode in accepted else ""


def sweep(options):
    """The time of one in-process sweep, with its start and its file, and its cells."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(options.bin / "ncclprobe"), "run", "--backend", options.backend, "--no-sweep", "--collectives", "all_reduce",
                   "--sizes", f"{SIZES[0]}:{SIZES[-1]}:x2", "--repeat", "1", "--batches", "1",
                   "--iterations", str(options.iterations), "--warmups", str(options.warmups), "--format", "csv",
                   "--proof", "off", "--output", f"{folder}/sweep.h5", "--seed", "1"]
        for name, _, values in GRIDS[options.backend]:
            command += ["--in-process", f"{name}={','.join(values)}"]
        if options.one_gpu:
            command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", "unshare", "--mount", "sh", "-euc", AS_ANOTHER_HOST,
                       "host", *command]
        else:
            command += ["--ranks", str(options.ranks)]
        took, text = run(command, {}, accepted=(0, SOME_LEFT_OUT))
        return took, times_of_sweep(text)


def loop_command(options, size, variables):
    words = ["-b", str(size), "-e", str(size), "-n", str(options.iterations), "-w", str(options.warmups), "-c", "1"]
    program = str(options.nccl_tests / "all_reduce_perf")
    if not options.one_gpu:
        return [program, *words, "-g", str(options.ranks)], variables
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe"]
    for rank, host in enumerate(HOST_IDS):
        exported = {**variables, "NCCL_HOSTID": host, "NCCL_SOCKET_IFNAME": "lo", "NCCL_TESTS_DEVICE": "0"}
        command += [*([":"] if rank else []), "-np", "1",
                    *itertools.chain.from_iterable(("-x", f"{name}={value}") for name, value in exported.items()),
                    program, *words, "-g", "1"]
    return command, {}


def loop(options):
    """The time of one program for each cell, their number, and the cells that gave a time."""
    cells = list(itertools.product(SIZES, choices(options.backend)))
    random.Random(1).shuffle(cells)
    took, times = 0.0, {}
    chosen = cells[:options.loop_cells] if options.loop_cells else cells
    for size, (variables, setting) in chosen:
        seconds, text = run(*loop_command(options, size, variables))
        took += seconds
        if size in (of_size := times_of_nccl_tests(text)):
            times[size, setting] = of_size[size]
    return took, len(chosen), times


def compared(sweep_s, of_sweep, loop_s, started, of_loop):
    """The figures as data. Cells that one side cannot run count in neither side's cells."""
    cells = len(SIZES) * 6
    ratios = sorted(of_loop[cell] / of_sweep[cell] for cell in of_loop.keys() & of_sweep.keys() if of_sweep[cell] > 0)
    return {"cells": cells, "sweep_s": sweep_s, "sweep_cells": len(of_sweep), "loop_s": loop_s * cells / started,
            "loop_cells_started": started, "loop_cells": len(of_loop), "loop_is_scaled": started != cells,
            "times_faster": loop_s * cells / started / sweep_s,
            "median_time_ratio": ratios[len(ratios) // 2] if ratios else None}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of ncclprobe")
    parser.add_argument("--nccl-tests", type=pathlib.Path, required=True, help="folder of all_reduce_perf")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--one-gpu", action="store_true", help="two ranks on GPU 0, as two hosts")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--warmups", type=int, default=5)
    parser.add_argument("--loop-cells", type=int, default=0, help="run only so many cells of the loop, and scale their time")
    parser.add_argument("--backend", choices=list(GRIDS), default="nvidia", help="synthetic: to try this script without a GPU")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.one_gpu and options.ranks != 2:
        parser.error("--one-gpu has two ranks")
    for program in options.bin / "ncclprobe", options.nccl_tests / "all_reduce_perf":
        if not os.access(program, os.X_OK):
            print(f"sweep_against_nccl_tests.py: there is no {program}", file=sys.stderr)
            return 77
    figures = compared(*sweep(options), *loop(options))
    if not figures["sweep_cells"] or not figures["loop_cells"]:
        print("sweep_against_nccl_tests.py: one side measured nothing", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(figures))
        return 0
    scaled = f", scaled from {figures['loop_cells_started']} cells" if figures["loop_is_scaled"] else ""
    print(f"in-process sweep    {figures['sweep_s']:8.1f} s   {figures['sweep_cells']} of {figures['cells']} cells gave a time")
    print(f"loop of nccl-tests  {figures['loop_s']:8.1f} s   {figures['loop_cells']} of {figures['loop_cells_started']} cells{scaled}")
    print(f"the sweep is {figures['times_faster']:.1f} times faster (goal: 20); "
          f"a cell's time, nccl-tests / ncclprobe, median: {figures['median_time_ratio']:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
