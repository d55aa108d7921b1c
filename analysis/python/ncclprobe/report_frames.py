# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Frames of the report that ncclprobe-report computes. Nothing is computed here but shares of the same figure."""
import pandas

from .errors import Error

# What identifies a result: one setting in one cell.
IDENTITY = ["synthetic", "setting", "is_default", "ranks", "workload", "type", "op", "placement", "root", "variant", "size_bytes",
            "timing_mode"]


# Members that are an object, or null.
OBJECTS = ("latency", "one_way", "both_ways", "by_kernels")


def flat(record):
    """A record of the report as one row. An interval becomes two columns, "_low" and "_high"; an object's members become
    columns with its name in front; a list of words or ranks becomes a text; a list of records is left out."""
    row = {}
    for name, value in record.items():
        if name in OBJECTS and value is None:
            continue
        if "interval" in name and (value is None or isinstance(value, list)):
            low, high = value or (None, None)
            row[name.replace("interval", "low")], row[name.replace("interval", "high")] = low, high
        elif isinstance(value, dict):
            row.update({name if inner == "value" else f"{name}_{inner}": one for inner, one in flat(value).items()})
        elif not isinstance(value, list):
            row[name] = value
        elif not any(isinstance(one, dict) for one in value):
            row[name] = (" " if any(isinstance(one, str) for one in value) else ",").join(map(str, value))
    return row


def frame(report, rows, names=()):
    """A frame of rows with the column `synthetic` first, then `names`, then the others. An unknown number is NaN."""
    found = pandas.DataFrame([{**row, "synthetic": report["synthetic"]} for row in rows])
    first = ["synthetic", *(name for name in names if name != "synthetic")]
    nowhere = found.columns[found.isna().all()] # a figure that no row knows
    found = found.astype({name: float for name in nowhere})
    return found.reindex(columns=[*first, *(name for name in found.columns if name not in first)])


def section(report, name, schema, what):
    """A section of the report. Raises Error if reports of this kind of run do not have it."""
    if report["schema"] != schema:
        other = ("this run measured links: use links" if report["schema"] == "ncclprobe.p2p" else
                 f"only a run of `ncclprobe p2p` has {what}")
        raise Error(f"there are no {what} in a report of schema {report['schema']}", hint=other)
    return report.get(name) or []


def plain(report, name, inside=None):
    """A list of the report as a frame, one row for each record."""
    if name in ("problems", "findings"): # every report has them
        return frame(report, map(flat, report.get(name) or []))
    found = section(report, inside or name, "ncclprobe.report", name)
    return frame(report, map(flat, (found[name] if inside else found) or []))


def results_of(report):
    return section(report, "results", "ncclprobe.report", "results")


def identity(result, variables):
    """What identifies a result, and its value of each variable. `variables` are names by column."""
    values = {one["name"]: one["value"] for one in result["settings"] or []}
    return {**{name: result[name] for name in IDENTITY},
            **{column: values.get(name) for column, name in variables.items()}}


def results(report, variables):
    """See Run.results."""
    own = ("settings", "against_default", "processes", *IDENTITY)
    rows = [{**identity(one, variables), **flat({name: value for name, value in one.items() if name not in own})}
            for one in results_of(report)]
    return frame(report, rows, [*IDENTITY[:3], *variables, *IDENTITY[3:]])


def processes(report, variables):
    """See Run.processes. In one cell busbw is in inverse proportion to the time."""
    rows = []
    for result in results_of(report):
        busbw, time = result["busbw_gb_per_s"], result["time_us"]
        for one in result["processes"] or []:
            known = busbw is not None and time and one["time_us"]
            rows.append({**identity(result, variables), "trial": one["trial"], "replicate": one["replicate"],
                         "time_us": one["time_us"], "busbw_gb_per_s": busbw * time / one["time_us"] if known else None,
                         "throttle_reasons": one["throttle_reasons"]})
    return frame(report, rows, [*IDENTITY[:3], *variables, *IDENTITY[3:], "trial", "replicate", "time_us", "busbw_gb_per_s"])


def verdicts(report, variables):
    """See Run.verdicts."""
    rows = []
    for result in results_of(report):
        if result["against_default"] is None:
            continue
        found = flat(result["against_default"])
        found["speed_ratio_low"], found["speed_ratio_high"] = found.pop("low"), found.pop("high")
        rows.append({**identity(result, variables), **found})
    return frame(report, rows, [*IDENTITY[:3], *variables, *IDENTITY[3:], "verdict", "speed_ratio", "speed_ratio_low",
                                "speed_ratio_high"])


def points_of(report):
    """Each number of ranks of each account of scaling: what identifies it, and the point."""
    for curve in section(report, "scaling", "ncclprobe.report", "scaling"):
        about = {name: value for name, value in flat(curve).items() if name not in ("ranks", "bytes")}
        for point in curve["points"]:
            yield {**about, "ranks": ",".join(map(str, point["ranks"])), "rank_count": len(point["ranks"])}, point


def scaling(report):
    """See Run.scaling."""
    return frame(report, ({**about, **flat({name: value for name, value in point.items() if name not in ("account", "ranks")})}
                          for about, point in points_of(report)))


def losses(report):
    """See Run.losses."""
    return frame(report, ({**about, "term": term, "share": one["share"], **{
        f"share_{end}": value for end, value in flat({"interval": one["interval"]}).items()}}
        for about, point in points_of(report) for term, one in point["account"].items()))


def links(report):
    """See Run.links."""
    rows = []
    for matrix in section(report, "matrices", "ncclprobe.p2p", "links"):
        about = {name: matrix[name] for name in ("mode", "method", "direction", "size_bytes", "what")}
        rows += [{**about, **flat(cell)} for cell in matrix["cells"]]
    return frame(report, rows, ["mode", "method", "direction", "size_bytes", "from", "to"])
