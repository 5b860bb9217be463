# SPDX-License-Identifier: Apache-2.0
"""Draw the chart of the front page from the table in README.md: ``python docs/chart.py``.

There are two drawings, for light and dark pages. A test compares both with the table.
"""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parent
ROW = "parse into batches"
NAMES = {
    "cifar": "small images", "photo": "JPEG photos", "tabular": "tabular rows", "tokens": "tokens",
    "embed": "embeddings", "ragged": "ragged values",
}  # fmt: skip
COLORS = {"light": ("#1b1f23", "#0b62c4", "#57606a"), "dark": ("#e4e8eb", "#6cb2ff", "#9aa4ad")}
_LEFT, _WIDE, _STEP = 130, 420, 30


def factors(readme: str) -> dict[str, float]:
    """Return the measured factors of one row of the table by dataset."""
    head = re.search(r"^\| times as fast as TensorFlow \|(.*)\|$", readme, re.MULTILINE)
    row = re.search(rf"^\| {ROW} \|(.*)\|$", readme, re.MULTILINE)
    if head is None or row is None:
        raise ValueError(f"README.md has no row {ROW!r}")
    names, cells = ([cell.strip() for cell in found[1].split("|")] for found in (head, row))
    return {name: float(cell) for name, cell in zip(names, cells, strict=True)}


def drawing(values: dict[str, float], theme: str) -> str:
    """Return the chart as SVG."""
    text, bar, faint = COLORS[theme]
    most, height = max(values.values()), 44 + _STEP * len(values)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="{height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="14">',
        "<title>Parsing into batches, times as fast as TensorFlow</title>",
        f'<text x="0" y="16" fill="{text}" font-weight="600">'
        "Parsing into batches, times as fast as tf.data</text>",
        f'<text x="640" y="16" fill="{faint}" text-anchor="end">two processors</text>',
    ]
    for number, (name, value) in enumerate(values.items()):
        y, width = 34 + _STEP * number, round(_WIDE * value / most, 1)
        lines += [
            f'<text x="{_LEFT - 10}" y="{y + 15}" fill="{text}" text-anchor="end">'
            f"{NAMES[name]}</text>",
            f'<rect x="{_LEFT}" y="{y}" width="{width}" height="20" rx="3" fill="{bar}"/>',
            f'<text x="{_LEFT + width + 8}" y="{y + 15}" fill="{text}">{value:g}</text>',
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def main() -> None:
    values = factors((DOCS.parent / "README.md").read_text(encoding="utf-8"))
    for theme in COLORS:
        (DOCS / f"speed-{theme}.svg").write_text(drawing(values, theme), encoding="utf-8")


if __name__ == "__main__":
    main()
