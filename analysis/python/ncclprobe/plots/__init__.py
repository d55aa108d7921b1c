# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Plots of a run with matplotlib.

Each function takes a Run (or a Trace), draws into `ax` (a new figure without it) and returns the Axes. A plot of a synthetic
run says SYNTHETIC in its title. Each raises ncclprobe.Error if the run has nothing to draw.

    import ncclprobe, ncclprobe.plots
    ncclprobe.plots.busbw(ncclprobe.load("run.h5"), workload="all_reduce").figure.savefig("busbw.svg")
"""
from .busbw import busbw
from .links import links
from .steps import scaling, steps
from .timeline import timeline
from .verdicts import verdicts

__all__ = ["busbw", "links", "scaling", "steps", "timeline", "verdicts"]
