# SPDX-License-Identifier: Apache-2.0
"""Random runs of shards that stop in step and are resumed by another number of shards."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from verbs import gzipped, write_examples

import fastrec
from fastrec import Batcher, Buckets, Mixture

FEATURES = {
    "i": fastrec.FixedLenFeature((), np.int64),
    "tokens": fastrec.RaggedFeature(np.int64),
}
SIZES = [0, 23, 1, 17, 30]
UNTIL: list[Any] = ["first", "last"]


class Files:
    """Record files of known sizes, and the same compressed."""

    def __init__(self, folder: Path) -> None:
        ends = list(itertools.accumulate(SIZES, initial=0))
        self.plain = [
            write_examples(folder / f"{k}", map(_example, range(ends[k], ends[k + 1])))
            for k in range(len(SIZES))
        ]
        self.packed = [path.with_suffix(".gz") for path in self.plain]
        for path, packed in zip(self.plain, self.packed, strict=True):
            packed.write_bytes(gzipped(path.read_bytes()))


def _example(i: int) -> dict[str, Any]:
    return {"i": i, "tokens": list(range(i % 5))}


def random_options(random: Random, files: Files) -> tuple[Any, dict[str, Any]]:
    """A source and options of a Batcher, but for its shard."""
    kind = random.choice(["plain", "plain", "packed", "mixture"])
    shuffles: list[Any] = [False, True, "blocks", fastrec.BlockShuffle(3, 2), 7]
    source: Any = files.plain
    if kind == "packed":
        source, shuffles = files.packed, [False, 7]
    if kind == "mixture":
        parts = [files.plain[1:3], files.plain[3], files.plain[4]]
        source = Mixture(parts, random.choice([[1, 1, 1], [2, 1, 3]]), random.choice(UNTIL))
        shuffles = [False, True]
    shuffle = random.choice(shuffles)
    options: dict[str, Any] = {
        "batch_size": random.choice([None, 1, 2, 3, 5, 8, 20]),
        "shuffle": shuffle,
        "seed": random.randrange(3),
        "reshuffle": random.random() < 0.8,
        "epochs": random.choice([1, 1, 2, 3]),
        "uneven": random.choice(["longer", "drop", "pad"]),
        "drop_remainder": random.random() < 0.3,
        "batch_across_epochs": random.random() < 0.3,
        "threads": random.choice([1, 2]),
        "transform": random.choice([None, None, dict]),
    }
    if kind != "mixture" and shuffle in (False, 7) and random.random() < 0.4:
        options["interleave"] = random.choice([1, 2, 4])
    if options["batch_size"] is not None and random.random() < 0.2:
        options["buckets"] = random.choice([Buckets("tokens"), Buckets("tokens", [1, 3], window=9)])
    return source, options


Seen = Counter[tuple[int, int]]


class Run:
    """The shards of one run, which make as many batches each."""

    def __init__(self, source: Any, options: dict[str, Any], shards: int) -> None:
        self.shards = shards
        self._by_epoch = not options.get("batch_across_epochs")
        self._batchers = [
            Batcher(source, FEATURES, **options, shard=(k, shards)) for k in range(shards)
        ]

    def load(self, states: Sequence[dict[str, Any]]) -> Run:
        """Each shard from its own state, or all of them from one."""
        for batcher, state in zip(self._batchers, itertools.cycle(states), strict=False):
            batcher.load_state_dict(json.loads(json.dumps(state)))
        return self

    def steps(self, count: int | None) -> tuple[Seen, list[dict[str, Any]]]:
        """The (epoch, record) of so many batches of each shard, if it has as many; the states.

        States of shards that came to their end before are marked: they are behind.
        """
        seen: Seen = Counter()
        states = []
        made = []
        for batcher in self._batchers:
            with iter(batcher) as batches:
                states.append(batches.state_dict())
                for batch in itertools.islice(batches, count):
                    epoch = batches.epoch if self._by_epoch else 0
                    seen.update((epoch, int(i)) for i in np.ravel(batch["i"]))
                    states[-1] = batches.state_dict()
                made.append(batches.report().batches)
        behind = [number < max(made) for number in made]
        return seen, [state | {"behind": b} for state, b in zip(states, behind, strict=True)]


def whole_pass(source: Any, options: dict[str, Any]) -> Seen:
    """Each record of each epoch, as often as the epoch has it."""
    plain = {"uneven": "longer", "drop_remainder": False, "buckets": None}
    return Run(source, options | plain, 1).steps(None)[0]


def check_counts(seen: Seen, expected: Seen, options: dict[str, Any], shards: int) -> None:
    """Every record once, but for what the options leave out or repeat of at most `shards`."""
    missing, extra = expected - seen, seen - expected
    epochs = options["epochs"] if options["batch_across_epochs"] else 1
    may_miss = (shards - 1) * (options["uneven"] == "drop") * epochs
    may_repeat = (shards - 1) * (options["uneven"] == "pad") * epochs
    if options["drop_remainder"] and options["batch_size"] is not None:
        may_miss += shards * (options["batch_size"] - 1)
        if options.get("buckets") is not None:
            may_miss = expected.total()
    for epoch in {epoch for epoch, _ in expected}:
        assert sum(n for (e, _), n in missing.items() if e == epoch) <= may_miss
        assert sum(n for (e, _), n in extra.items() if e == epoch) <= may_repeat
    assert {epoch for epoch, _ in seen} <= {epoch for epoch, _ in expected}


def why_refused(options: dict[str, Any]) -> str:
    """The reason that a state is of its own number of shards only."""
    if (
        options["shuffle"] is not True
        and isinstance(options["shuffle"], int)
        and options["shuffle"]
    ):
        return "draws from a buffer"
    return "of their windows" if options.get("buckets") else "of an epoch"


def refusal_of(run: Run, state: dict[str, Any]) -> str | None:
    """The reason that a state is refused for; None where it is taken."""
    try:
        run.load([state])
    except fastrec.FastrecError as error:
        return str(error)
    return None


def check(source: Any, options: dict[str, Any], counts: Sequence[int], steps: int) -> str:
    """Run `counts[0]` shards for `steps` steps, then `counts[1]` for as many, ..., then to the end.

    Returns what it came to: "elastic", or "refused", where it is resumed by as many shards.
    """
    expected = whole_pass(source, options)
    run, seen, outcome = Run(source, options, counts[0]), Counter[tuple[int, int]](), "elastic"
    for count in counts[1:]:
        more, states = run.steps(steps)
        seen += more
        following = Run(source, options, count)
        latest = [state for state in states if not state["behind"]]
        together = all(state["in_step"] for state in latest)
        if together:
            assert all(state == latest[0] for state in latest)
            states = latest[:1]
        if count == run.shards:
            run = following.load(states)
            continue
        refusal = refusal_of(following, latest[0])
        if refusal is None:
            assert together
            run = following.load(latest[:1])
            continue
        outcome = "refused"
        assert "its shards is" in refusal
        assert why_refused(options) in refusal
        assert latest[0]["used"] or latest[0]["item"] or not together
        assert not together or why_refused(options) == "draws from a buffer"
        run = Run(source, options, run.shards).load(states)
    seen += run.steps(None)[0]
    check_counts(seen, expected, options, max(counts))
    return outcome


def check_random(files: Files, number: int) -> str:
    """One random case."""
    random = Random(number)
    source, options = random_options(random, files)
    counts = [random.randint(1, 7) for _ in range(random.choice([2, 2, 3]))]
    size, epochs = options["batch_size"] or 1, options["epochs"]
    steps = random.randint(0, 2 + sum(SIZES) * epochs // (size * counts[0]))
    try:
        return check(source, options, counts, steps)
    except Exception as error:
        error.add_note(f"case {number}: {options}, shards {counts}, {steps} steps, {source}")
        raise
