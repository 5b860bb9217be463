# SPDX-License-Identifier: Apache-2.0
"""The viewer's page, served in parts or as a single file that includes its data."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

__all__ = ["STATIC", "index_html", "single_html"]


def _text(name: str) -> str:
    return files("fastrec.viewer").joinpath(name).read_text(encoding="utf-8")


_SCRIPT, _STYLE = _text("view.js"), _text("view.css")

STATIC = {
    "view.js": ("text/javascript; charset=utf-8", _SCRIPT.encode()),
    "view.css": ("text/css; charset=utf-8", _STYLE.encode()),
}

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">{policy}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>fastrec view</title>
{style}
</head>
<body>
<header><h1>fastrec view</h1><p id="about" role="status"></p></header>
<main>
<section id="damage" hidden><h2>Damage</h2><ul></ul></section>
<details id="features" open><summary>Features</summary><div class="table"></div></details>
<form id="search" autocomplete="off">
<input id="where" name="where" aria-label="condition" spellcheck="false">
<button>Search</button>
<button type="button" id="clear" hidden>Show all</button>
</form>
<form id="filter" autocomplete="off" hidden>
<label>feature <select id="feature" aria-label="feature"></select></label>
<select id="comparison" aria-label="comparison"><option>==</option><option>!=</option>
<option>&lt;</option><option>&lt;=</option><option>&gt;</option><option>&gt;=</option>
<option>=~</option></select>
<input id="value" aria-label="value" spellcheck="false"><button>Filter</button></form>
<p id="message" role="alert"></p>
<nav><button id="first">First</button><button id="previous">Previous</button>
<label>record <input id="number" type="number" min="0" value="0"></label>
<button id="next">Next</button><button id="last">Last</button><span id="where-am-i"></span>
<span id="show"><label>order <select id="order" aria-label="order">
<option value="file">file</option><option value="random">random</option></select></label>
<button id="gallery" aria-pressed="false">Gallery</button>
<label id="sizes" hidden>size
<input id="size" type="range" min="64" max="512" step="16" value="160"></label></span></nav>
<div id="records"></div>
</main>
<dialog id="detail"><form method="dialog"><button type="button" id="earlier">Previous</button>
<button type="button" id="later">Next</button><button>Close</button></form><div></div></dialog>
{script}
</body>
</html>
"""


def index_html() -> str:
    """Return the page that requests its data from the server."""
    return _PAGE.format(
        policy="",
        style='<link rel="stylesheet" href="view.css">',
        script='<script src="view.js"></script>',
    )


def single_html(data: dict[str, Any]) -> str:
    """Return the page with its data, script and style, which sends no requests."""
    policy = (
        f"default-src 'none'; script-src '{_hash(_SCRIPT)}'; style-src '{_hash(_STYLE)}'; "
        f"img-src data:; media-src data:; base-uri 'none'; form-action 'none'"
    )
    # JSON allows these escapes, and no text of a record can then end the element.
    text = json.dumps(data).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return _PAGE.format(
        policy=f'\n<meta http-equiv="Content-Security-Policy" content="{policy}">',
        style=f"<style>{_STYLE}</style>",
        script=f'<script type="application/json" id="data">{text}</script>\n'
        f"<script>{_SCRIPT}</script>",
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
