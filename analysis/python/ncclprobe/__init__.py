# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Run files and traces of ncclprobe as pandas frames.

    import ncclprobe
    run = ncclprobe.load("run.h5")
    run.samples     # one row for each timed batch and rank, from the file
    run.results     # one row for each setting and cell, as `ncclprobe report` computes it
    run.verdicts    # each setting against the default, as `ncclprobe report` decides it
    run.events()    # one row for each kernel and copy of a traced trial

What was measured is read from the file. What it means (medians, intervals, verdicts, shares of a step) is computed by
the program ncclprobe-report and never by this package. Plots are in ncclprobe.plots, which is loaded when it is first used and
needs matplotlib.
"""
import importlib

from .errors import Error
from .run import Run, load
from .trace import Trace, load_trace

__all__ = ["Error", "Run", "Trace", "load", "load_trace", "plots"]


def __getattr__(name):
    if name != "plots":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return importlib.import_module(".plots", __name__)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "matplotlib":
            raise
        raise Error("plots need matplotlib, which is not installed", __name__, "apt-get install python3-matplotlib") from None
