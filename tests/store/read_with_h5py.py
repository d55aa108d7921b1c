# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""read_with_h5py.py RUN.h5 EXPECTED.json: reads a run file the way its documentation (src/store/run_form.h)
says, with h5py and nothing of ours. Exits with 77 where there is no h5py."""
import json
import sys

try:
    import h5py
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)

f = h5py.File(sys.argv[1], "r")
blob = f["strings/blob"][:].tobytes()
at = f["strings/offset"][:]
expected = json.load(open(sys.argv[2]))


def raw(i):
    return blob[at[i]:at[i + 1]]


def text(i):
    return raw(i).decode(errors="replace")


def labels(column):
    names = f[column].attrs["labels"]
    return [names[value] for value in f[column][:]]


def values(column):
    missing = f[column].attrs["missing"]
    return [None if value == missing else value for value in f[column][:].tolist()]


def same(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: {got!r} instead of {wanted!r}")


same("schema", f.attrs["schema"], "ncclprobe.run")
same("schema version", list(f.attrs["schema_version"]), [2, 0])
same("kind", f.attrs["kind"], "run")
same("run_id", text(f["run/run_id"][0]), expected["run_id"])
same("seed", int(f["run/seed"][0]), expected["seed"])
same("synthetic", int(f["run/synthetic"][0]), 1)
same("argv", json.loads(text(f["run/argv"][0])), expected["argv"])
same("GPUs", len(f["gpus/uuid"]), expected["gpus"])

trials = expected["trials"]
same("trial ids", f["trials/id"][:].tolist(), [t["id"] for t in trials])
same("trial names", [text(i) for i in f["trials/name"][:]], [t["name"] for t in trials])
same("outcomes", labels("trials/outcome_kind"), [t["outcome"] for t in trials])
same("reasons", [text(i) for i in f["trials/outcome_reason"][:]], [t["reason"] for t in trials])
workloads = {}
for table, column, words in (("collective_cells", "collective", "{}"), ("p2p_cells", "method", "p2p_{}"),
                             ("step_cells", "pattern", "{}_step")):
    for cell, label in zip(f[f"{table}/cell"][:].tolist(), labels(f"{table}/{column}")):
        workloads[cell] = words.format(label)
cells = zip((workloads[i] for i in range(len(f["cells/bytes"]))), f["cells/bytes"][:].tolist(),
            labels("cells/type"), labels("cells/outcome_kind"))
same("cells", [list(c) for c in cells], [c for t in trials for c in t["cells"]])
tails = [raw(i).hex() for i in f["workers/output_tail"][:]]
same("captured output", tails, [h for t in trials for h in t["tails_hex"]])
columns = [f["samples/" + name][:].tolist() for name in ("cell", "rank", "batch", "iterations", "elapsed_ns")]
same("samples", [list(row) for row in zip(*columns)], expected["samples"])
same("purposes", labels("trials/purpose"), [t["purpose"] for t in trials])
same("timing modes", labels("cells/timing_mode"), expected["timing_modes"])
collectives = zip(f["collective_cells/cell"][:].tolist(), f["collective_cells/split"][:].tolist(),
                  labels("collective_cells/memory"))
same("collectives", [list(row) for row in collectives], expected["collectives"])
transfers = [f["p2p_transfers/" + name][:].tolist() for name in ("from_host", "from_rank", "to_host", "to_rank")]
same("transfers", [list(row) for row in zip(*transfers)], expected["transfers"])
steps = zip(f["step_cells/cell"][:].tolist(), *([text(i) for i in f["step_cells/" + name][:]] for name in ("model", "ranks")))
same("steps", [list(row) for row in steps], expected["steps"])
conditions = zip(f["conditions/cell"][:].tolist(), labels("conditions/when"),
                 values("conditions/temperature_c"), values("conditions/throttle_reasons"))
same("memory used", values("conditions/memory_used_bytes"), expected["memory_used"])
marks = [f["marks/" + name][:].tolist() for name in ("cell", "rank", "batch", "iteration", "operation", "at_ns")]
same("marks", [list(row) for row in zip(*marks)], expected["marks"])
same("conditions", [list(row) for row in conditions], expected["conditions"])
logs = [raw(i).hex() for i in f["evidence/log"][:]]
same("evidence", [list(row) for row in zip(f["evidence/trial"][:].tolist(), f["evidence/rank"][:].tolist(), logs)],
     expected["evidence"])
choices = zip(f["choices/evidence"][:].tolist(), f["choices/cell"][:].tolist(),
              (text(i) for i in f["choices/algorithm"][:]), f["choices/count"][:].tolist())
same("choices", [list(row) for row in choices], expected["choices"])

# Every column of a table has the same length, says what it is, and is compressed if that pays.
for name, table in f.items():
    if name == "strings":
        continue
    same(f"lengths in /{name}", len({len(column) for column in table.values()}), 1)
    for column in table.values():
        same(f"{column.name}.about", len(column.attrs["about"]) > 3, True)
elapsed = f["samples/elapsed_ns"]
same("filters", (elapsed.shuffle, elapsed.compression, elapsed.compression_opts, elapsed.fletcher32),
     (True, "gzip", 1, True))
