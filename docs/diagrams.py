# SPDX-License-Identifier: Apache-2.0
"""Draw docs/diagrams/*.dot as SVG with Graphviz: ``python docs/diagrams.py`` writes them anew.

The drawings are kept, so that pages show them where there is no Graphviz. Each names the checksum
of its text, and the tests compare these. Colours follow those of the page, light or dark.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "diagrams"
# By the names that the texts have; translucent, so that they are tints of light and of dark pages.
TINTS = {"blue": "#3b82f6", "green": "#22a06b", "orange": "#e08a1e", "red": "#e5484d",
         "grey": "#888888"}  # fmt: skip
STYLE = (
    "<style>svg{color:#24292f}@media(prefers-color-scheme:dark){svg{color:#e6edf3}}"
    "text{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif}</style>"
)


def digest(source: str) -> str:
    """What ties a drawing to its text, and to this program."""
    return hashlib.sha256((Path(__file__).read_text("utf-8") + source).encode()).hexdigest()[:16]


def draw(source: str, title: str) -> str:
    """A drawing of a text in the language of Graphviz."""
    command = ["dot", "-Tsvg", "-Gbgcolor=none", "-Gfontname=Helvetica", "-Nfontname=Helvetica",
               "-Efontname=Helvetica", "-Nfontsize=12", "-Efontsize=11", "-Gfontsize=12",
               "-Gcolor=#888888", "-Gpad=0.1"]  # fmt: skip
    found = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    found = found[found.index("<svg") :]
    found = re.sub(r"<!--.*?-->\n?|<title>.*?</title>\n?", "", found, flags=re.DOTALL)
    found = re.sub(r' font-family="[^"]*"', "", found)
    for name, tint in TINTS.items():
        found = found.replace(f'fill="{name}"', f'fill="{tint}" fill-opacity="0.25"')
    found = found.replace('fill="white"', 'fill="none"')
    for colour in ("black", "#000000"):
        found = found.replace(f'stroke="{colour}"', 'stroke="currentColor"')
        found = found.replace(f'fill="{colour}"', 'fill="currentColor"')
    found = found.replace("<text ", '<text fill="currentColor" ')
    head, rest = found.split(">", 1)
    head = re.sub(r' xmlns:xlink="[^"]*"', "", head)
    head = re.sub(r'="(\d+)pt"', r'="\1"', head)  # so that a text of 12 is one of 12 pixels
    return f'{head} role="img" aria-label="{title}" data-text="{digest(source)}">{STYLE}{rest}'


def title_of(source: str) -> str:
    """The comment that follows the licence."""
    lines = [line[3:] for line in source.splitlines() if line.startswith("// ")]
    return " ".join(lines[1:]).partition(";")[0].rstrip(".")


def main() -> int:
    for path in sorted(FOLDER.glob("*.dot")):
        source = path.read_text("utf-8")
        path.with_suffix(".svg").write_text(draw(source, title_of(source)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
