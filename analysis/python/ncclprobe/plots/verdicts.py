# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
import textwrap

import matplotlib.lines
import matplotlib.ticker
import numpy

from . import style

MOST_ROWS = 60
MOST_CHARACTERS = 44 # of a line of a row's name


def verdicts(run, ax=None, **rows):
    """A forest plot: each setting against the default, cell by cell, with its 95% interval and verdict.

    Args:
        run: a Run.
        ax: matplotlib Axes.
        rows: which comparisons, by the columns of Run.verdicts: workload="all_reduce", setting="NCCL_ALGO=Ring", ...
    Returns:
        The Axes: the ratio of speeds (logarithmic, above 1: the setting is faster), a row for each comparison.
    Raises:
        Error: there are none, or more than 60.
    """
    found = style.only(run.verdicts, run.path, "comparisons", **rows)
    if len(found) > MOST_ROWS:
        raise style.Error(f"{len(found)} comparisons are too many for one plot", run.path,
                          "choose some with workload=..., setting=..., verdict=..., size_bytes=...")
    found = found.sort_values(["setting", "workload", "type", "variant", "size_bytes"], ignore_index=True)
    names = [textwrap.wrap(name, MOST_CHARACTERS) for name in names_of(found)]
    longest = max(len(line) for name in names for line in name)
    ax = style.axes(ax, 5.5 + 0.08 * longest, 1.6 + 0.2 * sum(map(len, names)) + 0.05 * len(names))
    # A row is as tall as its name, and its mark is in its middle.
    tops = numpy.cumsum([0.0] + [len(name) + 0.25 for name in names])
    at = (tops[:-1] + tops[1:]) / 2
    for verdict, colour in style.VERDICT_COLOURS.items():
        of_it = (found["verdict"] == verdict).to_numpy()
        part = found[of_it]
        known = part["speed_ratio_low"].notna().to_numpy()
        ax.hlines(at[of_it][known], part["speed_ratio_low"][known], part["speed_ratio_high"][known], color=colour, linewidth=2)
        ax.plot(part["speed_ratio"], at[of_it], "o", color=colour, markersize=5)
    ax.axvline(1, color="black", linewidth=0.8)
    ax.set_yticks(at, ["\n".join(map(style.plain, name)) for name in names], fontsize="small")
    ax.set_ylim(tops[-1], 0)
    ratio_axis(ax)
    floors = ", ".join(f"{(floor.ratio - 1) * 100:.2g}% {floor.sizes.replace('_', ' ')}" for floor in run.noise_floor.itertuples())
    ax.set_xlabel("speed against the default (right: faster), 95% interval" + (f"\nA/A noise floor: {floors}" if floors else ""))
    present = [verdict for verdict in style.VERDICT_COLOURS if (found["verdict"] == verdict).any()]
    ax.legend([matplotlib.lines.Line2D([], [], color=style.VERDICT_COLOURS[one], marker="o") for one in present],
              [one.replace("_", " ") for one in present], fontsize="small",
              loc="upper left", bbox_to_anchor=(1, 1))
    style.title(ax, run.synthetic, "Settings against the default")
    return ax


def names_of(found):
    telling = [name for name in ("op", "placement", "root", "ranks", "timing_mode") if found[name].nunique() > 1]
    return [", ".join(filter(None, [row["setting"], row["workload"], row["type"], *(f"{name} {row[name]}" for name in telling),
                                    row["variant"], style.size_text(row["size_bytes"])]))
            for row in found.to_dict("records")]


def ratio_axis(ax):
    """A logarithmic axis of ratios that also has ticks within a percent."""
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    ax.xaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)) if high > 3 * low else matplotlib.ticker.MaxNLocator(6))
    ax.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    ax.xaxis.set_major_formatter(lambda ratio, _: f"{ratio:.6g}x")
