# SPDX-License-Identifier: Apache-2.0
"""Commands of the command line, run within the process of the tests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fastrec import cli

Captured = pytest.CaptureFixture[str]


def printed(capsys: Captured, *words: object, status: int = 0) -> list[str]:
    assert cli.main(list(map(str, words))) == status
    return capsys.readouterr().out.splitlines()


def objects(capsys: Captured, *words: object, status: int = 0) -> list[Any]:
    return [json.loads(line) for line in printed(capsys, *words, status=status)]
