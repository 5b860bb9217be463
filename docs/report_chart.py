# SPDX-License-Identifier: Apache-2.0
"""Draw the chart of docs/fast-loading.md from runs with four bottlenecks; requires Pillow.

``python docs/report_chart.py`` runs the loops, and replaces the drawings for light and dark pages.
"""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import fastrec

DOCS = Path(__file__).parent
STAGES = {
    "storage": "storage", "parse": "checksums, parsing", "decode": "decoding",
    "transform": "transform", "room": "full output queue",
}  # fmt: skip
THEMES = {
    "light": ("#1b1f23", ("#9a6700", "#0b62c4", "#8250df", "#bf3989", "#d0d7de")),
    "dark": ("#e4e8eb", ("#d29922", "#6cb2ff", "#bc8cff", "#f778ba", "#484f58")),
}
_LEFT, _WIDE, _STEP = 150, 380, 30


class SlowFile(io.RawIOBase):
    """A file whose reads take 20 ms and return 100,000 bytes at most."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        time.sleep(0.02)
        return self._file.readinto(memoryview(buffer)[:100_000])


def squares(batch: Any) -> Any:
    return [sum(value * value for value in row) for row in batch["x"].tolist()]


def shares(batcher: fastrec.Batcher, step: Callable[[], Any]) -> dict[str, float]:
    """Run a loop; return the shares of the time of the busiest group of threads."""
    for _ in batcher:
        step()
    report = batcher.report()
    print(report, end="\n\n")
    group = max(report.work, key=lambda each: sum(each["stages"].values()) / each["threads"])
    whole = group["threads"] * report.seconds
    seconds = group["stages"] | {"room": group["idle_s"]["room"]}
    return {stage: seconds[stage] / whole for stage in STAGES}


def measure(folder: Path) -> dict[str, dict[str, float]]:
    """Return the shares for each of four bottlenecks."""
    rng = np.random.default_rng(0)
    rows, photos = folder / "rows.tfrecord", folder / "photos.tfrecord"
    with fastrec.Writer(rows) as writer:
        writer.write_batch({"x": rng.random((20_000, 64), np.float32)})
    file = io.BytesIO()
    Image.fromarray(rng.integers(0, 255, (600, 800, 3), np.uint8)).save(file, "jpeg")
    with fastrec.Writer(photos) as writer:
        writer.write_batch({"image": [file.getvalue()] * 120})
    x = {"x": fastrec.FixedLenFeature((64,), np.float32)}
    image = {"image": fastrec.ImageFeature(shape=(600, 800))}

    def nothing() -> None:
        pass

    return {
        "slow disk": shares(fastrec.Batcher(SlowFile(rows.read_bytes()), x, 500), nothing),
        "large images": shares(fastrec.Batcher(photos, image, 4, threads=1), nothing),
        "transform in Python": shares(
            fastrec.Batcher(rows, x, 500, threads=1, transform=squares), nothing
        ),
        "slow step": shares(fastrec.Batcher(rows, x, 500), lambda: time.sleep(0.02)),
    }


def drawing(runs: dict[str, dict[str, float]], theme: str) -> str:
    """Return the chart as SVG."""
    text, colors = THEMES[theme]
    height = 56 + _STEP * len(runs)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="{height}" role="img" '
        'font-family="system-ui, sans-serif" font-size="13">',
        "<title>Time of the busiest threads, for four bottlenecks</title>",
    ]
    for number, (name, parts) in enumerate(runs.items()):
        y, x = 8 + _STEP * number, float(_LEFT)
        lines.append(
            f'<text x="{_LEFT - 10}" y="{y + 15}" fill="{text}" text-anchor="end">{name}</text>'
        )
        for color, part in zip(colors, parts.values(), strict=True):
            width = round(_WIDE * part, 1)
            lines.append(f'<rect x="{x:.1f}" y="{y}" width="{width}" height="20" fill="{color}"/>')
            x += width
    x, y = 8.0, height - 22
    for color, name in zip(colors, STAGES.values(), strict=True):
        lines += [
            f'<rect x="{x:g}" y="{y}" width="12" height="12" fill="{color}"/>',
            f'<text x="{x + 18:g}" y="{y + 11}" fill="{text}">{name}</text>',
        ]
        x += 40 + 7 * len(name)
    return "\n".join([*lines, "</svg>"]) + "\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        runs = measure(Path(folder))
    for theme in THEMES:
        (DOCS / f"report-{theme}.svg").write_text(drawing(runs, theme), encoding="utf-8")


if __name__ == "__main__":
    main()
