# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Splits the entries into a half to develop rules with and a half that is held out.

Usage: split.py [--check]

Reads development.json and held_out.json together, draws the split again and writes both files.
With --check it writes nothing and fails if the files are not as the draw gives them.

The draw depends on SEED and the ids alone. A thread is ranked by sha256(SEED + the smallest id of its
entries). In that order each thread goes to the held-out half as a whole, as long as it fits; the held-out
half ends at exactly half of all entries. A page of reference documentation is no thread: its entries
have nothing in common but the page, and each is drawn alone.
"""
import hashlib
import json
import pathlib
import sys

SEED = "ncclprobe log threads 2026"
REFERENCES = ("https://docs.nvidia.com/",)
HERE = pathlib.Path(__file__).resolve().parent
DEVELOPMENT = HERE / "development.json"
HELD_OUT = HERE / "held_out.json"


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def write(path, entries):
    path.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")


def thread_of(entry):
    """What must stay together: the thread, or the entry itself where its source is reference documentation."""
    return entry["id"] if entry["source"].startswith(REFERENCES) else entry["source"]


def draw(entries):
    """Returns (development, held out), each sorted by id."""
    if len(entries) % 2:
        raise ValueError(f"{len(entries)} entries have no half")
    threads = {}
    for entry in sorted(entries, key=lambda entry: entry["id"]):
        threads.setdefault(thread_of(entry), []).append(entry)
    ranked = sorted(threads.values(), key=lambda thread: hashlib.sha256((SEED + thread[0]["id"]).encode()).digest())
    half = len(entries) // 2
    held_out = []
    for thread in ranked:
        if len(held_out) + len(thread) <= half:
            held_out += thread
    if len(held_out) != half:
        raise ValueError("threads do not fill exactly half")
    ids = {entry["id"] for entry in held_out}
    by_id = lambda entry: entry["id"]
    return (sorted((entry for entry in entries if entry["id"] not in ids), key=by_id), sorted(held_out, key=by_id))


def main(arguments):
    development, held_out = draw(read(DEVELOPMENT) + (read(HELD_OUT) if HELD_OUT.exists() else []))
    if arguments == ["--check"]:
        return 0 if (development, held_out) == (read(DEVELOPMENT), read(HELD_OUT)) else 1
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    write(DEVELOPMENT, development)
    write(HELD_OUT, held_out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
