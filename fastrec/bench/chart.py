# SPDX-License-Identifier: Apache-2.0
"""Draw one chart of a run: the speed relative to TensorFlow, job by job."""

from __future__ import annotations

import io
import math
import os
from typing import Any

from .engine import Comparison, ratio
from .jobs import OURS, Entry
from .suite import Run

__all__ = ["NothingToDraw", "draw"]

_THEIRS = Entry("tensorflow")

# Title, job, ours, theirs.
_PANELS = (
    ("iterate over records", "iterate", Entry(OURS), _THEIRS),
    ("parse into batches", "parse", Entry(OURS), _THEIRS),
    ("shuffle the whole dataset", "shuffle", Entry(OURS, "whole dataset"),
     Entry("tensorflow", "whole dataset")),
    ("read GZIP", "gzip", Entry(OURS), _THEIRS),
    ("write rows", "write", Entry(OURS, "rows"), _THEIRS),
    ("write columns", "write", Entry(OURS, "columns"), _THEIRS),
)  # fmt: skip

_MOST_BARS = 7

_OURS_COLOUR, _TEXT, _FAINT = "#2a6f97", "#222222", "#8a8a8a"


class NothingToDraw(Exception):
    """Raised if the run compared nothing with TensorFlow."""


Bar = tuple[str, float, float, float]


def _bars(comparisons: list[Comparison], ours: Entry, theirs: Entry) -> list[Bar]:
    bars = []
    for comparison in comparisons:
        mine, peer = comparison.of(ours), comparison.of(theirs)
        if mine is None or peer is None or not mine.seconds or not peer.seconds:
            continue
        if mine.agrees is False or peer.agrees is False:
            continue
        value, low, high = ratio(peer, mine)
        if not math.isnan(value):
            bars.append((comparison.case.name, value, low, high))
    return bars


def _panel(axes: Any, title: str, bars: list[Bar]) -> None:
    places = range(len(bars))[::-1]
    axes.barh(places, [bar[1] for bar in bars], 0.62, color=_OURS_COLOUR)
    for place, (_, value, low, high) in zip(places, bars):  # noqa: B905
        axes.plot([min(low, value), max(high, value)], [place, place], color=_TEXT, linewidth=0.9)
        axes.text(max(high, value) * 1.02, place, f" {value:.1f}x", va="center", color=_TEXT,
                  fontsize=8)  # fmt: skip
    axes.axvline(1, color=_FAINT, linewidth=1, linestyle=(0, (3, 2)))
    axes.set_yticks(list(places), [bar[0] for bar in bars], fontsize=8, color=_TEXT)
    # Bars keep one thickness, whatever their number.
    axes.set_ylim(len(bars) - _MOST_BARS - 0.5, len(bars) - 0.5)
    axes.set_title(title, fontsize=9, loc="left", color=_TEXT)
    axes.set_xlim(0, max(max(bar[3], bar[1]) for bar in bars) * 1.22)
    axes.tick_params(axis="x", labelsize=7, colors=_FAINT)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(_FAINT)


def draw(run: Run, path: str) -> bytes:
    """Return the image in the format that the suffix of `path` names, PNG by default.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    NothingToDraw
        If TensorFlow took part in no comparison.
    """
    from matplotlib.figure import Figure

    panels = []
    for title, job, ours, theirs in _PANELS:
        comparisons = [c for c in run.comparisons if c.job.name == job]
        if bars := _bars(comparisons, ours, theirs):
            panels.append((title, bars))
    if not panels:
        raise NothingToDraw("no job was compared with TensorFlow")
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(3.3 * columns, 0.5 + 2.1 * rows), layout="constrained", dpi=130)
    for number, (title, bars) in enumerate(panels):
        _panel(figure.add_subplot(rows, columns, number + 1), title, bars)
    versions = f"TensorFlow {run.versions.get('tensorflow', '')}"
    figure.suptitle(f"fastrec, times as fast as {versions}", fontsize=10, x=0.01, ha="left",
                    color=_TEXT)  # fmt: skip
    caption = f"{run.about['cpu']}, {run.about['cpus']} processors; lines: least to most"
    figure.supxlabel(caption, fontsize=7, color=_FAINT, x=0.01, ha="left")
    image = io.BytesIO()
    figure.savefig(image, format=os.path.splitext(path)[1][1:] or "png")
    return image.getvalue()
