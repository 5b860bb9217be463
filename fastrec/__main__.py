# SPDX-License-Identifier: Apache-2.0
"""``python -m fastrec``."""

from __future__ import annotations

from fastrec.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
