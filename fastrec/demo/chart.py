# SPDX-License-Identifier: Apache-2.0
"""Draw a chart of a few speeds as a PNG."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping

from fastrec.demo.contact_sheet import MARGIN, PAPER, TITLE, font
from fastrec.features.image_libraries import pillow
from fastrec.records.targets import write_file

__all__ = ["chart"]

_WIDTH, _HEADER, _STEP, _BAR, _LABEL, _VALUE = 680, 44, 40, 24, 190, 80
_OURS, _OTHERS = (108, 178, 255), (120, 128, 140)


def chart(
    path: str | os.PathLike[str],
    values: Mapping[str, float],
    *,
    title: str,
    overwrite: bool = False,
) -> tuple[int, int]:
    """Write a chart with a bar for each value; the first bar, which is ours, has another colour.

    Returns
    -------
    (int, int)
        Width and height of the chart, in pixels.

    Raises
    ------
    OSError
        If the file cannot be written.
    ImportError
        If Pillow is not installed.
    """
    image_module = pillow()
    from PIL import ImageDraw

    height = _HEADER + _STEP * len(values) + MARGIN // 2
    image = image_module.new("RGB", (_WIDTH, height), PAPER)
    draw = ImageDraw.Draw(image)
    draw.text((MARGIN, _HEADER // 2), title, fill=TITLE, font=font(15), anchor="lm")
    longest = _WIDTH - _LABEL - _VALUE - MARGIN
    for number, (name, value) in enumerate(values.items()):
        top, middle = _HEADER + _STEP * number, _HEADER + _STEP * number + _BAR // 2
        right = _LABEL + max(2, round(longest * value / max(values.values())))
        draw.text((_LABEL - 10, middle), name, fill=TITLE, font=font(13), anchor="rm")
        colour = _OTHERS if number else _OURS
        draw.rectangle((_LABEL, top, right, top + _BAR), fill=colour)
        draw.text((right + 8, middle), f"{value:,.0f}", fill=TITLE, font=font(13), anchor="lm")
    png = io.BytesIO()
    image.save(png, format="PNG")
    write_file(path, png.getvalue(), overwrite=overwrite)
    return _WIDTH, height
