# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a trace file with h5py and pandas and prints what each rank's streams were busy with.

Usage: read_trace.py run.trace/trial-000007.h5
"""
import sys

import h5py
import pandas


def table(trace, path):
    """A table as a data frame; an absent table has no rows."""
    return pandas.DataFrame({name: column[:] for name, column in trace[path].items()} if path in trace else {})


def main(path):
    with h5py.File(path) as trace:
        blob, at = trace["strings/blob"][:].tobytes(), trace["strings/offset"][:]
        texts = [blob[at[i]:at[i + 1]].decode(errors="replace") for i in range(len(at) - 1)]
        for rank in (name for name in trace if name.startswith("rank_")):
            kernels = table(trace, f"{rank}/kernel")
            if kernels.empty:
                print(f"{rank}: no kernels")
                continue
            kernels["text"] = [texts[i] for i in kernels["name"]]
            busy = kernels.groupby(["stream", "text"])["duration_ns"].agg(["count", "sum"])
            for (stream, text), row in busy.sort_values("sum", ascending=False).head(5).iterrows():
                print(f"{rank} stream {stream} {row['count']:8} times {row['sum'] / 1e6:12.3f} ms  {text[:60]}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
