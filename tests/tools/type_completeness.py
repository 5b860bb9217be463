# SPDX-License-Identifier: Apache-2.0
"""Check that every name of the installed package has a complete type, as pyright sees it.

    python tests/tools/type_completeness.py

Names with an incomplete type are printed, one per line; the exit status is then 1. Classes that
derive from a class of an optional package are complete only where that package is installed, so
their unknown base class is accepted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

OF_OPTIONAL_PACKAGES = ("Type of base class unknown", "Type of metaclass unknown",
                        'Type of base class "tensorflow.')  # fmt: skip
LEAST_NAMES = 5000


def verified() -> dict[str, Any]:
    """Return the report of pyright about the package that this interpreter imports."""
    programs = Path(sys.executable).parent
    command = [str(programs / "basedpyright"), "--verifytypes", "fastrec", "--ignoreexternal"]
    path = os.pathsep.join(
        [str(programs), os.environ.get("PATH", "")]
    )  # decides which Python it asks
    with tempfile.TemporaryDirectory() as folder:  # in a checkout, pyright reads the sources
        done = subprocess.run(
            [*command, "--outputjson"], cwd=folder, env={**os.environ, "PATH": path},
            capture_output=True, text=True,
        )  # fmt: skip
    return dict(json.loads(done.stdout)["typeCompleteness"])


def main() -> int:
    """Print the names with incomplete types, and return the exit status."""
    symbols = [each for each in verified()["symbols"] if each["isExported"]]
    complaints = [
        f"{symbol['name']}: {' '.join(diagnostic['message'].split())}"
        for symbol in symbols
        for diagnostic in symbol["diagnostics"]
        if diagnostic["severity"] == "error"
        and not diagnostic["message"].startswith(OF_OPTIONAL_PACKAGES)
    ]
    for each in complaints:
        print(each)
    print(f"{len(symbols)} names, {len(complaints)} incomplete types")
    return int(bool(complaints) or len(symbols) < LEAST_NAMES)


if __name__ == "__main__":
    sys.exit(main())
