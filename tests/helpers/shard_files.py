# SPDX-License-Identifier: Apache-2.0
"""Sets of shards, and the commands that read them."""

from __future__ import annotations

from pathlib import Path

from verbs import write_examples

from fastrec import cli

VERBS = {
    "head": [], "cat": [], "grep": ["x"], "schema": [], "count": [], "stats": [], "verify": [],
    "doctor": [],
    "split": ["-o", "o.tfr", "--shard-records", "1"], "merge": ["-o", "o.tfr"],
    "reshard": ["-o", "o.tfr"], "convert": ["-o", "o.jsonl"],
    "view": ["--html", "o.html"], "extract": ["-o", "o", "--feature", "i"],
}  # fmt: skip


def shard(number: int, count: int, name: str = "t", suffix: str = ".tfrecord") -> str:
    return f"{name}-{number:05d}-of-{count:05d}{suffix}"


def make_shards(folder: Path, count: int, name: str = "t", suffix: str = ".tfrecord") -> list[str]:
    names = [shard(number, count, name, suffix) for number in range(count)]
    for number, each in enumerate(names):
        write_examples(folder / each, [{"i": number}])
    return names


def run(verb: str, *words: str) -> int:
    extra = VERBS[verb]
    return cli.main([verb, *(extra if verb == "grep" else []), *words, "-q",
                     *(extra if verb != "grep" else [])])  # fmt: skip
