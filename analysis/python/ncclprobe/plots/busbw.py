# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
from . import style

SAME = ("workload", "type", "op", "placement", "root", "variant", "ranks", "timing_mode")


def busbw(run, ax=None, settings=None, **cell):
    """Bus bandwidth over message size: a curve of medians for each setting, its 95% interval, and a dot for each process.

    An interval needs six processes (docs/method.md); without one there are only the dots.

    Args:
        run: a Run.
        ax: matplotlib Axes.
        settings: labels of the settings to draw, such as ["default", "NCCL_ALGO=Ring"]; all without it.
        cell: which cells, by the columns of Run.results: workload="all_reduce", type="f32", ...
    Returns:
        The Axes: message size in bytes (logarithmic), busbw in GB/s as nccl-tests defines it.
    Raises:
        Error: no such cells, or cells of several kinds, which cannot share a curve.
    """
    results = style.only(run.results[run.results["busbw_gb_per_s"].notna()], run.path, "bandwidths", **cell)
    style.one_value(results, run.path, "results", *SAME)
    of_processes = style.only(run.processes, run.path, "processes", **{name: results[name].iloc[0] for name in SAME})
    labels = list(results["setting"].unique()) if settings is None else list(settings)
    ax = style.axes(ax)
    for number, label in enumerate(labels):
        rows = style.only(results, run.path, "results", setting=label).sort_values("size_bytes")
        dots = of_processes[of_processes["setting"] == label]
        colour = style.COLOURS[number % len(style.COLOURS)]
        # In one cell busbw is in inverse proportion to the time, and so are the ends of its interval.
        known = rows[rows["time_low_us"].notna()]
        times = known["busbw_gb_per_s"] * known["time_us"]
        ax.plot(rows["size_bytes"], rows["busbw_gb_per_s"], color=colour, label=style.plain(label), zorder=3)
        ax.vlines(known["size_bytes"], times / known["time_high_us"], times / known["time_low_us"], color=colour, linewidth=4, alpha=0.4)
        # Settings stand side by side.
        shift = 2 ** (0.15 * (number - (len(labels) - 1) / 2))
        ax.plot(dots["size_bytes"] * shift, dots["busbw_gb_per_s"], ".", color=colour, markersize=3, alpha=0.6)
    style.size_axis(ax, results["size_bytes"])
    ax.set_ylim(bottom=0)
    ax.set_ylabel("busbw, GB/s")
    ax.legend(fontsize="small")
    about = results.iloc[0]
    words = [about["workload"], about["type"], f"{about['ranks']} ranks", about["variant"]]
    note = "bars: 95% interval, " if results["time_low_us"].notna().any() else ""
    style.title(ax, run.synthetic, ", ".join(filter(None, words)), f"lines: median, {note}dots: processes")
    return ax
