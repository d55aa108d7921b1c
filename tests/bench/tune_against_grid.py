#!/usr/bin/env python3
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""What `ncclprobe tune` finds in a share of a grid's time, beside the best of the whole grid.

    tests/bench/tune_against_grid.py --bin build/nvidia/bin --sizes 1M:256M:x4 \\
      --process NCCL_MIN_CTAS=16,32 --process NCCL_BUFFSIZE=8388608,16777216
    tests/bench/tune_against_grid.py --bin build/nvidia/bin --backend synthetic ...     # to try this script without a GPU

The grid is every combination of the process parameters (and their defaults) in five fresh processes each, with every combination of the
in-process parameters for every size. With --measured 1, one of the five is measured, and the time is scaled to five. Every parameter of
tune that the grid leaves out must be set in the environment, because tune leaves such variables alone.

The three steps: the grid; tune, with --share of the grid's time as its budget; then the two best combinations of the grid, with their
fastest in-process combinations, the default, and what tune delivers, run once more in fresh processes in random order. The grid and the
first half of these runs choose the grid's best, and the second half gives its time. Otherwise the best of many would be partly lucky.
"""

import argparse
import collections
import csv
import itertools
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

IN_PROCESS = { # the values of "channels" are those of --channels
    "nvidia": [{"algorithm": "Ring,Tree", "protocol": "LL,LL128,Simple"},
               {"algorithm": "Ring,Tree", "protocol": "LL,LL128,Simple", "channels": None}],
    "synthetic": [{"alpha_ns": "2000,10000", "gb_per_s": "50,200"}],
}
SOME_LEFT_OUT = 3 # exit code of ncclprobe: cells were skipped or failed, the others have figures
FINALISTS = 2
PROMISING = 2 # in-process combinations of a size that run again
BESIDE_BUDGET_S = 1.5 # tune examines the machine before its budget begins, and writes its report after it
# The first 50 launches of a process can be slower. What tune delivers has few cells, so they are a larger part of it.
FINAL_TIMING = ["--warmups", "20", "--iterations", "10", "--batches", "5"]


def seconds_of(command):
    """Wall time and output of a program that must end well."""
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    took = time.monotonic() - begin
    if done.returncode not in (0, SOME_LEFT_OUT):
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr.strip()[-600:]}")
    return took, done.stdout


def combinations(parameters):
    """Every combination of the values of NAME=V,V, each with its default too, as sets of NAME=V; the defaults alone come first."""
    names = [text.partition("=")[0] for text in parameters]
    values = [[None, *text.partition("=")[2].split(",")] for text in parameters]
    return [frozenset(f"{name}={value}" for name, value in zip(names, row) if value is not None) for row in itertools.product(*values)]


def split_setting(text, backend):
    """The words of a setting's name in the report: those of the process, and those within it."""
    names = {name for grid in IN_PROCESS[backend] for name in grid}
    words = [] if text == "default" else text.split()
    within = frozenset(word for word in words if word.partition("=")[0] in names)
    return frozenset(words) - within, within


def in_process_grids(options):
    return [{name: values or options.channels for name, values in grid.items()} for grid in IN_PROCESS[options.backend]]


def measure(options, processes, repeats, file, grids, timing):
    """Wall time, and {process combination: {size: {in-process combination: times in us}}}, of cells that ran."""
    took, times = 0.0, collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
    for number, grid in enumerate(grids):
        command = [*options.launch, str(options.bin / "ncclprobe"), "run", "--backend", options.backend, "--collectives", options.collective,
                   "--sizes", options.sizes, "--repeat", str(repeats), *timing, "--proof", "off", "--seed", str(number + 1),
                   "--format", "csv", "--output", f"{file}-{number}.h5", "--force", *options.also]
        if not options.launch:
            command += ["--ranks", str(options.ranks)]
        for one in processes:
            if one:
                command += ["--setting", ",".join(sorted(one))]
        if not any(processes):
            command.append("--no-sweep")
        for name, values in grid.items():
            command += ["--in-process", f"{name}={values}"]
        seconds, text = seconds_of(command)
        took += seconds
        for row in csv.DictReader(text.splitlines()):
            if row["outcome"] == "ok":
                of_process, within = split_setting(row["setting"], options.backend)
                times[of_process][int(row["size_bytes"])][within].append(float(row["time_us"]))
    return took, times


def cost(of_process):
    """The mean logarithm over sizes of the best time; infinite if a size has none."""
    logs = [math.log(min(statistics.mean(times) for times in of_size.values())) for of_size in of_process.values()]
    return statistics.mean(logs)


def promising(grid, finalists, grids):
    """The smallest grids that have the fastest in-process combinations of each size under the finalists; [{}] if these are the defaults."""
    fastest = set()
    for of_process in finalists:
        for of_size in grid[of_process].values():
            fastest.update(sorted(of_size, key=lambda one: statistics.mean(of_size[one]))[:PROMISING])
    out = []
    for names in grids:
        values = {name: set() for name in names}
        for combination in fastest:
            if {word.partition("=")[0] for word in combination} == set(names):
                for word in combination:
                    name, _, value = word.partition("=")
                    values[name].add(value)
        if all(values.values()):
            out.append({name: ",".join(sorted(of)) for name, of in values.items()})
    return out or [{}]


def tuned(options, budget_s, folder):
    """Wall time, and the variables that tune delivers. A tuner table is one of them."""
    command = [*options.launch, str(options.bin / "ncclprobe"), "tune", "--backend", options.backend,
               "--for", f"{options.collective}:{options.sizes}", "--budget", f"{budget_s:.0f}s", "--format", "json",
               "--output", f"{folder}/tuned", "--force", "--seed", "1", *options.also]
    if not options.launch:
        command += ["--ranks", str(options.ranks)]
    took, text = seconds_of(command)
    (folder / "tune.json").write_text(text)
    answer = json.loads(text)
    return took, frozenset(f"{one['name']}={one['value']}" for one in answer["settings"]) if answer["recommended"] else frozenset()


def best_of_grid(grid, first_half, finalists):
    """The process combination, and {size: in-process combination}, by all that was measured before the second half."""
    best = None
    for of_process in finalists:
        within = {}
        for size, of_size in grid[of_process].items():
            seen = {one: times + first_half[of_process][size].get(one, []) for one, times in of_size.items()}
            again = [one for one in seen if first_half[of_process][size].get(one)]
            within[size] = min(again or seen, key=lambda one: statistics.mean(seen[one]))
        total = statistics.mean(math.log(statistics.mean(grid[of_process][size][one] + first_half[of_process][size].get(one, [])))
                                for size, one in within.items())
        if best is None or total < best[0]:
            best = total, of_process, within
    return best[1:]


def words(combination):
    return " ".join(sorted(combination)) or "default"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of ncclprobe")
    parser.add_argument("--backend", choices=list(IN_PROCESS), default="nvidia")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--launch", type=str.split, default=[], help="launcher before ncclprobe, such as 'mpirun -np 2'")
    parser.add_argument("--also", type=str.split, default=[], help="further arguments of run and tune")
    parser.add_argument("--collective", default="all_reduce")
    parser.add_argument("--sizes", default="1M:256M:x4")
    parser.add_argument("--process", action="append", default=[], metavar="NAME=V,V", help="a process parameter; may be repeated")
    parser.add_argument("--channels", default="8,16,24,32", help="numbers of channels in the grid, within one process")
    parser.add_argument("--repeats", type=int, default=5, help="fresh processes of each combination in the grid")
    parser.add_argument("--measured", type=int, default=1, help="how many of them are measured")
    parser.add_argument("--share", type=float, default=0.15, help="budget of tune, as a share of the grid's time")
    parser.add_argument("--final-repeats", type=int, default=8, help="processes, half of which choose the grid's best")
    parser.add_argument("--warmups", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--keep", type=pathlib.Path, help="keep the run files in this folder")
    options = parser.parse_args()
    if options.final_repeats < 2:
        parser.error("--final-repeats must be 2 or more")
    if not os.access(options.bin / "ncclprobe", os.X_OK):
        print(f"tune_against_grid.py: there is no {options.bin}/ncclprobe", file=sys.stderr)
        return 77
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        processes = combinations(options.process)
        grids = in_process_grids(options)
        timing = ["--warmups", str(options.warmups), "--iterations", str(options.iterations), "--batches", str(options.batches)]
        grid_s, grid = measure(options, processes, options.measured, folder / "grid", grids, timing)
        scaled_s = grid_s * options.repeats / options.measured
        print(f"grid: {len(processes)} combinations of processes, {grid_s:.0f} s for {options.measured} of {options.repeats} repeats, "
              f"so {scaled_s:.0f} s", flush=True)
        tune_s, chosen = tuned(options, max(options.share * scaled_s - BESIDE_BUDGET_S, 0.5 * options.share * scaled_s), folder)
        print(f"tune: {tune_s:.0f} s, {tune_s / scaled_s:.1%} of the grid's time: {words(chosen)}", flush=True)
        finalists = sorted(grid, key=lambda one: cost(grid[one]))[:FINALISTS]
        compared = list(dict.fromkeys([*finalists, chosen])) # and the default
        again = promising(grid, finalists, grids)
        (_, first_half), (_, second_half) = (measure(options, compared, options.final_repeats // 2, folder / half, again, FINAL_TIMING)
                                             for half in ("first", "second"))
    of_process, within = best_of_grid(grid, first_half, finalists)
    print(f"best of the grid: {words(of_process)}")
    print(f"{'bytes':>10}  {'default us':>10}  {'grid us':>9}  {'tune us':>9}  grid/tune  best of the grid")
    nothing = frozenset()
    ratios, gains = [], []
    for size in sorted(within):
        of_grid = statistics.mean(second_half[of_process][size][within[size]])
        of_tune = statistics.mean(second_half[chosen][size][nothing])
        of_default = statistics.mean(second_half[nothing][size][nothing])
        ratios.append(of_grid / of_tune)
        gains.append(of_default / of_tune)
        print(f"{size:>10}  {of_default:>10.2f}  {of_grid:>9.2f}  {of_tune:>9.2f}  {ratios[-1]:>9.4f}  {words(within[size])}")
    overall, gain = (math.exp(statistics.mean(map(math.log, all_of))) for all_of in (ratios, gains))
    print(f"tune reaches {overall:.4f} of the grid's best, over all sizes (goal: 0.99), and {gain:.3f}x the default's speed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
