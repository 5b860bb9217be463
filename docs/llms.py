# SPDX-License-Identifier: Apache-2.0
"""Write ``llms.txt`` (https://llmstxt.org) and the Markdown source of each page into the site."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

__all__ = ["write"]

_SUMMARY = "Read, check, shuffle, batch and write TFRecord files from Python, without TensorFlow."


def write(site: Path, pages: Mapping[str, str]) -> None:
    """Write the sources of pages by name, and the list of them."""
    lines = ["# fastrec", "", f"> {_SUMMARY}", "", "## Pages", ""]
    for name, markdown in pages.items():
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(markdown, encoding="utf-8")
        title = re.search(r"^# (.+)$", markdown, re.MULTILINE)
        lines.append(f"- [{title[1] if title else name}]({name})")
    (site / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
