# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Turns what a command left behind into a flat dictionary that can be compared: what to value."""

import csv
import io
import json
import re
import tomllib

import h5py

from cases import Depth, Form

# What differs from run to run, in the order in which it is replaced.
CHANGING_TEXT = (
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"ncclprobe-\d{8}\S*\.h5"), "<run file>"),
    (re.compile(r"\bbuild [0-9a-f]{12}\b"), "build <hash>"),
    (re.compile(r"\b(process|pid|PID) \d+"), r"\1 <pid>"),
)
# Keys of JSON and columns of CSV whose values are of the host's present state, or of the wall clock.
CHANGING_KEYS = {"uptime_s", "memory_used_bytes", "memory_available_bytes", "free_bytes", "pid"}
# The same where only the whole place tells: clocks of hosts are read even where ranks are made up.
CHANGING_PLACES = re.compile(r"clock\.csv\[\d+\]\.(at_ns|aligned_ns)$")
# With Depth.SHAPE only these values are compared; of all others their type.
LABEL_KEYS = {
    "algorithm", "backend", "check_method", "checked_elements", "data", "direction", "effect", "from", "id", "is_default",
    "iterations", "kind", "method", "mode", "name", "op", "outcome", "placement", "purpose", "ranks", "replicate", "root",
    "schema", "setting", "severity", "status", "size_bytes", "synthetic", "timing_mode", "to", "trial", "type", "unit", "variant",
    "version", "workload", "wrong_elements", "planned_trials", "finished_trials", "seed",
}
FINDING = re.compile(r"\bD\d\d\b")
# What a sentence says beside its words: numbers, names of variables, files, versions.
FACT = re.compile(r"[^\s,;:()'\"]*[\d_/=][^\s,;:()'\"]*")
PROGRESS = re.compile(r"\[\d+/\d+\] ")
# Sorted before they are compared, as the program collects them in no order.
UNORDERED_KEYS = {"libraries"}


class Normal:
    """Replaces what differs from run to run. `places` are pairs of a path and its name."""

    def __init__(self, places):
        self.places = sorted(places, key=lambda place: -len(place[0]))

    def text(self, text):
        for path, name in self.places:
            text = text.replace(path, name)
        for pattern, name in CHANGING_TEXT:
            text = pattern.sub(name, text)
        return text

    def value(self, value):
        """Numbers by value to nine digits, text without what changes."""
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, (int, float)):
            return f"{value:.9g}"
        return self.text(str(value))


def type_name(value):
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    return "null" if value is None else "text"


def put_text(seen, what, text):
    """A sentence is compared twice: its words, which may be improved, and the facts in it, which must stay."""
    if text.count(" ") < 2:
        seen[what] = text
        return
    seen[what] = " ".join(sorted(FACT.findall(text)))
    seen[f"wording:{what}"] = text


def put_tree(seen, what, tree, depth, normal, key=""):
    """A value of JSON or TOML. With Depth.SHAPE items of lists fall together."""
    if key in CHANGING_KEYS:
        seen[what] = "<changing>"
    elif isinstance(tree, dict):
        for name, value in tree.items():
            put_tree(seen, f"{what}.{name}", value, depth, normal, name)
    elif isinstance(tree, list):
        items = sorted(tree, key=json.dumps) if key in UNORDERED_KEYS else tree
        seen[f"{what}.length"] = len(items) if depth is Depth.VALUES else "list"
        for index, value in enumerate(items):
            put_tree(seen, f"{what}[{index if depth is Depth.VALUES else '*'}]", value, depth, normal, key)
    elif depth is Depth.SHAPE:
        put_shape(seen, what, key, tree, normal)
    elif isinstance(tree, str):
        put_text(seen, what, normal.text(tree))
    else:
        seen[what] = normal.value(tree)


def put_shape(seen, what, key, value, normal):
    """The set of labels or types that stand there. Null beside a type is that type: not all is always known."""
    one = str(normal.value(value)) if key in LABEL_KEYS else type_name(value)
    known = set(seen.get(what, "").split("|")) | {one}
    known = {each for each in known if each}
    seen[what] = "|".join(sorted(known - {"null"} or known))


def put_csv(seen, what, text, depth, normal):
    rows = list(csv.reader(io.StringIO(text)))
    header = rows[0] if rows else []
    seen[f"{what}:columns"] = ",".join(header)
    seen[f"{what}.length"] = len(rows)
    for number, row in enumerate(rows[1:]):
        for name, cell in zip(header, row):
            try:
                value = float(cell)
            except ValueError:
                value = cell or None
            if depth is Depth.SHAPE:
                put_shape(seen, f"{what}[*].{name}", name, value, normal)
            else:
                place = f"{what}[{number}].{name}"
                changing = name in CHANGING_KEYS or CHANGING_PLACES.search(place)
                seen[place] = "<changing>" if changing else normal.value(value)


OPTION = re.compile(r" {1,4}(-\w|(?:-\w, ?)?--[\w-]+(?:,--[\w-]+)*)(?= |$)(.*)")
RELATIONS = re.compile(r"\b(?:Excludes|Needs):(?:\s+--?[\w-]+| (?!Excludes|Needs|REQUIRED)\w+\b)*|\bREQUIRED\b|:[A-Z]+ in \[.*?\]|:\{.*?\}")
DEFAULT = re.compile(r"(?:[(\[]|[;,] |^)[Dd]efault:? ([^;,)\]]+)|([\w-]+) \(default\)")


def put_help(seen, text):
    """Options with the name of their value and their default, and the sub-commands."""
    entries, commands, heading = [], [], ""
    for line in text.splitlines():
        if line and not line[0].isspace():
            heading = line
        option = OPTION.match(line)
        if heading.startswith("Example"):
            continue
        if entries and re.search(r"Excludes:[^a-z]*--[\w -]*$", entries[-1][1]) and re.fullmatch(r"\s*(--[\w-]+\s*)+", line):
            entries[-1][1] += f" {line.strip()}"
        elif option:
            entries.append([option.group(1), option.group(2)])
        elif entries and re.match(r" {12,}\S", line):
            entries[-1][1] += f"  {line.strip()}"
        elif re.match(r"(Sub)?[Cc]ommands:", heading) and re.match(r" {2}\w", line):
            commands.append(line.split()[0])
    seen["commands"] = " ".join(commands)
    for names, rest in entries:
        value, _, about = RELATIONS.sub("", rest).replace(" ...", " ").partition("  ")
        about = " ".join(about.split())
        default = "; ".join(first or second for first, second in DEFAULT.findall(about))
        for name in re.findall(r"--?[\w-]+", names):
            seen[f"option:{name}"] = value.strip()
            seen[f"default:{name}"] = default
            seen[f"relations:{name}"] = " ".join(" ".join(RELATIONS.findall(rest)).split())
            seen[f"wording:option:{name}"] = about


def put_stdout(seen, case, text, normal, every_line):
    if case.form is Form.JSON and text.startswith(("{", "[")):
        put_tree(seen, "json", json.loads(text), case.depth, normal)
    elif case.form is Form.CSV:
        put_csv(seen, "csv", text, case.depth, normal)
    elif case.form is Form.TOML and text:
        put_tree(seen, "toml", tomllib.loads(text), case.depth, normal)
    elif case.form is Form.HELP:
        put_help(seen, text)
    else:
        seen["stdout"] = "something" if text else "nothing"
        seen["findings"] = " ".join(sorted(set(FINDING.findall(text))))
    if case.form is Form.FACTS:
        seen["facts"] = " ".join(sorted(FACT.findall(normal.text(text))))
    if case.form is Form.LINES or (every_line and case.form in (Form.TEXT, Form.FACTS) and case.depth is Depth.VALUES):
        seen["lines"] = tuple(normal.text(text).splitlines())


def put_hdf5(seen, what, path, depth, normal):
    """Groups, datasets with their types and lengths, attributes. Text of attributes by value, `about` as wording."""

    def attributes(name, thing):
        for key, value in thing.attrs.items():
            text = [one.decode() if isinstance(one, bytes) else str(one) for one in getattr(value, "flat", [value])]
            attribute = f"{what}:{name}@{key}"
            if key == "about":
                seen[f"wording:{attribute}"] = text[0]
            elif isinstance(value, (int, float)) or getattr(value, "dtype", "").__str__()[:1] in "uif" and key != "labels":
                seen[attribute] = "number"
            else:
                seen[attribute] = normal.text(" ".join(text))

    def visit(name, thing):
        attributes(f"/{name}", thing)
        if isinstance(thing, h5py.Dataset):
            # Lengths of texts follow those of paths.
            counted = depth is Depth.VALUES and not re.search(r"^(strings|run)/", name)
            seen[f"{what}:/{name}"] = f"{thing.dtype} {thing.shape if counted else thing.ndim}"
        else:
            seen[f"{what}:/{name}"] = "group"

    with h5py.File(path) as file:
        attributes("/", file)
        file.visititems(visit)


def put_file(seen, path, name, depth, normal):
    what = f"file:{name}"
    if path.suffix == ".h5":
        put_hdf5(seen, what, path, depth, normal)
    elif path.suffix == ".json":
        put_tree(seen, what, json.loads(path.read_text()), depth, normal)
    elif path.suffix == ".csv":
        put_csv(seen, what, path.read_text(), depth, normal)
    elif path.suffix == ".svg":
        seen[what] = tuple(normal.text(path.read_text()).splitlines())
    else:
        seen[what] = f"{path.stat().st_size} bytes"


def observe(case, done, made, normal, every_line):
    """`done` is the completed process; `made` the files that it made or changed, by their name in the folder."""
    seen = {"exit": done.returncode}
    said = [line for line in normal.text(done.stderr).splitlines() if line.strip() and not PROGRESS.match(line)]
    put_text(seen, "stderr", said[0] if said else "")
    put_stdout(seen, case, done.stdout, normal, every_line)
    seen["files"] = " ".join(sorted(made))
    for name, path in made.items():
        put_file(seen, path, name, case.depth, normal)
    return seen
