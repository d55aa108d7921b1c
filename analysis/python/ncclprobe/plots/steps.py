# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
import numpy

from . import style

# What a step's time is the sum of, in milliseconds (docs/training-steps.md).
PARTS = {"forward_ms": "forward", "backward_ms": "backward", "optimizer_ms": "optimizer", "prepare_ms": "preparation",
         "uncovered_wait_ms": "uncovered wait", "uncovered_transfer_ms": "uncovered transfer",
         "uncovered_copy_ms": "uncovered input copy", "idle_ms": "idle"}


def steps(run, ax=None, **rows):
    """What each measured training step consists of: a stacked bar for each setting and number of ranks.

    Args:
        run: a Run.
        ax: matplotlib Axes.
        rows: which steps, by the columns of Run.steps: setting="default", parts="all", ...
    Returns:
        The Axes: milliseconds.
    Raises:
        Error: the run has no such step, or steps of several models or options.
    """
    found = style.only(run.steps, run.path, "training steps", **rows)
    style.one_value(found, run.path, "steps", "workload", "model", "type", "batch", "sequence", "options")
    found = found.assign(rank_count=found["ranks"].map(rank_count)).sort_values(["setting", "rank_count"], kind="stable")
    names = [name for name in PARTS if found[name].fillna(0).gt(0).any()]
    ax = style.axes(ax, max(5.0, 2 + 0.9 * len(found)))
    at, bottom = numpy.arange(len(found)), numpy.zeros(len(found))
    for number, name in enumerate(names):
        height = found[name].fillna(0).to_numpy(float)
        ax.bar(at, height, 0.7, bottom, label=PARTS[name], color=style.COLOURS[number % len(style.COLOURS)])
        bottom += height
    ax.plot(at, found["step_ms"], "_", color="black", markersize=24, label="step")
    labels = [(row.setting, f"{row.rank_count} rank{'s' if row.rank_count > 1 else ''}", row.parts) for row in found.itertuples()]
    ax.set_xticks(at, ["\n".join(map(style.plain, label)) for label in labels], fontsize="small")
    ax.set_ylabel("time of a step, ms")
    ax.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    first = found.iloc[0]
    style.title(ax, run.synthetic, f"{first['workload']} of {first['model']}, {first['type']}: what a step consists of")
    return ax


def rank_count(ranks):
    return len(ranks.split(","))


def scaling(run, ax=None, setting="default", **rows):
    """Efficiency over the number of ranks with its 95% interval, and where the rest goes: the account of losses, stacked.

    Args:
        run: a Run that measured a step on several numbers of ranks.
        ax: matplotlib Axes.
        setting: label of the setting.
        rows: which step, by the columns of Run.scaling: model="gpt2-124m", kind="weak", ...
    Returns:
        The Axes: percent of the step time. A negative term (something became faster) is drawn below zero.
    Raises:
        Error: the run has no such step, or several, which cannot share a curve.
    """
    found = style.only(run.scaling, run.path, "steps on several numbers of ranks", setting=setting, **rows)
    same = [name for name in ("workload", "model", "type", "batch", "sequence", "options", "kind") if name in found.columns]
    style.one_value(found, run.path, "steps", *same)
    if found["rank_count"].duplicated().any():
        raise style.Error("several placements have the same number of ranks", run.path, "Run.scaling has them all")
    found = found.sort_values("rank_count")
    losses = style.only(run.losses, run.path, "losses", setting=setting, **{name: found[name].iloc[0] for name in same})
    table = losses.pivot(index="rank_count", columns="term", values="share").reindex(found["rank_count"]).fillna(0) * 100
    table = table[[term for term in losses["term"].unique() if table[term].abs().max() >= 0.05]] # 0.0% in the report
    ax = style.axes(ax)
    at, top = numpy.arange(len(found)), found["efficiency"].to_numpy(float) * 100
    ax.bar(at, top, 0.6, color="#DDDDDD", label="efficiency")
    below = numpy.zeros(len(found))
    for number, term in enumerate(table.columns):
        share = table[term].to_numpy()
        ax.bar(at, share, 0.6, numpy.where(share >= 0, top, below), color=style.COLOURS[number % len(style.COLOURS)],
               label=style.plain(term))
        top, below = top + numpy.maximum(share, 0), below + numpy.minimum(share, 0)
    middle = found["efficiency"].to_numpy(float) * 100
    ends = [found[f"efficiency_{end}"].to_numpy(float) * 100 for end in ("low", "high")]
    ax.errorbar(at, middle, [middle - ends[0], ends[1] - middle], fmt="o", color="black", capsize=4, markersize=4,
                label="95% interval")
    ax.set_xticks(at, found["rank_count"])
    ax.set_xlabel("ranks")
    ax.set_ylabel("percent of the step time")
    ax.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    first = found.iloc[0]
    style.title(ax, run.synthetic, f"{first['workload']} of {first['model']}, {first['kind']} scaling, {setting}")
    return ax
