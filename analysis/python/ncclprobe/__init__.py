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
the program ncclprobe-report and never by this package. Plots are in ncclprobe.plots, which needs matplotlib.
"""
from .errors import Error
from .run import Run, load
from .trace import Trace, load_trace

__all__ = ["Error", "Run", "Trace", "load", "load_trace"]
