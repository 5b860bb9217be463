# SPDX-License-Identifier: Apache-2.0
"""Several uses of a shuffled dataset in one pipeline draw their seeds in TensorFlow's order."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import fastrec.compat.v2 as ours


def parts(tf: Any) -> list[Any]:
    """Return three datasets with separate shuffles."""
    return [tf.data.Dataset.range(k, 30, 3).shuffle(4, seed=k) for k in range(3)]


MADE = {
    "shuffle": lambda tf: tf.data.Dataset.range(30).shuffle(5, seed=1),
    "without a seed": lambda tf: tf.data.Dataset.range(30).shuffle(5),
    "shuffled twice": lambda tf: tf.data.Dataset.range(30).shuffle(5, seed=1).shuffle(4, seed=2),
    "mapped": lambda tf: tf.data.Dataset.range(30).shuffle(5, seed=1).map(lambda x: x * 2),
    "chosen": lambda tf: tf.data.Dataset.choose_from_datasets(
        parts(tf), tf.data.Dataset.range(3).repeat(10)
    ),
    "sampled": lambda tf: tf.data.Dataset.sample_from_datasets(parts(tf), [0.5, 0.3, 0.2], seed=5),
    "flat_map": lambda tf: tf.data.Dataset.range(3).flat_map(
        lambda _: tf.data.Dataset.range(5).shuffle(4, seed=2)
    ),
}
USES = {
    "whole": lambda data: data,
    "skip": lambda data: data.skip(1),
    "take": lambda data: data.take(6),
    "shuffle": lambda data: data.shuffle(3, seed=9),
}


@pytest.mark.parametrize("made", MADE)
def test_two_uses_of_a_dataset_have_the_elements_of_tensorflow(made: str) -> None:
    import tensorflow

    for one, two in itertools.product(USES, USES):
        found = []
        for tf in (tensorflow, ours):
            tf.random.set_seed(11)
            data = MADE[made](tf)
            pairs = tf.data.Dataset.zip((USES[one](data), USES[two](data))).take(6)
            found.append([[(int(a), int(b)) for a, b in pairs] for _ in range(2)])
        assert found[1] == found[0], f"{one} and {two}"
