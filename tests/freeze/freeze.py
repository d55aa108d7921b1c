#!/usr/bin/python3
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Compares two builds of ncclprobe: exit codes, JSON and CSV values, ids of findings, options and their defaults,
variables, and the layout of run files and traces.

Usage: freeze.py OLD_BIN NEW_BIN [--only PATTERN] [--old-tree DIR] [--text]

OLD_BIN and NEW_BIN are the folders of the programs, with lib/ and test_workers/ beside them as in a build folder; copy
all three, and tests/machines, tests/freeze/examination.json, examples and docs as --old-tree, before the old ones are gone. Needs
python3-h5py. Each difference that is meant has its reason in MEANT; the exit code is 1 if another one is found.
"""

import argparse
import concurrent.futures
import fnmatch
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from cases import scenes
from compare import differences
from observe import Normal, observe

TREE = pathlib.Path(__file__).resolve().parents[2]

# Differences that are meant: name of the case, what differs (both with * and ?), and why. Indices are written [*].
MEANT = [
    ("help*", "wording:*", "help is made from the table of options and says the same in other words"),
    ("help", "commands", "help and doctor stand elsewhere in the list"),
    ("help*", "*:--help", "what all commands have is not listed for each"),
    ("help*", "*:-h", "as --help"),
    ("help*", "*:--version", "as --help"),
    ("help*", "*:-q", "every command has --quiet and --verbose"),
    ("help*", "*:-v", "every command has --quiet and --verbose"),
    ("help*", "*:--quiet", "every command has --quiet and --verbose"),
    ("help*", "*:--verbose", "every command has --quiet and --verbose"),
    ("help-*", "relations:*", "needs and conflicts are written in words, which this comparison does not read"),
    ("help-*", "default:*", "defaults that the help only described are values, and values are written as they are read"),
    ("help-*", "*:--root*", "--roots, --root is one entry, which this comparison does not read"),
    ("help-*", "option:--format", "new on this command"),
    ("help-*", "option:-f", "new on this command"),
    ("help-*", "option:--force", "new on this command"),
    ("help-*", "option:--output", "new on this command"),
    ("help-*", "option:-o", "new on this command"),
    ("help-*", "option:--gpus", "new"),
    ("help-*", "option:--setting", "new"),
    ("help-*", "option:--proof", "another name of the value"),
    ("help-*", "option:--trace", "another name of the value"),
    ("help-*", "option:--cuda", "another name of the value"),
    ("help-*", "option:--nccl", "another name of the value"),
    ("help-*", "option:--inter-node", "another name of the value"),
    ("help-*", "option:--ranks", "another name of the value"),
    ("help", "*:--resume", "the list of commands quotes no option"),
    ("bad-*", "wording:stderr", "a message begins with the command"),
    ("plan-conflict", "wording:stderr", "a message begins with the command"),
    ("p2p-bad-method", "*stderr", "a message begins with the command"),
    ("unknown-*", "*stderr", "an unknown option is said before a missing argument, with the command"),
    ("dry-run", "facts", "the expected time of a synthetic run is the time that it takes"),
    ("plan*", "toml.*timeout", "times are written in their largest whole unit"),
    ("plan*", "toml.budget", "times are written in their largest whole unit"),
    ("plan*", "toml.setting*", "keys of plan files are options of run"),
    ("plan*", "toml.axis*", "keys of plan files are options of run"),
    ("plan*", "toml.set*", "keys of plan files are options of run"),
    ("plan*", "toml.rank_set*", "keys of plan files are options of run"),
    ("plan-steps", "toml.*", "keys of plan files are options of run"),
    ("plan-file*", "*", "the case's plan file has tables that are gone"),
    ("doctor*", "*label.*", "the label of a cell in an examination is data"),
    *[("*", f"*file:{name}.h5:*", "run files have schema 2.0: tables hold each fact once and are read back")
      for name in ("cpu", "crash", "moe", "mpi", "nonsense", "pinned", "pipeline", "run", "tp", "two", "variants", "wrong")],
]

# Cases whose arguments are others for the new program: name, arguments as in cases.py, and why.
NEW_ARGUMENTS = [
]

TIME_LIMIT_S = 120
WIDEST = 60


class Side:
    """One of the two programs, with the tree that its input files are taken from."""

    def __init__(self, name, programs, tree):
        self.name, self.programs, self.tree = name, programs.resolve(), tree.resolve()
        self.workers = self.programs.parent / "test_workers"

    def arguments(self, case):
        words = case.arguments
        if self.name == "new":
            words = next((shlex.split(new) for name, new, _ in NEW_ARGUMENTS if name == case.name), words)
        return [word.format(tree=self.tree, bin=self.programs, workers=self.workers) for word in words]

    def run(self, case, folder):
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "TERM": "dumb",
                       "XDG_CACHE_HOME": str(folder / ".cache"), "OMPI_ALLOW_RUN_AS_ROOT": "1",
                       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **case.environment}
        command = [*case.launcher, str(self.programs / "ncclprobe"), *self.arguments(case)]
        program = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            if case.interrupt:
                interrupt_after_first_trial(program, folder)
            stdout, stderr = program.communicate(timeout=TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            program.kill()
            stdout, stderr = program.communicate()
        return subprocess.CompletedProcess(command, program.returncode, stdout, stderr)

    def normal(self, folder):
        return Normal([(str(folder), "<scratch>"), (str(self.programs), "<bin>"), (str(self.workers), "<workers>"),
                       (str(self.tree), "<tree>")])


def interrupt_after_first_trial(program, folder):
    while program.poll() is None and not list(folder.glob("*.parts/trial-*")):
        time.sleep(0.005)
    program.send_signal(signal.SIGINT)


def stamps(folder):
    """Every file that a user sees, with its time of change."""
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, path) for path in folder.rglob("*")
            if path.is_file() and not path.relative_to(folder).parts[0].startswith(".")}


def run_scene(side, cases, every_line):
    """What each case of a scene left behind, in order; cases that lack their workers are None."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"freeze-{side.name}-"))
    try:
        seen = {}
        for case in cases:
            if any("{workers}" in word for word in case.arguments) and not side.workers.is_dir():
                seen[case.name] = None
                continue
            for name, content in case.files.items():
                (folder / name).write_text(content)
            before = stamps(folder)
            done = side.run(case, folder)
            made = {name: path for name, (when, path) in stamps(folder).items()
                    if before.get(name, (None,))[0] != when and ".parts/" not in name}
            seen[case.name] = observe(case, done, made, side.normal(folder), every_line)
        return seen
    finally:
        shutil.rmtree(folder)


def reason_for(case, what):
    for number, (name, pattern, reason) in enumerate(MEANT):
        # Brackets of indices are no sets of characters here.
        if fnmatch.fnmatchcase(case, name) and fnmatch.fnmatchcase(what, pattern.replace("[", "[[]")):
            return number, reason
    return None, None


def short(value):
    text = str(value)
    return text if len(text) <= WIDEST else text[:WIDEST - 3] + "..."


def report(found, ran, missing):
    """Prints all differences and returns how many have no reason."""
    used, without = set(), 0
    for (case, what), pairs in sorted(found.items()):
        number, reason = reason_for(case, what)
        used.add(number)
        without += reason is None
        old, new = pairs[0]
        times = f" (and {len(pairs) - 1} more)" if len(pairs) > 1 else ""
        print(f"{'meant ' if reason else 'DIFFER'}  {case:24} {what}{times}\n{'':8}{short(old)}  ->  {short(new)}"
              + (f"\n{'':8}because {reason}" if reason else ""))
    for number, (case, what, reason) in enumerate(MEANT):
        if number not in used:
            print(f"unused  {case:24} {what}: {reason}")
    for case in missing:
        print(f"not run {case}: no test_workers beside the programs")
    print(f"{ran} commands with each program, {len(found)} kinds of difference, {without} without a reason")
    return without


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", metavar="OLD_BIN", type=pathlib.Path)
    parser.add_argument("new", metavar="NEW_BIN", type=pathlib.Path)
    parser.add_argument("--only", metavar="PATTERN", default="*", help="only scenes that match, such as doctor or p*")
    parser.add_argument("--old-tree", metavar="DIR", type=pathlib.Path, default=TREE,
                        help="where OLD_BIN finds tests/machines, examples and docs (default: this tree)")
    parser.add_argument("--text", action="store_true", help="compare every line of text for people too")
    arguments = parser.parse_args()
    sides = Side("old", arguments.old, arguments.old_tree), Side("new", arguments.new, TREE)
    for side in sides:
        if not (side.programs / "ncclprobe").is_file():
            sys.exit(f"freeze.py: no program ncclprobe in {side.programs}")
    # The list of variables is the new tree's for both, so that both get the same environment.
    chosen = {name: cases for name, cases in scenes(TREE).items() if fnmatch.fnmatchcase(name, arguments.only)}
    if not chosen:
        sys.exit(f"freeze.py: no scene matches {arguments.only}")

    found, missing, ran = {}, [], 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {name: [pool.submit(run_scene, side, cases, arguments.text) for side in sides]
                   for name, cases in chosen.items()}
        for name, pair in running.items():
            old, new = (one.result() for one in pair)
            for case in chosen[name]:
                if old[case.name] is None or new[case.name] is None:
                    missing.append(case.name)
                    continue
                ran += 1
                found.update(differences(case, old[case.name], new[case.name]))
    return 1 if report(found, ran, missing) else 0


if __name__ == "__main__":
    sys.exit(main())
