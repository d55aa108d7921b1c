# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""A trace of one trial as pandas frames. src/store/trace_format.h describes the file."""
import pathlib

import numpy
import pandas

from . import columns
from .errors import Error

SCHEMA, MAJOR = "ncclprobe.trace", 1 # src/store/trace_format.h
LONG = 2**32 - 1 # a duration that 32 bits do not hold
COMMUNICATION, HELPER, NO_TIMES = 1, 2, 4 # bits of /kernel/flags
EVENT_COLUMNS = ["synthetic", "trial", "rank", "kind", "name", "stream", "start_ns", "end_ns", "duration_ns", "communication", "helper",
                 "bytes", "cell", "batch", "iteration"]


def load_trace(path):
    """Opens a trace, such as "run.trace/trial-000007.h5".

    Raises:
        Error: it is no trace, or another version's.
    """
    return Trace(pathlib.Path(path))


class Trace(columns.OpenFile):
    """What the ranks of one traced trial did.

    Attributes:
        path, run_id, trial (number in the run; -1: a captured job), level ("kernels", "api", "full").
        ranks: the global ranks that it holds.
        synthetic: True if the numbers come from a model and nothing was measured.
    """

    def __init__(self, path):
        super().__init__(path, SCHEMA, "trace", MAJOR)
        with columns.damage_named("this trace", self.path):
            attributes = self._file.attrs
            self.run_id, self.trial, self.level = str(attributes["run_id"]), int(attributes["trial"]), str(attributes["level"])
            self._groups = {int(group.attrs["rank"]): group for name, group in self._file.items() if name.startswith("rank_")}
        self.ranks = sorted(self._groups)
        facts = self.table("provenance")
        self.synthetic = bool(len(facts)) and bool(((facts["name"] == "backend") & (facts["value"] == "synthetic")).any())

    def __repr__(self):
        return f"<ncclprobe.Trace {self.path}{', SYNTHETIC' if self.synthetic else ''}: {len(self.ranks)} ranks>"

    @columns.frame
    def clocks(self):
        """The clock of each rank's times: rank, host, boot_id. Times of equal boot_ids can be compared."""
        return pandas.DataFrame([{"rank": rank, **{name: str(self._groups[rank].attrs[name]) for name in ("host", "boot_id")}}
                                 for rank in self.ranks])

    def table(self, name, ranks=None):
        """Any table of the trace (kernel, copy, operation, nccl_operation, span, loss, ...), of all ranks or these.

        Columns: rank, and those of the file: times in ns on the clock of the rank's host, durations in ns (longer ones than
        2^32 - 1 too), texts and choices as categories. A table that no rank has has no rows.

        Raises:
            Error: the trace does not hold such a rank, or is damaged.
        """
        columns.check_open(self._file, self.path)
        wanted = self.ranks if ranks is None else list(ranks)
        if unknown := set(wanted) - set(self.ranks):
            raise Error(f"there is no rank {min(unknown)} in this trace", self.path, f"ranks: {', '.join(map(str, self.ranks))}")
        groups = {rank: self._groups[rank][name] for rank in wanted if name in self._groups[rank]}
        if not groups:
            return pandas.DataFrame({"rank": pandas.Series(dtype="int64")})
        with columns.damage_named(f"the table {name}", self.path):
            return self._table(name, groups)

    def _table(self, name, groups):
        counts = [int(group.attrs["n_valid"]) for group in groups.values()]
        found = {"rank": numpy.repeat(numpy.fromiter(groups, numpy.int32), counts)}
        first = next(iter(groups.values()))
        for column, dataset in first.items():
            values = numpy.concatenate([group[column][:count] for group, count in zip(groups.values(), counts)])
            if "row in /strings" in str(dataset.attrs.get("about", "")):
                values = self._texts.categories_of(values)
            elif "labels" in dataset.attrs:
                values = columns.choices_of(dataset, values)
            elif values.dtype == numpy.uint64 and column.endswith("_ns"):
                values = values.astype(numpy.int64) # a difference of unsigned times would wrap around
            found[column] = values
        frame = pandas.DataFrame(found)
        if "duration_ns" in frame and name != "long_duration":
            frame["duration_ns"] = self._whole_durations(name, frame, list(groups))
        return frame

    def _whole_durations(self, name, frame, ranks):
        """The durations with those that 32 bits do not hold."""
        durations = frame["duration_ns"].astype("int64")
        escaped = durations == LONG
        if not escaped.any():
            return durations
        long = self.table("long_duration", ranks)
        long = long[long["table"] == name].drop_duplicates(["rank", "start_ns"]).set_index(["rank", "start_ns"])["duration_ns"]
        at = pandas.MultiIndex.from_frame(frame.loc[escaped, ["rank", "start_ns"]])
        durations[escaped] = long.reindex(at).fillna(LONG).astype("int64").to_numpy()
        return durations

    def events(self, ranks=None):
        """One row for each kernel and each copy on the devices, by rank, then begin.

        Columns: synthetic, trial, rank, kind (kernel, copy), name (of a copy: host_to_device, ...), stream (number in the
        trace), start_ns and end_ns (on the clock of the rank's host, see `clocks`), duration_ns, communication (True: of the
        communication library), helper (True: ncclprobe's own), bytes (of a copy; 0 of a kernel), cell, batch and iteration
        (of the operation that it belongs to; -1: none, or outside the timed part). Kernels without times are left out; the
        table "loss" counts them.

        Args:
            ranks: only these; all without it.
        """
        kernels, copies = (self.table(name, ranks) for name in ("kernel", "copy"))
        kernels["kind"], kernels["bytes"] = "kernel", numpy.int64(0)
        copies = copies.rename(columns={"kind": "name"}).assign(kind="copy")
        if len(copies):
            copies["bytes"] = copies["bytes"].astype("int64")
        parts = [part for part in (kernels, copies) if len(part)]
        wanted = ["rank", "kind", "name", "stream", "start_ns", "duration_ns", "flags", "bytes", "operation"]
        if not parts:
            return pandas.DataFrame(columns=EVENT_COLUMNS)
        names = pandas.api.types.union_categoricals([part["name"] for part in parts])
        events = pandas.concat([part.reindex(columns=wanted).drop(columns="name") for part in parts], ignore_index=True)
        events.insert(2, "name", names)
        flags = events.pop("flags").to_numpy()
        events = events.assign(
            kind=pandas.Categorical(events["kind"], ["kernel", "copy"]), end_ns=events["start_ns"] + events["duration_ns"],
            communication=flags & COMMUNICATION != 0, helper=flags & HELPER != 0, **self._places(events, ranks))[flags & NO_TIMES == 0]
        events.insert(0, "trial", self.trial)
        events.insert(0, "synthetic", self.synthetic)
        return events[EVENT_COLUMNS].sort_values(["rank", "start_ns"], kind="stable", ignore_index=True)

    def _places(self, events, ranks):
        """Cell, batch and iteration of each event's operation; -1 without one."""
        operations = self.table("operation", ranks)
        names = ["cell", "batch", "iteration"]
        if operations.empty:
            return {name: numpy.int32(-1) for name in names}
        # One key for rank and id: a search in sorted integers is several times faster than a join by two columns.
        keys = operations["rank"].to_numpy(numpy.int64) << 32 | operations["id"].to_numpy(numpy.int64)
        order = numpy.argsort(keys, kind="stable")
        wanted = events["rank"].to_numpy(numpy.int64) << 32 | events["operation"].to_numpy(numpy.int64)
        at = order[numpy.minimum(numpy.searchsorted(keys, wanted, sorter=order), len(order) - 1)]
        found = (keys[at] == wanted) & (events["operation"].to_numpy() != 0)
        return {name: numpy.where(found, operations[name].to_numpy().astype(numpy.int32)[at], numpy.int32(-1)) for name in names}
