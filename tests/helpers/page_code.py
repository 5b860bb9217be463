# SPDX-License-Identifier: Apache-2.0
"""Programs of the documentation's pages, to be run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"


def block_of(page: str, *parts: str, body: str | None = None) -> str:
    """Return the only Python block of a page that contains these parts.

    `body` replaces the body of a loop that the page leaves out.
    """
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (code,) = (block for block in blocks if all(part in block for part in parts))
    if body is not None:
        assert " ...\n" in code
        code = code.replace(" ...\n", f" {body}\n")
    return str(code)


def run_page(name: str, names: dict[str, Any], without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Run the Python blocks of a page, which see `names`, and return their variables.

    Blocks that contain a text in `without` are left out, for what they import is not installed.
    """
    page = (DOCS / name).read_text(encoding="utf-8")
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        if not any(text in code for text in without):
            exec(compile(code, name, "exec"), names)
    return names
