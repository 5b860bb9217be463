# SPDX-License-Identifier: Apache-2.0
"""Strategies of tf.distribute: each record once an epoch over all replicas, in equal steps."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fastrec

pytestmark = pytest.mark.slow
PROGRAM = Path(__file__).parents[2] / "helpers" / "tensorflow_strategies.py"


def start(kind: str, files: str, config: Any = None) -> subprocess.Popen[str]:
    environment = dict(os.environ)
    environment.pop("TF_CONFIG", None)
    if config is not None:
        environment["TF_CONFIG"] = json.dumps(config)
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), kind, files],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str]) -> Any:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err[-3000:]
    return json.loads(out.splitlines()[-1])


def numbers(epoch: Any) -> list[int]:
    return [number for step in epoch for replica in step for number in replica]


def test_a_mirrored_strategy_divides_each_batch(files: str) -> None:
    first, second = finished(start("mirrored", files))
    assert sorted(numbers(first)) == sorted(numbers(second)) == list(range(103))
    assert numbers(first) != numbers(second)
    assert len(first) == len(second) == 11
    assert all(len(replica) == 5 for step in first[:10] for replica in step)


def test_a_mirrored_strategy_with_a_function_has_one_pipeline(files: str) -> None:
    for epoch in finished(start("function", files)):
        assert sorted(numbers(epoch)) == list(range(103))
        assert len({len(step) for step in epoch}) == 1


def test_two_workers_share_the_records(files: str) -> None:
    sockets = [socket.socket() for _ in range(2)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    workers = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    processes = [
        start(
            "workers",
            files,
            {"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}},
        )
        for index in range(2)
    ]
    one, other = map(finished, processes)
    for mine, theirs in zip(one, other, strict=True):
        assert len(mine) == len(theirs)
        assert not set(numbers(mine)) & set(numbers(theirs))
        both = numbers(mine) + numbers(theirs)
        # uneven="drop" leaves out the one record that cannot be shared out.
        assert len(both) == len(set(both)) == 102
    assert len(list(fastrec.Reader(files))) == 103


def test_a_mirrored_strategy_refuses_single_records(files: str) -> None:
    process = start("records", files)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 1
    assert "ValueError: a strategy divides the rows of batches" in err
