# SPDX-License-Identifier: Apache-2.0
"""``tf.distribute`` of one process, as input pipelines use it."""

from __future__ import annotations

from typing import Any

import pytest

import fastrec.compat.v1 as v1
import fastrec.compat.v2 as v2

VERSIONS = pytest.mark.parametrize("tf", [v1, v2])


@VERSIONS
def test_an_input_context_says_which_part_of_the_files_to_read(tf: Any) -> None:
    context = tf.distribute.InputContext(4, 1, num_replicas_in_sync=8)
    assert (context.num_input_pipelines, context.input_pipeline_id) == (4, 1)
    assert (context.num_replicas_in_sync, context.get_per_replica_batch_size(64)) == (8, 8)
    assert str(context) == "tf.distribute.InputContext(input pipeline id 1, total: 4)"
    with pytest.raises(ValueError, match="65 is not divisible by `num_replicas_in_sync` 8"):
        context.get_per_replica_batch_size(65)


def test_the_default_strategy_has_one_replica_that_takes_the_data_as_they_are() -> None:
    strategy = v2.distribute.get_strategy()
    assert (strategy.num_replicas_in_sync, v2.distribute.has_strategy()) == (1, False)
    assert isinstance(strategy, v2.distribute.Strategy)

    def made(context: Any) -> Any:
        return v2.data.Dataset.range(6).shard(
            context.num_input_pipelines, context.input_pipeline_id
        )

    with strategy.scope():
        elements = strategy.distribute_datasets_from_function(made)
    assert list(strategy.experimental_distribute_dataset(elements).as_numpy_iterator()) == [
        *range(6)
    ]
    assert strategy.run(lambda x, y: x + y, (1,), {"y": 2}) == 3


def test_without_a_tpu_programs_go_on_with_the_default_strategy() -> None:
    with pytest.raises(ValueError, match="TPU Name"):
        v2.distribute.cluster_resolver.TPUClusterResolver.connect()


@VERSIONS
def test_other_strategies_are_refused_with_what_to_use(tf: Any) -> None:
    with pytest.raises(AttributeError, match=r"Dataset\.shard"):
        tf.distribute.MirroredStrategy()
