# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""What the plots have in common."""
import textwrap

import matplotlib.pyplot
import matplotlib.ticker

from ..errors import Error

# Okabe and Ito's colours, which people with any colour vision can tell apart.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000"]
VERDICT_COLOURS = {"better": "#009E73", "worse": "#D55E00", "no_difference": "#56B4E9", "not_decided": "#999999"}


def plain(text):
    """One line of text as it is drawn: no mathematics, no control characters."""
    return "".join(one if one.isprintable() else f"\\x{ord(one):02x}" for one in str(text)).replace("$", r"\$")


def axes(ax, width=7.0, height=4.5):
    return ax if ax is not None else matplotlib.pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def title(ax, synthetic, *texts):
    """Sets the title: lines of text, wrapped, and a mark if nothing was measured."""
    width = int(ax.figure.get_figwidth() * 9)
    lines = [line for text in (*texts, "[SYNTHETIC: nothing was measured]" if synthetic else "") for line in textwrap.wrap(text, width)]
    ax.set_title("\n".join(map(plain, lines)), fontsize="medium")


def only(frame, where, what, **wanted):
    """The rows in which each column has the wanted value; None: any.

    Raises:
        Error: no row has them; the message lists the values there are.
    """
    for column, value in wanted.items():
        if value is None:
            continue
        if column not in frame.columns or not (frame[column] == value).any():
            there = sorted(map(str, frame[column].unique())) if column in frame.columns else []
            raise Error(f"there are no {what} with {column} {value!r}", where, f"there are: {', '.join(there)}" if there else "")
        frame = frame[frame[column] == value]
    if frame.empty:
        raise Error(f"there are no {what} to plot", where)
    return frame


def one_value(frame, where, what, *columns):
    """Raises Error if rows differ in one of these columns, because they cannot share a curve."""
    for column in columns:
        values = sorted(map(str, frame[column].unique()))
        if len(values) > 1:
            raise Error(f"the {what} differ in {column}", where, f"choose one with {column}=...: {', '.join(values)}")


def size_text(size_bytes, _=None):
    """Bytes with a binary suffix where that is exact, as ncclprobe prints them: 64K, 1M, 1000."""
    size, suffix = int(size_bytes), ""
    for larger in "KMGT":
        if size < 1024 or size % 1024:
            break
        size, suffix = size // 1024, larger
    return f"{size}{suffix}"


def size_axis(ax, sizes):
    """A logarithmic axis of message sizes, with a tick at each size that fits."""
    sizes = sorted(set(sizes))
    ax.set_xscale("log", base=2)
    ax.set_xticks(sizes[::max(1, -(-len(sizes) // 12))])
    ax.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(size_text))
    ax.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    ax.set_xlabel("message size, bytes")
