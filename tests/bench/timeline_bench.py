# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of the timeline's analysis, beside a pandas script that computes the same overlap.

Usage: timeline_bench.py <timeline_bench> [--ranks 8] [--events 1000000] [--runs 3] [--no-pandas]

Both read the same raw columns, in turns, each in a process of its own. The pandas part runs a process for
each of two halves of the ranks, as the analysis runs two threads. Results must be equal.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time


def columns_of(folder, rank):
    import numpy as np
    import pandas as pd

    def column(name, kind):
        return np.fromfile(f"{folder}/rank_{rank:05}.{name}", kind)

    kernels = pd.DataFrame({"start": column("start_ns", "u8").astype("i8"), "operation": column("operation", "u4"),
                            "flags": column("flags", "u1")})
    kernels["end"] = kernels.start + column("duration_ns", "u4")
    row = np.dtype([("start_ns", "u8"), ("duration_ns", "u4"), ("id", "u4"), ("cell", "i4"), ("batch", "i4"),
                    ("iteration", "u4"), ("index", "u2"), ("stream", "u2"), ("kind", "u1"), ("pad", "V7")])
    operations = column("operations", row)
    key = pd.Series(operations["iteration"].astype("i8") << 16 | operations["index"], index=operations["id"])
    kind = pd.Series(operations["kind"], index=operations["id"])
    kernels["key"] = key.loc[kernels.operation].to_numpy()
    kernels["kind"] = kind.loc[kernels.operation].to_numpy()
    return kernels


def united(spans):
    """Spans that do not touch, of spans in any order."""
    spans = spans[spans.end > spans.start].sort_values("start")
    reach = spans.end.cummax()
    begins = spans.start > reach.shift(fill_value=spans.start.min() - 1)
    group = begins.cumsum()
    return spans.groupby(group).agg(start=("start", "first"), end=("end", "max"))


def length(spans):
    return int((spans.end - spans.start).sum())


def shared(a, b):
    """Length of the intersection, by counting at all begins and ends how many sets one is in."""
    import numpy as np
    at = np.concatenate([a.start, a.end, b.start, b.end])
    change = np.concatenate([np.ones(len(a)), -np.ones(len(a)), np.ones(len(b)), -np.ones(len(b))])
    order = np.argsort(at, kind="stable")
    at, inside = at[order], np.cumsum(change[order])
    return int((at[1:] - at[:-1])[inside[:-1] == 2].sum())


def starts_of(folder, ranks):
    import pandas as pd
    parts = []
    for rank in ranks:
        kernels = columns_of(folder, rank)
        kernels = kernels[kernels["flags"] & 1 == 1]
        parts.append(pd.DataFrame({"rank": rank, "key": kernels.key, "start": kernels.start}))
    return pd.concat(parts)


def overlap_of(folder, rank, last):
    kernels = columns_of(folder, rank)
    copy = 3
    compute = united(kernels[(kernels["flags"] & 3 == 0) & (kernels.kind != copy)])
    communication = kernels[kernels["flags"] & 1 == 1].copy()
    communication["ready"] = communication.key.map(last).clip(upper=communication.end)
    everything = united(communication)
    transfer = united(communication.assign(start=communication.ready))
    hidden = shared(everything, compute)
    exposed_transfer = length(transfer) - shared(transfer, compute)
    exposed_wait = length(everything) - hidden - exposed_transfer
    return length(everything), hidden, exposed_wait, exposed_transfer


def pandas_part(folder, count):
    import multiprocessing

    import pandas as pd
    begin = time.monotonic()
    halves = [range(0, count, 2), range(1, count, 2)]
    with multiprocessing.Pool(2) as pool:
        starts = pd.concat(pool.starmap(starts_of, [(folder, half) for half in halves if half]))
        last = starts.groupby("key").start.max()
        parts = pool.starmap(overlap_of, [(folder, rank, last) for rank in range(count)])
    order = starts.sort_values(["key", "start"])
    latest = order[order.start > order.groupby("key").start.shift().fillna(order.start)]
    times_last = latest.groupby("key").tail(1)["rank"].value_counts()
    # If two are last together, neither counts.
    top = order.groupby("key").tail(2)
    tied = top[top.duplicated(["key", "start"], keep=False)].key
    if len(tied):
        times_last = latest[~latest.key.isin(tied)].groupby("key").tail(1)["rank"].value_counts()
    print(f"seconds {time.monotonic() - begin:.3f}")
    for rank, part in enumerate(parts):
        print("rank", rank, *part, times_last.get(rank, 0))


def measured(command):
    """Its own seconds, what it prints, its largest resident memory in MiB, its CPU seconds."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]} failed")
    lines = out.splitlines()
    return float(lines[0].split()[1]), lines[1:], usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--no-pandas", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.program, "make", folder, str(options.ranks), str(options.events)], check=True)
        ours, theirs = [], []
        for _ in range(options.runs):
            ours.append(measured([options.program, "analyse", folder, str(options.ranks), "2"]))
            if not options.no_pandas:
                theirs.append(measured([sys.executable, __file__, "--pandas", folder, str(options.ranks)]))
                if ours[-1][1] != theirs[-1][1]:
                    sys.exit("results differ:\n" + "\n".join(ours[-1][1] + ["pandas:"] + theirs[-1][1]))
        size = sum(path.stat().st_size for path in pathlib.Path(folder).iterdir()) / 2**20
    def middle(runs, field):
        return sorted(run[field] for run in runs)[len(runs) // 2]
    print(f"{options.ranks} ranks x {options.events} kernels, {size:.0f} MiB of columns, median of {options.runs} runs")
    print(f"analysis: {middle(ours, 0):.2f} s, {middle(ours, 3):.2f} CPU s, {middle(ours, 2):.0f} MiB")
    if theirs:
        print(f"pandas:   {middle(theirs, 0):.2f} s, {middle(theirs, 3):.2f} CPU s, {middle(theirs, 2):.0f} MiB "
              "(its largest process)")
        print(f"ratio:    {middle(theirs, 0) / middle(ours, 0):.1f} ({middle(theirs, 3) / middle(ours, 3):.1f} of CPU "
              "time); communication, hidden, exposed wait, exposed transfer and times last are equal on all ranks")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--pandas"]:
        pandas_part(sys.argv[2], int(sys.argv[3]))
    else:
        main()
