# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""A run file as pandas frames."""
import pathlib
import re

import numpy
import pandas

from . import columns, report_frames
from .errors import Error
from .report import read_report
from .trace import load_trace

SCHEMA, MAJOR = "ncclprobe.run", 2 # src/store/run_form.h
# What columns of cells begin with that samples leave out: they do not identify a cell.
DETAILS_OF_CELLS = ("schedule", "deadline_ns", "outcome", "check_", "timing_warmups", "timing_iterations", "timing_batches",
                    "timing_budget_ns", "timing_target_interval", "timing_max_batches")
CPU_AFFINITY = "cpu_affinity" # a column of /trials that is a setting
# Columns of frames that no variable may replace, besides those of /trials.
NAMES_OF_OURS = ("synthetic", "setting", "is_default", "workload", "variant", "kind", "trial_ranks", "launch", "memory", "priority",
                 "split", "streams", "offset", "size_bytes", "type", "op", "placement", "root", "timing_mode", "cell", "rank", "batch",
                 "iterations", "elapsed_ns", "launch_ns", "time_us", "launch_us", "trial", "at_ns", "when", "processes", "verdict")
# Columns that mean the same in each kind of cell.
COMMON_TO_KINDS = ("launch", "memory", "priority")


def load(path, report_program=None):
    """Opens a run file. Its frames are read when they are first used.

    Args:
        path: the run file, such as "run.h5".
        report_program: the program that computes results and verdicts. Without it: $NCCLPROBE_REPORT, else
            ncclprobe-report beside this Python or in PATH. Only frames that it computes need it.
    Returns:
        A Run.
    Raises:
        Error: it is no run file, or another version's.
    """
    return Run(pathlib.Path(path), report_program)


class Run(columns.OpenFile):
    """A run: what the file holds, and what ncclprobe-report makes of it. Frames are made once; treat them as read-only.

    Every frame of measurements has a column `synthetic`: True if the numbers come from a model and nothing was measured.
    Frames with a column `setting` have a column for each variable that some trial sets, such as NCCL_ALGO. It is missing
    (None, NaN) where the trial does not set the variable: see `environment` for what rank 0 had.

    From the file: samples, cells, trials, environment, conditions, and all others by table().
    From ncclprobe-report: results, processes, verdicts, noise_floor, steps, scaling, losses, links, problems, findings.
    From the traces beside the file: events().
    """

    def __init__(self, path, report_program=None):
        super().__init__(path, SCHEMA, "run file", MAJOR)
        self._report_program = report_program
        self.about = next(iter(self._needed("run").to_dict("records")), {})
        if not {"run_id", "synthetic"} <= self.about.keys():
            raise Error("it does not say which run it is of", self.path, "the file is damaged")
        self.run_id, self.synthetic = self.about["run_id"], bool(self.about["synthetic"])

    def __repr__(self):
        return f"<ncclprobe.Run {self.path}{', SYNTHETIC' if self.synthetic else ''}: {len(self.trials)} trials>"

    # --- from the file ---

    def table(self, name):
        """Any table of the file (docs/run-file-tables.md lists them) as a frame with the file's own columns and units.

        Texts, choices and yes/no are decoded. A table that the file lacks has no rows and no columns.

        Raises:
            Error: the file is damaged.
        """
        columns.check_open(self._file, self.path)
        with columns.damage_named(f"the table {name}", self.path):
            return columns.table_of(self._file[name], self._texts) if name in self._file else pandas.DataFrame()

    def _needed(self, name):
        """A table that every run file has."""
        table = self.table(name)
        if table.columns.empty:
            raise Error(f"there is no table {name}", self.path, "the file is damaged")
        return table

    @columns.frame
    def _stored_trials(self):
        return self._needed("trials")

    @columns.frame
    def environment(self):
        """Variables of rank 0's environment that can affect results: name, value."""
        return self.table("environment")

    @columns.frame
    def variables(self):
        """What is set by some trial, by name: columns of frames. Variables, and if they are compared, libraries (nccl) and
        cpu_affinity. One that is called like another column has "variable_" in front."""
        return list(self._variable_names)

    @columns.frame
    def trials(self):
        """One row for each trial.

        Columns: synthetic, trial (its number in the plan), setting (label; "default" if nothing is under test), the
        variables, and those of the table /trials: replicate, ranks, purpose, outcome_kind, startup_ns, total_ns, ...
        """
        trials = self._stored_trials.rename(columns={"id": "trial", "name": "setting"}).drop(columns=CPU_AFFINITY)
        first = ["trial", "setting"]
        rest = [name for name in trials.columns if name not in first]
        return self._marked(pandas.concat([trials[first], self._variables_of_trials, trials[rest]], axis=1))

    @columns.frame
    def cells(self):
        """One row for each cell of each trial; the row's number is `cell` of other frames.

        Columns: synthetic, trial, replicate, purpose (measure; the samples of a companion mean nothing), setting, the
        variables, trial_ranks (number of ranks of the trial), kind (collective, empty_kernel, p2p, step), workload (as
        in `results`), size_bytes, type, op, placement, root, timing_mode, launch, memory, priority, and what the kind has in
        addition: split, streams and offset of collectives, p2p_*, step_*. Then those of the table /cells: outcome_kind,
        check_*, timing_*.
        """
        cells = self._needed("cells").rename(columns={"bytes": "size_bytes", "trial": "row"}).astype({"size_bytes": "int64"})
        trials = self.trials.rename(columns={"ranks": "trial_ranks"})
        of_trial = trials[["trial", "replicate", "purpose", "setting", *self.variables, "trial_ranks"]]
        of_trial = of_trial.take(cells["row"].to_numpy()).reset_index(drop=True)
        own = ["size_bytes", "type", "op", "placement", "root", "timing_mode"]
        rest = [name for name in cells.columns if name not in own and name != "row"]
        return self._marked(pandas.concat([of_trial, self._kinds(len(cells), cells[own]), cells[rest]], axis=1))

    @columns.frame
    def samples(self):
        """One row for each timed batch of launches and rank (in latency mode: for each launch and rank).

        Columns: synthetic, what identifies the cell (see `cells`; words are categories, so pass observed=True to groupby),
        cell, rank (global), batch (from 0), iterations (launches in the batch), elapsed_ns (of the whole batch),
        launch_ns (part of it that the host took to launch; -1: not measured), time_us (of one launch, microseconds),
        launch_us (of one launch; NaN: not measured).
        """
        samples = self._needed("samples")
        own = {name: samples[name].to_numpy() for name in ("rank", "batch", "iterations", "elapsed_ns", "launch_ns")}
        iterations = numpy.where(own["iterations"] > 0, own["iterations"], numpy.nan)
        own["time_us"] = own["elapsed_ns"] / iterations / 1000
        own["launch_us"] = numpy.where(own["launch_ns"] >= 0, own["launch_ns"], numpy.nan) / iterations / 1000
        return self._with_cells(samples["cell"], own)

    @columns.frame
    def conditions(self):
        """The state of the GPUs in each cell: what identifies the cell, and the columns of /conditions (MHz, degrees
        Celsius, mW, bytes; nullable, missing where NVML did not say)."""
        conditions = self._needed("conditions")
        return self._with_cells(conditions.pop("cell"), dict(conditions.items()))

    def _marked(self, frame):
        if "synthetic" in frame.columns:
            frame = frame.drop(columns="synthetic")
        frame.insert(0, "synthetic", self.synthetic)
        return frame

    @columns.frame
    def _settings(self):
        """What each trial sets: trial (row of /trials), name, value. It is what its label says, for all ranks."""
        affinity = pandas.DataFrame({"value": self._stored_trials[CPU_AFFINITY]})
        affinity = affinity[affinity["value"] != ""].assign(name=CPU_AFFINITY).rename_axis("trial").reset_index()
        tables = [table for table in (self.table("tested_libraries"), affinity, self.table("settings")) if len(table)]
        return pandas.concat(tables, ignore_index=True) if tables else pandas.DataFrame(columns=["trial", "name", "value"])

    @columns.frame
    def _variable_names(self):
        """By column: the name of the variable."""
        taken = {*self._stored_trials, *NAMES_OF_OURS} - {CPU_AFFINITY}
        return {f"variable_{name}" if name in taken else name: name for name in sorted(set(self._settings["name"]))}

    @columns.frame
    def _variables_of_trials(self):
        """By row of /trials: a column for each variable, None where the trial does not set it."""
        count = len(self._stored_trials)
        found = {}
        for column, name in self._variable_names.items():
            rows = self._settings[self._settings["name"] == name]
            found[column] = numpy.full(count, None, object)
            found[column][rows["trial"].to_numpy(numpy.int64)] = rows["value"]
        return pandas.DataFrame(found, index=range(count))

    def _kinds(self, count, cells):
        """By cell: kind, workload, the columns of /cells that identify it, and those of its kind."""
        kinds = pandas.DataFrame({"kind": numpy.full(count, "", object), "workload": numpy.full(count, "", object)})
        kinds = pandas.concat([kinds, cells], axis=1)
        found = {}
        for kind, name_of in (("collective", lambda rows: rows["collective"]),
                              ("empty_kernel", lambda rows: "empty_kernel"),
                              ("p2p", lambda rows: "p2p_" + rows["method"]),
                              ("step", lambda rows: rows["pattern"] + "_step")): # src/model/cell_label.cpp
            rows = self.table(f"{kind}_cells")
            if rows.empty:
                continue
            at = rows["cell"].to_numpy()
            kinds.loc[at, "kind"] = kind
            kinds.loc[at, "workload"] = numpy.asarray(name_of(rows), object)
            if kind == "p2p":
                rows["transfers"] = self._transfers(len(rows))
            for column in rows.columns.drop(["cell", *({"collective"} & set(rows.columns))]):
                name = column if kind in ("collective", "empty_kernel") or column in COMMON_TO_KINDS else f"{kind}_{column}"
                values = found.setdefault(name, numpy.full(count, None, object))
                values[at] = rows[column]
        order = sorted(found, key=lambda name: COMMON_TO_KINDS.index(name) if name in COMMON_TO_KINDS else len(COMMON_TO_KINDS))
        return pandas.concat([kinds, pandas.DataFrame({name: found[name] for name in order}, index=kinds.index).infer_objects()],
                             axis=1)

    def _transfers(self, count):
        """By row of /p2p_cells: its transfers, such as "0>1 1>0"; "host0" is host memory close to rank 0."""
        rows = self.table("p2p_transfers")
        ends = [numpy.where(rows[f"{end}_host"], "host", "") + rows[f"{end}_rank"].astype(str) for end in ("from", "to")]
        words = (ends[0] + ">" + ends[1]).groupby(rows["p2p_cell"]).agg(" ".join)
        return words.reindex(range(count), fill_value="").to_numpy(object)

    @columns.frame
    def _cell_columns(self):
        """The columns of `cells` that identify a cell, words as categories."""
        cells = self.cells.drop(columns="synthetic")
        kept = [name for name in cells.columns if not name.startswith(DETAILS_OF_CELLS)]
        words = {name: columns.compact_categories(*pandas.factorize(cells[name]))
                 for name in kept if not pandas.api.types.is_numeric_dtype(cells[name].dtype)}
        return {name: words.get(name, cells[name].to_numpy()) for name in kept}

    def _with_cells(self, cell, own):
        """A frame with what identifies each row's cell, and the columns of `own`."""
        at = cell.to_numpy()
        of_cell = {name: values.take(at) for name, values in self._cell_columns.items()}
        return columns.frame_of({"synthetic": numpy.full(len(at), self.synthetic), **of_cell, "cell": at, **own})

    # --- from ncclprobe-report ---

    @columns.frame
    def report(self):
        """The document of `ncclprobe-report RUN.h5 --format json` (docs/schemas/report.json, p2p.json).

        Raises:
            Error: there is no such program, or it refuses the file.
        """
        return read_report(self.path, self.run_id, self._report_program)

    def _with_variables(self, frame):
        """Adds the value of each variable, by the label of the setting, to sections of the report that lack it."""
        if "setting" in frame.columns:
            values = self.trials.drop_duplicates("setting").set_index("setting")
            for place, name in enumerate(self.variables, frame.columns.get_loc("setting") + 1):
                frame.insert(place, name, frame["setting"].map(values[name]))
        return frame

    @columns.frame
    def results(self):
        """One row for each setting and cell.

        Columns: synthetic, setting, is_default, the variables, ranks (of the communicator), workload, type, op, placement,
        root, variant, size_bytes, timing_mode, time_us (median over processes), time_low_us and time_high_us (95% interval
        of the median; NaN with fewer than six processes), time_min_us, time_max_us, algbw_gb_per_s, busbw_gb_per_s
        (nccl-tests' definitions), launch_us, spread_percent, slowest_rank, latency_p50_us ..., data (ok, wrong, unchecked).
        """
        return report_frames.results(self.report, self._variable_names)

    @columns.frame
    def processes(self):
        """One row for each process (trial) and cell: the columns that identify the result, trial, replicate, time_us (its
        median over batches), busbw_gb_per_s (the result's, times the result's time over this one's)."""
        return report_frames.processes(self.report, self._variable_names)

    @columns.frame
    def verdicts(self):
        """One row for each comparison with the default: the columns that identify the result, verdict (better, worse,
        no_difference, not_decided), speed_ratio (above 1: the setting is faster), speed_ratio_low and speed_ratio_high (95%
        interval), p, adjusted_p, detectable_speed_ratio, why_not_decided, processes, default_processes.

        A result with wrong data has no row: it is never compared. See docs/method.md for the test.
        """
        return report_frames.verdicts(self.report, self._variable_names)

    @columns.frame
    def noise_floor(self):
        """The A/A noise floor by class of sizes: synthetic, sizes, ratio (between equal settings), cells."""
        return report_frames.plain(self.report, "noise_floor", inside="verdicts")

    @columns.frame
    def steps(self):
        """One row for each measured training step: setting, workload, model, ranks, parts, step_ms and what it consists
        of (forward_ms, backward_ms, optimizer_ms, prepare_ms, uncovered_wait_ms, uncovered_transfer_ms, ...)."""
        return self._with_variables(report_frames.plain(self.report, "steps"))

    @columns.frame
    def scaling(self):
        """One row for each setting, step and number of ranks: kind (weak, strong), ranks, rank_count, step_ms,
        efficiency with efficiency_low and efficiency_high (95%), lost (shares of 1)."""
        return self._with_variables(report_frames.scaling(self.report))

    @columns.frame
    def losses(self):
        """The account of `scaling`, one row for each term: setting, ranks, rank_count, term, share, share_low, share_high."""
        return self._with_variables(report_frames.losses(self.report))

    @columns.frame
    def links(self):
        """Of a run of `ncclprobe p2p`, one row for each matrix and pair: mode, method, direction, size_bytes, from, to,
        one_way_gb_per_s or latency, limit_gb_per_s, outcome, data, ..."""
        return report_frames.links(self.report)

    @columns.frame
    def problems(self):
        """Trials that are not ok: trial, replicate, setting, outcome, reason, failed_ranks."""
        return self._with_variables(report_frames.plain(self.report, "problems"))

    @columns.frame
    def findings(self):
        """What the report says in words: id, severity, text."""
        return report_frames.plain(self.report, "findings")

    # --- from its traces ---

    @property
    def traces(self):
        """The traces of its traced trials, by number of the trial: paths."""
        folder = self.path.with_suffix(".trace")
        found = {int(match[1]): path for path in sorted(folder.glob("trial-*.h5"))
                 if (match := re.fullmatch(r"trial-(\d+)", path.stem))}
        return found

    def trace(self, trial=None):
        """The Trace of a traced trial; without a number, of the first one.

        Raises:
            Error: there is no such trace, or it is of another run.
        """
        found = self.traces
        if not found:
            raise Error("this run has no traces beside it", self.path, "`ncclprobe run --trace kernels` makes them")
        if trial is not None and trial not in found:
            raise Error(f"trial {trial} was not traced", self.path, f"traced: {', '.join(map(str, found))}")
        trace = load_trace(found[min(found) if trial is None else trial])
        if trace.run_id != self.run_id:
            raise Error("this trace is of another run", trace.path, f"it is not of {self.path}")
        return trace

    def events(self, trial=None, ranks=None):
        """One row for each kernel and copy of a traced trial: see Trace.events."""
        return self.trace(trial).events(ranks)
