# SPDX-License-Identifier: Apache-2.0
"""What worker processes and ranks of the tests of fastrec.torch run; they import it by name."""

from __future__ import annotations

from typing import Any


def tuple_of(sample: dict[str, Any]) -> Any:
    sample["x"] = sample["x"] * 2
    return sample["x"], int(sample["id"])


def fail_on_seven(sample: dict[str, Any]) -> Any:
    return 1 / (int(sample["id"]) - 7)
