# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
import numpy

from . import style


def links(run, ax=None, method="ce", direction="uni", size_bytes=None):
    """A heat map of the links between GPUs: what each row sends to each column.

    Args:
        run: a Run of `ncclprobe p2p`.
        ax: matplotlib Axes.
        method: ce, ce_read, sm_write, sm_read, staged, latency, sendrecv, pingpong.
        direction: uni (one pair, one way), bi (both ways at once), all (all pairs at once).
        size_bytes: of a copy, if several were measured.
    Returns:
        The Axes: GB/s from the row to the column; of latencies, ns.
    Raises:
        Error: the run measured no links, or none like these.
    """
    found = style.only(run.links, run.path, "links", method=method, direction=direction, size_bytes=size_bytes)
    style.one_value(found, run.path, "links", "mode", "size_bytes")
    value = next(name for name in ("one_way_gb_per_s", "one_way_ns") if name in found and found[name].notna().any())
    names = sorted({*found["from"], *found["to"]}, key=lambda name: (not name.isdigit(), len(name), name))
    table = found.pivot(index="from", columns="to", values=value).reindex(index=names, columns=names).astype(float)
    ax = style.axes(ax, 2.5 + 0.6 * len(names), 2.0 + 0.5 * len(names))
    image = ax.imshow(numpy.ma.masked_invalid(table.to_numpy()), cmap="viridis", vmin=0) # from 0: equal links look equal
    unit = "GB/s" if value.endswith("gb_per_s") else "ns"
    if len(names) <= 16:
        middle = numpy.nanmax(table.to_numpy()) / 2
        for (row, column), figure in numpy.ndenumerate(table.to_numpy()):
            if numpy.isfinite(figure):
                ax.text(column, row, f"{figure:.4g}", ha="center", va="center", fontsize="small",
                        color="white" if figure < middle else "black")
    ax.figure.colorbar(image, ax=ax, label=unit)
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks(range(len(names)), names)
    ax.set_xlabel("to")
    ax.set_ylabel("from")
    style.title(ax, run.synthetic, found["what"].iloc[0])
    return ax
