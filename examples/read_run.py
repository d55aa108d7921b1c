# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a run file with h5py alone and prints the median time of every cell.

Usage: read_run.py run.h5
"""
import statistics
import sys

import h5py


def texts(run, column):
    """Texts are stored once; a column holds their numbers."""
    blob, at = run["strings/blob"][:].tobytes(), run["strings/offset"][:]
    return [blob[at[i]:at[i + 1]].decode(errors="replace") for i in run[column][:]]


def kinds(run):
    """By cell: the collective, the method of a transfer, or the pattern of a training step."""
    found = {}
    for table, column in (("collective_cells", "collective"), ("p2p_cells", "method"), ("step_cells", "pattern")):
        names = run[f"{table}/{column}"].attrs["labels"]
        for cell, value in zip(run[f"{table}/cell"][:], run[f"{table}/{column}"][:]):
            found[cell] = names[value]
    return found


def main(path):
    with h5py.File(path) as run:
        if run["run/synthetic"][0]:
            print("synthetic: no hardware was measured")
        names = texts(run, "trials/name")
        kind, sizes, trials = kinds(run), run["cells/bytes"][:], run["cells/trial"][:]
        times = {}
        for cell, elapsed, iterations in zip(run["samples/cell"][:], run["samples/elapsed_ns"][:],
                                             run["samples/iterations"][:]):
            times.setdefault(cell, []).append(elapsed / iterations / 1000)
        for cell, samples in sorted(times.items()):
            print(f"{names[trials[cell]]:40} {kind.get(cell, 'empty_kernel'):16} {sizes[cell]:>12} {statistics.median(samples):12.2f} us")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
