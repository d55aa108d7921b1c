# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
import matplotlib.collections
import matplotlib.patches
import numpy

from ..errors import Error
from ..run import Run
from . import style

KINDS = {"computation": "#0072B2", "communication": "#D55E00", "copy": "#009E73"}
MOST_EVENTS = 200_000


def timeline(trace, ax=None, ranks=None, cell=None, steps=None):
    """What the streams of each rank did: kernels of computation and communication, and copies.

    Args:
        trace: a Trace, such as Run.trace(7) returns, or a Run, whose first traced trial is drawn.
        ax: matplotlib Axes.
        ranks: global ranks to draw; all without it.
        cell: number of the cell in its trial; the one with the most events without it.
        steps: first and last step of the cell's timed part to draw, from 0, such as (0, 2); the first two without it.
    Returns:
        The Axes: milliseconds since the first event, a lane for each rank and stream.
    Raises:
        Error: no trial was traced, nothing to draw, too many events, or the ranks' clocks cannot be compared.
    """
    if isinstance(trace, Run):
        trace = trace.trace()
    clocks = trace.clocks if ranks is None else trace.clocks[trace.clocks["rank"].isin(list(ranks))]
    if clocks["boot_id"].nunique() > 1:
        raise Error("these ranks are on several hosts, whose clocks differ", trace.path,
                    "draw the ranks= of one host, or use `ncclprobe export --perfetto`, which aligns clocks")
    events = trace.events(ranks)
    events = style.only(events[~events["helper"] & (events["cell"] >= 0)], trace.path, "events", cell=cell)
    if cell is None:
        events = events[events["cell"] == events["cell"].value_counts().idxmax()]
    events = window(events, (0, 1) if steps is None else steps, trace)
    if len(events) > MOST_EVENTS:
        raise Error(f"{len(events):,} events are too many for one plot", trace.path, "choose fewer with ranks= or steps=")
    ax = style.axes(ax, 9.0, 1.6 + 0.35 * len(events[["rank", "stream"]].drop_duplicates()))
    lanes = events[["rank", "stream"]].drop_duplicates().sort_values(["rank", "stream"], ignore_index=True)
    lane = events.merge(lanes.reset_index(names="lane"), on=["rank", "stream"], how="left")["lane"].to_numpy()
    begin = (events["start_ns"] - events["start_ns"].min()).to_numpy() / 1e6
    end = begin + events["duration_ns"].to_numpy() / 1e6
    kinds = numpy.where(events["kind"] == "copy", "copy", numpy.where(events["communication"], "communication", "computation"))
    for kind, colour in KINDS.items():
        of_it = kinds == kind
        corners = numpy.stack([numpy.stack([x, y], 1) for x, y in (
            (begin[of_it], lane[of_it] - 0.4), (end[of_it], lane[of_it] - 0.4), (end[of_it], lane[of_it] + 0.4),
            (begin[of_it], lane[of_it] + 0.4))], 1)
        ax.add_collection(matplotlib.collections.PolyCollection(corners, facecolors=colour, edgecolors=colour, linewidths=0.2))
    ax.set_xlim(0, end.max())
    ax.set_ylim(len(lanes) - 0.5, -0.5)
    ax.set_yticks(range(len(lanes)), [f"rank {row.rank}, stream {row.stream}" for row in lanes.itertuples()], fontsize="small")
    ax.set_xlabel("ms")
    present = [kind for kind in KINDS if (kinds == kind).any()]
    ax.legend([matplotlib.patches.Patch(color=KINDS[kind]) for kind in present], present, fontsize="small", loc="upper left",
              bbox_to_anchor=(1, 1))
    style.title(ax, trace.synthetic, f"Trial {trace.trial}, cell {events['cell'].iloc[0]}")
    return ax


def window(events, steps, trace):
    """The events of these steps, counted over all batches of the timed part."""
    timed = events[events["batch"] >= 0]
    numbers = timed.groupby(["batch", "iteration"], sort=True).ngroup()
    chosen = timed[(numbers >= steps[0]) & (numbers <= steps[-1])]
    if chosen.empty:
        raise Error(f"there are no events in steps {steps[0]} to {steps[-1]}", trace.path,
                    f"the cell has {int(numbers.max()) + 1 if len(numbers) else 0} steps")
    return chosen
