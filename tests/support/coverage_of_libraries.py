# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""coverage_of_libraries.py FILES.csv: lines and branches that tests reached, per library, from gcovr's table of files."""

import collections
import csv
import pathlib
import sys


def library_of(file):
    parts = pathlib.PurePath(file).parts
    depth = 3 if parts[:2] == ("launch", "cli") and len(parts) > 3 else 2
    return "/".join(parts[:depth])


def main(table):
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    with open(table, newline="") as file:
        for row in csv.DictReader(file):
            numbers = [int(row[name]) for name in ("line_covered", "line_total", "branch_covered", "branch_total")]
            sums[library_of(row["filename"])] = [a + b for a, b in zip(sums[library_of(row["filename"])], numbers)]
    if not sums:
        sys.exit("coverage: gcovr found no file")
    sums["all"] = [sum(one) for one in zip(*sums.values())]
    print(f"{'library':28} {'lines':>14} {'%':>6} {'branches':>14} {'%':>6}")
    for name, (lines, all_lines, branches, all_branches) in sums.items():
        print(f"{name:28} {f'{lines}/{all_lines}':>14} {100 * lines / max(1, all_lines):6.1f} "
              f"{f'{branches}/{all_branches}':>14} {100 * branches / max(1, all_branches):6.1f}")


if __name__ == "__main__":
    main(sys.argv[1])
