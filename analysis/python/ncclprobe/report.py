# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Asks ncclprobe-report what a run means."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

from .errors import Error

PROGRAM, VARIABLE = "ncclprobe-report", "NCCLPROBE_REPORT"
VERSION = 1 # of the documents, which docs/schemas/ describes


def find_program(named=None):
    """The path of ncclprobe-report: `named`, else $NCCLPROBE_REPORT, else beside this Python, else in PATH.

    Raises:
        Error: it is nowhere.
    """
    named = named or os.environ.get(VARIABLE)
    if named:
        found = shutil.which(named)
        if not found:
            raise Error("there is no such program", named, f"{VARIABLE} and report_program= name the file {PROGRAM} of your ncclprobe")
        return found
    found = shutil.which(PROGRAM, path=str(pathlib.Path(sys.executable).parent)) or shutil.which(PROGRAM)
    if not found:
        raise Error("not found beside this Python or in PATH; it computes results and verdicts", PROGRAM,
                    f"add ncclprobe's bin folder to PATH, or set {VARIABLE}=/opt/ncclprobe/bin/{PROGRAM}")
    return found


def read_report(path, run_id, program=None):
    """The report of a run as `ncclprobe-report RUN.h5 --format json` prints it.

    Args:
        path: the run file.
        run_id: the run that the report must be of.
        program: see find_program.
    Raises:
        Error: there is no such program, or it refuses the file, or its document is of another version or run.
    """
    program = find_program(program)
    try:
        done = subprocess.run([program, str(pathlib.Path(path).resolve()), "--format", "json"], stdin=subprocess.DEVNULL,
                              capture_output=True, check=False)
    except OSError as error:
        raise Error(f"cannot be started: {error.strerror}", program) from error
    if done.returncode != 0:
        raise Error(f"ended with exit code {done.returncode}: {done.stderr.decode(errors='replace').strip()}", program)
    try:
        report = json.loads(done.stdout)
    except ValueError as error:
        raise Error("its output is no JSON", program, f"is this {PROGRAM}?") from error
    if report.get("schema_version") != VERSION:
        raise Error(f"its reports have version {report.get('version')}; this package reads {VERSION}", program,
                    "install the Python package of the same ncclprobe")
    if report["run"]["run_id"] != run_id:
        raise Error(f"the file now holds another run than the one that was opened ({run_id})", path, "open it again")
    return report
